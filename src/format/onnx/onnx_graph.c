/* format/onnx/onnx_graph.c - the graphs of an ONNX file: constants, inputs, nodes, types, outputs.
 *
 * GraphProto: node 1, name 2, initializer 5, doc 10, input 11, output 12, value info 13,
 * quantization 14, sparse initializer 15. */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "format/onnx/onnx_reader.h"

static int add_initializer(struct as_onnx *r, struct as_onnx_scope *scope,
                           const struct as_proto *message, bool sparse)
{
    struct as_onnx_tensor tensor;
    struct as_value *value;
    uint32_t id;
    int rc = sparse ? as_onnx_read_sparse(r, message, &tensor)
                    : as_onnx_read_tensor(r, message, &tensor);

    if (rc < 0)
        return rc;
    if (tensor.name.size == 0)
        return as_fail_at(r->err, as_proto_offset(message), "an initializer has no name");
    rc = as_onnx_declare(r, scope, tensor.name, AS_ONNX_BEFORE, &id);
    if (rc < 0)
        return rc;
    value = &r->model->values[id];
    value->type = tensor.type;
    value->data = tensor.data;
    value->is_initializer = true;
    return ASSAY_OK;
}

/* An input that is an initializer too is a constant that a caller may replace. */
static int add_input(struct as_onnx *r, struct as_onnx_scope *scope, const struct as_proto *message,
                     uint32_t *id)
{
    const uint64_t *known;
    struct as_onnx_info info;
    int rc = as_onnx_read_info(r, message, &info);

    if (rc < 0)
        return rc;
    if (info.name.size == 0)
        return as_fail_at(r->err, as_proto_offset(message), "an input of graph '%.60s' has no name",
                          scope->graph->name);
    known = as_hash_map_find(&scope->names, info.name.at, info.name.size);
    if (known && r->model->values[(uint32_t)*known].is_initializer) {
        *id = (uint32_t)*known;
        return ASSAY_OK;
    }
    rc = as_onnx_declare(r, scope, info.name, AS_ONNX_BEFORE, id);
    if (rc < 0)
        return rc;
    r->model->values[*id].type = info.type;
    r->model->values[*id].symbols = info.symbols;
    return ASSAY_OK;
}

/* A declared type of something a node makes. */
static int add_info(struct as_onnx *r, struct as_onnx_scope *scope, const struct as_proto *message)
{
    const uint64_t *known;
    struct as_onnx_info info;
    int rc = as_onnx_read_info(r, message, &info);

    if (rc < 0)
        return rc;
    known = as_hash_map_find(&scope->names, info.name.at, info.name.size);
    if (known && as_onnx_order_of(*known) != AS_ONNX_BEFORE && info.typed)
        r->model->values[(uint32_t)*known].type = info.type;
    return ASSAY_OK;
}

static int add_output(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_proto *message, uint32_t *id)
{
    struct as_onnx_info info;
    int rc = as_onnx_read_info(r, message, &info);

    if (rc < 0)
        return rc;
    if (info.name.size == 0)
        return as_fail_at(r->err, as_proto_offset(message),
                          "an output of graph '%.60s' has no name", scope->graph->name);
    rc = as_onnx_resolve(r, scope, NULL, info.name, id);
    return rc < 0 ? rc : add_info(r, scope, message);
}

/* Fields of one number that lie together, so that a later walk need not pass all others again. */
struct span {
    struct as_cursor at;
    uint32_t field; /* 0: of several numbers */
};

enum { MAX_SPANS = 32 };

struct counts {
    uint32_t inputs, outputs, nodes;
    struct as_text name;
    struct span spans[MAX_SPANS];
    size_t n_spans;
};

/* Files are written field by field; one that is not ends as a last span of all kinds. */
static void add_span(struct counts *counts, const struct as_cursor *from, const uint8_t *to,
                     uint32_t field)
{
    struct span *last = counts->n_spans ? &counts->spans[counts->n_spans - 1] : NULL;

    if (last && (last->field == field || counts->n_spans == MAX_SPANS)) {
        last->field = last->field == field ? field : 0;
        last->at.end = to;
        return;
    }
    counts->spans[counts->n_spans++] = (struct span){{from->at, to}, field};
}

static int count_parts(struct as_onnx *r, const struct as_proto *message, struct counts *counts)
{
    struct as_proto p = *message;
    struct as_cursor before = p.at;
    struct as_proto_field f;
    int rc;

    for (; (rc = as_proto_next(&p, &f, r->err)) > 0; before = p.at) {
        as_onnx_let_go(r, &p);
        add_span(counts, &before, p.at.at, f.number);
        counts->nodes += f.number == 1;
        counts->inputs += f.number == 11;
        counts->outputs += f.number == 12;
        if (f.number == 2 && (rc = as_proto_text(&p, &f, &counts->name, r->err)) < 0)
            return rc;
    }
    return rc;
}

typedef int (*part_step)(struct as_onnx *r, struct as_onnx_scope *scope,
                         const struct as_proto *message, uint32_t *id);

/* The three below have no use for `id`, but one type with those that do. */
static int read_constant(struct as_onnx *r, struct as_onnx_scope *scope,
                         const struct as_proto *message,
                         uint32_t *id) /* NOLINT(readability-non-const-parameter) */
{
    (void)id;
    return add_initializer(r, scope, message, false);
}

