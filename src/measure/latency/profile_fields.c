/* measure/latency/profile_fields.c - what was measured of a model, into a run and back. */
#include <string.h>

#include "base/text/redact.h"
#include "measure/latency/profile_data.h"

#define MAX_STEPS  (1u << 20)
#define MAX_LIST   4096u /* words of options, nodes of a step */
#define MAX_TOKENS (1u << 20)

static const struct as_json_field step_fields[] = {
    AS_FIELD_HELP(struct as_profile_step, name, NULL, "of the node it is named after"),
    AS_FIELD(struct as_profile_step, op),
    AS_FIELD(struct as_profile_step, kernel),
    AS_FIELD(struct as_profile_step, fused),
    AS_FIELD(struct as_profile_step, layout),
    AS_FIELD(struct as_profile_step, input_dtype),
    AS_FIELD_LATER(struct as_profile_step, why),
    AS_FIELD_VALUES(struct as_profile_step, nodes, n_nodes, MAX_LIST),
    AS_FIELD(struct as_profile_step, index),
    AS_FIELD_LATER(struct as_profile_step, threads),
    AS_FIELD(struct as_profile_step, is_reorder),
    AS_FIELD(struct as_profile_step, counted),
    AS_FIELD_ENUM(struct as_profile_step, type, AS_PEAK_TYPE_COUNT),
    AS_FIELD(struct as_profile_step, calls),
    AS_FIELD(struct as_profile_step, macs),
    AS_FIELD(struct as_profile_step, flops),
    AS_FIELD_LATER(struct as_profile_step, executed_macs),
    AS_FIELD_LATER(struct as_profile_step, executed_flops),
    AS_FIELD_HELP(struct as_profile_step, bytes, "bytes", NULL),
    AS_FIELD_HELP(struct as_profile_step, weight_bytes, "bytes", NULL),
    AS_FIELD(struct as_profile_step, live_known),
    AS_FIELD_HELP(struct as_profile_step, live_bytes, "bytes", NULL),
    AS_FIELD_VALUES(struct as_profile_step, self_ns, n_inferences, AS_PROFILE_MAX_RUNS),
};
static const struct as_json_shape step_shape = AS_SHAPE(struct as_profile_step, step_fields);

static const char *const structure_name[] = {
#define X(name, rule) rule,
    AS_STRUCTURES(X)
#undef X
};
static const struct as_json_field structure_fields[] = {
    AS_FIELD_NAMED(struct as_structure, kind, structure_name),
    AS_FIELD(struct as_structure, n_places),
    AS_FIELD(struct as_structure, example),
    AS_FIELD_VALUES(struct as_structure, nodes, n_nodes, AS_MAX_NODES),
};
static const struct as_json_shape structure_shape = AS_SHAPE(struct as_structure, structure_fields);

static const struct as_json_field run_fields[] = {
    AS_FIELD_HELP(struct as_profiled_run, run_ns, "ns", "a profiled inference"),
    AS_FIELD_HELP(struct as_profiled_run, plain_ns, "ns", "the plain one beside it"),
};
static const struct as_json_shape profiled_run_shape = AS_SHAPE(struct as_profiled_run, run_fields);

static const struct as_json_field input_fields[] = {
    AS_FIELD(struct as_input_choice, name),
    AS_FIELD(struct as_input_choice, dtype),
    AS_FIELD(struct as_input_choice, shape),
    AS_FIELD(struct as_input_choice, how),
};
static const struct as_json_shape input_shape = AS_SHAPE(struct as_input_choice, input_fields);

static const struct as_json_field subject_fields[] = {
    AS_FIELD(struct as_profile_subject, path),
    AS_FIELD(struct as_profile_subject, parameters),
    AS_FIELD(struct as_profile_subject, parameter_bytes),
    AS_FIELD(struct as_profile_subject, nodes),
    AS_FIELD(struct as_profile_subject, macs),
    AS_FIELD(struct as_profile_subject, flops),
    AS_FIELD_LATER(struct as_profile_subject, executed_macs),
    AS_FIELD_LATER(struct as_profile_subject, executed_flops),
    AS_FIELD(struct as_profile_subject, complete),
    AS_FIELD(struct as_profile_subject, batch),
    AS_FIELD_LATER(struct as_profile_subject, batch_why),
    AS_FIELD_LATER(struct as_profile_subject, fixed_why),
    AS_FIELD_LATER(struct as_profile_subject, recomputed),
    AS_FIELD_VALUES_LATER(struct as_profile_subject, assumed, n_assumed, MAX_LIST),
    AS_FIELD_LIST_LATER(struct as_profile_subject, sizes, n_sizes, &as_open_size_shape,
                        AS_OPEN_SIZES_MAX),
    AS_FIELD(struct as_profile_subject, tokens),
    AS_FIELD_LATER(struct as_profile_subject, past),
};
static const struct as_json_shape subject_shape =
    AS_SHAPE(struct as_profile_subject, subject_fields);

