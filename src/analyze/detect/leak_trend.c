/* analyze/detect/leak_trend.c - the sound half of leak detection: where a series keeps growing.
 * Ranges of eleven quarter windows are judged by stats/inference/growth.h; those that grow are
 * merged. */
#include "analyze/detect/leak_detector.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "stats/inference/growth.h"

#define SHORTEST 24 /* points without warm-up, and in an incident */

/* What one search works with. */
struct search {
    const struct as_leak_series *s;
    const struct as_leak_rule *rule;
    double *values;            /* of one scale */
    struct as_leak_sample *at; /* points of one scale */
    unsigned char *grows;      /* by point of the series */
    double *p;                 /* the same: the least of the ranges that made it grow */
    size_t warm_up;
};

static void mark(const struct search *f, size_t from, size_t to, double p)
{
    to = to < f->s->n ? to : f->s->n;
    for (size_t i = from; i < to; i++) {
        f->p[i] = f->grows[i] ? fmin(f->p[i], p) : p;
        f->grows[i] = 1;
    }
}

/* How sure the growth from `from` to `to` is: as the surest of the ranges it was found in. */
static double least_p(const struct search *f, size_t from, size_t to)
{
    double p = 1;

    for (size_t i = from; i < to; i++)
        p = f->grows[i] ? fmin(p, f->p[i]) : p;
    return p;
}

static bool all_marked(const struct search *f, size_t from, size_t to)
{
    to = to < f->s->n ? to : f->s->n;
    return memchr(f->grows + from, 0, to - from) == NULL;
}

/* The first point a range may begin at. */
static size_t begin_of(const struct search *f)
{
    return f->warm_up > f->rule->quarter ? f->warm_up - f->rule->quarter : 0;
}

/* Judges `n` values in ranges that end at every `stride`, and at the last one, but for those that
 * begin in the warm-up. A value stands for `times` points. Behind a range that grows, the next that
 * hardly overlaps it is tried first, and those between only when it does not grow. */
static int mark_ranges(struct search *f, size_t n, size_t range, size_t stride, size_t times,
                       struct assay_error *err)
{
    size_t end = range + (begin_of(f) + times - 1) / times, grown = 0;
    bool leapt = false;

    while (end <= n) {
        size_t from = (end - range) * times, next = end + stride;
        bool known = all_marked(f, from, end * times);
        struct as_leak_verdict verdict = {.grows = known};
        int rc = known ? ASSAY_OK
                       : as_leak_judge(&verdict, f->values + end - range, range, f->rule, err);

        if (rc < 0)
            return rc;
        if (verdict.grows) {
            if (!known)
                mark(f, from, end * times, verdict.p);
            grown = end;
            next = end + range - stride;
        } else if (leapt) {
            next = grown + stride;
        }
        leapt = verdict.grows;
        if (next >= n && end == n)
            break;
        end = next < n ? next : n;
    }
    return ASSAY_OK;
}

static int mark_scales(struct search *f, struct assay_error *err)
{
    size_t range = as_leak_range_points(f->rule),
           window = AS_LEAK_WINDOW_QUARTERS * f->rule->quarter;
    size_t n = f->s->n, times = 1;
    int rc = ASSAY_OK;

    memcpy(f->at, f->s->points, n * sizeof *f->at);
    as_leak_take_floors(f->values, f->at, n / window, window);
    rc = mark_ranges(f, n / window, AS_LEAK_FLOOR_WINDOWS, 1, window, err);
    for (unsigned scale = 0; rc == ASSAY_OK && scale < AS_LEAK_MAX_SCALES && n >= range; scale++) {
        as_leak_take_values(f->values, f->at, n);
        rc = mark_ranges(f, n, range, f->rule->quarter, times, err);
        n = as_leak_join_points(f->at, n);
        times *= 3;
    }
    return rc;
}

