/* analyze/run/layers.h - where the time of a run went: per layer, per thread, as a tree, by phase
 * and by iteration. A pure function of the run; every figure a report shows about layers is made
 * here and nowhere else. */
#ifndef AS_ANALYZE_RUN_LAYERS_H
#define AS_ANALYZE_RUN_LAYERS_H

#include <assay/latency.h>
#include <assay/scope.h>

#include "analyze/run/run_events.h"
#include "base/arena.h"
#include "base/units.h"
#include "stats/describe/outlier.h"
#include "stats/inference/interval.h"
#include "trace/run/run_reader.h"
#include "trace/run/span_walk.h"

/* A figure that cannot be had. */

#define AS_LAYER_SPARK    32                      /* slices of the run in a layer's sparkline */
#define AS_LAYER_PHASES   (ASSAY_PHASE_COUNT + 1) /* the last: outside any phase */
#define AS_LAYER_NO_PHASE ASSAY_PHASE_COUNT
#define AS_COST_FACTOR    10 /* a layer shorter than this many times the recording cost is flagged */

struct as_layers_options {
    int64_t thread;     /* only this thread's index; -1 for all */
    size_t max_samples; /* durations kept exactly, in all; 0 for the default of 12 million */
};
#define AS_LAYERS_OPTIONS_INIT                                                                     \
    {                                                                                              \
        -1, 0                                                                                      \
    }

/* How long complete calls took, begin to end. NaN where there is no such figure. */
struct as_call_times {
    uint64_t n;
    double mean_ns, std_population_ns, std_sample_ns, cv; /* cv from the sample std */
    double min_ns, max_ns, median_ns, mad_ns;
    double p50_ns, p90_ns, p95_ns, p99_ns;                 /* linear */
    double p50_nearest_ns, p95_nearest_ns, p99_nearest_ns; /* nearest rank */
    bool p90_supported, p95_supported, p99_supported;      /* enough calls for that tail */
    double ci95_low_ns, ci95_high_ns;                      /* of the median, by order statistics */
    bool ci95_reached;   /* false: too few calls; low and high are the extremes */
    uint64_t n_outliers; /* by modified z-score */
    bool exact;   /* false: percentiles come from a histogram, nearest rank, within `error` */
    double error; /* relative bound of those; 0 when exact */
};

/* Memory of the process when calls of a layer ended. */
struct as_layer_memory {
    uint64_t samples; /* 0: the rest is unknown */
    double mean_mb, std_mb, min_mb, max_mb;
};

struct as_layer {
    uint32_t site;
    const struct as_run_site *info; /* name, file, line, category, attributes */
    const char *op, *shape;         /* NULL: not told */
    double flops, bytes;            /* of one call; NaN: not told */
    uint64_t calls;                 /* complete ones; `failed` of them failed */
    uint64_t failed;
    uint64_t unclosed, cut,
        open;              /* not complete, and not in any figure below: see enum as_span_state */
    uint64_t inclusive_ns; /* begin to end; a recursive call counts once */
    uint64_t self_ns;      /* without the layers inside */
    double share;          /* of self time in all layers; 0..1 */
    uint64_t first_ns;     /* when it first began */
    struct as_call_times times;
    struct as_layer_memory memory; /* filled in by as_run_findings_new() */
    uint32_t n_threads;            /* 0: unknown */
    bool near_cost; /* its median is under AS_COST_FACTOR times the cost of recording it */
    uint64_t phase_calls[AS_LAYER_PHASES], phase_self_ns[AS_LAYER_PHASES];
    double spark_ns[AS_LAYER_SPARK]; /* mean duration of the calls that ended in that slice; NaN:
                                        none did */
    /* Of calls, all of them or the newest; NULL: single calls were not kept. */
    const double *call_seconds, *call_self_seconds;
    size_t n_call_seconds;
};

struct as_thread_layer {
    uint32_t layer;  /* index into as_layers.layer */
    uint32_t thread; /* index into as_layers.thread */
    uint64_t calls, failed, inclusive_ns, self_ns;
    double min_ns, max_ns, mean_ns, std_population_ns;
};

struct as_thread_summary {
    const struct as_run_thread *info;
    struct as_walk_counts counts;
    uint64_t calls;   /* complete ones of layers; phases are no layers */
    uint64_t busy_ns; /* inside any scope */
    uint64_t
        lost; /* events; UINT64_MAX never: an unknown number counts as 0 and sets lost_unknown */
    bool lost_unknown;
    uint64_t waited_ns; /* for the recorder */
};

