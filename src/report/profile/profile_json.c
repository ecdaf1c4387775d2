/* report/profile/profile_json.c - how fast a network runs and why, as JSON: the tables of the
 * document assay.profile. Base units in the keys; what cannot be had is null. */
#include "base/alloc.h"
#include "base/units.h"
#include "report/machine/machine_report.h"
#include "report/profile/profile_report.h"

/* What the document is written from. */
struct document {
    const char *tool_version;
    const struct as_profile *profile;
    const struct as_profile_data *data;
    const struct as_token_run *tokens;
    const struct as_thread_trial *trial;
    const struct as_outputs *kept; /* NULL: none were */
    const struct as_output_row *outputs;
    size_t n_outputs;
    const struct as_profile_layer *layers; /* in the order asked for */
    size_t n_layers;
    const struct document *decode; /* of the second phase; NULL: there is none */
};

#define D struct as_profile_data
#define P struct as_profile

/* ---- model and configuration ---- */

static const struct as_json_field input_fields[] = {
    AS_FIELD(struct as_input_choice, name),
    AS_FIELD(struct as_input_choice, dtype),
    AS_FIELD(struct as_input_choice, shape),
    AS_FIELD_KEY(struct as_input_choice, "filled_with", how, NULL, "where its elements came from"),
};
static const struct as_json_shape input_shape = AS_SHAPE(struct as_input_choice, input_fields);

static bool batch_known(const void *object)
{
    return !((const D *)object)->model.batch_why;
}

static const struct as_json_field model_fields[] = {
    AS_FIELD_KEY(D, "path", model.path, NULL, "the model as given on the command line"),
    AS_FIELD_KEY(D, "parameters", model.parameters, NULL, "each shared tensor once"),
    AS_FIELD_KEY(D, "parameter_bytes", model.parameter_bytes, "bytes", "as stored"),
    AS_FIELD_KEY(D, "macs", model.macs, NULL, "multiply-adds of one inference"),
    AS_FIELD_KEY(D, "flops", model.flops, NULL, "2 x MACs and every other operation once"),
    AS_FIELD_KEY(D, "executed_macs", model.executed_macs, NULL,
                 "macs without those in the padding of convolutions"),
    AS_FIELD_KEY(D, "executed_flops", model.executed_flops, NULL,
                 "flops without those in padding: rates are of these"),
    AS_FIELD_KEY(D, "counts_complete", model.complete, NULL, "every node that ran is counted"),
    AS_FIELD_KEY(D, "nodes", model.nodes, NULL, NULL),
    AS_FIELD_KEY(D, "steps", n_steps, NULL, "what the engine runs after fusion"),
    AS_FIELD_IF(D, "batch", model.batch, batch_known),
    AS_FIELD_KEY(D, "batch_reason", model.batch_why, NULL, "why the batch is unknown"),
    AS_FIELD_KEY_VALUES(D, "assumed", model.assumed, model.n_assumed, SIZE_MAX),
    AS_FIELD_KEY_LIST(D, "sizes", model.sizes, model.n_sizes, &as_open_size_shape, SIZE_MAX),
    AS_FIELD_LIST(D, inputs, n_inputs, &input_shape, SIZE_MAX),
};
static const struct as_json_shape model_shape = AS_SHAPE(D, model_fields);

static const struct as_json_field config_fields[] = {
    AS_FIELD(D, threads),
    AS_FIELD_MEMBERS(D, config, &as_profile_config_shape),
};
static const struct as_json_shape config_shape = AS_SHAPE(D, config_fields);

/* ---- the machine ---- */

#define PEAK(name, type)                                                                           \
    static double name(const void *object)                                                         \
    {                                                                                              \
        const P *p = object;                                                                       \
                                                                                                   \
        return p->peaks ? as_peak_flops(p->peaks, type, p->data->threads) : AS_UNKNOWN;            \
    }
PEAK(peak_f32, AS_PEAK_F32)
PEAK(peak_f64, AS_PEAK_F64)
PEAK(peak_bf16, AS_PEAK_BF16)
PEAK(peak_i8, AS_PEAK_I8)
#undef PEAK

#define BANDWIDTH(name, level)                                                                     \
    static double name(const void *object)                                                         \
    {                                                                                              \
        const P *p = object;                                                                       \
                                                                                                   \
        return p->peaks ? as_peak_bandwidth(p->peaks, level, p->data->threads) : AS_UNKNOWN;       \
    }
BANDWIDTH(bandwidth_l1, AS_PEAK_L1)
BANDWIDTH(bandwidth_l2, AS_PEAK_L2)
BANDWIDTH(bandwidth_l3, AS_PEAK_L3)
BANDWIDTH(bandwidth_dram, AS_PEAK_DRAM)
#undef BANDWIDTH

