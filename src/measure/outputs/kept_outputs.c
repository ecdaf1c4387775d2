/* measure/outputs/kept_outputs.c - outputs of a model that are kept: one more inference on the same
 * inputs, by the engine that was measured. */
#include "measure/outputs/kept_outputs.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "measure/outputs/kept_outputs_internal.h"

/* ---- which tensors there are ---- */

/* How far the walk through graphs in graphs has come. */
struct place {
    const struct as_graph *graph;
    uint32_t node, attr;
};

static void mark(bool *used, const uint32_t *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != AS_NONE)
            used[values[i]] = true;
}

/* The next body of the node, or NULL. */
static const struct as_graph *next_body(struct place *at)
{
    const struct as_node *node = &at->graph->nodes[at->node];

    while (at->attr < node->n_attrs) {
        const struct as_attr *attr = &node->attrs[at->attr++];

        if (attr->kind == AS_ATTR_GRAPH)
            return attr->graph;
    }
    return NULL;
}

/* What nodes take in, those in subgraphs too. */
static void mark_inputs(const struct as_graph *main, bool *used)
{
    struct place stack[AS_MAX_GRAPH_DEPTH + 1] = {{.graph = main}};
    size_t depth = 1;

    while (depth > 0) {
        struct place *at = &stack[depth - 1];
        const struct as_graph *body;

        if (at->node == at->graph->n_nodes) {
            mark(used, at->graph->outputs, at->graph->n_outputs);
            depth--;
            continue;
        }
        if (at->attr == 0)
            mark(used, at->graph->nodes[at->node].inputs, at->graph->nodes[at->node].n_inputs);
        body = next_body(at);
        if (!body) {
            at->node++;
            at->attr = 0;
        } else if (depth < AS_COUNT_OF(stack)) {
            stack[depth++] = (struct place){.graph = body};
        }
    }
}

static void add_tensor(struct as_outputs_work *w, uint32_t value, bool is_layer)
{
    const struct as_value *v = &w->model->values[value];
    bool made = v->producer != AS_NONE && v->graph == w->model->main;

    w->tensors[w->n_tensors++] = (struct as_kept_tensor){
        .value = value,
        .node = made ? &w->model->main->nodes[v->producer] : NULL,
        .is_layer = is_layer,
        .wanted = !is_layer,
    };
}

/* Outputs of nodes that somebody needs: of the others, those past the first may never be made. */
static int list_tensors(struct as_outputs_work *w, struct assay_error *err)
{
    const struct as_graph *main = w->model->main;
    size_t n = main->n_outputs;
    bool *used = as_alloc_zero((size_t)w->model->n_values + 1, sizeof *used);

    for (uint32_t i = 0; i < main->n_nodes; i++)
        n += main->nodes[i].n_outputs;
    w->tensors = as_alloc_zero(n + 1, sizeof *w->tensors);
    if (!used || !w->tensors) {
        as_free(used);
        return as_fail_nomem(err);
    }
    mark_inputs(main, used);
    for (uint32_t i = 0; i < main->n_outputs; i++)
        if (main->outputs[i] != AS_NONE)
            add_tensor(w, main->outputs[i], false);
    w->n_outputs = w->n_tensors;
    for (size_t i = 0; i < w->n_outputs; i++)
        used[w->tensors[i].value] = false; /* it is listed */
    for (uint32_t i = 0; i < main->n_nodes; i++)
        for (uint32_t k = 0; k < main->nodes[i].n_outputs; k++)
            if (main->nodes[i].outputs[k] != AS_NONE && used[main->nodes[i].outputs[k]])
                add_tensor(w, main->nodes[i].outputs[k], true);
    as_free(used);
    return ASSAY_OK;
}

static bool is_called(const struct as_outputs_work *w, const struct as_kept_tensor *t,
                      const char *name)
{
    return t->node &&
           (strcmp(as_node_label(w->model->main, t->node), name) == 0 ||
            strcmp(t->node->name, name) == 0 || strcmp(w->model->values[t->value].name, name) == 0);
}

