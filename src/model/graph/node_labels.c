/* model/graph/node_labels.c - names for nodes in subgraphs that other nodes have too. Names that
 * are unique stay as they are in the file, so that they are found there. */
#include "model/graph/node_labels.h"

#include <stdio.h>
#include <string.h>

#include "base/hash_map.h"

#define MAX_LABEL_BYTES  512
#define MAX_LABELS_BYTES (4u << 20) /* of one model: deep graphs repeat long paths */

struct labels {
    struct as_model *model;
    struct as_hash_map count; /* label -> how many nodes have it */
    size_t used_bytes;
};

typedef int (*node_step)(struct labels *l, struct as_graph *graph, struct as_node *node,
                         const char *body);

/* "then" of the attribute "then_branch". */
static int word_size(const char *body)
{
    static const char branch[] = "_branch";
    size_t size = strlen(body), end = sizeof branch - 1;

    if (size > end && strcmp(body + size - end, branch) == 0)
        size -= end;
    return (int)size;
}

/* Does one step for each node of a graph and of the bodies in it, owners before what they own.
 * Depth is limited when a graph is made, so this may call itself. */
static int each_node(struct labels *l, struct as_graph *graph, const char *body, node_step step)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++) {
        struct as_node *node = &graph->nodes[i];

        rc = step(l, graph, node, body);
        for (uint32_t k = 0; k < node->n_attrs && rc == ASSAY_OK; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH)
                rc = each_node(l, node->attrs[k].graph, node->attrs[k].name, step);
    }
    return rc;
}

static int count_label(struct labels *l, struct as_graph *graph, struct as_node *node,
                       const char *body)
{
    const char *label = as_node_label(graph, node);
    int rc = as_hash_map_put(&l->count, label, strlen(label), 1);

    (void)body;
    if (rc == 0)
        ++*as_hash_map_find(&l->count, label, strlen(label));
    return rc < 0 ? ASSAY_ERR_NOMEM : ASSAY_OK;
}

static int qualify(struct labels *l, struct as_graph *graph, struct as_node *node, const char *body)
{
    const char *own = as_node_label(graph, node), *owner;
    char path[MAX_LABEL_BYTES];
    int size;

    if (!graph->parent || node->label || *as_hash_map_find(&l->count, own, strlen(own)) < 2)
        return ASSAY_OK;
    owner = as_node_label(graph->parent, graph->owner);
    size = snprintf(path, sizeof path, "%s/%.*s/%s", owner, word_size(body), body, own);
    if (size >= (int)sizeof path || l->used_bytes + (size_t)size > MAX_LABELS_BYTES)
        return ASSAY_OK;
    l->used_bytes += (size_t)size + 1;
    node->label = as_arena_text(&l->model->arena, path, (size_t)size);
    return node->label ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

static bool has_bodies(const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_attrs; k++)
            if (graph->nodes[i].attrs[k].kind == AS_ATTR_GRAPH)
                return true;
    return false;
}

int as_node_labels_make(struct as_model *model, struct assay_error *err)
{
    struct labels l = {.model = model};
    int rc = ASSAY_OK;

    if (!has_bodies(model->main))
        return ASSAY_OK;
    rc = each_node(&l, model->main, "", count_label);
    if (rc == ASSAY_OK)
        rc = each_node(&l, model->main, "", qualify);
    as_hash_map_fini(&l.count);
    return rc == ASSAY_OK ? rc : as_model_no_memory(model, err);
}
