/* analyze/watch/time_to_oom.h - how long memory lasts at the rate it grows, and whose memory that
 * is: the machine's, or less where the program has a limit. */
#ifndef AS_ANALYZE_WATCH_TIME_TO_OOM_H
#define AS_ANALYZE_WATCH_TIME_TO_OOM_H

#include "analyze/watch/target_findings.h"

/* Fills seconds_to_exhaustion and what runs out, or why that is not known. */
void as_program_find_room(struct as_program_growth *g, const struct as_program *program);

#endif