/* Depth first, siblings by inclusive time, largest first. Node 0 is the root and has no site. */
struct as_tree_node {
    uint32_t site, depth, parent;
    uint32_t n_below; /* nodes under it: skip that many to reach the next sibling */
    uint64_t calls, failed, inclusive_ns, self_ns;
};

struct as_phase_total {
    uint64_t calls, inclusive_ns, self_ns; /* self: in no layer */
    bool seen;
};

struct as_channel {
    uint32_t site;
    const struct as_run_site *info;
    uint64_t n;
    double min, max, mean, last;
};

struct as_iterations {
    struct assay_latency_record *record; /* complete iterations in the order they began */
    size_t n;
    uint64_t cut;   /* not complete, not in the statistics */
    bool truncated; /* more than could be kept; statistics are of the first `n` */
    bool any_kernel, any_length;
    struct assay_latency_stats wall, kernel;
    struct as_call_times times; /* of the wall time */
    struct as_first_run first;
    struct assay_latency_group *group; /* by sequence length, when any_length */
    size_t n_groups;
};

/* Every time in nanoseconds since the run began. */
struct as_layers {
    struct as_arena arena;
    const struct as_run *run;
    struct as_layer *layer; /* by self time, largest first */
    size_t n_layers;
    struct as_thread_layer *thread_layer; /* by thread, then as `layer` */
    size_t n_thread_layers;
    struct as_thread_summary *thread;
    size_t n_threads;
    struct as_tree_node *node;
    size_t n_nodes;
    struct as_phase_total phase[ASSAY_PHASE_COUNT];
    struct as_channel *channel;
    size_t n_channels;
    struct as_iterations iterations;
    struct as_run_events events_beside; /* messages, instant events, async spans, flows, locks */

    uint64_t wall_ns; /* first event to last */
    uint64_t first_ns, last_ns;
    uint64_t self_total_ns; /* self time of all layers: what shares are of */
    uint64_t calls, failed, events;
    bool failed_apart; /* calls that failed are not among `calls`, and in no time */
    uint64_t stray_ends, stray_after_loss, too_deep, displaced, backwards, bad_events;
    uint64_t unclosed, cut, open;
    uint64_t lost_events; /* that the recorder counted, damage included */
    bool lost_unknown;    /* and some that nobody could count */
    uint64_t waited_ns;

    bool cost_known;
    double cost_pair_ns;  /* of recording one scope */
    double cost_floor_ns; /* the length of an empty scope */
    double cost_total_ns; /* pairs times cost */
    double cost_share;    /* of the time of all threads, first event to last */
    size_t n_near_cost;
};

/* What a list of layers can be ordered by; the name is what --sort takes. Largest first but for
 * name and first. */
#define AS_LAYER_SORTS(X)                                                                          \
    X(SELF, "self")                                                                                \
    X(TOTAL, "total")                                                                              \
    X(CALLS, "calls")                                                                              \
    X(MEAN, "mean")                                                                                \
    X(MEDIAN, "median")                                                                            \
    X(STD, "std")                                                                                  \
    X(CV, "cv")                                                                                    \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")                                                                                  \
    X(P95, "p95")                                                                                  \
    X(P99, "p99")                                                                                  \
    X(NAME, "name")                                                                                \
    X(FIRST, "first")

enum as_layer_sort {
#define X(name, text) AS_SORT_##name,
    AS_LAYER_SORTS(X)
#undef X
        AS_SORT_COUNT
};

const char *as_layer_sort_name(enum as_layer_sort sort);

/* Analyses `run`, which must outlive the result. */
AS_MUST_USE int as_layers_analyze(struct as_layers **out, struct as_run *run,
                                  const struct as_layers_options *options, struct assay_error *err);

/* Accepts NULL. */
void as_layers_free(struct as_layers *layers);

/* Fills `order` (room for n_layers) with indices of layers, ordered; ties keep the order of self
 * time. Layers without the figure come last. */
void as_layers_order(const struct as_layers *layers, enum as_layer_sort sort, uint32_t *order);

/* ---- layer_rates.c ---- */

/* 10^9 operations a second while the layer ran: the FLOPs of its complete calls by their inclusive
 * time. */
double as_layer_gflops(const struct as_layer *layer);

/* 10^9 bytes a second, read and written, in the same way. */
double as_layer_gbps(const struct as_layer *layer);

/* Fills `cumulative` (room for n_layers) with the running sum of shares in that `order`. */
void as_layers_cumulate(const struct as_layers *layers, const uint32_t *order, double *cumulative);

/* Time in layers: their self times together, so that nested layers count once. */
uint64_t as_layers_total_ns(const struct as_layers *layers);

/* That time by the number of calls. */
double as_layers_average_ns(const struct as_layers *layers);

#endif
