/* measure/latency/profile_data.c - what was measured of a model, joined with the counts of its
 * nodes. Steps of the engine become rows that need neither the engine nor the model. */
#include "measure/latency/profile_data.h"

#include <string.h>

#include "base/hash_map.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "model/weights/parameters.h"

struct join {
    struct as_profile_data *data;
    const struct as_profile_run *run;
    const struct as_costs *costs;
    struct as_hash_map row_of_node; /* pointers to nodes, to rows of `costs` */
    struct as_arena *arena;
};

static int index_rows(struct join *j, struct assay_error *err)
{
    for (size_t i = 0; i < j->costs->n_rows; i++) {
        const struct as_node *const *node = &j->costs->rows[i].node;
        uint64_t *known = as_hash_map_find(&j->row_of_node, node, sizeof(void *));

        if (known)
            *known = i; /* the last row of a node stands for it */
        else if (as_hash_map_put(&j->row_of_node, node, sizeof(void *), i) < 0)
            return as_fail_nomem(err);
    }
    return ASSAY_OK;
}

static const struct as_cost_row *find_row(const struct join *j, const struct as_node *node)
{
    const uint64_t *at = as_hash_map_find(&j->row_of_node, &node, sizeof(void *));

    return at ? &j->costs->rows[*at] : NULL;
}

/* The type whose peak a step is compared with. */
static enum as_peak_type type_of(const struct as_step_info *info, const struct as_value *input,
                                 uint64_t macs)
{
    if (!info->node || !macs)
        return AS_PEAK_F32;
    if (strncmp(info->op, "QLinear", 7) == 0 || strstr(info->op, "Integer") ||
        strcmp(info->op, "QGemm") == 0 || strncmp(info->op, "DynamicQuantize", 15) == 0)
        return AS_PEAK_I8;
    if (input && (input->type.dtype == AS_DTYPE_I8 || input->type.dtype == AS_DTYPE_U8))
        return AS_PEAK_I8;
    return input && input->type.dtype == AS_DTYPE_F64 ? AS_PEAK_F64 : AS_PEAK_F32;
}

/* Whether the engine keeps it as f32 though it is stored in fewer bits. */
static bool is_widened(const struct as_graph *graph, const struct as_value *value)
{
    unsigned dtype = value->type.dtype;

    return value->type.kind == AS_VALUE_TENSOR &&
           (as_dtype_at(dtype)->kind == AS_CLASS_BLOCK ||
            ((dtype == AS_DTYPE_F16 || dtype == AS_DTYPE_BF16) &&
             graph->model->format == AS_FORMAT_GGUF));
}

/* Bytes that `n` elements take more as f32 than in the value's own type. */
static uint64_t widened_by(const struct as_value *value, const struct as_type *counted)
{
    uint64_t n, stored, held;

    if (!as_type_elems(counted, &n) || !as_dtype_bytes(value->type.dtype, n, &stored) ||
        !as_dtype_bytes(AS_DTYPE_F32, n, &held))
        return 0;
    return as_sat_sub(held, stored);
}

/* What one call of a node moves more than its types say: of a lookup the rows taken, of others
 * whole tensors. */
static uint64_t widened_bytes(const struct as_step_info *info)
{
    const struct as_cost_entry *entry = as_cost_entry_at(info->node->op);
    const struct as_value *out = as_node_output(info->graph, info->node, 0);
    bool looks_up = entry && (entry->flags & AS_COST_LOOKUP) && out;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < info->node->n_inputs; i++) {
        const struct as_value *value = as_node_input(info->graph, info->node, i);

        if (value && is_widened(info->graph, value))
            sum =
                as_sat_add(sum, widened_by(value, i == 0 && looks_up ? &out->type : &value->type));
    }
    for (uint32_t i = 0; i < info->node->n_outputs; i++) {
        const struct as_value *value = as_node_output(info->graph, info->node, i);

        if (value && is_widened(info->graph, value))
            sum = as_sat_add(sum, widened_by(value, &value->type));
    }
    return sum;
}

/* Counts of the nodes in it. Tensors between fused nodes are never stored, so the bytes are those
 * of the step; those of a single node are its own, of a lookup only the rows taken. Weights count
 * as they are kept, which is what a kernel reads. */
static void join_costs(const struct join *j, struct as_profile_step *step,
                       const struct as_step_info *info)
{
    const struct as_value *input = info->node ? as_node_input(info->graph, info->node, 0) : NULL;
    struct as_cost sum = {0};

    step->counted = true;
    for (size_t i = 0; i < info->n_sources; i++) {
        const struct as_cost_row *row = find_row(j, info->sources[i]);

        if (!row || row->state != AS_COST_KNOWN || !row->times_known)
            step->counted = step->counted && row && row->constant;
        else
            as_cost_add(&sum, &row->forward, row->times);
    }
    step->macs = sum.macs;
    step->flops = as_cost_flops(&sum);
    step->executed_macs = as_cost_executed_macs(&sum);
    step->executed_flops = as_cost_executed_flops(&sum);
    step->bytes = as_sat_mul(as_sat_add(info->bytes_in, info->bytes_out), step->calls);
    if (info->n_sources == 1 && step->counted && !info->fused[0])
        step->bytes = as_sat_add(as_sat_add(sum.bytes_read, sum.bytes_written),
                                 as_sat_mul(widened_bytes(info), step->calls));
    step->weight_bytes = as_sat_mul(info->weight_bytes, step->calls);
    if (step->weight_bytes > step->bytes)
        step->weight_bytes = step->bytes;
    step->type = type_of(info, input, step->macs);
    step->input_dtype = input ? as_dtype_name(input->type.dtype) : NULL;
}

