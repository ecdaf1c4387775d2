/* engine/kernels/rnn/kern_rnn.h - the recurrent layers of ONNX on plain floats. */
#ifndef AS_ENGINE_KERNELS_RNN_KERN_RNN_H
#define AS_ENGINE_KERNELS_RNN_KERN_RNN_H

#include "engine/kernel.h"

enum as_cell { AS_CELL_RNN, AS_CELL_GRU, AS_CELL_LSTM };

/* Weights as they are to be used; the rest of the inputs is the node's. */
struct as_rnn_weights {
    const float *w, *r; /* [directions, gates * hidden, in]; or the last two axes swapped */
    int64_t in, hidden;
    bool swapped;
};

/* Runs the node as a cell of that kind; `weights` NULL: those of inputs 1 and 2. */
AS_MUST_USE int as_kernel_rnn(struct as_kernel_ctx *k, enum as_cell cell,
                              const struct as_rnn_weights *weights);

/* ---- kern_rnn_act.c ---- */

enum as_act_kind {
    AS_ACT_NONE,
    AS_ACT_RELU,
    AS_ACT_TANH,
    AS_ACT_SIGMOID,
    AS_ACT_AFFINE,
    AS_ACT_LEAKY_RELU,
    AS_ACT_THRESHOLDED_RELU,
    AS_ACT_SCALED_TANH,
    AS_ACT_HARD_SIGMOID,
    AS_ACT_ELU,
    AS_ACT_SOFTSIGN,
    AS_ACT_SOFTPLUS,
    AS_ACT_CLIP,
    AS_ACT_GELU,
    AS_ACT_SILU,
    AS_ACT_HARD_SWISH,
    AS_ACT_COUNT
};

struct as_act {
    enum as_act_kind kind;
    float alpha, beta;
};

/* By its name in any case, with the defaults of the operator; false: there is none. `n_params` is
 * how many of alpha and beta it has. */
bool as_act_find(struct as_text name, struct as_act *act, int *n_params);

/* Each of n numbers. */
void as_act_run(const struct as_act *act, float *x, uint64_t n);

#endif
