/* model/memory/train_memory.h - how much memory a training step needs, over its time line.
 * Forward, backward and optimizer each have a peak; the answer is the largest, never their sum. */
#ifndef AS_MODEL_MEMORY_TRAIN_MEMORY_H
#define AS_MODEL_MEMORY_TRAIN_MEMORY_H

#include "model/cost/cost.h"
#include "model/memory/memory_plan.h"
#include "model/weights/parameters.h"

/* ---- optimizer_state.c ---- */

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

/* "?" for a number that is none. */
const char *as_optimizer_name(enum as_optimizer optimizer);

/* True for what a gradient is computed of: parameters of a float dtype, each number once. */
bool as_param_is_trained(const struct as_model *model, const struct as_param *param);

/* The optimizer's state for `params` in bytes, before sharding. Exact by tensor; UINT64_MAX when
 * that is passed. Adafactor keeps, of each tensor of two dimensions or more, one row and one column
 * of every matrix its last two dimensions make, and a vector whole; no first moment. */
uint64_t as_optimizer_bytes(const struct as_params *params, const struct as_model *model,
                            enum as_optimizer optimizer);

/* ---- train_memory.c ---- */

struct as_train_options {
    enum as_optimizer optimizer;
    unsigned dtype;      /* of weights and activations: F32, F16 or BF16; 0 means F32 */
    bool mixed;          /* 16-bit weights and gradients beside an f32 master copy */
    uint32_t accumulate; /* steps of gradient accumulation; 0 and 1: none. Above 1 gradients live
                            from step to step, in f32 when mixed */
    bool checkpoint;     /* keep only the inputs of each block, compute the rest again */
    uint32_t zero_stage; /* 0 to 3 */
    uint32_t ranks;      /* 0 and 1: one */
};

/* Of one rank. Sharded bytes are divided flat and rounded up: with stage 1 the optimizer's state
 * and the master copy, with stage 2 gradients too, with stage 3 parameters too; the node that runs
 * then has its own parameters (stage 3) and their gradients (stages 2 and 3) in full beside it.
 *
 * The time line. Parameters, master copy and the optimizer's state are always there, as from the
 * second step on.
 *   forward:  + activations alive + those saved so far
 *   backward: + those saved for what is still to come, gradients of parameters so far, gradients of
 *             activations: each lives from the backward pass of its last reader to that of its
 * maker step:     + all gradients A node saves what the table of costs says, if a gradient passes
 * through it; two nodes that save the same tensor, or a view of it, save it once. Bodies of loops
 * save as often as they run.
 *
 * With `checkpoint` the n nodes of the main graph are cut into floor(sqrt(n)) blocks, each cut
 * where the fewest bytes cross within half a block of an even share. What crosses a cut is kept; of
 * every block but the last the rest is computed again when its backward pass comes. */
struct as_train_memory {
    uint64_t parameter_bytes; /* in the dtype of training; other constants in use as stored */
    uint64_t master_bytes, gradient_bytes, optimizer_bytes;
    uint64_t saved_bytes;     /* activations kept when the forward pass ends */
    uint64_t workspace_bytes; /* the largest sum of gradients of activations alive at once */
    /* what is alive in the three parts of a step, and the largest */
    uint64_t forward_peak_bytes, backward_peak_bytes, step_peak_bytes, peak_bytes;
    uint64_t recompute_macs; /* added to a step by checkpointing */
    bool exact;              /* false: some sizes were not known, or a sum passed 2^64 and stays at
                                UINT64_MAX */
};

AS_MUST_USE int as_train_memory_count(struct as_train_memory *out, const struct as_model *model,
                                      const struct as_costs *costs, const struct as_params *params,
                                      const struct as_train_options *options,
                                      struct assay_error *err);

/* ---- checkpoint_segments.c ---- */

struct as_train_blocks {
    uint32_t *block_of;    /* row -> its block, from 0 */
    uint32_t *start, *end; /* block -> its first and last row */
    uint32_t n;            /* at least 1 when there are rows */
};

/* floor(sqrt(n)) blocks of the n nodes of the main graph when `cut`, else one. In `arena`. */
AS_MUST_USE int as_train_blocks_find(struct as_train_blocks *out, struct as_arena *arena,
                                     const struct as_lifetimes *life, size_t n_rows, bool cut,
                                     struct assay_error *err);

#endif
