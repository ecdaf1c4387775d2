/* experiment/attention/attn_worker.h - threads and working memory of attention, and what every call
 * checks. A call says at once what memory it needs; it then holds that and nothing else. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_WORKER_H
#define AS_EXPERIMENT_ATTENTION_ATTN_WORKER_H

#include <assay/experiment/attention.h>
#include <stdatomic.h>

#include "base/error.h"
#include "engine/thread_pool.h"
#include "experiment/attention/attn_kernels.h"

enum as_attn_buffer {
    AS_ATTN_KEYS,    /* of one key head, packed */
    AS_ATTN_VALUES,  /* the same of values */
    AS_ATTN_BLOCKS,  /* of each thread, for the rows it is at */
    AS_ATTN_KEPT,    /* positions of one key head that are used: bits, then numbers */
    AS_ATTN_LOGITS,  /* of one head */
    AS_ATTN_ENTRIES, /* bits of one head, row by row, then a figure for each row */
    AS_ATTN_FLOW,
    AS_ATTN_MASK, /* of all heads */
    AS_ATTN_BUFFERS
};

enum { AS_ATTN_MOST_THREADS = 256 };

struct assay_attn {
    struct as_thread_pool *pool;
    unsigned threads;
    const struct as_attn_kernels *kernels;
    atomic_flag taken[AS_ATTN_MOST_THREADS]; /* parts of AS_ATTN_BLOCKS in use */
    void *buffer[AS_ATTN_BUFFERS];
    size_t buffer_bytes[AS_ATTN_BUFFERS];
    struct assay_attn_usage usage;

    struct assay_hysteresis *tracker; /* of calls with hysteresis */
    struct assay_attn_shape tracked;  /* what the tracker saw masks of */
    unsigned tracked_tau;
    uint64_t tracker_bytes;
};

/* Gives back what is not needed in that size and takes what is; the peak of the call starts here.
 */
AS_MUST_USE int as_attn_fit(struct assay_attn *attn, const size_t need[AS_ATTN_BUFFERS],
                            struct assay_error *err);

/* The same for one room alone, which the call needs before it knows the others. */
AS_MUST_USE int as_attn_fit_one(struct assay_attn *attn, enum as_attn_buffer buffer, size_t need,
                                struct assay_error *err);

/* Counts memory of the worker that is held elsewhere: its tracker's. */
void as_attn_count_tracker(struct assay_attn *attn);

/* A part of AS_ATTN_BLOCKS no other thread uses: its number. */
unsigned as_attn_take_block(struct assay_attn *attn);
void as_attn_leave_block(struct assay_attn *attn, unsigned block);

/* ---- checks ---- */

/* The shape alone: sizes within limits, and products that fit. */
AS_MUST_USE int as_attn_check_shape(const struct assay_attn_shape *shape, struct assay_error *err);

struct as_attn_inputs {
    const float *q, *k, *v; /* v NULL: not used by the call */
};
/* Finite numbers, and none so great that sums of products could overflow. */
AS_MUST_USE int as_attn_check_inputs(const struct as_attn_kernels *kernels,
                                     const struct assay_attn_shape *shape,
                                     const struct as_attn_inputs *in, struct assay_error *err);

AS_MUST_USE int as_attn_check_config(const struct assay_mincut_config *config,
                                     const struct assay_attn_shape *shape, struct assay_error *err);

/* ---- hysteresis.c ---- */

/* Bytes of its masks and counters; 0 for NULL. */
uint64_t as_hysteresis_bytes(const struct assay_hysteresis *hysteresis);

#endif
