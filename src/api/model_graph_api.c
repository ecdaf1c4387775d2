/* api/model_graph_api.c - the public calls of assay/model.h that join tensors or many layers:
 * attention, tables, sums, sequences and any operator by its name. */
#include <assay/model.h>

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/build/build_attention.h"
#include "model/graph/model_handle.h"

/* ---- attention ---- */

/* A mask for as many positions as x has; one for all layers of the same length. */
static uint32_t causal_mask(struct as_builder *b, uint32_t x, uint32_t context)
{
    struct as_dims dx, dc;
    int64_t known = AS_DIM_UNKNOWN;
    uint32_t length, mask;

    if (as_build_dims(b, x, &dx) && as_build_dims(b, context, &dc) && dx.rank == 3 &&
        dc.rank == 3) {
        known = dx.at[1];
        if (known != dc.at[1])
            return as_build_fail(b, ASSAY_ERR_USAGE,
                                 "causal attention needs as many keys as queries");
    }
    if (known >= 0 && b->causal_mask != AS_NONE && b->causal_length == known)
        return b->causal_mask;
    length = as_build_length(b, "causal_length", x, 1);
    mask = as_build_causal_mask(b, "causal_mask", length, known);
    b->causal_length = known;
    b->causal_mask = known >= 0 ? mask : AS_NONE;
    return mask;
}

static bool read_attention(struct as_builder *b, struct assay_attention *to,
                           const struct assay_attention *from, struct as_build_attention *how)
{
    if (!as_handle_take(b, to, sizeof *to, from, "attention"))
        return false;
    *how =
        (struct as_build_attention){.heads = to->heads, .kv_heads = to->kv_heads, .mask = AS_NONE};
    return true;
}

int assay_model_attention(struct assay_model *model, const char *name, int x, int context,
                          const struct assay_attention *given)
{
    struct as_build_projections names = {"q_proj", "k_proj", "v_proj", "out_proj", true};
    struct as_builder *b = as_handle_growing(model);
    struct as_build_attention how;
    struct assay_attention attention;

    context = context < 0 ? x : context;
    if (!b || !as_handle_given(b, name, x) || !as_handle_given(b, name, context) ||
        !read_attention(b, &attention, given, &how))
        return as_handle_code(model);
    names.bias = !attention.no_bias;
    if (attention.causal)
        how.mask = causal_mask(b, as_handle_in(x), as_handle_in(context));
    return as_handle_out(model, as_build_attention_layer(b, name, as_handle_in(x),
                                                         as_handle_in(context), &how, &names));
}

int assay_model_attend(struct assay_model *model, const char *name, int q, int k, int v,
                       const struct assay_attention *given)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_attention how;
    struct assay_attention attention;
    uint32_t y;

    if (!b || !as_handle_given(b, name, q) || !as_handle_given(b, name, k) ||
        !as_handle_given(b, name, v) || !read_attention(b, &attention, given, &how))
        return as_handle_code(model);
    if (attention.causal)
        how.mask = causal_mask(b, as_handle_in(q), as_handle_in(k));
    as_build_scope(b, "%s", name ? name : "attention");
    y = as_build_attend(b, as_handle_in(q), as_handle_in(k), as_handle_in(v), &how);
    as_build_scope_end(b);
    return as_handle_out(model, y);
}

/* ---- tables and steps ---- */

int assay_model_embedding(struct assay_model *model, const char *name, int indices, int64_t rows,
                          int64_t width, int *table)
{
    struct as_builder *b = as_handle_growing(model);
    uint32_t weight = AS_NONE, y;

    if (table)
        *table = as_handle_code(model);
    if (!b || !as_handle_given(b, name, indices))
        return as_handle_code(model);
    y = as_build_embedding(b, name, as_handle_in(indices), rows, width, &weight);
    if (table)
        *table = as_handle_out(model, weight);
    return as_handle_out(model, y);
}