static int read_sparse(struct as_onnx *r, struct as_onnx_scope *scope,
                       const struct as_proto *message,
                       uint32_t *id) /* NOLINT(readability-non-const-parameter) */
{
    (void)id;
    return add_initializer(r, scope, message, true);
}

static int read_info(struct as_onnx *r, struct as_onnx_scope *scope, const struct as_proto *message,
                     uint32_t *id) /* NOLINT(readability-non-const-parameter) */
{
    (void)id;
    return add_info(r, scope, message);
}

/* Does a step for each field of a number; `ids` has room for one value each, or is NULL. */
static int walk_parts(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_proto *message, uint32_t field, part_step step, uint32_t *ids)
{
    struct as_proto p = *message, inner;
    struct as_proto_field f;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != field)
            continue;
        as_onnx_let_go(r, &p);
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, step(r, scope, &inner, ids));
        if (rc < 0)
            return rc;
        if (ids)
            ids++;
    }
    return rc;
}

/* The smallest part of the message that has all fields of that number. */
static struct as_proto part_of(const struct as_proto *message, const struct counts *counts,
                               uint32_t field)
{
    struct as_proto part = *message;

    part.at = (struct as_cursor){NULL, NULL};
    for (size_t i = 0; i < counts->n_spans; i++) {
        const struct span *span = &counts->spans[i];

        if (span->field != field && span->field != 0)
            continue;
        if (!part.at.at)
            part.at.at = span->at.at;
        part.at.end = span->at.end;
    }
    return part;
}

/* Without functions the number of nodes is known, and they go straight where they stay. */
static int place_nodes(struct as_onnx *r, struct as_onnx_scope *scope, uint32_t n)
{
    int rc;

    if (r->n_nodes + n > AS_MAX_NODES)
        return as_fail(r->err, ASSAY_ERR_LIMIT, "the model has more than %d nodes", AS_MAX_NODES);
    if (r->n_functions > 0)
        return ASSAY_OK;
    rc = as_graph_reserve_nodes(scope->graph, n, r->err);
    if (rc < 0)
        return as_onnx_no_memory(r);
    scope->graph->n_nodes = 0;
    *scope->nodes = (struct as_onnx_nodes){.at = scope->graph->nodes, .capacity = n, .fixed = true};
    return ASSAY_OK;
}

static int keep_nodes(struct as_onnx *r, const struct as_onnx_scope *scope)
{
    const struct as_onnx_nodes *nodes = scope->nodes;

    if (!nodes->fixed) {
        if (as_graph_reserve_nodes(scope->graph, nodes->n, r->err) < 0)
            return as_onnx_no_memory(r);
        if (nodes->n)
            memcpy(scope->graph->nodes, nodes->at, nodes->n * sizeof *nodes->at);
        r->n_loose -= nodes->n;
    }
    scope->graph->n_nodes = nodes->n;
    return ASSAY_OK;
}

static int read_parts(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_proto *message, const struct counts *counts)
{
    struct as_graph *graph = scope->graph;
    size_t n = (size_t)counts->inputs + counts->outputs;
    uint32_t *ids = as_arena_alloc(&r->model->arena, (n ? n : 1) * sizeof *ids);
    /* In the order in which each needs what is known before; NULL: the nodes. */
    const struct {
        uint32_t field;
        part_step step;
        uint32_t *ids;
    } steps[] = {
        {5, read_constant, NULL}, {15, read_sparse, NULL},
        {11, add_input, ids},     {1, NULL, NULL},
        {13, read_info, NULL},    {12, add_output, ids ? ids + counts->inputs : NULL},
    };
    int rc;

    if (!ids)
        return as_onnx_no_memory(r);
    rc = place_nodes(r, scope, counts->nodes);
    for (size_t i = 0; i < AS_COUNT_OF(steps) && rc >= 0; i++) {
        struct as_proto part = part_of(message, counts, steps[i].field);

        if (steps[i].step)
            rc = walk_parts(r, scope, &part, steps[i].field, steps[i].step, steps[i].ids);
        else
            rc = as_onnx_read_nodes(r, scope, &part, steps[i].field);
    }
    graph->inputs = ids;
    graph->outputs = ids + counts->inputs;
    graph->n_inputs = counts->inputs;
    graph->n_outputs = counts->outputs;
    AS_ONNX_STEP(rc, keep_nodes(r, scope));
    return rc;
}

int as_onnx_read_graph(struct as_onnx *r, const struct as_proto *message,
                       struct as_onnx_scope *outer, struct as_graph **out)
{
    struct as_onnx_nodes nodes = {0};
    struct as_onnx_scope scope = {.parent = outer, .nodes = &nodes};
    struct counts counts = {0};
    const char *name;
    int rc = count_parts(r, message, &counts);

    if (rc < 0)
        return rc;
    name = as_onnx_word(r, counts.name);
    if (!name)
        return r->err->code;
    scope.graph = as_graph_new(r->model, outer ? outer->graph : NULL, name, r->err);
    if (!scope.graph)
        return r->err->code;
    if (outer) {
        scope.prefix = outer->prefix;
        scope.prefix_size = outer->prefix_size;
        scope.call = outer->call;
    }
    *out = scope.graph;
    rc = read_parts(r, &scope, message, &counts);
    if (!nodes.fixed)
        as_free(nodes.at);
    as_onnx_scope_fini(r, &scope);
    return rc < 0 ? rc : ASSAY_OK;
}
