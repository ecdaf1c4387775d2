/* model/build/builder.c - describes a network call by call; shapes are followed while it grows.
 * The first failure is kept and makes every later call do nothing. Layers are in their own files.
 */
#include "model/build/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "model/build/build_ops.h"

struct as_build_name {
    const char *text;
    uint32_t value; /* so called, or AS_NONE when it is a node's or was only reserved */
    uint32_t next;  /* number to try behind it when it is wanted again */
};

uint32_t as_build_fail(struct as_builder *b, int code, const char *fmt, ...)
{
    char text[sizeof b->err.msg];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (as_build_ok(b))
        (void)as_fail(&b->err, code, "%s", text);
    return AS_NONE;
}

static uint32_t fail_nomem(struct as_builder *b)
{
    if (as_build_ok(b))
        (void)as_fail_nomem(&b->err);
    return AS_NONE;
}

void as_builder_init(struct as_builder *b, struct as_model *model, uint64_t seed)
{
    *b = (struct as_builder){
        .model = model, .dtype = AS_DTYPE_F32, .seed = seed, .causal_mask = AS_NONE};
    model->format = AS_FORMAT_BUILT;
    model->opset = AS_BUILD_OPSET;
    model->ir_version = AS_BUILD_IR;
    model->producer = "assay";
    model->has_graph = true;
    model->opsets = as_arena_zero(&model->arena, 1, sizeof *model->opsets);
    if (!model->opsets) {
        fail_nomem(b);
        return;
    }
    model->opsets[0] = (struct as_model_opset){"", AS_BUILD_OPSET};
    model->n_opsets = 1;
    b->graph = as_graph_new(model, NULL, "main", &b->err);
}

void as_builder_fini(struct as_builder *b)
{
    as_free(b->nodes);
    as_free(b->inputs);
    as_free(b->outputs);
    as_free(b->names);
    as_hash_map_fini(&b->name_map);
    b->nodes = NULL;
    b->inputs = b->outputs = NULL;
    b->names = NULL;
    b->n_nodes = b->capacity_nodes = b->n_inputs = b->n_outputs = b->n_names = b->capacity_names =
        0;
}

/* ---- names ---- */

static struct as_build_name *find_name(const struct as_builder *b, const char *text)
{
    const uint64_t *at = as_hash_map_find(&b->name_map, text, strlen(text));

    return at ? &b->names[*at] : NULL;
}

static struct as_build_name *add_name(struct as_builder *b, const char *text)
{
    const char *copy = as_arena_text(&b->model->arena, text, strlen(text));

    if (!copy || !AS_VEC_RESERVE(b->names, b->n_names, b->capacity_names) ||
        as_hash_map_put(&b->name_map, copy, strlen(copy), b->n_names) < 0) {
        fail_nomem(b);
        return NULL;
    }
    b->names[b->n_names] = (struct as_build_name){copy, AS_NONE, 1};
    return &b->names[b->n_names++];
}

/* Takes a name that nothing else has: `text` in the scope, with a number behind it when needed. */
static const char *take_name(struct as_builder *b, const char *text, bool in_scope)
{
    char full[AS_MAX_NAME_BYTES], other[AS_MAX_NAME_BYTES];
    const struct as_build_name *taken;
    struct as_build_name *slot;
    int size = snprintf(full, sizeof full, "%s%s", in_scope ? b->scope : "", text);

    if (size < 0 || (size_t)size + 16 > sizeof full) {
        as_build_fail(b, ASSAY_ERR_LIMIT, "the name '%.60s...' is too long", full);
        return NULL;
    }
    slot = find_name(b, full);
    if (!slot) {
        slot = add_name(b, full);
        return slot ? slot->text : NULL;
    }
    do {
        (void)snprintf(other, sizeof other, "%.*s_%u", size, full, slot->next++);
        taken = find_name(b, other);
    } while (taken);
    slot = add_name(b, other);
    return slot ? slot->text : NULL;
}

