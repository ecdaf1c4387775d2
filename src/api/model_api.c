/* api/model_api.c - the public calls of assay/model.h that ask: open, count, layers, write.
 * All figures are those of an inspection, so that the program and the library cannot disagree. */
#include <assay/model.h>

#include <stdio.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "api/model_sizes.h"
#include "base/alloc.h"
#include "base/cursor.h"
#include "format/model_file.h"
#include "format/onnx/onnx_writer.h"
#include "model/graph/model_handle.h"

static void forget_inspection(void *counted)
{
    as_inspection_free(counted);
}

int assay_model_open(struct assay_model **model, const char *path, struct assay_error *err)
{
    struct assay_model *opened;
    int rc;

    if (!model)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the model is given");
    *model = NULL;
    if (!path)
        return as_fail(err, ASSAY_ERR_USAGE, "no path is given");
    opened = as_alloc_zero(1, sizeof *opened);
    if (!opened)
        return as_fail_nomem(err);
    opened->sealed = true;
    rc = as_model_open(&opened->model, path, err);
    if (rc < 0) {
        as_free(opened);
        return rc;
    }
    *model = opened;
    return ASSAY_OK;
}

/* ---- sizes ---- */

/* Inputs as described or as the file has them, whatever was counted since. */
static const struct as_value *input_at(const struct assay_model *model, size_t i)
{
    const struct as_model *m = model->model;
    const struct as_builder *b = model->builder;

    if (b && !model->sealed)
        return i < b->n_inputs ? &m->values[b->inputs[i]] : NULL;
    return m->main && i < m->main->n_inputs ? &m->values[m->main->inputs[i]] : NULL;
}

static const struct as_type *described(const struct assay_model *model, const struct as_value *v)
{
    return model->model->inferred ? &v->declared : &v->type;
}

static const char *symbol_at(const struct assay_model *model, const struct as_value *v, int axis)
{
    const char *name = v->symbols ? v->symbols[axis] : NULL;

    return name && described(model, v)->dims[axis] == AS_DIM_UNKNOWN ? name : "";
}

/* "a, b, c" for a message: the names of the inputs, or those of their open dimensions. */
static void list_names(const struct assay_model *model, bool symbols, char *out, size_t capacity)
{
    const struct as_value *v;
    size_t used = 0;

    (void)snprintf(out, capacity, "none");
    for (size_t i = 0; (v = input_at(model, i)) != NULL && used < capacity; i++) {
        if (!symbols)
            used +=
                (size_t)snprintf(out + used, capacity - used, "%s%.40s", used ? ", " : "", v->name);
        for (int k = 0; symbols && k < described(model, v)->rank && used < capacity; k++)
            if (symbol_at(model, v, k)[0])
                used += (size_t)snprintf(out + used, capacity - used, "%s%.40s", used ? ", " : "",
                                         symbol_at(model, v, k));
    }
}

/* NULL, and a sentence, when there is no such input or it has another rank. */
static const struct as_value *find_input(const struct assay_model *model, const char *name,
                                         int rank, struct assay_error *err)
{
    const struct as_value *v = NULL;
    const struct as_type *type;
    char names[140];
    size_t i = 0;

    while ((v = input_at(model, i)) != NULL && strcmp(v->name, name) != 0)
        i++;
    if (!v) {
        list_names(model, false, names, sizeof names);
        (void)as_fail(err, ASSAY_ERR_USAGE, "the model has no input '%.40s'; it has: %s", name,
                      names);
        return NULL;
    }
    type = described(model, v);
    if (type->kind != AS_VALUE_TENSOR || (type->rank >= 0 && type->rank != rank)) {
        as_type_text(names, sizeof names, type);
        (void)as_fail(err, ASSAY_ERR_USAGE,
                      "input '%.60s' has %d dimensions (%s), but %d were given", name, type->rank,
                      names, rank);
        return NULL;
    }
    return v;
}

