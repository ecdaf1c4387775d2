/* preload/gemm_lapack.c - drivers and factorizations of LAPACK, passed on and timed.
 * All their arguments are pointers, but for the lengths of texts that Fortran compilers add. Calls
 * that only ask for the size of a work space are not counted. What the next function returns goes
 * back, for callers that take these for functions with a result. */
#include <stddef.h>
#include <stdint.h>

#include "gemm_next.h"
#include "gemm_record.h"

typedef const void *as_gemm_pointer;

static int64_t number_at(as_gemm_pointer at, int bits)
{
    return bits == 32 ? *(const int32_t *)at : *(const int64_t *)at;
}

static uint64_t size_at(as_gemm_pointer at, int bits)
{
    int64_t value = number_at(at, bits);

    return value > 0 ? (uint64_t)value : 0;
}

/* A work space of -1 is a question. */
static int asks(as_gemm_pointer work_size, int bits)
{
    return number_at(work_size, bits) == -1;
}

static uint8_t wants(as_gemm_pointer job)
{
    char letter = *(const char *)job;

    return letter == 'N' || letter == 'n' ? AS_GEMM_VALUES_ONLY : 0;
}

static struct as_gemm_key driver(unsigned function, unsigned dtype, uint64_t m, uint64_t n)
{
    return (struct as_gemm_key){
        .function = (uint16_t)function, .dtype = (uint16_t)dtype, .m = m, .n = n, .batch = 1};
}

/* Arguments are lists of parameters and statements.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define WRAP(id, name, params, args, skipped, make_key)                                            \
    AS_GEMM_EXPORT int64_t name params;                                                            \
    int64_t name params                                                                            \
    {                                                                                              \
        int64_t(*next) params =                                                                    \
            (int64_t(*) params)as_gemm_next(AS_GEMM_##id, #name, AS_GEMM_CALLER);                  \
        uint64_t start_ns;                                                                         \
        struct as_gemm_key key;                                                                    \
        int64_t result;                                                                            \
                                                                                                   \
        if ((skipped) || !as_gemm_enter(AS_GEMM_FRAME))                                            \
            return next args;                                                                      \
        make_key;                                                                                  \
        start_ns = as_gemm_now_ns();                                                               \
        result = next args;                                                                        \
        as_gemm_leave(start_ns, &key);                                                             \
        return result;                                                                             \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#define P as_gemm_pointer

#define WRAP_GESV(id, name, type, bits)                                                            \
    WRAP(id, name, (P n, P nrhs, P a, P lda, P ipiv, P b, P ldb, P info),                          \
         (n, nrhs, a, lda, ipiv, b, ldb, info), 0,                                                 \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits));           \
         key.k = size_at(nrhs, bits))

#define WRAP_GETRF(id, name, type, bits)                                                           \
    WRAP(id, name, (P m, P n, P a, P lda, P ipiv, P info), (m, n, a, lda, ipiv, info), 0,          \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(m, bits), size_at(n, bits)))

#define WRAP_POTRF(id, name, type, bits)                                                           \
    WRAP(id, name, (P uplo, P n, P a, P lda, P info, size_t length),                               \
         (uplo, n, a, lda, info, length), 0,                                                       \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits)))

#define WRAP_GEQRF(id, name, type, bits)                                                           \
    WRAP(id, name, (P m, P n, P a, P lda, P tau, P work, P lwork, P info),                         \
         (m, n, a, lda, tau, work, lwork, info), asks(lwork, bits),                                \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(m, bits), size_at(n, bits)))

#define WRAP_SYEV(id, name, type, bits)                                                            \
    WRAP(id, name,                                                                                 \
         (P jobz, P uplo, P n, P a, P lda, P w, P work, P lwork, P info, size_t jobz_length,       \
          size_t uplo_length),                                                                     \
         (jobz, uplo, n, a, lda, w, work, lwork, info, jobz_length, uplo_length),                  \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define WRAP_HEEV(id, name, type, bits)                                                            \
    WRAP(id, name,                                                                                 \
         (P jobz, P uplo, P n, P a, P lda, P w, P work, P lwork, P rwork, P info,                  \
          size_t jobz_length, size_t uplo_length),                                                 \
         (jobz, uplo, n, a, lda, w, work, lwork, rwork, info, jobz_length, uplo_length),           \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define WRAP_SYEVD(id, name, type, bits)                                                           \
    WRAP(id, name,                                                                                 \
         (P jobz, P uplo, P n, P a, P lda, P w, P work, P lwork, P iwork, P liwork, P info,        \
          size_t jobz_length, size_t uplo_length),                                                 \
         (jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info, jobz_length, uplo_length),   \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define WRAP_HEEVD(id, name, type, bits)                                                           \
    WRAP(id, name,                                                                                 \
         (P jobz, P uplo, P n, P a, P lda, P w, P work, P lwork, P rwork, P lrwork, P iwork,       \
          P liwork, P info, size_t jobz_length, size_t uplo_length),                               \
         (jobz, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork, liwork, info, jobz_length,  \
          uplo_length),                                                                            \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(n, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define WRAP_GESDD(id, name, type, bits)                                                           \
    WRAP(id, name,                                                                                 \
         (P jobz, P m, P n, P a, P lda, P s, P u, P ldu, P vt, P ldvt, P work, P lwork, P iwork,   \
          P info, size_t jobz_length),                                                             \
         (jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info, jobz_length),         \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(m, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define WRAP_COMPLEX_GESDD(id, name, type, bits)                                                   \
    WRAP(id, name,                                                                                 \
         (P jobz, P m, P n, P a, P lda, P s, P u, P ldu, P vt, P ldvt, P work, P lwork, P rwork,   \
          P iwork, P info, size_t jobz_length),                                                    \
         (jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork, iwork, info, jobz_length),  \
         asks(lwork, bits),                                                                        \
         key = driver(AS_GEMM_##id, AS_GEMM_##type, size_at(m, bits), size_at(n, bits));           \
         key.transposed = wants(jobz))

#define X(id, name, form, type, bits) WRAP_##form(id, name, type, bits)
AS_GEMM_LAPACK(X)
#undef X
