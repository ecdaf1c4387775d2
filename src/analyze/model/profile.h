/* analyze/model/profile.h - where the time and memory of a network go, and what bounds each part of
 * it. A pure function of what was measured, the counts of the graph and the machine's peaks. */
#ifndef AS_ANALYZE_MODEL_PROFILE_H
#define AS_ANALYZE_MODEL_PROFILE_H

#include "analyze/model/roofline.h"
#include "engine/engine.h"
#include "measure/latency/profile_run.h"
#include "model/cost/cost.h"
#include "model/weights/parameters.h"

/* One step of the engine: a layer of the file, some that were fused, or a reorder. */
struct as_profile_layer {
    struct as_step_info step; /* its `fused` is a copy */
    size_t index;             /* of the step */
    uint64_t calls;           /* in one run */
    double self_ns;           /* of the median run, by its median share; all add up */
    double mean_ns, std_ns, min_ns, max_ns, p95_ns;
    double share;            /* of the sum over all layers */
    double cumulative_share; /* with all that are slower */
    const uint64_t *trail;   /* its time in each run */
    size_t n_trail;
    bool counted;                              /* every node in it has counts */
    uint64_t macs, flops, bytes, weight_bytes; /* of all calls; the first two when `counted` */
    uint64_t live_bytes;
    bool live_known; /* memory was counted */
    enum as_peak_type type;
    struct as_roof roof;
};

/* Layers that belong together: of one operator, or of one part of the name. */
struct as_profile_group {
    const char *name;
    size_t n_layers;
    uint64_t calls;
    double self_ns, share, cumulative_share;
    bool counted;
    uint64_t macs, flops, bytes, weight_bytes;
    enum as_peak_type type;
    double bound_ns[AS_BOUND_COUNT];      /* of its layers, by what bounds them */
    double level_ns[AS_PEAK_LEVEL_COUNT]; /* of those bound by memory */
    double roof_ns;                       /* its layers at their roofs */
    struct as_roof roof;
};

enum as_advice_confidence { AS_ADVICE_LOW, AS_ADVICE_MEDIUM, AS_ADVICE_HIGH };

/* What to do next, and why. */
struct as_advice {
    const char *id;       /* of the rule, as in "memory-bound-weights" */
    const char *text;     /* what to do: one sentence without a full stop */
    const char *evidence; /* figures that speak for it */
    double gain;          /* expected share of the time saved; NaN: not known */
    enum as_advice_confidence confidence;
};

enum { AS_ADVICE_MAX = 16 };

struct as_profile_memory {
    uint64_t parameter_bytes;  /* of the model, as stored */
    uint64_t held_bytes;       /* constants as the engine keeps them, packed */
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
    const struct as_profile_run *run; /* borrowed */
    const struct as_model *model;     /* borrowed */
    const struct as_peaks *peaks;     /* borrowed; NULL: not measured */
    const char *why_no_peaks;
    uint64_t parameters, n_nodes;
    struct as_cost cost; /* of one run */
    uint64_t flops, bytes;
    bool counted;
    uint64_t batch;
    uint64_t tokens; /* of one run of a decoder or encoder of text; 0: no text */
    unsigned threads;
    struct as_profile_layer *layers; /* in the order of the run */
    size_t n_layers;
    uint32_t *by_time;                     /* places in `layers`, slowest first */
    struct as_profile_group *ops, *scopes; /* slowest first */
    size_t n_ops, n_scopes;
    double sum_ns;        /* of the layers */
    double run_ns;        /* median of a run while profiling */
    double covered_share; /* of the median run, that the layers add up to */
    struct as_roof roof;  /* of the whole, by the headline's median; of the counted layers and their
                             share of it, when not all are */
    double samples_per_second, tokens_per_second;
    double bound_share[AS_BOUND_COUNT]; /* of the time, by what bounds it */
    double reorder_share, plain_share;  /* of reorders; of kernels in plain C */
    struct as_profile_memory memory;
    struct as_advice advice[AS_ADVICE_MAX];
    size_t n_advice;
    struct as_arena arena;
};

struct as_profile_inputs {
    const struct as_profile_run *run;
    struct as_model *model;       /* inferred, as the engine left it */
    const struct as_peaks *peaks; /* NULL: not measured, because of `why_no_peaks` */
    const char *why_no_peaks;
    unsigned scope_depth; /* parts of a name that make a scope; 0: all but the last */
};

AS_MUST_USE int as_profile_new(struct as_profile **profile, const struct as_profile_inputs *in,
                               struct assay_error *err);
void as_profile_free(struct as_profile *profile);

/* The orders of layers: "time", "graph", "flops", "bytes", "memory", "roof", "name", "op". */
const char *as_profile_sort_at(size_t i);
/* Places in `layers` in that order, in the profile's memory; NULL: no memory. */
uint32_t *as_profile_order(struct as_profile *profile, unsigned sort);

/* The rules of advice: analyze/model/advice.c. */
void as_profile_advise(struct as_profile *profile);

#endif
