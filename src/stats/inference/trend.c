/* stats/inference/trend.c - whether a series rises or falls, and how steeply, without being fooled
 * by spikes. */
#include "stats/inference/trend.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/rng.h"
#include "stats/describe/sorted.h"

#define MAX_SELECT_ROUNDS 128               /* a million values take some thirty */
#define MAX_VALUES        ((size_t)1 << 31) /* so that the number of pairs fits int64_t */

struct points {
    const double *x; /* NULL: 0, 1, 2 ... */
    const double *y;
    size_t n;
};

static double x_at(const struct points *p, size_t i)
{
    return p->x ? p->x[i] : (double)i;
}

static int check_values(const double *v, size_t n, const char *name, struct assay_error *err)
{
    size_t bad = as_sort_find_bad(v, n);

    if (n > MAX_VALUES)
        return as_fail(err, ASSAY_ERR_USAGE, "a trend takes at most 2^31 values");
    if (bad < n)
        return as_fail(err, ASSAY_ERR_USAGE, "%s %zu of the series is not a finite number", name,
                       bad);
    return ASSAY_OK;
}

static int check_points(const struct points *p, struct assay_error *err)
{
    int rc = check_values(p->y, p->n, "value", err);

    if (rc == ASSAY_OK && p->x)
        rc = check_values(p->x, p->n, "time", err);
    for (size_t i = 1; rc == ASSAY_OK && p->x && i < p->n; i++) {
        if (p->x[i] < p->x[i - 1])
            rc = as_fail(err, ASSAY_ERR_USAGE, "time %zu of the series is before the last", i);
    }
    if (rc == ASSAY_OK && (p->n < 2 || x_at(p, 0) == x_at(p, p->n - 1)))
        rc = as_fail(err, ASSAY_ERR_USAGE, "a trend needs values at two different times");
    return rc;
}

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* Brings the value of rank `k` to its place, no greater one before it, no smaller one behind it.
 * Returns false when the pivots were so unlucky that sorting is cheaper. */
static bool select_rank(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    struct as_rng rng;

    as_rng_seed(&rng, n);
    for (unsigned round = 0; low < high; round++) {
        double pivot = v[low + as_rng_below(&rng, high - low + 1)];
        size_t i = low, j = high;

        if (round == MAX_SELECT_ROUNDS)
            return false;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                double swap = v[i];

                v[i++] = v[j];
                v[j] = swap;
                if (j-- == 0)
                    break;
            }
        }
        /* Afterwards low .. j are at most the pivot, i .. high at least, what is between equals. */
        if (j != SIZE_MAX && k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return true;
    }
    return true;
}

/* The median of many values in linear time; they are in no order afterwards. */
static double median_of_many(double *v, size_t n, double *scratch)
{
    double below;

    if (!select_rank(v, n, n / 2))
        return median_of(v, n, scratch);
    if (n % 2)
        return v[n / 2];
    below = v[0];
    for (size_t i = 1; i < n / 2; i++)
        below = v[i] > below ? v[i] : below;
    return below + (v[n / 2] - below) / 2;
}

/* Splits the points into `n_blocks` runs of equal length, give or take one, and puts the medians of
 * their x and y into `x` and `y`. `work` has room for twice all points. */
static void fold_blocks(const struct points *p, size_t n_blocks, double *x, double *y, double *work)
{
    for (size_t b = 0; b < n_blocks; b++) {
        size_t from = b * p->n / n_blocks, n = (b + 1) * p->n / n_blocks - from;

        x[b] = x_at(p, from + (n - 1) / 2) / 2 + x_at(p, from + n / 2) / 2;
        memcpy(work, p->y + from, n * sizeof *work);
        y[b] = median_of(work, n, work + p->n);
    }
}

static size_t fill_slopes(double *slopes, const struct points *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = i + 1; j < p->n; j++) {
            double run = x_at(p, j) - x_at(p, i);

            if (run > 0)
                slopes[n++] = (p->y[j] - p->y[i]) / run;
        }
    }
    return n;
}

static double find_intercept(const struct points *p, double slope, double *work, double *scratch)
{
    for (size_t i = 0; i < p->n; i++)
        work[i] = p->y[i] - slope * x_at(p, i);
    return median_of(work, p->n, scratch);
}

int as_trend_line(struct as_trend_line *out, const double *x, const double *y, size_t n,
                  struct assay_error *err)
{
    struct points all = {x, y, n}, used = all;
    bool exact = n <= AS_TREND_EXACT_MAX;
    double *folded = NULL, *work = NULL, slope;
    size_t n_used = exact ? n : AS_TREND_EXACT_MAX, capacity = n_used * n_used / 2, n_slopes;
    int rc = check_points(&all, err);

