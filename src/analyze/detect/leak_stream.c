/* analyze/detect/leak_stream.c - the sound half of leak detection while readings come in.
 * Looks at the newest ranges alone, so that a reading costs the same however many came before. */
#include <math.h>
#include <string.h>

#include "analyze/detect/leak_detector.h"
#include "base/alloc.h"

#define WARM_UP_AGAIN 1.25 /* times the points: it is looked for again */
#define ALWAYS_AGAIN  2    /* ranges: until then it is looked for each time */

/* The last range of a scale, when it is time to look at it; fills `*from` in points. */
static int watch_scale(struct as_leak_series *s, const struct as_leak_rule *rule, unsigned scale,
                       size_t times, struct as_leak_verdict *verdict, size_t *from,
                       struct assay_error *err)
{
    size_t range = as_leak_range_points(rule), have = s->n / times, n = range * times;
    struct as_leak_sample *points;
    double *values;
    int rc;

    *verdict = (struct as_leak_verdict){0};
    if (have < range || have - s->checked[scale] < rule->quarter)
        return ASSAY_OK;
    s->checked[scale] = have;
    *from = have * times - n;
    points = as_alloc_zero(n, sizeof *points);
    values = as_alloc_zero(range, sizeof *values);
    if (!points || !values) {
        rc = as_fail_nomem(err);
        goto out;
    }
    memcpy(points, s->points + *from, n * sizeof *points);
    for (unsigned i = 0; i < scale; i++)
        n = as_leak_join_points(points, n);
    as_leak_take_values(values, points, n);
    rc = as_leak_judge(verdict, values, n, rule, err);
out:
    as_free(values);
    as_free(points);
    return rc;
}

static int watch_floors(struct as_leak_series *s, const struct as_leak_rule *rule,
                        struct as_leak_verdict *verdict, size_t *from, struct assay_error *err)
{
    size_t window = AS_LEAK_WINDOW_QUARTERS * rule->quarter, n = AS_LEAK_FLOOR_WINDOWS * window;
    double floors[AS_LEAK_FLOOR_WINDOWS];

    *verdict = (struct as_leak_verdict){0};
    if (s->n < n || s->n - s->checked_floors < window)
        return ASSAY_OK;
    s->checked_floors = s->n;
    *from = s->n - n;
    as_leak_take_floors(floors, s->points + *from, AS_LEAK_FLOOR_WINDOWS, window);
    return as_leak_judge(verdict, floors, AS_LEAK_FLOOR_WINDOWS, rule, err);
}

/* Looks for the end of warm-up again when the series has grown enough for it to matter. */
static int renew_warm_up(struct as_leak_series *s, const struct as_leak_rule *rule,
                         struct assay_error *err)
{
    double *work;

    if (s->n > ALWAYS_AGAIN * as_leak_range_points(rule) &&
        (double)s->n < WARM_UP_AGAIN * (double)s->warm_up_at)
        return ASSAY_OK;
    work = as_alloc_zero(s->n, 2 * sizeof *work);
    if (!work)
        return as_fail_nomem(err);
    s->warm_up = as_leak_warm_up(s->points, s->n, rule, work);
    s->warm_up_at = s->n;
    as_free(work);
    return ASSAY_OK;
}

/* An incident that was told is over when its growth came back. */
static void watch_return(struct as_leak_series *s, const struct as_leak_rule *rule)
{
    if (!s->told || as_leak_floor_mb(s->points + s->n - rule->quarter, rule->quarter) >=
                        s->told_floor_mb + AS_LEAK_BACK_SHARE * s->told_growth_mb)
        return;
    s->told = false;
    s->withdrawn_mb = fmax(s->withdrawn_mb, s->told_growth_mb);
}

/* Tells growth up to the last point, unless it goes on with what was told. */
static int tell(struct as_leak_series *s, const struct as_leak_rule *rule, size_t from, double p,
                struct assay_leak_incident *found, struct assay_error *err)
{
    size_t window = AS_LEAK_WINDOW_QUARTERS * rule->quarter;
    struct as_leak_rise rise = as_leak_find_rise(s, from, s->n, rule);
    bool goes_on = s->told && from * s->per_point <= s->told_last + window * s->per_point;
    double *work;
    int rc;

    if (rise.growth < rule->min_growth || rise.growth <= AS_LEAK_SAME_SWING * s->withdrawn_mb)
        return 0;
    if (!goes_on)
        s->told_floor_mb = rise.floor;
    s->told = true;
    s->told_last = s->n * s->per_point - 1;
    s->told_growth_mb = rise.floor + rise.growth - s->told_floor_mb;
    if (goes_on)
        return 0;
    work = as_alloc_zero(s->n - from, sizeof *work);
    if (!work)
        return as_fail_nomem(err);
    rc = as_leak_fill_incident(found, s, from, s->n, rule, p, work, err);
    as_free(work);
    return rc < 0 ? rc : 1;
}

/* Growth that was told and reaches new ground is the same one: no need to judge it again. */
static bool goes_on_rising(struct as_leak_series *s, const struct as_leak_rule *rule)
{
    uint64_t window = AS_LEAK_WINDOW_QUARTERS * rule->quarter * s->per_point;
    double low = as_leak_floor_mb(s->points + s->n - rule->quarter, rule->quarter);

    if (!s->told || s->n * s->per_point > s->told_last + window ||
        low < s->told_floor_mb + s->told_growth_mb)
        return false;
    s->told_last = s->n * s->per_point - 1;
    s->told_growth_mb = low - s->told_floor_mb;
    s->checked[0] = s->n;
    return true;
}

/* Whether a range that grows is no warm-up. */
static bool counts(const struct as_leak_series *s, const struct as_leak_rule *rule,
                   const struct as_leak_verdict *verdict, size_t start)
{
    return verdict->grows && start + rule->quarter >= s->warm_up;
}

int as_leak_trend_watch(struct as_leak_series *s, const struct as_leak_rule *rule,
                        struct assay_leak_incident *found, struct assay_error *err)
{
    size_t range = as_leak_range_points(rule), from = s->n, times = 1;
    struct as_leak_verdict verdict;
    bool looked = false;
    double p = 1;
    int rc = ASSAY_OK;

    if (s->n < range || s->n - s->checked[0] < rule->quarter || goes_on_rising(s, rule))
        return 0;
    rc = renew_warm_up(s, rule, err);
    for (unsigned scale = 0; rc == ASSAY_OK && scale < AS_LEAK_MAX_SCALES; scale++, times *= 3) {
        size_t start = 0;

        if (range > s->n / times)
            break;
        rc = watch_scale(s, rule, scale, times, &verdict, &start, err);
        if (counts(s, rule, &verdict, start)) {
            from = start < from ? start : from;
            p = fmin(p, verdict.p);
        }
        looked = true;
    }
    if (rc == ASSAY_OK) {
        size_t start = 0;

        rc = watch_floors(s, rule, &verdict, &start, err);
        if (counts(s, rule, &verdict, start)) {
            from = start < from ? start : from;
            p = fmin(p, verdict.p);
        }
    }
    if (rc < 0 || !looked)
        return rc;
    watch_return(s, rule);
    return from < s->n ? tell(s, rule, from, p, found, err) : 0;
}
