/* analyze/run/diff_test.c - whether readings of two runs differ beyond noise: a rank test that
 * knows that neighbours are alike, and its correction for many tests. */
#include "analyze/run/run_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/sorted.h"
#include "stats/inference/interval.h"
#include "stats/inference/rank_test.h"

const struct as_diff_test as_diff_no_test = {.p = AS_UNKNOWN,
                                             .q = AS_UNKNOWN,
                                             .median_ns = {AS_UNKNOWN, AS_UNKNOWN},
                                             .shift_ns = AS_UNKNOWN,
                                             .shift_low_ns = AS_UNKNOWN,
                                             .shift_high_ns = AS_UNKNOWN,
                                             .relative = AS_UNKNOWN,
                                             .factor = AS_UNKNOWN,
                                             .inflation = AS_UNKNOWN};

double as_diff_ratio(double part, double before)
{
    return before > 0 && isfinite(part) ? part / before : AS_UNKNOWN;
}

bool as_diff_is_enough(const struct as_diff_pair *p)
{
    return p->value[0] && p->value[1] && p->n[0] >= AS_RANK_TEST_FEW && p->n[1] >= AS_RANK_TEST_FEW;
}

#define INTERVAL_LEVEL 0.95

/* Both sides sorted, and how many readings of each are worth one independent reading. */
struct sides {
    double *sorted[2];
    struct as_sorted view[2];
    double inflation[2];
};

static void sides_fini(struct sides *s)
{
    as_free(s->sorted[0]);
    as_free(s->sorted[1]);
}

static int sides_init(struct sides *s, const struct as_diff_pair *p, struct assay_error *err)
{
    struct as_series_interval series = {0};
    int rc = ASSAY_OK;

    *s = (struct sides){0};
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++) {
        size_t n = p->n[k];

        s->sorted[k] = as_alloc_zero(n, 2 * sizeof(double));
        if (!s->sorted[k])
            return as_fail_nomem(err);
        memcpy(s->sorted[k], p->value[k], n * sizeof(double));
        as_sort_f64(s->sorted[k], n, s->sorted[k] + n);
        s->view[k] = as_sorted_f64(s->sorted[k], n);
        rc = as_series_interval(&series, p->value[k], &s->view[k], 0.95, err);
        s->inflation[k] = series.inflation;
    }
    return rc;
}

/* The variance of where the readings of a side fall among those of the other, from 0 to 1: 1/12
 * when the sides are alike, 0 when they are wholly apart. */
static double placement_variance(const struct sides *s, int k)
{
    const struct as_sorted *own = &s->view[k], *other = &s->view[1 - k];
    double sum = 0, squares = 0, n = (double)own->n;

    for (size_t i = 0; i < own->n; i++) {
        double x = as_sorted_at(own, i);
        size_t above = as_sorted_count_above(other, x), below = as_sorted_count_below(other, x);
        double place = ((double)below + (double)(other->n - above)) / 2 / (double)other->n;

        sum += place;
        squares += place * place;
    }
    return fmax(squares / n - sum / n * (sum / n), 0);
}

/* Neighbours that are alike tell less than they are many. By how much the variance of u grows
 * thereby: as much as the readings move among those of the other side. */
static double variance_growth(const struct sides *s)
{
    double n1 = (double)s->view[0].n, n2 = (double)s->view[1].n;
    double independent = (n1 + n2 + 1) / (12 * n1 * n2);

    return 1 + ((s->inflation[0] - 1) * placement_variance(s, 0) / n1 +
                (s->inflation[1] - 1) * placement_variance(s, 1) / n2) /
                   independent;
}

static double p_of(const struct as_rank_test *test, double growth)
{
    return growth > 1 ? erfc(fabs(test->z) / sqrt(growth) / M_SQRT2) : test->p;
}

/* The p-value when the second side is moved back by `shift`; `moved` has room for its values
 * twice. */
static int p_after_shift(double *out, const struct as_diff_pair *p, const struct sides *s,
                         double shift, double *moved, struct assay_error *err)
{
    struct sides at = *s;
    struct as_rank_test test;
    size_t n = p->n[1];
    int rc;

    if (!s->sorted[1] || !p->value[1])
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        moved[i] = p->value[1][i] - shift;
        moved[n + i] = s->sorted[1][i] - shift;
    }
    at.view[1] = as_sorted_f64(moved + n, n);
    rc = as_rank_test(&test, p->value[0], p->n[0], moved, n, err);
    if (rc == ASSAY_OK)
        *out = p_of(&test, variance_growth(&at));
    return rc;
}

/* The interval holds the shifts that the test does not reject, so that it holds 0 exactly when the
 * test shows nothing. Widened by the whole inflation it may hold a 0 that the test rejects: then
 * its end is looked for between 0 and the end it has for independent readings, which is `inner`. */
