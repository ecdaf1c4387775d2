/* model/graph/graph.c - a network in memory: values, nodes, graphs and the graphs inside nodes.
 * Checking and ordering are in graph_link.c. */
#include "model/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

int as_model_new(struct as_model **model, size_t max_bytes, struct assay_error *err)
{
    struct as_model *m = as_alloc_zero(1, sizeof *m);

    if (!m)
        return as_fail_nomem(err);
    m->arena.max_bytes = max_bytes;
    m->findings_end = &m->findings;
    m->path = m->producer = m->graph_name = "";
    *model = m;
    return ASSAY_OK;
}

void as_model_free(struct as_model *model)
{
    if (!model)
        return;
    if (model->drop)
        model->drop(model->held);
    as_free(model->values);
    as_arena_fini(&model->inference);
    as_arena_fini(&model->arena);
    as_free(model);
}

void as_model_let_go(const struct as_model *model, const struct as_data *data, uint64_t first,
                     uint64_t n)
{
    uint64_t from, size;

    if (model->let_go && data->bytes && as_dtype_bytes(data->dtype, first, &from) &&
        as_dtype_bytes(data->dtype, n, &size) && from <= data->size_bytes &&
        size <= data->size_bytes - from)
        model->let_go(model->held, data->bytes + from, size);
}

static bool grow_values(struct as_model *model)
{
    uint32_t capacity = model->capacity_values ? model->capacity_values * 2 : 64;
    struct as_value *values = as_realloc(model->values, capacity, sizeof *values);

    if (!values)
        return false;
    model->values = values;
    model->capacity_values = capacity;
    return true;
}

uint32_t as_model_add_value(struct as_model *model, struct as_graph *graph, const char *name,
                            size_t name_size, struct assay_error *err)
{
    struct as_value *value;

    if (model->n_values >= AS_MAX_VALUES) {
        as_fail(err, ASSAY_ERR_LIMIT, "the model has more than %d tensors", AS_MAX_VALUES);
        return AS_NONE;
    }
    if (model->n_values == model->capacity_values && !grow_values(model)) {
        as_fail_nomem(err);
        return AS_NONE;
    }
    value = &model->values[model->n_values];
    *value = (struct as_value){.type = AS_TYPE_UNKNOWN, .producer = AS_NONE, .graph = graph};
    value->name = name_size ? as_arena_text(&model->arena, name, name_size) : "";
    if (!value->name) {
        as_fail_nomem(err);
        return AS_NONE;
    }
    return model->n_values++;
}

struct as_graph *as_graph_new(struct as_model *model, struct as_graph *parent, const char *name,
                              struct assay_error *err)
{
    struct as_graph *graph;

    if (parent && parent->depth + 1 >= AS_MAX_GRAPH_DEPTH) {
        as_fail(err, ASSAY_ERR_LIMIT, "graphs are nested more than %d deep", AS_MAX_GRAPH_DEPTH);
        return NULL;
    }
    graph = as_arena_zero(&model->arena, 1, sizeof *graph);
    if (graph)
        graph->name = as_arena_text(&model->arena, name, strlen(name));
    if (!graph || !graph->name) {
        as_fail_nomem(err);
        return NULL;
    }
    graph->model = model;
    graph->parent = parent;
    graph->depth = parent ? parent->depth + 1 : 0;
    graph->ran = AS_DIM_UNKNOWN;
    if (!parent)
        model->main = graph;
    return graph;
}

int as_graph_reserve_nodes(struct as_graph *graph, uint32_t n, struct assay_error *err)
{
    if (n > AS_MAX_NODES)
        return as_fail(err, ASSAY_ERR_LIMIT, "the model has more than %d nodes", AS_MAX_NODES);
    graph->nodes = as_arena_zero(&graph->model->arena, n ? n : 1, sizeof *graph->nodes);
    if (!graph->nodes)
        return as_fail_nomem(err);
    graph->n_nodes = n;
    graph->model->capacity_nodes += n;
    return ASSAY_OK;
}

