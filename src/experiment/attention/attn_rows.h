/* experiment/attention/attn_rows.h - attention of the query heads that share one key head: keys and
 * values are packed once, then blocks of rows are worked off by the threads. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_ROWS_H
#define AS_EXPERIMENT_ATTENTION_ATTN_ROWS_H

#include "experiment/attention/attn_worker.h"

enum { AS_ATTN_BLOCK_ROWS = 24 }; /* a multiple of every tile's rows */

struct as_attn_run {
    struct assay_attn *attn;
    const struct assay_attn_shape *shape;
    struct as_attn_inputs in;
    float *out;
    float scale;  /* of logits */
    size_t group; /* query heads of a key head */

    /* The key head at work: batch * kv_heads + its number, and of it what is kept. */
    size_t kv_head;
    size_t n_kept;
    const uint64_t *kept_bits; /* NULL: every position */
    const uint32_t *kept;      /* their numbers, n_kept of them */

    /* Which entries count; without any of these every one. */
    const uint8_t *mask;     /* of all heads, as callers have it */
    const uint64_t *entries; /* [seq_len][words] of one head, ... */
    float *logits;           /* ... and its logits, [seq_len][columns] */

    size_t head;   /* the head at work or the first of several: batch * heads + its number */
    size_t blocks; /* of rows in a head */
};

void as_attn_run_init(struct as_attn_run *run, struct assay_attn *attn,
                      const struct assay_attn_shape *shape, const struct as_attn_inputs *in,
                      float *out);

/* Panels of 16 for `n` columns, and the columns they have. */
static inline size_t as_attn_panels(size_t n)
{
    return (n + AS_ATTN_PANEL - 1) / AS_ATTN_PANEL;
}

static inline size_t as_attn_columns(size_t n)
{
    return as_attn_panels(n) * AS_ATTN_PANEL;
}

/* What packing and the blocks need when at most `n_kept` positions of a head are kept. */
void as_attn_rows_need(const struct as_attn_run *run, size_t n_kept, size_t need[AS_ATTN_BUFFERS]);

/* Packs the keys, and the values when there are any, of the key head at work. */
void as_attn_pack(const struct as_attn_run *run);

/* The outputs of `n_heads` heads from run->head on. */
void as_attn_rows(const struct as_attn_run *run, size_t n_heads);

/* Fills run->logits for run->head with what it sees; columns past the diagonal of a causal head
 * may hold anything. `each` (may be NULL) is called for every row that is done. */
typedef void (*as_attn_row_done)(void *arg, size_t row, const float *logits);
void as_attn_logits(const struct as_attn_run *run, as_attn_row_done each, void *arg);

#endif