int assay_model_lstm(struct assay_model *model, const char *name, int x, int64_t hidden,
                     bool both_ways)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model, as_build_lstm(b, name, as_handle_in(x), hidden, both_ways));
}

/* ---- sums, products, shapes ---- */

static int binary(struct assay_model *model, const char *op, const char *name, int x, int y)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !as_handle_given(b, name, y))
        return as_handle_code(model);
    return as_handle_out(model, as_build_binary(b, op, name, as_handle_in(x), as_handle_in(y)));
}

int assay_model_add(struct assay_model *model, const char *name, int x, int y)
{
    return binary(model, "Add", name ? name : "add", x, y);
}

int assay_model_mul(struct assay_model *model, const char *name, int x, int y)
{
    return binary(model, "Mul", name ? name : "mul", x, y);
}

int assay_model_matmul(struct assay_model *model, const char *name, int x, int y)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !as_handle_given(b, name, y))
        return as_handle_code(model);
    return as_handle_out(
        model, as_build_matmul(b, name ? name : "matmul", as_handle_in(x), as_handle_in(y)));
}

/* Tensors as values, in the model's memory; NULL: none, too many, or no memory. */
static uint32_t *read_tensors(struct as_builder *b, const char *name, const int *tensors, size_t n,
                              bool may_lack)
{
    uint32_t *values;

    if (n > AS_MAX_VALUES || (n > 0 && !tensors)) {
        as_build_fail(b, ASSAY_ERR_USAGE, "layer '%.80s' gets no list of tensors",
                      name ? name : "");
        return NULL;
    }
    values = as_arena_zero(&b->model->arena, n + 1, sizeof *values);
    if (!values)
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
    for (size_t i = 0; values && i < n; i++) {
        if (!(may_lack && tensors[i] < 0) && !as_handle_given(b, name, tensors[i]))
            return NULL;
        values[i] = as_handle_in(tensors[i]);
    }
    return values;
}

int assay_model_concat(struct assay_model *model, const char *name, const int *tensors, size_t n,
                       int axis)
{
    struct as_builder *b = as_handle_growing(model);
    uint32_t *values = b ? read_tensors(b, name, tensors, n, false) : NULL;

    if (!values)
        return as_handle_code(model);
    return as_handle_out(model, as_build_concat(b, name ? name : "concat", values, n, axis));
}

int assay_model_flatten(struct assay_model *model, const char *name, int x, int axis)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    return as_handle_out(model,
                         as_build_flatten(b, name ? name : "flatten", as_handle_in(x), axis));
}

static bool check_list(struct as_builder *b, const char *name, int rank, const int64_t *list)
{
    if (rank >= 0 && rank <= AS_MAX_RANK && (rank == 0 || list))
        return true;
    as_build_fail(b, ASSAY_ERR_USAGE, "layer '%.80s' cannot have %d dimensions", name ? name : "",
                  rank);
    return false;
}

int assay_model_reshape(struct assay_model *model, const char *name, int x, int rank,
                        const int64_t *shape)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !check_list(b, name, rank, shape))
        return as_handle_code(model);
    return as_handle_out(
        model, as_build_reshape(b, name ? name : "reshape", as_handle_in(x), shape, (size_t)rank));
}

int assay_model_transpose(struct assay_model *model, const char *name, int x, int rank,
                          const int64_t *order)
{
    struct as_builder *b = as_handle_growing(model);

    if (!b || !as_handle_given(b, name, x) || !check_list(b, name, rank, order))
        return as_handle_code(model);
    return as_handle_out(model, as_build_transpose(b, name ? name : "transpose", as_handle_in(x),
                                                   order, (size_t)rank));
}

/* ---- sequences ---- */

typedef uint32_t (*build_layer)(struct as_builder *b, const char *name, uint32_t x,
                                const struct assay_layer_spec *layer);

static uint32_t seq_linear(struct as_builder *b, const char *name, uint32_t x,
                           const struct assay_layer_spec *layer)
{
    return as_build_linear(b, name, x, layer->out, !layer->no_bias);
}

