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

#endif