#define TEXT_OF(name, expression)                                                                  \
    static const char *name(const void *object)                                                    \
    {                                                                                              \
        const P *p = object;                                                                       \
                                                                                                   \
        return expression;                                                                         \
    }
TEXT_OF(cpu_text, p->data->topology.cpu.model)
TEXT_OF(library_text, p->data->library)
TEXT_OF(no_library_text, p->data->library ? NULL : p->data->why_no_library)
TEXT_OF(no_peaks_text, p->peaks ? NULL : p->data->why_no_peaks)
TEXT_OF(bound_text, as_bound_name(p->roof.bound))
TEXT_OF(slowest_text, p->n_layers ? p->layers[p->by_time[0]].step->name : NULL)
#undef TEXT_OF

static double usable_threads(const void *object)
{
    return ((const P *)object)->data->topology.n_usable;
}

static const struct as_json_field isa_fields[] = {
    AS_FIELD_MEMBERS(D, topology.isa, &as_isa_document_shape),
};
static const struct as_json_shape isa_shape = AS_SHAPE(D, isa_fields);

static const struct as_json_field machine_fields[] = {
    AS_FIELD_WORDS("cpu", cpu_text, NULL),
    AS_FIELD_NUMBER("usable_threads", usable_threads, NULL, NULL),
    AS_FIELD_INLINE(P, data, &isa_shape),
    AS_FIELD_WORDS("library", library_text, "of kernels"),
    AS_FIELD_WORDS("library_unavailable", no_library_text, NULL),
    AS_FIELD_NUMBER("peak_f32_flops_per_second", peak_f32, "FLOP/s", "of the threads used"),
    AS_FIELD_NUMBER("peak_f64_flops_per_second", peak_f64, "FLOP/s", NULL),
    AS_FIELD_NUMBER("peak_bf16_flops_per_second", peak_bf16, "FLOP/s", NULL),
    AS_FIELD_NUMBER("peak_i8_ops_per_second", peak_i8, "OP/s", NULL),
    AS_FIELD_NUMBER("l1_bytes_per_second", bandwidth_l1, "bytes/s", NULL),
    AS_FIELD_NUMBER("l2_bytes_per_second", bandwidth_l2, "bytes/s", NULL),
    AS_FIELD_NUMBER("l3_bytes_per_second", bandwidth_l3, "bytes/s", NULL),
    AS_FIELD_NUMBER("dram_bytes_per_second", bandwidth_dram, "bytes/s", NULL),
    AS_FIELD_WORDS("peaks_unavailable", no_peaks_text, NULL),
    {.key = "findings",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_OBJECT,
     .offset = offsetof(P, fitness.findings),
     .size = sizeof(struct assay_finding),
     .count_offset = offsetof(P, fitness.n),
     .count_size = sizeof(size_t),
     .max = AS_FITNESS_MAX,
     .shape = &as_finding_shape,
     .help = "whether the machine is fit to measure"},
};
static const struct as_json_shape machine_shape = AS_SHAPE(P, machine_fields);

/* ---- latency ---- */

static bool has_interval(const void *object)
{
    return ((const D *)object)->latency.figures.median.interval.reached;
}

static bool has_earlier(const void *object)
{
    return ((const D *)object)->latency.n_earlier > 0;
}

static const char *stop_text(const void *object)
{
    return as_latency_stop_name(((const D *)object)->latency.stop);
}

/* A percentile that the number of inferences does not carry is null. */
#define PERCENTILE(name, which)                                                                    \
    static bool has_##name(const void *object)                                                     \
    {                                                                                              \
        return ((const D *)object)->latency.figures.summary.supported[which];                      \
    }
PERCENTILE(p50, AS_SUMMARY_P50)
PERCENTILE(p90, AS_SUMMARY_P90)
PERCENTILE(p95, AS_SUMMARY_P95)
PERCENTILE(p99, AS_SUMMARY_P99)
#undef PERCENTILE

static const struct as_json_field earlier_fields[] = {
    AS_FIELD_KEY(D, "runs", latency.n_earlier, NULL, NULL),
    AS_FIELD_KEY(D, "spread_share", latency.earlier_spread, "fraction", NULL),
    AS_FIELD_KEY(D, "between_low_ns", latency.between_low_ns, "ns", NULL),
    AS_FIELD_KEY(D, "between_high_ns", latency.between_high_ns, "ns", NULL),
};
static const struct as_json_shape earlier_shape = AS_SHAPE(D, earlier_fields);

