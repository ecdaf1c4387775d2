/* tests/unit/attn_kit.h - tensors for tests of attention, and attention as anybody would write it:
 * in double, one number after the other. */
#ifndef AS_TESTS_ATTN_KIT_H
#define AS_TESTS_ATTN_KIT_H

#include "unit.h"

#include <stdlib.h>

#include <assay/experiment/attention.h>

#include "stats/describe/rng.h"

struct attn_kit {
    struct assay_attn_shape shape;
    size_t n_q, n_kv, n_bits, mask_bytes;
    float *q, *k, *v, *out, *other;
    uint8_t *mask;
};

static inline float *kit_numbers(size_t n, double spread, struct as_rng *rng)
{
    float *x = malloc((n + 1) * sizeof *x);

    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(spread * as_rng_normal(rng));
    return x;
}

static inline struct attn_kit kit_new(struct assay_attn_shape shape, uint64_t seed)
{
    struct attn_kit kit = {.shape = shape};
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    kit.n_q = shape.batch * shape.heads * shape.seq_len * shape.dim;
    kit.n_kv = shape.batch * shape.kv_heads * shape.seq_len * shape.dim;
    kit.n_bits = shape.batch * shape.heads * shape.seq_len * shape.seq_len;
    assert_int_equal(assay_attn_mask_bytes(&shape, &kit.mask_bytes, NULL), ASSAY_OK);
    assert_int_equal(kit.mask_bytes, (kit.n_bits + 7) / 8);
    kit.q = kit_numbers(kit.n_q, 1.5, &rng);
    kit.k = kit_numbers(kit.n_kv, 1, &rng);
    kit.v = kit_numbers(kit.n_kv, 1, &rng);
    kit.out = kit_numbers(kit.n_q, 1, &rng);
    kit.other = kit_numbers(kit.n_q, 1, &rng);
    kit.mask = calloc(kit.mask_bytes, 1);
    assert_non_null(kit.mask);
    return kit;
}

static inline void kit_free(struct attn_kit *kit)
{
    free(kit->q);
    free(kit->k);
    free(kit->v);
    free(kit->out);
    free(kit->other);
    free(kit->mask);
}

static inline bool kit_bit(const uint8_t *mask, size_t i)
{
    return mask[i / 8] >> i % 8 & 1;
}

static inline void kit_set_bit(uint8_t *mask, size_t i, bool on)
{
    mask[i / 8] = (uint8_t)((mask[i / 8] & ~(1U << i % 8)) | (unsigned)on << i % 8);
}

/* Query i of head `head` (batch * heads + its number) against key j. */
static inline double kit_logit(const struct attn_kit *kit, size_t head, size_t i, size_t j)
{
    size_t n = kit->shape.seq_len, d = kit->shape.dim;
    size_t group = kit->shape.heads / kit->shape.kv_heads;
    double sum = 0;

    for (size_t p = 0; p < d; p++)
        sum +=
            (double)kit->q[(head * n + i) * d + p] * (double)kit->k[(head / group * n + j) * d + p];
    return sum / sqrt((double)d);
}

/* The output of one row; `mask` NULL: everything. Fills `row`, which has dim numbers. */
static inline void kit_row(const struct attn_kit *kit, const uint8_t *mask, size_t head, size_t i,
                           double *row)
{
    size_t n = kit->shape.seq_len, d = kit->shape.dim;
    size_t group = kit->shape.heads / kit->shape.kv_heads;
    double top = -UNIT_INFINITY, sum = 0;

    memset(row, 0, d * sizeof *row);
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < (kit->shape.causal ? i + 1 : n); j++) {
            double x = kit_logit(kit, head, i, j), p;

            if (mask && !kit_bit(mask, (head * n + i) * n + j))
                continue;
            if (pass == 0) {
                top = x > top ? x : top;
                continue;
            }
            p = exp(x - top);
            sum += p;
            for (size_t c = 0; c < d; c++)
                row[c] += p * (double)kit->v[(head / group * n + j) * d + c];
        }
    for (size_t c = 0; c < d && sum > 0; c++)
        row[c] /= sum;
}

/* Every number of `out` is within 1e-5 of what is right. */
static inline void kit_expect(const struct attn_kit *kit, const uint8_t *mask, const float *out)
{
    size_t n = kit->shape.seq_len, d = kit->shape.dim;
    double *row = malloc(d * sizeof *row);

    assert_non_null(row);
    for (size_t head = 0; head < kit->shape.batch * kit->shape.heads; head++)
        for (size_t i = 0; i < n; i++) {
            kit_row(kit, mask, head, i, row);
            for (size_t c = 0; c < d; c++) {
                double got = (double)out[(head * n + i) * d + c];

                if (!(fabs(got - row[c]) <= 1e-5))
                    fail_msg("head %zu, row %zu, column %zu: %.9g, not %.9g", head, i, c, got,
                             row[c]);
            }
        }
    free(row);
}

#endif
