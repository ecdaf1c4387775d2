/* measure/outputs/output_layers.c - outputs of layers: the model is opened once more, every tensor
 * that is looked at becomes one of its outputs, and it runs node by node, so that nothing is fused
 * away and nothing is overwritten. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "format/model_file.h"
#include "measure/outputs/kept_outputs_internal.h"

struct layers {
    struct as_outputs_work *w;
    struct as_model *model;
    struct as_engine *engine;
    struct as_model_inputs inputs;
    uint32_t *place;   /* value -> its tensor, from 1; 0: none */
    struct as_mem mem; /* of constants that are looked at */
};

static bool is_looked_at(const struct as_outputs_work *w, const struct as_kept_tensor *t)
{
    const struct as_value *v = &w->model->values[t->value];

    return !t->is_layer || (v->type.kind == AS_VALUE_TENSOR && (w->all_layers || t->wanted));
}

/* Outputs of the model stay what they are, and the first. */
static int add_outputs(struct layers *l, struct assay_error *err)
{
    struct as_outputs_work *w = l->w;
    uint32_t *outputs = as_arena_zero(&l->model->arena, w->n_tensors + 1, sizeof *outputs), n = 0;

    l->place = as_alloc_zero((size_t)l->model->n_values + 1, sizeof *l->place);
    if (!outputs || !l->place)
        return as_fail_nomem(err);
    if (l->model->n_values != w->model->n_values)
        return as_fail(err, ASSAY_ERR_STATE, "the model has changed on the disk");
    for (size_t i = 0; i < w->n_tensors; i++) {
        const struct as_kept_tensor *t = &w->tensors[i];

        if (!is_looked_at(w, t))
            continue;
        l->place[t->value] = (uint32_t)i + 1;
        l->model->values[t->value].is_output = true;
        outputs[n++] = t->value;
    }
    l->model->main->outputs = outputs;
    l->model->main->n_outputs = n;
    return ASSAY_OK;
}

static int open_layers(struct layers *l, const struct as_profile_run *run, const char *path,
                       struct assay_error *err)
{
    struct as_engine_options options = run->options.engine;
    int rc = as_model_open(&l->model, path, err);

    options.no_fuse = true;
    if (rc == ASSAY_OK)
        rc = add_outputs(l, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_open(&l->inputs, l->model, &run->options.inputs, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(&l->inputs, &options.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(&l->engine, l->model, &options, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_fill(&l->inputs, l->engine, err);
    return rc < 0 ? rc : as_engine_run(l->engine, AS_RUN_PLAIN, NULL, err);
}

/* ---- what is not finite ---- */

/* Whether a value holds some of these; false where that is not known. */
static bool holds(const struct as_val *val, bool nan)
{
    uint64_t n_nan, n_inf;

    as_output_count(val, &n_nan, &n_inf);
    return (nan ? n_nan : n_inf) > 0;
}

static int constant_holds(struct layers *l, const struct as_value *v, bool nan, bool *out,
                          struct assay_error *err)
{
    struct as_val val = {0};
    int rc;

    *out = false;
    if (!as_dtype_is_float(v->type.dtype) || !v->data)
        return ASSAY_OK;
    rc = as_val_load(&val, &l->mem, AS_MEM_PARAMETERS, &v->type, v->data, err);
    if (rc == ASSAY_OK)
        *out = holds(&val, nan);
    as_val_drop(&val);
    return rc;
}

static bool input_holds(const struct layers *l, const struct as_value *v, bool nan)
{
    for (size_t i = 0; as_engine_input_value(l->engine, i); i++) {
        const struct as_val *val = as_engine_input(l->engine, i);

        if (as_engine_input_value(l->engine, i) == v && val->present &&
            val->kind == AS_VALUE_TENSOR)
            return holds(val, nan);
    }
    return false;
}

/* The input of the node that brings them; NULL: the node makes them. */
static int find_source(struct layers *l, const struct as_node *node, bool nan, const char **source,
                       struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < node->n_inputs && rc == ASSAY_OK && !*source; i++) {
        const struct as_value *v =
            node->inputs[i] == AS_NONE ? NULL : &l->model->values[node->inputs[i]];
        bool found = false;

        if (!v || v->type.kind != AS_VALUE_TENSOR)
            continue;
        if (v->data)
            rc = constant_holds(l, v, nan, &found, err);
        else if (v->is_input)
            found = input_holds(l, v, nan);
        if (found)
            *source = l->w->model->values[node->inputs[i]].name;
    }
    return rc;
}

/* Nodes come in graph order, so the first that holds some is where they begin. */
static int note_origin(struct layers *l, const struct as_kept_tensor *t,
                       const struct as_output_row *row, bool nan, struct assay_error *err)
{
    struct as_output_origin *o = nan ? &l->w->out->nan : &l->w->out->inf;
    uint64_t n = nan ? row->n_nan : row->n_inf;

    if (o->node || n == 0)
        return ASSAY_OK;
    *o = (struct as_output_origin){.node = row->node, .tensor = row->name, .n = n};
    return find_source(l, &l->model->main->nodes[t->node - l->w->model->main->nodes], nan,
                       &o->source, err);
}

/* ---- differences ---- */

static int compare_layer(struct layers *l, struct as_kept_tensor *t, struct as_output_row *row,
                         const struct as_val *val, struct assay_error *err)
{
    struct as_tensor_file want = {0};
    int rc;

    if (!t->expected)
        return ASSAY_OK;
    if (t->has_want) {
        rc = as_output_compare(row, val, &t->want, l->w->options, err);
    } else {
        rc = as_tensor_file_open(&want, t->expected, &l->w->holder, err);
        if (rc == ASSAY_OK)
            rc = as_output_compare(row, val, &want, l->w->options, err);
        as_tensor_file_close(&want);
    }
    if (rc == ASSAY_OK) {
        row->expected = t->expected;
        t->agreement = row->agrees ? AS_AGREES : AS_DIFFERS;
    }
    return rc;
}

static uint64_t unknown_inputs(const struct layers *l, const struct as_node *node)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t value = node->inputs[i];
        const struct as_value *v = value == AS_NONE ? NULL : &l->model->values[value];

        if (!v || v->data || v->producer == AS_NONE)
            continue;
        n += l->place[value] == 0 ||
             l->w->tensors[l->place[value] - 1].agreement == AS_AGREES_UNKNOWN;
    }
    return n;
}

/* The first in graph order: all that its inputs are made of was compared before. */
static void bisect(struct layers *l)
{
    const struct as_graph *main = l->w->model->main;
    struct as_outputs *out = l->w->out;

    out->bisected = true;
    for (uint32_t i = 0; i < main->n_nodes; i++) {
        const struct as_node *node = &main->nodes[i];

        for (uint32_t k = 0; k < node->n_outputs; k++) {
            uint32_t at = node->outputs[k] == AS_NONE ? 0 : l->place[node->outputs[k]];

            if (at == 0 || l->w->tensors[at - 1].agreement != AS_DIFFERS)
                continue;
            out->differs_node = as_node_label(main, node);
            out->differs_tensor = main->model->values[node->outputs[k]].name;
            out->n_unknown_inputs = unknown_inputs(l, node);
            return;
        }
    }
}

/* ---- all of them ---- */

static int look_at(struct layers *l, struct as_kept_tensor *t, const struct as_val *val,
                   struct assay_error *err)
{
    struct as_outputs *out = l->w->out;
    bool is_constant = l->model->values[t->value].data != NULL; /* a mask may be infinite */
    struct as_output_row row;
    int rc = ASSAY_OK;

