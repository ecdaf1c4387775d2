/* assay/measure.h - how long anything takes, what memory a network takes, and what bounds it.
 *
 *     struct assay_latency took;
 *     if (assay_latency_measure(step, &state, NULL, &took, &err) < 0)
 *         fprintf(stderr, "%s\n", err.msg);
 *     printf("%.3f ms [%.3f, %.3f]\n", took.latency_ms, took.low_ns / 1e6, took.high_ns / 1e6);
 *
 *     struct assay_forward_profile forward;
 *     if (assay_model_profile_forward(model, NULL, &forward, &err) == 0)
 *         printf("%.1f GFLOP/s, bound by %s\n", forward.gflops_per_second, forward.bottleneck);
 *
 * Everything is run until it is steady, then timed until the median is known well enough. A run
 * that fails makes the call fail with its reason: there is no number then. A value that cannot be
 * had is NaN, and a reason stands beside it. Names with _mb count MiB (2^20 bytes). Options may be
 * NULL. One model is for one thread at a time; measuring a model ends its growth, as counting it
 * does. Link with -lassay. */
#ifndef ASSAY_MEASURE_H
#define ASSAY_MEASURE_H

#include <assay/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What fills the inputs of a model. */
enum assay_inputs {
    ASSAY_INPUTS_RANDOM = 0, /* floats in [-1, 1), indices inside their tables, masks all ones */
    ASSAY_INPUTS_NORMAL = 1, /* the same with normal floats */
    ASSAY_INPUTS_ZEROS = 2,
    ASSAY_INPUTS_ONES = 3
};

/* The numbers of one input, from a file. */
struct assay_input_file {
    const char *name; /* of the input; NULL: the model's only one */
    const char *path; /* .npy, or a tensor of ONNX (.pb) */
};

/* The most this machine can do, by assay_roof_measure() or from elsewhere. */
struct assay_roof {
    size_t size;                /* sizeof(struct assay_roof) */
    uint32_t threads;           /* that it holds for; 0: whatever is used */
    double peak_gflops;         /* f32; NaN: not known */
    double bandwidth_gbs;       /* of main memory in 1e9 bytes a second; NaN: not known */
    double cache_bandwidth_gbs; /* of the last cache; NaN: not known, or there is none */
    uint64_t cache_bytes;       /* what is smaller stays in it; 0: not known */
    /* As assay_roof_measure() fills them; 0 or NaN: not known, and the levels above stand for them.
     */
    double l1_bandwidth_gbs, l2_bandwidth_gbs;
    uint64_t l1_bytes, l2_bytes;
    double peak_f64_gflops, peak_i8_gops; /* for layers that compute with them */
};

/* How to measure. Zero means the default everywhere. What cannot be a time, a share or a level
 * (negative, NaN) is ASSAY_ERR_USAGE. */
struct assay_measure_options {
    size_t size;         /* sizeof(struct assay_measure_options) */
    uint32_t warmup;     /* runs before, at least; 10. More are made until times are steady */
    uint32_t runs;       /* this number of samples; 0: by the rules below */
    uint32_t min_runs;   /* not fewer samples; 100, or 20 when the time is up */
    double time_seconds; /* of timing; 3 */
    double target;  /* enough when the interval is narrower than this share of the median; 0.01 */
    double level;   /* of the interval; 0.95 */
    bool no_warmup; /* one run before, which is the first_ns of the result, and no more */
    bool no_batch;  /* a sample is one call, even of what the clock can hardly see */
    double *samples_ns; /* where to put samples, in the order taken; NULL: nowhere */
    size_t samples_capacity;
    /* Of models alone: */
    uint32_t threads; /* 1; more than the process may run at once: ASSAY_ERR_USAGE */
    uint64_t seed;    /* of made-up inputs */
    enum assay_inputs inputs;
    const struct assay_input_file *files;
    size_t n_files;
    bool no_fuse;                  /* node by node */
    uint64_t limit_bytes;          /* refuse models that need more memory; 0: no limit */
    const struct assay_roof *roof; /* NULL: measured anew where it is needed, in a second or two;
                                      one for another number of threads: ASSAY_ERR_USAGE */
};

/* ---- latency ---- */

/* What may have made a sample long. */
struct assay_latency_cause {
    const char *text;  /* "an involuntary context switch" */
    bool known;        /* false: the system does not report it */
    bool suspected;    /* at least twice as frequent in outliers as in other samples */
    uint64_t events;   /* how often it happened; of stolen time: ticks */
    uint64_t outliers; /* outliers during which it may have happened */
    uint64_t others;   /* other samples likewise */
};

