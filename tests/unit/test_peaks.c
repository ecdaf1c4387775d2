/* tests/unit/test_peaks.c - the loops compute what they claim, and the figures are looked up right.
 * No speed is tested: only that there is one, and that it is of the right thing. */
#include "unit.h"

#include "base/alloc.h"
#include "measure/peaks/peak_kernels.h"

#define SUMS 12 /* vectors at multiples of 64 bytes, then the two factors */

static void copy_out(void *to, const char *scratch, size_t vector, size_t size)
{
    memcpy(to, scratch + vector * 64, size);
}

/* sum = sum * x + y, in f32 or f64. */
static void check_fma(const struct as_compute_kernel *k, const char *before, const char *after,
                      uint64_t rounds)
{
    bool wide = k->type == AS_PEAK_F64;
    size_t lane_bytes = wide ? 8 : 4;

    for (size_t s = 0; s < SUMS; s++)
        for (size_t i = 0; i < k->lanes; i++) {
            float f[3], f_after;
            double d[3], d_after;

            for (size_t v = 0; v < 3; v++) {
                size_t at = (v == 0 ? s : SUMS + v - 1) * 64 + i * lane_bytes;

                memcpy(&f[v], before + at, 4);
                memcpy(&d[v], before + (at & ~(size_t)7), 8);
                if (!wide)
                    d[v] = (double)f[v];
            }
            memcpy(&f_after, after + s * 64 + i * lane_bytes, 4);
            memcpy(&d_after, after + (s * 64 + i * lane_bytes) / 8 * 8, 8);
            for (uint64_t r = 0; r < rounds; r++)
                d[0] = d[0] * d[1] + d[2];
            assert_true(fabs((wide ? d_after : (double)f_after) - d[0]) <= 1e-5 * fabs(d[0]));
        }
}

/* The factors of the measurement are too small to be seen in a sum. */
static void large_factors(char *scratch)
{
    const uint16_t one_and_a_half = 0x3fc0;

    for (size_t i = 0; i < 64; i++)
        memcpy(scratch + SUMS * 64 + i * 2, &one_and_a_half, 2);
}

static void check_bf16(const char *before, const char *after, uint64_t rounds)
{
    for (size_t s = 0; s < SUMS; s++) {
        float sum[2][16];
        uint16_t x[32], y[32];

        copy_out(sum[0], before, s, 64);
        copy_out(sum[1], after, s, 64);
        copy_out(x, before, SUMS, 64);
        copy_out(y, before, SUMS + 1, 64);
        for (size_t i = 0; i < 16; i++) {
            double want = (double)sum[0][i];

            for (size_t k = 2 * i; k < 2 * i + 2; k++) {
                uint32_t bits[2] = {(uint32_t)x[k] << 16, (uint32_t)y[k] << 16};
                float v[2];

                memcpy(v, bits, sizeof v);
                want += (double)rounds * (double)v[0] * (double)v[1];
            }
            assert_true(fabs((double)sum[1][i] - want) <= 1e-5 * fabs(want));
        }
    }
}

/* Four products of an unsigned and a signed byte are added to each sum of 32 bits. */
static void check_vnni(const char *before, const char *after, uint64_t rounds)
{
    for (size_t s = 0; s < SUMS; s++)
        for (size_t i = 0; i < 16; i++) {
            int32_t sum, got;

            memcpy(&sum, before + s * 64 + i * 4, 4);
            memcpy(&got, after + s * 64 + i * 4, 4);
            for (size_t k = 4 * i; k < 4 * i + 4; k++)
                sum += (int32_t)rounds * (int32_t)(uint8_t)before[SUMS * 64 + k] *
                       (int32_t)(int8_t)before[(SUMS + 1) * 64 + k];
            assert_int_equal(got, sum);
        }
}

