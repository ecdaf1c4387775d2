/* experiment/attention/attn_softmax.c - attention of everything, and of what a mask keeps.
 * Key head by key head, so that packed keys and values of one are all that is held. */
#include <string.h>

#include "experiment/attention/attn_gate.h"
#include "experiment/attention/attn_rows.h"

static int check(const struct assay_attn *attn, const struct assay_attn_shape *shape,
                 const struct as_attn_inputs *in, const float *out, struct assay_error *err)
{
    int rc;

    if (!attn || !in->q || !in->k || !in->v || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "attention needs a worker, q, k, v and an output");
    rc = as_attn_check_shape(shape, err);
    if (rc < 0)
        return rc;
    return as_attn_check_inputs(attn->kernels, shape, in, err);
}

static uint64_t kv_bytes(const struct assay_attn_shape *shape, uint64_t positions)
{
    return 2 * positions * shape->dim * sizeof(float);
}

int assay_attn_softmax(struct assay_attn *attn, const struct assay_attn_shape *shape,
                       const float *q, const float *k, const float *v, float *out,
                       struct assay_error *err)
{
    struct as_attn_inputs in = {q, k, v};
    size_t need[AS_ATTN_BUFFERS] = {0};
    struct as_attn_run run;
    int rc = check(attn, shape, &in, out, err);

    if (rc < 0)
        return rc;
    as_attn_run_init(&run, attn, shape, &in, out);
    as_attn_rows_need(&run, shape->seq_len, need);
    rc = as_attn_fit(attn, need, err);
    if (rc < 0)
        return rc;
    for (run.kv_head = 0; run.kv_head < shape->batch * shape->kv_heads; run.kv_head++) {
        run.head = run.kv_head * run.group;
        as_attn_pack(&run);
        as_attn_rows(&run, run.group);
    }
    attn->usage.kv_bytes = attn->usage.kv_bytes_dense =
        kv_bytes(shape, (uint64_t)shape->batch * shape->kv_heads * shape->seq_len);
    return ASSAY_OK;
}

/* ---- only what is kept ---- */

/* Positions of one key head that some query uses. */
static void find_used(const struct as_attn_run *run, size_t kv_head, uint64_t *row, uint64_t *used)
{
    size_t n = run->shape->seq_len, words = as_attn_words(n);

    memset(used, 0, words * sizeof *used);
    for (size_t h = kv_head * run->group; h < (kv_head + 1) * run->group; h++)
        for (size_t i = 0; i < n; i++) {
            as_attn_bits_get(run->mask, ((uint64_t)h * n + i) * n, n, row);
            if (run->shape->causal)
                as_attn_bits_trim(row, words, i + 1);
            for (size_t w = 0; w < words; w++)
                used[w] |= row[w];
        }
}

/* Bits of every key head, then one row, then numbers of one head. */
struct kept_columns {
    uint64_t *used, *row;
    uint32_t *numbers;
};

static size_t kept_bytes(const struct assay_attn_shape *shape)
{
    size_t heads = shape->batch * shape->kv_heads + 1;

    return heads * as_attn_words(shape->seq_len) * sizeof(uint64_t) +
           shape->seq_len * sizeof(uint32_t);
}

static struct kept_columns kept_place(const struct as_attn_run *run)
{
    size_t words = as_attn_words(run->shape->seq_len);
    size_t heads = run->shape->batch * run->shape->kv_heads;
    struct kept_columns buffer = {.used = run->attn->buffer[AS_ATTN_KEPT]};

    buffer.row = buffer.used + heads * words;
    buffer.numbers = (uint32_t *)(void *)(buffer.row + words);
    return buffer;
}

/* Says which positions of the head at work are packed. */
static void keep(struct as_attn_run *run, const struct kept_columns *buffer)
{
    size_t n = run->shape->seq_len, words = as_attn_words(n), n_kept = 0;
    const uint64_t *used = buffer->used + run->kv_head * words;

    for (size_t w = 0; w < words; w++)
        for (uint64_t left = used[w]; left; left &= left - 1)
            buffer->numbers[n_kept++] = (uint32_t)(w * 64 + (size_t)__builtin_ctzll(left));
    run->n_kept = n_kept;
    run->kept_bits = n_kept < n ? used : NULL;
    run->kept = n_kept < n ? buffer->numbers : NULL;
}

static int masked(struct as_attn_run *run, struct assay_error *err)
{
    const struct assay_attn_shape *shape = run->shape;
    size_t words = as_attn_words(shape->seq_len), most = 0, need[AS_ATTN_BUFFERS] = {0};
    size_t kv_heads = shape->batch * shape->kv_heads;
    struct kept_columns buffer;
    uint64_t positions = 0;
    int rc;

    need[AS_ATTN_KEPT] = kept_bytes(shape);
    rc = as_attn_fit_one(run->attn, AS_ATTN_KEPT, need[AS_ATTN_KEPT], err);
    if (rc < 0)
        return rc;
    buffer = kept_place(run);
    for (size_t i = 0; i < kv_heads; i++) {
        size_t n_kept;

        find_used(run, i, buffer.row, buffer.used + i * words);
        n_kept = as_attn_bits_count(buffer.used + i * words, words);
        positions += n_kept;
        most = n_kept > most ? n_kept : most;
    }
    as_attn_rows_need(run, most, need);
    if (run->mask == run->attn->buffer[AS_ATTN_MASK]) /* decided by the same call */
        need[AS_ATTN_MASK] = run->attn->buffer_bytes[AS_ATTN_MASK];
    rc = as_attn_fit(run->attn, need, err);
    for (run->kv_head = 0; run->kv_head < kv_heads && rc == ASSAY_OK; run->kv_head++) {
        run->head = run->kv_head * run->group;
        keep(run, &buffer);
        as_attn_pack(run);
        as_attn_rows(run, run->group);
    }
    run->attn->usage.kv_bytes = kv_bytes(shape, positions);
    run->attn->usage.kv_bytes_dense = kv_bytes(shape, (uint64_t)kv_heads * shape->seq_len);
    return rc;
}

int assay_attn_masked(struct assay_attn *attn, const struct assay_attn_shape *shape, const float *q,
                      const float *k, const float *v, const uint8_t *mask, float *out,
                      struct assay_error *err)
{
    struct as_attn_inputs in = {q, k, v};
    struct as_attn_run run;
    int rc = check(attn, shape, &in, out, err);

    if (rc < 0)
        return rc;
    if (!mask)
        return as_fail(err, ASSAY_ERR_USAGE, "no mask was given");
    as_attn_run_init(&run, attn, shape, &in, out);
    run.mask = mask;
    return masked(&run, err);
}
