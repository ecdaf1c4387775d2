/* model/memory_plan.h - how much memory a run needs: lifetimes over the order of execution.
 * Planned: tensors share memory when their lives do not overlap. Nothing here is measured. */
#ifndef AS_MODEL_MEMORY_PLAN_H
#define AS_MODEL_MEMORY_PLAN_H

#include "model/cost.h"
#include "model/parameters.h"

enum { AS_PLAN_ALIGN = 64 };

struct as_plan_tensor {
    uint32_t value;
    uint32_t first, last; /* rows of the costs between which it lives, both included */
    uint64_t bytes;       /* as the type says, without rounding */
    uint64_t offset;      /* in the planned arena */
};

struct as_memory_plan {
    struct as_plan_tensor *tensors; /* activations: inputs, outputs and what lies between */
    size_t n_tensors;
    uint64_t *live_bytes; /* for each row: bytes alive while it runs */
    size_t n_steps;
    uint64_t peak_bytes; /* the largest of them: no plan can do with less in this order */
    size_t peak_step;
    uint64_t arena_bytes; /* what the placement below needs; >= peak_bytes */
    uint64_t naive_bytes; /* the sum of all: no memory used twice */
    uint64_t input_bytes, output_bytes;
    size_t n_unknown; /* tensors of unknown size, left out */
    struct as_arena arena;
};

AS_MUST_USE int as_memory_plan_new(struct as_memory_plan **plan, const struct as_model *model,
                                   const struct as_costs *costs, struct assay_error *err);
void as_memory_plan_free(struct as_memory_plan *plan);

/* ---- training ---- */

/* name, word, f32 state tensors of a parameter's size */
#define AS_OPTIMIZERS(X)                                                                           \
    X(SGD, "sgd", 0)                                                                               \
    X(SGD_MOMENTUM, "sgd-momentum", 1)                                                             \
    X(NESTEROV, "nesterov", 1)                                                                     \
    X(RMSPROP, "rmsprop", 1)                                                                       \
    X(ADAGRAD, "adagrad", 1)                                                                       \
    X(ADAM, "adam", 2)                                                                             \
    X(ADAMW, "adamw", 2)                                                                           \
    X(NADAM, "nadam", 2)                                                                           \
    X(AMSGRAD, "amsgrad", 3)                                                                       \
    X(LION, "lion", 1)                                                                             \
    X(ADAFACTOR, "adafactor", 0) /* rows + columns of each matrix instead */                       \
    X(ADAM8, "adam8bit", 0)      /* two states of one byte, and a scale a block of 2048 */         \
    X(LION8, "lion8bit", 0)

enum as_optimizer {
#define X(name, word, states) AS_OPTIMIZER_##name,
    AS_OPTIMIZERS(X)
#undef X
        AS_OPTIMIZER_COUNT
};

const char *as_optimizer_name(enum as_optimizer optimizer);

struct as_train_options {
    enum as_optimizer optimizer;
    unsigned dtype;      /* of weights and activations: F32, F16 or BF16; 0 means F32 */
    bool mixed;          /* 16-bit weights and gradients beside an f32 master copy */
    uint32_t accumulate; /* steps of gradient accumulation; 0 and 1: none. Above 1 gradients live
                            from step to step in f32 when mixed */
    bool checkpoint;     /* keep only the inputs of each block, compute the rest again */
    uint32_t zero_stage; /* 0 to 3 */
    uint32_t ranks;      /* 0 and 1: one */
};

struct as_train_memory {
    uint64_t parameter_bytes, master_bytes, gradient_bytes, optimizer_bytes;
    uint64_t saved_bytes;     /* activations kept for the backward pass */
    uint64_t workspace_bytes; /* the largest gradient of an activation alive at once */
    /* what is alive in the three parts of a step, and the largest */
    uint64_t forward_peak_bytes, backward_peak_bytes, step_peak_bytes, peak_bytes;
    uint64_t recompute_macs; /* added to a step by checkpointing */
    bool exact;              /* false: some sizes were not known */
};

AS_MUST_USE int as_train_memory_count(struct as_train_memory *out, const struct as_model *model,
                                      const struct as_costs *costs, const struct as_params *params,
                                      const struct as_train_options *options,
                                      struct assay_error *err);

/* The optimizer's state for `params` in bytes, before sharding. Exact by tensor. */
uint64_t as_optimizer_bytes(const struct as_params *params, const struct as_model *model,
                            enum as_optimizer optimizer);

/* ---- decoders ---- */

/* Bytes of the key and value cache: of one token in all layers, and of `context` tokens of `batch`
 * sequences. `bits`: of one cached number. 0 when the decoder is not known. */
uint64_t as_kv_bytes_per_token(const struct as_decoder *decoder, unsigned bits);

/* ---- what fits ---- */

enum as_fit_what { AS_FIT_BATCH, AS_FIT_CONTEXT, AS_FIT_DIM };

struct as_fit_question {
    enum as_fit_what what;
    const char *symbol; /* of AS_FIT_DIM; of AS_FIT_CONTEXT: NULL to use the KV cache alone */
    uint64_t memory_bytes;
    uint64_t max; /* the largest value to try; 0: 2^20 */
    bool training;
    struct as_train_options train;
    unsigned kv_bits; /* 0: 16 */
};

struct as_fit_answer {
    uint64_t value;        /* the largest that fits; 0: not even 1 does */
    uint64_t bytes;        /* needed by it */
    uint64_t bytes_at_one; /* needed by 1 */
    bool at_max;           /* more may fit: `max` was reached */
};

struct as_infer_options;
/* Infers the model again and again with other sizes; afterwards its shapes are those of `base`. */
AS_MUST_USE int as_fit(struct as_fit_answer *out, struct as_model *model,
                       const struct as_infer_options *base, const struct as_fit_question *question,
                       struct assay_error *err);

#endif