static void every_kernel_computes_what_it_counts(void **state)
{
    const uint64_t rounds = 3;
    const struct as_compute_kernel *k;
    size_t n_checked = 0;

    (void)state;
    for (size_t i = 0; (k = as_compute_kernel_at(i)); i++) {
        _Alignas(64) char before[AS_PEAK_SCRATCH_BYTES], after[AS_PEAK_SCRATCH_BYTES];

        assert_true(fabs(k->ops - SUMS * (double)k->lanes * 2) < 0.5);
        if (!as_peak_isa_has(k->isa_level))
            continue;
        as_compute_scratch(k->type, before);
        if (k->type == AS_PEAK_BF16)
            large_factors(before);
        memcpy(after, before, sizeof after);
        k->run(rounds, after);
        if (k->type == AS_PEAK_F32 || k->type == AS_PEAK_F64)
            check_fma(k, before, after, rounds);
        else if (k->type == AS_PEAK_BF16)
            check_bf16(before, after, rounds);
        else if (strcmp(k->isa, "avx512_vnni") == 0)
            check_vnni(before, after, rounds);
        else
            assert_memory_not_equal(before, after, SUMS * 64);
        assert_memory_equal(before + SUMS * 64, after + SUMS * 64, 2 * 64);
        n_checked++;
    }
    assert_true(n_checked >= 2);
}

/* Not a number, infinity and tiny numbers would be measured slower, or as nothing at all. */
static void numbers_stay_normal_for_ever(void **state)
{
    const struct as_compute_kernel *k;

    (void)state;
    for (size_t i = 0; (k = as_compute_kernel_at(i)); i++) {
        _Alignas(64) char scratch[AS_PEAK_SCRATCH_BYTES];

        if (!as_peak_isa_has(k->isa_level) || k->type == AS_PEAK_I8)
            continue;
        as_compute_scratch(k->type, scratch);
        k->run(100000, scratch);
        for (size_t at = 0; at < SUMS * 64; at += 64) {
            float f;
            double d;

            memcpy(&f, scratch + at, sizeof f);
            memcpy(&d, scratch + at, sizeof d);
            assert_true(k->type == AS_PEAK_F64 ? isnormal(d) : isnormal(f));
        }
    }
}

static void memory_kernels_touch_what_they_say(void **state)
{
    const size_t size = 4 * AS_PEAK_CHUNK, n = size / sizeof(float);
    const struct as_memory_kernel *k;
    float *data = as_alloc_aligned(64, size), *copy = as_alloc(size);

    (void)state;
    assert_true(data && copy);
    for (size_t i = 0; (k = as_memory_kernel_at(i)); i++) {
        if (!as_peak_isa_has(k->isa_level))
            continue;
        for (size_t at = 0; at < n; at++)
            data[at] = (float)at;
        memcpy(copy, data, size);
        k->run((char *)data, size, 2);
        for (size_t at = 0; at < n; at++) {
            double want = (double)copy[at];

            if (k->access == AS_PEAK_WRITE)
                want = 0.5;
            else if (k->access == AS_PEAK_TRIAD && at < n / 3)
                want = (double)copy[n / 3 + at] + 0.5 * (double)copy[2 * (n / 3) + at];
            assert_true(fabs((double)data[at] - want) < 1e-3);
        }
    }
    for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
        assert_non_null(as_memory_kernel_find((enum as_peak_access)access));
    as_free(copy);
    as_free(data);
}

static void thread_counts_double_up_to_the_most(void **state)
{
    unsigned counts[AS_PEAK_MAX_COUNTS];

    (void)state;
    assert_int_equal(as_peaks_counts(1, counts), 1);
    assert_int_equal(counts[0], 1);
    assert_int_equal(as_peaks_counts(6, counts), 4);
    assert_int_equal(counts[2], 4);
    assert_int_equal(counts[3], 6);
    assert_int_equal(as_peaks_counts(0, counts), 1);
    assert_int_equal(as_peaks_counts(1000000, counts), 9);
    assert_int_equal(counts[8], AS_PEAK_MAX_THREADS);
}

