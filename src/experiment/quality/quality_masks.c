/* experiment/quality/quality_masks.c - what two masks of bits have in common. */
#include <assay/experiment/quality.h>

#include "base/error.h"

struct counts {
    uint64_t a, b, both, n;
};

static int count(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, const void *out,
                 struct counts *c, struct assay_error *err)
{
    *c = (struct counts){.n = n_a};
    if (n_a != n_b)
        return as_fail(err, ASSAY_ERR_USAGE, "masks of %zu and %zu bits cannot be compared", n_a,
                       n_b);
    if (!out || (n_a > 0 && (!a || !b)))
        return as_fail(err, ASSAY_ERR_USAGE, "two masks and a place for the answer are needed");
    for (size_t i = 0; i < n_a / 8 + (n_a % 8 > 0); i++) {
        unsigned last = i == n_a / 8 ? (1U << n_a % 8) - 1 : 0xff;

        c->a += (uint64_t)__builtin_popcount(a[i] & last);
        c->b += (uint64_t)__builtin_popcount(b[i] & last);
        c->both += (uint64_t)__builtin_popcount(a[i] & b[i] & last);
    }
    return ASSAY_OK;
}

static double jaccard(const struct counts *c)
{
    uint64_t either = c->a + c->b - c->both;

    return either > 0 ? (double)c->both / (double)either : 1;
}

static uint64_t flips(const struct counts *c)
{
    return c->a + c->b - 2 * c->both;
}

static double sparsity(uint64_t edges, uint64_t n)
{
    return n > 0 ? (double)(n - edges) / (double)n : 0;
}

int assay_mask_jaccard(const uint8_t *a, size_t n_a_bits, const uint8_t *b, size_t n_b_bits,
                       double *out, struct assay_error *err)
{
    struct counts c;
    int rc = count(a, n_a_bits, b, n_b_bits, out, &c, err);

    if (rc == ASSAY_OK)
        *out = jaccard(&c);
    return rc;
}

int assay_mask_count_flips(const uint8_t *a, size_t n_a_bits, const uint8_t *b, size_t n_b_bits,
                           uint64_t *out, struct assay_error *err)
{
    struct counts c;
    int rc = count(a, n_a_bits, b, n_b_bits, out, &c, err);

    if (rc == ASSAY_OK)
        *out = flips(&c);
    return rc;
}

int assay_mask_compare(const uint8_t *baseline, size_t n_baseline_bits, const uint8_t *gated,
                       size_t n_gated_bits, struct assay_mask_comparison *out,
                       struct assay_error *err)
{
    struct counts c;
    double before, after;
    int rc = count(baseline, n_baseline_bits, gated, n_gated_bits, out, &c, err);

    if (rc < 0)
        return rc;
    before = sparsity(c.a, c.n);
    after = sparsity(c.b, c.n);
    *out = (struct assay_mask_comparison){
        .size = sizeof(struct assay_mask_comparison),
        .jaccard = jaccard(&c),
        .edge_flips = flips(&c),
        .baseline_edges = c.a,
        .gated_edges = c.b,
        .sparsity_ratio = before > 0 ? after / before : after,
    };
    return ASSAY_OK;
}