void as_build_scope(struct as_builder *b, const char *fmt, ...)
{
    char text[256];
    va_list args;
    int size, n;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size = n < 0 || (size_t)n >= sizeof text
               ? -1
               : snprintf(b->scope + b->scope_size, sizeof b->scope - b->scope_size, "%s.", text);
    if (size < 0 || (size_t)size >= sizeof b->scope - b->scope_size) {
        b->scope[b->scope_size] = '\0';
        as_build_fail(b, ASSAY_ERR_LIMIT, "the name of scope '%.60s' is too long", text);
        return;
    }
    b->scope_size += (size_t)size;
    if (b->n_scopes == AS_BUILD_SCOPES) {
        as_build_fail(b, ASSAY_ERR_LIMIT, "scopes are nested more than %d deep", AS_BUILD_SCOPES);
        return;
    }
    b->scope_sizes[b->n_scopes++] = (uint16_t)size;
}

void as_build_scope_end(struct as_builder *b)
{
    if (!as_build_ok(b))
        return;
    if (b->n_scopes == 0) {
        as_build_fail(b, ASSAY_ERR_STATE, "a scope is ended that was not begun");
        return;
    }
    b->scope_size -= b->scope_sizes[--b->n_scopes];
    b->scope[b->scope_size] = '\0';
}

/* ---- values ---- */

/* A value under a name that was taken before. */
static uint32_t add_value(struct as_builder *b, const char *name)
{
    struct as_build_name *slot = name ? find_name(b, name) : NULL;
    uint32_t value;

    if (!slot || !as_build_ok(b))
        return AS_NONE;
    value = as_model_add_value(b->model, b->graph, name, strlen(name), &b->err);
    slot->value = value;
    return value;
}

void as_build_set_type(struct as_builder *b, uint32_t value, unsigned dtype,
                       const struct as_dims *dims)
{
    if (!as_build_ok(b) || value >= b->model->n_values)
        return;
    if (!as_type_tensor(&b->model->values[value].type, &b->model->arena, dtype, dims))
        fail_nomem(b);
}

bool as_build_dims(const struct as_builder *b, uint32_t value, struct as_dims *out)
{
    out->rank = 0;
    return value < b->model->n_values && as_type_dims(&b->model->values[value].type, out);
}

unsigned as_build_dtype(const struct as_builder *b, uint32_t value)
{
    return value < b->model->n_values ? b->model->values[value].type.dtype : AS_DTYPE_UNKNOWN;
}

/* Puts a value at the end of a list of them. */
static bool append(struct as_builder *b, uint32_t **list, size_t *n, uint32_t value)
{
    uint32_t *grown = as_realloc(*list, *n + 1, sizeof *grown);

    if (!grown) {
        fail_nomem(b);
        return false;
    }
    grown[(*n)++] = value;
    *list = grown;
    return true;
}

uint32_t as_build_input(struct as_builder *b, const char *name, unsigned dtype,
                        const struct as_dims *dims, const char *const *symbols)
{
    struct as_arena *arena = &b->model->arena;
    const char **kept = NULL;
    uint32_t value;

    if (!as_build_ok(b))
        return AS_NONE;
    as_build_need_dtype(b, dtype);
    value = add_value(b, take_name(b, name, false));
    as_build_set_type(b, value, dtype, dims);
    for (int i = 0; as_build_ok(b) && symbols && i < dims->rank; i++) {
        if (dims->at[i] >= 0 || !symbols[i])
            continue;
        if (!kept)
            kept = as_arena_zero(arena, (size_t)dims->rank, sizeof *kept);
        if (!kept || !(kept[i] = as_arena_text(arena, symbols[i], strlen(symbols[i]))))
            return fail_nomem(b);
    }
    if (!as_build_ok(b) || !append(b, &b->inputs, &b->n_inputs, value))
        return AS_NONE;
    b->model->values[value].symbols = kept;
    b->model->values[value].is_input = true;
    return value;
}