#define WORDS(member) AS_FIELD_VALUES(struct as_profile_config, member, n_##member, MAX_LIST)
static const struct as_json_field config_fields[] = {
    AS_FIELD(struct as_profile_config, fuse),
    AS_FIELD(struct as_profile_config, kernels),
    AS_FIELD(struct as_profile_config, runs_asked),
    AS_FIELD(struct as_profile_config, time_s),
    AS_FIELD(struct as_profile_config, warmup_runs),
    AS_FIELD(struct as_profile_config, input_fill),
    AS_FIELD(struct as_profile_config, seed),
    WORDS(shape),
    WORDS(dim),
    WORDS(value),
    WORDS(loop),
    WORDS(input),
    WORDS(command),
};
const struct as_json_shape as_profile_config_shape =
    AS_SHAPE(struct as_profile_config, config_fields);

static const struct as_json_field total_fields[] = {
    AS_FIELD(struct as_mem_total, current_bytes),
    AS_FIELD(struct as_mem_total, peak_bytes),
    AS_FIELD(struct as_mem_total, n_allocations),
};
static const struct as_json_shape total_shape = AS_SHAPE(struct as_mem_total, total_fields);

static const struct as_json_field memory_fields[] = {
    AS_FIELD_ALL(struct as_mem, of, of[0], &total_shape),
    AS_FIELD_OBJECT(struct as_mem, all, &total_shape),
};
static const struct as_json_shape memory_shape = AS_SHAPE(struct as_mem, memory_fields);

static const struct as_json_field plan_fields[] = {
    AS_FIELD(struct as_engine_plan, known),           AS_FIELD(struct as_engine_plan, peak_bytes),
    AS_FIELD(struct as_engine_plan, arena_bytes),     AS_FIELD(struct as_engine_plan, peak_step),
    AS_FIELD(struct as_engine_plan, workspace_bytes), AS_FIELD(struct as_engine_plan, n_static),
    AS_FIELD(struct as_engine_plan, n_dynamic),
};
static const struct as_json_shape plan_shape = AS_SHAPE(struct as_engine_plan, plan_fields);

static const struct as_json_field process_fields[] = {
    AS_FIELD(struct as_process_memory, rss),
    AS_FIELD(struct as_process_memory, rss_peak),
    AS_FIELD(struct as_process_memory, swapped),
};
static const struct as_json_shape process_memory_shape =
    AS_SHAPE(struct as_process_memory, process_fields);

/* Older runs do not have it. */
#define WIDENED(name, member)                                                                      \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_U64,                                                       \
        .offset = offsetof(struct as_profile_data, widened.member), .size = sizeof(uint64_t),      \
        .max = sizeof(uint64_t), .optional = true                                                  \
    }
