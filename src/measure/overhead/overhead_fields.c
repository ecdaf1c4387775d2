/* measure/overhead/overhead_fields.c - timed operations and the cost of measuring, as runs keep
 * them. */
#include "measure/overhead/operation_run.h"
#include "measure/overhead/overhead_run.h"

static const struct as_json_field point_fields[] = {
    AS_FIELD_ENUM(struct as_operation_point, operation, AS_OPERATION_COUNT + 1),
    AS_FIELD(struct as_operation_point, shape),
    AS_FIELD(struct as_operation_point, kernel),
    AS_FIELD(struct as_operation_point, n_steps),
    AS_FIELD(struct as_operation_point, macs),
    AS_FIELD(struct as_operation_point, flops),
    AS_FIELD_LATER(struct as_operation_point, executed_flops),
    AS_FIELD(struct as_operation_point, bytes),
    AS_FIELD(struct as_operation_point, held_bytes),
    AS_FIELD(struct as_operation_point, n_samples),
    AS_FIELD_OBJECT(struct as_operation_point, figures, &as_latency_metrics_shape),
    AS_FIELD(struct as_operation_point, least_round_ns),
    AS_FIELD(struct as_operation_point, most_round_ns),
};
static const struct as_json_shape point_shape = AS_SHAPE(struct as_operation_point, point_fields);

static const struct as_json_field operation_fields[] = {
    AS_FIELD(struct as_operation_run, size),
    AS_FIELD(struct as_operation_run, threads),
    AS_FIELD(struct as_operation_run, rounds),
    AS_FIELD_ALL(struct as_operation_run, points, points[0], &point_shape),
    AS_FIELD_OBJECT(struct as_operation_run, call, &point_shape),
};
const struct as_json_shape as_operation_run_shape =
    AS_SHAPE(struct as_operation_run, operation_fields);

static const struct as_json_field probe_fields[] = {
    AS_FIELD(struct as_probe_cost, known),    AS_FIELD(struct as_probe_cost, ns),
    AS_FIELD(struct as_probe_cost, low_ns),   AS_FIELD(struct as_probe_cost, high_ns),
    AS_FIELD(struct as_probe_cost, least_ns), AS_FIELD(struct as_probe_cost, n_trials),
    AS_FIELD(struct as_probe_cost, n_calls),
};
static const struct as_json_shape probe_shape = AS_SHAPE(struct as_probe_cost, probe_fields);

static const struct as_json_field pair_fields[] = {
    AS_FIELD(struct as_overhead_pair, known),      AS_FIELD(struct as_overhead_pair, n_steps),
    AS_FIELD(struct as_overhead_pair, n_pairs),    AS_FIELD(struct as_overhead_pair, plain_ns),
    AS_FIELD(struct as_overhead_pair, with_ns),    AS_FIELD(struct as_overhead_pair, factor),
    AS_FIELD(struct as_overhead_pair, factor_low), AS_FIELD(struct as_overhead_pair, factor_high),
};
static const struct as_json_shape pair_shape = AS_SHAPE(struct as_overhead_pair, pair_fields);

static const struct as_json_field overhead_fields[] = {
    AS_FIELD_ALL(struct as_overhead_run, probes, probes[0], &probe_shape),
    AS_FIELD_ALL(struct as_overhead_run, pairs, pairs[0], &pair_shape),
    AS_FIELD(struct as_overhead_run, clock),
    AS_FIELD(struct as_overhead_run, lost_events),
    AS_FIELD(struct as_overhead_run, session_why),
};
const struct as_json_shape as_overhead_run_shape =
    AS_SHAPE(struct as_overhead_run, overhead_fields);