static uint32_t add_constant(struct as_builder *b, const char *name, unsigned dtype,
                             const struct as_dims *dims)
{
    uint32_t value = as_build_ok(b) ? add_value(b, name) : AS_NONE;

    as_build_need_dtype(b, dtype);
    as_build_set_type(b, value, dtype, dims);
    if (!as_build_ok(b))
        return AS_NONE;
    b->model->values[value].is_initializer = true;
    return value;
}

uint32_t as_build_param_of(struct as_builder *b, const char *name, unsigned dtype,
                           const struct as_dims *dims, const struct as_seeded *how)
{
    const char *full = as_build_ok(b) ? take_name(b, name, true) : NULL;
    uint32_t value = add_constant(b, full, dtype, dims);
    struct as_value *v;
    uint64_t n;

    if (!as_build_ok(b))
        return AS_NONE;
    v = &b->model->values[value];
    if (!as_type_elems(&v->type, &n))
        return as_build_fail(b, ASSAY_ERR_USAGE, "parameter '%.80s' has no size", full);
    v->data = as_seeded_data(&b->model->arena, dtype, n, as_seeded_key(b->seed, full), how);
    if (!v->data)
        return fail_nomem(b);
    return value;
}

uint32_t as_build_param(struct as_builder *b, const char *name, const struct as_dims *dims,
                        const struct as_seeded *how)
{
    return as_build_param_of(b, name, b->dtype, dims, how);
}

/* The bytes are copied; `full` is a name taken before. */
static uint32_t add_data(struct as_builder *b, const char *full, unsigned dtype,
                         const struct as_dims *dims, const void *bytes)
{
    uint32_t value = add_constant(b, full, dtype, dims);
    struct as_value *v;
    uint64_t n, size;
    void *copy;

    if (!as_build_ok(b))
        return AS_NONE;
    v = &b->model->values[value];
    if (!as_type_elems(&v->type, &n) || !as_type_bytes(&v->type, &size) || size > SIZE_MAX / 2)
        return as_build_fail(b, ASSAY_ERR_USAGE, "constant '%.80s' has no size", full);
    copy = as_arena_alloc(&b->model->arena, size ? (size_t)size : 1);
    if (!copy)
        return fail_nomem(b);
    memcpy(copy, bytes, (size_t)size);
    v->data = as_data_over(&b->model->arena, dtype, n, copy);
    return v->data ? value : fail_nomem(b);
}

uint32_t as_build_const(struct as_builder *b, const char *name, unsigned dtype,
                        const struct as_dims *dims, const void *bytes)
{
    return add_data(b, as_build_ok(b) ? take_name(b, name, true) : NULL, dtype, dims, bytes);
}

/* One that was made before under this name, or a new one. */
static uint32_t common(struct as_builder *b, const char *name, unsigned dtype,
                       const struct as_dims *dims, const void *bytes)
{
    const struct as_build_name *slot = as_build_ok(b) ? find_name(b, name) : NULL;

    if (slot && slot->value != AS_NONE)
        return slot->value;
    return add_data(b, as_build_ok(b) ? take_name(b, name, false) : NULL, dtype, dims, bytes);
}

uint32_t as_build_ints(struct as_builder *b, const int64_t *at, size_t n)
{
    struct as_dims dims = {1, {(int64_t)n}};
    char name[32 + 21 * AS_MAX_RANK];
    size_t size = (size_t)snprintf(name, sizeof name, "const.ints");

    if (n > AS_MAX_RANK)
        return as_build_fail(b, ASSAY_ERR_LIMIT, "a list of more than %d numbers", AS_MAX_RANK);
    for (size_t i = 0; i < n; i++)
        size += (size_t)snprintf(name + size, sizeof name - size, "_%lld", (long long)at[i]);
    return common(b, name, AS_DTYPE_I64, &dims, at);
}

uint32_t as_build_int(struct as_builder *b, int64_t value)
{
    struct as_dims dims = {0};
    char name[48];

    (void)snprintf(name, sizeof name, "const.int_%lld", (long long)value);
    return common(b, name, AS_DTYPE_I64, &dims, &value);
}

