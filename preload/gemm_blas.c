/* preload/gemm_blas.c - the products of a BLAS, passed on and timed.
 * Integers by value are passed on as whole registers, so libraries with integers of 64 bits under
 * the same names get what was given; so are the lengths of texts that Fortran compilers add. */
#include <stddef.h>
#include <stdint.h>

#include "gemm_next.h"
#include "gemm_record.h"

typedef const void *as_gemm_pointer;

/* Numbers of CBLAS. */
enum { TRANSPOSE = 112, CONJ_TRANSPOSE = 113 };

static uint64_t size_by_value(int64_t value, int bits)
{
    if (bits == 32)
        value = (int32_t)((uint64_t)value & 0xffffffffu);
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t size_at(const void *at, int bits)
{
    int64_t value = bits == 32 ? *(const int32_t *)at : *(const int64_t *)at;

    return value > 0 ? (uint64_t)value : 0;
}

static int transposes(int64_t word)
{
    return (int32_t)word == TRANSPOSE || (int32_t)word == CONJ_TRANSPOSE;
}

static int transposes_at(const char *letter)
{
    return *letter == 'T' || *letter == 't' || *letter == 'C' || *letter == 'c';
}

static struct as_gemm_key product(unsigned function, unsigned dtype, int a, int b)
{
    return (struct as_gemm_key){
        .function = (uint16_t)function,
        .dtype = (uint16_t)dtype,
        .transposed = (uint8_t)((a ? AS_GEMM_A_TRANSPOSED : 0) | (b ? AS_GEMM_B_TRANSPOSED : 0)),
        .batch = 1,
    };
}

/* A matrix of `rows` by `columns` times a vector: one column as long as the result. */
static struct as_gemm_key vector_product(struct as_gemm_key key, uint64_t rows, uint64_t columns)
{
    int turned = key.transposed != 0;

    key.m = turned ? columns : rows;
    key.n = 1;
    key.k = turned ? rows : columns;
    return key;
}

/* The product of a matrix with itself transposed. */
static struct as_gemm_key square_product(struct as_gemm_key key, uint64_t n, uint64_t k)
{
    key.m = n;
    key.n = n;
    key.k = k;
    return key;
}

/* The next function is called in either case; only a counted one has its key made. Arguments are
 * lists of parameters and statements.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define PASS_ON(id, name, params, args, make_key)                                                  \
    {                                                                                              \
        void(*next) params = (void(*) params)as_gemm_next(AS_GEMM_##id, #name, AS_GEMM_CALLER);    \
        uint64_t start_ns;                                                                         \
        struct as_gemm_key key;                                                                    \
                                                                                                   \
        if (!as_gemm_enter(AS_GEMM_FRAME)) {                                                       \
            next args;                                                                             \
            return;                                                                                \
        }                                                                                          \
        make_key;                                                                                  \
        start_ns = as_gemm_now_ns();                                                               \
        next args;                                                                                 \
        as_gemm_leave(start_ns, &key);                                                             \
    }

#define WRAP(id, name, params, args, make_key)                                                     \
    AS_GEMM_EXPORT void name params;                                                               \
    void name params PASS_ON(id, name, params, args, make_key)

/* NOLINTEND(bugprone-macro-parentheses) */

#define WRAP_CBLAS_GEMM(id, name, scalar, type, bits)                                              \
    WRAP(id, name,                                                                                 \
         (int64_t order, int64_t ta, int64_t tb, int64_t m, int64_t n, int64_t k, scalar alpha,    \
          const void *a, int64_t lda, const void *b, int64_t ldb, scalar beta, void *c,            \
          int64_t ldc),                                                                            \
         (order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                            \
         key = product(AS_GEMM_##id, AS_GEMM_##type, transposes(ta), transposes(tb));              \
         key.m = size_by_value(m, bits); key.n = size_by_value(n, bits);                           \
         key.k = size_by_value(k, bits))

#define WRAP_CBLAS_GEMV(id, name, scalar, type, bits)                                              \
    WRAP(id, name,                                                                                 \
         (int64_t order, int64_t ta, int64_t m, int64_t n, scalar alpha, const void *a,            \
          int64_t lda, const void *x, int64_t incx, scalar beta, void *y, int64_t incy),           \
         (order, ta, m, n, alpha, a, lda, x, incx, beta, y, incy),                                 \
         key = vector_product(product(AS_GEMM_##id, AS_GEMM_##type, transposes(ta), 0),            \
                              size_by_value(m, bits), size_by_value(n, bits)))

#define WRAP_CBLAS_SYRK(id, name, scalar, type, bits)                                              \
    WRAP(id, name,                                                                                 \
         (int64_t order, int64_t uplo, int64_t ta, int64_t n, int64_t k, scalar alpha,             \
          const void *a, int64_t lda, scalar beta, void *c, int64_t ldc),                          \
         (order, uplo, ta, n, k, alpha, a, lda, beta, c, ldc),                                     \
         key = square_product(product(AS_GEMM_##id, AS_GEMM_##type, transposes(ta), 0),            \
                              size_by_value(n, bits), size_by_value(k, bits)))

#define WRAP_FORTRAN_GEMM(id, name, scalar, type, bits)                                            \
    WRAP(id, name,                                                                                 \
         (const char *ta, const char *tb, const void *m, const void *n, const void *k,             \
          const scalar *alpha, const void *a, const void *lda, const void *b, const void *ldb,     \
          const scalar *beta, void *c, const void *ldc, size_t ta_length, size_t tb_length),       \
         (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, ta_length, tb_length),             \
         key = product(AS_GEMM_##id, AS_GEMM_##type, transposes_at(ta), transposes_at(tb));        \
         key.m = size_at(m, bits); key.n = size_at(n, bits); key.k = size_at(k, bits))

#define WRAP_FORTRAN_GEMV(id, name, scalar, type, bits)                                            \
    WRAP(id, name,                                                                                 \
         (const char *ta, const void *m, const void *n, const scalar *alpha, const void *a,        \
          const void *lda, const void *x, const void *incx, const scalar *beta, void *y,           \
          const void *incy, size_t ta_length),                                                     \
         (ta, m, n, alpha, a, lda, x, incx, beta, y, incy, ta_length),                             \
         key = vector_product(product(AS_GEMM_##id, AS_GEMM_##type, transposes_at(ta), 0),         \
                              size_at(m, bits), size_at(n, bits)))

#define WRAP_FORTRAN_SYRK(id, name, scalar, type, bits)                                            \
    WRAP(id, name,                                                                                 \
         (const char *uplo, const char *ta, const void *n, const void *k, const scalar *alpha,     \
          const void *a, const void *lda, const scalar *beta, void *c, const void *ldc,            \
          size_t uplo_length, size_t ta_length),                                                   \
         (uplo, ta, n, k, alpha, a, lda, beta, c, ldc, uplo_length, ta_length),                    \
         key = square_product(product(AS_GEMM_##id, AS_GEMM_##type, transposes_at(ta), 0),         \
                              size_at(n, bits), size_at(k, bits)))

#define X(id, name, form, scalar, type, bits) WRAP_##form(id, name, scalar, type, bits)
AS_GEMM_BLAS(X)
#undef X
