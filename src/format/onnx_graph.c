/* format/onnx_graph.c - the graphs of an ONNX file: names become values, nodes are read.
 * A name is looked for in its own graph first, then in those around it.
 *
 * GraphProto: node 1, name 2, initializer 5, doc 10, input 11, output 12, value info 13,
 * quantization 14, sparse initializer 15.
 * NodeProto: input 1, output 2, name 3, operator 4, attribute 5, doc 6, domain 7, overload 8. */
#include <string.h>

#include "base/alloc.h"
#include "format/onnx_reader.h"

static uint64_t entry(uint32_t id, uint32_t order)
{
    return (uint64_t)order << 32 | id;
}

static uint32_t entry_order(uint64_t number)
{
    uint32_t order = (uint32_t)(number >> 32);

    return order == AS_ONNX_PENDING ? order : order & ~AS_ONNX_CONSTANT;
}

static bool is_constant(uint64_t number)
{
    uint32_t order = (uint32_t)(number >> 32);

    return order != AS_ONNX_PENDING && (order & AS_ONNX_CONSTANT);
}

/* `kept` is the same name elsewhere: looking names up must not touch the file all over. */
static int bind(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                const char *kept, uint64_t number)
{
    int rc = as_onnx_check_room(r, as_name_map_growth(&scope->names));

    if (rc < 0)
        return rc;
    r->maps_bytes -= as_name_map_bytes(&scope->names);
    rc = as_name_map_put(&scope->names, kept, name.size, number);
    r->maps_bytes += as_name_map_bytes(&scope->names);
    if (rc < 0)
        return as_onnx_no_memory(r);
    if (rc == 0)
        return as_fail_at(r->err, as_onnx_offset(r, name.at), "tensor '%.*s' is made twice",
                          AS_ONNX_SHOWN(name));
    return ASSAY_OK;
}

int as_onnx_bind(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                 uint32_t order, uint32_t id)
{
    return bind(r, scope, name, name.at, entry(id, order));
}

int as_onnx_declare(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                    uint32_t order, uint32_t *id)
{
    char full[AS_MAX_NAME_BYTES];
    size_t size = scope->prefix_size + name.size;
    int rc = as_onnx_check_name(r, name, "name of a tensor");

    if (rc < 0)
        return rc;
    if (size > sizeof full)
        return as_fail_at(r->err, as_onnx_offset(r, name.at),
                          "the name of a tensor in a function is longer than %d bytes",
                          AS_MAX_NAME_BYTES);
    if (scope->prefix_size)
        memcpy(full, scope->prefix, scope->prefix_size);
    memcpy(full + scope->prefix_size, name.at, name.size);
    *id = as_model_add_value(r->model, scope->graph, full, size, r->err);
    if (*id == AS_NONE)
        return r->err->code == ASSAY_ERR_NOMEM ? as_onnx_no_memory(r) : r->err->code;
    return bind(r, scope, name, r->model->values[*id].name + scope->prefix_size, entry(*id, order));
}

void as_onnx_scope_fini(struct as_onnx *r, struct as_onnx_scope *scope)
{
    r->maps_bytes -= as_name_map_bytes(&scope->names);
    as_name_map_fini(&scope->names);
}

/* An output of node number `order`. */
static int declare_output(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                          uint32_t order)
{
    uint64_t *known = as_name_map_find(&scope->names, name.at, name.size);
    uint32_t id;

    if (known && entry_order(*known) == AS_ONNX_PENDING) {
        *known = entry((uint32_t)*known, order);
        return ASSAY_OK;
    }
    /* Tools that rewrite graphs leave old Constants behind; runtimes take the last one. */
    if (known && is_constant(*known) && (order & AS_ONNX_CONSTANT)) {
        *known = entry((uint32_t)*known, order);
        as_model_find(r->model, AS_FINDING_NOTE, NULL, "Constant",
                      "a Constant makes a tensor that a later Constant makes too; the later one "
                      "counts");
        return ASSAY_OK;
    }
    return as_onnx_declare(r, scope, name, order, &id);
}

enum found { FOUND, FOUND_LATER, NOT_FOUND };

/* A body cannot use what its node or a later one makes. */
static enum found find_value(const struct as_onnx_scope *scope, struct as_text name, uint32_t *id)
{
    for (const struct as_onnx_scope *s = scope; s; s = s->parent) {
        const uint64_t *known = as_name_map_find(&s->names, name.at, name.size);

        if (!known)
            continue;
        *id = (uint32_t)*known;
        return s != scope && entry_order(*known) >= s->current ? FOUND_LATER : FOUND;
    }
    return NOT_FOUND;
}

