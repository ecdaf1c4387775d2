/* analyze/run/call_tree.h - collects the tree of what called what while spans are walked.
 * Nodes are found by hash, so a layer with very many kinds of children costs no more than one with
 * few. */
#ifndef AS_ANALYZE_RUN_CALL_TREE_H
#define AS_ANALYZE_RUN_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/run/layers.h"

#define AS_TREE_MAX_NODES (1u << 20)

struct as_call_node {
    uint32_t site, parent, last_child;
    uint64_t calls, failed, inclusive_ns, self_ns;
};

/* {0} is an empty tree. Node 0 is the root. */
struct as_call_tree {
    struct as_call_node *node;
    uint32_t n_nodes, capacity;
    uint32_t *slot; /* hash of (parent, site) -> node */
    uint32_t n_slots;
    bool truncated; /* past AS_TREE_MAX_NODES calls are counted with their parent */
};

/* The node for `site` under `parent`; UINT32_MAX when memory ran out. */
uint32_t as_call_tree_child(struct as_call_tree *tree, uint32_t parent, uint32_t site);

/* The nodes depth first, siblings by inclusive time, in `arena`. */
AS_MUST_USE int as_call_tree_order(const struct as_call_tree *tree, struct as_arena *arena,
                                   struct as_tree_node **out, size_t *n_out,
                                   struct assay_error *err);

void as_call_tree_fini(struct as_call_tree *tree);

#endif