static uint32_t seq_conv(struct as_builder *b, const char *name, uint32_t x,
                         const struct assay_layer_spec *layer)
{
    struct as_build_conv conv = {.channels = layer->out,
                                 .kernel = {layer->kernel, layer->kernel},
                                 .stride = {layer->stride, layer->stride},
                                 .pad = {layer->pad, layer->pad},
                                 .groups = layer->groups,
                                 .bias = !layer->no_bias};

    return as_build_conv(b, name, x, &conv);
}

static struct as_build_pool pool_of(const struct assay_layer_spec *layer)
{
    return (struct as_build_pool){.kernel = {layer->kernel, layer->kernel},
                                  .stride = {layer->stride, layer->stride},
                                  .pad = {layer->pad, layer->pad}};
}

static uint32_t seq_max_pool(struct as_builder *b, const char *name, uint32_t x,
                             const struct assay_layer_spec *layer)
{
    struct as_build_pool pool = pool_of(layer);

    return as_build_max_pool(b, name, x, &pool);
}

static uint32_t seq_avg_pool(struct as_builder *b, const char *name, uint32_t x,
                             const struct assay_layer_spec *layer)
{
    struct as_build_pool pool = pool_of(layer);

    return as_build_avg_pool(b, name, x, &pool);
}

static uint32_t seq_global_pool(struct as_builder *b, const char *name, uint32_t x,
                                const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_global_avg_pool(b, name, x);
}

static uint32_t seq_batch_norm(struct as_builder *b, const char *name, uint32_t x,
                               const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_batch_norm(b, name, x, 1e-5);
}

static uint32_t seq_layer_norm(struct as_builder *b, const char *name, uint32_t x,
                               const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_layer_norm(b, name, x, 1e-5);
}

static uint32_t seq_rms_norm(struct as_builder *b, const char *name, uint32_t x,
                             const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_rms_norm(b, name, x, 1e-5);
}

static uint32_t seq_activation(struct as_builder *b, const char *name, uint32_t x,
                               const struct assay_layer_spec *layer)
{
    return as_build_activation(b, (enum as_activation)layer->activation, name, x);
}

static uint32_t seq_softmax(struct as_builder *b, const char *name, uint32_t x,
                            const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_softmax(b, name, x, -1);
}

static uint32_t seq_flatten(struct as_builder *b, const char *name, uint32_t x,
                            const struct assay_layer_spec *layer)
{
    (void)layer;
    return as_build_flatten(b, name, x, 1);
}

static uint32_t seq_dropout(struct as_builder *b, const char *name, uint32_t x,
                            const struct assay_layer_spec *layer)
{
    return as_build_dropout(b, name, x, layer->ratio);
}

static const build_layer layers_of[] = {
    [ASSAY_LAYER_LINEAR] = seq_linear,
    [ASSAY_LAYER_CONV2D] = seq_conv,
    [ASSAY_LAYER_MAX_POOL] = seq_max_pool,
    [ASSAY_LAYER_AVG_POOL] = seq_avg_pool,
    [ASSAY_LAYER_GLOBAL_AVG_POOL] = seq_global_pool,
    [ASSAY_LAYER_BATCH_NORM] = seq_batch_norm,
    [ASSAY_LAYER_LAYER_NORM] = seq_layer_norm,
    [ASSAY_LAYER_RMS_NORM] = seq_rms_norm,
    [ASSAY_LAYER_ACTIVATION] = seq_activation,
    [ASSAY_LAYER_SOFTMAX] = seq_softmax,
    [ASSAY_LAYER_FLATTEN] = seq_flatten,
    [ASSAY_LAYER_DROPOUT] = seq_dropout,
};