    if (rc < 0)
        return rc;
    capacity = capacity > n ? capacity : n;
    folded = as_alloc_zero(n_used, 2 * sizeof *folded);
    work = as_alloc_zero(capacity, 2 * sizeof *work);
    if (!folded || !work) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (!exact) {
        fold_blocks(&all, n_used, folded, folded + n_used, work);
        used = (struct points){folded, folded + n_used, n_used};
    }
    n_slopes = fill_slopes(work, &used);
    if (n_slopes == 0) {
        rc = as_fail(err, ASSAY_ERR_USAGE, "nearly all values of the series have the same time");
        goto out;
    }
    slope = median_of_many(work, n_slopes, work + capacity);
    *out = (struct as_trend_line){
        .n = n,
        .n_used = n_used,
        .exact = exact,
        .slope = slope,
        .intercept = find_intercept(&all, slope, work, work + capacity),
    };
out:
    as_free(work);
    as_free(folded);
    return rc;
}

/* Merges two ascending runs into `to`; returns how many pairs were the wrong way round. */
static int64_t merge_runs(double *to, const double *left, size_t n_left, const double *right,
                          size_t n_right)
{
    int64_t falling = 0;
    size_t i = 0, j = 0;

    while (i < n_left || j < n_right) {
        if (j == n_right || (i < n_left && left[i] <= right[j])) {
            to[i + j] = left[i];
            i++;
        } else {
            to[i + j] = right[j];
            j++;
            falling += (int64_t)(n_left - i);
        }
    }
    return falling;
}

/* Sorts `*v` by merging ever longer runs, from one array into the other; `*v` is the one that ends
 * up sorted. Returns how many pairs of values were falling. */
static int64_t count_falling(double **v, double *other, size_t n)
{
    int64_t falling = 0;

    for (size_t run = 1; run < n; run *= 2) {
        double *from = *v;

        for (size_t i = 0; i < n; i += 2 * run) {
            size_t middle = i + run < n ? i + run : n;
            size_t end = middle + run < n ? middle + run : n;

            falling += merge_runs(other + i, from + i, middle - i, from + middle, end - middle);
        }
        *v = other;
        other = from;
    }
    return falling;
}

/* What groups of equal values take away. */
struct ties {
    double pairs, variance;
};

static struct ties count_ties(const double *sorted, size_t n)
{
    struct ties ties = {0};
    size_t start = 0;

    for (size_t i = 1; i <= n; i++) {
        double t;

        if (i < n && sorted[i] == sorted[start])
            continue;
        t = (double)(i - start);
        ties.pairs += t * (t - 1) / 2;
        ties.variance += t * (t - 1) * (2 * t + 5);
        start = i;
    }
    return ties;
}

static void fill_test(struct as_trend_test *out, size_t count, int64_t falling,
                      const struct ties *ties)
{
    double n = (double)count, pairs = n * (n - 1) / 2;
    double variance = (n * (n - 1) * (2 * n + 5) - ties->variance) / 18, s;

    *out = (struct as_trend_test){.n = count, .tau = AS_UNKNOWN, .p = 1};
    if (!(variance > 0))
        return;
    out->variance = variance;
    out->s = (int64_t)(count * (count - 1) / 2) - (int64_t)ties->pairs - 2 * falling;
    s = (double)out->s;
    out->tau = s / sqrt(pairs * (pairs - ties->pairs));
    if (out->s != 0)
        out->z = copysign((fabs(s) - 1) / sqrt(variance), s);
    out->p = erfc(fabs(out->z) / M_SQRT2);
}

int as_trend_test(struct as_trend_test *out, const double *y, size_t n, struct assay_error *err)
{
    double *work = NULL, *sorted;
    struct ties ties;
    int64_t falling;
    int rc = check_values(y, n, "value", err);

    if (rc < 0)
        return rc;
    if (n < 3)
        return as_fail(err, ASSAY_ERR_USAGE, "a trend test needs three values, %zu given", n);
    work = as_alloc_zero(n, 2 * sizeof *work);
    if (!work)
        return as_fail_nomem(err);
    memcpy(work, y, n * sizeof *work);
    sorted = work;
    falling = count_falling(&sorted, work + n, n);
    ties = count_ties(sorted, n);
    fill_test(out, n, falling, &ties);
    as_free(work);
    return ASSAY_OK;
}
