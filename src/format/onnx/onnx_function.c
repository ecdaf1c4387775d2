/* format/onnx/onnx_function.c - functions a model brings along: each call is replaced by their
 * nodes. A function sees nothing around it but the tensors and attributes it is given.
 *
 * FunctionProto: name 1, input 4, output 5, attribute 6, node 7, doc 8, opset 9 (domain 1, version
 * 2), domain 10, attribute with default 11, value info 12, overload 13. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "format/onnx/onnx_reader.h"

/* "ai.onnx" and "" are one domain. */
static struct as_text plain_domain(struct as_text domain)
{
    if (domain.size == 7 && memcmp(domain.at, "ai.onnx", 7) == 0)
        return (struct as_text){"", 0};
    return domain;
}

/* Domain, name and overload as one key; false when they do not fit. */
static bool key_of(char key[AS_MAX_NAME_BYTES], size_t *size, struct as_text domain,
                   struct as_text name, struct as_text overload)
{
    struct as_text parts[3] = {plain_domain(domain), name, overload};

    *size = 0;
    for (int i = 0; i < 3; i++) {
        if (parts[i].size + 1 > AS_MAX_NAME_BYTES - *size)
            return false;
        if (parts[i].size)
            memcpy(key + *size, parts[i].at, parts[i].size);
        *size += parts[i].size;
        key[(*size)++] = '\0';
    }
    return true;
}

static int scan_function(struct as_onnx *r, struct as_onnx_function *function)
{
    struct as_proto p = function->message;
    struct as_proto_field f;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        struct as_text *text = f.number == 1    ? &function->name
                               : f.number == 10 ? &function->domain
                               : f.number == 13 ? &function->overload
                                                : NULL;

        if (text && (rc = as_proto_text(&p, &f, text, r->err)) < 0)
            return rc;
    }
    return rc;
}

static int index_function(struct as_onnx *r, size_t i)
{
    struct as_onnx_function *function = &r->functions[i];
    char key[AS_MAX_NAME_BYTES];
    char *kept;
    size_t size;
    int rc = scan_function(r, function);

    if (rc < 0)
        return rc;
    if (!key_of(key, &size, function->domain, function->name, function->overload))
        return as_fail_at(r->err, function->offset, "the name of a function is too long");
    kept = as_arena_text(&r->model->arena, key, size);
    if (!kept)
        return as_onnx_no_memory(r);
    rc = as_hash_map_put(&r->function_names, kept, size, i);
    if (rc < 0)
        return as_onnx_no_memory(r);
    if (rc == 0)
        return as_fail_at(r->err, function->offset, "function '%.*s' is there twice",
                          AS_ONNX_SHOWN(function->name));
    return ASSAY_OK;
}

int as_onnx_index_functions(struct as_onnx *r, const struct as_proto *model)
{
    struct as_proto p = *model;
    struct as_proto_field f;
    size_t i = 0;
    int rc;

    if (r->n_functions == 0)
        return ASSAY_OK;
    if (r->n_functions > AS_MAX_NODES)
        return as_fail(r->err, ASSAY_ERR_LIMIT, "the model has more than %d functions",
                       AS_MAX_NODES);
    r->functions = as_alloc_zero(r->n_functions, sizeof *r->functions);
    if (!r->functions)
        return as_onnx_no_memory(r);
    r->maps_bytes += r->n_functions * (sizeof *r->functions + 2 * sizeof(struct as_hash_slot));
    rc = as_onnx_check_capacity(r, 0);
    while (rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != 25)
            continue;
        r->functions[i].offset = f.offset;
        rc = as_proto_enter(&r->functions[i].message, &p, &f, r->err);
        AS_ONNX_STEP(rc, index_function(r, i));
        i++;
    }
    return rc;
}

struct as_onnx_function *as_onnx_find_function(const struct as_onnx *r,
                                               const struct as_onnx_node *node)
{
    char key[AS_MAX_NAME_BYTES];
    const uint64_t *known;
    size_t size;

    if (r->n_functions == 0 || !key_of(key, &size, node->domain, node->op, node->overload))
        return NULL;
    known = as_hash_map_find(&r->function_names, key, size);
    return known ? &r->functions[*known] : NULL;
}

/* A call that is being put in place. */
struct expansion {
    struct as_onnx_scope scope;
    struct as_onnx_call call;
    const struct as_node *node;
    struct as_onnx_function *function;
};

