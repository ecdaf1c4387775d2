/* model/memory/train_memory.h - how much memory a training step needs, over its time line.
 * Forward, backward and optimizer each have a peak; the answer is the largest, never their sum. */
#ifndef AS_MODEL_MEMORY_TRAIN_MEMORY_H
#define AS_MODEL_MEMORY_TRAIN_MEMORY_H

#include "model/cost/cost.h"
#include "model/memory/optimizer_state.h"

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

#endif