static struct as_peaks made_up(void)
{
    struct as_peaks p = {.n_counts = 2, .threads = {1, 4}, .vector_hz = 3e9};

    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++) {
        p.compute[type][0] = (struct as_peak){.rate = 100, .isa = "avx512"};
        p.compute[type][1] = (struct as_peak){.rate = 400, .isa = "avx512"};
    }
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
        for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++) {
            p.bandwidth[level][access][0].rate = 10 + access;
            p.bandwidth[level][access][1].rate = 20 + access;
        }
    p.place[AS_PEAK_L1].size_bytes = 1000;
    p.place[AS_PEAK_L2].size_bytes = 10000;
    return p;
}

static void near(double got, double want)
{
    assert_true(fabs(got - want) < 1e-9);
}

static void peaks_are_looked_up_between_thread_counts(void **state)
{
    struct as_peaks p = made_up();

    (void)state;
    near(as_peak_flops(&p, AS_PEAK_F32, 1), 100);
    near(as_peak_flops(&p, AS_PEAK_F32, 2), 200);
    near(as_peak_flops(&p, AS_PEAK_F32, 4), 400);
    near(as_peak_flops(&p, AS_PEAK_F32, 99), 400);
    assert_true(isnan(as_peak_flops(&p, AS_PEAK_F32, 0)));
    near(as_peak_bandwidth(&p, AS_PEAK_DRAM, 1), 12); /* the best of the three */
    near(as_peak_bandwidth_of(&p, AS_PEAK_DRAM, AS_PEAK_READ, 4), 20);
    near(as_peak_ridge(&p, AS_PEAK_F32, AS_PEAK_L3, 1), 100.0 / 12);
    p.compute[AS_PEAK_F32][0].rate = 2 * 2 * 16 * 3e9;
    near(as_peak_fma_a_cycle(&p), 2);
    p.bandwidth[AS_PEAK_L3][AS_PEAK_TRIAD][0].rate = UNIT_NAN; /* the others remain */
    near(as_peak_bandwidth(&p, AS_PEAK_L3, 1), 11);
    p.compute[AS_PEAK_I8][1].rate = UNIT_NAN;
    assert_true(isnan(as_peak_flops(&p, AS_PEAK_I8, 3)));
    assert_true(isnan(as_peak_ridge(&p, AS_PEAK_I8, AS_PEAK_L1, 4)));
    p.n_counts = 0;
    assert_true(isnan(as_peak_flops(&p, AS_PEAK_F32, 1)));
    assert_true(isnan(as_peak_fma_a_cycle(&p)));
}

static void a_working_set_lives_in_the_smallest_level(void **state)
{
    struct as_peaks p = made_up();

    (void)state;
    assert_int_equal(as_peak_level(&p, 0), AS_PEAK_L1);
    assert_int_equal(as_peak_level(&p, 1000), AS_PEAK_L1);
    assert_int_equal(as_peak_level(&p, 1001), AS_PEAK_L2);
    assert_int_equal(as_peak_level(&p, 10001), AS_PEAK_DRAM); /* there is no L3 */
    assert_int_equal(as_peak_level(&p, UINT64_MAX), AS_PEAK_DRAM);
}

struct counted {
    unsigned prepared[3], trials[3];
};

static void count_prepared(void *user, unsigned member)
{
    ((struct counted *)user)->prepared[member]++;
}

static void count_trial(void *user, unsigned member)
{
    ((struct counted *)user)->trials[member]++;
}

static void a_team_does_every_trial_together(void **state)
{
    struct as_topology t;
    struct counted c = {0};
    struct as_team_job job = {.topology = &t,
                              .n_threads = 3,
                              .min_trials = 5,
                              .max_trials = 5,
                              .prepare = count_prepared,
                              .trial = count_trial,
                              .user = &c};
    struct as_team_result result;

    (void)state;
    assert_int_equal(as_topology_read(&t, NULL, NULL), ASSAY_OK);
    assert_int_equal(as_team_run(&result, &job, NULL), ASSAY_OK);
    assert_int_equal(result.n_trials, 5);
    assert_true(result.best_ns > 0 && result.median_ns >= result.best_ns);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(c.prepared[i], 1);
        assert_int_equal(c.trials[i], 5);
    }
}

