/* analyze/model/steadiness.h - whether a latency is steady enough to conclude anything from it. */
#ifndef AS_ANALYZE_MODEL_STEADINESS_H
#define AS_ANALYZE_MODEL_STEADINESS_H

#include "base/arena.h"
#include "measure/latency/latency_run.h"

/* Why not, in the arena; NULL: it is. Times that drift, or whose p50 is known to a quarter only,
 * are not; a few iterations that were asked for are. "" when there is no memory for the reason. */
const char *as_unsteady(const struct as_latency_run *run, struct as_arena *arena);

#endif
