/* probe/process/memory_counts.h - what a thread took and gave back while something ran, from the
 * program's own account. Spans nest like calls; the greatest height within one costs O(1) per add.
 */
#ifndef AS_PROBE_PROCESS_MEMORY_COUNTS_H
#define AS_PROBE_PROCESS_MEMORY_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/memory.h>

/* Where the calling thread stood when a span began. Held by the caller. */
struct as_memory_thread_span {
    uint64_t height, highest; /* of the thread; wrap freely, only differences mean something */
    uint64_t thread;          /* whose it is; 0: ended or never begun */
    uint32_t depth;
};

struct as_memory_thread_use {
    uint64_t peak_bytes; /* greatest height above the beginning */
    int64_t net_bytes;   /* height at the end less that at the beginning */
    const char *why;     /* NULL: exact; otherwise a static sentence, and 0 above means nothing */
};

void as_memory_span_begin(struct as_memory_thread_span *span);

/* On the thread that began it, innermost first; otherwise `why` says so. */
void as_memory_span_end(struct as_memory_thread_span *span, struct as_memory_thread_use *out);

/* The sum of all kinds of all threads now; false when the program counts nothing. */
bool as_memory_counted_total(uint64_t *out);

#endif
