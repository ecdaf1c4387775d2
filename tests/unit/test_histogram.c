/* tests/unit/test_histogram.c - buckets without gaps, merging to the byte, quantiles within the
 * bound. Every allowed number of bits is tried. */
#include "stats_near.h"

#include <string.h>

#include "stats/describe/histogram.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

#define MOST AS_HISTOGRAM_BUCKETS(AS_HISTOGRAM_MAX_BITS)

static void refuses_other_numbers_of_bits(void **state)
{
    static uint64_t count[MOST];
    struct as_histogram h;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_histogram_init(&h, 2, count, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_histogram_init(&h, 9, count, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_histogram_init(&h, 5, count, &err), 0);
    assert_int_equal(AS_HISTOGRAM_BUCKETS(AS_HISTOGRAM_DEFAULT_BITS), 1920);
}

static void the_buckets_cover_everything_once(void **state)
{
    (void)state;
    for (unsigned bits = AS_HISTOGRAM_MIN_BITS; bits <= AS_HISTOGRAM_MAX_BITS; bits++) {
        size_t n = AS_HISTOGRAM_BUCKETS(bits);

        assert_true(as_histogram_bucket_low(bits, 0) == 0);
        assert_true(as_histogram_bucket_high(bits, n - 1) == UINT64_MAX);
        for (size_t i = 0; i < n; i++) {
            uint64_t low = as_histogram_bucket_low(bits, i);
            uint64_t high = as_histogram_bucket_high(bits, i);

            assert_int_equal(as_histogram_bucket(bits, low), i);
            assert_int_equal(as_histogram_bucket(bits, high), i);
            assert_true(i == 0 || low == as_histogram_bucket_high(bits, i - 1) + 1);
            assert_true(low >> (bits + 1) || low == high); /* small values are exact */
        }
    }
}

/* Sizes of all magnitudes, with both ends of the range now and then. */
static uint64_t any_value(struct as_rng *rng)
{
    uint64_t bits = as_rng_below(rng, 66);

    if (bits == 65)
        return UINT64_MAX;
    return bits ? as_rng_next(rng) >> (64 - bits) : 0;
}

static void check_quantiles(uint64_t *v, size_t n, unsigned bits, uint64_t *scratch)
{
    static uint64_t count[MOST];
    struct as_histogram h;

    assert_int_equal(as_histogram_init(&h, bits, count, NULL), 0);
    for (size_t i = 0; i < n; i++)
        as_histogram_record(&h, v[i]);
    as_sort_u64(v, n, scratch);
    assert_true(h.total.n == n && h.total.min == v[0] && h.total.max == v[n - 1]);
    for (unsigned p = 0; p <= 1000; p++) {
        uint64_t exact = as_quantile_nearest_u64(v, n, p / 10.0), got, off;

        assert_true(as_histogram_quantile(&h, p / 10.0, &got));
        off = got > exact ? got - exact : exact - got;
        assert_true((double)off <= as_histogram_error(&h) * (double)exact);
        assert_true(exact >> (bits + 1) || off == 0);
    }
}

static void quantiles_stay_within_the_stated_error(void **state)
{
    static uint64_t v[4000], scratch[4000];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 13);
    for (unsigned bits = AS_HISTOGRAM_MIN_BITS; bits <= AS_HISTOGRAM_MAX_BITS; bits++) {
        for (size_t n = 1; n <= N_OF(v); n = n * 3 + 1) {
            fill_durations(v, n, n);
            check_quantiles(v, n, bits, scratch);
            for (size_t i = 0; i < n; i++)
                v[i] = any_value(&rng);
            check_quantiles(v, n, bits, scratch);
        }
    }
}

static void an_empty_histogram_has_no_quantile(void **state)
{
    static uint64_t count[MOST];
    struct as_histogram h;
    uint64_t out;

    (void)state;
    assert_int_equal(as_histogram_init(&h, AS_HISTOGRAM_DEFAULT_BITS, count, NULL), 0);
    assert_false(as_histogram_quantile(&h, 50, &out));
    as_histogram_record(&h, 123456789);
    assert_true(as_histogram_quantile(&h, 50, &out));
    assert_int_equal(out, 123456789);
    assert_near(as_histogram_error(&h), 1.0 / 64, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_other_numbers_of_bits),
        cmocka_unit_test(the_buckets_cover_everything_once),
        cmocka_unit_test(quantiles_stay_within_the_stated_error),
        cmocka_unit_test(an_empty_histogram_has_no_quantile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
