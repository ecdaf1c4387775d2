/* engine/kernels/tflite/kern_tflite.h - kernels of TensorFlow Lite's operators that move elements
 * in ways ONNX has no operator for; the table is in kern_tflite.c. */
#ifndef AS_ENGINE_KERNELS_TFLITE_KERN_TFLITE_H
#define AS_ENGINE_KERNELS_TFLITE_KERN_TFLITE_H

#include "engine/kernel.h"

int as_tfl_pack(struct as_kernel_ctx *k);
int as_tfl_unpack(struct as_kernel_ctx *k);
int as_tfl_slice(struct as_kernel_ctx *k);
int as_tfl_strided_slice(struct as_kernel_ctx *k);
int as_tfl_fill(struct as_kernel_ctx *k);
int as_tfl_zeros_like(struct as_kernel_ctx *k);
int as_tfl_blocks(struct as_kernel_ctx *k);
int as_tfl_batches(struct as_kernel_ctx *k);

#endif