/* A series too short for a range behind its warm-up is judged whole, without that. */
static int mark_short(struct search *f, struct assay_error *err)
{
    size_t n = f->s->n, from = f->warm_up < n ? f->warm_up : n;
    struct as_leak_verdict verdict;
    int rc = ASSAY_OK;

    if (n < f->rule->min_readings || n - from < SHORTEST)
        return ASSAY_OK;
    as_leak_take_values(f->values, f->s->points + from, n - from);
    rc = as_leak_judge(&verdict, f->values, n - from, f->rule, err);
    if (verdict.grows)
        mark(f, from, n, verdict.p);
    return rc;
}

static int put_incident(struct as_leak_incidents *out, const struct assay_leak_incident *incident,
                        struct assay_error *err)
{
    if (!AS_VEC_RESERVE(out->at, out->n, out->capacity))
        return as_fail_nomem(err);
    out->at[out->n++] = *incident;
    return ASSAY_OK;
}

/* Whether the series came down again after point `to`. */
static bool came_back(const struct search *f, const struct as_leak_rise *rise, size_t to)
{
    return to < f->s->n && as_leak_floor_mb(f->s->points + to, f->s->n - to) <
                               rise->floor + AS_LEAK_BACK_SHARE * rise->growth;
}

/* The end of the run of points that grow and are less than a window apart. A run ends, too, where
 * the least of a window comes down to a quarter of what the run grew before. */
static size_t find_end(const struct search *f, size_t from)
{
    size_t window = AS_LEAK_WINDOW_QUARTERS * f->rule->quarter, to = from + 1, n = f->s->n;
    double first = 0, high = 0;

    for (size_t i = to; i < n && i < to + window; i++)
        to = f->grows[i] ? i + 1 : to;
    for (size_t i = from; i + window <= to; i += window) {
        double low = as_leak_floor_mb(f->s->points + i, window);

        if (i == from)
            first = high = low;
        high = fmax(high, low);
        if (high - first > f->rule->min_growth &&
            low < first + AS_LEAK_BACK_SHARE * (high - first) &&
            i - from >= as_leak_range_points(f->rule))
            return i;
    }
    return to;
}

static int gather(struct search *f, struct as_leak_incidents *out, struct assay_error *err)
{
    size_t n = f->s->n, to = 0;
    double withdrawn = 0;

    for (size_t from = 0; from < n; from = f->grows[from] ? to : from + 1) {
        struct assay_leak_incident incident;
        struct as_leak_rise rise;
        int rc;

        if (!f->grows[from])
            continue;
        to = find_end(f, from);
        rise = as_leak_find_rise(f->s, from, to, f->rule);
        if (to - from < SHORTEST || rise.growth < f->rule->min_growth)
            continue;
        if (came_back(f, &rise, to) || rise.growth <= AS_LEAK_SAME_SWING * withdrawn) {
            withdrawn = fmax(withdrawn, rise.growth);
            continue;
        }
        rc = as_leak_fill_incident(&incident, f->s, from, to, f->rule, least_p(f, from, to),
                                   f->values, err);
        if (rc == ASSAY_OK)
            rc = put_incident(out, &incident, err);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

int as_leak_trend_find(const struct as_leak_series *s, const struct as_leak_rule *rule,
                       struct as_leak_incidents *out, struct assay_error *err)
{
    struct search f = {.s = s, .rule = rule};
    int rc = ASSAY_OK;

    if (s->n < AS_GROWTH_MIN)
        return ASSAY_OK;
    f.values = as_alloc_zero(s->n, 2 * sizeof *f.values);
    f.at = as_alloc_zero(s->n, sizeof *f.at);
    f.grows = as_alloc_zero(s->n, 1);
    f.p = as_alloc_zero(s->n, sizeof *f.p);
    if (!f.values || !f.at || !f.grows || !f.p) {
        rc = as_fail_nomem(err);
        goto out;
    }
    f.warm_up = as_leak_warm_up(s->points, s->n, rule, f.values);
    rc = s->n < begin_of(&f) + as_leak_range_points(rule) ? mark_short(&f, err)
                                                          : mark_scales(&f, err);
    if (rc == ASSAY_OK)
        rc = gather(&f, out, err);
out:
    as_free(f.p);
    as_free(f.grows);
    as_free(f.at);
    as_free(f.values);
    return rc;
}
