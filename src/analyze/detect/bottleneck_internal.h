/* analyze/detect/bottleneck_internal.h - what the three halves of the bottleneck analyzer share.
 * Recording fills the layers; the rules and the causes only read them. */
#ifndef AS_ANALYZE_DETECT_BOTTLENECK_INTERNAL_H
#define AS_ANALYZE_DETECT_BOTTLENECK_INTERNAL_H

#include <assay/bottlenecks.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "measure/peaks/peaks.h"
#include "stats/describe/rng.h"

/* What a call may tell beside its time; the order of the fields in struct assay_layer_metrics. */
enum as_metric {
    AS_METRIC_MEMORY,
    AS_METRIC_IO,
    AS_METRIC_GPU,
    AS_METRIC_FLOPS,
    AS_METRIC_BYTES,
    AS_METRIC_MINOR_FAULTS,
    AS_METRIC_MAJOR_FAULTS,
    AS_METRIC_IO_WAIT,
    AS_METRIC_IO_BYTES,
    AS_METRIC_CPU,
    AS_METRIC_SWITCHES,
    AS_METRIC_SLEEPS,
    AS_METRIC_COUNT
};

/* Over the calls that told it. */
struct as_metric_sum {
    uint64_t n;
    double sum;
    double seconds; /* how long those calls took themselves, without layers inside */
};

struct as_bottleneck_layer {
    char *name;
    uint64_t calls, failed;
    double seconds, self_seconds;
    double running_mean, m2; /* by Welford's update, for the std */
    double own_mean, own_m2; /* likewise, of the time without layers inside */
    double longest;          /* call, without layers inside */
    struct as_metric_sum metric[AS_METRIC_COUNT];
    double *sample; /* all times, or a fair sample of `capacity` of them */
    double *own;    /* of the same calls, without layers inside; NULL: the same times */
    size_t n_samples, capacity;
};

struct assay_bottleneck_analyzer {
    struct assay_bottleneck_analyzer_options options; /* every default filled in */
    struct as_peaks peaks;             /* of the options, unless measured ones were set */
    unsigned threads;                  /* that run a layer */
    struct as_hash_map map;            /* name to place in `layer` */
    struct as_bottleneck_layer *layer; /* in order of their first call */
    size_t n_layers, layer_capacity;
    size_t n_capacity; /* samples there is room for, in all layers */
    struct as_rng rng;
    uint64_t calls, failed, dropped_calls;
    struct as_arena arena; /* of the last result */
    struct assay_bottleneck_result result;
};

/* Peaks that were measured, and how many threads run a layer, instead of the rates of the options.
 */
void as_bottleneck_set_peaks(struct assay_bottleneck_analyzer *a, const struct as_peaks *peaks,
                             unsigned threads);

/* The metrics of a call of which nothing is known. */
extern const struct assay_layer_metrics as_layer_metrics_unknown;

/* The same as assay_bottleneck_analyzer_record(), for metrics of which 0 is a value and NaN alone
 * unknown.
 */
int as_bottleneck_record(struct assay_bottleneck_analyzer *a, const char *name,
                         const struct assay_layer_metrics *metrics, struct assay_error *err);

/* The mean over the calls that told it; NaN when none did. */
double as_metric_mean(const struct as_bottleneck_layer *layer, enum as_metric metric);

double as_bottleneck_mean(const struct as_bottleneck_layer *layer);

/* Divides by n. */
double as_bottleneck_std(const struct as_bottleneck_layer *layer);

/* Fills `threshold`, `bottlenecks`, `recommendations` and `summary` of the result. */
AS_MUST_USE int as_bottleneck_apply_rules(struct assay_bottleneck_analyzer *a,
                                          struct assay_error *err);

/* Fills `ranked` and `findings`. */
AS_MUST_USE int as_bottleneck_find_causes(struct assay_bottleneck_analyzer *a,
                                          struct assay_error *err);

/* 0 to 100: 100 * (1 - (1 - share) * product of (1 - share * strength)), so that neither a larger
 * share nor another or a stronger cause ever lowers it. */
double as_bottleneck_severity(double share, const struct assay_cause *cause, size_t n_causes);

#endif
