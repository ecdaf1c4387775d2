/* analyze/cluster/distributed_overlap.h - how long something was under way, overlapping intervals
 * counted once. Only events whose start is known have an interval. */
#ifndef AS_ANALYZE_CLUSTER_DISTRIBUTED_OVERLAP_H
#define AS_ANALYZE_CLUSTER_DISTRIBUTED_OVERLAP_H

#include "analyze/cluster/distributed_internal.h"

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