int assay_model_set_shape(struct assay_model *model, const char *input, int rank,
                          const int64_t *dims, struct assay_error *err)
{
    struct as_handle_input *at = NULL, *grown;

    if (!model)
        return as_fail_nomem(err);
    if (!input)
        return as_fail(err, ASSAY_ERR_USAGE, "no input is named");
    if (rank < 0 || rank > AS_MAX_RANK || (rank > 0 && !dims))
        return as_fail(err, ASSAY_ERR_USAGE, "an input cannot have %d dimensions", rank);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            return as_fail(err, ASSAY_ERR_USAGE, "input '%.80s' cannot have a dimension of %lld",
                           input, (long long)dims[i]);
    if (!find_input(model, input, rank, err))
        return ASSAY_ERR_USAGE;
    for (size_t i = 0; i < model->n_inputs && !at; i++)
        if (strcmp(model->inputs[i].name, input) == 0)
            at = &model->inputs[i];
    if (!at) {
        grown = as_realloc(model->inputs, model->n_inputs + 1, sizeof *grown);
        if (!grown)
            return as_fail_nomem(err);
        model->inputs = grown;
        at = &grown[model->n_inputs];
        at->name = as_strdup(input);
        if (!at->name)
            return as_fail_nomem(err);
        model->n_inputs++;
    }
    at->dims.rank = rank;
    if (rank)
        memcpy(at->dims.at, dims, (size_t)rank * sizeof *dims);
    return ASSAY_OK;
}

int assay_model_set_batch(struct assay_model *model, int64_t batch, struct assay_error *err)
{
    if (!model)
        return as_fail_nomem(err);
    if (batch < 0)
        return as_fail(err, ASSAY_ERR_USAGE, "a batch cannot have %lld samples", (long long)batch);
    model->batch = batch;
    return ASSAY_OK;
}

static bool has_symbol(const struct assay_model *model, const char *symbol)
{
    const struct as_value *v;

    for (size_t i = 0; symbol[0] && (v = input_at(model, i)) != NULL; i++)
        for (int k = 0; k < described(model, v)->rank; k++)
            if (strcmp(symbol_at(model, v, k), symbol) == 0)
                return true;
    return false;
}

int assay_model_set_dim(struct assay_model *model, const char *symbol, int64_t value,
                        struct assay_error *err)
{
    struct as_handle_dim *grown;
    char names[140];

    if (!model)
        return as_fail_nomem(err);
    if (!symbol)
        return as_fail(err, ASSAY_ERR_USAGE, "no dimension is named");
    if (value < 0)
        return as_fail(err, ASSAY_ERR_USAGE, "dimension '%.40s' cannot be %lld", symbol,
                       (long long)value);
    if (!has_symbol(model, symbol)) {
        list_names(model, true, names, sizeof names);
        return as_fail(err, ASSAY_ERR_USAGE, "the model has no open dimension '%.40s'; it has: %s",
                       symbol, names);
    }
    for (size_t i = 0; i < model->n_dims; i++)
        if (strcmp(model->dims[i].symbol, symbol) == 0) {
            model->dims[i].value = value;
            return ASSAY_OK;
        }
    grown = as_realloc(model->dims, model->n_dims + 1, sizeof *grown);
    if (!grown)
        return as_fail_nomem(err);
    model->dims = grown;
    grown[model->n_dims] = (struct as_handle_dim){as_strdup(symbol), value};
    if (!grown[model->n_dims].symbol)
        return as_fail_nomem(err);
    model->n_dims++;
    return ASSAY_OK;
}

/* ---- counting ---- */

static void forget(struct assay_model *model)
{
    if (model->forget)
        model->forget(model->counted);
    model->forget = NULL;
    model->counted = NULL;
}

/* Inspects with the sizes the user gave. */
static int inspect(struct assay_model *model, struct assay_error *err)
{
    struct as_inspect_options options = {0};
    struct as_inspection *found = NULL;
    struct as_handle_sizes sizes;
    int rc;

    forget(model);
    rc = as_handle_sizes_init(&sizes, model, err);
    if (rc < 0)
        return rc;
    options.infer = sizes.infer;
    rc = as_inspection_new(&found, model->model, &options, err);
    if (rc == ASSAY_OK) {
        model->counted = found;
        model->forget = forget_inspection;
    }
    as_handle_sizes_fini(&sizes);
    return rc;
}

static void put_costs(struct assay_model_counts *c, const struct as_inspection *found)
{
    const struct as_cost *forward = &found->costs->forward, *backward = &found->costs->backward;

    c->batch = found->costs->batch ? found->costs->batch : 1;
    c->macs = forward->macs;
    c->elementwise = forward->elementwise;
    c->transcendental = forward->transcendental;
    c->flops = found->flops;
    c->macs_per_sample = c->macs / c->batch;
    c->flops_per_sample = c->flops / c->batch;
    c->bytes_read = forward->bytes_read;
    c->bytes_written = forward->bytes_written;
    c->bytes_moved = found->bytes_moved;
    c->backward_macs = backward->macs;
    c->backward_elementwise = backward->elementwise;
    c->backward_transcendental = backward->transcendental;
    c->backward_flops = found->flops_backward;
    c->n_layers = found->costs->n_rows;
    c->n_unknown_ops = found->costs->n_unknown_ops;
    c->n_unknown_shapes = found->costs->n_unknown_shapes;
}