/* --save-intermediates: a node, or a tensor. */
static int choose_layers(struct as_outputs_work *w, struct assay_error *err)
{
    for (size_t k = 0; k < w->options->n_nodes; k++) {
        const char *name = w->options->nodes[k];
        bool all = strcmp(name, "all") == 0, found = all;

        for (size_t i = 0; i < w->n_tensors; i++)
            if (all || is_called(w, &w->tensors[i], name))
                w->tensors[i].wanted = found = true;
        if (!found)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the model has no node '%.100s' outside of subgraphs; 'assay inspect' "
                           "lists them",
                           name);
        w->all_layers |= all;
    }
    w->all_layers |= w->options->bisect || w->options->check_nan;
    return ASSAY_OK;
}

int as_outputs_work_new(struct as_outputs_work **out, const struct as_model *model,
                        const struct as_outputs_options *options, struct as_arena *arena,
                        struct assay_error *err)
{
    struct as_outputs_work *w = as_alloc_zero(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return as_fail_nomem(err);
    w->model = model;
    w->options = options;
    w->arena = arena;
    rc = model->main ? list_tensors(w, err)
                     : as_fail(err, ASSAY_ERR_USAGE, "the model has no graph, and no outputs");
    if (rc == ASSAY_OK)
        rc = choose_layers(w, err);
    if (rc == ASSAY_OK)
        rc = as_output_names(w, err);
    if (rc == ASSAY_OK)
        rc = as_output_expect(w, err);
    if (rc == ASSAY_OK)
        rc = as_output_folder(w, err);
    if (rc < 0)
        as_outputs_work_free(w);
    else
        *out = w;
    return rc;
}

void as_outputs_work_free(struct as_outputs_work *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n_tensors; i++)
        if (w->tensors[i].has_want)
            as_tensor_file_close(&w->tensors[i].want);
    as_free(w->tensors);
    as_model_free(w->holder);
    as_free(w);
}

/* ---- before the run ---- */

static int check_one(const struct as_kept_tensor *t, const struct as_value *v,
                     struct assay_error *err)
{
    struct as_type have = {.rank = (int16_t)t->want.dims.rank, .dims = t->want.dims.at};
    char text[80], wanted[80];
    bool fits = v->type.rank < 0 || v->type.rank == have.rank;

    if (v->type.kind != AS_VALUE_TENSOR)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "output '%.80s' is not a tensor; only tensors are compared", v->name);
    if (v->type.dtype != AS_DTYPE_UNKNOWN && v->type.dtype != t->want.dtype)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%.100s holds %s elements, but output '%.60s' is %s; convert the file",
                       t->expected, as_dtype_name(t->want.dtype), v->name,
                       as_dtype_name(v->type.dtype));
    for (int i = 0; i < v->type.rank && fits; i++)
        fits = v->type.dims[i] < 0 || v->type.dims[i] == have.dims[i];
    if (fits)
        return ASSAY_OK;
    as_type_text(text, sizeof text, &have);
    as_type_text(wanted, sizeof wanted, &v->type);
    return as_fail(err, ASSAY_ERR_USAGE, "%.100s holds %s, but output '%.60s' is %s", t->expected,
                   text, v->name, wanted);
}

int as_outputs_fit(void *work, struct as_engine *engine, struct assay_error *err)
{
    const struct as_outputs_work *w = work;
    const struct as_value *v;
    int rc = ASSAY_OK;

    for (size_t i = 0; i < w->n_outputs && rc == ASSAY_OK; i++)
        if (w->tensors[i].has_want && (v = as_engine_output_value(engine, i)) != NULL)
            rc = check_one(&w->tensors[i], v, err);
    return rc;
}

/* ---- the inference ---- */

