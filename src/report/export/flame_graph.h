/* report/export/flame_graph.h - stacks as a flame graph: an SVG in one file, without scripts, that
 * needs nothing from anywhere. Callers are below those they call, what weighs more is wider; the
 * tip of a frame has its whole name and its numbers. */
#ifndef AS_REPORT_EXPORT_FLAME_GRAPH_H
#define AS_REPORT_EXPORT_FLAME_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/output.h"

/* How a function is shown. */
struct as_flame_name {
    const char *label; /* within its frame, cut to the width of that */
    const char *tip;   /* whole, and where it is */
    const char *group; /* functions of one have one color; NULL: that of its own name */
    bool pale;         /* it is not what people look for */
};

struct as_flame_node {
    uint32_t name, parent;
    uint64_t self, total;
    uint32_t depth;
    bool again; /* it calls itself; those calls are not drawn apart */
};

/* {0} has no stacks. Node 0 is the root. */
struct as_flame {
    struct as_flame_node *node;
    size_t n, capacity;
    struct as_hash_map index; /* of a node and a name, which are in the arena */
    struct as_arena arena;
    bool nomem;
};

/* The node of function `name`, a number of the caller's, called from `node`. A function that calls
 * itself stays where it is. Without memory it is `node` itself, and as_flame_draw() says so. */
uint32_t as_flame_step(struct as_flame *flame, uint32_t node, uint32_t name);

/* What was spent or allocated there itself. */
void as_flame_add(struct as_flame *flame, uint32_t node, uint64_t weight);

void as_flame_fini(struct as_flame *flame);

struct as_flame_title {
    const char *title, *subtitle;
    size_t (*text)(char *out, double weight); /* writes a weight, AS_TEXT_HUMAN bytes */
    uint64_t max_bytes;                       /* of the file; 0: no limit */
};

/* Frames that would be too narrow to be seen are left out; with `max_bytes` wider ones too, until
 * it fits: LIMIT when it never does. `name` is [number]. */
AS_MUST_USE int as_flame_draw(struct as_flame *flame, const struct as_flame_name *name,
                              const struct as_flame_title *title, struct as_out *out,
                              struct assay_error *err);

#endif
