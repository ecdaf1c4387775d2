/* analyze/run/saved_profile_parts.h - what a session says beside layers, memory and bottlenecks:
 * values that stand out, nodes that work together, backends compared. From its JSON alone. */
#ifndef AS_ANALYZE_RUN_SAVED_PROFILE_PARTS_H
#define AS_ANALYZE_RUN_SAVED_PROFILE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_tree.h"

/* Numbers are NaN and texts "" where the file does not tell them; `why` of a part says why it is
 * not there at all, NULL: it is. */
struct as_view_anomaly {
    const char *layer, *metric, *test;
    double value, median, z; /* z: NaN too when the values before had no spread */
};

struct as_view_anomalies {
    const char *why;
    uint64_t count, values;             /* `count` of `values` stand out */
    const struct as_view_anomaly *list; /* the farthest from those before it first */
    size_t n;
};

struct as_view_finding {
    const char *type, *severity, *details, *recommendation;
};

struct as_view_node {
    const char *id;
    double seconds, over_mean, communication_ms, synchronization_ms, barrier_wait_ms;
};

struct as_view_distributed {
    const char *why;
    uint64_t nodes;
    const struct as_view_finding *finding;
    size_t n_findings;
    const struct as_view_node *node;
    size_t n_nodes;
};

struct as_view_backend {
    const char *name;
    double total_time, layer_wins, peak_memory_mb, energy_j;
};

struct as_view_backends {
    const char *why;
    const char *recommendation, *verdict; /* verdict: of the test between the first and the last */
    const char *unequal;                  /* why their work was not the same; "": it was */
    const struct as_view_backend *list;   /* in the order they were added */
    size_t n;
};

struct as_view_parts {
    struct as_view_anomalies anomalies;
    struct as_view_distributed distributed;
    struct as_view_backends backends;
};

/* `root` is the file, hostile; what is told lives as long as it and the arena. */
AS_MUST_USE int as_view_parts_read(struct as_view_parts *to, struct as_arena *arena,
                                   const struct as_json_value *root, struct assay_error *err);

#endif
