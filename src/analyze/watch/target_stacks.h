/* analyze/watch/target_stacks.h - estimates of sampled stacks, held against what was counted
 * exactly. A sample stands for 512 KiB on average: of a small heap that is more than there ever
 * was. */
#ifndef AS_ANALYZE_WATCH_TARGET_STACKS_H
#define AS_ANALYZE_WATCH_TARGET_STACKS_H

#include "analyze/watch/target.h"

/* An estimate from fewer samples than this says little. */
#define AS_TRACE_FEW_SAMPLES 10

/* No estimate stays above the count of its site, or of all heaps where the site is not known. */
void as_target_bound_stacks(struct as_target *target);

#endif
