/* measure/latency/profile_data.h - all that was measured of one model, without the model and the
 * engine: what a run keeps, and what a profile is made from. */
#ifndef AS_MEASURE_LATENCY_PROFILE_DATA_H
#define AS_MEASURE_LATENCY_PROFILE_DATA_H

#include "measure/inputs/open_sizes.h"
#include "measure/latency/profile_run.h"
#include "measure/latency/thread_trial.h"
#include "measure/outputs/kept_outputs.h"
#include "measure/peaks/peaks.h"
#include "measure/tokens/token_run.h"
#include "model/cost/cost.h"
#include "model/structure/structure.h"
#include "probe/system/system_load.h"
#include "trace/run/run_maker.h"

/* One step of the engine: a node of the file, some that were fused, or a reorder. Counts are of all
 * its calls in one inference. */
struct as_profile_step {
    const char *name, *op, *kernel, *fused, *layout; /* fused: "+Relu+Add"; "" without */
    const char *input_dtype;                         /* of its first input; NULL: it has none */
    const char *why;    /* of a reorder: what needs it; of a GEMM or convolution between quantized
                           tensors: why it runs in f32; NULL: neither */
    const char **nodes; /* of the file whose work is done here */
    size_t n_nodes;
    uint64_t index;   /* in the engine's plan */
    uint32_t threads; /* it ran on; 0: not known, from before there was a choice */
    bool is_reorder;
    bool counted; /* every node in it has counts; else macs and flops are what is known */
    enum as_peak_type type;
    uint64_t calls, macs, flops, bytes, weight_bytes;
    uint64_t executed_macs, executed_flops; /* without those in padding: rates are of these */
    bool live_known;                        /* memory was counted */
    uint64_t live_bytes; /* of activations while it runs; when memory was counted */
    uint64_t *self_ns;   /* in each profiled inference */
    size_t n_inferences; /* the same for all steps */
};

/* The model as it ran. */
struct as_profile_subject {
    const char *path;
    uint64_t parameters, parameter_bytes, nodes, macs, flops;
    uint64_t executed_macs, executed_flops; /* without those in padding */
    bool complete;                          /* every node that ran has counts */
    uint64_t batch;                         /* samples of one inference */
    const char *batch_why;                  /* that is not known; NULL: it is */
    const char *fixed_why; /* another batch cannot be run; NULL: it can, or was not tried */
    uint64_t recomputed;   /* a decoder without a cache: tokens computed again for each new one */
    const char **assumed;  /* sizes of open dimensions that nobody gave, a sentence each */
    size_t n_assumed;
    struct as_open_size *sizes; /* of all open dimensions, and who gave each */
    size_t n_sizes;
    uint64_t tokens; /* of one inference of a decoder or encoder of text; 0: no text */
    uint64_t past;   /* tokens of each sample in the cache before it */
};

/* What was asked for. */
struct as_profile_config {
    bool fuse;
    const char *kernels; /* "auto", "reference" */
    uint64_t runs_asked;
    double time_s;
    uint64_t warmup_runs;
    const char *input_fill;
    uint64_t seed;
    const char **shape, **dim, **value, **loop, **input; /* options in the user's words */
    size_t n_shape, n_dim, n_value, n_loop, n_input;
    const char **command;
    size_t n_command;
};

/* The pass with times of layers. */
struct as_profiled_run {
    double run_ns;   /* a profiled inference as a whole */
    double plain_ns; /* the plain one beside it */
};

struct as_profile_data {
    struct as_profile_subject model;
    struct as_profile_config config;
    const char *library, *why_no_library; /* of kernels; NULL: plain C alone */
    uint32_t threads;
    uint64_t load_ns, prepare_ns;
    double cold_ns;                /* the very first inference */
    struct as_latency_run latency; /* empty samples: not timed */
    bool profiled;
    struct as_profiled_run *runs;
    size_t n_runs;
    double profiled_median_ns, plain_median_ns;
    double cost_share, cost_low_share, cost_high_share; /* of profiling */
    struct as_profile_step *steps;
    size_t n_steps;
    struct as_structure *structures; /* of the graph, one of each kind */
    size_t n_structures;
    struct as_thread_trial
        trial; /* other threads against those of the profile, when that was tried */
    bool memory_counted;
    const char *why_no_memory;
    uint64_t held_bytes;       /* constants as the engine keeps them */
    struct as_widened widened; /* of these, those that are stored in fewer bits */
    struct as_mem memory;
    struct as_engine_plan plan;
    struct as_process_memory before, timed, ran;
    bool peak_is_fresh; /* the peak of `ran` counts from `before` on */
    struct as_input_choice *inputs;
    size_t n_inputs;
    bool has_peaks;
    const char *why_no_peaks;
    struct as_peaks peaks;
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    bool has_tokens;
    const char *why_no_tokens; /* NULL: not asked for, or it was run */
    struct as_token_run tokens;
    struct as_outputs *outputs; /* that were kept; NULL: none */
    /* The second phase of a text model with a cache: one new token after model.past others, with
     * layers and times of its own. NULL: there is none, or it was not measured. */
    struct as_profile_data *decode;
};

/* From what was measured: joins each step with the counts of its nodes. Peaks, topology, tokens and
 * the user's words are added by the caller. Borrows from the run and the model, allocates in
 * `arena`. */
AS_MUST_USE int as_profile_data_init(struct as_profile_data *data, const struct as_profile_run *run,
                                     struct as_model *model, struct as_arena *arena,
                                     struct assay_error *err);

extern const struct as_json_shape as_profile_config_shape;

/* Into a run, and back; what is read is in the run's memory and fits together. */
void as_profile_data_put(const struct as_profile_data *data, struct as_run_maker *maker);
AS_MUST_USE int as_profile_data_get(struct as_profile_data *data, struct as_run *run,
                                    struct assay_error *err);

#endif