static int make_step(struct join *j, size_t i, struct assay_error *err)
{
    const struct as_profile_pass *pass = &j->run->profile;
    struct as_profile_step *step = &j->data->steps[j->data->n_steps];
    struct as_step_info info;

    as_engine_step(j->run->engine, i, &info);
    *step = (struct as_profile_step){
        .name = info.name,
        .op = info.op,
        .kernel = info.kernel,
        .fused = as_arena_text(j->arena, info.fused, strlen(info.fused)),
        .layout = info.layout,
        .why = info.why,
        .nodes = as_arena_zero(j->arena, info.n_sources + 1, sizeof *step->nodes),
        .n_nodes = info.n_sources,
        .index = i,
        .threads = info.threads,
        .is_reorder = info.is_reorder,
        .calls = pass->calls[i * pass->n_runs],
        .live_known = j->run->memory_counted,
        .live_bytes = j->run->memory_counted ? j->run->memory.live_bytes[i] : 0,
        .self_ns = &pass->self_ns[i * pass->n_runs],
        .n_inferences = pass->n_runs,
    };
    if (!step->fused || !step->nodes)
        return as_fail_nomem(err);
    if (step->calls == 0)
        return ASSAY_OK; /* a view that is free, a branch not taken */
    for (size_t k = 0; k < info.n_sources; k++)
        step->nodes[k] = as_node_label(info.graph, info.sources[k]);
    join_costs(j, step, &info);
    j->data->n_steps++;
    return ASSAY_OK;
}

static int make_steps(struct join *j, struct assay_error *err)
{
    const struct as_profile_pass *pass = &j->run->profile;
    struct as_profile_data *d = j->data;
    int rc;

    if (!j->run->profiled)
        return ASSAY_OK;
    d->steps = as_arena_zero(j->arena, pass->n_steps + 1, sizeof *d->steps);
    d->runs = as_arena_zero(j->arena, pass->n_runs + 1, sizeof *d->runs);
    if (!d->steps || !d->runs)
        return as_fail_nomem(err);
    rc = index_rows(j, err);
    for (size_t i = 0; i < pass->n_steps && rc == ASSAY_OK; i++)
        rc = make_step(j, i, err);
    d->n_runs = pass->n_runs;
    for (size_t i = 0; i < d->n_runs; i++)
        d->runs[i] = (struct as_profiled_run){pass->run_ns[i], pass->plain_ns[i]};
    d->profiled_median_ns = pass->profiled.summary.median;
    d->plain_median_ns = pass->plain.summary.median;
    d->cost_share = pass->cost_share;
    d->cost_low_share = pass->cost_low_share;
    d->cost_high_share = pass->cost_high_share;
    return rc;
}

/* Tokens that go in with one inference: elements of a first input of integers that is looked up. */
static uint64_t tokens_of(const struct as_model *model)
{
    for (uint32_t i = 0; model->main && i < model->main->n_inputs; i++) {
        const struct as_value *value = &model->values[model->main->inputs[i]];
        uint64_t n;

        if (value->is_input && as_dtype_is_integer(value->type.dtype) && value->type.rank == 2 &&
            (strstr(value->name, "ids") || strstr(value->name, "tokens")) &&
            as_type_elems(&value->type, &n))
            return n;
    }
    return 0;
}

static bool all_counted(const struct join *j)
{
    const struct as_costs *costs = j->costs;

    for (size_t i = 0; i < j->data->n_steps; i++)
        if (!j->data->steps[i].counted)
            return false;
    return costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 && costs->times_known &&
           !costs->overflow;
}

/* Of the batch, which is reported anyway. */
static bool is_of_batch(const struct as_model *model, const char *finding)
{
    const struct as_batch_place *place = &model->batch;
    const struct as_value *value = place->value == AS_NONE ? NULL : &model->values[place->value];
    const char *symbol = value && value->symbols && place->axis < value->type.rank
                             ? value->symbols[place->axis]
                             : NULL;
    const char *start = "dimension '";
    size_t size = symbol ? strlen(symbol) : 0;

    return symbol && strncmp(finding, start, strlen(start)) == 0 &&
           strncmp(finding + strlen(start), symbol, size) == 0 &&
           finding[strlen(start) + size] == '\'';
}

