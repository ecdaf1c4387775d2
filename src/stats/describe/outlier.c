/* stats/describe/outlier.c - names samples that do not belong to the rest, and removes none. */
#include "stats/describe/outlier.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

#define NORMAL_PER_MAD   1.4826 /* standard deviations of normal samples from their MAD */
#define NORMAL_PER_MEAN  1.2533141373155003 /* and from their mean deviation: sqrt(pi / 2) */
#define MILD_QUARTILES   1.5
#define SEVERE_QUARTILES 3.0

void as_outlier_scale(struct as_outlier_scale *out, const struct as_sorted *s)
{
    *out = (struct as_outlier_scale){
        .median = as_sorted_median(s),
        .unit = as_sorted_mad(s),
    };
    if (out->unit == 0) {
        out->unit = as_sorted_mean_deviation(s) * (NORMAL_PER_MEAN / NORMAL_PER_MAD);
        out->from_mean = true;
    }
}

double as_outlier_score(const struct as_outlier_scale *scale, double x)
{
    double off = x - scale->median;

    return off == 0 ? 0 : off / scale->unit;
}

void as_outlier_count(struct as_outliers *out, const struct as_sorted *s, double threshold)
{
    struct as_outlier_scale scale;
    double reach;

    as_outlier_scale(&scale, s);
    *out = (struct as_outliers){.scale = scale, .threshold = threshold};
    reach = threshold * scale.unit;
    if (s->n == 0 || scale.unit == 0)
        return;
    out->n_low = as_sorted_count_below(s, scale.median - reach);
    out->n_high = as_sorted_count_above(s, scale.median + reach);
}

void as_outlier_fences(struct as_fences *out, const struct as_sorted *s)
{
    double q1 = as_quantile_at(s, 25, AS_QUANTILE_LINEAR);
    double q3 = as_quantile_at(s, 75, AS_QUANTILE_LINEAR), range = q3 - q1;

    *out = (struct as_fences){
        .q1 = q1,
        .q3 = q3,
        .mild_low = q1 - MILD_QUARTILES * range,
        .mild_high = q3 + MILD_QUARTILES * range,
        .severe_low = q1 - SEVERE_QUARTILES * range,
        .severe_high = q3 + SEVERE_QUARTILES * range,
    };
    if (s->n == 0)
        return;
    out->n_severe_low = as_sorted_count_below(s, out->severe_low);
    out->n_severe_high = as_sorted_count_above(s, out->severe_high);
    out->n_mild_low = as_sorted_count_below(s, out->mild_low) - out->n_severe_low;
    out->n_mild_high = as_sorted_count_above(s, out->mild_high) - out->n_severe_high;
}

void as_outlier_first_u64(struct as_first_run *out, const uint64_t *samples, size_t n,
                          double threshold, uint64_t *scratch)
{
    struct as_outlier_scale scale;
    struct as_sorted rest;

    *out = (struct as_first_run){.score = AS_UNKNOWN};
    if (n < AS_OUTLIER_MIN_REST + 1)
        return;
    memcpy(scratch, samples + 1, (n - 1) * sizeof *scratch);
    as_sort_u64(scratch, n - 1, scratch + n);
    rest = as_sorted_u64(scratch, n - 1);
    as_outlier_scale(&scale, &rest);
    out->tested = true;
    out->score = as_outlier_score(&scale, (double)samples[0]);
    out->outlier = fabs(out->score) > threshold;
}