static const struct as_json_field data_fields[] = {
    AS_FIELD_OBJECT(struct as_profile_data, model, &subject_shape),
    AS_FIELD_OBJECT(struct as_profile_data, config, &as_profile_config_shape),
    AS_FIELD(struct as_profile_data, library),
    AS_FIELD(struct as_profile_data, why_no_library),
    AS_FIELD(struct as_profile_data, threads),
    AS_FIELD(struct as_profile_data, load_ns),
    AS_FIELD(struct as_profile_data, prepare_ns),
    AS_FIELD(struct as_profile_data, cold_ns),
    AS_FIELD_OBJECT(struct as_profile_data, latency, &as_latency_run_shape),
    AS_FIELD(struct as_profile_data, profiled),
    AS_FIELD(struct as_profile_data, n_runs),
    AS_FIELD(struct as_profile_data, n_steps),
    AS_FIELD_KEY(struct as_profile_data, "n_samples", latency.n, NULL, NULL),
    AS_FIELD(struct as_profile_data, profiled_median_ns),
    AS_FIELD(struct as_profile_data, plain_median_ns),
    AS_FIELD(struct as_profile_data, cost_share),
    AS_FIELD(struct as_profile_data, cost_low_share),
    AS_FIELD(struct as_profile_data, cost_high_share),
    AS_FIELD(struct as_profile_data, memory_counted),
    AS_FIELD(struct as_profile_data, why_no_memory),
    AS_FIELD(struct as_profile_data, held_bytes),
    WIDENED("widened_weights", n),
    WIDENED("widened_stored_bytes", stored_bytes),
    WIDENED("widened_held_bytes", held_bytes),
    AS_FIELD_OBJECT(struct as_profile_data, memory, &memory_shape),
    AS_FIELD_OBJECT(struct as_profile_data, plan, &plan_shape),
    AS_FIELD_OBJECT(struct as_profile_data, before, &process_memory_shape),
    AS_FIELD_OBJECT(struct as_profile_data, timed, &process_memory_shape),
    AS_FIELD_OBJECT(struct as_profile_data, ran, &process_memory_shape),
    AS_FIELD(struct as_profile_data, peak_is_fresh),
    AS_FIELD_LIST(struct as_profile_data, inputs, n_inputs, &input_shape, MAX_LIST),
    AS_FIELD(struct as_profile_data, has_peaks),
    AS_FIELD(struct as_profile_data, why_no_peaks),
    AS_FIELD(struct as_profile_data, has_tokens),
    AS_FIELD(struct as_profile_data, why_no_tokens),
};
static const struct as_json_shape data_shape = AS_SHAPE(struct as_profile_data, data_fields);

static const struct as_json_field token_step_fields[] = {
    AS_FIELD(struct as_token_step, context),
    AS_FIELD(struct as_token_step, ns),
    AS_FIELD(struct as_token_step, cache_bytes),
};
static const struct as_json_shape token_step_shape =
    AS_SHAPE(struct as_token_step, token_step_fields);

static const struct as_json_field token_fields[] = {
    AS_FIELD_ENUM(struct as_token_run, kind, AS_TOKENS_STREAM + 1),
    AS_FIELD(struct as_token_run, batch),
    AS_FIELD(struct as_token_run, prompt),
    AS_FIELD(struct as_token_run, shortened),
    AS_FIELD(struct as_token_run, prompt_ns),
    AS_FIELD(struct as_token_run, prompt_runs),
    AS_FIELD(struct as_token_run, prompt_tokens_per_s),
    AS_FIELD_LIST(struct as_token_run, steps, n_steps, &token_step_shape, MAX_TOKENS),
    AS_FIELD(struct as_token_run, median_ns),
    AS_FIELD(struct as_token_run, p95_ns),
    AS_FIELD(struct as_token_run, first_ns),
    AS_FIELD(struct as_token_run, last_ns),
    AS_FIELD(struct as_token_run, slope_ns),
    AS_FIELD(struct as_token_run, tokens_per_s),
    AS_FIELD(struct as_token_run, shapes_ns),
    AS_FIELD(struct as_token_run, profiled_ns),
    AS_FIELD(struct as_token_run, formula_bytes),
    AS_FIELD(struct as_token_run, peak_bytes),
    AS_FIELD(struct as_token_run, peak_cache_bytes),
    AS_FIELD(struct as_token_run, parameter_bytes),
    AS_FIELD(struct as_token_run, whole_macs),
    AS_FIELD(struct as_token_run, cached_macs),
};
static const struct as_json_shape token_shape = AS_SHAPE(struct as_token_run, token_fields);

/* Where a run keeps the phases of a profile. */
struct phase_names {
    const char *data, *samples, *runs, *steps, *structures;
};
static const struct phase_names whole_names = {"profile", "latency_samples", "profiled_runs",
                                               "steps", "structures"},
                                decode_names = {"decode", "decode_samples", "decode_runs",
                                                "decode_steps", "decode_structures"};

static void put_samples(const struct as_latency_run *latency, const char *name,
                        struct as_run_maker *maker)
{
    enum { PART = 4096 };
    struct as_latency_sample part[PART];

    for (size_t i = 0; i < latency->n; i += PART) {
        size_t n = latency->n - i < PART ? latency->n - i : PART;

        for (size_t k = 0; k < n; k++)
            part[k] = (struct as_latency_sample){latency->samples_ns[i + k], latency->seen[i + k]};
        as_run_maker_rows(maker, name, &as_latency_sample_shape, part, n);
    }
}

static void put_phase(const struct as_profile_data *d, const struct phase_names *names,
                      struct as_run_maker *maker)
{
    as_run_maker_put(maker, names->data, &data_shape, d);
    put_samples(&d->latency, names->samples, maker);
    as_run_maker_rows(maker, names->runs, &profiled_run_shape, d->runs, d->n_runs);
    as_run_maker_rows(maker, names->steps, &step_shape, d->steps, d->n_steps);
    as_run_maker_rows(maker, names->structures, &structure_shape, d->structures, d->n_structures);
}