enum { ASSAY_LATENCY_CAUSES = 5 };

/* How long one call takes. */
struct assay_latency {
    size_t size;                       /* set by the library */
    double latency_ms;                 /* the median, in milliseconds */
    double median_ns, low_ns, high_ns; /* the median and its interval, never closer than 0.25 %:
                                          processes differ from each other by that much; ... */
    double level;                      /* ... which holds it with this probability, ... */
    bool interval_reached;             /* ... unless there were too few samples for that */
    double mean_ns, std_ns;            /* std_ns divides by n - 1; NaN for one sample */
    double min_ns, max_ns, mad_ns, cv;
    double p50_ns, p90_ns, p95_ns, p99_ns;            /* between the neighboring ranks */
    bool p90_supported, p95_supported, p99_supported; /* n is enough for that tail */
    uint64_t n;                                       /* samples */
    uint64_t n_effective; /* number of independent samples with the same precision */
    uint64_t batch;       /* calls in a sample */
    const char *stop;     /* what ended it: "width", "time", "runs", "samples" */
    double seconds;       /* of timing */
    double first_ns;      /* the very first call */
    uint64_t warmup_runs;
    bool warmup_steady; /* times had settled when warm-up ended */
    bool steady;        /* and did not drift since; neither did the CPU frequency */
    double trend_p;     /* of no trend at all; NaN with fewer than 10 samples */
    double drift_share; /* from first to last, of the median; NaN likewise */
    double timer_cost_ns, timer_resolution_ns; /* the cost is subtracted */
    uint64_t outliers_mild, outliers_severe;   /* on both sides, by Tukey's fences */
    uint64_t outliers_high;                    /* long ones, which the causes below are about */
    struct assay_latency_cause causes[ASSAY_LATENCY_CAUSES];
    double frequency_before_hz, frequency_after_hz; /* NaN: not known */
};

/* What can be measured: 0, or what went wrong; a sentence in `err` is passed on. */
typedef int (*assay_measured)(void *user, struct assay_error *err);

/* Measures any function; of the options those of models are not looked at. */
ASSAY_API int assay_latency_measure(assay_measured fn, void *user,
                                    const struct assay_measure_options *options,
                                    struct assay_latency *latency, struct assay_error *err);

/* Measures one run of a model by the library's own engine. */
ASSAY_API int assay_model_measure_latency(struct assay_model *model,
                                          const struct assay_measure_options *options,
                                          struct assay_latency *latency, struct assay_error *err);

/* Items a second, when one call does `items` of them. NaN when the median is 0. */
ASSAY_API double assay_latency_throughput(const struct assay_latency *latency, double items);

/* ---- memory ---- */

/* What memory a run takes, counted to the byte while it runs. */
struct assay_memory {
    size_t size;                 /* set by the library */
    double parameter_memory_mb;  /* of the parameters as the model has them */
    double activation_memory_mb; /* alive at once at the worst moment, inputs too */
    double peak_memory_mb;       /* of all the engine holds: weights, activations, workspace */
    double memory_efficiency;    /* (weights held + activations) / peak: 0 to 1; the rest is
                                    workspace. NaN when nothing was taken */
    uint64_t parameter_bytes, activation_bytes, peak_bytes; /* the same in bytes */
    uint64_t held_parameter_bytes; /* weights in the form the engine keeps them in */
    uint64_t workspace_bytes;      /* at most */
    uint64_t state_bytes;          /* caches that go from run to run */
    bool planned;                  /* sizes are known before the run: */
    uint64_t planned_bytes;        /* activations by the plan, ... */
    int64_t planned_difference;    /* ... measured less planned */
    uint64_t rss_before_bytes, rss_after_bytes, rss_peak_bytes; /* of the process */
};

ASSAY_API int assay_model_measure_memory(struct assay_model *model,
                                         const struct assay_measure_options *options,
                                         struct assay_memory *memory, struct assay_error *err);

/* ---- outputs ---- */

/* One output of a model after an inference. What it points to is valid during the call it is given
 * to. */
struct assay_output_tensor {
    size_t size; /* set by the library */
    const char *name;
    const char *type;       /* of its elements: "f32", "i64", "string"; "" of a sequence */
    enum assay_dtype dtype; /* the same; meaningless when `data` is NULL */
    int rank;
    const int64_t *dims;
    uint64_t elements, bytes;
    const void *data;   /* row-major; NULL: see `reason` */
    const char *reason; /* why there is no data: strings, complex numbers, sequences; else NULL */
    uint64_t nan_elements, infinite_elements;
};