static const struct as_json_field cause_fields[] = {
    AS_FIELD(struct as_cause_tally, known),
    AS_FIELD_KEY(struct as_cause_tally, "count", n, NULL, NULL),
    AS_FIELD_KEY(struct as_cause_tally, "outliers_with", n_outliers, NULL, NULL),
    AS_FIELD(struct as_cause_tally, suspected),
};
static const struct as_json_shape cause_shape = AS_SHAPE(struct as_cause_tally, cause_fields);

static const struct as_json_field causes_fields[] = {
#define X(name, word, text)                                                                        \
    {.key = (word),                                                                                \
     .kind = AS_FIELD_OBJECT,                                                                      \
     .offset = offsetof(D, latency.causes[AS_CAUSE_##name]),                                       \
     .shape = &cause_shape},
    AS_CAUSES(X)
#undef X
};
static const struct as_json_shape causes_shape = AS_SHAPE(D, causes_fields);

#define SUMMARY(key, member)   AS_FIELD_KEY(D, key, latency.figures.summary.member, "ns", NULL)
#define TAIL(key, place, test) AS_FIELD_IF(D, key, latency.figures.summary.percentile[place], test)
static const struct as_json_field latency_fields[] = {
    SUMMARY("median_ns", median),
    AS_FIELD_IF(D, "ci95_low_ns", latency.figures.median.interval.low, has_interval),
    AS_FIELD_IF(D, "ci95_high_ns", latency.figures.median.interval.high, has_interval),
    {.key = "earlier_runs", .kind = AS_FIELD_OBJECT, .shape = &earlier_shape, .known = has_earlier},
    AS_FIELD_KEY(D, "effective_runs", latency.figures.median.n_effective, NULL,
                 "equivalent number of independent samples"),
    SUMMARY("mean_ns", mean),
    SUMMARY("std_ns", std_sample),
    SUMMARY("min_ns", min),
    SUMMARY("max_ns", max),
    SUMMARY("mad_ns", mad),
    AS_FIELD_KEY(D, "cv", latency.figures.summary.cv, NULL, "standard deviation / mean"),
    TAIL("p50_ns", AS_SUMMARY_P50, has_p50),
    TAIL("p90_ns", AS_SUMMARY_P90, has_p90),
    TAIL("p95_ns", AS_SUMMARY_P95, has_p95),
    TAIL("p99_ns", AS_SUMMARY_P99, has_p99),
    AS_FIELD_KEY(D, "runs", latency.n, NULL, "samples"),
    AS_FIELD_KEY(D, "calls_per_run", latency.batch, NULL, "inferences in a sample"),
    AS_FIELD_KEY(D, "warmup_runs", latency.warm_up.runs, NULL, NULL),
    AS_FIELD_KEY(D, "steady", latency.steady, NULL, NULL),
    AS_FIELD_WORDS("stopped_by", stop_text, NULL),
    AS_FIELD_HELP(D, cold_ns, "ns", "the first inference"),
    AS_FIELD_HELP(D, prepare_ns, "ns", NULL),
    AS_FIELD_HELP(D, load_ns, "ns", NULL),
    AS_FIELD_KEY(D, "timer_cost_ns", latency.timer_cost_ns, "ns", "subtracted"),
    AS_FIELD_KEY(D, "outliers", latency.n_outliers, NULL, NULL),
    AS_FIELD_PART("outlier_causes", &causes_shape),
    {.key = "samples_ns",
     .kind = AS_FIELD_LIST,
     .item = AS_FIELD_F64,
     .offset = offsetof(D, latency.samples_ns),
     .size = sizeof(double),
     .count_offset = offsetof(D, latency.n),
     .count_size = sizeof(size_t),
     .max = SIZE_MAX,
     .unit = "ns"},
};
static const struct as_json_shape latency_shape = AS_SHAPE(D, latency_fields);
#undef SUMMARY
#undef TAIL

/* ---- memory ---- */

static bool memory_counted(const void *object)
{
    return ((const P *)object)->memory.counted;
}

static bool memory_planned(const void *object)
{
    return ((const P *)object)->memory.planned;
}

static bool rss_known(const void *object)
{
    return ((const P *)object)->memory.rss_known;
}

static const char *rss_since(const void *object)
{
    return ((const P *)object)->memory.peak_rss_fresh ? "before the model was prepared"
                                                      : "the program began";
}

#define MIB(name, member, test)                                                                    \
    static double name(const void *object)                                                         \
    {                                                                                              \
        const P *p = object;                                                                       \
                                                                                                   \
        return (test) ? (double)p->memory.member / AS_MIB : AS_UNKNOWN;                            \
    }
MIB(parameter_mib, parameter_bytes, true)
MIB(activation_mib, activation_bytes, p->memory.counted)
MIB(peak_mib, peak_bytes, p->memory.counted)
#undef MIB

static const struct as_json_field memory_fields[] = {
    AS_FIELD_KEY(P, "parameter_bytes", memory.parameter_bytes, "bytes", NULL),
    AS_FIELD_KEY(P, "held_parameter_bytes", memory.held_bytes, "bytes", "as the engine keeps them"),
    AS_FIELD_KEY(P, "widened_weights", memory.widened.n, NULL, "stored in fewer bits, kept as f32"),
    AS_FIELD_KEY(P, "widened_stored_bytes", memory.widened.stored_bytes, "bytes", NULL),
    AS_FIELD_KEY(P, "widened_held_bytes", memory.widened.held_bytes, "bytes", NULL),
    AS_FIELD_IF(P, "activation_bytes", memory.activation_bytes, memory_counted),
    AS_FIELD_IF(P, "planned_activation_bytes", memory.planned_bytes, memory_planned),
    AS_FIELD_IF(P, "workspace_bytes", memory.workspace_bytes, memory_counted),
    AS_FIELD_IF(P, "kv_cache_bytes", memory.kv_cache_bytes, memory_counted),
    AS_FIELD_IF(P, "peak_bytes", memory.peak_bytes, memory_counted),
    AS_FIELD_KEY(P, "memory_unavailable", memory.why, NULL, NULL),
    AS_FIELD_IF(P, "base_rss_bytes", memory.base_rss_bytes, rss_known),
    AS_FIELD_IF(P, "rss_bytes", memory.rss_bytes, rss_known),
    AS_FIELD_IF(P, "peak_rss_bytes", memory.peak_rss_bytes, rss_known),
    AS_FIELD_WORDS("peak_rss_since", rss_since, NULL),
    AS_FIELD_KEY(P, "memory_efficiency", memory.efficiency, "fraction",
                 "(weights held + activations) / peak"),
    AS_FIELD_NUMBER("parameter_memory_mb", parameter_mib, "MiB", NULL),
    AS_FIELD_NUMBER("activation_memory_mb", activation_mib, "MiB", NULL),
    AS_FIELD_NUMBER("peak_memory_mb", peak_mib, "MiB", NULL),
};
static const struct as_json_shape memory_shape = AS_SHAPE(P, memory_fields);

/* ---- roofline: the same fields of the whole, of groups and of layers ---- */

#define ROOF_FIELDS(name, type, is_counted)                                                        \
    static bool name##_counted(const void *object)                                                 \
    {                                                                                              \
        const type *x = object;                                                                    \
                                                                                                   \
        return is_counted;                                                                         \
    }                                                                                              \
    static bool name##_moved(const void *object)                                                   \
    {                                                                                              \
        const type *x = object;                                                                    \
                                                                                                   \
        return (is_counted) || x->roof.bandwidth > 0;                                              \
    }                                                                                              \
    static double name##_gflops(const void *object)                                                \
    {                                                                                              \
        return ((const type *)object)->roof.achieved / 1e9;                                        \
    }                                                                                              \
    static double name##_attainable(const void *object)                                            \
    {                                                                                              \
        return ((const type *)object)->roof.attainable / 1e9;                                      \
    }                                                                                              \
    static const char *name##_bound(const void *object)                                            \
    {                                                                                              \
        return as_bound_name(((const type *)object)->roof.bound);                                  \
    }                                                                                              \
    static const char *name##_level(const void *object)                                            \
    {                                                                                              \
        const struct as_roof *r = &((const type *)object)->roof;                                   \
                                                                                                   \
        return r->bound == AS_BOUND_MEMORY ? as_peak_level_name(r->level) : NULL;                  \
    }
ROOF_FIELDS(whole, P, x->data->model.complete)
ROOF_FIELDS(group, struct as_profile_group, x->counted)
ROOF_FIELDS(layer, struct as_profile_layer, x->step->counted)

#define ROOF(name, type)                                                                           \
    AS_FIELD_WORDS("bound", name##_bound, "compute, memory, overhead or unknown"),                 \
        AS_FIELD_WORDS("bound_level", name##_level, "of memory: L1, L2, L3, DRAM"),                \
        AS_FIELD_IF(type, "roof_fraction", roof.roof_fraction, name##_counted),                    \
        AS_FIELD_IF(type, "arithmetic_intensity", roof.intensity, name##_counted),                 \
        {.key = "gflops_per_second",                                                               \
         .kind = AS_FIELD_F64,                                                                     \
         .number = name##_gflops,                                                                  \
         .known = name##_counted,                                                                  \
         .unit = "GFLOP/s"},                                                                       \
        {.key = "attainable_gflops_per_second",                                                    \
         .kind = AS_FIELD_F64,                                                                     \
         .number = name##_attainable,                                                              \
         .known = name##_counted,                                                                  \
         .unit = "GFLOP/s"},                                                                       \
        AS_FIELD_IF(type, "bytes_per_second", roof.bandwidth, name##_moved),                       \
        AS_FIELD_KEY(type, "inconsistent", roof.inconsistent, NULL, "exceeds what is possible")

#define G struct as_profile_group
static const struct as_json_field group_fields[] = {
    AS_FIELD(G, name),
    AS_FIELD_KEY(G, "layers", n_layers, NULL, NULL),
    AS_FIELD(G, calls),
    AS_FIELD_HELP(G, self_ns, "ns", NULL),
    AS_FIELD_HELP(G, share, "fraction", "of the time of all layers"),
    AS_FIELD_HELP(G, cumulative_share, "fraction", "cumulative with all slower ones"),
    AS_FIELD_IF(G, "macs", macs, group_counted),
    AS_FIELD_IF(G, "flops", flops, group_counted),
    AS_FIELD_IF(G, "executed_macs", executed_macs, group_counted),
    AS_FIELD_IF(G, "executed_flops", executed_flops, group_counted),
    AS_FIELD_HELP(G, bytes, "bytes", "moved"),
    ROOF(group, G),
};
const struct as_json_shape as_profile_group_shape = AS_SHAPE(G, group_fields);

/* ---- layers ---- */

#define L struct as_profile_layer
#define S struct as_profile_step

static bool step_counted(const void *object)
{
    return ((const S *)object)->counted;
}

static bool step_live_known(const void *object)
{
    return ((const S *)object)->live_known;
}

static bool step_moved(const void *object)
{
    return ((const S *)object)->counted || ((const S *)object)->bytes > 0;
}

static bool step_threads_known(const void *object)
{
    return ((const S *)object)->threads > 0;
}

static const struct as_json_field step_fields[] = {
    AS_FIELD_HELP(S, name, NULL, "of the node it is named after"),
    AS_FIELD(S, op),
    AS_FIELD_HELP(S, fused, NULL, "post-ops"),
    AS_FIELD(S, kernel),
    AS_FIELD(S, layout),
    AS_FIELD_KEY(S, "reorder", is_reorder, NULL, "copies a tensor into another layout"),
    AS_FIELD_VALUES(S, nodes, n_nodes, SIZE_MAX),
    AS_FIELD_IF(S, "threads", threads, step_threads_known),
    AS_FIELD(S, calls),
    AS_FIELD(S, counted),
    AS_FIELD_IF(S, "macs", macs, step_counted),
    AS_FIELD_IF(S, "flops", flops, step_counted),
    AS_FIELD_IF(S, "executed_macs", executed_macs, step_counted),
    AS_FIELD_IF(S, "executed_flops", executed_flops, step_counted),
    AS_FIELD_IF(S, "bytes", bytes, step_moved),
    AS_FIELD_HELP(S, weight_bytes, "bytes", NULL),
    AS_FIELD_IF(S, "live_bytes", live_bytes, step_live_known),
};
static const struct as_json_shape step_shape = AS_SHAPE(S, step_fields);

static const struct as_json_field layer_fields[] = {
    AS_FIELD_INLINE(L, step, &step_shape),
    AS_FIELD_HELP(L, self_ns, "ns", "of the median inference; all layers add up"),
    AS_FIELD_HELP(L, mean_ns, "ns", NULL),
    AS_FIELD_HELP(L, std_ns, "ns", NULL),
    AS_FIELD_HELP(L, min_ns, "ns", NULL),
    AS_FIELD_HELP(L, max_ns, "ns", NULL),
    AS_FIELD_HELP(L, p95_ns, "ns", NULL),
    AS_FIELD_HELP(L, share, "fraction", "of the time of all layers"),
    AS_FIELD_HELP(L, cumulative_share, "fraction", "cumulative with all slower ones"),
    ROOF(layer, L),
};
const struct as_json_shape as_profile_layer_shape = AS_SHAPE(L, layer_fields);

/* ---- the whole ---- */

static bool profiled(const void *object)
{
    return ((const D *)object)->profiled;
}

/* Whether layers were measured: without them shares are unknown. */
static bool has_layers(const void *object)
{
    return ((const P *)object)->n_layers > 0;
}

static bool is_bound_known(const void *object)
{
    return ((const P *)object)->roof.bound != AS_BOUND_UNKNOWN;
}

static const char *peak_type_text(const void *object)
{
    return has_layers(object) ? as_peak_type_name(((const P *)object)->type) : NULL;
}

static const char *unsteady_text(const void *object)
{
    return ((const P *)object)->unsteady;
}

static bool is_memory_bound(const void *object)
{
    return ((const P *)object)->roof.bound == AS_BOUND_MEMORY;
}

static bool is_compute_bound(const void *object)
{
    return ((const P *)object)->roof.bound == AS_BOUND_COMPUTE;
}

/* Of the type that most of the arithmetic is in. */
static double peak_used(const P *p)
{
    return p->peaks && p->n_layers ? as_peak_flops(p->peaks, p->type, p->data->threads)
                                   : AS_UNKNOWN;
}

#define VALUE(name, expression)                                                                    \
    static double name(const void *object)                                                         \
    {                                                                                              \
        const P *p = object;                                                                       \
                                                                                                   \
        return expression;                                                                         \
    }
VALUE(latency_ms, p->data->latency.figures.summary.median / 1e6)
VALUE(bandwidth_mib, p->data->model.complete ? p->roof.bandwidth / AS_MIB : AS_UNKNOWN)
VALUE(efficiency, p->data->model.complete ? p->roof.achieved / peak_used(p) : AS_UNKNOWN)
#undef VALUE

#define SHARE(name, member)                                                                        \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_F64, .offset = offsetof(P, member),                        \
        .size = sizeof(double), .max = sizeof(double), .known = has_layers, .unit = "fraction",    \
        .help = "of the time of all layers"                                                        \
    }
static const struct as_json_field summary_fields[] = {
    AS_FIELD_KEY(P, "total_layers", n_layers, NULL, NULL),
    AS_FIELD_KEY(P, "total_time_ns", sum_ns, "ns", "of all layers"),
    AS_FIELD_NUMBER("latency_ms", latency_ms, "ms", "the median"),
    AS_FIELD(P, inferences_per_second),
    AS_FIELD(P, samples_per_second),
    AS_FIELD(P, tokens_per_second),
    ROOF(whole, P),
    AS_FIELD_NUMBER("memory_bandwidth_mbs", bandwidth_mib, "MiB/s", NULL),
    AS_FIELD_NUMBER("computational_efficiency", efficiency, "fraction", "of the peak of peak_type"),
    AS_FIELD_WORDS("peak_type", peak_type_text, "of the arithmetic that most of the time is in"),
    {.key = "is_memory_bound",
     .kind = AS_FIELD_BOOL,
     .truth = is_memory_bound,
     .known = is_bound_known},
    {.key = "is_compute_bound",
     .kind = AS_FIELD_BOOL,
     .truth = is_compute_bound,
     .known = is_bound_known},
    AS_FIELD_WORDS("unsteady", unsteady_text,
                   "why recommendations are withheld; null: they are not"),
    AS_FIELD_WORDS("bottleneck", bound_text, NULL),
    SHARE("compute_bound_share", bound_share[AS_BOUND_COMPUTE]),
    SHARE("memory_bound_share", bound_share[AS_BOUND_MEMORY]),
    SHARE("overhead_bound_share", bound_share[AS_BOUND_OVERHEAD]),
    SHARE("unknown_bound_share", bound_share[AS_BOUND_UNKNOWN]),
    SHARE("reorder_share", reorder_share),
    SHARE("plain_kernel_share", plain_share),
    AS_FIELD_KEY(P, "layers_cover_share", covered_share, "fraction", "of a profiled inference"),
    AS_FIELD_KEY(P, "profiled_pass_ratio", pass_ratio, "ratio",
                 "p50 of the pass with times of layers over that of the timing pass"),
    AS_FIELD_KEY(P, "profiled_pass_differs", pass_differs, NULL,
                 "by more than their 95 % CIs, or by 5 % where one of them has none"),
    AS_FIELD_WORDS("slowest_layer", slowest_text, NULL),
};
static const struct as_json_shape summary_shape = AS_SHAPE(P, summary_fields);

static const struct as_json_field cost_fields[] = {
    AS_FIELD_IF(D, "share", cost_share, profiled),
    AS_FIELD_IF(D, "share_low", cost_low_share, profiled),
    AS_FIELD_IF(D, "share_high", cost_high_share, profiled),
    AS_FIELD_IF(D, "plain_median_ns", plain_median_ns, profiled),
    AS_FIELD_IF(D, "profiled_median_ns", profiled_median_ns, profiled),
    AS_FIELD_KEY(D, "runs", n_runs, NULL, NULL),
};
static const struct as_json_shape cost_shape = AS_SHAPE(D, cost_fields);

/* ---- token by token ---- */

#define T struct as_token_run

static bool formula_known(const void *object)
{
    return ((const T *)object)->formula_bytes > 0;
}

static double cache_bytes(const void *object)
{
    const T *t = object;

    return t->n_steps ? (double)t->steps[t->n_steps - 1].cache_bytes : 0;
}

static const char *const token_kinds[] = {"cached", "fixed_context", "without_cache", "stream"};

static const struct as_json_field token_step_fields[] = {
    AS_FIELD(struct as_token_step, context),
    AS_FIELD_HELP(struct as_token_step, ns, "ns", NULL),
    AS_FIELD_HELP(struct as_token_step, cache_bytes, "bytes", NULL),
};
static const struct as_json_shape token_step_shape =
    AS_SHAPE(struct as_token_step, token_step_fields);

static const struct as_json_field token_fields[] = {
    AS_FIELD_NAMED(T, kind, token_kinds),
    AS_FIELD(T, batch),
    AS_FIELD_KEY(T, "prompt_tokens", prompt, NULL, NULL),
    AS_FIELD_KEY(T, "decode_tokens", n_steps, NULL, NULL),
    AS_FIELD_HELP(T, shortened, NULL, "fewer tokens than usual: with more it failed"),
    AS_FIELD_KEY(T, "prefill_ns", prompt_ns, "ns", NULL),
    AS_FIELD_KEY(T, "prefill_tokens_per_second", prompt_tokens_per_s, NULL, NULL),
    AS_FIELD_KEY(T, "decode_median_ns", median_ns, "ns", NULL),
    AS_FIELD_KEY(T, "decode_p95_ns", p95_ns, "ns", NULL),
    AS_FIELD_KEY(T, "decode_tokens_per_second", tokens_per_s, NULL, NULL),
    AS_FIELD_KEY(T, "decode_slope_ns_per_token", slope_ns, "ns", "more for each token of context"),
    AS_FIELD_KEY(T, "shape_inference_ns", shapes_ns, "ns", "of the last step"),
    AS_FIELD_NUMBER("cache_bytes", cache_bytes, "bytes", "after the last step"),
    AS_FIELD_KEY(T, "cache_peak_bytes", peak_cache_bytes, "bytes", "the old copy beside the new"),
    AS_FIELD_IF(T, "cache_formula_bytes", formula_bytes, formula_known),
    AS_FIELD_HELP(T, peak_bytes, "bytes", NULL),
    AS_FIELD_LIST(T, steps, n_steps, &token_step_shape, SIZE_MAX),
};
static const struct as_json_shape token_shape = AS_SHAPE(T, token_fields);

/* ---- the document ---- */

static const char *no_tokens_text(const void *object)
{
    const struct document *d = object;

    return d->tokens ? NULL : d->data->why_no_tokens;
}

static const struct as_json_field profile_fields[] = {
    AS_FIELD_KEY_LIST(P, "operators", ops, n_ops, &as_profile_group_shape, SIZE_MAX),
    AS_FIELD_LIST(P, scopes, n_scopes, &as_profile_group_shape, SIZE_MAX),
};
static const struct as_json_shape groups_shape = AS_SHAPE(P, profile_fields);

static const struct as_json_field recommendation_fields[] = {
    {.key = "recommendations",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_OBJECT,
     .offset = offsetof(P, findings),
     .size = sizeof(struct assay_finding),
     .count_offset = offsetof(P, n_findings),
     .count_size = sizeof(size_t),
     .max = AS_PROFILE_MAX_FINDINGS,
     .shape = &as_finding_shape},
};
static const struct as_json_shape recommendations_shape = AS_SHAPE(P, recommendation_fields);

static const char *phase_text(const void *object)
{
    const struct as_profile *p = ((const struct document *)object)->profile;
    const struct as_profile_subject *model = &p->data->model;

    if (model->past > 0 && model->tokens == model->batch)
        return "decode";
    return p->decode || model->past > 0 ? "prefill" : NULL;
}

static const struct as_json_field phase_model_fields[] = {
    AS_FIELD_KEY(D, "tokens", model.tokens, NULL, "new ones, of all samples"),
    AS_FIELD_KEY(D, "past_tokens", model.past, NULL, "of each sample, in the cache"),
    AS_FIELD_KEY(D, "batch", model.batch, NULL, NULL),
    AS_FIELD_KEY(D, "macs", model.macs, NULL, "multiply-adds of one inference"),
    AS_FIELD_KEY(D, "flops", model.flops, NULL, "2 x MACs and every other operation once"),
    AS_FIELD_KEY(D, "executed_macs", model.executed_macs, NULL, NULL),
    AS_FIELD_KEY(D, "executed_flops", model.executed_flops, NULL, NULL),
    AS_FIELD_KEY(D, "counts_complete", model.complete, NULL, NULL),
};
static const struct as_json_shape phase_model_shape = AS_SHAPE(D, phase_model_fields);

/* The second phase: the machine and the configuration stand in the document already. */
static const struct as_json_field decode_fields[] = {
    AS_FIELD_INLINE(struct document, data, &phase_model_shape),
    AS_FIELD_BEHIND(struct document, "latency", data, &latency_shape),
    AS_FIELD_BEHIND(struct document, "memory", profile, &memory_shape),
    AS_FIELD_BEHIND(struct document, "summary", profile, &summary_shape),
    AS_FIELD_INLINE(struct document, profile, &groups_shape),
    AS_FIELD_LIST(struct document, layers, n_layers, &as_profile_layer_shape, SIZE_MAX),
    AS_FIELD_INLINE(struct document, profile, &recommendations_shape),
    AS_FIELD_BEHIND(struct document, "profiling_cost", data, &cost_shape),
};
static const struct as_json_shape decode_shape = AS_SHAPE(struct document, decode_fields);

static const struct as_json_field document_fields[] = {
    AS_FIELD(struct document, tool_version),
    AS_FIELD_WORDS("phase", phase_text,
                   "prefill or decode, of a text model with a cache; else null"),
    AS_FIELD_BEHIND(struct document, "model", data, &model_shape),
    AS_FIELD_BEHIND(struct document, "machine", profile, &machine_shape),
    AS_FIELD_BEHIND(struct document, "config", data, &config_shape),
    AS_FIELD_BEHIND(struct document, "latency", data, &latency_shape),
    AS_FIELD_BEHIND(struct document, "memory", profile, &memory_shape),
    AS_FIELD_BEHIND(struct document, "summary", profile, &summary_shape),
    AS_FIELD_WORDS("decoder_unavailable", no_tokens_text, NULL),
    AS_FIELD_BEHIND(struct document, "decoder", tokens, &token_shape),
    AS_FIELD_INLINE(struct document, profile, &groups_shape),
    AS_FIELD_LIST(struct document, layers, n_layers, &as_profile_layer_shape, SIZE_MAX),
    AS_FIELD_INLINE(struct document, profile, &recommendations_shape),
    AS_FIELD_BEHIND(struct document, "profiling_cost", data, &cost_shape),
    AS_FIELD_BEHIND(struct document, "thread_trial", trial, &as_thread_trial_shape),
    AS_FIELD_LIST(struct document, outputs, n_outputs, &as_profile_output_shape, SIZE_MAX),
    AS_FIELD_BEHIND(struct document, "output_check", kept, &as_profile_outputs_shape),
    AS_FIELD_BEHIND(struct document, "decode", decode, &decode_shape),
};
const struct as_json_shape as_profile_document_shape = AS_SHAPE(struct document, document_fields);

/* What the document or a part of it is written from; `layers` has place for those of the profile.
 */
static int fill_document(struct document *d, struct as_profile *p,
                         const struct as_profile_report *report, struct as_profile_layer *layers,
                         struct assay_error *err)
{
    const uint32_t *order = as_profile_order(p, report->sort);

    *d = (struct document){.tool_version = ASSAY_VERSION,
                           .profile = p,
                           .data = p->data,
                           .tokens = p->data->has_tokens ? &p->data->tokens : NULL,
                           .trial = p->data->trial.tried ? &p->data->trial : NULL,
                           .kept = p->data->outputs,
                           .outputs = p->data->outputs ? p->data->outputs->rows : NULL,
                           .n_outputs = p->data->outputs ? p->data->outputs->n_rows : 0,
                           .layers = layers};
    if (!order)
        return as_fail_nomem(err);
    for (size_t i = 0; i < p->n_layers && (!report->top || i < report->top); i++)
        layers[d->n_layers++] = p->layers[order[i]];
    return ASSAY_OK;
}

int as_profile_json(const struct as_profile_report *report, struct as_json_writer *w,
                    struct assay_error *err)
{
    struct as_profile *p = report->profile;
    size_t n_decode = p->decode ? p->decode->n_layers : 0;
    struct as_profile_layer *layers = as_alloc_zero(p->n_layers + n_decode + 1, sizeof *layers);
    struct document d, decode;
    int rc = layers ? fill_document(&d, p, report, layers, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK && p->decode)
        rc = fill_document(&decode, p->decode, report, layers + p->n_layers, err);
    if (rc == ASSAY_OK) {
        d.decode = p->decode ? &decode : NULL;
        as_json_fields_put(w, &as_profile_document_shape, &d);
    }
    as_free(layers);
    return rc;
}
