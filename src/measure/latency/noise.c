/* measure/latency/noise.c - how much of a difference between two measurements is nothing but noise.
 * The same kernel is timed as A and as B, in the order ABBA: whatever differs is the machine. */
#include "measure/latency/noise.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "measure/peaks/peak_kernels.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"
#include "stats/describe/summary.h"

#define USUAL_KERNEL_NS UINT64_C(1000000)
#define MIN_PAIRS       8
#define WARM_UP         4

struct kernel {
    const struct as_compute_kernel *f32;
    _Alignas(64) char scratch[AS_PEAK_SCRATCH_BYTES];
    uint64_t rounds;
};

static double time_ns(struct kernel *k)
{
    uint64_t begin = as_clock_mono_ns();

    k->f32->run(k->rounds, k->scratch);
    return (double)(as_clock_mono_ns() - begin);
}

/* Finds the rounds that take `wanted_ns`, by the best of some short runs. */
static void calibrate(struct kernel *k, uint64_t wanted_ns)
{
    double best = (double)INFINITY;

    k->rounds = 20000;
    for (int i = 0; i < 10; i++)
        best = fmin(best, time_ns(k));
    if (best > 0)
        k->rounds = 1 + (uint64_t)((double)k->rounds * (double)wanted_ns / best);
}

/* Replaces the pairs' times by their differences, as shares of `median`. */
static int take_pairs(struct as_noise *out, double *diff, double *scratch, double median,
                      struct assay_error *err)
{
    size_t n = out->n_pairs;
    struct as_sorted sorted;
    int rc;

    as_sort_f64(diff, n, scratch);
    sorted = as_sorted_f64(diff, n);
    rc = as_interval_median(&out->interval, &sorted, 0.95, err);
    out->interval.low /= median;
    out->interval.high /= median;
    out->resolvable_share = fmax(fabs(out->interval.low), fabs(out->interval.high));
    for (size_t i = 0; i < n; i++)
        diff[i] = fabs(diff[i]);
    as_sort_f64(diff, n, scratch);
    out->median_share = as_sorted_median(&sorted) / median;
    out->p95_share = AS_UNKNOWN;
    if (as_quantile_supported(n, 95))
        out->p95_share = as_quantile_at(&sorted, 95, AS_QUANTILE_NEAREST_RANK) / median;
    return rc;
}

int as_noise_from(struct as_noise *out, const double *a_ns, const double *b_ns, size_t n_pairs,
                  struct assay_error *err)
{
    struct as_rank_test test;
    struct as_summary all;
    double *times = as_alloc_zero(n_pairs, 4 * sizeof *times);
    double *scratch = times ? times + 2 * n_pairs : NULL;
    int rc;

    *out = (struct as_noise){.n_pairs = n_pairs};
    if (!times)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n_pairs; i++) {
        times[i] = a_ns[i];
        times[n_pairs + i] = b_ns[i];
    }
    rc = as_summary_f64(&all, times, 2 * n_pairs, scratch, AS_QUANTILE_NEAREST_RANK, err);
    if (rc == ASSAY_OK && !(all.median > 0))
        rc = as_fail(err, ASSAY_ERR_STATE, "the clock is too coarse to time the kernel");
    if (rc == ASSAY_OK)
        rc = as_rank_test(&test, a_ns, n_pairs, b_ns, n_pairs, err);
    if (rc != ASSAY_OK)
        goto out;
    out->kernel_ns = all.median;
    out->cv = all.cv;
    out->p = test.p;
    out->shift_share = test.shift / all.median;
    for (size_t i = 0; i < n_pairs; i++)
        times[i] = b_ns[i] - a_ns[i];
    rc = take_pairs(out, times, scratch, all.median, err);
out:
    as_free(times);
    return rc;
}

/* Pair i is A before B, pair i + 1 the other way round: a slow drift meets both alike. */
static size_t take_times(struct kernel *k, double *a, double *b, uint64_t budget_ns)
{
    uint64_t begin = as_clock_mono_ns();
    size_t n = 0;

    for (int i = 0; i < WARM_UP; i++)
        (void)time_ns(k);
    while (n < AS_NOISE_MAX_PAIRS && (n < MIN_PAIRS || as_clock_mono_ns() - begin < budget_ns)) {
        double first = time_ns(k), second = time_ns(k);

        a[n] = n % 2 ? second : first;
        b[n] = n % 2 ? first : second;
        n++;
    }
    return n;
}

int as_noise_measure(struct as_noise *out, uint64_t budget_ns, uint64_t kernel_ns,
                     struct assay_error *err)
{
    struct as_process_events events_before, events_after;
    struct as_system_load load_before, load_after;
    double *a = as_alloc_zero(AS_NOISE_MAX_PAIRS, 2 * sizeof *a);
    const char *why;
    struct kernel k;
    size_t n;
    int rc;

    if (!a)
        return as_fail_nomem(err);
    k.f32 = as_compute_kernel_find(AS_PEAK_F32, &why);
    as_compute_scratch(AS_PEAK_F32, k.scratch);
    calibrate(&k, kernel_ns ? kernel_ns : USUAL_KERNEL_NS);
    as_system_load_read(&load_before, "");
    as_process_events_read(&events_before, true);
    n = take_times(&k, a, a + AS_NOISE_MAX_PAIRS, budget_ns);
    as_process_events_read(&events_after, true);
    as_system_load_read(&load_after, "");
    rc = as_noise_from(out, a, a + AS_NOISE_MAX_PAIRS, n, err);
    out->events = as_process_events_between(&events_before, &events_after);
    out->shares = as_system_load_between(&load_before, &load_after);
    as_free(a);
    return rc;
}
