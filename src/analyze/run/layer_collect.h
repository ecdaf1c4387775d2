/* analyze/run/layer_collect.h - gathers the figures of layers while the spans of a run are walked.
 * The half of analyze/run/layers.h that sees events; layers.c turns what it gathered into the
 * result.
 */
#ifndef AS_ANALYZE_RUN_LAYER_COLLECT_H
#define AS_ANALYZE_RUN_LAYER_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/run/layers.h"
#include "stats/describe/histogram.h"
#include "stats/describe/moments.h"

/* ---- call_tree.c ---- */

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

/* ---- layer_collect.c ---- */

#define AS_SPARK_BINS   64   /* while collecting; their width doubles as the run goes on */
#define AS_SPARK_LAYERS 4096 /* layers that get a sparkline */

struct as_spark {
    double sum_ns[AS_SPARK_BINS];
    uint32_t n[AS_SPARK_BINS];
};

/* What one thread did in one site; emptied after each thread. */
struct as_part {
    struct as_moments moments;
    uint64_t failed, inclusive_ns, self_ns;
    uint32_t on_stack; /* calls of it now open */
};

/* One site over all threads. */
struct as_gathered {
    uint32_t site, n_threads;
    struct as_part part;
    bool in_part; /* `part` was used by the thread now walked */
    struct as_moments moments;
    uint64_t failed, unclosed, cut, open, inclusive_ns, self_ns, first_ns;
    uint64_t phase_calls[AS_LAYER_PHASES], phase_self_ns[AS_LAYER_PHASES];
    uint64_t *sample;
    size_t n_samples, capacity;
    uint64_t *bucket; /* of the histogram, once samples are too many to keep */
    struct as_spark *spark;
};

struct as_collector {
    struct as_run *run;
    struct as_layers *out;
    struct as_arena arena;
    struct as_gathered *
        *site; /* [id], NULL until its first event; 0 stands for ids the run does not name */
    struct as_gathered **seen; /* in the order of their first event */
    size_t n_seen;
    struct as_gathered **touched; /* by the thread now walked */
    size_t n_touched;
    struct as_call_tree tree;
    uint32_t *path;        /* node by depth */
    uint8_t *phase;        /* innermost phase by depth */
    int8_t *phase_of_site; /* -1: no phase */
    size_t depth_capacity;
    size_t n_samples, max_samples;
    bool histograms;
    unsigned spark_shift;
    size_t n_sparks;
    size_t n_channels;
    struct as_channel **channel; /* [id] */
    size_t iteration_capacity;
    bool no_memory;
    struct as_thread_summary *thread;
    size_t thread_layer_capacity;
    struct as_event_collector events;
};

AS_MUST_USE int as_collector_init(struct as_collector *c, struct as_run *run, struct as_layers *out,
                                  size_t max_samples, struct assay_error *err);

/* Walks one thread and adds it. */
AS_MUST_USE int as_collector_walk(struct as_collector *c, const struct as_run_thread *thread,
                                  struct as_thread_summary *summary, struct assay_error *err);

void as_collector_fini(struct as_collector *c);

#endif
