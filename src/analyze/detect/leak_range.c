/* analyze/detect/leak_range.c - one range of a series of memory readings: whether it grows and by
 * how much. What looks at the newest range and what looks at all of them have this in common. */
#include "analyze/detect/leak_detector.h"

#include <math.h>

#include "base/units.h"
#include "stats/describe/sorted.h"
#include "stats/inference/growth.h"

#define WARM_UP_BLOCKS 64
#define WARM_UP_BLOCK  5 /* points at least */
#define WARM_UP_SIGMAS 4
#define WARM_UP_MIN    24 /* points; below, nothing is left out */
#define MAD_TO_SIGMA   1.4826

size_t as_leak_range_points(const struct as_leak_rule *rule)
{
    return AS_LEAK_RANGE_QUARTERS * rule->quarter;
}

static double median_mb(const struct as_leak_sample *points, size_t n, double *work)
{
    struct as_sorted sorted = as_sorted_f64(work, n);

    for (size_t i = 0; i < n; i++)
        work[i] = points[i].mb;
    as_sort_f64(work, n, work + n);
    return as_sorted_median(&sorted);
}

double as_leak_floor_mb(const struct as_leak_sample *points, size_t n)
{
    double low = points[0].low_mb;

    for (size_t i = 1; i < n; i++)
        low = fmin(low, points[i].low_mb);
    return low;
}

/* The line through the second half, by the medians of its outer thirds. */
struct back_line {
    double at, slope; /* at point 0 */
    double sigma;     /* of the points of the second half around it */
};

static struct back_line draw_back_line(const struct as_leak_sample *points, size_t n, double *work)
{
    size_t half = n / 2, third = half / 3;
    double low = median_mb(points + n - half, third, work);
    double high = median_mb(points + n - third, third, work);
    double slope = (high - low) / (double)(half - third);
    double middle = (double)(n - half) + (double)(third - 1) / 2;
    struct back_line line = {.at = low - slope * middle, .slope = slope};
    struct as_sorted rest = as_sorted_f64(work, half);

    for (size_t i = 0; i < half; i++)
        work[i] = points[n - half + i].mb - line.at - slope * (double)(n - half + i);
    as_sort_f64(work, half, work + half);
    line.sigma = MAD_TO_SIGMA * as_sorted_mad(&rest);
    return line;
}

size_t as_leak_warm_up(const struct as_leak_sample *points, size_t n,
                       const struct as_leak_rule *rule, double *work)
{
    size_t block = n / WARM_UP_BLOCKS, half = n / 2, end = n - half;
    struct back_line line;
    double most;

    if (rule->warm_up > 0)
        return (size_t)(rule->warm_up * (double)n);
    if (n < WARM_UP_MIN)
        return 0;
    block = block < WARM_UP_BLOCK ? WARM_UP_BLOCK : block;
    line = draw_back_line(points, n, work);
    most = fmax(WARM_UP_SIGMAS * line.sigma, rule->min_growth);
    for (; end >= block; end -= block) {
        double middle = (double)(end - block) + (double)(block - 1) / 2;
        /* Drawn back by as much as it is long, the line is half as sure. */
        double wide = most * (1 + ((double)(n - half) - middle) / (double)half);

        if (median_mb(points + end - block, block, work) < line.at + line.slope * middle - wide)
            return end;
    }
    return 0;
}

int as_leak_judge(struct as_leak_verdict *out, const double *values, size_t n,
                  const struct as_leak_rule *rule, struct assay_error *err)
{
    struct as_growth growth;
    struct as_growth_rule how = {.p = rule->p, .min_rise = rule->min_growth};
    int rc = as_growth_test(&growth, values, n, &how, err);

    *out = (struct as_leak_verdict){.grows = rc == ASSAY_OK && growth.grows, .p = growth.p};
    return rc;
}

size_t as_leak_join_points(struct as_leak_sample *points, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        points[i] = as_leak_join(points + 3 * i);
    return n / 3;
}

void as_leak_take_values(double *values, const struct as_leak_sample *points, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = points[i].mb;
}

void as_leak_take_floors(double *floors, const struct as_leak_sample *points, size_t n_windows,
                         size_t window)
{
    for (size_t w = 0; w < n_windows; w++)
        floors[w] = as_leak_floor_mb(points + w * window, window);
}

struct as_leak_rise as_leak_find_rise(const struct as_leak_series *s, size_t from, size_t to,
                                      const struct as_leak_rule *rule)
{
    size_t window = AS_LEAK_WINDOW_QUARTERS * rule->quarter, edge = (to - from) / 3;
    struct as_leak_rise rise;

    edge = edge < window ? edge : window;
    rise.floor = as_leak_floor_mb(s->points + from, edge);
    rise.growth = as_leak_floor_mb(s->points + to - edge, edge) - rise.floor;
    return rise;
}

static double seconds_left(double capacity_mb, double mb_per_second)
{
    return mb_per_second > 0 ? capacity_mb / mb_per_second : AS_UNKNOWN;
}

/* `mb_per_point` over `n` points. */
static void fill_rates(struct assay_leak_incident *out, double mb_per_point, size_t n,
                       const struct as_leak_series *s, double capacity_mb)
{
    double line_mb = mb_per_point * (double)(n - 1),
           seconds = out->end_time_seconds - out->start_time_seconds;
    bool steps = out->first_step != ASSAY_UNKNOWN && out->last_step != ASSAY_UNKNOWN &&
                 out->last_step > out->first_step;

    out->mb_per_step = steps ? line_mb / (double)(out->last_step - out->first_step)
                             : mb_per_point / (double)s->per_point;
    out->mb_per_second = seconds > 0 ? line_mb / seconds : AS_UNKNOWN;
    out->seconds_to_exhaustion = seconds_left(capacity_mb, out->mb_per_second);
}

/* Where the line begins. One through readings on a curve begins or ends beyond them all: it is then
 * moved, as it is, to where they are. */
static double start_of(const struct as_growth *growth, const double *mb, size_t n)
{
    double least = mb[0], most = mb[0], rise = growth->slope * (double)(n - 1);

    for (size_t i = 1; i < n; i++) {
        least = fmin(least, mb[i]);
        most = fmax(most, mb[i]);
    }
    return fmax(fmin(growth->start, most - rise), least);
}

int as_leak_fill_incident(struct assay_leak_incident *out, const struct as_leak_series *s,
                          size_t from, size_t to, const struct as_leak_rule *rule, double p,
                          double *work, struct assay_error *err)
{
    const struct as_leak_sample *first = s->points + from, *last = s->points + to - 1;
    size_t n = to - from;
    struct as_growth growth;
    int rc;

    as_leak_take_values(work, first, n);
    rc = as_growth_measure(&growth, work, n, err);
    if (rc < 0)
        return rc;
    *out = (struct assay_leak_incident){
        .layer = s->layer,
        .first = (size_t)(from * s->per_point),
        .last = (size_t)(to * s->per_point - 1),
        .first_step = first->step,
        .last_step = last->step,
        .start_time_seconds = first->time,
        .end_time_seconds = last->time,
        .start_memory_mb = start_of(&growth, work, n),
        .net_growth_mb = growth.slope * (double)(n - 1),
        .p_value = p,
        .tau = growth.tau,
    };
    out->end_memory_mb = out->start_memory_mb + out->net_growth_mb;
    fill_rates(out, growth.slope, n, s, rule->capacity_mb);
    return ASSAY_OK;
}
