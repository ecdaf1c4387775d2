/* stats/inference/interval.c - how well the samples pin down their median. */
#include "stats/inference/interval.h"

#include <math.h>

#include "stats/describe/quantile.h"
#include "stats/describe/rng.h"
#include "stats/describe/sorted.h"

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
