/* measure/latency/latency_fields.c - a measured latency as a run keeps it. The samples themselves
 * are a table: as_latency_sample_shape. */
#include "measure/latency/latency_run.h"
#include "measure/latency/noise.h"
#include "trace/run/run_maker.h"

#include <math.h>

static const struct as_json_field summary_fields[] = {
    AS_FIELD(struct as_summary, n),
    AS_FIELD(struct as_summary, sum),
    AS_FIELD(struct as_summary, min),
    AS_FIELD(struct as_summary, max),
    AS_FIELD(struct as_summary, mean),
    AS_FIELD(struct as_summary, std_population),
    AS_FIELD(struct as_summary, std_sample),
    AS_FIELD(struct as_summary, cv),
    AS_FIELD(struct as_summary, median),
    AS_FIELD(struct as_summary, mad),
    AS_FIELD_ENUM(struct as_summary, method, AS_QUANTILE_COUNT),
    AS_FIELD_NUMBERS(struct as_summary, percentile, percentile[0]),
    AS_FIELD_NUMBERS(struct as_summary, supported, supported[0]),
};
static const struct as_json_shape summary_shape = AS_SHAPE(struct as_summary, summary_fields);

static const struct as_json_field interval_fields[] = {
    AS_FIELD(struct as_interval, low),     AS_FIELD(struct as_interval, high),
    AS_FIELD(struct as_interval, level),   AS_FIELD(struct as_interval, coverage),
    AS_FIELD(struct as_interval, reached),
};
static const struct as_json_shape interval_shape = AS_SHAPE(struct as_interval, interval_fields);

static const struct as_json_field series_fields[] = {
    AS_FIELD_OBJECT(struct as_series_interval, interval, &interval_shape),
    AS_FIELD(struct as_series_interval, n),
    AS_FIELD(struct as_series_interval, n_effective),
    AS_FIELD(struct as_series_interval, inflation),
};
static const struct as_json_shape series_shape = AS_SHAPE(struct as_series_interval, series_fields);

static const struct as_json_field fence_fields[] = {
    AS_FIELD(struct as_fences, q1),           AS_FIELD(struct as_fences, q3),
    AS_FIELD(struct as_fences, mild_low),     AS_FIELD(struct as_fences, mild_high),
    AS_FIELD(struct as_fences, severe_low),   AS_FIELD(struct as_fences, severe_high),
    AS_FIELD(struct as_fences, n_mild_low),   AS_FIELD(struct as_fences, n_mild_high),
    AS_FIELD(struct as_fences, n_severe_low), AS_FIELD(struct as_fences, n_severe_high),
};
static const struct as_json_shape fence_shape = AS_SHAPE(struct as_fences, fence_fields);

static const struct as_json_field metric_fields[] = {
    AS_FIELD_OBJECT(struct as_latency_metrics, summary, &summary_shape),
    AS_FIELD_OBJECT(struct as_latency_metrics, median, &series_shape),
    AS_FIELD_OBJECT(struct as_latency_metrics, fences, &fence_shape),
    AS_FIELD(struct as_latency_metrics, trend_tested),
    AS_FIELD(struct as_latency_metrics, drifted),
    AS_FIELD(struct as_latency_metrics, trend_p),
    AS_FIELD(struct as_latency_metrics, drift_share),
};
const struct as_json_shape as_latency_metrics_shape =
    AS_SHAPE(struct as_latency_metrics, metric_fields);

static const struct as_json_field warm_up_fields[] = {
    AS_FIELD(struct as_warm_up, first_ns), AS_FIELD(struct as_warm_up, call_ns),
    AS_FIELD(struct as_warm_up, runs),     AS_FIELD(struct as_warm_up, batch),
    AS_FIELD(struct as_warm_up, seconds),  AS_FIELD(struct as_warm_up, steady),
};
static const struct as_json_shape warm_up_shape = AS_SHAPE(struct as_warm_up, warm_up_fields);

static const struct as_json_field cause_fields[] = {
    AS_FIELD(struct as_cause_tally, known),      AS_FIELD(struct as_cause_tally, n),
    AS_FIELD(struct as_cause_tally, n_outliers), AS_FIELD(struct as_cause_tally, n_others),
    AS_FIELD(struct as_cause_tally, suspected),
};
static const struct as_json_shape cause_shape = AS_SHAPE(struct as_cause_tally, cause_fields);

