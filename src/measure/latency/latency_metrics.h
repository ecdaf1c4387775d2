/* measure/latency/latency_metrics.h - what a series of times of one thing says: its median and how
 * sure that is, its spread, what lies far off, and whether it drifted. Times stay as they were
 * taken. */
#ifndef AS_MEASURE_LATENCY_LATENCY_METRICS_H
#define AS_MEASURE_LATENCY_LATENCY_METRICS_H

#include "stats/describe/outlier.h"
#include "stats/describe/summary.h"
#include "stats/inference/series_interval.h"

struct as_latency_metrics {
    struct as_summary summary;        /* in nanoseconds; percentiles by linear interpolation */
    struct as_series_interval median; /* its interval, honest for noise that comes in bursts */
    struct as_fences fences;          /* mild and severe outliers */
    bool trend_tested;                /* there were enough samples */
    bool drifted;       /* rose or fell by more than chance and by more than 1 % of the median */
    double trend_p;     /* NaN when not tested */
    double drift_share; /* from the first sample to the last, of the median; NaN when not tested */
};

/* `samples` in the order they were taken. Fails (USAGE) without samples, or when one is not finite,
 * and when memory runs out. */
AS_MUST_USE int as_latency_metrics(struct as_latency_metrics *out, const double *samples, size_t n,
                                   double level, struct assay_error *err);

/* The interval alone, for a decision on the way. */
AS_MUST_USE int as_latency_interval(struct as_series_interval *out, const double *samples, size_t n,
                                    double level, double *median, struct assay_error *err);

#endif
