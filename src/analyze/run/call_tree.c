/* analyze/run/call_tree.c - collects the tree of what called what while spans are walked.
 * Nodes are found by hash, so a layer with very many kinds of children costs no more than one with
 * few. */
#include "analyze/run/layer_collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static uint32_t hash(uint32_t parent, uint32_t site)
{
    uint64_t h = ((uint64_t)parent << 32 | site) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(h >> 32);
}

static void put_slot(struct as_call_tree *tree, uint32_t index)
{
    const struct as_call_node *node = &tree->node[index];
    uint32_t at = hash(node->parent, node->site) & (tree->n_slots - 1);

    while (tree->slot[at])
        at = (at + 1) & (tree->n_slots - 1);
    tree->slot[at] = index;
}

/* Room for one more node, and slots at most half full. */
static bool grow(struct as_call_tree *tree)
{
    uint32_t capacity = tree->capacity ? 2 * tree->capacity : 64;
    struct as_call_node *node = as_realloc(tree->node, capacity, sizeof *node);
    uint32_t *slot;

    if (!node)
        return false;
    tree->node = node;
    slot = as_alloc_zero(2 * (size_t)capacity, sizeof *slot);
    if (!slot)
        return false;
    tree->capacity = capacity;
    as_free(tree->slot);
    tree->slot = slot;
    tree->n_slots = 2 * capacity;
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        put_slot(tree, i);
    return true;
}

static uint32_t add(struct as_call_tree *tree, uint32_t parent, uint32_t site)
{
    if (tree->n_nodes >= AS_TREE_MAX_NODES) {
        tree->truncated = true;
        return parent;
    }
    if (tree->n_nodes + 2 > tree->capacity && !grow(tree))
        return UINT32_MAX;
    if (tree->n_nodes == 0)
        tree->node[tree->n_nodes++] = (struct as_call_node){0}; /* the root */
    tree->node[tree->n_nodes] = (struct as_call_node){.site = site, .parent = parent};
    put_slot(tree, tree->n_nodes);
    return tree->n_nodes++;
}

uint32_t as_call_tree_child(struct as_call_tree *tree, uint32_t parent, uint32_t site)
{
    uint32_t at, found = 0;

    if (tree->n_nodes == 0)
        return add(tree, 0, site);
    found = tree->node[parent].last_child;
    if (found && tree->node[found].site == site)
        return found; /* nearly always: loops call the same things again */
    at = hash(parent, site) & (tree->n_slots - 1);
    while ((found = tree->slot[at]) != 0) {
        if (tree->node[found].parent == parent && tree->node[found].site == site)
            break;
        at = (at + 1) & (tree->n_slots - 1);
    }
    if (!found)
        found = add(tree, parent, site);
    if (found != UINT32_MAX)
        tree->node[parent].last_child = found;
    return found;
}

static int by_parent_then_time(const void *a, const void *b, void *user)
{
    const struct as_call_node *node = user;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    if (node[i].parent != node[j].parent)
        return node[i].parent < node[j].parent ? -1 : 1;
    if (node[i].inclusive_ns != node[j].inclusive_ns)
        return node[i].inclusive_ns > node[j].inclusive_ns ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* What the walk needs: nodes sorted so that the children of each stand together, where those of
 * each begin, and where a node went. */
struct order {
    uint32_t *sorted, *next, *place;
};

static void put_node(const struct as_call_tree *tree, const struct order *o, uint32_t index,
                     struct as_tree_node *out, uint32_t at)
{
    const struct as_call_node *node = &tree->node[index];
    uint32_t parent = o->place[node->parent];

    o->place[index] = at;
    out[at] = (struct as_tree_node){.site = node->site,
                                    .depth = out[parent].depth + 1,
                                    .parent = parent,
                                    .calls = node->calls,
                                    .failed = node->failed,
                                    .inclusive_ns = node->inclusive_ns,
                                    .self_ns = node->self_ns};
}

/* Depth first without a stack: going up follows the parents. */
static void emit(const struct as_call_tree *tree, const struct order *o, struct as_tree_node *out)
{
    uint32_t n = tree->n_nodes, n_out = 1, at = 0; /* at: the node whose children come next */

    for (;;) {
        uint32_t k = o->next[at];

        if (k < n - 1 && tree->node[o->sorted[k]].parent == at) {
            o->next[at]++;
            at = o->sorted[k];
            put_node(tree, o, at, out, n_out++);
            continue;
        }
        out[o->place[at]].n_below = n_out - o->place[at] - 1;
        if (at == 0)
            return;
        at = tree->node[at].parent;
    }
}

int as_call_tree_order(const struct as_call_tree *tree, struct as_arena *arena,
                       struct as_tree_node **out, size_t *n_out, struct assay_error *err)
{
    uint32_t n = tree->n_nodes;
    size_t capacity = n ? n : 1;
    uint32_t *memory = as_alloc_zero(3 * capacity, sizeof *memory);
    struct order o;
    int rc = ASSAY_OK;

    *out = as_arena_zero(arena, capacity, sizeof **out);
    *n_out = n;
    if (!*out || !memory) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (n == 0)
        goto out;
    o = (struct order){memory, memory + capacity, memory + 2 * capacity};
    for (uint32_t i = 1; i < n; i++)
        o.sorted[i - 1] = i;
    qsort_r(o.sorted, n - 1, sizeof *o.sorted, by_parent_then_time, tree->node);
    for (uint32_t i = 0; i < n; i++)
        o.next[i] = n - 1; /* no children */
    for (uint32_t k = n - 1; k-- > 0;)
        o.next[tree->node[o.sorted[k]].parent] = k;
    emit(tree, &o, *out);
out:
    as_free(memory);
    return rc;
}

void as_call_tree_fini(struct as_call_tree *tree)
{
    as_free(tree->node);
    as_free(tree->slot);
    *tree = (struct as_call_tree){0};
}
