/* analyze/watch/target_growth.h - when a series that grew stopped growing.
 * It did when it then rested far longer than ever before: growth in steps rests between them. */
#ifndef AS_ANALYZE_WATCH_TARGET_GROWTH_H
#define AS_ANALYZE_WATCH_TARGET_GROWTH_H

#include <stddef.h>

#include "analyze/watch/target_findings.h"

/* The time at which `value` came to its last level; NaN: it grew up to the last of them, or did not
 * grow. `seconds` never fall. */
double as_growth_stop(const double *seconds, const double *value, size_t n);

/* Fills seconds_to_exhaustion and what runs out, or why that is not known. */
void as_target_find_time_to_oom(struct as_target_growth *g, const struct as_target *target);

#endif
