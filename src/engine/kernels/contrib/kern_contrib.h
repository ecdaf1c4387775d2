/* engine/kernels/contrib/kern_contrib.h - kernels of com.microsoft that live in files of their own.
 */
#ifndef AS_ENGINE_KERNELS_CONTRIB_KERN_CONTRIB_H
#define AS_ENGINE_KERNELS_CONTRIB_KERN_CONTRIB_H

#include "engine/kernel.h"

/* kern_contrib_act.c */
int as_ms_gelu(struct as_kernel_ctx *k); /* and FastGelu, QuickGelu, BiasGelu */
int as_ms_bias_split_gelu(struct as_kernel_ctx *k);
int as_ms_bias_softmax(struct as_kernel_ctx *k);

/* kern_contrib_norm.c */
int as_ms_skip_norm(struct as_kernel_ctx *k); /* and the simplified one */
int as_ms_embed_norm(struct as_kernel_ctx *k);
int as_ms_group_norm(struct as_kernel_ctx *k); /* and SkipGroupNorm */

/* kern_contrib_nbits.c */
int as_ms_matmul_nbits(struct as_kernel_ctx *k);
int as_ms_gather_blocks(struct as_kernel_ctx *k);

/* kern_contrib_pool.c */
int as_run_qlinear_pool(struct as_kernel_ctx *k);

#endif
