/* model/weights/parameters.c - the constants of a model told apart: parameters, buffers, tables,
 * masks. What each is for is decided in param_roles.c, which are the same in param_ties.c.
 */
#include "model/weights/parameters.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/units.h"

/* A large constant that very many nodes take is looked at by the first of them only. */
enum { MAX_HOPS = 256, MANY_USES = 16, LARGE_ELEMS = 256 };

static const char *const role_names[] = {
#define X(name, word) word,
    AS_ROLES(X)
#undef X
};
_Static_assert(AS_COUNT_OF(role_names) == AS_ROLE_COUNT, "name every role");

const char *as_role_name(enum as_role role)
{
    return role_names[role];
}

/* ---- the constant behind a value ---- */

static bool is_scaling_back(const struct as_model *model, const struct as_node *node)
{
    /* TensorFlow Lite keeps the scales with the tensor that is cast. */
    return node->op == AS_OP_DequantizeLinear || node->op == AS_OP_MS_DequantizeLinear ||
           (node->op == AS_OP_Cast && model->values[node->inputs[0]].quant);
}

bool as_node_passes(const struct as_node *node, size_t i)
{
    if (i != 0)
        return false;
    switch (node->op) {
    case AS_OP_Transpose:
    case AS_OP_Reshape:
    case AS_OP_Identity:
    case AS_OP_Cast:
    case AS_OP_CastLike:
    case AS_OP_Flatten:
    case AS_OP_Squeeze:
    case AS_OP_Unsqueeze:
    case AS_OP_QuantizeLinear:
    case AS_OP_DequantizeLinear:
    case AS_OP_MS_QuantizeLinear:
    case AS_OP_MS_DequantizeLinear:
    case AS_OP_TFL_RESHAPE:
    case AS_OP_TFL_DENSIFY:
        return true;
    default:
        return false;
    }
}

static const struct as_node *producer_of(const struct as_model *model, uint32_t value)
{
    const struct as_value *v = &model->values[value];

    if (v->producer == AS_NONE || !v->graph || v->producer >= v->graph->n_nodes)
        return NULL;
    return &v->graph->nodes[v->producer];
}

/* Stands in the file: as an initializer or inside a Constant. */
static bool is_in_file(const struct as_model *model, uint32_t value)
{
    const struct as_node *node = producer_of(model, value);

    if (model->values[value].is_initializer)
        return true;
    return node && node->op == AS_OP_Constant && model->values[value].data != NULL;
}

/* Made by a node that needs no data: filled or random. */
static bool is_made(const struct as_model *model, uint32_t value)
{
    const struct as_node *node = producer_of(model, value);

    if (!node)
        return false;
    if (node->op == AS_OP_RandomNormal || node->op == AS_OP_RandomUniform)
        return true;
    return node->op == AS_OP_ConstantOfShape && node->n_inputs > 0 && node->inputs[0] != AS_NONE &&
           is_in_file(model, node->inputs[0]);
}

bool as_value_is_stored(const struct as_model *model, uint32_t value)
{
    return is_in_file(model, value) || is_made(model, value);
}

uint32_t as_constant_behind(const struct as_model *model, uint32_t value)
{
    for (int hop = 0; hop < MAX_HOPS && value < model->n_values; hop++) {
        const struct as_node *node;

        if (as_value_is_stored(model, value))
            return value;
        node = producer_of(model, value);
        if (!node || !as_node_passes(node, 0) || node->n_inputs == 0)
            return AS_NONE;
        value = node->inputs[0];
    }
    return AS_NONE;
}

/* Each node comes after those it needs, so one pass is enough. Depth is limited when graphs are
 * made. */
static void scan_graph(const struct as_model *model, const struct as_graph *graph,
                       struct as_behind *behind)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        if (as_node_passes(node, 0) && node->n_inputs > 0 && node->inputs[0] != AS_NONE &&
            node->n_outputs > 0 && node->outputs[0] != AS_NONE) {
            struct as_behind *out = &behind[node->outputs[0]];

            *out = behind[node->inputs[0]];
            out->dequantized |= is_scaling_back(model, node);
        }
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                scan_graph(model, node->attrs[k].graph, behind);
    }
}

void as_behind_all(const struct as_model *model, struct as_behind *behind)
{
    for (uint32_t i = 0; i < model->n_values; i++)
        behind[i] = (struct as_behind){as_value_is_stored(model, i) ? i : (uint32_t)AS_NONE, false};
    if (model->main)
        scan_graph(model, model->main, behind);
}

/* In a branch that does not run nothing is inferred, yet its constants stand in the file. */
static void fill_constants(const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];
        struct as_value *value = as_node_output(graph, node, 0);
        const struct as_attr *attr = NULL;

        if (node->op == AS_OP_Constant && value && !value->data)
            attr = as_node_attr(node, "value");
        if (attr && attr->kind == AS_ATTR_TENSOR && attr->data) {
            value->type = attr->type;
            value->data = attr->data;
        }
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                fill_constants(node->attrs[k].graph);
    }
}

