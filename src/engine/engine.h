/* engine/engine.h - runs a network: opened for one set of shapes, run as often as wanted.
 * Calls on one engine are made from one thread; it uses others inside. */
#ifndef AS_ENGINE_ENGINE_H
#define AS_ENGINE_ENGINE_H

#include "engine/memory_count.h"
#include "engine/val.h"
#include "model/infer/infer.h"

struct as_engine;

/* An output that becomes an input of the next run: a cache of keys and values, an LSTM's state. */
struct as_loop_pair {
    const char *output, *input;
};

struct as_engine_options {
    struct as_infer_options infer; /* shapes, and numbers of inputs that shapes depend on */
    bool no_fuse;                  /* node by node as the file has them */
    bool reference;                /* kernels in plain C only */
    unsigned threads;              /* 0: 1 */
    uint64_t limit_bytes;          /* refuse before running what would need more; 0: no limit */
    uint64_t seed;                 /* of Random* operators */
    const struct as_loop_pair *loops;
    size_t n_loops;
};

/* Where a step's time goes, and memory: filled by runs that profile. */
struct as_step_sample {
    uint64_t self_ns; /* of one run of the model, without bodies run inside */
    uint32_t calls;
};

enum as_run_mode {
    AS_RUN_PLAIN = 0,   /* nothing is measured inside */
    AS_RUN_PROFILE = 1, /* the time of every step */
    AS_RUN_MEMORY = 2,  /* every tensor in memory of its own, given back after its last use */
};

/* What is known of a step before and after runs. Borrowed from the engine. */
struct as_step_info {
    const char *name;   /* of the node it is named after; of a reorder: "reorder of X" */
    const char *op;     /* "Conv", "Reorder" */
    const char *kernel; /* "plain C", "jit:avx512_core" */
    const char *fused;  /* "+Relu+Add"; "" without */
    const char *why;    /* of a reorder: what needs it; of a GEMM or convolution between quantized
                           tensors: why it runs in f32; else NULL */
    const struct as_graph *graph;
    const struct as_node *node;           /* NULL for a reorder */
    const struct as_node *const *sources; /* every node of the file whose work is done here */
    size_t n_sources;
    const char *layout; /* of its output; "plain" */
    bool in_body;       /* of If, Loop, Scan */
    bool is_reorder, is_view;
    uint64_t bytes_in, bytes_out; /* of one call: of its tensors in their layouts, weights too, as
                                     they were in the last run; 0: not known */
    uint64_t weight_bytes;
    unsigned threads; /* it runs on; of one whose shapes are open: in the last run */
};

/* The model is borrowed, must live on, and must not be inferred again while the engine lives:
 * as_engine_new() infers its shapes. UNSUPPORTED names the operator, node and opset that cannot be
 * run; LIMIT when the plan needs more memory than the limit. */
AS_MUST_USE int as_engine_new(struct as_engine **engine, struct as_model *model,
                              const struct as_engine_options *options, struct assay_error *err);
void as_engine_free(struct as_engine *engine);

/* Inputs of the model in its order, with memory that holds zeros; strings and sequences are set by
 * as_engine_set_input(). NULL after the last. */
const struct as_value *as_engine_input_value(const struct as_engine *engine, size_t i);
struct as_val *as_engine_input(struct as_engine *engine, size_t i);
/* Shares `val` as the input; its type must fit what the engine was opened for. */
AS_MUST_USE int as_engine_set_input(struct as_engine *engine, size_t i, const struct as_val *val,
                                    struct assay_error *err);

/* Gives an input whose shape was left open these dimensions, and memory of the engine's that holds
 * zeros. */
AS_MUST_USE int as_engine_make_input(struct as_engine *engine, size_t i, const struct as_dims *dims,
                                     struct assay_error *err);

/* One run. A failure names the node. Samples of a profile are by step index, zeroed first. */
AS_MUST_USE int as_engine_run(struct as_engine *engine, enum as_run_mode mode,
                              struct as_step_sample *samples, struct assay_error *err);

/* Outputs of the last run, plain; valid until the next. */
const struct as_value *as_engine_output_value(const struct as_engine *engine, size_t i);
const struct as_val *as_engine_output(const struct as_engine *engine, size_t i);

/* Tells the model the shapes that tensors had in the last run, where they depend on data, and how
 * often that run ran each body, where all runs did so alike, so that costs can be counted for them.
 * They hold while the engine lives, or until the model is inferred again. */
void as_engine_tell_shapes(struct as_engine *engine);

/* Outputs become inputs as the pairs say. */
AS_MUST_USE int as_engine_loop(struct as_engine *engine, struct assay_error *err);

size_t as_engine_n_steps(const struct as_engine *engine);
void as_engine_step(const struct as_engine *engine, size_t i, struct as_step_info *info);

/* Bytes by what they are for, now and at most; peaks of activations and workspace are exact after a
 * run with AS_RUN_MEMORY. */
const struct as_mem *as_engine_memory(const struct as_engine *engine);
void as_engine_reset_peaks(struct as_engine *engine);
/* Bytes of activations alive while step `i` of the last AS_RUN_MEMORY run ran, and its working
 * memory. */
uint64_t as_engine_step_live_bytes(const struct as_engine *engine, size_t i);

/* Gives the pages of the arena back to the system until a run needs them again. Before a run with
 * AS_RUN_MEMORY: it has tensors of its own, and both together could be more than the limit. The
 * outputs of the last run are lost, and the next plain run is slower. */
void as_engine_rest(struct as_engine *engine);

/* The plan: false when sizes depend on data. `peak_step` as as_engine_step() counts. */
struct as_engine_plan {
    bool known;
    uint64_t peak_bytes;  /* activations alive together, inputs always among them */
    uint64_t arena_bytes; /* what their placement takes */
    size_t peak_step;
    uint64_t workspace_bytes;
    size_t n_static, n_dynamic; /* steps */
};
void as_engine_plan(const struct as_engine *engine, struct as_engine_plan *plan);

/* "oneDNN 2.6.3" and the processor features it may use; NULL: plain C alone, and why. */
const char *as_engine_library(const struct as_engine *engine, const char **why_not);

/* Constants that are stored in fewer bits (blocks, halves of a GGUF file) and kept as f32 in
 * memory. Kernels read all of `held_bytes`. */
struct as_widened {
    uint64_t n, stored_bytes, held_bytes;
};
struct as_widened as_engine_widened(const struct as_engine *engine);

/* Of the last run with AS_RUN_PROFILE: what working out open shapes took. It is part of the steps'
 * times. */
uint64_t as_engine_shapes_ns(const struct as_engine *engine);

/* Marks each step in the recorder's session while a profile runs (assay_session_open()). */
AS_MUST_USE int as_engine_record(struct as_engine *engine, struct assay_error *err);

#endif