int as_model_no_memory(const struct as_model *model, struct assay_error *err)
{
    size_t max = model->arena.max_bytes;

    /* An arena says only "no"; near the limit that is the likely cause. */
    if (max == 0 || model->arena.used_bytes + model->inference.used_bytes <= max / 2)
        return as_fail_nomem(err);
    return as_fail(err, ASSAY_ERR_LIMIT,
                   "the tables of this model need more memory than %zu bytes, which is the limit "
                   "for a file of its size",
                   max);
}

bool as_model_load(struct as_model *model, struct as_data *data, uint64_t max_bytes)
{
    size_t max = model->arena.max_bytes;
    size_t used = model->arena.used_bytes + model->inference.used_bytes;

    /* The limit is for both arenas together. */
    if (!data->bytes && max && (used > max || data->size_bytes > max - used))
        return false;
    return as_data_load(data, &model->arena, max_bytes, NULL) == ASSAY_OK;
}

void as_model_drop_inference(struct as_model *model)
{
    size_t max = model->arena.max_bytes, used = model->arena.used_bytes;

    as_arena_fini(&model->inference);
    model->bound = NULL;
    model->n_bound = 0;
    model->inference.max_bytes = max == 0 ? 0 : used < max ? max - used : 1;
    if (!model->inferred) {
        model->read_end = model->findings_end;
        model->n_read = model->n_findings;
    }
    model->inferred = true;
    model->findings_end = model->read_end;
    *model->findings_end = NULL;
    model->n_findings = model->n_read;
    model->findings_lost = 0;
    memset(model->finding_chains, 0, sizeof model->finding_chains);
    for (struct as_finding *f = model->findings; f; f = f->next) {
        f->chain = model->finding_chains[f->hash % AS_FINDING_CHAINS];
        model->finding_chains[f->hash % AS_FINDING_CHAINS] = f;
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash * 31;
}

static struct as_finding *keep_finding(struct as_model *model, const struct as_finding *what)
{
    struct as_arena *arena = model->inferred ? &model->inference : &model->arena;
    struct as_finding *f;

    if (model->n_findings >= AS_MAX_FINDINGS)
        return NULL;
    f = as_arena_zero(arena, 1, sizeof *f);
    if (!f)
        return NULL;
    *f = *what;
    f->node = what->node ? as_arena_text(arena, what->node, strlen(what->node)) : NULL;
    f->op = what->op ? as_arena_text(arena, what->op, strlen(what->op)) : NULL;
    f->text = as_arena_text(arena, what->text, strlen(what->text));
    return f->text && !f->node == !what->node && !f->op == !what->op ? f : NULL;
}

void as_model_find(struct as_model *model, enum as_finding_kind kind, const char *node,
                   const char *op, const char *fmt, ...)
{
    struct as_finding what = {.kind = kind, .node = node, .op = op, .times = 1}, *f;
    char text[400];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    what.text = text;
    what.hash = hash_text(hash_text(hash_text((uint32_t)kind, node), op), text);
    for (f = model->finding_chains[what.hash % AS_FINDING_CHAINS]; f; f = f->chain)
        if (f->hash == what.hash && f->kind == kind && same_text(f->node, node) &&
            same_text(f->op, op) && strcmp(f->text, text) == 0) {
            f->times++;
            return;
        }
    f = keep_finding(model, &what);
    if (!f) {
        model->findings_lost++;
        return;
    }
    f->chain = model->finding_chains[f->hash % AS_FINDING_CHAINS];
    model->finding_chains[f->hash % AS_FINDING_CHAINS] = f;
    *model->findings_end = f;
    model->findings_end = &f->next;
    model->n_findings++;
}

const struct as_attr *as_node_attr(const struct as_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (strcmp(node->attrs[i].name, name) == 0)
            return &node->attrs[i];
    return NULL;
}

static const struct as_attr *attr_of(const struct as_node *node, const char *name,
                                     enum as_attr_kind kind)
{
    const struct as_attr *attr = as_node_attr(node, name);

    return attr && attr->kind == kind ? attr : NULL;
}

int64_t as_node_int(const struct as_node *node, const char *name, int64_t fallback)
{
    const struct as_attr *attr = attr_of(node, name, AS_ATTR_INT);

    return attr ? attr->i : fallback;
}

double as_node_float(const struct as_node *node, const char *name, double fallback)
{
    const struct as_attr *attr = attr_of(node, name, AS_ATTR_FLOAT);

    return attr ? attr->f : fallback;
}

bool as_node_ints(const struct as_node *node, const char *name, struct as_ints *out)
{
    const struct as_attr *attr = attr_of(node, name, AS_ATTR_INTS);

    *out = (struct as_ints){0, NULL};
    if (!attr)
        return false;
    *out = (struct as_ints){attr->n, attr->ints};
    return true;
}

bool as_node_text(const struct as_node *node, const char *name, struct as_text *out)
{
    const struct as_attr *attr = attr_of(node, name, AS_ATTR_TEXT);

    *out = (struct as_text){NULL, 0};
    if (!attr)
        return false;
    *out = attr->text;
    return true;
}

bool as_node_text_is(const struct as_node *node, const char *name, const char *word)
{
    struct as_text text;

    return as_node_text(node, name, &text) && text.size == strlen(word) &&
           memcmp(text.at, word, text.size) == 0;
}

struct as_graph *as_node_graph(const struct as_node *node, const char *name)
{
    const struct as_attr *attr = attr_of(node, name, AS_ATTR_GRAPH);

    return attr ? attr->graph : NULL;
}

static struct as_value *value_at(const struct as_graph *graph, const uint32_t *at, size_t n,
                                 size_t i)
{
    if (i >= n || at[i] == AS_NONE)
        return NULL;
    return &graph->model->values[at[i]];
}

bool as_node_is_lowered(const struct as_node *node)
{
    return as_domain_find(node->domain_name) == AS_DOMAIN_TFLITE;
}

const struct as_attr *as_node_extra(const struct as_node *node, const char *name)
{
    return as_node_is_lowered(node) ? as_node_attr(node, name) : NULL;
}

int64_t as_node_extra_int(const struct as_node *node, const char *name, int64_t fallback)
{
    return as_node_is_lowered(node) ? as_node_int(node, name, fallback) : fallback;
}

bool as_dtype_is_quantized(unsigned dtype)
{
    return dtype == AS_DTYPE_I8 || dtype == AS_DTYPE_U8 || dtype == AS_DTYPE_I16 ||
           dtype == AS_DTYPE_I32;
}

bool as_value_is_quantized(const struct as_value *value)
{
    return value && value->quant && value->type.kind == AS_VALUE_TENSOR &&
           as_dtype_is_quantized(value->type.dtype);
}

struct as_value *as_node_input(const struct as_graph *graph, const struct as_node *node, size_t i)
{
    return value_at(graph, node->inputs, node->n_inputs, i);
}

struct as_value *as_node_output(const struct as_graph *graph, const struct as_node *node, size_t i)
{
    return value_at(graph, node->outputs, node->n_outputs, i);
}

int64_t as_model_opset_of(const struct as_model *model, const struct as_node *node)
{
    enum as_domain domain = as_domain_find(node->domain_name);

    if (domain == AS_DOMAIN_ONNX)
        return model->opset;
    for (size_t i = 0; i < model->n_opsets; i++)
        if (strcmp(model->opsets[i].domain, node->domain_name) == 0)
            return model->opsets[i].version;
    return 0;
}

const char *as_node_label(const struct as_graph *graph, const struct as_node *node)
{
    const struct as_value *out = as_node_output(graph, node, 0);

    if (node->label)
        return node->label;
    if (node->name[0])
        return node->name;
    if (out && out->name[0])
        return out->name;
    return node->op_name;
}
