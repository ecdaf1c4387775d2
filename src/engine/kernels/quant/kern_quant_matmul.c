/* engine/kernels/quant/kern_quant_matmul.c - products of 8-bit integers: MatMulInteger and
 * QLinearMatMul. Zero points are taken off first; sums are exact in 32 bits and wrap beyond. */
#include <string.h>

#include "engine/kernels/quant/kern_quant.h"

enum { COLUMNS = 512, ROWS = 4 };

struct gemm {
    const int16_t *a, *b;
    int32_t *c;
    uint64_t m, n, inner;
};

/* Up to four rows by up to 512 columns; every number of b is used for all rows at once. */
AS_VECTOR(static, gemm_block,
          (const struct gemm *g, uint64_t row, uint64_t n_rows, uint64_t column, uint64_t n),
          (g, row, n_rows, column, n))
{
    uint32_t sum[ROWS][COLUMNS];

    memset(sum, 0, sizeof sum);
    for (uint64_t p = 0; p < g->inner; p++) {
        const int16_t *b = g->b + p * g->n + column;

        for (uint64_t r = 0; r < n_rows; r++) {
            int32_t a = g->a[(row + r) * g->inner + p];

            for (uint64_t j = 0; j < n; j++)
                sum[r][j] += (uint32_t)(a * b[j]);
        }
    }
    for (uint64_t r = 0; r < n_rows; r++)
        for (uint64_t j = 0; j < n; j++)
            g->c[(row + r) * g->n + column + j] = (int32_t)sum[r][j];
}

static void gemm_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct gemm *g = arg;

    for (uint64_t block = from; block < to; block++) {
        uint64_t row = block * ROWS, n_rows = g->m - row < ROWS ? g->m - row : ROWS;

        for (uint64_t column = 0; column < g->n; column += COLUMNS)
            gemm_block(g, row, n_rows, column, g->n - column < COLUMNS ? g->n - column : COLUMNS);
    }
}

void as_int_gemm(struct as_kernel_ctx *k, const int16_t *a, const int16_t *b, int32_t *c,
                 const uint64_t shape[3])
{
    struct gemm g = {a, b, NULL, shape[0], shape[1], shape[2]};

    g.c = c;
    as_kernel_parallel(k, (g.m + ROWS - 1) / ROWS, as_grain_of(ROWS * g.n * g.inner / 4), gemm_rows,
                       &g);
}

int as_check_byte(struct as_kernel_ctx *k, const struct as_val *val)
{
    return val->dtype == AS_DTYPE_U8 || val->dtype == AS_DTYPE_I8
               ? ASSAY_OK
               : as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(val->dtype));
}

AS_VECTOR(static, center_u8, (const uint8_t *x, int16_t *out, uint64_t n, int32_t zero),
          (x, out, n, zero))
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = (int16_t)(x[i] - zero);
}

AS_VECTOR(static, center_i8, (const int8_t *x, int16_t *out, uint64_t n, int32_t zero),
          (x, out, n, zero))
{
    for (uint64_t i = 0; i < n; i++)
        out[i] = (int16_t)(x[i] - zero);
}

int16_t *as_centered(struct as_kernel_ctx *k, const struct as_val *x, const struct as_val *zero,
                     uint64_t n_slices, uint64_t inner)
{
    uint64_t each = !zero || zero->n == 1 ? x->n : inner;
    int16_t *out;

    if (x->dtype == AS_DTYPE_I16 && !zero)
        return x->data;
    if (as_check_byte(k, x) < 0)
        return NULL;
    if (zero && zero->n != 1 && zero->n != n_slices) {
        (void)as_kernel_fail(k, "there are %llu zero points for %llu slices",
                             (unsigned long long)zero->n, (unsigned long long)n_slices);
        return NULL;
    }
    out = as_kernel_work(k, x->n, sizeof *out);
    for (uint64_t at = 0; out && at < x->n; at += each) {
        int32_t off = 0;

        if (zero)
            off = (int32_t)(int16_t)as_val_i64(zero, zero->n == 1 ? 0 : at / inner % n_slices);
        if (x->dtype == AS_DTYPE_U8)
            center_u8((const uint8_t *)x->data + at, out + at, each, off);
        else
            center_i8((const int8_t *)x->data + at, out + at, each, off);
    }
    return out;
}

