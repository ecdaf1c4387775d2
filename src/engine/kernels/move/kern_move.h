/* engine/kernels/move/kern_move.h - elements moved from place to place by their width alone.
 * Texts are moved like any other element and then made the output's own. */
#ifndef AS_ENGINE_KERNELS_MOVE_KERN_MOVE_H
#define AS_ENGINE_KERNELS_MOVE_KERN_MOVE_H

#include "engine/kernel.h"

/* Pieces of work below this are not worth another thread. */
#define AS_MOVE_PIECE_BYTES 65536

enum { AS_MOVE_RANK = 2 * AS_MAX_RANK };

/* A box of elements, read and written each by its own steps. The caller promises that every place
 * is inside of what both pointers point into. */
struct as_move {
    int rank;
    size_t width; /* bytes of an element */
    uint8_t *dst;
    const uint8_t *src;
    int64_t n[AS_MOVE_RANK];
    int64_t to[AS_MOVE_RANK], from[AS_MOVE_RANK]; /* steps in elements; may be negative */
};

void as_move_run(struct as_kernel_ctx *k, struct as_move *m);

/* Adds an axis at the end. */
static inline void as_move_axis(struct as_move *m, int64_t n, int64_t to, int64_t from)
{
    m->n[m->rank] = n;
    m->to[m->rank] = to;
    m->from[m->rank++] = from;
}

/* Fills all of `out` from element `base` of `in` on, by `steps` of `in` for each axis of `out`. */
AS_MUST_USE int as_move_view(struct as_kernel_ctx *k, struct as_val *out, const struct as_val *in,
                             int64_t base, const int64_t *steps);

/* Puts `in`, seen as `outer` rows, into rows of `all` elements of `out` from element `begin` of
 * each on. Texts stay those of `in` until as_move_own_texts(). */
AS_MUST_USE int as_move_part(struct as_kernel_ctx *k, struct as_val *out, const struct as_val *in,
                             uint64_t outer, uint64_t all, uint64_t begin);

/* Bytes of one element, 1, 2, 4, 8 or 16; fails for what is packed closer. */
AS_MUST_USE int as_move_width(struct as_kernel_ctx *k, const struct as_val *val, size_t *width);

/* Of strings: every text of `out` becomes a copy it owns. Nothing for other dtypes. */
AS_MUST_USE int as_move_own_texts(struct as_kernel_ctx *k, struct as_val *out);

/* Repeats the element at `one` n times. */
void as_move_fill(uint8_t *dst, const void *one, uint64_t n, size_t width);

/* How many items of so many bytes make a piece worth a thread. */
static inline uint64_t as_move_grain(uint64_t item_bytes)
{
    return item_bytes >= AS_MOVE_PIECE_BYTES ? 1
                                             : AS_MOVE_PIECE_BYTES / (item_bytes ? item_bytes : 1);
}

/* Product of dims[from..to), which the value's size has shown to fit; rubbish where a dimension
 * outside of them is 0. */
static inline int64_t as_move_product(const int64_t *dims, int from, int to)
{
    uint64_t n = 1;

    for (int i = from; i < to; i++)
        n *= (uint64_t)dims[i];
    return (int64_t)n;
}

/* The attribute `name` as an axis of `rank`, made positive. */
AS_MUST_USE int as_move_axis_of(struct as_kernel_ctx *k, const char *name, int64_t fallback,
                                int rank, int *axis);

/* Indices from data: i32 or i64, each within [-bound, bound), or a failure that names it. */
AS_MUST_USE int as_move_check_indices(struct as_kernel_ctx *k, const struct as_val *at,
                                      int64_t bound);

static inline int64_t as_move_index(const struct as_val *at, uint64_t i)
{
    return at->dtype == AS_DTYPE_I32 ? ((const int32_t *)at->data)[i]
                                     : ((const int64_t *)at->data)[i];
}

/* One place after another in a box; false after the last. */
bool as_move_step(int64_t *at, const int64_t *dims, int rank);

/* ---- kern_gather.c ---- */

/* Every index of `at`, tuples along its last axis, is one of `data` after its batch dimensions. */
AS_MUST_USE int as_gather_check_tuples(struct as_kernel_ctx *k, const struct as_val *at,
                                       const struct as_val *data, int batch_dims);

/* kern_scatter.c */
int as_kern_scatter_elements(struct as_kernel_ctx *k);
int as_kern_scatter_nd(struct as_kernel_ctx *k);

/* ---- kern_make.c ---- */

int as_kern_random_normal(struct as_kernel_ctx *k);
int as_kern_random_uniform(struct as_kernel_ctx *k);
int as_kern_bernoulli(struct as_kernel_ctx *k);
int as_kern_multinomial(struct as_kernel_ctx *k);

/* ---- kern_select.c ---- */

int as_kern_boxes(struct as_kernel_ctx *k); /* kern_boxes.c */

/* ---- kern_shape.c ---- */

/* kern_pad.c */
int as_kern_pad(struct as_kernel_ctx *k);
int as_kern_center_crop_pad(struct as_kernel_ctx *k);

/* kern_arrange.c */
int as_kern_reverse_sequence(struct as_kernel_ctx *k);
int as_kern_trilu(struct as_kernel_ctx *k);
int as_kern_eye_like(struct as_kernel_ctx *k);
int as_kern_col2im(struct as_kernel_ctx *k);

#endif
