/* analyze/call_tree.c - collects the tree of what called what while spans are walked.
 * Nodes are found by hash, so a layer with very many kinds of children costs no more than one with few. */
#include "analyze/call_tree.h"

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
    uint32_t room = tree->room ? 2 * tree->room : 64;
    struct as_call_node *node = as_realloc(tree->node, room, sizeof *node);
    uint32_t *slot;

    if (!node)
        return false;
    tree->node = node;
    slot = as_alloc_zero(2 * (size_t)room, sizeof *slot);
    if (!slot)
        return false;
    tree->room = room;
    as_free(tree->slot);
    tree->slot = slot;
    tree->n_slots = 2 * room;
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
    if (tree->n_nodes + 2 > tree->room && !grow(tree))
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

static int by_parent_then_time(const void *a, const void *b)
{
    const struct as_call_node *x = *(const struct as_call_node *const *)a;
    const struct as_call_node *y = *(const struct as_call_node *const *)b;

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->inclusive_ns != y->inclusive_ns)
        return x->inclusive_ns > y->inclusive_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Emits depth first from the sorted list, where the children of a node stand together. `first[i]` is where those of
 * node i begin. A node's parent always has a smaller index, so the walk needs no stack but the output itself. */
static void emit(const struct as_call_tree *tree, const struct as_call_node *const *sorted, uint32_t *next,
                 struct as_tree_node *out)
{
    uint32_t n = tree->n_nodes, n_out = 0, at = 0; /* at: node whose children come next */
    uint32_t *place = next + n;                    /* where a node stands in the output */

    out[n_out++] = (struct as_tree_node){0};
    place[0] = 0;
    for (;;) {
        uint32_t k = next[at];

        if (k < n - 1 && sorted[k]->parent == at) {
            uint32_t index = (uint32_t)(sorted[k] - tree->node);
            const struct as_call_node *node = sorted[k];

            next[at]++;
            place[index] = n_out;
            out[n_out++] = (struct as_tree_node){.site = node->site,
                                                 .depth = out[place[at]].depth + 1,
                                                 .parent = place[at],
                                                 .calls = node->calls,
                                                 .failed = node->failed,
                                                 .inclusive_ns = node->inclusive_ns,
                                                 .self_ns = node->self_ns};
            at = index;
            continue;
        }
        out[place[at]].n_below = n_out - place[at] - 1;
        if (at == 0)
            return;
        at = tree->node[at].parent;
    }
}

int as_call_tree_order(const struct as_call_tree *tree, struct as_arena *arena, struct as_tree_node **out,
                       size_t *n_out, struct assay_error *err)
{
    uint32_t n = tree->n_nodes;
    const struct as_call_node **sorted = NULL;
    uint32_t *next = NULL;
    int rc = ASSAY_OK;

    *out = as_arena_zero(arena, n ? n : 1, sizeof **out);
    *n_out = n;
    sorted = as_alloc_zero(n ? n : 1, sizeof *sorted);
    next = as_alloc_zero(2 * (size_t)(n ? n : 1), sizeof *next);
    if (!*out || !sorted || !next) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (n == 0)
        goto out;
    for (uint32_t i = 1; i < n; i++)
        sorted[i - 1] = &tree->node[i];
    qsort(sorted, n - 1, sizeof *sorted, by_parent_then_time);
    for (uint32_t i = 0; i < n; i++)
        next[i] = n - 1; /* no children */
    for (uint32_t k = n - 1; k-- > 0;)
        next[sorted[k]->parent] = k;
    emit(tree, sorted, next, *out);
out:
    as_free(sorted);
    as_free(next);
    return rc;
}

void as_call_tree_fini(struct as_call_tree *tree)
{
    as_free(tree->node);
    as_free(tree->slot);
    *tree = (struct as_call_tree){0};
}
