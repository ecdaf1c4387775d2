/* trace/shm/gemm_names.h - the functions of BLAS and LAPACK that are watched, under all names they
 * have: plain, with 64_ behind for integers of 64 bits, and both with scipy_ before, as in the
 * wheels of NumPy 2 and SciPy. */
#ifndef AS_TRACE_SHM_GEMM_NAMES_H
#define AS_TRACE_SHM_GEMM_NAMES_H

/* Each: id, name, how it is called, type of alpha and beta, type of the elements, bits that are
 * read of its integers. The names without 64_ may have integers of 64 bits too: the low half of
 * those is the same number. */
#define AS_GEMM_BLAS_NAMED(X, tag, pre, post, bits)                                                \
    X(CBLAS_SGEMM##tag, pre##cblas_sgemm##post, CBLAS_GEMM, float, F32, bits)                      \
    X(CBLAS_DGEMM##tag, pre##cblas_dgemm##post, CBLAS_GEMM, double, F64, bits)                     \
    X(CBLAS_CGEMM##tag, pre##cblas_cgemm##post, CBLAS_GEMM, as_gemm_pointer, C64, bits)            \
    X(CBLAS_ZGEMM##tag, pre##cblas_zgemm##post, CBLAS_GEMM, as_gemm_pointer, C128, bits)           \
    X(CBLAS_SGEMV##tag, pre##cblas_sgemv##post, CBLAS_GEMV, float, F32, bits)                      \
    X(CBLAS_DGEMV##tag, pre##cblas_dgemv##post, CBLAS_GEMV, double, F64, bits)                     \
    X(CBLAS_CGEMV##tag, pre##cblas_cgemv##post, CBLAS_GEMV, as_gemm_pointer, C64, bits)            \
    X(CBLAS_ZGEMV##tag, pre##cblas_zgemv##post, CBLAS_GEMV, as_gemm_pointer, C128, bits)           \
    X(CBLAS_SSYRK##tag, pre##cblas_ssyrk##post, CBLAS_SYRK, float, F32, bits)                      \
    X(CBLAS_DSYRK##tag, pre##cblas_dsyrk##post, CBLAS_SYRK, double, F64, bits)                     \
    X(SGEMM##tag, pre##sgemm_##post, FORTRAN_GEMM, float, F32, bits)                               \
    X(DGEMM##tag, pre##dgemm_##post, FORTRAN_GEMM, double, F64, bits)                              \
    X(CGEMM##tag, pre##cgemm_##post, FORTRAN_GEMM, float, C64, bits)                               \
    X(ZGEMM##tag, pre##zgemm_##post, FORTRAN_GEMM, double, C128, bits)                             \
    X(SGEMV##tag, pre##sgemv_##post, FORTRAN_GEMV, float, F32, bits)                               \
    X(DGEMV##tag, pre##dgemv_##post, FORTRAN_GEMV, double, F64, bits)                              \
    X(CGEMV##tag, pre##cgemv_##post, FORTRAN_GEMV, float, C64, bits)                               \
    X(ZGEMV##tag, pre##zgemv_##post, FORTRAN_GEMV, double, C128, bits)                             \
    X(SSYRK##tag, pre##ssyrk_##post, FORTRAN_SYRK, float, F32, bits)                               \
    X(DSYRK##tag, pre##dsyrk_##post, FORTRAN_SYRK, double, F64, bits)

#ifndef __cppcheck__ /* which stumbles over empty arguments of macros */
#define AS_GEMM_BLAS(X)                                                                            \
    AS_GEMM_BLAS_NAMED(X, , , , 32)                                                                \
    AS_GEMM_BLAS_NAMED(X, 64, , 64_, 64)                                                           \
    AS_GEMM_BLAS_NAMED(X, _SCIPY, scipy_, , 32)                                                    \
    AS_GEMM_BLAS_NAMED(X, _SCIPY64, scipy_, 64_, 64)
#else
#define AS_GEMM_BLAS(X) AS_GEMM_BLAS_NAMED(X, _SCIPY64, scipy_, 64_, 64)
#endif

/* Drivers and factorizations: id, name, how it is called, type of the elements, bits. The products
 * they call are a part of them. */
#define AS_GEMM_LAPACK_NAMED(X, tag, pre, post, bits)                                              \
    X(SGESV##tag, pre##sgesv_##post, GESV, F32, bits)                                              \
    X(DGESV##tag, pre##dgesv_##post, GESV, F64, bits)                                              \
    X(CGESV##tag, pre##cgesv_##post, GESV, C64, bits)                                              \
    X(ZGESV##tag, pre##zgesv_##post, GESV, C128, bits)                                             \
    X(SGETRF##tag, pre##sgetrf_##post, GETRF, F32, bits)                                           \
    X(DGETRF##tag, pre##dgetrf_##post, GETRF, F64, bits)                                           \
    X(CGETRF##tag, pre##cgetrf_##post, GETRF, C64, bits)                                           \
    X(ZGETRF##tag, pre##zgetrf_##post, GETRF, C128, bits)                                          \
    X(SPOTRF##tag, pre##spotrf_##post, POTRF, F32, bits)                                           \
    X(DPOTRF##tag, pre##dpotrf_##post, POTRF, F64, bits)                                           \
    X(CPOTRF##tag, pre##cpotrf_##post, POTRF, C64, bits)                                           \
    X(ZPOTRF##tag, pre##zpotrf_##post, POTRF, C128, bits)                                          \
    X(SGEQRF##tag, pre##sgeqrf_##post, GEQRF, F32, bits)                                           \
    X(DGEQRF##tag, pre##dgeqrf_##post, GEQRF, F64, bits)                                           \
    X(CGEQRF##tag, pre##cgeqrf_##post, GEQRF, C64, bits)                                           \
    X(ZGEQRF##tag, pre##zgeqrf_##post, GEQRF, C128, bits)                                          \
    X(SSYEV##tag, pre##ssyev_##post, SYEV, F32, bits)                                              \
    X(DSYEV##tag, pre##dsyev_##post, SYEV, F64, bits)                                              \
    X(CHEEV##tag, pre##cheev_##post, HEEV, C64, bits)                                              \
    X(ZHEEV##tag, pre##zheev_##post, HEEV, C128, bits)                                             \
    X(SSYEVD##tag, pre##ssyevd_##post, SYEVD, F32, bits)                                           \
    X(DSYEVD##tag, pre##dsyevd_##post, SYEVD, F64, bits)                                           \
    X(CHEEVD##tag, pre##cheevd_##post, HEEVD, C64, bits)                                           \
    X(ZHEEVD##tag, pre##zheevd_##post, HEEVD, C128, bits)                                          \
    X(SGESDD##tag, pre##sgesdd_##post, GESDD, F32, bits)                                           \
    X(DGESDD##tag, pre##dgesdd_##post, GESDD, F64, bits)                                           \
    X(CGESDD##tag, pre##cgesdd_##post, COMPLEX_GESDD, C64, bits)                                   \
    X(ZGESDD##tag, pre##zgesdd_##post, COMPLEX_GESDD, C128, bits)

#ifndef __cppcheck__ /* which stumbles over empty arguments of macros */
#define AS_GEMM_LAPACK(X)                                                                          \
    AS_GEMM_LAPACK_NAMED(X, , , , 32)                                                              \
    AS_GEMM_LAPACK_NAMED(X, 64, , 64_, 64)                                                         \
    AS_GEMM_LAPACK_NAMED(X, _SCIPY, scipy_, , 32)                                                  \
    AS_GEMM_LAPACK_NAMED(X, _SCIPY64, scipy_, 64_, 64)
#else
#define AS_GEMM_LAPACK(X) AS_GEMM_LAPACK_NAMED(X, _SCIPY64, scipy_, 64_, 64)
#endif

#endif
