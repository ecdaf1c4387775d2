/* analyze/detect/leak_series.c - readings of memory one after the other, in bounded room.
 * Beyond the room, threes of neighbours are joined: their median, their least, their last time. */
#include "analyze/detect/leak_detector.h"

#include <string.h>

#include "base/alloc.h"

#define FIRST_CAPACITY 64

void as_leak_series_init(struct as_leak_series *s, const char *layer, size_t max_points)
{
    *s = (struct as_leak_series){
        .layer = layer,
        .max = max_points - max_points % 3,
        .per_point = 1,
    };
}

void as_leak_series_fini(struct as_leak_series *s)
{
    as_free(s->points);
    as_free(s->waiting);
    *s = (struct as_leak_series){.layer = s->layer, .max = s->max, .per_point = 1};
}

static double median_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;

    if (c < low)
        return low;
    return c > high ? high : c;
}

struct as_leak_sample as_leak_join(const struct as_leak_sample three[3])
{
    struct as_leak_sample joined = three[2];

    joined.mb = median_of_three(three[0].mb, three[1].mb, three[2].mb);
    for (unsigned i = 0; i < 2; i++) {
        if (three[i].low_mb < joined.low_mb)
            joined.low_mb = three[i].low_mb;
    }
    return joined;
}

/* Every point becomes a third; what was counted in points is counted in the new ones. */
static void fold_points(struct as_leak_series *s)
{
    for (size_t i = 0; i < s->n / 3; i++)
        s->points[i] = as_leak_join(s->points + 3 * i);
    s->n /= 3;
    s->fold++;
    s->per_point *= 3;
    memmove(s->checked, s->checked + 1, sizeof s->checked - sizeof *s->checked);
    s->checked[AS_LEAK_MAX_SCALES - 1] = 0;
    s->checked_floors /= 3;
    s->warm_up = (s->warm_up + 2) / 3;
    s->warm_up_at /= 3;
}

static int reserve(struct as_leak_series *s, struct assay_error *err)
{
    struct as_leak_sample *grown;
    size_t capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY;

    if (s->n < s->capacity)
        return ASSAY_OK;
    if (s->n == s->max) {
        if (!s->waiting)
            s->waiting = as_alloc_zero(AS_LEAK_MAX_FOLD, sizeof *s->waiting);
        if (!s->waiting)
            return as_fail_nomem(err);
        fold_points(s);
        return ASSAY_OK;
    }
    capacity = capacity < s->max ? capacity : s->max;
    grown = as_realloc(s->points, capacity, sizeof *grown);
    if (!grown)
        return as_fail_nomem(err);
    as_touch(grown, s->capacity * sizeof *grown, capacity * sizeof *grown);
    s->points = grown;
    s->capacity = capacity;
    return ASSAY_OK;
}

int as_leak_series_add(struct as_leak_series *s, const struct as_leak_sample *reading,
                       struct assay_error *err)
{
    struct as_leak_sample point = *reading;
    int rc;

    if (s->fold == AS_LEAK_MAX_FOLD)
        return ASSAY_OK;
    rc = reserve(s, err);
    if (rc < 0)
        return rc;
    s->n_readings++;
    for (unsigned f = 0; f < s->fold; f++) {
        struct as_leak_three *three = &s->waiting[f];

        three->at[three->n++] = point;
        if (three->n < 3)
            return ASSAY_OK;
        point = as_leak_join(three->at);
        three->n = 0;
    }
    s->points[s->n++] = point;
    return ASSAY_OK;
}
