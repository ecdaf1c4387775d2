/* stats/inference/growth.c - whether a series keeps growing all along, or only rose once, swung or
 * was noise. */
#include "stats/inference/growth.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/describe/sorted.h"
#include "stats/inference/trend.h"

#define KEPT_SHARE     (1.0 / 3) /* of what the line says, in floors and halves */
#define FEW            40        /* values: only one step is taken away */
#define MAX_PARTS      3
#define MIN_PART_SHARE 10 /* a part has at least a tenth of the values */

struct parts {
    size_t from[MAX_PARTS + 1]; /* the last is n */
    size_t n;
};

static double least(const double *y, size_t n)
{
    double low = y[0];

    for (size_t i = 1; i < n; i++)
        low = y[i] < low ? y[i] : low;
    return low;
}

static double median(const double *y, size_t n, double *work)
{
    struct as_sorted s = as_sorted_f64(work, n);

    memcpy(work, y, n * sizeof *y);
    as_sort_f64(work, n, work + n);
    return as_sorted_median(&s);
}

/* Ranks from 0, ties share their mean. `work` has room for 2n. */
static void fill_ranks(double *ranks, const double *y, size_t n, double *work)
{
    struct as_sorted s = as_sorted_f64(work, n);

    memcpy(work, y, n * sizeof *y);
    as_sort_f64(work, n, work + n);
    for (size_t i = 0; i < n; i++) {
        double below = (double)as_sorted_count_below(&s, y[i]);
        double above = (double)as_sorted_count_above(&s, y[i]);

        ranks[i] = (below + ((double)n - 1 - above)) / 2;
    }
}

/* The cut of [from, to) that leaves two levels furthest apart; its gain, or -1 without room. */
static double best_cut(const double *ranks, size_t from, size_t to, size_t min_part, size_t *cut)
{
    double all = 0, left = 0, best = -1;

    for (size_t i = from; i < to; i++)
        all += ranks[i];
    for (size_t i = from; i < to; i++) {
        double n_left = (double)(i - from), n_right = (double)(to - i), gap;

        if (i - from >= min_part && to - i >= min_part) {
            gap = (all - left) / n_right - left / n_left;
            gap *= gap * n_left * n_right / (n_left + n_right);
            if (gap > best) {
                best = gap;
                *cut = i;
            }
        }
        left += ranks[i];
    }
    return best;
}

/* Takes the best cuts one after the other. */
static void find_parts(struct parts *parts, const double *ranks, size_t n)
{
    size_t max = n < FEW ? 2 : MAX_PARTS, min_part = n / MIN_PART_SHARE;

    min_part = min_part < 3 ? 3 : min_part;
    *parts = (struct parts){.from = {0, n}, .n = 1};
    while (parts->n < max) {
        double best = -1;
        size_t at = 0, part = 0;

        for (size_t p = 0; p < parts->n; p++) {
            size_t cut = 0;
            double gain = best_cut(ranks, parts->from[p], parts->from[p + 1], min_part, &cut);

            if (gain > best) {
                best = gain;
                at = cut;
                part = p;
            }
        }
        if (best < 0)
            return;
        memmove(parts->from + part + 2, parts->from + part + 1,
                (parts->n - part) * sizeof *parts->from);
        parts->from[part + 1] = at;
        parts->n++;
    }
}

/* What line and steps leave, part by part. */
static void fill_rest(double *rest, const double *y, const struct parts *parts, double slope,
                      double *work)
{
    for (size_t p = 0; p < parts->n; p++) {
        size_t from = parts->from[p], n = parts->from[p + 1] - from;
        double level;

        for (size_t i = from; i < from + n; i++)
            rest[i] = y[i] - slope * (double)i;
        level = median(rest + from, n, work);
        for (size_t i = from; i < from + n; i++)
            rest[i] -= level;
    }
}

/* How many of the values are worth one independent value, from their ranks. */
static double find_inflation(double *ranks, size_t n)
{
    double mean = ((double)n - 1) / 2, square = 0, sum = 0, first = 0;
    double small = 1 / sqrt((double)n);

    for (size_t i = 0; i < n; i++) {
        ranks[i] -= mean;
        square += ranks[i] * ranks[i];
    }
    if (!(square > 0))
        return 1;
    for (size_t lag = 1; lag < n / 2; lag++) {
        double product = 0, r;

        for (size_t i = lag; i < n; i++)
            product += ranks[i] * ranks[i - lag];
        r = product / square;
        first = lag == 1 ? r : first;
        /* Taking line and levels away makes the rest look less alike than it is. */
        r += (1 + 4 * first) / (double)n;
        if (r < small)
            break;
        sum += (1 - (double)lag / (double)n) * r;
    }
    return 1 + 2 * sum;
}

