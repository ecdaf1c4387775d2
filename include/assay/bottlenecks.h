/* assay/bottlenecks.h - which layers hold a program back, why, and what fixing one could gain.
 *
 *     struct assay_bottleneck_analyzer *a;
 *     const struct assay_bottleneck_result *r;
 *     assay_bottleneck_analyzer_new(&a, NULL, &err);
 *     assay_bottleneck_analyzer_call(a, "conv1", seconds); // one call after another
 *     if (assay_bottleneck_analyzer_analyze(a, &r, &err) == 0 && r->n_ranked > 0)
 *         printf("%s takes %g %%\n", r->ranked[0].layer, 100 * r->ranked[0].share);
 *     assay_bottleneck_analyzer_free(a);
 *
 * Two answers from the same samples: the documented one, relative to a percentile of all times
 * (`bottlenecks`, `recommendations`, `summary`), and one by share of exclusive time with causes
 * (`ranked`, `findings`). One thread at a time. */
#ifndef ASSAY_BOTTLENECKS_H
#define ASSAY_BOTTLENECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>
#include <assay/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_bottleneck_analyzer;

/* What is known of one call of a layer. 0 or NaN: not known, so that a struct of zeros with `size`
 * and what is known is enough; ASSAY_MEASURED_ZERO for a zero that was measured (a GPU that idled).
 * `ranked` and `findings` are about a layer's own time: of a call with layers inside, the metrics
 * from flops on are its own too, as self_seconds is, and what those layers did is left out. An
 * io_wait_seconds longer than self_seconds cannot be its own, and is taken as not known; so are
 * page faults that would take longer than self_seconds at 0.1 us each. */
struct assay_layer_metrics {
    size_t size;                    /* sizeof(struct assay_layer_metrics) */
    double execution_seconds;       /* seconds, begin to end; the one that must be known */
    double self_seconds;            /* seconds, without layers inside; unknown: the same */
    double memory_usage_mb;         /* MiB held while it ran */
    double io_operations;           /* count */
    double gpu_utilization_percent; /* percent */
    double flops, bytes;            /* of the call itself, for the roofline */
    double minor_faults, major_faults;
    double io_wait_seconds; /* seconds waiting for storage */
    double io_bytes;        /* read and written */
    double cpu_seconds;     /* CPU time */
    double switches;        /* involuntary context switches */
    bool failed;            /* such a call counts apart and in no time */
    double sleeps;          /* voluntary context switches: it waited for something */
};

/* What bounds a layer; the documented five first. */
#define ASSAY_BOTTLENECK_TYPES(XX)                                                                 \
    XX(COMPUTE, "compute")                                                                         \
    XX(MEMORY, "memory")                                                                           \
    XX(IO, "io")                                                                                   \
    XX(UNDERUTILIZATION, "underutilization")                                                       \
    XX(UNKNOWN, "unknown")                                                                         \
    XX(OVERHEAD, "overhead")                                                                       \
    XX(PAGE_FAULTS, "page_faults")                                                                 \
    XX(WAITING, "waiting")                                                                         \
    XX(VARIANCE, "variance")

enum assay_bottleneck_type {
#define XX(name, text) ASSAY_BOTTLENECK_##name,
    ASSAY_BOTTLENECK_TYPES(XX)
#undef XX
        ASSAY_BOTTLENECK_TYPE_COUNT
};
ASSAY_API const char *assay_bottleneck_type_name(enum assay_bottleneck_type type);

enum assay_priority { ASSAY_PRIORITY_LOW, ASSAY_PRIORITY_MEDIUM, ASSAY_PRIORITY_HIGH };
ASSAY_API const char *assay_priority_name(enum assay_priority priority);

/* Zero means the default. */
struct assay_bottleneck_analyzer_options {
    size_t size;                 /* sizeof(struct assay_bottleneck_analyzer_options) */
    double threshold_percentile; /* 90 */
    double compute_factor;       /* mean above this many thresholds is compute: 1.5 */
    double memory_mb;            /* above is memory: 500 */
    double io_operations;        /* above is io: 100 */
    double gpu_percent;          /* below is underutilization: 50 */
    double critical_percent;     /* overhead above is critical: 50 */
    double variance_cv;          /* std/mean above is worth a word: 0.3 */
    double min_share;            /* of all self time, to be ranked: 0.01 */
    /* This machine, from `assay machine`; 0: unknown, and then no roofline cause is named. */
    double peak_flops_per_second, peak_bytes_per_second;
    size_t max_samples; /* times kept per layer for percentiles, a fair sample beyond: 4096 */
    /* Of `ranked` and `findings`. */
    double min_strength;        /* a weaker cause is not named: 0.05 */
    double tiny_seconds;        /* only so short a call may be spent on calling: 10e-6 */
    double minor_fault_seconds; /* what a page fault is taken to cost: 0.5e-6 */
    double major_fault_seconds; /* and one that reads storage: 100e-6 */
    double min_gain; /* share of the whole time that makes a layer without a cause worth a word:
                        0.05 */
};

