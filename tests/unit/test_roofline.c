/* tests/unit/test_roofline.c - what bounds a piece of work, with peaks made up so that every answer
 * can be worked out by hand. */
#include "unit.h"

#include <math.h>

#include "analyze/model/roofline.h"

/* 100 GFLOP/s, and 1000, 100, 50, 10 GB/s from L1 down to memory. */
static struct as_peaks made_up(void)
{
    static const double gbps[] = {1000, 100, 50, 10};
    static const uint64_t size[] = {32 << 10, 1 << 20, 32 << 20, (uint64_t)1 << 34};
    struct as_peaks p = {.n_counts = 1, .threads = {1}};

    for (int t = 0; t < AS_PEAK_TYPE_COUNT; t++)
        p.compute[t][0] = (struct as_peak){.rate = t == AS_PEAK_I8 ? 400e9 : 100e9, .isa = "avx2"};
    for (int l = 0; l < AS_PEAK_LEVEL_COUNT; l++) {
        p.place[l].size_bytes = size[l];
        for (int a = 0; a < AS_PEAK_ACCESS_COUNT; a++)
            p.bandwidth[l][a][0] = (struct as_peak){.rate = gbps[l] * 1e9, .isa = "avx2"};
    }
    return p;
}

static struct as_roof find(const struct as_peaks *p, double flops, double streamed, double local,
                           uint64_t footprint, double seconds)
{
    struct as_roof_work work = {.flops = flops,
                                .streamed_bytes = streamed,
                                .local_bytes = local,
                                .footprint_bytes = footprint,
                                .seconds = seconds,
                                .threads = 1};
    struct as_roof roof;

    as_roof_find(&roof, p, &work);
    return roof;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void arithmetic_bounds_what_has_much_of_it(void **state)
{
    struct as_peaks p = made_up();
    /* 1 GFLOP: 10 ms at least; 1 MB of activations in L2: 10 us. */
    struct as_roof r = find(&p, 1e9, 0, 1e6, 1 << 20, 0.020);

    (void)state;
    assert_int_equal(r.bound, AS_BOUND_COMPUTE);
    assert_true(near(r.compute_seconds, 0.010) && near(r.memory_seconds, 1e-5));
    assert_true(near(r.roof_fraction, 0.5) && near(r.attainable, 100e9) && near(r.achieved, 50e9));
    assert_true(near(r.intensity, 1000) && !r.inconsistent);
    assert_string_equal(as_roof_text(&r), "compute");
}

static void memory_bounds_at_the_level_that_takes_longest(void **state)
{
    struct as_peaks p = made_up();
    /* 100 MB of weights from memory: 10 ms. 0.5 MB of activations in L2: 5 us. */
    struct as_roof far = find(&p, 1e6, 1e8, 5e5, 2u << 30, 0.0125);
    /* The same activations alone. */
    struct as_roof near_by = find(&p, 1e4, 0, 5e5, 2u << 30, 1e-5);

    (void)state;
    assert_int_equal(far.bound, AS_BOUND_MEMORY);
    assert_int_equal(far.level, AS_PEAK_DRAM);
    assert_true(near(far.memory_seconds, 0.010005));
    assert_string_equal(as_roof_text(&far), "memory (DRAM)");
    assert_int_equal(near_by.bound, AS_BOUND_MEMORY);
    assert_int_equal(near_by.level, AS_PEAK_L2);
    assert_true(near(near_by.roof_fraction, 0.5));
}

static void what_neither_explains_is_overhead(void **state)
{
    struct as_peaks p = made_up();
    struct as_roof r = find(&p, 1e6, 0, 1e4, 1 << 20, 1e-3); /* 10 us of arithmetic in 1 ms */

    (void)state;
    assert_int_equal(r.bound, AS_BOUND_OVERHEAD);
    assert_true(near(r.roof_fraction, 0.01));
}

static void nothing_is_cut_at_the_roof(void **state)
{
    struct as_peaks p = made_up();
    struct as_roof r = find(&p, 1e9, 0, 1e6, 1 << 20, 0.005);

    (void)state;
    assert_true(near(r.roof_fraction, 2) && r.inconsistent);
    assert_int_equal(r.bound, AS_BOUND_COMPUTE);
}

static void without_peaks_nothing_is_known(void **state)
{
    struct as_peaks p = made_up();
    struct as_roof r;

    (void)state;
    p.compute[AS_PEAK_F32][0].rate = (double)NAN;
    r = find(&p, 1e9, 0, 1e6, 1 << 20, 0.020);
    assert_int_equal(r.bound, AS_BOUND_UNKNOWN);
    assert_true(isnan(r.roof_fraction) && isnan(r.attainable));
    p = made_up();
    r = find(&p, 1e9, 0, 1e6, 1 << 20, 0);
    assert_int_equal(r.bound, AS_BOUND_UNKNOWN);
    assert_true(isnan(r.achieved));
}

static void cheaper_numbers_have_another_roof(void **state)
{
    struct as_peaks p = made_up();
    struct as_roof_work work = {
        .type = AS_PEAK_I8, .flops = 1e9, .local_bytes = 1e6, .seconds = 0.005, .threads = 1};
    struct as_roof r;

    (void)state;
    as_roof_find(&r, &p, &work);
    assert_true(near(r.roof_fraction, 0.5) && !r.inconsistent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_bounds_what_has_much_of_it),
        cmocka_unit_test(memory_bounds_at_the_level_that_takes_longest),
        cmocka_unit_test(what_neither_explains_is_overhead),
        cmocka_unit_test(nothing_is_cut_at_the_roof),
        cmocka_unit_test(without_peaks_nothing_is_known),
        cmocka_unit_test(cheaper_numbers_have_another_roof),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
