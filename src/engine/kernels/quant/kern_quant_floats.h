/* engine/kernels/quant/kern_quant_floats.h - runs kernels that know only floats on quantized
 * tensors, as TensorFlow Lite has them, whose scales are kept with the values of the model. */
#ifndef AS_ENGINE_KERNELS_QUANT_KERN_QUANT_FLOATS_H
#define AS_ENGINE_KERNELS_QUANT_KERN_QUANT_FLOATS_H

#include "engine/exec_plan.h"

/* Whether an input or output of the node is quantized. */
bool as_quant_applies(const struct as_kernel_ctx *k);

/* Calls the kernel of the step with floats in place of what is quantized, and its posts before the
 * result is quantized again. */
AS_MUST_USE int as_quant_run(struct as_kernel_ctx *k, struct as_step *step);

#endif
