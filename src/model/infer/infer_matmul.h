/* model/infer/infer_matmul.h - the dimensions of matrix products, and of recurrent layers, for the
 * many operators that are one in disguise. */
#ifndef AS_MODEL_INFER_INFER_MATMUL_H
#define AS_MODEL_INFER_INFER_MATMUL_H

#include "model/infer/infer_context.h"

/* What numpy.matmul gives for a and b: vectors, matrices, broadcast batches. */
AS_MUST_USE int as_infer_product(struct as_infer *ctx, const struct as_dims *a,
                                 const struct as_dims *b, struct as_dims *out);

/* The same of two inputs, as output 0. */
AS_MUST_USE int as_infer_matmul(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* Two matrices, either transposed. */
AS_MUST_USE int as_infer_gemm(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* Inputs `a` and `b` by numpy's broadcasting, as output 0. */
AS_MUST_USE int as_infer_broadcast(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* A recurrent layer: X is input 0, the recurrence weights input 2 with the hidden size on
 * `hidden_axis`; Y, Y_h and, of an LSTM, Y_c come out. */
AS_MUST_USE int as_infer_recurrent(struct as_infer *ctx, int hidden_axis, size_t n_states);

#endif