/* ---- the list ---- */

struct user {
    const struct as_node *node;
};

struct listing {
    const struct as_model *model;
    struct as_params *params;
    struct as_behind *behind; /* by value */
    uint32_t *param_of;       /* by value */
    struct user *last;        /* by param: the last node that used it */
    const char **passed;      /* by value: label of a node that only hands it on */
    uint64_t *packed;         /* by param: elements, where a node packs them */
    bool *shared;             /* by param */
};

/* When several nodes use a constant, the role that says most. */
static bool says_more(enum as_role a, enum as_role b)
{
    static const uint8_t rank[AS_ROLE_COUNT] = {
        [AS_ROLE_PARAMETER] = 6, [AS_ROLE_BUFFER] = 5,   [AS_ROLE_QUANT] = 4,  [AS_ROLE_MASK] = 3,
        [AS_ROLE_INDEX] = 2,     [AS_ROLE_CONSTANT] = 1, [AS_ROLE_UNUSED] = 0,
    };

    return rank[a] > rank[b];
}

static uint32_t add_param(struct listing *l, uint32_t value, const char *layer)
{
    uint32_t at = (uint32_t)l->params->n_params++;

    l->params->params[at] = (struct as_param){.value = value,
                                              .role = AS_ROLE_UNUSED,
                                              .layer = layer,
                                              .tied_to = AS_NONE,
                                              .equal_to = AS_NONE};
    l->param_of[value] = at;
    return at;
}

static void use_input(struct listing *l, const struct as_graph *graph, const struct as_node *node,
                      uint32_t i)
{
    const struct as_behind *behind = &l->behind[node->inputs[i]];
    struct as_param *param;
    enum as_role role;
    uint32_t at;

    if (behind->value == AS_NONE)
        return;
    if (as_node_passes(node, i)) {
        if (!l->passed[behind->value])
            l->passed[behind->value] = as_node_label(graph, node);
        return;
    }
    at = l->param_of[behind->value];
    if (at != AS_NONE && l->params->params[at].n_uses >= MANY_USES &&
        l->model->values[behind->value].data &&
        l->model->values[behind->value].data->n > LARGE_ELEMS) {
        l->params->params[at].n_uses++;
        l->shared[at] |= l->last[at].node != node;
        return;
    }
    role = as_role_in(l->model, graph, node, i, behind);
    if (role != AS_ROLE_PARAMETER && role != AS_ROLE_BUFFER && is_made(l->model, behind->value))
        return;
    if (at == AS_NONE)
        at = add_param(l, behind->value, as_node_label(graph, node));
    param = &l->params->params[at];
    param->n_uses++;
    if (says_more(role, param->role))
        param->role = role;
    if (l->last[at].node && l->last[at].node != node)
        l->shared[at] = true;
    l->last[at].node = node;
    if (l->packed[at] == 0)
        l->packed[at] = as_packed_elems(node, i);
}

static void list_graph(struct listing *l, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] != AS_NONE)
                use_input(l, graph, node, k);
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                list_graph(l, node->attrs[k].graph);
    }
}

/* Those that no node takes for itself: all of them where there is no graph. */
static void list_rest(struct listing *l)
{
    bool has_nodes = l->model->main && l->model->main->n_nodes > 0;

    for (uint32_t i = 0; i < l->model->n_values; i++) {
        const struct as_value *value = &l->model->values[i];
        struct as_param *param;

        if (l->param_of[i] != AS_NONE || !is_in_file(l->model, i))
            continue;
        param = &l->params->params[add_param(l, i, l->passed[i] ? l->passed[i] : "")];
        if (l->passed[i] || value->is_output || !has_nodes)
            param->role = as_role_by_name(value);
    }
}

/* ---- the sums ---- */