static int resolve(struct as_onnx *r, const struct as_onnx_scope *scope,
                   const struct as_onnx_node *node, struct as_text name, uint32_t *id)
{
    static const char *const why[] = {
        [FOUND_LATER] = "a later node makes", [NOT_FOUND] = "nothing makes"};
    enum found found = find_value(scope, name, id);
    struct as_text label;

    if (found == FOUND)
        return ASSAY_OK;
    if (!node)
        return as_fail_at(r->err, as_onnx_offset(r, name.at),
                          "graph '%.60s' gives out tensor '%.*s', which %s", scope->graph->name,
                          AS_ONNX_SHOWN(name), why[found]);
    label = node->name.size ? node->name : node->op;
    return as_fail_at(r->err, as_onnx_offset(r, name.at),
                      "node '%.*s' (%.*s) needs tensor '%.*s', which %s", AS_ONNX_SHOWN(label),
                      AS_ONNX_SHOWN(node->op), AS_ONNX_SHOWN(name), why[found]);
}

struct as_node *as_onnx_add_node(struct as_onnx *r, struct as_onnx_nodes *nodes)
{
    if (nodes->n == nodes->room) {
        uint32_t room = nodes->room ? nodes->room * 2 : 32;
        struct as_node *at = nodes->fixed ? NULL : as_realloc(nodes->at, room, sizeof *at);

        if (!at) {
            as_onnx_no_memory(r);
            return NULL;
        }
        nodes->at = at;
        nodes->room = room;
    }
    return &nodes->at[nodes->n++];
}

/* The texts of a node and how many there are of the rest. */
static int scan_node(struct as_onnx *r, const struct as_proto *message, struct as_onnx_node *node)
{
    struct as_proto p = *message;
    struct as_proto_field f;
    int rc;

    *node = (struct as_onnx_node){.message = *message, .offset = as_proto_offset(message)};
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        struct as_text *text = f.number == 3   ? &node->name
                               : f.number == 4 ? &node->op
                               : f.number == 7 ? &node->domain
                               : f.number == 8 ? &node->overload
                                               : NULL;

        node->n_inputs += f.number == 1;
        node->n_outputs += f.number == 2;
        node->n_attrs += f.number == 5;
        if (text && (rc = as_proto_text(&p, &f, text, r->err)) < 0)
            return rc;
    }
    if (rc == 0 && node->op.size == 0)
        return as_fail_at(r->err, node->offset, "node '%.*s' has no operator",
                          AS_ONNX_SHOWN(node->name));
    if (rc == 0)
        rc = as_onnx_check_name(r, node->name, "name of a node");
    return rc;
}

static int find_op(struct as_onnx *r, struct as_node *node)
{
    size_t size = strlen(node->op_name);
    enum as_domain domain = as_domain_find(node->domain_name);
    const uint64_t *known;

    if (domain != AS_DOMAIN_ONNX) {
        node->op = as_op_find(domain, node->op_name);
        return ASSAY_OK;
    }
    known = as_name_map_find(&r->ops, node->op_name, size);
    node->op = known ? (enum as_op) * known : as_op_find(domain, node->op_name);
    if (!known && as_name_map_put(&r->ops, node->op_name, size, node->op) < 0)
        return as_onnx_no_memory(r);
    return ASSAY_OK;
}

/* The node's own name, after the prefix of the call it is in. */
static const char *full_name(struct as_onnx *r, const struct as_onnx_scope *scope,
                             struct as_text name)
{
    char *full;

    if (name.size == 0)
        return "";
    full = as_arena_zero(&r->model->arena, scope->prefix_size + name.size + 1, 1);
    if (!full) {
        as_onnx_no_memory(r);
        return NULL;
    }
    if (scope->prefix_size)
        memcpy(full, scope->prefix, scope->prefix_size);
    memcpy(full + scope->prefix_size, name.at, name.size);
    return full;
}

static int read_names(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_onnx_node *src, struct as_node *node)
{
    size_t n = (size_t)src->n_inputs + src->n_outputs;
    uint32_t *ids = as_arena_alloc(&r->model->arena, (n ? n : 1) * sizeof *ids);
    uint32_t *in = ids, *out = ids + src->n_inputs;
    struct as_proto p = src->message;
    struct as_proto_field f;
    struct as_text name;
    int rc;

    if (!ids)
        return as_onnx_no_memory(r);
    node->inputs = in;
    node->outputs = out;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        uint32_t *id = f.number == 1 ? in++ : f.number == 2 ? out++ : NULL;

        if (!id)
            continue;
        *id = AS_NONE;
        rc = as_proto_text(&p, &f, &name, r->err);
        if (rc >= 0 && name.size)
            rc = resolve(r, scope, src, name, id);
        if (rc < 0)
            return rc;
    }
    node->n_inputs = src->n_inputs;
    node->n_outputs = src->n_outputs;
    return rc;
}

static int read_attrs(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_onnx_node *src, struct as_node *node)
{
    struct as_proto p = src->message, inner;
    struct as_attr *attrs;
    struct as_proto_field f;
    int rc;

    if (src->n_attrs == 0)
        return ASSAY_OK;
    attrs = as_arena_zero(&r->model->arena, src->n_attrs, sizeof *attrs);
    if (!attrs)
        return as_onnx_no_memory(r);
    node->attrs = attrs;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        bool kept = false;

        if (f.number != 5)
            continue;
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, as_onnx_read_attr(r, scope, &inner, &attrs[node->n_attrs], &kept));
        if (rc < 0)
            return rc;
        node->n_attrs += kept;
    }
    return rc;
}

