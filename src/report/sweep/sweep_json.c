/* report/sweep/sweep_json.c - how a model scales, as JSON: the tables of the document assay.sweep.
 * Base units in the keys; what cannot be had is null. */
#include "base/units.h"
#include "report/machine/machine_report.h"
#include "report/sweep/sweep_text.h"

#define POINT struct as_sweep_point
#define ROW   struct as_sweep_row
#define SWEEP struct as_sweep

/* ---- one setting ---- */

static void put_setting(struct as_json_writer *w, const void *object)
{
    const ROW *row = object;
    const struct as_sweep_options *o = row->options;

    as_json_object(w);
    for (size_t i = 0; i < o->n_axes; i++) {
        const struct as_sweep_axis *axis = &o->axes[i];
        size_t place = row->point->place[i];

        as_json_key(w, axis->name);
        if (axis->kind != AS_SWEEP_SHAPE) {
            as_json_i64(w, axis->values[place]);
            continue;
        }
        as_json_array(w);
        for (int d = 0; d < axis->shapes[place].rank; d++)
            as_json_i64(w, axis->shapes[place].at[d]);
        as_json_array_end(w);
    }
    as_json_object_end(w);
}

static bool worked(const void *object)
{
    return ((const POINT *)object)->rc == ASSAY_OK;
}

static bool has_interval(const void *object)
{
    return worked(object) && ((const POINT *)object)->figures.median.interval.reached;
}

static const char *error_text(const void *object)
{
    return worked(object) ? NULL : ((const POINT *)object)->err.msg;
}

static bool batch_known(const void *object)
{
    return worked(object) && !((const POINT *)object)->batch_unknown;
}

static double latency_ms(const void *object)
{
    const POINT *p = object;

    return worked(p) ? p->figures.summary.median / 1e6 : AS_UNKNOWN;
}

static const struct as_json_field point_fields[] = {
    AS_FIELD_WORDS("error", error_text, "why the setting could not be measured"),
    AS_FIELD_IF(POINT, "threads", threads, worked),
    AS_FIELD_IF(POINT, "batch", batch, batch_known),
    AS_FIELD_IF(POINT, "parameters", parameters, worked),
    AS_FIELD_IF(POINT, "macs", macs, worked),
    AS_FIELD_IF(POINT, "flops", flops, worked),
    AS_FIELD_IF(POINT, "executed_flops", executed_flops, worked),
    AS_FIELD_NUMBER("latency_ms", latency_ms, "ms", "the median"),
    AS_FIELD_IF(POINT, "median_ns", figures.summary.median, worked),
    AS_FIELD_IF(POINT, "ci95_low_ns", figures.median.interval.low, has_interval),
    AS_FIELD_IF(POINT, "ci95_high_ns", figures.median.interval.high, has_interval),
    AS_FIELD_KEY(POINT, "runs", n_samples, NULL, "inferences timed, in both passes"),
    AS_FIELD_IF(POINT, "peak_bytes", peak_bytes, worked),
    AS_FIELD_IF(POINT, "activation_bytes", activation_bytes, worked),
};
static const struct as_json_shape point_shape = AS_SHAPE(POINT, point_fields);

static bool roof_known(const void *object)
{
    return ((const ROW *)object)->roof.bound != AS_BOUND_UNKNOWN;
}

static bool samples_known(const void *object)
{
    return batch_known(((const ROW *)object)->point);
}

static double inferences_per_second(const void *object)
{
    const ROW *row = object;

    return worked(row->point) ? row->samples_per_second / (double)row->point->batch : AS_UNKNOWN;
}

static const char *row_bound(const void *object)
{
    return as_bound_name(((const ROW *)object)->roof.bound);
}

static const struct as_json_field row_fields[] = {
    {.key = "setting", .kind = AS_FIELD_OWN, .write = put_setting, .help = "value of each axis"},
    AS_FIELD_INLINE(ROW, point, &point_shape),
    AS_FIELD_NUMBER("inferences_per_second", inferences_per_second, "inferences/s", NULL),
    AS_FIELD_IF(ROW, "samples_per_second", samples_per_second, samples_known),
    AS_FIELD_HELP(ROW, memory_mb, "MiB", NULL),
    AS_FIELD_IF(ROW, "samples_per_second_per_mb", samples_per_second_mb, samples_known),
    AS_FIELD_HELP(ROW, gflops_per_second, "GFLOP/s", NULL),
    AS_FIELD_HELP(ROW, speedup, NULL, "throughput relative to the first setting that worked"),
    AS_FIELD_KEY(ROW, "drift_share", drift, "fraction", "difference of the two passes"),
    AS_FIELD_WORDS("bound", row_bound, "compute, memory, overhead or unknown"),
    {.key = "roof_fraction_as_one_layer",
     .kind = AS_FIELD_F64,
     .offset = offsetof(ROW, roof.roof_fraction),
     .known = roof_known,
     .help = "the model taken as one f32 layer; a profile adds up its layers"},
};
const struct as_json_shape as_sweep_row_shape = AS_SHAPE(ROW, row_fields);