static int check_call(struct as_onnx *r, const struct as_onnx_scope *scope,
                      const struct as_onnx_function *function, uint64_t offset)
{
    for (const struct as_onnx_call *c = scope->call; c; c = c->outer)
        if (c->function == function)
            return as_fail_at(r->err, offset, "function '%.*s' calls itself",
                              AS_ONNX_SHOWN(function->name));
    if (r->call_depth >= AS_ONNX_MAX_CALLS_DEEP)
        return as_fail_at(r->err, offset,
                          "functions call each other more than %d deep, '%.*s' last",
                          AS_ONNX_MAX_CALLS_DEEP, AS_ONNX_SHOWN(function->name));
    return ASSAY_OK;
}

/* The attributes of the call, then the defaults of the function: the first of a name counts. */
static int gather_attrs(struct as_onnx *r, struct expansion *e, uint32_t n_defaults)
{
    struct as_proto p = e->function->message, inner;
    struct as_proto_field f;
    struct as_attr *attrs;
    size_t n = e->node->n_attrs;
    int rc = ASSAY_OK;

    attrs = as_arena_zero(&r->model->arena, n + n_defaults + 1, sizeof *attrs);
    if (!attrs)
        return as_onnx_no_memory(r);
    if (n)
        memcpy(attrs, e->node->attrs, n * sizeof *attrs);
    while (rc >= 0 && (rc = as_proto_next(&p, &f, r->err)) > 0) {
        bool kept = false;

        if (f.number != 11)
            continue;
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, as_onnx_read_attr(r, &e->scope, &inner, &attrs[n], &kept));
        n += kept;
    }
    e->call.attrs = attrs;
    e->call.n_attrs = n;
    return rc;
}

static int bind_input(struct as_onnx *r, struct expansion *e, struct as_text name, uint32_t i)
{
    uint32_t id = i < e->node->n_inputs ? e->node->inputs[i] : AS_NONE;
    int rc = as_onnx_check_name(r, name, "name of a tensor");

    return rc < 0 ? rc : as_onnx_bind(r, &e->scope, name, AS_ONNX_BEFORE, id);
}

/* An output that is an input too gets a node of its own afterwards. */
static int bind_output(struct as_onnx *r, struct expansion *e, struct as_text name, uint32_t i)
{
    uint32_t id = i < e->node->n_outputs ? e->node->outputs[i] : AS_NONE;
    const uint64_t *known = as_hash_map_find(&e->scope.names, name.at, name.size);

    if (id == AS_NONE || (known && *known >> 32 == AS_ONNX_BEFORE))
        return ASSAY_OK;
    return as_onnx_bind(r, &e->scope, name, AS_ONNX_PENDING, id);
}

typedef int (*formal_step)(struct as_onnx *r, struct expansion *e, struct as_text name, uint32_t i);

/* Does a step for each input (field 4) or output (field 5) the function names. */
static int each_formal(struct as_onnx *r, struct expansion *e, uint32_t field, formal_step step,
                       uint32_t *n)
{
    struct as_proto p = e->function->message;
    struct as_proto_field f;
    struct as_text name;
    int rc;

    *n = 0;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != field)
            continue;
        rc = as_proto_text(&p, &f, &name, r->err);
        AS_ONNX_STEP(rc, step(r, e, name, *n));
        if (rc < 0)
            return rc;
        ++*n;
    }
    return rc;
}

static int pass_on(struct as_onnx *r, struct expansion *e, uint32_t from, uint32_t to)
{
    uint32_t *ids = as_arena_alloc(&r->model->arena, 2 * sizeof *ids);
    struct as_node *node;

    if (!ids)
        return as_onnx_no_memory(r);
    node = as_onnx_add_node(r, e->scope.nodes);
    if (!node)
        return r->err->code;
    ids[0] = from;
    ids[1] = to;
    *node = (struct as_node){.name = "",
                             .op_name = "Identity",
                             .domain_name = "",
                             .op = AS_OP_Identity,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .inputs = ids,
                             .outputs = ids + 1,
                             .offset = e->function->offset};
    return ASSAY_OK;
}

static int finish_output(struct as_onnx *r, struct expansion *e, struct as_text name, uint32_t i)
{
    const uint64_t *known = as_hash_map_find(&e->scope.names, name.at, name.size);
    uint32_t id = i < e->node->n_outputs ? e->node->outputs[i] : AS_NONE;

    if (!known || id == AS_NONE)
        return ASSAY_OK;
    if (*known >> 32 == AS_ONNX_PENDING)
        return as_fail_at(r->err, as_onnx_offset(r, name.at),
                          "function '%.*s' does not make its output '%.*s'",
                          AS_ONNX_SHOWN(e->function->name), AS_ONNX_SHOWN(name));
    if (*known >> 32 == AS_ONNX_BEFORE)
        return pass_on(r, e, (uint32_t)*known, id);
    return ASSAY_OK;
}