int assay_model_count(struct assay_model *model, struct assay_model_counts *counts,
                      struct assay_error *err)
{
    const struct as_inspection *found;
    int rc;

    if (!counts)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the counts is given");
    memset(counts, 0, sizeof *counts);
    counts->size = sizeof *counts;
    rc = as_handle_seal(model, err);
    if (rc == ASSAY_OK)
        rc = inspect(model, err);
    if (rc < 0)
        return rc;
    found = model->counted;
    if (!found)
        return as_fail(err, ASSAY_ERR_STATE, "the model was not counted");
    counts->parameters = found->params->parameters;
    counts->trainable = found->params->trainable;
    counts->frozen = found->params->frozen;
    counts->stored = found->params->stored;
    counts->parameter_bytes = found->params->parameter_bytes;
    counts->stored_bytes = found->params->stored_bytes;
    counts->compression = found->params->compression;
    counts->complete = found->complete;
    put_costs(counts, found);
    counts->activation_peak_bytes = found->plan->peak_bytes;
    counts->activation_sum_bytes = found->plan->naive_bytes;
    return ASSAY_OK;
}

int assay_model_layer_at(const struct assay_model *model, size_t i, struct assay_model_layer *layer)
{
    const struct as_inspection *found = model ? model->counted : NULL;
    const struct as_cost_row *row;
    const struct as_value *out;

    if (!layer)
        return ASSAY_ERR_USAGE;
    memset(layer, 0, sizeof *layer);
    layer->size = sizeof *layer;
    if (!found)
        return ASSAY_ERR_STATE;
    if (i >= found->costs->n_rows)
        return ASSAY_ERR_NOTFOUND;
    row = &found->costs->rows[i];
    out = as_node_output(row->graph, row->node, 0);
    layer->name = as_node_label(row->graph, row->node);
    layer->op = row->node->op_name;
    layer->times = row->times;
    layer->known = row->state == AS_COST_KNOWN;
    layer->parameters = row->parameters;
    layer->parameter_bytes = row->parameter_bytes;
    layer->macs = row->forward.macs;
    layer->elementwise = row->forward.elementwise;
    layer->transcendental = row->forward.transcendental;
    layer->flops = as_cost_flops(&row->forward);
    layer->bytes_read = row->forward.bytes_read;
    layer->bytes_written = row->forward.bytes_written;
    layer->backward_macs = row->backward.macs;
    layer->backward_flops = as_cost_flops(&row->backward);
    layer->output_bytes = row->output_bytes;
    if (out)
        as_type_text(layer->output, sizeof layer->output, &out->type);
    return ASSAY_OK;
}

static int64_t fit(uint64_t count)
{
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

int64_t assay_model_count_parameters(struct assay_model *model)
{
    struct assay_model_counts counts;
    int rc = assay_model_count(model, &counts, NULL);

    return rc < 0 ? rc : fit(counts.parameters);
}

int64_t assay_model_count_flops(struct assay_model *model)
{
    struct assay_model_counts counts;
    uint64_t flops;
    int rc = assay_model_count(model, &counts, NULL);

    if (rc < 0)
        return rc;
    return as_mul_u64(counts.macs_per_sample, 2, &flops) ? fit(flops) : INT64_MAX;
}

/* ---- writing ---- */

/* A file says what was described, not the sizes of the last count; twice changes nothing. */
static void swap_types(struct as_model *model)
{
    for (uint32_t i = 0; model->inferred && i < model->n_values; i++) {
        struct as_type type = model->values[i].type;

        model->values[i].type = model->values[i].declared;
        model->values[i].declared = type;
    }
}

int assay_model_write_onnx(struct assay_model *model, const char *path, struct assay_error *err)
{
    int rc;

    if (!path)
        return as_fail(err, ASSAY_ERR_USAGE, "no path is given");
    rc = as_handle_seal(model, err);
    if (rc < 0)
        return rc;
    swap_types(model->model);
    rc = as_onnx_save(model->model, path, false, err);
    if (rc == ASSAY_ERR_LIMIT) /* more than a file of protobuf holds */
        rc = as_onnx_save(model->model, path, true, err);
    swap_types(model->model);
    return rc;
}
