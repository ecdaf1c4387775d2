/* engine/kernels/tflite/kern_tflite.h - the operators of TensorFlow Lite on plain numbers.
 * Quantised tensors are turned into floats before and back behind them (kern_tflite.c). */
#ifndef AS_ENGINE_KERNELS_TFLITE_KERN_TFLITE_H
#define AS_ENGINE_KERNELS_TFLITE_KERN_TFLITE_H

#include "engine/kernels/control/kern_delegate.h"

/* A table of how an operator works on floats, or on integers that are no quantised floats. */
struct as_tfl_kernel {
    enum as_op op; /* AS_OP_UNKNOWN ends a table */
    as_kernel_run run;
    enum as_op as; /* for the many that are an operator of ONNX under another name */
};

extern const struct as_tfl_kernel as_tfl_layers[], as_tfl_math[], as_tfl_shapes[];

static inline const struct as_val *as_tfl_in(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

static inline bool as_tfl_f32(const struct as_val *val, int rank)
{
    return val && val->dtype == AS_DTYPE_F32 && (rank < 0 || val->rank == rank);
}

/* The activation fused to the node, on output 0. */
AS_MUST_USE int as_tfl_activate(struct as_kernel_ctx *k);

/* Runs as the operator of ONNX that the tables name for the node: element by element, or moving
 * elements by what other inputs say. */
int as_tfl_moved(struct as_kernel_ctx *k);
int as_tfl_same(struct as_kernel_ctx *k);
int as_tfl_same_activated(struct as_kernel_ctx *k);

#endif