/* A Constant in whose place a later one counts. */
static bool is_replaced(const struct as_onnx_scope *scope, const struct as_onnx_node *src,
                        const struct as_node *node)
{
    struct as_proto p = src->message;
    struct as_proto_field f;
    const uint64_t *known = NULL;

    if (node->op != AS_OP_Constant || node->n_outputs != 1)
        return false;
    while (!known && as_proto_next(&p, &f, NULL) > 0)
        if (f.number == 2 && f.wire == AS_WIRE_SIZED)
            known =
                as_name_map_find(&scope->names, (const char *)f.body.at, as_cursor_left(&f.body));
    return known && entry_order(*known) != scope->current;
}

static int read_node(struct as_onnx *r, struct as_onnx_scope *scope, const struct as_proto *message)
{
    struct as_onnx_function *function;
    struct as_onnx_node src;
    struct as_node node = {0}, *place;
    int rc = scan_node(r, message, &src);

    if (rc < 0)
        return rc;
    if (++r->n_nodes > AS_MAX_NODES)
        return as_fail_at(r->err, src.offset, "the model has more than %d nodes", AS_MAX_NODES);
    node.offset = src.offset;
    node.name = full_name(r, scope, src.name);
    node.op_name = as_onnx_word(r, src.op);
    node.domain_name = as_onnx_word(r, src.domain);
    if (!node.name || !node.op_name || !node.domain_name)
        return r->err->code;
    rc = find_op(r, &node);
    AS_ONNX_STEP(rc, read_names(r, scope, &src, &node));
    AS_ONNX_STEP(rc, read_attrs(r, scope, &src, &node));
    if (rc < 0 || is_replaced(scope, &src, &node))
        return rc;
    function = as_onnx_find_function(r, &src);
    /* What we know ourselves we count as one operator, whatever it could be made of. */
    if (function &&
        (node.op == AS_OP_UNKNOWN || as_domain_find(node.domain_name) != AS_DOMAIN_ONNX))
        return as_onnx_expand(r, scope, function, &node, src.offset);
    place = as_onnx_add_node(r, scope->nodes);
    if (!place)
        return r->err->code;
    *place = node;
    return ASSAY_OK;
}

/* The outputs of every node are known before the inputs of any are looked for. */
static int declare_outputs(struct as_onnx *r, struct as_onnx_scope *scope,
                           const struct as_proto *message, uint32_t order)
{
    struct as_proto p = *message;
    struct as_proto_field f;
    struct as_text name = {"", 0};
    uint32_t n = 0;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        n += f.number == 2;
        if (f.number == 4 && (rc = as_proto_text(&p, &f, &name, r->err)) < 0)
            return rc;
    }
    if (n == 1 && name.size == 8 && memcmp(name.at, "Constant", 8) == 0)
        order |= AS_ONNX_CONSTANT;
    for (p = *message; rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0;) {
        if (f.number != 2)
            continue;
        rc = as_proto_text(&p, &f, &name, r->err);
        if (rc >= 0 && name.size)
            rc = declare_output(r, scope, name, order);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int as_onnx_read_nodes(struct as_onnx *r, struct as_onnx_scope *scope,
                       const struct as_proto *message, uint32_t field)
{

    struct as_proto p = *message, inner;
    struct as_proto_field f;
    uint32_t order = 0;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != field)
            continue;
        as_onnx_let_go(r, &p);
        if (++order > AS_MAX_NODES)
            return as_fail_at(r->err, f.offset, "the model has more than %d nodes", AS_MAX_NODES);
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, declare_outputs(r, scope, &inner, order));
        if (rc < 0)
            return rc;
    }
    scope->current = 0;
    for (p = *message; rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0;) {
        if (f.number != field)
            continue;
        scope->current++;
        as_onnx_let_go(r, &p);
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, read_node(r, scope, &inner));
    }
    return rc;
}

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
    known = as_name_map_find(&scope->names, info.name.at, info.name.size);
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
    known = as_name_map_find(&scope->names, info.name.at, info.name.size);
    if (known && entry_order(*known) != AS_ONNX_BEFORE && info.typed)
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
    rc = resolve(r, scope, NULL, info.name, id);
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

static int read_constant(struct as_onnx *r, struct as_onnx_scope *scope,
                         const struct as_proto *message, uint32_t *id)
{
    (void)id;
    return add_initializer(r, scope, message, false);
}

static int read_sparse(struct as_onnx *r, struct as_onnx_scope *scope,
                       const struct as_proto *message, uint32_t *id)
{
    (void)id;
    return add_initializer(r, scope, message, true);
}

static int read_info(struct as_onnx *r, struct as_onnx_scope *scope, const struct as_proto *message,
                     uint32_t *id)
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
        ids += ids ? 1 : 0;
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
    *scope->nodes = (struct as_onnx_nodes){.at = scope->graph->nodes, .room = n, .fixed = true};
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
    for (size_t i = 0; i < sizeof steps / sizeof *steps && rc >= 0; i++) {
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
