/* analyze/model/inspect_groups.c - sums over the layers of one kind or one part of a network.
 * Groups keep the order of the graph, so that a report reads from top to bottom. */
#include <string.h>

#include "analyze/model/inspect.h"
#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/text/name_fit.h"
#include "model/cost/cost_rules.h"

size_t as_name_scope(const char *name, unsigned depth)
{
    char separator = strchr(name, '/') ? '/' : '.';
    size_t last = 0, start = name[0] == '/' ? 1 : 0;
    unsigned parts = 0;

    for (size_t i = start; name[i]; i++)
        if (name[i] == separator) {
            last = i;
            if (++parts == depth)
                break;
        }
    return last;
}

const char *as_inspect_brief(const struct as_inspection *in, const struct as_cost_row *row)
{
    const char *label = as_node_label(row->graph, row->node), *last = as_name_last(label);

    for (size_t i = 0; last != label && i < in->costs->n_rows; i++) {
        const struct as_cost_row *other = &in->costs->rows[i];

        if (other != row &&
            strcmp(as_name_last(as_node_label(other->graph, other->node)), last) == 0)
            return label;
    }
    return last;
}

static const char *key_of(const struct as_cost_row *row, enum as_inspect_grouping grouping,
                          unsigned depth, size_t *size)
{
    const char *label = as_node_label(row->graph, row->node);

    if (grouping == AS_GROUP_OP)
        label = row->node->op_name;
    *size = grouping == AS_GROUP_OP ? strlen(label)
                                    : as_name_scope(label, grouping == AS_GROUP_DEPTH ? depth : 0);
    return label;
}

void as_group_add(struct as_inspect_group *group, const struct as_cost_row *row)
{
    group->n_rows++;
    group->times = as_sat_add(group->times, row->times);
    as_cost_add(&group->forward, &row->forward, row->times);
    as_cost_add(&group->backward, &row->backward_total, 1);
    group->parameters = as_sat_add(group->parameters, row->parameters);
    group->parameter_bytes = as_sat_add(group->parameter_bytes, row->parameter_bytes);
    group->output_bytes = as_sat_add(group->output_bytes, row->output_bytes);
    group->saved_bytes = as_sat_add(group->saved_bytes, row->saved_bytes);
    group->known &= row->state == AS_COST_KNOWN || row->times == 0;
    group->times_known &= row->times_known;
}

enum {
    TREE_DEPTH = 8, /* deeper levels of a tree are not shown */
    MAX_GROUPS = 10000
};

struct grouping {
    struct as_inspection *in;
    struct as_hash_map index;        /* names to groups */
    struct as_inspect_group *groups; /* in the order they came up */
    uint32_t *parent;                /* of each, in a tree; AS_NONE: none */
    size_t n, capacity;
    bool too_many;
};

/* The group's number, or AS_NONE without memory or when there are too many. */
static uint32_t add_to(struct grouping *g, const struct as_cost_row *row, const char *key,
                       size_t size, unsigned depth)
{
    const uint64_t *known = as_hash_map_find(&g->index, key, size);
    uint32_t at = known ? (uint32_t)*known : (uint32_t)g->n;

    if (!known && g->n == g->capacity) {
        g->too_many = true;
        return AS_NONE;
    }
    if (!known) {
        const char *name = as_arena_text(&g->in->arena, key, size);

        if (!name || as_hash_map_put(&g->index, name, size, at) < 0)
            return AS_NONE;
        g->groups[at] = (struct as_inspect_group){
            .name = name, .depth = depth, .known = true, .times_known = true};
        g->parent[at] = AS_NONE;
        g->n++;
    }
    as_group_add(&g->groups[at], row);
    return at;
}