/* Mann and Kendall's test within the parts, together. */
static int test_parts(struct as_growth *out, const double *y, const struct parts *parts,
                      struct assay_error *err)
{
    double s = 0, variance = 0, pairs = 0, z = 0;

    for (size_t p = 0; p < parts->n; p++) {
        size_t from = parts->from[p], n = parts->from[p + 1] - from;
        struct as_trend_test part;
        int rc = as_trend_test(&part, y + from, n, err);

        if (rc < 0)
            return rc;
        s += (double)part.s;
        variance += part.variance;
        pairs += (double)n * (double)(n - 1) / 2;
    }
    if (variance > 0 && s > 0)
        z = (s - 1) / sqrt(variance * out->inflation);
    out->tau = s / pairs;
    out->p = erfc(z / M_SQRT2);
    return ASSAY_OK;
}

static int slope_of(double *slope, const double *y, size_t n, struct assay_error *err)
{
    struct as_trend_line line = {0};
    int rc = as_trend_line(&line, NULL, y, n, err);

    *slope = line.slope;
    return rc;
}

/* Conditions 1 and 2. */
static int test_shape(struct as_growth *out, const double *y, size_t n,
                      const struct as_growth_rule *rule, struct assay_error *err)
{
    size_t half = n / 2;
    double first = 0, second = 0;
    int rc = slope_of(&out->slope, y, n, err);

    if (rc < 0 || !(out->slope > 0) || !(out->slope * (double)(n - 1) >= rule->min_rise) ||
        !(out->floor_rise >= KEPT_SHARE * out->slope * (double)(n - half)))
        return rc;
    rc = slope_of(&first, y, half, err);
    if (rc == ASSAY_OK)
        rc = slope_of(&second, y + n - half, half, err);
    out->grows =
        rc == ASSAY_OK && first >= KEPT_SHARE * out->slope && second >= KEPT_SHARE * out->slope;
    return rc;
}

/* Conditions 3 and 4 for parts that are known, or for those found when `parts` is NULL. */
static int test_trend(struct as_growth *out, const double *y, size_t n, const struct parts *known,
                      struct assay_error *err)
{
    double *ranks = as_alloc_zero(n, 4 * sizeof *ranks), *rest, *work;
    struct parts parts;
    int rc;

    if (!ranks)
        return as_fail_nomem(err);
    rest = ranks + n;
    work = rest + n;
    if (known) {
        parts = *known;
    } else {
        fill_ranks(ranks, y, n, work);
        find_parts(&parts, ranks, n);
    }
    fill_rest(rest, y, &parts, out->slope, work);
    fill_ranks(ranks, rest, n, work);
    out->inflation = find_inflation(ranks, n);
    rc = test_parts(out, y, &parts, err);
    as_free(ranks);
    return rc;
}

/* Whether it is worth sorting the slopes of all pairs: most series end here. The slope is that
 * through the medians of the outer thirds. */
static int may_grow(struct as_growth *out, const double *y, size_t n,
                    const struct as_growth_rule *rule, struct assay_error *err)
{
    struct as_trend_test plain;
    size_t half = n / 2, third = n / 3;
    double *work;
    int rc = as_trend_test(&plain, y, n, err);

    if (rc < 0)
        return rc;
    out->floor_rise = least(y + n - half, half) - least(y, half);
    if (!(out->floor_rise > 0) || plain.s <= 0 || !(plain.p < rule->p))
        return 0;
    work = as_alloc_zero(third, 2 * sizeof *work);
    if (!work)
        return as_fail_nomem(err);
    out->slope =
        (median(y + n - third, third, work) - median(y, third, work)) / (double)(n - third);
    as_free(work);
    rc = test_trend(out, y, n, NULL, err);
    return rc < 0 ? rc : out->p < rule->p;
}

int as_growth_test(struct as_growth *out, const double *y, size_t n,
                   const struct as_growth_rule *rule, struct assay_error *err)
{
    int rc;

    *out = (struct as_growth){.p = 1, .inflation = 1};
    if (n < AS_GROWTH_MIN || n > AS_GROWTH_MAX)
        return as_fail(err, ASSAY_ERR_USAGE, "growth is judged from %d to %d values, %zu given",
                       AS_GROWTH_MIN, AS_GROWTH_MAX, n);
    rc = may_grow(out, y, n, rule, err);
    return rc == 1 ? test_shape(out, y, n, rule, err) : rc;
}

int as_growth_measure(struct as_growth *out, const double *y, size_t n, struct assay_error *err)
{
    struct parts whole = {.from = {0, n}, .n = 1};
    struct as_trend_line line;
    int rc;

    *out = (struct as_growth){.p = 1, .inflation = 1};
    rc = as_trend_line(&line, NULL, y, n, err);
    if (rc < 0)
        return rc;
    out->slope = line.slope;
    out->start = line.intercept;
    return test_trend(out, y, n, &whole, err);
}