/* ---- batches ---- */

/* Rows and columns aside, where the matrix of each batch begins, counted in matrices. */
struct batches {
    struct as_dims out;
    int64_t a[AS_MAX_RANK], b[AS_MAX_RANK];
};

static int read_batches(struct as_kernel_ctx *k, const struct as_val *a, const struct as_val *b,
                        struct batches *s, uint64_t *n)
{
    struct as_val left = *a, right = *b;

    left.rank = (int16_t)(a->rank > 2 ? a->rank - 2 : 0);
    right.rank = (int16_t)(b->rank > 2 ? b->rank - 2 : 0);
    s->out.rank = left.rank > right.rank ? left.rank : right.rank;
    *n = 1;
    for (int i = 0; i < s->out.rank; i++) {
        int l = i - (s->out.rank - left.rank), r = i - (s->out.rank - right.rank);
        int64_t x = l < 0 ? 1 : left.dims[l], y = r < 0 ? 1 : right.dims[r];

        s->out.at[i] = x == 1 ? y : x;
        *n *= (uint64_t)s->out.at[i];
    }
    if (!as_strides_broadcast(&left, &s->out, s->a) || !as_strides_broadcast(&right, &s->out, s->b))
        return as_kernel_fail(k, "the batches of the two factors do not fit");
    return ASSAY_OK;
}

static uint64_t batch_place(const struct batches *s, const int64_t *strides, uint64_t batch)
{
    uint64_t at = 0;

    for (int i = s->out.rank; i-- > 0;) {
        at += batch % (uint64_t)s->out.at[i] * (uint64_t)strides[i];
        batch /= (uint64_t)s->out.at[i];
    }
    return at;
}

/* Zero points of columns are not those of slices that lie together, so columns are done one by one.
 */
static int16_t *centered_columns(struct as_kernel_ctx *k, const struct as_val *b,
                                 const struct as_val *zero, uint64_t inner, uint64_t n)
{
    int16_t *out;

    if (!zero || zero->n == 1)
        return as_centered(k, b, zero, 1, 1);
    if (zero->n != n && (n == 0 || inner == 0 || zero->n != b->n / inner)) {
        (void)as_kernel_fail(k, "there are %llu zero points for %llu columns",
                             (unsigned long long)zero->n, (unsigned long long)n);
        return NULL;
    }
    out = as_centered(k, b, NULL, 1, 1);
    for (uint64_t i = 0; out && i < b->n; i++) {
        uint64_t column = i % n, matrix = i / (inner * n);

        out[i] = (int16_t)(out[i] -
                           (int16_t)as_val_i64(zero, zero->n == n ? column : matrix * n + column));
    }
    return out;
}

int as_int_matmul(struct as_kernel_ctx *k, const struct as_val *a, const struct as_val *a_zero,
                  const struct as_val *b, const struct as_val *b_zero, struct as_int_product *p)
{
    uint64_t inner = a->rank > 0 ? (uint64_t)a->dims[a->rank - 1] : 0, rows, total;
    const int16_t *left, *right;
    struct batches s = {0};
    int rc;

    if (a->rank < 1 || b->rank < 1 || (uint64_t)b->dims[b->rank > 1 ? b->rank - 2 : 0] != inner)
        return as_kernel_fail(k, "its factors do not go together");
    p->m = a->rank > 1 ? (uint64_t)a->dims[a->rank - 2] : 1;
    p->n = b->rank > 1 ? (uint64_t)b->dims[b->rank - 1] : 1;
    rc = read_batches(k, a, b, &s, &p->batches);
    if (rc < 0)
        return rc;
    rows = a_zero && inner > 0 && a_zero->n == a->n / inner ? a_zero->n : p->m;
    left = as_centered(k, a, a_zero, rows, inner);
    right = left ? centered_columns(k, b, b_zero, inner, p->n) : NULL;
    total = p->batches * p->m * p->n;
    if (p->sums && p->capacity != total)
        return as_kernel_fail(k, "its output does not fit");
    if (right && !p->sums)
        p->sums = as_kernel_work(k, total, sizeof *p->sums);
    if (!right || !p->sums)
        return k->err && k->err->code ? k->err->code : ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < p->batches; i++)
        as_int_gemm(k, left + batch_place(&s, s.a, i) * p->m * inner,
                    right + batch_place(&s, s.b, i) * inner * p->n, p->sums + i * p->m * p->n,
                    (const uint64_t[]){p->m, p->n, inner});
    return ASSAY_OK;
}