static const struct as_json_field run_fields[] = {
    AS_FIELD(struct as_latency_run, batch),
    AS_FIELD_OBJECT(struct as_latency_run, figures, &as_latency_metrics_shape),
    AS_FIELD_OBJECT(struct as_latency_run, warm_up, &warm_up_shape),
    AS_FIELD(struct as_latency_run, timer_cost_ns),
    AS_FIELD(struct as_latency_run, timer_resolution_ns),
    AS_FIELD(struct as_latency_run, seconds),
    AS_FIELD_ENUM(struct as_latency_run, stop, AS_STOP_COUNT),
    AS_FIELD(struct as_latency_run, n_earlier),
    AS_FIELD(struct as_latency_run, earlier_spread),
    AS_FIELD_LATER(struct as_latency_run, between_low_ns),
    AS_FIELD_LATER(struct as_latency_run, between_high_ns),
    AS_FIELD(struct as_latency_run, steady),
    AS_FIELD(struct as_latency_run, n_outliers),
    AS_FIELD_ALL(struct as_latency_run, causes, causes[0], &cause_shape),
    AS_FIELD(struct as_latency_run, frequency_before_hz),
    AS_FIELD(struct as_latency_run, frequency_after_hz),
};
const struct as_json_shape as_latency_run_shape = AS_SHAPE(struct as_latency_run, run_fields);

static const struct as_json_field sample_fields[] = {
    AS_FIELD_HELP(struct as_latency_sample, ns, "ns", "one inference"),
    AS_FIELD_HELP(struct as_latency_sample, seen, NULL, "bits of what may have disturbed it"),
};
const struct as_json_shape as_latency_sample_shape =
    AS_SHAPE(struct as_latency_sample, sample_fields);

/* ---- kept samples ---- */

struct kept_row {
    uint64_t point;
    double ns;
};

static const struct as_json_field kept_fields[] = {
    AS_FIELD(struct kept_row, point),
    AS_FIELD_HELP(struct kept_row, ns, "ns", "one inference"),
};
static const struct as_json_shape kept_shape = AS_SHAPE(struct kept_row, kept_fields);

void as_point_samples_put(struct as_run_maker *maker, size_t point, const double *ns, size_t n)
{
    struct kept_row rows[AS_KEPT_SAMPLES];
    size_t stride = (n + AS_KEPT_SAMPLES - 1) / AS_KEPT_SAMPLES, kept = 0;

    for (size_t i = 0; ns && i < n; i += stride)
        rows[kept++] = (struct kept_row){point, ns[i]};
    if (kept)
        as_run_maker_rows(maker, "samples", &kept_shape, rows, kept);
}

int as_point_samples_get(struct as_run *run, struct as_point_samples *points, size_t n,
                         struct assay_error *err)
{
    struct kept_row *rows = NULL;
    size_t n_rows = 0, last = 0;
    int rc = as_run_get_rows(run, "samples", &kept_shape, n * AS_KEPT_SAMPLES, &rows, &n_rows, err);
    double *ns = rc < 0 ? NULL : as_arena_zero(&run->arena, n_rows + 1, sizeof *ns);

    if (rc == ASSAY_OK && !ns)
        rc = as_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        points[i] = (struct as_point_samples){.ns = ns};
    for (size_t i = 0; rc == ASSAY_OK && i < n_rows; i++) {
        size_t at = (size_t)rows[i].point;

        if (rows[i].point >= n || at < last || !(rows[i].ns >= 0) || !isfinite(rows[i].ns))
            return as_fail(err, ASSAY_ERR_FORMAT, "%s: its samples fit none of its points",
                           run->path);
        last = at;
        if (points[at].n++ == 0)
            points[at].ns = ns + i;
        ns[i] = rows[i].ns;
    }
    return rc;
}

/* ---- noise ---- */

static const struct as_json_field event_fields[] = {
    AS_FIELD(struct as_process_events, minor_faults),
    AS_FIELD(struct as_process_events, major_faults),
    AS_FIELD(struct as_process_events, switches_voluntary),
    AS_FIELD(struct as_process_events, switches_involuntary),
};
static const struct as_json_shape event_shape = AS_SHAPE(struct as_process_events, event_fields);

static const struct as_json_field load_fields[] = {
    AS_FIELD(struct as_load_shares, busy),
    AS_FIELD(struct as_load_shares, steal),
};
static const struct as_json_shape load_shape = AS_SHAPE(struct as_load_shares, load_fields);

static const struct as_json_field noise_fields[] = {
    AS_FIELD(struct as_noise, n_pairs),
    AS_FIELD(struct as_noise, kernel_ns),
    AS_FIELD(struct as_noise, cv),
    AS_FIELD(struct as_noise, median_share),
    AS_FIELD(struct as_noise, p95_share),
    AS_FIELD(struct as_noise, shift_share),
    AS_FIELD_OBJECT(struct as_noise, interval, &interval_shape),
    AS_FIELD(struct as_noise, p),
    AS_FIELD(struct as_noise, resolvable_share),
    AS_FIELD_OBJECT(struct as_noise, events, &event_shape),
    AS_FIELD_OBJECT(struct as_noise, shares, &load_shape),
};
const struct as_json_shape as_noise_shape = AS_SHAPE(struct as_noise, noise_fields);
