/* engine/kernels/contrib/kern_contrib_quant.h - the kernel of the family ms_quant with a file of
 * its own. */
#ifndef AS_ENGINE_KERNELS_CONTRIB_KERN_CONTRIB_QUANT_H
#define AS_ENGINE_KERNELS_CONTRIB_KERN_CONTRIB_QUANT_H

#include "engine/kernel.h"

int as_run_qlinear_pool(struct as_kernel_ctx *k); /* kern_ms_pool.c */

#endif
