/* analyze/watch/time_to_oom.h - how long memory lasts at the rate it grows, and whose memory that
 * is: the machine's, or less where the program has a limit. */
#ifndef AS_ANALYZE_WATCH_TIME_TO_OOM_H
#define AS_ANALYZE_WATCH_TIME_TO_OOM_H

#include "analyze/watch/target_findings.h"

/* Fills seconds_to_exhaustion and what runs out, or why that is not known. */
void as_target_find_time_to_oom(struct as_target_growth *g, const struct as_target *target);

#endif