/* What was taken for open dimensions, as the model's inference reported it. */
static int list_assumed(struct join *j, const struct as_model *model, struct assay_error *err)
{
    struct as_profile_subject *subject = &j->data->model;
    size_t n = 0;

    for (const struct as_finding *f = model->findings; f; f = f->next)
        n += f->kind == AS_FINDING_DEFAULT;
    subject->assumed = as_arena_zero(j->arena, n + 1, sizeof *subject->assumed);
    if (!subject->assumed)
        return as_fail_nomem(err);
    for (const struct as_finding *f = model->findings; f; f = f->next)
        if (f->kind == AS_FINDING_DEFAULT && !is_of_batch(model, f->text)) {
            const char *copy = as_arena_text(j->arena, f->text, strlen(f->text));

            if (!copy)
                return as_fail_nomem(err);
            subject->assumed[subject->n_assumed++] = copy;
        }
    return ASSAY_OK;
}

static void describe_model(struct join *j, const struct as_model *model,
                           const struct as_params *params)
{
    j->data->model = (struct as_profile_subject){
        .path = model->path ? model->path : "",
        .parameters = params->parameters,
        .parameter_bytes = params->parameter_bytes,
        .nodes = j->costs->n_rows,
        .macs = j->costs->forward.macs,
        .flops = as_cost_flops(&j->costs->forward),
        .executed_macs = as_cost_executed_macs(&j->costs->forward),
        .executed_flops = as_cost_executed_flops(&j->costs->forward),
        .complete = all_counted(j),
        .batch = j->costs->batch,
        .batch_why = j->costs->batch_why,
        .tokens = tokens_of(model),
        .recomputed = as_costs_recomputed(j->costs),
    };
}

static void copy_options(struct as_profile_data *d, const struct as_profile_options *o)
{
    const struct as_latency_options *l = &o->latency;

    d->config.fuse = !o->engine.no_fuse;
    d->config.kernels = o->engine.reference ? "reference" : "auto";
    d->config.runs_asked = l->runs;
    d->config.time_s = l->time_s > 0 ? l->time_s : AS_LATENCY_TIME_S;
    d->config.warmup_runs = l->no_warmup     ? 0
                            : l->warmup_runs ? l->warmup_runs
                                             : AS_LATENCY_WARMUP_RUNS;
    d->config.input_fill = as_input_fill_name(o->inputs.fill);
    d->config.seed = o->inputs.seed;
}

static void copy_measured(struct as_profile_data *d, const struct as_profile_run *run)
{
    const struct as_memory_pass *m = &run->memory;

    d->library = as_engine_library(run->engine, &d->why_no_library);
    d->threads = run->threads;
    d->load_ns = run->load_ns;
    d->prepare_ns = run->prepare_ns;
    d->cold_ns = run->cold_ns;
    d->latency = run->latency;
    d->profiled = run->profiled;
    d->memory_counted = run->memory_counted;
    d->why_no_memory = run->no_memory.code ? run->no_memory.msg : NULL;
    d->held_bytes = run->memory_counted
                        ? m->counted.of[AS_MEM_PARAMETERS].peak_bytes
                        : as_engine_memory(run->engine)->of[AS_MEM_PARAMETERS].current_bytes;
    d->widened = as_engine_widened(run->engine);
    d->memory = m->counted;
    d->plan = m->plan;
    d->before = m->before;
    d->timed = m->timed;
    d->ran = m->ran;
    d->peak_is_fresh = m->peak_is_fresh;
    d->inputs = run->inputs.choices;
    d->n_inputs = run->inputs.n_choices;
}

static int list_structures(struct as_profile_data *d, const struct as_model *model,
                           struct as_arena *arena, struct assay_error *err)
{
    d->structures = as_arena_zero(arena, AS_STRUCTURE_COUNT, sizeof *d->structures);
    return d->structures ? as_structures_find(d->structures, &d->n_structures, model, arena, err)
                         : as_fail_nomem(err);
}

int as_profile_data_init(struct as_profile_data *data, const struct as_profile_run *run,
                         struct as_model *model, struct as_arena *arena, struct assay_error *err)
{
    struct join j = {.data = data, .run = run, .arena = arena};
    struct as_params *params = NULL;
    struct as_costs *costs = NULL;
    int rc;

    *data = (struct as_profile_data){.profiled_median_ns = AS_UNKNOWN};
    copy_options(data, &run->options);
    copy_measured(data, run);
    as_engine_tell_shapes(run->engine);
    rc = as_costs_new(&costs, model, err);
    if (rc == ASSAY_OK)
        rc = as_params_new(&params, model, false, err);
    j.costs = costs;
    if (rc == ASSAY_OK)
        rc = make_steps(&j, err);
    if (rc == ASSAY_OK) {
        describe_model(&j, model, params);
        rc = list_assumed(&j, model, err);
    }
    if (rc == ASSAY_OK)
        rc = as_open_sizes_list(&data->model.sizes, &data->model.n_sizes, model, arena, err);
    if (rc == ASSAY_OK)
        rc = list_structures(data, model, arena, err);
    as_hash_map_fini(&j.row_of_node);
    as_params_free(params);
    as_costs_free(costs);
    return rc;
}