void as_profile_data_put(const struct as_profile_data *d, struct as_run_maker *maker)
{
    as_run_maker_put(maker, "topology", &as_topology_shape, &d->topology);
    as_run_maker_put(maker, "load", &as_system_load_shape, &d->load);
    as_run_maker_put(maker, "headroom", &as_memory_headroom_shape, &d->headroom);
    if (d->has_peaks)
        as_run_maker_put(maker, "peaks", &as_peaks_shape, &d->peaks);
    if (d->has_tokens)
        as_run_maker_put(maker, "tokens", &token_shape, &d->tokens);
    put_phase(d, &whole_names, maker);
    if (d->decode)
        put_phase(d->decode, &decode_names, maker);
    if (d->trial.tried)
        as_run_maker_put(maker, "thread_trial", &as_thread_trial_shape, &d->trial);
    if (d->outputs)
        as_outputs_put(d->outputs, maker);
}

static int lost_rows(const struct as_run *run, const char *table, struct assay_error *err)
{
    return as_fail(err, ASSAY_ERR_FORMAT, "%s is damaged: rows of its table \"%s\" are missing",
                   run->path, table);
}

/* The statistics kept are those of the samples kept. */
static int check_samples(const struct as_latency_run *latency, const struct as_run *run,
                         struct assay_error *err)
{
    const struct as_summary *kept = &latency->figures.summary;
    struct as_latency_metrics again;
    bool good = true;

    if (latency->n == 0)
        return ASSAY_OK;
    for (size_t i = 0; i < latency->n && good; i++)
        good = latency->samples_ns[i] >= 0 && latency->samples_ns[i] < 1e18;
    if (good &&
        as_latency_metrics(&again, latency->samples_ns, latency->n, AS_LATENCY_LEVEL, err) < 0)
        return ASSAY_ERR_NOMEM;
    if (good && again.summary.median == kept->median && again.summary.mean == kept->mean &&
        again.summary.min == kept->min && again.summary.max == kept->max)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_FORMAT, "%s: its latency is not that of its samples", run->path);
}

static int get_samples(struct as_latency_run *latency, const char *name, struct as_run *run,
                       struct assay_error *err)
{
    struct as_latency_sample *rows;
    size_t n;
    int rc = as_run_get_rows(run, name, &as_latency_sample_shape, AS_LATENCY_MAX_SAMPLES, &rows, &n,
                             err);

    if (rc < 0)
        return rc;
    if (n != latency->n)
        return lost_rows(run, name, err);
    latency->samples_ns = as_arena_zero(&run->arena, n + 1, sizeof *latency->samples_ns);
    latency->seen = as_arena_zero(&run->arena, n + 1, sizeof *latency->seen);
    if (!latency->samples_ns || !latency->seen)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        latency->samples_ns[i] = rows[i].ns;
        latency->seen[i] = rows[i].seen;
    }
    return check_samples(latency, run, err);
}

static bool has_texts(const struct as_profile_step *s)
{
    return s->name && s->op && s->kernel && s->fused && s->layout;
}

/* What tables say of each other must agree, since analyses index one by the other. */
static int check(const struct as_profile_data *d, const struct as_run *run, struct assay_error *err)
{
    bool good = d->model.path && d->config.kernels && d->config.input_fill &&
                (!d->profiled || d->n_runs > 0) && d->threads > 0 &&
                (!d->has_peaks || as_peaks_valid(&d->peaks));

    for (size_t i = 0; i < d->n_steps && good; i++) {
        const struct as_profile_step *s = &d->steps[i];

        good = has_texts(s) && s->n_inferences == d->n_runs && s->calls > 0 &&
               s->weight_bytes <= s->bytes && s->executed_macs <= s->macs &&
               s->executed_flops <= s->flops;
        for (size_t k = 0; k < s->n_nodes && good; k++)
            good = s->nodes[k] != NULL;
    }
    for (size_t i = 0; i < d->n_runs && good; i++)
        good = d->runs[i].run_ns > 0;
    for (size_t i = 0; i < d->model.n_sizes && good; i++)
        good = d->model.sizes[i].name && d->model.sizes[i].source;
    for (size_t i = 0; i < d->n_inputs && good; i++)
        good = d->inputs[i].name && d->inputs[i].dtype;
    for (size_t i = 0; i < d->n_structures && good; i++) {
        good = d->structures[i].example != NULL && d->structures[i].n_places > 0;
        for (size_t k = 0; k < d->structures[i].n_nodes && good; k++)
            good = d->structures[i].nodes[k] != NULL;
    }
    if (good)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_FORMAT, "%s: the parts of its profile do not fit together",
                   run->path);
}

