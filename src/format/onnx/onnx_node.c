/* format/onnx/onnx_node.c - the nodes of a graph or a function in an ONNX file.
 *
 * NodeProto: input 1, output 2, name 3, operator 4, attribute 5, doc 6, domain 7, overload 8. */
#include <string.h>

#include "base/alloc.h"
#include "format/onnx/onnx_reader.h"

struct as_node *as_onnx_add_node(struct as_onnx *r, struct as_onnx_nodes *nodes)
{
    if (nodes->n == nodes->capacity) {
        uint32_t capacity = nodes->capacity ? nodes->capacity * 2 : 32;
        struct as_node *at;

        if (as_onnx_check_capacity(r, 0) < 0)
            return NULL;
        at = nodes->fixed ? NULL : as_realloc(nodes->at, capacity, sizeof *at);
        if (!at) {
            as_onnx_no_memory(r);
            return NULL;
        }
        nodes->at = at;
        nodes->capacity = capacity;
    }
    r->n_loose += !nodes->fixed;
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
    known = as_hash_map_find(&r->ops, node->op_name, size);
    node->op = known ? (enum as_op) * known : as_op_find(domain, node->op_name);
    if (!known && r->ops.n < AS_ONNX_MAX_WORDS &&
        as_hash_map_put(&r->ops, node->op_name, size, node->op) < 0)
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
    uint32_t *in = ids, *out = ids ? ids + src->n_inputs : NULL;
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
            rc = as_onnx_resolve(r, scope, src, name, id);
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
                as_hash_map_find(&scope->names, (const char *)f.body.at, as_cursor_left(&f.body));
    return known && as_onnx_order_of(*known) != scope->current;
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
            rc = as_onnx_declare_output(r, scope, name, order);
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