/* Takes one output: 0, or what went wrong, which ends the call that gives it. */
typedef int (*assay_output_taken)(void *user, const struct assay_output_tensor *output,
                                  struct assay_error *err);

/* Runs the model once and gives its outputs to `fn`, in the order of the model. Of the options
 * those of timing are not looked at. Returns how many outputs there are, or a negative code. */
ASSAY_API int assay_model_measure_outputs(struct assay_model *model,
                                          const struct assay_measure_options *options,
                                          assay_output_taken fn, void *user,
                                          struct assay_error *err);

/* ---- the machine ---- */

/* Measures peak and bandwidth for that many threads (0: 1), in a second or two. More than the
 * process may run at once: ASSAY_ERR_USAGE. */
ASSAY_API int assay_roof_measure(uint32_t threads, struct assay_roof *roof,
                                 struct assay_error *err);

/* ---- profiles ---- */

/* One layer of a model, run node by node, in its place in a run of the model. */
struct assay_model_layer_profile {
    const char *name;       /* lives as long as the model and until it is counted again */
    const char *layer_type; /* the operator */
    uint64_t parameters;
    uint64_t flops;    /* of one inference: 2 x MACs and every other operation once; in a subgraph
                          as often as it ran */
    double latency_ms; /* of its own, in a typical run; NaN: it is not run, see `reason` */
    double gflops_per_second; /* flops / time; NaN without a time, or when it is not counted */
    double parameter_memory_mb;
    double activation_memory_mb; /* of what comes out */
    double peak_memory_mb;    /* of all tensors alive while it runs, its parameters and workspace */
    double memory_efficiency; /* (parameters + activations) / peak; NaN without a peak */
    double share;             /* of the time of all layers: they add up to 1 */
    const char *reason;       /* why a value is NaN; NULL when none is */
};

/* Fills `layers` with as many as there is `capacity` for, numbered as assay_model_layer_at() does.
 * Returns how many layers there are, or a negative code. */
ASSAY_API int assay_model_profile_layers(struct assay_model *model,
                                         const struct assay_measure_options *options,
                                         struct assay_model_layer_profile *layers, size_t capacity,
                                         struct assay_error *err);

/* Layer `i` alone; ASSAY_ERR_NOTFOUND past the last. Runs the whole model all the same: for several
 * layers use the call above. */
ASSAY_API int assay_model_profile_layer(struct assay_model *model, size_t i,
                                        const struct assay_measure_options *options,
                                        struct assay_model_layer_profile *layer,
                                        struct assay_error *err);

/* One run of a model against what the machine can do. */
struct assay_forward_profile {
    size_t size; /* set by the library */
    uint64_t parameters;
    uint64_t flops; /* of one inference, all its samples: 2 x MACs and every other operation once;
                       subgraphs as often as they ran */
    double latency_ms;
    double parameter_memory_mb, activation_memory_mb, peak_memory_mb, memory_efficiency;
    double gflops_per_second;               /* flops / time */
    double memory_bandwidth_mib_per_second; /* bytes that layers read and write / time, in MiB/s */
    double computational_efficiency; /* gflops_per_second / the measured peak; more than 1 means
                                        that one of both is wrong. NaN: see `reason` */
    bool is_memory_bound, is_compute_bound; /* neither: bound by overhead, or not known */
    const char *bottleneck;   /* "compute", "memory", "overhead"; "unknown" without a roof, or when
                                 not `complete` */
    uint64_t bytes_moved;     /* every input and output of every step that ran, once */
    double intensity;         /* flops a byte moved */
    double attainable_gflops; /* what the roof allows at this intensity */
    double attained_share;    /* gflops_per_second / attainable_gflops */
    bool complete;            /* every layer was counted; otherwise flops and bytes are too low, and
                                 what is made of them is NaN */
    struct assay_roof roof;   /* that it was compared with */
    struct assay_latency latency;
    struct assay_memory memory;
    const char *reason; /* why a value is NaN; NULL when none is */
};

ASSAY_API int assay_model_profile_forward(struct assay_model *model,
                                          const struct assay_measure_options *options,
                                          struct assay_forward_profile *forward,
                                          struct assay_error *err);

/* The same, and a few lines of text about it in `text`, ended by NUL and cut to `capacity` bytes.
 * Returns the length of the whole text, or a negative code. `forward` and `text` may be NULL. */
ASSAY_API int assay_model_profile_quick(struct assay_model *model,
                                        const struct assay_measure_options *options,
                                        struct assay_forward_profile *forward, char *text,
                                        size_t capacity, struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
