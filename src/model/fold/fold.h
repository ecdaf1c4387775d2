/* model/fold/fold.h - constants computed while shapes are inferred.
 * Whatever cannot be computed exactly is left unknown: every function here may simply say no. */
#ifndef AS_MODEL_FOLD_FOLD_H
#define AS_MODEL_FOLD_FOLD_H

#include "model/infer/infer_context.h"

/* A constant input whose numbers and dimensions agree. */
struct as_fold_in {
    const struct as_data *data;
    struct as_dims dims;
    int64_t strides[AS_MAX_RANK]; /* in elements */
};

/* A constant in the making. */
struct as_fold_out {
    struct as_data *data;
    struct as_text *texts; /* of strings */
    struct as_dims dims;
};

union as_number {
    int64_t i;
    double f;
};

bool as_fold_in(const struct as_infer *ctx, size_t i, struct as_fold_in *in);

/* The type of output `i` as its rule has set it; of unknown type when the node leaves it out. */
const struct as_type *as_fold_type(const struct as_infer *ctx, size_t i);

/* False: a dimension is not known, there are too many elements, or no memory is left. */
bool as_fold_start(const struct as_infer *ctx, struct as_fold_out *out, unsigned dtype,
                   const struct as_dims *dims);
int as_fold_end(struct as_infer *ctx, size_t i, struct as_fold_out *out);

/* One element as it is, of any dtype. */
void as_fold_copy(struct as_fold_out *out, uint64_t to, const struct as_data *from, uint64_t k);

/* The same for `n` that follow each other. */
void as_fold_copy_run(struct as_fold_out *out, uint64_t to, const struct as_data *from, uint64_t k,
                      uint64_t n);

/* Every element of `out` in order, from `base` in `from` on by `strides`. */
void as_fold_view(struct as_fold_out *out, const struct as_data *from, const int64_t *strides,
                  int64_t base);

/* The strides of `dims` in row-major order; a dimension that is not known counts as 1. */
void as_fold_strides(const struct as_dims *dims, int64_t *strides);
/* The strides of `in` when it is broadcast to `dims`. */
void as_fold_broadcast(const struct as_fold_in *in, const struct as_dims *dims, int64_t *strides);

/* Element `k` as a number. False: not known, or past what an i64 holds. */
bool as_fold_int(const struct as_data *data, uint64_t k, int64_t *out);
/* Numbers of floats, or of integers when `as_float` is false; in data of texts there are none. */
bool as_fold_number(const struct as_data *data, uint64_t k, bool as_float, union as_number *out);
/* False when the dtype cannot hold it: a float past its integers. */
bool as_fold_put(struct as_fold_out *out, uint64_t k, bool as_float, union as_number number);
/* An element that is not known; false when the dtype cannot say so. */
bool as_fold_put_unknown(struct as_fold_out *out, uint64_t k);

/* The numbers of input `in` become those of output `out`, unmoved and however many, when their
 * count fits: for operators that change only dimensions. */
void as_fold_share(const struct as_infer *ctx, size_t out, size_t in);

/* One place after another in `dims`, with up to three offsets by their own strides. */
struct as_fold_walk {
    const struct as_dims *dims;
    int n;
    const int64_t *strides[3];
    int64_t offset[3];
    int64_t at[AS_MAX_RANK];
};

void as_fold_step(struct as_fold_walk *walk);

/* True when `a` comes before `b`. */
typedef bool (*as_fold_before)(const void *of, uint64_t a, uint64_t b);
/* Sorts n numbers in n log n, equal ones in the order they had; `spare` has room for n. */
void as_fold_sort(uint64_t *at, uint64_t *spare, size_t n, as_fold_before before, const void *of);

/* Every element is a number that is known and not NaN. */
bool as_fold_ordered(const struct as_data *data);
/* Below 0, 0 or above 0 as element `a` is to `b`, of such data. */
int as_fold_compare(const struct as_data *data, uint64_t a, uint64_t b);

/* ---- fold_boxes.c ---- */

int as_infer_boxes(struct as_infer *ctx);
int as_fold_boxes(struct as_infer *ctx);

/* ---- fold_gather.c ---- */

int as_fold_gather(struct as_infer *ctx);
int as_fold_gather_elements(struct as_infer *ctx);
int as_fold_gather_nd(struct as_infer *ctx);
int as_fold_scatter_elements(struct as_infer *ctx);
int as_fold_scatter_nd(struct as_infer *ctx);
int as_fold_one_hot(struct as_infer *ctx);

/* ---- fold_math.c ---- */

int as_fold_unary(struct as_infer *ctx);
int as_fold_binary(struct as_infer *ctx);
int as_fold_variadic(struct as_infer *ctx);
int as_fold_where(struct as_infer *ctx);
int as_fold_clip(struct as_infer *ctx);
int as_fold_cast(struct as_infer *ctx);

/* ---- fold_reduce.c ---- */

/* Reduce* over the axes that are marked, one flag for each dimension of input 0. */
int as_fold_reduce(struct as_infer *ctx, const bool *marked);
int as_fold_arg(struct as_infer *ctx);
int as_fold_cumsum(struct as_infer *ctx);
int as_fold_topk(struct as_infer *ctx);

/* ---- fold_shape.c ---- */

int as_infer_slice(struct as_infer *ctx);
int as_infer_split(struct as_infer *ctx);
int as_infer_pad(struct as_infer *ctx);
int as_fold_slice(struct as_infer *ctx);
int as_fold_split(struct as_infer *ctx);
int as_fold_pad(struct as_infer *ctx);
int as_fold_tile(struct as_infer *ctx);
int as_fold_concat(struct as_infer *ctx);

#endif