uint32_t as_build_number(struct as_builder *b, double value)
{
    struct as_dims dims = {0};
    struct as_data *data = as_data_new(&b->model->arena, b->dtype, 1);
    char name[64];

    if (!data)
        return fail_nomem(b);
    as_data_put_f64(data, 0, value);
    (void)snprintf(name, sizeof name, "const.%s_%.9g", as_dtype_name(b->dtype), value);
    return common(b, name, b->dtype, &dims, data->bytes);
}

void as_build_output(struct as_builder *b, uint32_t value, const char *name)
{
    struct as_value *v;

    if (!as_build_ok(b))
        return;
    if (value >= b->model->n_values) {
        as_build_fail(b, ASSAY_ERR_USAGE, "an output is given that is not a tensor");
        return;
    }
    v = &b->model->values[value];
    if (name && (v->is_input || v->is_initializer)) {
        struct as_build_node same = {.op = "Identity", .name = name, AS_BUILD_IN(value)};
        struct as_dims dims;
        bool known = as_build_dims(b, value, &dims);

        value = as_build_one(b, &same, known ? &dims : NULL);
        if (!as_build_ok(b))
            return;
        v = &b->model->values[value];
    }
    if (name) {
        const char *full = take_name(b, name, false);
        struct as_build_name *taken = full ? find_name(b, full) : NULL;

        if (!taken)
            return;
        v->name = full;
        taken->value = value;
    }
    v->is_output = true;
    (void)append(b, &b->outputs, &b->n_outputs, value);
}

/* ---- nodes ---- */

static bool copy_list(struct as_arena *arena, const void **list, size_t bytes)
{
    void *copy = as_arena_alloc(arena, bytes ? bytes : 1);

    if (!copy)
        return false;
    if (bytes)
        memcpy(copy, *list, bytes);
    *list = copy;
    return true;
}

static bool copy_attr(struct as_arena *arena, struct as_attr *attr)
{
    const void *list = NULL;

    attr->name = as_arena_text(arena, attr->name, strlen(attr->name));
    if (!attr->name)
        return false;
    if (attr->kind == AS_ATTR_INTS) {
        list = attr->ints;
        if (!copy_list(arena, &list, attr->n * sizeof *attr->ints))
            return false;
        attr->ints = list;
    } else if (attr->kind == AS_ATTR_FLOATS) {
        list = attr->floats;
        if (!copy_list(arena, &list, attr->n * sizeof *attr->floats))
            return false;
        attr->floats = list;
    } else if (attr->kind == AS_ATTR_TEXT) {
        attr->text.at = as_arena_text(arena, attr->text.at, attr->text.size);
        return attr->text.at;
    }
    return true;
}

static bool copy_node(struct as_builder *b, struct as_node *to, const struct as_build_node *from)
{
    struct as_arena *arena = &b->model->arena;
    const char *domain = from->domain ? from->domain : "";
    struct as_attr *attrs = as_arena_zero(arena, from->n_attrs + 1, sizeof *attrs);
    const void *inputs = from->inputs;

    to->op_name = as_arena_text(arena, from->op, strlen(from->op));
    to->domain_name = as_arena_text(arena, domain, strlen(domain));
    if (!attrs || !to->op_name || !to->domain_name ||
        !copy_list(arena, &inputs, from->n_inputs * sizeof *from->inputs))
        return false;
    for (size_t i = 0; i < from->n_attrs; i++) {
        attrs[i] = from->attrs[i];
        if (!copy_attr(arena, &attrs[i]))
            return false;
    }
    to->op = as_op_find(as_domain_find(domain), from->op);
    to->inputs = inputs;
    to->n_inputs = (uint32_t)from->n_inputs;
    to->attrs = attrs;
    to->n_attrs = (uint32_t)from->n_attrs;
    return true;
}

