/* measure/sweep/sweep_fields.c - a measured sweep as a run keeps it: axes, points, and
 * some samples of each. */
#include "measure/sweep/sweep_run.h"

/* Numbers inside, of which `count` are used. */
#define NUMBERS(type, name, member, count)                                                         \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_ARRAY, .item = AS_FIELD_I64,                               \
        .offset = offsetof(type, member), .size = sizeof(int64_t),                                 \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .max = sizeof AS_MEMBER_(type, member) / sizeof(int64_t)                                   \
    }

static const struct as_json_field dims_fields[] = {
    NUMBERS(struct as_dims, "dims", at, rank),
};
static const struct as_json_shape dims_shape = AS_SHAPE(struct as_dims, dims_fields);

static const struct as_json_field axis_fields[] = {
    AS_FIELD_ENUM(struct as_sweep_axis, kind, AS_SWEEP_KIND_COUNT),
    AS_FIELD(struct as_sweep_axis, name),
    NUMBERS(struct as_sweep_axis, "values", values, n),
    AS_FIELD_ARRAY(struct as_sweep_axis, shapes, n, &dims_shape),
};
static const struct as_json_shape axis_shape = AS_SHAPE(struct as_sweep_axis, axis_fields);

static const struct as_json_field option_fields[] = {
    AS_FIELD(struct as_sweep_options, spec),
    AS_FIELD_ARRAY(struct as_sweep_options, axes, n_axes, &axis_shape),
};
static const struct as_json_shape option_shape = AS_SHAPE(struct as_sweep_options, option_fields);

static const struct as_json_field point_fields[] = {
    AS_FIELD_NUMBERS(struct as_sweep_point, place, place[0]),
    AS_FIELD(struct as_sweep_point, rc),
    AS_FIELD_KEY(struct as_sweep_point, "error", err.msg, NULL, "why it failed"),
    AS_FIELD(struct as_sweep_point, threads),
    AS_FIELD(struct as_sweep_point, batch),
    AS_FIELD_LATER(struct as_sweep_point, batch_unknown),
    AS_FIELD(struct as_sweep_point, parameters),
    AS_FIELD(struct as_sweep_point, macs),
    AS_FIELD(struct as_sweep_point, flops),
    AS_FIELD_LATER(struct as_sweep_point, executed_flops),
    AS_FIELD_HELP(struct as_sweep_point, bytes, "bytes", "read and written by one inference"),
    AS_FIELD(struct as_sweep_point, counted),
    AS_FIELD(struct as_sweep_point, n_samples),
    AS_FIELD_OBJECT(struct as_sweep_point, figures, &as_latency_metrics_shape),
    AS_FIELD_NUMBERS(struct as_sweep_point, way_ns, way_ns[0]),
    AS_FIELD(struct as_sweep_point, activation_bytes),
    AS_FIELD(struct as_sweep_point, peak_bytes),
};
static const struct as_json_shape point_shape = AS_SHAPE(struct as_sweep_point, point_fields);

void as_sweep_run_put(const struct as_sweep_run *run, struct as_run_maker *maker)
{
    as_run_maker_put(maker, "sweep", &option_shape, run->options);
    as_run_maker_rows(maker, "sizes", &as_open_size_shape, run->sizes, run->n_sizes);
    as_run_maker_rows(maker, "points", &point_shape, run->points, run->n_points);
    for (size_t p = 0; p < run->n_points; p++)
        as_point_samples_put(maker, p, run->points[p].samples_ns, run->points[p].n_samples);
}

/* Every point is one of its axes' values. */
static bool is_sound(const struct as_sweep_run *run)
{
    const struct as_sweep_options *o = run->options;

    if (o->n_axes == 0 || !o->spec)
        return false;
    for (size_t i = 0; i < o->n_axes; i++)
        if (!o->axes[i].name || o->axes[i].n == 0)
            return false;
    for (size_t i = 0; i < run->n_sizes; i++)
        if (!run->sizes[i].name || !run->sizes[i].source)
            return false;
    for (size_t p = 0; p < run->n_points; p++) {
        for (size_t i = 0; i < o->n_axes; i++)
            if (run->points[p].place[i] >= o->axes[i].n)
                return false;
        if (run->points[p].rc > 0)
            return false;
    }
    return true;
}

int as_sweep_run_get(struct as_sweep_run *out, struct as_sweep_options *options, struct as_run *run,
                     struct assay_error *err)
{
    int rc = as_run_get(run, "sweep", &option_shape, options, err);

    *out = (struct as_sweep_run){.options = options};
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, "points", &point_shape, AS_SWEEP_POINTS, &out->points,
                             &out->n_points, err);
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, "sizes", &as_open_size_shape, AS_OPEN_SIZES_MAX, &out->sizes,
                             &out->n_sizes, err);
    if (rc == ASSAY_OK && !is_sound(out))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its settings do not fit its axes", run->path);
    for (size_t p = 0; rc == ASSAY_OK && p < out->n_points; p++)
        if (out->points[p].executed_flops == 0) /* of before there was this count */
            out->points[p].executed_flops = out->points[p].flops;
    return rc;
}