void as_output_describe(const struct as_outputs_work *w, struct as_output_row *row,
                        const struct as_kept_tensor *t, const struct as_val *val)
{
    const char *name = w->model->values[t->value].name;
    struct as_type type;

    *row = (struct as_output_row){
        .name = name[0] ? name : t->file,
        .node = t->node ? as_node_label(w->model->main, t->node) : NULL,
        .is_layer = t->is_layer,
        .dtype = "",
        .max_abs = AS_UNKNOWN,
        .max_rel = AS_UNKNOWN,
        .cosine = AS_UNKNOWN,
        .top1 = AS_UNKNOWN,
    };
    if (!val || !val->present || val->kind != AS_VALUE_TENSOR) {
        row->note = "it is not a tensor: neither written nor compared";
        return;
    }
    as_val_type(val, &type);
    as_type_text(row->shape, sizeof row->shape, &type);
    row->dtype = as_dtype_name(val->dtype);
    row->n = val->n;
    as_output_count(val, &row->n_nan, &row->n_inf);
}

static int keep_output(struct as_outputs_work *w, size_t i, const struct as_val *val,
                       struct assay_error *err)
{
    const struct as_kept_tensor *t = &w->tensors[i];
    struct as_output_row *row = &w->out->rows[w->out->n_rows++];
    int rc;

    as_output_describe(w, row, t, val);
    if (row->note)
        return ASSAY_OK;
    rc = as_output_save(w, t, row, val, err);
    if (rc == ASSAY_OK && t->has_want) {
        rc = as_output_compare(row, val, &t->want, w->options, err);
        w->out->n_differ += rc == ASSAY_OK && !row->agrees;
    }
    return rc;
}

static int run_outputs(struct as_outputs_work *w, struct as_profile_run *run,
                       struct assay_error *err)
{
    int rc = as_model_inputs_fill(&run->inputs, run->engine, err);

    if (rc == ASSAY_OK)
        rc = as_engine_run(run->engine, AS_RUN_PLAIN, NULL, err);
    for (size_t i = 0; i < w->n_outputs && rc == ASSAY_OK; i++)
        rc = keep_output(w, i, as_engine_output(run->engine, i), err);
    return rc;
}

/* Layers are looked at when that was asked for, and when an output holds what is not finite. */
static bool needs_layers(const struct as_outputs_work *w)
{
    bool needed = w->all_layers || w->options->n_nodes > 0;

    for (size_t i = 0; i < w->out->n_rows; i++)
        needed |= w->out->rows[i].n_nan > 0 || w->out->rows[i].n_inf > 0;
    return needed;
}

/* That nobody asked for it leaves the outputs as they are. */
static int look_at_layers(struct as_outputs_work *w, const struct as_profile_run *run,
                          const char *path, struct assay_error *err)
{
    bool asked = w->all_layers || w->options->n_nodes > 0;
    struct assay_error why = {0};
    int rc;

    w->all_layers |= !asked;
    rc = as_output_layers(w, run, path, &why);
    if (rc == ASSAY_OK)
        return ASSAY_OK;
    if (asked || rc == ASSAY_ERR_NOMEM) {
        if (err)
            *err = why;
        return rc;
    }
    w->out->no_layers = as_arena_text(w->arena, why.msg, strlen(why.msg));
    return w->out->no_layers ? ASSAY_OK : as_fail_nomem(err);
}

int as_outputs_run(struct as_outputs_work *w, struct as_outputs *out, struct as_profile_run *run,
                   const char *path, struct assay_error *err)
{
    const struct as_outputs_options *o = w->options;
    int rc;

    *out = (struct as_outputs){
        .folder = o->folder,
        .expect = o->expect,
        .rtol = o->rtol,
        .atol = o->atol,
        .rows = as_arena_zero(w->arena, w->n_tensors + 1, sizeof *out->rows),
    };
    if (!out->rows)
        return as_fail_nomem(err);
    w->out = out;
    rc = run_outputs(w, run, err);
    if (rc == ASSAY_OK && needs_layers(w))
        rc = look_at_layers(w, run, path, err);
    return rc;
}