/* Layers beyond this many, and names longer, are not kept; calls of such layers are counted in
 * `dropped_calls`. */
#define ASSAY_BOTTLENECK_MAX_LAYERS 65536
#define ASSAY_BOTTLENECK_MAX_NAME   4096

/* The documented record; NaN where a metric was never given. */
struct assay_bottleneck {
    const char *layer;
    double mean_execution_seconds, std_execution_seconds; /* seconds; population std */
    double threshold_seconds;
    double overhead_percentage; /* NaN when the threshold is 0 */
    double mean_memory_usage_mb, io_intensity, gpu_utilization_percent;
    enum assay_bottleneck_type type[4];
    size_t n_types; /* at least one: unknown */
    double severity_score;
};

struct assay_recommendation {
    const char *layer;
    const char *type, *category; /* "optimization" or "stability"; "compute", "memory", ... */
    enum assay_priority priority;
    const char *recommendation, *details;
};

struct assay_bottleneck_summary {
    size_t total_bottlenecks, critical_bottlenecks;
    double total_overhead_ms;
    size_t by_type[ASSAY_BOTTLENECK_TYPE_COUNT];
};

/* A layer by its share of the time. */
struct assay_cause {
    enum assay_bottleneck_type type;
    double strength;      /* 0 to 1: how much of the layer's own time it may explain */
    const char *evidence; /* with its numbers */
};
struct assay_ranked_layer {
    const char *layer;
    uint64_t calls, failed;
    double self_seconds, share; /* of the self time of all layers */
    double speedup_bound;       /* of the whole, were this layer to cost nothing: 1 / (1 - share) */
    double mean_seconds, cv;    /* of a call's self time */
    double roof_fraction;       /* NaN: flops and bytes were not given, or peaks are unknown */
    struct assay_cause cause[ASSAY_BOTTLENECK_TYPE_COUNT];
    size_t n_causes; /* strongest first; none: nothing is known but its time */
    double severity; /* 0 to 100, rising with the share and with every cause */
};

/* Borrowed until the next call on the analyzer. */
struct assay_bottleneck_result {
    size_t size;                                /* set by the library */
    const struct assay_bottleneck *bottlenecks; /* by severity_score, greatest first */
    size_t n_bottlenecks;
    const struct assay_recommendation *recommendations;
    size_t n_recommendations;
    struct assay_bottleneck_summary summary;
    const struct assay_ranked_layer *ranked; /* by share, greatest first */
    size_t n_ranked;
    const struct assay_finding *findings; /* what to do about them; the target is a layer */
    size_t n_findings;
    double total_self_seconds;
    uint64_t n_calls, n_failed;
    size_t n_layers;
    double threshold_seconds; /* seconds; NaN without a call */
    bool threshold_exact;     /* false: from a fair sample of each layer, weighted by its calls */
    uint64_t dropped_calls;   /* of layers beyond the limit */
};

ASSAY_API int assay_bottleneck_analyzer_new(struct assay_bottleneck_analyzer **out,
                                            const struct assay_bottleneck_analyzer_options *options,
                                            struct assay_error *err);
ASSAY_API void assay_bottleneck_analyzer_free(struct assay_bottleneck_analyzer *analyzer);

/* USAGE without a name, or for a time that is negative or not finite. Other metrics that are not
 * finite are not known. A call that failed needs no time. Costs the same however many calls came
 * before; nothing is recorded when it fails. */
ASSAY_API int assay_bottleneck_analyzer_record(struct assay_bottleneck_analyzer *analyzer,
                                               const char *layer,
                                               const struct assay_layer_metrics *metrics,
                                               struct assay_error *err);

/* The same in short, for a call of which the time alone is known; without a sentence. 0 is a time
 * here. */
ASSAY_API int assay_bottleneck_analyzer_call(struct assay_bottleneck_analyzer *analyzer,
                                             const char *layer, double seconds);

ASSAY_API int assay_bottleneck_analyzer_analyze(struct assay_bottleneck_analyzer *analyzer,
                                                const struct assay_bottleneck_result **out,
                                                struct assay_error *err);
ASSAY_API void assay_bottleneck_analyzer_reset(struct assay_bottleneck_analyzer *analyzer);

#ifdef __cplusplus
}
#endif
#endif
