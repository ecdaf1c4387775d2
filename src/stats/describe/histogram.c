/* stats/describe/histogram.c - counts by size: every octave split into 2^k buckets of equal width.
 * Memory is fixed, all of uint64_t fits, small values are exact, and merging is addition. */
#include "stats/describe/histogram.h"

#include <math.h>
#include <string.h>

#include "stats/describe/quantile.h"

int as_histogram_init(struct as_histogram *h, unsigned sub_bits, uint64_t *count,
                      struct assay_error *err)
{
    if (sub_bits < AS_HISTOGRAM_MIN_BITS || sub_bits > AS_HISTOGRAM_MAX_BITS)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a histogram has 2^%d to 2^%d buckets an octave, not 2^%u",
                       AS_HISTOGRAM_MIN_BITS, AS_HISTOGRAM_MAX_BITS, sub_bits);
    *h = (struct as_histogram){.count = count, .sub_bits = sub_bits};
    memset(count, 0, AS_HISTOGRAM_BUCKETS(sub_bits) * sizeof *count);
    return ASSAY_OK;
}

/* How many low bits the values of a bucket may differ in. */
static unsigned free_bits(unsigned sub_bits, size_t bucket)
{
    size_t octave = bucket >> sub_bits;

    return octave > 1 ? (unsigned)octave - 1 : 0;
}

uint64_t as_histogram_bucket_low(unsigned sub_bits, size_t bucket)
{
    unsigned shift = free_bits(sub_bits, bucket);

    return ((uint64_t)bucket - ((uint64_t)shift << sub_bits)) << shift;
}

uint64_t as_histogram_bucket_high(unsigned sub_bits, size_t bucket)
{
    uint64_t width = (uint64_t)1 << free_bits(sub_bits, bucket);

    return as_histogram_bucket_low(sub_bits, bucket) + (width - 1);
}

static size_t bucket_of_rank(const struct as_histogram *h, uint64_t rank)
{
    size_t n_buckets = AS_HISTOGRAM_BUCKETS(h->sub_bits), i = 0;
    uint64_t seen = h->count[0];

    while (seen <= rank && i + 1 < n_buckets)
        seen += h->count[++i];
    return i;
}

bool as_histogram_quantile(const struct as_histogram *h, double p, uint64_t *out)
{
    const struct as_total *t = &h->total;
    uint64_t rank = as_quantile_rank(t->n, p), low, middle;
    size_t bucket;

    if (t->n == 0)
        return false;
    bucket = bucket_of_rank(h, rank);
    low = as_histogram_bucket_low(h->sub_bits, bucket);
    middle = low + (as_histogram_bucket_high(h->sub_bits, bucket) - low) / 2;
    /* The extremes are known exactly, and only they can be nearer than the middle of a bucket. */
    if (rank == 0 || middle < t->min)
        *out = t->min;
    else if (rank == t->n - 1 || middle > t->max)
        *out = t->max;
    else
        *out = middle;
    return true;
}

double as_histogram_error(const struct as_histogram *h)
{
    return ldexp(1, -(int)h->sub_bits - 1);
}
