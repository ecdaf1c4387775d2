/* tests/helpers/solve.c - calls a LAPACK, or the names that the wheels of NumPy 2 have, in a
 * library that is opened for all, and prints results. usage: solve lapack|scipy LIBRARY. Exit 77:
 * the library is not here, or has no such functions. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define N 40

typedef void (*any_call)(void);
typedef void (*gesv_call)(const int *, const int *, double *, const int *, int *, double *,
                          const int *, int *);
typedef void (*getrf_call)(const int *, const int *, double *, const int *, int *, int *);
typedef void (*potrf_call)(const char *, const int *, double *, const int *, int *, size_t);
typedef void (*geqrf_call)(const int *, const int *, double *, const int *, double *, double *,
                           const int *, int *);
typedef void (*syev_call)(const char *, const char *, const int *, double *, const int *, double *,
                          double *, const int *, int *, size_t, size_t);
typedef void (*gesdd_call)(const char *, const int *, const int *, double *, const int *, double *,
                           double *, const int *, double *, const int *, double *, const int *,
                           int *, int *, size_t);
typedef void (*dgemm64_call)(int, int, int, int64_t, int64_t, int64_t, double, const double *,
                             int64_t, const double *, int64_t, double, double *, int64_t);
typedef void (*sgemm_call)(int, int, int, int, int, int, float, const float *, int, const float *,
                           int, float, float *, int);
typedef void (*gesv64_call)(const int64_t *, const int64_t *, double *, const int64_t *, int64_t *,
                            double *, const int64_t *, int64_t *);

static double a[2 * N * N], b[N * N], c[N * N], work[64 * N * N];
static int pivots[8 * N], info;

static any_call find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    any_call call;

    memcpy(&call, &found, sizeof call);
    return call;
}

/* Symmetric, with a heavy diagonal. */
static void fill(double *out, int rows, int columns)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            out[j * rows + i] = i == j ? 2 * N : (i * j) % 7 - 3;
}

static double sum(const double *v, int n)
{
    double all = 0;

    for (int i = 0; i < n; i++)
        all += fabs(v[i]) * (i % 7 + 1);
    return all;
}

static void print(const char *what, double value)
{
    printf("%s %.6g %d\n", what, value, info);
}

static int lapack(void)
{
    const int n = N, sides = 3, wide = 2 * N, size = 64 * N, query = -1;

    if (!find("dgesv_") || !find("dgesdd_"))
        return 77;
    for (int i = 0; i < 2; i++) {
        fill(a, N, N);
        fill(b, N, sides);
        ((gesv_call)find("dgesv_"))(&n, &sides, a, &n, pivots, b, &n, &info);
    }
    print("dgesv", sum(b, N * sides));
    fill(a, wide, N);
    ((getrf_call)find("dgetrf_"))(&wide, &n, a, &wide, pivots, &info);
    print("dgetrf", sum(a, wide * N));
    fill(a, N, N);
    ((potrf_call)find("dpotrf_"))("U", &n, a, &n, &info, 1);
    print("dpotrf", sum(a, N));
    fill(a, wide, N);
    ((geqrf_call)find("dgeqrf_"))(&wide, &n, a, &wide, b, work, &query, &info);
    ((geqrf_call)find("dgeqrf_"))(&wide, &n, a, &wide, b, work, &size, &info);
    print("dgeqrf", sum(b, N));
    fill(a, N, N);
    ((syev_call)find("dsyev_"))("N", "U", &n, a, &n, b, work, &query, &info, 1, 1);
    ((syev_call)find("dsyev_"))("N", "U", &n, a, &n, b, work, &size, &info, 1, 1);
    print("dsyev", sum(b, N));
    fill(a, N, N);
    ((gesdd_call)find("dgesdd_"))("A", &n, &n, a, &n, b, c, &n, c, &n, work, &query, pivots, &info,
                                  1);
    print("dgesdd asked", 0);
    return 0;
}

static int scipy(void)
{
    static float x[N * N], y[N * N], z[N * N];
    const int64_t n = N, sides = 2;
    int64_t pivot[N], wrong = 0;

    if (!find("scipy_cblas_dgemm64_") || !find("scipy_dgesv_64_"))
        return 77;
    fill(a, N, N);
    fill(b, N, N);
    ((dgemm64_call)find("scipy_cblas_dgemm64_"))(101, 111, 112, 6, 5, 4, 1, a, N, b, N, 0, c, N);
    print("dgemm64", sum(c, N * N));
    for (int i = 0; i < N * N; i++)
        x[i] = y[i] = (float)(i % 5);
    ((sgemm_call)find("scipy_cblas_sgemm"))(101, 111, 111, 7, 3, 2, 1, x, N, y, N, 0, z, N);
    print("sgemm", (double)z[0] + (double)z[1]);
    ((gesv64_call)find("scipy_dgesv_64_"))(&n, &sides, a, &n, pivot, b, &n, &wrong);
    print("dgesv64", sum(b, 2 * N));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (!dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return 77;
    }
    return strcmp(argv[1], "lapack") == 0 ? lapack() : scipy();
}
