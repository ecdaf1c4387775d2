/* analyze/cluster/distributed_internal.h - what is known of nodes, transfers and synchronisations.
 * Filled by distributed.c, read by distributed_verdict.c. */
#ifndef AS_ANALYZE_CLUSTER_DISTRIBUTED_INTERNAL_H
#define AS_ANALYZE_CLUSTER_DISTRIBUTED_INTERNAL_H

#include <assay/distributed.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash_map.h"

#define AS_DISTRIBUTED_MAX_NAMES 65536
#define AS_DISTRIBUTED_NO_SET    UINT32_MAX

/* Names and their numbers, in order of first appearance. */
struct as_numbered {
    struct as_hash_map map;
    const char **at;
    size_t n, capacity;
};

struct as_rank {
    bool has_profile, from_layers;
    double seconds;                                               /* NaN: unknown */
    double communication_ms, synchronization_ms, barrier_wait_ms; /* of all events */
    uint64_t n_with_wait;                                         /* of them, told a wait */
};

struct as_transfer {
    uint32_t source, destination, type;
    double data_size_mb, duration_ms, start, timestamp; /* start: NaN when unknown */
};

struct as_sync {
    uint32_t type, set; /* set: the nodes, or AS_DISTRIBUTED_NO_SET */
    size_t n_nodes;
    double duration_ms, barrier_wait_ms, start, timestamp;
};

struct as_metric_reading {
    uint32_t pair;
    double value, timestamp;
};

/* The newest of a kind: event e is at e % max. Grows to max, then turns. */
struct as_newest {
    void *at;
    size_t size, capacity, max;
    uint64_t n;
};

struct as_node_set {
    const uint32_t *nodes;
    size_t n;
};

struct assay_distributed {
    struct assay_distributed_options options;
    struct as_arena arena; /* names, sets */
    struct as_numbered nodes, operations, syncs, metrics;
    struct as_rank *node; /* by number */
    size_t capacity_node;
    size_t n_profiles;
    struct as_newest transfers, synchronizations, readings;
    struct assay_operation_total *operation, *sync; /* by number of type */
    size_t capacity_operation, capacity_sync;
    double transfer_ms, transfer_mb, bandwidth_sum;
    double sync_ms, barrier_ms, sync_node_ms, barrier_node_ms;
    uint64_t n_with_wait;
    struct as_hash_map sets; /* of the bytes of their numbers */
    struct as_node_set *set;
    size_t n_sets, capacity_sets, n_set_nodes;
    struct as_hash_map pairs; /* of node and metric number */
    struct assay_metric_total *pair;
    uint32_t *pair_metric;
    size_t n_pairs, capacity_pairs, capacity_pair_metric;
    struct as_arena answers; /* of the last analysis */
    struct assay_distributed_result result;
};

/* 0 when no time passed, as documented. */
static inline double as_mib_per_second(double data_mb, double duration_ms)
{
    return duration_ms > 0 ? data_mb / duration_ms * 1000 : 0;
}

static inline size_t as_newest_count(const struct as_newest *r)
{
    return r->n < r->max ? (size_t)r->n : r->max;
}

/* The i-th of those kept, the oldest first; i is below their count. */
static inline const void *as_newest_get(const struct as_newest *r, size_t i)
{
    return (const char *)r->at + (size_t)((r->n - as_newest_count(r) + i) % r->max) * r->size;
}

/* The same; NULL past the end. */
static inline const void *as_newest_at(const struct as_newest *r, size_t i)
{
    return i < as_newest_count(r) ? as_newest_get(r, i) : NULL;
}

/* ---- distributed_overlap.c ---- */

struct as_busy {
    double sum_ms, union_ms;
};

/* Adds to `less_ms`, by number of node, what overlaps take off the sum of its durations: 0 or less.
 * `n_placed`: events that have an interval. */
AS_MUST_USE int as_overlap_transfers(const struct assay_distributed *d, double *less_ms,
                                     uint64_t *n_placed, struct assay_error *err);
AS_MUST_USE int as_overlap_syncs(const struct assay_distributed *d, double *less_ms,
                                 uint64_t *n_placed, struct assay_error *err);

/* Of all transfers, whatever the node. */
AS_MUST_USE int as_overlap_any(const struct assay_distributed *d, struct as_busy *out,
                               struct assay_error *err);

#endif
