/* analyze/watch/heap_overlap.h - the most that several heaps can have held together.
 * Each has a peak of its own; only of those that were there at one time can they add up. */
#ifndef AS_ANALYZE_WATCH_HEAP_OVERLAP_H
#define AS_ANALYZE_WATCH_HEAP_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One watched program, from when it began to be watched until it was over or became another by
 * exec. */
struct as_heap_span {
    uint64_t from_ns, to_ns;          /* 0 and UINT64_MAX where they are not known */
    uint64_t peak_bytes, slack_bytes; /* its peak is at most so much lower */
    uint32_t heap;                    /* whose: as_target_site.heap */
    bool together; /* filled: it is one of those that can have held most together */
};

/* The sum of the peaks of those that were there at one time, the greatest such sum; the true peak
 * is at most `*slack_bytes` lower. */
uint64_t as_heap_overlap(struct as_heap_span *span, size_t n, uint64_t *slack_bytes);

#endif
