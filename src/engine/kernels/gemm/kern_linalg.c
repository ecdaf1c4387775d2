/* engine/kernels/gemm/kern_linalg.c - determinants and inverses of small matrices, in double
 * precision. Gauss with the largest pivot of the column. */
#include "engine/kernels/gemm/kern_gemm.h"

#include <math.h>
#include <string.h>

static void swap_rows(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

/* The row at or below `row` with the largest element in that column. */
static int64_t pivot_of(const double *m, int64_t n, int64_t width, int64_t row)
{
    int64_t best = row;

    for (int64_t i = row + 1; i < n; i++)
        if (fabs(m[i * width + row]) > fabs(m[best * width + row]))
            best = i;
    return best;
}

static void subtract(double *from, const double *what, double times, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        from[i] -= times * what[i];
}

static double determinant(double *m, int64_t n)
{
    double det = 1;

    for (int64_t row = 0; row < n; row++) {
        int64_t best = pivot_of(m, n, n, row);

        if (!(fabs(m[best * n + row]) > 0))
            return m[best * n + row];
        if (best != row) {
            swap_rows(m + best * n, m + row * n, n);
            det = -det;
        }
        det *= m[row * n + row];
        for (int64_t i = row + 1; i < n; i++)
            subtract(m + i * n, m + row * n, m[i * n + row] / m[row * n + row], n);
    }
    return det;
}

/* `m` is [n][2n] with ones on the diagonal of its right half, which becomes the inverse. */
static bool invert(double *m, int64_t n)
{
    for (int64_t row = 0; row < n; row++) {
        int64_t best = pivot_of(m, n, 2 * n, row);
        double pivot = m[best * 2 * n + row];

        if (!(fabs(pivot) > 0))
            return false;
        swap_rows(m + best * 2 * n, m + row * 2 * n, best != row ? 2 * n : 0);
        for (int64_t j = 0; j < 2 * n; j++)
            m[row * 2 * n + j] /= pivot;
        for (int64_t i = 0; i < n; i++)
            if (i != row)
                subtract(m + i * 2 * n, m + row * 2 * n, m[i * 2 * n + row], 2 * n);
    }
    return true;
}

static int check_square(struct as_kernel_ctx *k, int64_t *n)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;

    if (!x || !as_has_out(k, 0) || x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return as_kernel_fail(k, "the input is not a square matrix");
    *n = x->dims[x->rank - 1];
    return ASSAY_OK;
}

int as_kernel_det(struct as_kernel_ctx *k)
{
    int64_t n = 0;
    uint64_t count, size;
    double *work;
    int rc = check_square(k, &n);

    if (rc < 0)
        return rc;
    size = (uint64_t)(n * n);
    count = k->out[0]->n;
    if (count * size != k->in[0]->n)
        return as_kernel_fail(k, "there is no room for the determinants");
    work = as_kernel_work(k, size, sizeof *work);
    if (!work)
        return ASSAY_ERR_NOMEM;
    for (uint64_t m = 0; m < count; m++) {
        for (uint64_t i = 0; i < size; i++)
            work[i] = as_val_f64(k->in[0], m * size + i);
        as_val_put_f64(k->out[0], m, determinant(work, n));
    }
    return ASSAY_OK;
}

int as_kernel_inverse(struct as_kernel_ctx *k)
{
    int64_t n = 0;
    uint64_t count, size;
    double *work;
    int rc = check_square(k, &n);

    if (rc < 0)
        return rc;
    size = (uint64_t)(n * n);
    if (size == 0)
        return ASSAY_OK;
    count = k->in[0]->n / size;
    work = as_kernel_work(k, 2 * size, sizeof *work);
    if (!work)
        return ASSAY_ERR_NOMEM;
    if (k->out[0]->n != k->in[0]->n)
        return as_kernel_fail(k, "there is no room for the inverse");
    for (uint64_t m = 0; m < count; m++) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                work[i * 2 * n + j] = as_val_f64(k->in[0], m * size + (uint64_t)(i * n + j));
                work[i * 2 * n + n + j] = i == j;
            }
        if (!invert(work, n))
            return as_kernel_fail(k, "a matrix has no inverse");
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                as_val_put_f64(k->out[0], m * size + (uint64_t)(i * n + j),
                               work[i * 2 * n + n + j]);
    }
    return ASSAY_OK;
}
