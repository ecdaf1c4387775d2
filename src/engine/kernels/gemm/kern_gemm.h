/* engine/kernels/gemm/kern_gemm.h - matrix products for the kernels in plain C: any strides,
 * batches, and a second factor that its owner packs. Pointers and strides are the caller's to have
 * checked. */
#ifndef AS_ENGINE_KERNELS_GEMM_KERN_GEMM_H
#define AS_ENGINE_KERNELS_GEMM_KERN_GEMM_H

#include "engine/kernel.h"

/* Columns of a packed panel, by the width of an element. */
#define AS_GEMM_PANEL(width) (128 / (width))

/* Writes rows [row, row + rows) and columns [column, column + columns) of factor B of product
 * `batch` to to[rows][panel]; columns past the last are zeros. `column` begins a panel. */
struct as_gemm_part {
    uint64_t batch, row, rows, column, columns;
};
typedef void (*as_gemm_pack)(const void *arg, const struct as_gemm_part *part, void *to);

/* Working memory that several products of one node share, one after the other; {0} at first. */
struct as_gemm_scratch {
    void *at;
    uint64_t bytes;
};

/* C = alpha * A * B, or C += when `add`. Strides are in elements; columns of C are neighbors. */
struct as_gemm {
    unsigned dtype; /* f32, f64, or an integer of 4 or 8 bytes, which wraps */
    uint64_t m, n, k;
    uint64_t batch; /* products, each with its own places below */
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row;
    const int64_t *a_at, *b_at, *c_at; /* elements from a, b, c for each; NULL: all at 0 */
    double alpha;
    bool add;
    as_gemm_pack pack; /* NULL: B is b */
    const void *pack_arg;
    struct as_gemm_scratch *scratch; /* NULL: its own */
};

bool as_gemm_takes(unsigned dtype);

/* On the threads of the run, with at most a few megabytes of working memory. */
AS_MUST_USE int as_gemm_run(struct as_kernel_ctx *k, const struct as_gemm *g);

/* The usual one: f32, C[m, n] (+)= A[m, k] * B, where B is [k, n] or, `turned`, [n, k]. */
struct as_gemm as_gemm_plain(uint64_t m, uint64_t n, uint64_t k, const float *a, const float *b,
                             bool turned, float *c);

/* The sum of a[i] * b[i]. */
float as_dot_f32(const float *a, const float *b, uint64_t n);

/* ---- kern_einsum.c ---- */

int as_kernel_einsum(struct as_kernel_ctx *k);

/* ---- kern_linalg.c ---- */

int as_kernel_det(struct as_kernel_ctx *k);
int as_kernel_inverse(struct as_kernel_ctx *k);

/* ---- kern_matmul.c ---- */

/* How a factor is turned before: its first axis behind the batch, its last two swapped. */
struct as_turn {
    bool batch, matrix;
};

struct as_product {
    const struct as_val *a, *b;
    struct as_turn turn_a, turn_b;
    struct as_val *out;
    double alpha;
    bool add;
};

AS_MUST_USE int as_kernel_product(struct as_kernel_ctx *k, const struct as_product *p);

/* The whole of Gemm. */
int as_kernel_gemm(struct as_kernel_ctx *k);

#endif
