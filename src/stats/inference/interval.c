/* stats/inference/interval.c - how well the samples pin down their median.
 * One interval is exact for any distribution, the other resamples; both say what they achieved. */
#include "stats/inference/interval.h"

#include <math.h>

#include "stats/describe/quantile.h"
#include "stats/describe/rng.h"
#include "stats/describe/sort.h"

#define SERIES_FROM 1000 /* where four terms of the series are exact to the last digit */

static int check(const struct as_sorted *s, double level, struct assay_error *err)
{
    if (s->n == 0)
        return as_fail(err, ASSAY_ERR_USAGE, "an interval needs at least one sample");
    if (!(level > 0 && level < 1))
        return as_fail(err, ASSAY_ERR_USAGE, "a confidence level lies between 0 and 1, not at %g",
                       level);
    return ASSAY_OK;
}

/* The chance of m heads in 2m throws. */
static double even_chance(size_t m)
{
    double chance = 1, r = 1 / (double)m;

    if (m >= SERIES_FROM) /* Stirling's series of the binomial coefficient */
        return sqrt(r / M_PI) *
               (1 + r * (-1.0 / 8 + r * (1.0 / 128 + r * (5.0 / 1024 - r * 21.0 / 32768))));
    for (size_t i = 1; i <= m; i++)
        chance *= (double)(2 * i - 1) / (double)(2 * i);
    return chance;
}

/* The interval from the k-th smallest to the k-th greatest holds the median exactly when at least k
 * samples fall on either side of it, so each step outwards adds two terms of a binomial sum. */
int as_interval_median(struct as_interval *out, const struct as_sorted *s, double level,
                       struct assay_error *err)
{
    size_t n = s->n, k = n / 2;
    double term, coverage;
    int rc = check(s, level, err);

    if (rc < 0)
        return rc;
    term = even_chance(n - k);
    coverage = n % 2 ? 2 * term : term;
    if (k == 0) { /* one sample: a point, which misses surely */
        k = 1;
        coverage = 0;
    }
    while (coverage < level && k > 1) {
        term *= (double)k / (double)(n - k + 1);
        k--;
        coverage += 2 * term;
    }
    coverage = fmin(coverage, 1);
    *out = (struct as_interval){
        .low = as_sorted_at(s, k - 1),
        .high = as_sorted_at(s, n - k),
        .level = level,
        .coverage = coverage,
        .reached = coverage >= level,
    };
    return ASSAY_OK;
}

static double sample_at(const struct as_sorted *s, double unit)
{
    size_t i = (size_t)(unit * (double)s->n);

    return as_sorted_at(s, i < s->n ? i : s->n - 1);
}

/* The k-th smallest of n uniform numbers is distributed as Gamma(k) / (Gamma(k) + Gamma(n-k+1)),
 * and those above it are uniform again, so the next one is the least of the n - k that are left. */
static double resample_median(const struct as_sorted *s, struct as_rng *rng)
{
    size_t low = (s->n + 1) / 2;
    double below = as_rng_gamma(rng, (double)low);
    double above = as_rng_gamma(rng, (double)(s->n - low + 1));
    double unit = below / (below + above), next, first;

    first = sample_at(s, unit);
    if (s->n % 2)
        return first;
    next = unit + (1 - unit) * -expm1(log1p(-as_rng_unit(rng)) / (double)(s->n - low));
    return first + (sample_at(s, next) - first) / 2;
}

int as_interval_bootstrap(struct as_interval *out, const struct as_sorted *s,
                          const struct as_bootstrap *how, struct assay_error *err)
{
    struct as_sorted medians = as_sorted_f64(how->scratch, how->n_resamples);
    double half = 50 * how->level, most;
    struct as_rng rng;
    int rc = check(s, how->level, err);

    if (rc < 0)
        return rc;
    if (how->n_resamples < AS_BOOTSTRAP_MIN)
        return as_fail(err, ASSAY_ERR_USAGE, "%zu resamples are too few, at least %d are needed",
                       how->n_resamples, AS_BOOTSTRAP_MIN);
    as_rng_seed(&rng, how->seed);
    for (size_t i = 0; i < how->n_resamples; i++)
        how->scratch[i] = resample_median(s, &rng);
    as_sort_f64(how->scratch, how->n_resamples, how->scratch + how->n_resamples);
    /* No resample leaves the samples, whose extremes miss the median with chance 2^(1-n). */
    most = 1 - ldexp(1, s->n < 100 ? 1 - (int)s->n : -99);
    *out = (struct as_interval){
        .low = as_quantile_at(&medians, 50 - half, AS_QUANTILE_LINEAR),
        .high = as_quantile_at(&medians, 50 + half, AS_QUANTILE_LINEAR),
        .level = how->level,
        .coverage = fmin(how->level, most),
        .reached = most >= how->level,
    };
    return ASSAY_OK;
}
