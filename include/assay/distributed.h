/* assay/distributed.h - whether the nodes of a training are evenly loaded, and what talking and
 * waiting cost them.
 *
 *     struct assay_distributed *d;
 *     const struct assay_distributed_result *r;
 *     assay_distributed_new(&d, NULL, &err);
 *     assay_distributed_node(d, "rank0", 1.25);
 *     assay_distributed_node(d, "rank1", 1.5);
 *     assay_distributed_transfer(d, "rank0", "rank1", "all_reduce", 1 << 20, 0.01);
 *     if (assay_distributed_analyze(d, &r, &err) == 0)
 *         printf("slowest: %s\n", r->load.slowest_node);
 *     assay_distributed_free(d);
 *
 * Two answers from the same events: the documented one, which adds all durations as if they came
 * one after the other (`bottlenecks`), and one by node: overlapping intervals counted once, each
 * participant's time counted, waiting at barriers included (`findings`). MB in this header is MiB.
 * Nodes, types and metrics are at most 65,536 of each kind; LIMIT beyond. One thread at a time. */
#ifndef ASSAY_DISTRIBUTED_H
#define ASSAY_DISTRIBUTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>
#include <assay/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_distributed;

/* Zero means the default. */
struct assay_distributed_options {
    size_t size;           /* sizeof(struct assay_distributed_options) */
    size_t max_events;     /* newest kept of each kind: 100,000; sums are of all */
    double balanced_below; /* 0.1 */
    double imbalance_above, imbalance_high_above;                 /* 0.2, 0.5 */
    double communication_percent, communication_high_percent;     /* 20, 40 */
    double synchronization_percent, synchronization_high_percent; /* 15, 30 */
    double barrier_wait_percent, barrier_wait_high_percent;       /* of node time: 10, 20 */
};

