/* analyze/model/profile.h - where the time and memory of a network go, and what bounds each part of
 * it. A pure function of what was measured, the counts of the graph and the machine's peaks. */
#ifndef AS_ANALYZE_MODEL_PROFILE_H
#define AS_ANALYZE_MODEL_PROFILE_H

#include "analyze/model/fitness.h"
#include "analyze/model/roofline.h"
#include "base/finding.h"
#include "measure/latency/profile_data.h"

/* One step of the engine: a layer of the file, some that were fused, or a reorder. */
struct as_profile_layer {
    const struct as_profile_step *step; /* name, counts, its time in each inference */
    const char *brief; /* its name for sentences, not ambiguous: see as_names_brief() */
    size_t index;      /* of the step */
    double self_ns;    /* of the median inference, by its median share; all add up */
    double mean_ns, std_ns, min_ns, max_ns, p95_ns;
    double share;            /* of the sum over all layers */
    double cumulative_share; /* with all that are slower */
    struct as_roof roof;
};

/* Layers that belong together: of one operator, or of one part of the name. */
struct as_profile_group {
    const char *name;
    size_t n_layers;
    uint64_t calls;
    double self_ns, share, cumulative_share;
    bool counted;
    uint64_t macs, flops, executed_macs, executed_flops, bytes, weight_bytes;
    enum as_peak_type type;
    double short_ns;                      /* of layers whose calls take microseconds */
    double bound_ns[AS_BOUND_COUNT];      /* of its layers, by what bounds them */
    double level_ns[AS_PEAK_LEVEL_COUNT]; /* of those bound by memory */
    double roof_ns;                       /* its layers at their roofs */
    struct as_roof roof;
};

enum { AS_PROFILE_MAX_FINDINGS = 24, AS_PROFILE_SHOWN_FINDINGS = 5 };

struct as_profile_memory {
    uint64_t parameter_bytes;  /* of the model, as stored */
    uint64_t held_bytes;       /* constants as the engine keeps them, packed */
    struct as_widened widened; /* of these, those that are stored in fewer bits */
    uint64_t activation_bytes; /* measured: the most alive together, inputs too */
    uint64_t planned_bytes;    /* the same by the plan; when `planned` */
    bool planned;
    bool counted;    /* else activations, workspace, state and peak are not known */
    const char *why; /* they are not; NULL: they are, or were not asked for */
    uint64_t workspace_bytes, kv_cache_bytes;
    uint64_t peak_bytes;                                /* of all that the engine holds at once */
    uint64_t rss_bytes, peak_rss_bytes, base_rss_bytes; /* base: before the model was opened */
    bool rss_known;
    bool peak_rss_fresh; /* counted from before the model was prepared, not the whole process */
    double efficiency;   /* (parameters + activations) / peak; NaN without a peak */
};

struct as_profile {
    const struct as_profile_data *data; /* borrowed */
    struct as_profile *decode;       /* of a text model with a cache: one new token; NULL: none */
    const struct as_peaks *peaks;    /* of the data; NULL: not measured */
    uint64_t bytes;                  /* of all layers */
    struct as_fitness fitness;       /* of the machine, for measuring */
    struct as_profile_layer *layers; /* in the order of the run */
    size_t n_layers;
    uint32_t *by_time;                     /* places in `layers`, slowest first */
    struct as_profile_group *ops, *scopes; /* slowest first */
    size_t n_ops, n_scopes;
    double sum_ns;        /* of the layers */
    double run_ns;        /* median of a run while profiling */
    double covered_share; /* of the median run, that the layers add up to */
    double pass_ratio;    /* of that median to the headline's; NaN: one of them is not there */
    bool pass_differs;    /* by more than their 95 % CIs; without these by more than 5 % */
    struct as_roof roof;  /* of the whole, by the headline's median; of the counted layers and their
                             share of it, when not all are. Without layers only what it achieved */
    enum as_peak_type type; /* of the arithmetic that most of the time is in */
    const char *unsteady;   /* why no recommendation about the model rests on it; NULL */
    double inferences_per_second, samples_per_second; /* samples: NaN where the batch is unknown */
    double tokens_per_second;
    double bound_share[AS_BOUND_COUNT]; /* of the time, by what bounds it */
    double short_share; /* of the time: layers bound by overhead whose calls take microseconds */
    double reorder_share, plain_share; /* of reorders; of kernels in plain C */
    struct as_profile_memory memory;
    struct assay_finding findings[AS_PROFILE_MAX_FINDINGS]; /* ranked */
    size_t n_findings;
    struct as_arena arena;
};

/* `data` must outlive the profile. `scope_depth`: parts of a name that make a scope; 0: all but the
 * last. */
AS_MUST_USE int as_profile_new(struct as_profile **profile, const struct as_profile_data *data,
                               unsigned scope_depth, struct assay_error *err);
void as_profile_free(struct as_profile *profile);

/* The orders of layers: "time", "graph", "flops", "bytes", "memory", "roof", "name", "op". */
const char *as_profile_sort_at(size_t i);
/* Places in `layers` in that order, in the profile's memory; NULL: no memory. */
uint32_t *as_profile_order(struct as_profile *profile, unsigned sort);

/* The rules of recommendations: analyze/recommend. */
void as_profile_recommend(struct as_profile *profile);

#endif