/* ---- the whole ---- */

static const struct as_json_field law_fields[] = {
    AS_FIELD_HELP(struct as_power_law, exponent, NULL, "1: grows linearly with the axis"),
    AS_FIELD_KEY(struct as_power_law, "standard_error", error, NULL, NULL),
    AS_FIELD(struct as_power_law, r2),
    AS_FIELD_KEY(struct as_power_law, "points", n, NULL, NULL),
};
static const struct as_json_shape law_shape = AS_SHAPE(struct as_power_law, law_fields);

static const char *axis_text(const void *object)
{
    return ((const SWEEP *)object)->run->options->axes[0].name;
}

#define LAW(name, member)                                                                          \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_OBJECT, .offset = offsetof(SWEEP, member),                 \
        .shape = &law_shape                                                                        \
    }
static const struct as_json_field scaling_fields[] = {
    AS_FIELD_WORDS("axis", axis_text, "the first, along which growth is fitted"),
    LAW("latency", latency),
    LAW("flops", work),
    LAW("memory", memory),
    LAW("throughput", throughput),
    AS_FIELD_HELP(SWEEP, memory_growth, NULL, "last over first"),
    AS_FIELD_HELP(SWEEP, compute_growth, NULL, "GFLOP/s of the last over the first setting"),
};
static const struct as_json_shape scaling_shape = AS_SHAPE(SWEEP, scaling_fields);

static bool has_knee(const void *object)
{
    return ((const SWEEP *)object)->knee != SIZE_MAX;
}

static bool has_best(const void *object)
{
    return ((const SWEEP *)object)->best != SIZE_MAX;
}

static bool has_fastest(const void *object)
{
    return ((const SWEEP *)object)->fastest != SIZE_MAX;
}

static const char *verdict_text(const void *object)
{
    return as_bound_name(((const SWEEP *)object)->verdict);
}

static const struct as_json_field run_fields[] = {
    AS_FIELD_LIST(struct as_sweep_run, sizes, n_sizes, &as_open_size_shape, SIZE_MAX),
};
static const struct as_json_shape run_shape = AS_SHAPE(struct as_sweep_run, run_fields);

static const struct as_json_field sweep_fields[] = {
    AS_FIELD_INLINE(SWEEP, run, &run_shape),
    AS_FIELD_LIST(SWEEP, rows, n_rows, &as_sweep_row_shape, SIZE_MAX),
    AS_FIELD_PART("scaling", &scaling_shape),
    AS_FIELD_IF(SWEEP, "knee_row", knee, has_knee),
    AS_FIELD_IF(SWEEP, "best_row", best, has_best),
    AS_FIELD_IF(SWEEP, "best_equal", n_equal, has_best),
    AS_FIELD_IF(SWEEP, "best_untested", n_untested, has_best),
    AS_FIELD_IF(SWEEP, "fastest_row", fastest, has_fastest),
    AS_FIELD_HELP(SWEEP, max_latency_ns, "ns", "limit; null: none"),
    AS_FIELD_HELP(SWEEP, max_memory_bytes, "bytes", "limit; null: none"),
    AS_FIELD_WORDS("verdict", verdict_text, "bound of most settings"),
    AS_FIELD(SWEEP, advice),
};
static const struct as_json_shape sweep_shape = AS_SHAPE(SWEEP, sweep_fields);

static const struct as_json_field document_fields[] = {
    AS_FIELD_HELP(struct as_sweep_report, model, NULL, "as given on the command line"),
    AS_FIELD_MEMBERS(struct as_sweep_report, isa, &as_isa_document_shape),
    AS_FIELD_INLINE(struct as_sweep_report, sweep, &sweep_shape),
};
const struct as_json_shape as_sweep_document_shape =
    AS_SHAPE(struct as_sweep_report, document_fields);