/* USAGE for a threshold that is negative or not finite. */
ASSAY_API int assay_distributed_new(struct assay_distributed **out,
                                    const struct assay_distributed_options *options,
                                    struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_distributed_free(struct assay_distributed *d);
ASSAY_API void assay_distributed_reset(struct assay_distributed *d);

/* ---- input: optional fields that are 0 or NaN are unknown ---- */

struct assay_node_layer {
    const char *name;
    double total_seconds; /* seconds */
};

struct assay_node_profile {
    size_t size;          /* sizeof(struct assay_node_profile) */
    double total_seconds; /* seconds; 0 or NaN: the sum of the layers, or unknown without layers */
    const struct assay_node_layer *layers;
    size_t n_layers;
};

/* A node added twice keeps the later profile. USAGE without an id, or for a time that is negative
 * or infinite. */
ASSAY_API int assay_distributed_add_node(struct assay_distributed *d, const char *id,
                                         const struct assay_node_profile *profile,
                                         struct assay_error *err);
/* Nodes that have a profile. */
ASSAY_API size_t assay_distributed_nodes(const struct assay_distributed *d);

struct assay_communication {
    size_t size; /* sizeof(struct assay_communication) */
    const char *source, *destination;
    const char *operation_type; /* NULL: "transfer" */
    double data_size_mb, duration_ms;
    double start_time_seconds; /* UNIX seconds on the clock all nodes share; 0 or NaN: unknown */
    double timestamp_seconds;  /* UNIX seconds, of the record; 0 or NaN: now */
};
/* USAGE without source or destination, or for a size or duration that is negative or not finite. */
ASSAY_API int assay_distributed_add_communication(struct assay_distributed *d,
                                                  const struct assay_communication *event,
                                                  struct assay_error *err);

struct assay_synchronization {
    size_t size; /* sizeof(struct assay_synchronization) */
    const char *const *nodes;
    size_t n_nodes;
    const char *sync_type;
    double duration_ms;
    double barrier_wait_ms; /* of each participant, on average; 0 or NaN: unknown, a wait of
                               zero is ASSAY_MEASURED_ZERO */
    double start_time_seconds, timestamp_seconds;
};
/* USAGE without a type, for a node without a name, or for a time that is negative or infinite. */
ASSAY_API int assay_distributed_add_synchronization(struct assay_distributed *d,
                                                    const struct assay_synchronization *event,
                                                    struct assay_error *err);

struct assay_node_metric {
    const char *name;
    double value;
};
/* USAGE for a value that is not finite. `timestamp_seconds` NaN: now. */
ASSAY_API int assay_distributed_add_metrics(struct assay_distributed *d, const char *id,
                                            const struct assay_node_metric *metrics, size_t n,
                                            double timestamp_seconds, struct assay_error *err);

/* The same in short, for what is known in most cases: in seconds and bytes, at an unknown start,
 * recorded now. They return 0 or the code that the call above returns, without its sentence.
 * `operation` NULL: "transfer". `wait_seconds` 0 or NaN: unknown. */
ASSAY_API int assay_distributed_node(struct assay_distributed *d, const char *id, double seconds);
ASSAY_API int assay_distributed_transfer(struct assay_distributed *d, const char *from,
                                         const char *to, const char *operation, uint64_t bytes,
                                         double seconds);
ASSAY_API int assay_distributed_synchronize(struct assay_distributed *d, const char *type,
                                            const char *const *nodes, size_t n_nodes,
                                            double seconds, double wait_seconds);
ASSAY_API int assay_distributed_metric(struct assay_distributed *d, const char *id,
                                       const char *metric, double value);

/* ---- what was kept, `i` from 0, the oldest first; false past the end ---- */

struct assay_communication_event {
    size_t size; /* set by the library */
    const char *source, *destination, *operation_type;
    double data_size_mb, duration_ms;
    double bandwidth_mib_per_second; /* documented name, MiB per second; 0 when the duration is 0 */
    double bytes_per_second;         /* NaN when the duration is 0 */
    double start_time_seconds, timestamp_seconds;
};
ASSAY_API bool assay_distributed_communication_at(const struct assay_distributed *d, size_t i,
                                                  struct assay_communication_event *out);

struct assay_synchronization_event {
    size_t size; /* set by the library */
    const char *sync_type;
    size_t n_nodes; /* assay_distributed_synchronization_node() names those that are kept */
    double duration_ms, barrier_wait_ms, start_time_seconds, timestamp_seconds;
};
ASSAY_API bool assay_distributed_synchronization_at(const struct assay_distributed *d, size_t i,
                                                    struct assay_synchronization_event *out);
/* NULL past the end. */
ASSAY_API const char *assay_distributed_synchronization_node(const struct assay_distributed *d,
                                                             size_t i, size_t node);

struct assay_metric_event {
    size_t size; /* set by the library */
    const char *node, *metric;
    double value, timestamp_seconds;
};
ASSAY_API bool assay_distributed_metric_at(const struct assay_distributed *d, size_t i,
                                           struct assay_metric_event *out);

/* ---- what follows ---- */

struct assay_node_load {
    const char *id;
    double seconds;            /* NaN: unknown */
    bool from_layers;          /* no total was given: the sum of its layers */
    double over_mean;          /* seconds / mean - 1 */
    double communication_ms;   /* it was in a transfer, overlaps counted once */
    double synchronization_ms; /* likewise; this and the one before may overlap each other */
    double barrier_wait_ms;    /* the known ones; NaN: none is */
};

struct assay_load_balance {
    const char *error; /* NULL, or why there is none: then only the nodes are listed */
    const struct assay_node_load *nodes; /* in the order in which they were added */
    size_t n_nodes, n_without_time;
    double mean_seconds, std_seconds, max_seconds, min_seconds; /* seconds; std of the population */
    double imbalance_factor; /* (max - min) / mean; 0 if the mean is 0 */
    double max_over_mean;    /* max / mean - 1: the time that is lost */
    const char *slowest_node, *fastest_node;
    bool is_balanced; /* imbalance_factor below 0.1 */
    /* The metric of the slowest node that is furthest from the other nodes' mean. */
    const char *telling_metric; /* NULL: none was given for it and another node */
    double telling_value, telling_others;
};

struct assay_operation_total {
    const char *type;
    uint64_t count;
    double total_time_ms, total_data_mb;
    double mib_per_second; /* data / time; NaN when no time passed */
};

struct assay_communication_overhead {
    double total_communication_time_ms, total_data_transferred_mb;
    uint64_t event_count;
    double mean_bandwidth_mib_per_second; /* documented: mean of the events' MiB per second */
    const struct assay_operation_total *by_operation_type; /* in order of first appearance */
    size_t n_operation_types;
    double mib_per_second, bytes_per_second, megabits_per_second; /* all data / all time */
    uint64_t n_placed;   /* of the kept, those whose start time is known */
    double busy_time_ms; /* at least one of these was under way; NaN when none is placed */
    double overlap_ms;   /* their sum less that */
    double percent;      /* documented: of mean_seconds * nodes; NaN without node times */
    double node_percent; /* of the time of the nodes, per node and overlaps once; NaN likewise */
    uint64_t n_kept;
};

struct assay_synchronization_overhead {
    double total_sync_time_ms;
    double total_barrier_wait_ms; /* of the known ones: of `n_with_wait` events */
    uint64_t event_count, n_with_wait;
    const struct assay_operation_total *by_sync_type; /* total_data_mb is 0 */
    size_t n_sync_types;
    double node_time_ms;         /* each duration times its participants */
    double barrier_node_time_ms; /* each known wait times its participants; NaN: none is known */
    double percent, node_percent;
    double barrier_node_percent; /* NaN when no wait is known */
    uint64_t n_placed, n_kept;
};

/* By the documented rules. */
struct assay_distributed_bottleneck {
    const char *type;     /* load_imbalance, communication_overhead, ... */
    const char *severity; /* "medium" or "high" */
    const char *details, *recommendation;
};

struct assay_metric_total {
    const char *node, *metric;
    uint64_t count;
    double mean, min, max, last;
    double last_timestamp_seconds;
};

/* Borrowed until the next call that changes `d`. */
struct assay_distributed_result {
    size_t size; /* set by the library */
    size_t total_nodes;
    struct assay_load_balance load;
    struct assay_communication_overhead communication;
    struct assay_synchronization_overhead synchronization;
    const struct assay_distributed_bottleneck *bottlenecks;
    size_t n_bottlenecks;
    /* By node time, barrier_wait among them; the rule is as `type` above, the target a node. */
    const struct assay_finding *findings;
    size_t n_findings;
    const struct assay_metric_total *metrics;
    size_t n_metrics;
};
/* Never fails for lack of data: what is missing is NaN, and load.error is the reason. */
ASSAY_API int assay_distributed_analyze(struct assay_distributed *d,
                                        const struct assay_distributed_result **out,
                                        struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