/* Into every scope around it, the outermost first. */
static bool add_to_tree(struct grouping *g, const struct as_cost_row *row, unsigned depth)
{
    const char *label = as_node_label(row->graph, row->node);
    uint32_t around = AS_NONE;
    size_t before = 0;

    for (unsigned d = 1; d <= depth; d++) {
        size_t size = as_name_scope(label, d);
        uint32_t group;

        if (size == before)
            break;
        group = add_to(g, row, label, size, d);
        if (group == AS_NONE)
            return false;
        if (d > 1)
            g->parent[group] = around;
        around = group;
        before = size;
    }
    return before > 0 || add_to(g, row, label, strlen(label), 1) != AS_NONE;
}

/* Each group followed by those inside it. Numbers grow from parent to child, so one pass backwards
 * makes the lists of children, each in its order. */
static bool put_in_tree_order(const struct grouping *g, struct as_inspect_group *out)
{
    uint32_t *child = as_alloc((g->n + 1) * sizeof *child);
    uint32_t *next = as_alloc((g->n + 1) * sizeof *next);
    uint32_t stack[TREE_DEPTH + 2], top = AS_NONE;
    size_t depth = 0, n = 0;
    bool ok = child && next;

    for (size_t i = 0; ok && i < g->n; i++)
        child[i] = AS_NONE;
    for (size_t i = g->n; ok && i-- > 0;) {
        uint32_t *list = g->parent[i] == AS_NONE ? &top : &child[g->parent[i]];

        next[i] = *list;
        *list = (uint32_t)i;
    }
    if (ok)
        stack[depth++] = top;
    while (ok && depth > 0) {
        uint32_t at = stack[depth - 1];

        if (at == AS_NONE) {
            depth--;
            continue;
        }
        out[n++] = g->groups[at];
        stack[depth - 1] = next[at];
        stack[depth++] = child[at];
    }
    as_free(next);
    as_free(child);
    return ok;
}

static bool add_rows(struct grouping *g, enum as_inspect_grouping grouping, unsigned depth)
{
    for (size_t i = 0; i < g->in->costs->n_rows; i++) {
        const struct as_cost_row *row = &g->in->costs->rows[i];
        const char *key;
        size_t size;
        bool added;

        if (as_row_is_constant(row) && row->parameters == 0)
            continue;
        key = key_of(row, grouping, depth, &size);
        if (grouping == AS_GROUP_TREE)
            added = add_to_tree(g, row, depth);
        else
            added = add_to(g, row, key, size, 0) != AS_NONE;
        if (!added)
            return false;
    }
    return true;
}

int as_inspect_groups(struct as_inspection *in, enum as_inspect_grouping grouping, unsigned depth,
                      struct as_inspect_group **groups, size_t *n_groups, struct assay_error *err)
{
    struct grouping g = {.in = in};
    int rc = ASSAY_OK;

    depth = depth < TREE_DEPTH || grouping != AS_GROUP_TREE ? depth : TREE_DEPTH;
    g.capacity = in->costs->n_rows * (grouping == AS_GROUP_TREE ? depth : 1) + 1;
    g.capacity = g.capacity < MAX_GROUPS ? g.capacity : MAX_GROUPS;
    g.groups = as_alloc(g.capacity * sizeof *g.groups);
    g.parent = as_alloc(g.capacity * sizeof *g.parent);
    *n_groups = 0;
    if (!g.groups || !g.parent || !add_rows(&g, grouping, depth)) {
        rc = g.too_many
                 ? as_fail(err, ASSAY_ERR_LIMIT,
                           "the layers are in more than %d modules, which is the limit for groups",
                           MAX_GROUPS)
                 : as_fail_nomem(err);
        goto out;
    }
    *groups = as_arena_alloc(&in->arena, (g.n + 1) * sizeof **groups);
    if (!*groups || (grouping == AS_GROUP_TREE && !put_in_tree_order(&g, *groups))) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (grouping != AS_GROUP_TREE)
        memcpy(*groups, g.groups, g.n * sizeof **groups);
    *n_groups = g.n;
out:
    as_free(g.parent);
    as_free(g.groups);
    as_hash_map_fini(&g.index);
    return rc;
}
