/* engine/kernels/attention/kern_attention.h - what the attention operators of com.microsoft share.
 */
#ifndef AS_ENGINE_KERNELS_ATTENTION_KERN_ATTENTION_H
#define AS_ENGINE_KERNELS_ATTENTION_KERN_ATTENTION_H

#include "engine/kernel.h"

/* ---- kern_attention_core.c ---- */

/* Steps in elements from one sample, head and row to the next. */
struct as_heads {
    int64_t batch, head, row;
};

struct as_attend {
    int64_t batch, heads, kv_heads; /* heads is a multiple of kv_heads */
    int64_t rows, keys, width, value_width;
    const float *q, *k, *v;
    struct as_heads q_at, k_at, v_at, out_at, bias_at;
    float *out;
    const float *bias;     /* added to the scores, or NULL */
    const float *key_mask; /* [batch][keys], added too, or NULL */
    const int64_t *n_keys; /* of each sample, at most `keys`; NULL: all */
    const int64_t *past;   /* of each sample: keys before the first row's own; NULL: 0 */
    bool causal;
    int64_t window;       /* keys a row sees, with its own; 0: all. Only with `causal` */
    float scale, softcap; /* 0: none */
    const float *sink;    /* [heads]: one more score without a value, or NULL */
};

/* The caller has checked that everything is there. */
void as_attend_run(struct as_kernel_ctx *k, const struct as_attend *a);

/* Rotates the pairs of `n` rows; cos and sin are [positions][dim / 2], `position` below them. */
struct as_rotary {
    const float *cos, *sin;
    int64_t dim, positions;
    bool interleaved;
};
void as_rotary_row(const struct as_rotary *r, float *row, int64_t position);

/* ---- kern_attention.c ---- */

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