int as_run_matmul_integer(struct as_kernel_ctx *k)
{
    struct as_int_product p = {.sums = k->out[0]->data, .capacity = k->out[0]->n};

    if (k->out[0]->dtype != AS_DTYPE_I32)
        return as_kernel_cannot(k, "its output is of %s", as_dtype_name(k->out[0]->dtype));
    return as_int_matmul(k, k->in[0], as_in_or_null(k, 2), k->in[1], as_in_or_null(k, 3), &p);
}

/* ---- back to 8 bits ---- */

#define REQUANTIZE(tag, type, low, high)                                                           \
    AS_VECTOR(static, requantize_##tag,                                                            \
              (const int32_t *sums, type out[], uint64_t n, const float *scale, int64_t step,      \
               float zero),                                                                        \
              (sums, out, n, scale, step, zero))                                                   \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            float y = rintf((float)sums[i] * scale[(int64_t)i * step]) + zero;                     \
                                                                                                   \
            y = y > (float)(low) ? y : (float)(low);                                               \
            out[i] = (type)(int32_t)(y < (float)(high) ? y : (float)(high));                       \
        }                                                                                          \
    }                                                                                              \
    AS_VECTOR(static, quantize_##tag, (const float *x, type out[], uint64_t n, float zero),        \
              (x, out, n, zero))                                                                   \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            float y = rintf(x[i]) + zero;                                                          \
                                                                                                   \
            y = y > (float)(low) ? y : (float)(low);                                               \
            out[i] = (type)(int32_t)(y < (float)(high) ? y : (float)(high));                       \
        }                                                                                          \
    }
REQUANTIZE(u8, uint8_t, 0, 255)
REQUANTIZE(i8, int8_t, -128, 127)

void as_requantize(unsigned dtype, const int32_t *sums, void *out, uint64_t n, const float *scale,
                   int64_t step, int32_t zero)
{
    if (dtype == AS_DTYPE_U8)
        requantize_u8(sums, out, n, scale, step, (float)zero);
    else
        requantize_i8(sums, out, n, scale, step, (float)zero);
}

void as_quantize_row(unsigned dtype, const float *x, void *out, uint64_t n, int32_t zero)
{
    if (dtype == AS_DTYPE_U8)
        quantize_u8(x, out, n, (float)zero);
    else
        quantize_i8(x, out, n, (float)zero);
}

/* Inputs: a, its scale and zero point, b, its, and those of the output. Scales of a may be one for
 * each row, of b one for each column. */
int as_run_qlinear_matmul(struct as_kernel_ctx *k)
{
    struct as_int_product p = {.sums = NULL};
    struct as_val *out = k->out[0];
    double y_scale = as_in_at(k, 6, 0);
    float *scales;
    int rc = as_check_byte(k, out);

    if (rc == ASSAY_OK)
        rc = as_int_matmul(k, k->in[0], as_in_or_null(k, 2), k->in[3], as_in_or_null(k, 5), &p);
    if (rc != ASSAY_OK)
        return rc;
    if (out->n != p.batches * p.m * p.n)
        return as_kernel_fail(k, "its output does not fit");
    scales = as_kernel_work(k, p.n, sizeof *scales);
    if (!scales)
        return ASSAY_ERR_NOMEM;
    for (uint64_t row = 0; row < p.batches * p.m; row++) {
        double a_scale = as_in_at(k, 1, row % p.m);

        for (uint64_t j = 0; j < p.n && (row == 0 || k->in[1]->n > 1); j++)
            scales[j] = (float)(a_scale * as_in_at(k, 4, j) / y_scale);
        as_requantize(out->dtype, p.sums + row * p.n, (char *)out->data + row * p.n, p.n, scales, 1,
                      (int32_t)as_in_at(k, 7, 0));
    }
    return ASSAY_OK;
}