static int settle_end(double *end, double inner, double p_at_0, const struct as_diff_pair *p,
                      const struct sides *s, struct assay_error *err)
{
    double out = 0, in = inner, at, here;
    double *moved;
    int rc = ASSAY_OK;

    if (p_at_0 >= 1 - INTERVAL_LEVEL || *end * inner > 0)
        return ASSAY_OK;
    moved = as_alloc_zero(p->n[1], 2 * sizeof *moved);
    if (!moved)
        return as_fail_nomem(err);
    for (int i = 0; i < 12 && rc == ASSAY_OK; i++) {
        at = (out + in) / 2;
        rc = p_after_shift(&here, p, s, at, moved, err);
        if (rc == ASSAY_OK && here < 1 - INTERVAL_LEVEL)
            out = at;
        else
            in = at;
    }
    as_free(moved);
    *end = in;
    return rc;
}

/* No time is below 0, so B cannot be faster than A by more than all of A: the interval that was
 * widened ends there. */
static void end_at_nothing(struct as_diff_test *t)
{
    double all = -t->median_ns[0];

    if (t->median_ns[0] > 0 && t->shift_low_ns < all)
        t->shift_low_ns = fmin(all, t->shift_ns);
}

/* Where the test shows nothing, the interval holds 0. */
static void hold_zero(struct as_diff_test *t)
{
    if (t->p < 1 - INTERVAL_LEVEL)
        return;
    t->shift_low_ns = fmin(t->shift_low_ns, 0);
    t->shift_high_ns = fmax(t->shift_high_ns, 0);
}

int as_diff_test(struct as_diff_test *t, const struct as_diff_pair *p, enum as_diff_basis basis,
                 struct assay_error *err)
{
    struct as_interval shift = {0};
    struct as_rank_test test = {0};
    struct sides s = {0};
    double growth, wider;
    int rc = as_rank_test(&test, p->value[0], p->n[0], p->value[1], p->n[1], err);

    *t = as_diff_no_test;
    if (rc == ASSAY_OK)
        rc = as_rank_shift_interval(&shift, p->value[0], p->n[0], p->value[1], p->n[1],
                                    INTERVAL_LEVEL, err);
    if (rc == ASSAY_OK)
        rc = sides_init(&s, p, err);
    if (rc < 0)
        goto out;
    growth = variance_growth(&s);
    t->basis = basis;
    t->inflation = fmax(s.inflation[0], s.inflation[1]);
    wider = sqrt(t->inflation);
    for (int k = 0; k < 2; k++) {
        t->n[k] = p->n[k];
        t->median_ns[k] = as_sorted_median(&s.view[k]);
    }
    t->p = t->q = p_of(&test, growth);
    t->shift_ns = test.shift;
    t->shift_low_ns = test.shift - wider * (test.shift - shift.low);
    t->shift_high_ns = test.shift + wider * (shift.high - test.shift);
    t->relative = as_diff_ratio(test.shift, t->median_ns[0]);
    t->factor = as_diff_ratio(t->median_ns[1], t->median_ns[0]);
    rc = shift.low > 0    ? settle_end(&t->shift_low_ns, shift.low, t->p, p, &s, err)
         : shift.high < 0 ? settle_end(&t->shift_high_ns, shift.high, t->p, p, &s, err)
                          : ASSAY_OK;
    end_at_nothing(t);
    hold_zero(t);
out:
    sides_fini(&s);
    return rc;
}

/* A shift away from a median of 0 is a change of any size. */
bool as_diff_is_shown(const struct as_diff_options *o, const struct as_diff_test *t)
{
    return t->basis != AS_DIFF_NONE && t->q < o->level && t->shift_ns != 0 &&
           !(fabs(t->relative) < o->threshold);
}

static int by_p(const void *a, const void *b)
{
    const struct as_diff_test *const *x = a, *const *y = b;

    return ((*x)->p > (*y)->p) - ((*x)->p < (*y)->p);
}

void as_diff_correct(struct as_diff_test **tested, size_t n)
{
    double least = 1;

    qsort(tested, n, sizeof(struct as_diff_test *), by_p);
    for (size_t i = n; i > 0; i--) {
        least = fmin(least, tested[i - 1]->p * (double)n / (double)i);
        tested[i - 1]->q = least;
    }
}

int as_diff_options_take(struct as_diff_options *o, const struct as_diff_options *given,
                         struct assay_error *err)
{
    *o = given ? *given : (struct as_diff_options){0};
    if (!(o->threshold >= 0 && o->threshold <= 1e6) || !(o->level >= 0 && o->level < 1))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the threshold is a share and the level lies between 0 and 1");
    o->threshold = o->threshold > 0 ? o->threshold : 0.01;
    o->level = o->level > 0 ? o->level : 0.05;
    return ASSAY_OK;
}
