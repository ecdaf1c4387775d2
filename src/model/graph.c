/* model/graph.c - a network in memory: values, nodes, graphs and the graphs inside nodes.
 * Checking and ordering are in graph_link.c. */
#include "model/graph.h"

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
    as_arena_fini(&model->arena);
    as_free(model);
}

static bool grow_values(struct as_model *model)
{
    uint32_t room = model->room_values ? model->room_values * 2 : 64;
    struct as_value *values = as_realloc(model->values, room, sizeof *values);

    if (!values)
        return false;
    model->values = values;
    model->room_values = room;
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
    if (model->n_values == model->room_values && !grow_values(model)) {
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
    return ASSAY_OK;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void as_model_find(struct as_model *model, enum as_finding_kind kind, const char *node,
                   const char *op, const char *fmt, ...)
{
    struct as_finding *finding;
    char text[400];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (finding = model->findings; finding; finding = finding->next)
        if (finding->kind == kind && same_text(finding->node, node) && same_text(finding->op, op) &&
            strcmp(finding->text, text) == 0) {
            finding->times++;
            return;
        }
    /* A hostile file must not make this list, and the search above, long. */
    if (model->n_findings >= 1000)
        return;
    finding = as_arena_zero(&model->arena, 1, sizeof *finding);
    if (!finding)
        return;
    finding->kind = kind;
    finding->times = 1;
    finding->node = node ? as_arena_text(&model->arena, node, strlen(node)) : NULL;
    finding->op = op ? as_arena_text(&model->arena, op, strlen(op)) : NULL;
    finding->text = as_arena_text(&model->arena, text, strlen(text));
    if (!finding->text)
        return;
    *model->findings_end = finding;
    model->findings_end = &finding->next;
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

    if (node->name[0])
        return node->name;
    if (out && out->name[0])
        return out->name;
    return node->op_name;
}