static void count_progress(void *user, const char *what, unsigned done, unsigned total)
{
    unsigned *n = user;

    assert_non_null(what);
    assert_int_equal(done, *n);
    assert_true(done < total);
    ++*n;
}

static void a_measurement_fills_every_figure(void **state)
{
    struct as_topology t;
    struct as_peaks p;
    const char *why;
    unsigned n_steps = 0;
    struct as_peaks_options options = {.topology = &t,
                                       .max_threads = 1,
                                       .memory_bytes = UINT64_C(128) << 20,
                                       .quick = true,
                                       .progress = count_progress,
                                       .user = &n_steps};

    (void)state;
    assert_int_equal(as_topology_read(&t, NULL, NULL), ASSAY_OK);
    assert_int_equal(as_peaks_measure(&p, &options, NULL), ASSAY_OK);
    assert_int_equal(n_steps, 2 * (AS_PEAK_TYPE_COUNT + AS_PEAK_LEVEL_COUNT));
    assert_int_equal(p.n_counts, 1);
    assert_true(p.compute[AS_PEAK_F32][0].rate > 0 && p.compute[AS_PEAK_F64][0].rate > 0);
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++) {
        const struct as_peak *peak = &p.compute[type][0];

        assert_true(peak->why ? isnan(peak->rate) : peak->rate > 0 && peak->isa);
    }
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
        for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++) {
            const struct as_peak *peak = &p.bandwidth[level][access][0];

            assert_true(peak->why ? isnan(peak->rate) : peak->rate > 0 && peak->spread >= 0);
        }
    why = p.bandwidth[AS_PEAK_DRAM][AS_PEAK_READ][0].why;
    if (why) /* a busy machine under a sanitizer */
        assert_ptr_equal(why, as_peak_reason_text(AS_PEAK_SLOW_MEMORY));
    else
        assert_true(p.place[AS_PEAK_DRAM].set_bytes >= UINT64_C(64) << 20);
    assert_true(p.clock_ns > 0 && p.took_ns > 0 && p.measured_unix_ns > 0);
}

static void without_memory_there_is_a_reason(void **state)
{
    struct as_topology t;
    struct as_peaks p;
    struct as_peaks_options options = {
        .topology = &t, .max_threads = 1, .memory_bytes = 4096, .quick = true};

    (void)state;
    assert_int_equal(as_topology_read(&t, NULL, NULL), ASSAY_OK);
    assert_int_equal(as_peaks_measure(&p, &options, NULL), ASSAY_OK);
    assert_non_null(p.bandwidth[AS_PEAK_DRAM][AS_PEAK_READ][0].why);
    assert_true(isnan(p.bandwidth[AS_PEAK_DRAM][AS_PEAK_READ][0].rate));
    assert_true(p.compute[AS_PEAK_F32][0].rate > 0);
}

static void names_are_found_again(void **state)
{
    const struct as_compute_kernel *k = as_compute_kernel_at(0);

    (void)state;
    assert_ptr_equal(as_peak_isa_find(k->isa, strlen(k->isa)), k->isa);
    assert_null(as_peak_isa_find("avx9000", 7));
    for (int i = 0; i < AS_PEAK_REASON_COUNT; i++) {
        const char *text = as_peak_reason_text((enum as_peak_reason)i);

        assert_ptr_equal(as_peak_reason_find(text, strlen(text)), text);
    }
    assert_null(as_peak_reason_find("because", 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_computes_what_it_counts),
        cmocka_unit_test(numbers_stay_normal_for_ever),
        cmocka_unit_test(memory_kernels_touch_what_they_say),
        cmocka_unit_test(thread_counts_double_up_to_the_most),
        cmocka_unit_test(peaks_are_looked_up_between_thread_counts),
        cmocka_unit_test(a_working_set_lives_in_the_smallest_level),
        cmocka_unit_test(a_team_does_every_trial_together),
        cmocka_unit_test(a_measurement_fills_every_figure),
        cmocka_unit_test(without_memory_there_is_a_reason),
        cmocka_unit_test(names_are_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