/* The command line of assay itself: its name and that of the command stay. */
static void redact(struct as_profile_config *c)
{
    for (size_t i = 2; i < c->n_command; i++)
        c->command[i] = AS_REDACTED;
    if (c->n_command > 3)
        c->n_command = 3;
}

/* Documents of before there were executed counts: then all that is counted was taken for it. */
static void complete_counts(struct as_profile_data *d)
{
    if (d->model.executed_flops == 0) {
        d->model.executed_macs = d->model.macs;
        d->model.executed_flops = d->model.flops;
    }
    for (size_t i = 0; i < d->n_steps; i++) {
        struct as_profile_step *s = &d->steps[i];

        if (s->executed_flops == 0) {
            s->executed_macs = s->macs;
            s->executed_flops = s->flops;
        }
    }
}

static int get_phase(struct as_profile_data *d, const struct phase_names *names, struct as_run *run,
                     struct assay_error *err)
{
    size_t n_runs, n_steps;
    int rc = as_run_get(run, names->data, &data_shape, d, err);

    if (rc == ASSAY_OK && run->redacted)
        redact(&d->config);
    n_runs = d->n_runs;
    n_steps = d->n_steps;
    if (rc == ASSAY_OK)
        rc = get_samples(&d->latency, names->samples, run, err);
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, names->runs, &profiled_run_shape, AS_PROFILE_MAX_RUNS, &d->runs,
                             &d->n_runs, err);
    if (rc == ASSAY_OK)
        rc =
            as_run_get_rows(run, names->steps, &step_shape, MAX_STEPS, &d->steps, &d->n_steps, err);
    if (rc == ASSAY_OK)
        rc = as_run_get_rows(run, names->structures, &structure_shape, AS_STRUCTURE_COUNT,
                             &d->structures, &d->n_structures, err);
    if (rc == ASSAY_OK && (d->n_runs != n_runs || d->n_steps != n_steps))
        rc = lost_rows(run, d->n_runs != n_runs ? names->runs : names->steps, err);
    if (rc == ASSAY_OK)
        complete_counts(d);
    return rc;
}

/* The machine is that of the whole profile. */
static int get_decode(struct as_profile_data *whole, struct as_run *run, struct assay_error *err)
{
    struct as_profile_data *d;
    int rc;

    whole->decode = NULL;
    if (!as_run_has(run, decode_names.data))
        return ASSAY_OK;
    d = as_arena_zero(&run->arena, 1, sizeof *d);
    if (!d)
        return as_fail_nomem(err);
    rc = get_phase(d, &decode_names, run, err);
    if (rc < 0)
        return rc;
    d->topology = whole->topology;
    d->load = whole->load;
    d->headroom = whole->headroom;
    d->has_peaks = whole->has_peaks;
    d->why_no_peaks = whole->why_no_peaks;
    d->peaks = whole->peaks;
    d->has_tokens = false;
    d->decode = NULL;
    whole->decode = d;
    return check(d, run, err);
}

int as_profile_data_get(struct as_profile_data *d, struct as_run *run, struct assay_error *err)
{
    int rc = get_phase(d, &whole_names, run, err);

    if (rc == ASSAY_OK)
        rc = as_run_get(run, "topology", &as_topology_shape, &d->topology, err);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "load", &as_system_load_shape, &d->load, err);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "headroom", &as_memory_headroom_shape, &d->headroom, err);
    if (rc == ASSAY_OK && d->has_peaks)
        rc = as_run_get(run, "peaks", &as_peaks_shape, &d->peaks, err);
    if (rc == ASSAY_OK && d->has_tokens)
        rc = as_run_get(run, "tokens", &token_shape, &d->tokens, err);
    if (rc == ASSAY_OK)
        rc = check(d, run, err);
    if (rc == ASSAY_OK && as_run_has(run, "thread_trial"))
        rc = as_run_get(run, "thread_trial", &as_thread_trial_shape, &d->trial, err);
    if (rc == ASSAY_OK)
        rc = as_outputs_get(&d->outputs, run, err);
    return rc < 0 ? rc : get_decode(d, run, err);
}