    as_output_describe(l->w, &row, t, val);
    if (row.note)
        return ASSAY_OK;
    out->n_layers += t->node != NULL;
    if (t->node && !is_constant)
        rc = note_origin(l, t, &row, true, err);
    if (rc == ASSAY_OK && t->node && !is_constant)
        rc = note_origin(l, t, &row, false, err);
    if (rc == ASSAY_OK && l->w->options->bisect)
        rc = compare_layer(l, t, &row, val, err);
    if (rc == ASSAY_OK && t->is_layer)
        rc = as_output_save(l->w, t, &row, val, err);
    if (rc == ASSAY_OK && t->is_layer && (row.npy || row.pb || row.expected))
        out->rows[out->n_rows++] = row;
    return rc;
}

/* In graph order: outputs of the model stand at their node's place. */
static int look_at_all(struct layers *l, struct assay_error *err)
{
    const struct as_graph *main = l->w->model->main;
    uint32_t *where = as_alloc_zero((size_t)l->model->n_values + 1, sizeof *where);
    int rc = where ? ASSAY_OK : as_fail_nomem(err);

    for (uint32_t i = 0; i < l->model->main->n_outputs && rc == ASSAY_OK; i++)
        where[l->model->main->outputs[i]] = i;
    for (uint32_t i = 0; i < main->n_nodes && rc == ASSAY_OK; i++)
        for (uint32_t k = 0; k < main->nodes[i].n_outputs && rc == ASSAY_OK; k++) {
            uint32_t value = main->nodes[i].outputs[k];

            if (value != AS_NONE && l->place[value])
                rc = look_at(l, &l->w->tensors[l->place[value] - 1],
                             as_engine_output(l->engine, where[value]), err);
        }
    as_free(where);
    return rc;
}

int as_output_layers(struct as_outputs_work *work, const struct as_profile_run *run,
                     const char *path, struct assay_error *err)
{
    struct layers l = {.w = work};
    int rc = open_layers(&l, run, path, err);

    if (rc == ASSAY_OK)
        rc = look_at_all(&l, err);
    if (rc == ASSAY_OK && work->options->bisect)
        bisect(&l);
    as_engine_free(l.engine);
    as_model_inputs_close(&l.inputs);
    as_model_free(l.model);
    as_free(l.place);
    return rc;
}