int assay_model_sequential(struct assay_model *model, const char *name, int x,
                           const struct assay_layer_spec *layers, size_t n)
{
    struct as_builder *b = as_handle_growing(model);
    uint32_t y;
    char place[32];

    if (!b || !as_handle_given(b, name, x))
        return as_handle_code(model);
    if (n > 0 && !layers)
        return as_handle_out(model, as_build_fail(b, ASSAY_ERR_USAGE,
                                                  "sequence '%.80s' gets no list of its %zu layers",
                                                  name ? name : "", n));
    y = as_handle_in(x);
    if (name)
        as_build_scope(b, "%s", name);
    for (size_t i = 0; i < n; i++) {
        if ((size_t)layers[i].kind >= AS_COUNT_OF(layers_of))
            return as_handle_out(model, as_build_fail(b, ASSAY_ERR_USAGE,
                                                      "there is no kind of layer number %d",
                                                      (int)layers[i].kind));
        (void)snprintf(place, sizeof place, "%zu", i);
        y = layers_of[layers[i].kind](b, layers[i].name ? layers[i].name : place, y, &layers[i]);
    }
    if (name)
        as_build_scope_end(b);
    return as_handle_out(model, y);
}

/* ---- any operator ---- */

static bool read_attr(struct as_attr *to, const struct assay_attr *attr)
{
    switch (attr->kind) {
    case ASSAY_ATTR_INT:
        *to = as_attr_of_int(attr->name, attr->i);
        return attr->name;
    case ASSAY_ATTR_FLOAT:
        *to = as_attr_of_float(attr->name, attr->f);
        return attr->name;
    case ASSAY_ATTR_TEXT:
        *to = as_attr_of_text(attr->name, attr->text, attr->text ? strlen(attr->text) : 0);
        return attr->name && attr->text;
    case ASSAY_ATTR_INTS:
        *to = as_attr_of_ints(attr->name, attr->ints, (uint32_t)attr->n_ints);
        return attr->name && (attr->ints || attr->n_ints == 0) && attr->n_ints <= UINT32_MAX;
    }
    return false;
}

static int add_node(struct as_builder *b, struct as_build_node *node,
                    const struct assay_attr *attrs, uint32_t *values, int *outputs,
                    uint32_t n_outputs)
{
    struct as_attr *list = as_arena_zero(&b->model->arena, node->n_attrs + 1, sizeof *list);

    if (!list) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return b->err.code;
    }
    for (size_t i = 0; i < node->n_attrs; i++)
        if (!read_attr(&list[i], &attrs[i])) {
            as_build_fail(b, ASSAY_ERR_USAGE, "attribute %zu of %.60s is not complete", i,
                          node->op);
            return b->err.code;
        }
    node->attrs = list;
    if (!as_build_add(b, node, n_outputs, values))
        return b->err.code;
    for (uint32_t i = 0; i < n_outputs; i++)
        outputs[i] = values[i] > INT_MAX ? ASSAY_ERR_STATE : (int)values[i];
    return ASSAY_OK;
}

int assay_model_node(struct assay_model *model, const char *op, const char *name, const int *inputs,
                     size_t n_inputs, const struct assay_attr *attrs, size_t n_attrs, int *outputs,
                     size_t n_outputs)
{
    struct as_builder *b = as_handle_growing(model);
    struct as_build_node node = {.op = op, .name = name, .n_inputs = n_inputs, .n_attrs = n_attrs};
    uint32_t *values;

    for (size_t i = 0; outputs && i < n_outputs; i++)
        outputs[i] = as_handle_code(model);
    if (!b)
        return as_handle_code(model);
    if (!op || (n_attrs && !attrs) || (n_outputs && !outputs) || n_outputs > 1024 ||
        n_attrs > 1024) {
        as_build_fail(b, ASSAY_ERR_USAGE, "a node needs an operator, and the lists it counts");
        return b->err.code;
    }
    node.inputs = read_tensors(b, name ? name : op, inputs, n_inputs, true);
    values = as_arena_zero(&b->model->arena, n_outputs + 1, sizeof *values);
    if (!values)
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
    if (!as_build_ok(b))
        return b->err.code;
    return add_node(b, &node, attrs, values, outputs, (uint32_t)n_outputs);
}
