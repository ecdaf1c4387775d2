/* engine/kernels/attention/kern_attention.h - what the attention operators of com.microsoft share.
 */
#ifndef AS_ENGINE_KERNELS_ATTENTION_KERN_ATTENTION_H
#define AS_ENGINE_KERNELS_ATTENTION_KERN_ATTENTION_H

#include "engine/kernels/attention/kern_attention_core.h"

/* Rows of heads wherever they are, with a bias [heads * width] to be added or NULL. */
struct as_heads_from {
    const float *x, *bias;
    struct as_heads at;
    int64_t batch, heads, rows, width;
};

/* To to[batch][heads][length][width], from row `first` on. */
void as_heads_copy(const struct as_heads_from *from, float *to, int64_t length, int64_t first);

bool as_is_floats(const struct as_val *val, int rank);

/* What is added to all scores, [batch or 1, heads or 1, rows, keys]; `bias` may be NULL. */
AS_MUST_USE int as_attention_bias(struct as_kernel_ctx *k, const struct as_val *bias,
                                  struct as_attend *a);

int as_kernel_group_query(struct as_kernel_ctx *k);
int as_kernel_rotary(struct as_kernel_ctx *k);

#endif
