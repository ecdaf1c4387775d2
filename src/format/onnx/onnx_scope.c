/* format/onnx/onnx_scope.c - names of tensors in an ONNX file: which value a name means where.
 * A name is looked for in its own graph first, then in those around it. */
#include <string.h>

#include "format/onnx/onnx_reader.h"

static uint64_t entry(uint32_t id, uint32_t order)
{
    return (uint64_t)order << 32 | id;
}

/* `kept` is the same name elsewhere: looking names up must not touch the file all over. */
static int bind(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                const char *kept, uint64_t number)
{
    int rc = as_onnx_check_capacity(r, as_hash_map_growth(&scope->names));

    if (rc < 0)
        return rc;
    r->maps_bytes -= as_hash_map_bytes(&scope->names);
    rc = as_hash_map_put(&scope->names, kept, name.size, number);
    r->maps_bytes += as_hash_map_bytes(&scope->names);
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
    r->maps_bytes -= as_hash_map_bytes(&scope->names);
    as_hash_map_fini(&scope->names);
}

/* An output of node number `order`. */
int as_onnx_declare_output(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                           uint32_t order)
{
    uint64_t *known = as_hash_map_find(&scope->names, name.at, name.size);
    uint32_t id;

    if (known && as_onnx_order_of(*known) == AS_ONNX_PENDING) {
        *known = entry((uint32_t)*known, order);
        return ASSAY_OK;
    }
    /* Tools that rewrite graphs leave old Constants behind; runtimes take the last one. */
    if (known && as_onnx_is_constant(*known) && (order & AS_ONNX_CONSTANT)) {
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
        const uint64_t *known = as_hash_map_find(&s->names, name.at, name.size);

        if (!known)
            continue;
        *id = (uint32_t)*known;
        return s != scope && as_onnx_order_of(*known) >= s->current ? FOUND_LATER : FOUND;
    }
    return NOT_FOUND;
}

int as_onnx_resolve(struct as_onnx *r, const struct as_onnx_scope *scope,
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