static void size_param(struct listing *l, size_t at)
{
    struct as_param *param = &l->params->params[at];
    const struct as_value *value = &l->model->values[param->value];
    const struct as_data *data = value->data;
    uint64_t elems = 0, bytes = 0;

    if (!as_type_elems(&value->type, &elems) && data)
        elems = data->n;
    if (data)
        bytes = data->size_bytes;
    else
        (void)as_type_bytes(&value->type, &bytes);
    param->generated = !is_in_file(l->model, param->value);
    if (!param->generated) {
        param->stored_elems = data ? data->stored_elems : elems;
        param->stored_bytes = data ? data->stored_bytes : bytes;
    }
    param->elems = l->packed[at] ? l->packed[at] : elems;
    param->bytes = bytes;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return as_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static void add_sum(struct as_param_sum *sum, const struct as_param *param)
{
    sum->tensors++;
    sum->elems = add(sum->elems, param->elems);
    sum->bytes = add(sum->bytes, param->bytes);
}

static void sum_param(struct as_params *p, const struct as_model *model,
                      const struct as_param *param)
{
    unsigned dtype = model->values[param->value].type.dtype;
    bool is_parameter = param->role == AS_ROLE_PARAMETER;

    if (param->tied_to != AS_NONE) {
        p->tied_elems = add(p->tied_elems, param->stored_elems);
        return;
    }
    p->stored = add(p->stored, param->stored_elems);
    p->stored_bytes = add(p->stored_bytes, param->stored_bytes);
    if (param->equal_to != AS_NONE)
        p->equal_bytes = add(p->equal_bytes, param->bytes);
    p->equal_tensors += param->equal_to != AS_NONE || param->n_equal > 0;
    add_sum(&p->by_role[param->role], param);
    if (is_parameter || param->role == AS_ROLE_BUFFER)
        add_sum(&p->by_dtype[dtype < AS_DTYPE_COUNT ? dtype : 0], param);
    if (is_parameter && as_dtype_is_float(dtype))
        p->trainable = add(p->trainable, param->elems);
    else if (is_parameter || param->role == AS_ROLE_BUFFER)
        p->frozen = add(p->frozen, param->elems);
}

/* Scales that the format keeps with the tensor, four bytes each. */
static uint64_t scale_bytes(const struct as_params *p, const struct as_model *model)
{
    uint64_t bytes = p->by_role[AS_ROLE_QUANT].bytes;

    for (size_t i = 0; i < p->n_params && model->format == AS_FORMAT_TFLITE; i++)
        if (p->params[i].role == AS_ROLE_PARAMETER && p->params[i].tied_to == AS_NONE)
            bytes = add(bytes, (uint64_t)4 * model->values[p->params[i].value].n_scales);
    return bytes;
}

static void sum_params(struct listing *l)
{
    struct as_params *p = l->params;
    uint64_t stored;

    for (size_t i = 0; i < p->n_params; i++) {
        struct as_param *param = &p->params[i];

        if (param->tied_to != AS_NONE)
            param->elems = param->bytes = 0;
        sum_param(p, l->model, param);
        p->shared_uses += param->role == AS_ROLE_PARAMETER && l->shared[i];
    }
    p->parameters = p->by_role[AS_ROLE_PARAMETER].elems;
    p->parameter_bytes = p->by_role[AS_ROLE_PARAMETER].bytes;
    stored = add(p->parameter_bytes, scale_bytes(p, l->model));
    p->compression =
        p->parameters == 0 || stored == 0 ? AS_UNKNOWN : (double)p->parameters * 4 / (double)stored;
}

static size_t count_stored(const struct as_model *model)
{
    size_t n = 0;

    for (uint32_t i = 0; i < model->n_values; i++)
        n += as_value_is_stored(model, i);
    return n;
}

static bool start(struct listing *l, struct as_arena *arena)
{
    size_t n_values = (size_t)l->model->n_values + 1, n = count_stored(l->model) + 1;

    l->params->params = as_arena_zero(arena, n, sizeof *l->params->params);
    l->behind = as_alloc_zero(n_values, sizeof *l->behind);
    l->param_of = as_alloc_zero(n_values, sizeof *l->param_of);
    l->passed = as_alloc_zero(n_values, sizeof *l->passed);
    l->last = as_alloc_zero(n, sizeof *l->last);
    l->packed = as_alloc_zero(n, sizeof *l->packed);
    l->shared = as_alloc_zero(n, sizeof *l->shared);
    if (!l->params->params || !l->behind || !l->param_of || !l->passed || !l->last || !l->packed ||
        !l->shared)
        return false;
    memset(l->param_of, 0xff, n_values * sizeof *l->param_of);
    as_behind_all(l->model, l->behind);
    return true;
}

static void stop(struct listing *l)
{
    as_free(l->behind);
    as_free(l->param_of);
    as_free((void *)l->passed);
    as_free(l->last);
    as_free(l->packed);
    as_free(l->shared);
}

int as_params_new(struct as_params **params, struct as_model *model, bool compare_bytes,
                  struct assay_error *err)
{
    struct listing l = {.model = model};
    int rc = ASSAY_OK;

    *params = NULL;
    l.params = as_alloc_zero(1, sizeof *l.params);
    if (!l.params)
        return as_fail_nomem(err);
    if (model->main)
        fill_constants(model->main);
    if (!start(&l, &l.params->arena)) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (model->main)
        list_graph(&l, model->main);
    list_rest(&l);
    for (size_t i = 0; i < l.params->n_params; i++)
        size_param(&l, i);
    rc = as_params_tie(l.params, model, compare_bytes, err);
    if (rc < 0)
        goto out;
    sum_params(&l);
    *params = l.params;
out:
    if (rc < 0)
        as_params_free(l.params);
    stop(&l);
    return rc;
}

void as_params_free(struct as_params *params)
{
    if (!params)
        return;
    as_arena_fini(&params->arena);
    as_free(params);
}