static bool grow_nodes(struct as_builder *b)
{
    size_t capacity = b->capacity_nodes ? b->capacity_nodes * 2 : 64;
    struct as_node *nodes = as_realloc(b->nodes, capacity, sizeof *nodes);

    if (!nodes)
        return false;
    b->nodes = nodes;
    b->capacity_nodes = capacity;
    return true;
}

static const char *output_name(struct as_builder *b, const char *node, uint32_t i)
{
    char name[AS_MAX_NAME_BYTES];
    int size = i ? snprintf(name, sizeof name, "%s.out%u", node, i)
                 : snprintf(name, sizeof name, "%s.out", node);

    if (size < 0 || (size_t)size >= sizeof name) {
        as_build_fail(b, ASSAY_ERR_LIMIT, "the name '%.60s...' is too long", node);
        return NULL;
    }
    return take_name(b, name, false);
}

bool as_build_add(struct as_builder *b, const struct as_build_node *node, uint32_t n_outputs,
                  uint32_t *outputs)
{
    struct as_node added = {0};
    uint32_t *kept;

    for (uint32_t i = 0; i < n_outputs; i++)
        outputs[i] = AS_NONE;
    if (!as_build_ok(b))
        return false;
    if (b->n_nodes >= AS_MAX_NODES) {
        as_build_fail(b, ASSAY_ERR_LIMIT, "the model has more than %d nodes", AS_MAX_NODES);
        return false;
    }
    kept = as_arena_zero(&b->model->arena, n_outputs + 1u, sizeof *kept);
    if (!kept || !copy_node(b, &added, node) ||
        (b->n_nodes == b->capacity_nodes && !grow_nodes(b))) {
        fail_nomem(b);
        return false;
    }
    added.name = take_name(b, node->name ? node->name : node->op, true);
    for (uint32_t i = 0; as_build_ok(b) && i < n_outputs; i++)
        outputs[i] = kept[i] = add_value(b, output_name(b, added.name, i));
    if (!as_build_ok(b))
        return false;
    added.outputs = kept;
    added.n_outputs = n_outputs;
    b->nodes[b->n_nodes++] = added;
    return true;
}

uint32_t as_build_one(struct as_builder *b, const struct as_build_node *node,
                      const struct as_dims *dims)
{
    uint32_t out;

    if (!as_build_add(b, node, 1, &out))
        return AS_NONE;
    as_build_set_type(b, out, as_build_dtype(b, node->n_inputs ? node->inputs[0] : AS_NONE), dims);
    return as_build_ok(b) ? out : AS_NONE;
}

/* ---- the end ---- */

static bool hand_over(struct as_builder *b, const uint32_t *list, size_t n, const uint32_t **out,
                      uint32_t *n_out)
{
    const void *copy = list;

    if (!copy_list(&b->model->arena, &copy, n * sizeof *list))
        return false;
    *out = copy;
    *n_out = (uint32_t)n;
    return true;
}

int as_builder_finish(struct as_builder *b, struct assay_error *err)
{
    struct as_model *model = b->model;
    struct as_graph *graph = b->graph;
    int rc;

    if (as_build_ok(b))
        as_build_raise_nodes(b);
    if (!as_build_ok(b)) {
        if (err)
            *err = b->err;
        return b->err.code;
    }
    rc = as_graph_reserve_nodes(graph, (uint32_t)b->n_nodes, err);
    if (rc < 0)
        return rc;
    if (b->n_nodes)
        memcpy(graph->nodes, b->nodes, b->n_nodes * sizeof *b->nodes);
    if (!hand_over(b, b->inputs, b->n_inputs, &graph->inputs, &graph->n_inputs) ||
        !hand_over(b, b->outputs, b->n_outputs, &graph->outputs, &graph->n_outputs))
        return as_fail_nomem(err);
    for (uint32_t i = 0; i < model->n_values; i++) {
        struct as_value *v = &model->values[i];

        if (!v->is_input && !v->is_initializer && !v->is_output)
            v->type = AS_TYPE_UNKNOWN;
    }
    graph->times = 1;
    return as_model_link(model, err);
}
