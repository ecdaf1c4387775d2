/* tests/modules/scipy_stand_in.c - stands in for the BLAS of the wheels of NumPy 2: its names begin
 * with scipy_, those for integers of 64 bits end in 64_. It computes plainly; its solver calls its
 * own product by name, as LAPACK does. */
#include <stddef.h>
#include <stdint.h>

#define SHARED __attribute__((visibility("default")))

enum { TURNED = 112 };

SHARED void scipy_cblas_dgemm64_(int order, int ta, int tb, int64_t m, int64_t n, int64_t k,
                                 double alpha, const double *a, int64_t lda, const double *b,
                                 int64_t ldb, double beta, double *c, int64_t ldc);
SHARED void scipy_cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha,
                              const float *a, int lda, const float *b, int ldb, float beta,
                              float *c, int ldc);
SHARED void scipy_dgemm_64_(const char *ta, const char *tb, const int64_t *m, const int64_t *n,
                            const int64_t *k, const double *alpha, const double *a,
                            const int64_t *lda, const double *b, const int64_t *ldb,
                            const double *beta, double *c, const int64_t *ldc, size_t ta_length,
                            size_t tb_length);
SHARED void scipy_dgesv_64_(const int64_t *n, const int64_t *nrhs, double *a, const int64_t *lda,
                            int64_t *ipiv, double *b, const int64_t *ldb, int64_t *info);

void scipy_cblas_dgemm64_(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                          const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                          double *c, int64_t ldc)
{
    (void)order;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;

            for (int64_t l = 0; l < k; l++)
                sum += (ta == TURNED ? a[l * lda + i] : a[i * lda + l]) *
                       (tb == TURNED ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = alpha * sum + beta * c[i * ldc + j];
        }
}

void scipy_cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order;
    (void)ta;
    (void)tb;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;

            for (int l = 0; l < k; l++)
                sum += a[i * lda + l] * b[l * ldb + j];
            c[i * ldc + j] = alpha * sum + beta * c[i * ldc + j];
        }
}

void scipy_dgemm_64_(const char *ta, const char *tb, const int64_t *m, const int64_t *n,
                     const int64_t *k, const double *alpha, const double *a, const int64_t *lda,
                     const double *b, const int64_t *ldb, const double *beta, double *c,
                     const int64_t *ldc, size_t ta_length, size_t tb_length)
{
    (void)ta;
    (void)tb;
    (void)ta_length;
    (void)tb_length;
    for (int64_t j = 0; j < *n; j++)
        for (int64_t i = 0; i < *m; i++) {
            double sum = 0;

            for (int64_t l = 0; l < *k; l++)
                sum += a[l * *lda + i] * b[j * *ldb + l];
            c[j * *ldc + i] = *alpha * sum + *beta * c[j * *ldc + i];
        }
}

/* Eliminates column by column, without pivots, by columns stored one after the other. */
void scipy_dgesv_64_(const int64_t *n, const int64_t *nrhs, double *a, const int64_t *lda,
                     int64_t *ipiv, double *b, const int64_t *ldb, int64_t *info)
{
    const int64_t one = 1;
    const double plus = 1, minus = -1;

    for (int64_t p = 0; p < *n; p++) {
        double *pivot = a + p * *lda + p;
        int64_t below = *n - p - 1;

        ipiv[p] = p + 1;
        for (int64_t i = 1; i <= below; i++)
            pivot[i] /= pivot[0];
        scipy_dgemm_64_("N", "N", &below, &below, &one, &minus, pivot + 1, lda, pivot + *lda, lda,
                        &plus, pivot + *lda + 1, lda, 1, 1);
    }
    for (int64_t j = 0; j < *nrhs; j++) {
        double *x = b + j * *ldb;

        for (int64_t i = 0; i < *n; i++)
            for (int64_t l = 0; l < i; l++)
                x[i] -= a[l * *lda + i] * x[l];
        for (int64_t i = *n - 1; i >= 0; i--) {
            for (int64_t l = i + 1; l < *n; l++)
                x[i] -= a[l * *lda + i] * x[l];
            x[i] /= a[i * *lda + i];
        }
    }
    *info = 0;
}