/* "call/", in front of every name made inside; a number makes the second call of a name another. */
static int set_prefix(struct as_onnx *r, struct expansion *e)
{
    const char *label = as_node_label(e->scope.graph, e->node);
    size_t capacity = strlen(label) + 32, size = strlen(label) + 1;
    char *prefix = as_arena_zero(&r->model->arena, capacity, 1);
    int rc = as_onnx_check_capacity(r, as_hash_map_growth(&r->prefixes));

    if (rc < 0)
        return rc;
    if (!prefix)
        return as_onnx_no_memory(r);
    (void)snprintf(prefix, capacity, "%s/", label);
    r->maps_bytes -= as_hash_map_bytes(&r->prefixes);
    rc = as_hash_map_put(&r->prefixes, prefix, size, 0);
    r->maps_bytes += as_hash_map_bytes(&r->prefixes);
    if (rc < 0)
        return as_onnx_no_memory(r);
    if (rc == 0)
        size =
            (size_t)snprintf(prefix, capacity, "%s.%llu/", label, (unsigned long long)r->n_nodes);
    e->scope.prefix = prefix;
    e->scope.prefix_size = size;
    return ASSAY_OK;
}

/* The opset of the default domain that the function asks for, and how many defaults it has. */
static int scan_calls(struct as_onnx *r, struct expansion *e, uint32_t *n_defaults)
{
    struct as_proto p = e->function->message, inner;
    struct as_proto_field f, g;
    int rc;

    *n_defaults = 0;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        struct as_text domain = {"", 0};
        int64_t version = 0;

        *n_defaults += f.number == 11;
        if (f.number != 9)
            continue;
        rc = as_proto_enter(&inner, &p, &f, r->err);
        while (rc >= 0 && (rc = as_proto_next(&inner, &g, r->err)) > 0) {
            if (g.number == 1)
                rc = as_proto_text(&inner, &g, &domain, r->err);
            else if (g.number == 2)
                rc = as_proto_i64(&inner, &g, &version, r->err);
        }
        if (rc < 0)
            return rc;
        if (plain_domain(domain).size == 0 && version != r->model->opset && !e->function->told) {
            e->function->told = true;
            as_model_find(r->model, AS_FINDING_NOTE, NULL, NULL,
                          "function '%.*s' asks for opset %lld, the model for %lld; the model's "
                          "is used",
                          AS_ONNX_SHOWN(e->function->name), (long long)version,
                          (long long)r->model->opset);
        }
    }
    return rc;
}

static int expand(struct as_onnx *r, struct expansion *e, uint64_t offset)
{
    uint32_t n_defaults = 0, n_inputs = 0, n_outputs = 0, n;
    int rc = set_prefix(r, e);

    AS_ONNX_STEP(rc, scan_calls(r, e, &n_defaults));
    AS_ONNX_STEP(rc, gather_attrs(r, e, n_defaults));
    AS_ONNX_STEP(rc, each_formal(r, e, 4, bind_input, &n_inputs));
    AS_ONNX_STEP(rc, each_formal(r, e, 5, bind_output, &n_outputs));
    if (rc < 0)
        return rc;
    if (e->node->n_inputs > n_inputs || e->node->n_outputs > n_outputs)
        return as_fail_at(r->err, offset,
                          "node '%.60s' gives function '%.*s' %u inputs and %u outputs; it has %u "
                          "and %u",
                          as_node_label(e->scope.graph, e->node), AS_ONNX_SHOWN(e->function->name),
                          e->node->n_inputs, e->node->n_outputs, n_inputs, n_outputs);
    rc = as_onnx_read_nodes(r, &e->scope, &e->function->message, 7);
    AS_ONNX_STEP(rc, each_formal(r, e, 5, finish_output, &n));
    return rc;
}

int as_onnx_expand(struct as_onnx *r, struct as_onnx_scope *scope,
                   struct as_onnx_function *function, const struct as_node *node, uint64_t offset)
{
    struct expansion e = {.node = node, .function = function};
    int rc = check_call(r, scope, function, offset);

    if (rc < 0)
        return rc;
    e.call = (struct as_onnx_call){.function = function, .outer = scope->call};
    e.scope = (struct as_onnx_scope){.graph = scope->graph, .nodes = scope->nodes, .call = &e.call};
    r->call_depth++;
    rc = expand(r, &e, offset);
    r->call_depth--;
    as_onnx_scope_fini(r, &e.scope);
    return rc;
}
