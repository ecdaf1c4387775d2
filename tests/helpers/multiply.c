/* tests/helpers/multiply.c - multiplies through a BLAS that is opened for all, and prints results.
 * usage: multiply LIBRARY [threads]. Exit 77: the library is not here. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EDGE      64
#define THREADS   4
#define SHAPES    200
#define REPEATS   5
#define ROW_MAJOR 101
#define PLAIN     111
#define TURNED    112

typedef void (*cblas_sgemm_call)(int, int, int, int, int, int, float, const float *, int,
                                 const float *, int, float, float *, int);
typedef void (*cblas_dgemm_call)(int, int, int, int, int, int, double, const double *, int,
                                 const double *, int, double, double *, int);
typedef void (*cblas_sgemv_call)(int, int, int, int, float, const float *, int, const float *, int,
                                 float, float *, int);
typedef void (*sgemm_call)(const char *, const char *, const int *, const int *, const int *,
                           const float *, const float *, const int *, const float *, const int *,
                           const float *, float *, const int *, size_t, size_t);
typedef void (*dgemv_call)(const char *, const int *, const int *, const double *, const double *,
                           const int *, const double *, const int *, const double *, double *,
                           const int *, size_t);
typedef void (*any_call)(void);

static cblas_sgemm_call shared_sgemm;

/* As a program that is linked with the library would find it. */
static any_call find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    any_call call;

    memcpy(&call, &found, sizeof call);
    return call;
}

static double sum_f32(const float *v, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)v[i] * (i % 7 + 1);
    return sum;
}

static double sum_f64(const double *v, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += v[i] * (i % 7 + 1);
    return sum;
}

static void multiply_f32(const float *a, const float *b)
{
    cblas_sgemm_call sgemm = (cblas_sgemm_call)find("cblas_sgemm");
    cblas_sgemv_call sgemv = (cblas_sgemv_call)find("cblas_sgemv");
    sgemm_call fortran = (sgemm_call)find("sgemm_");
    float c[EDGE * EDGE] = {0}, y[EDGE] = {0}, one = 1, none = 0;
    int m = 24, n = 12, k = 40;

    for (int i = 0; i < 3; i++)
        sgemm(ROW_MAJOR, PLAIN, PLAIN, 32, 16, 8, 1, a, 8, b, 16, 0, c, 16);
    printf("cblas_sgemm %.9g\n", sum_f32(c, 32 * 16));
    errno = 77;
    sgemm(ROW_MAJOR, PLAIN, TURNED, 32, 16, 8, 1, a, 8, b, 8, 0, c, 16);
    printf("cblas_sgemm turned %.9g errno %d\n", sum_f32(c, 32 * 16), errno);
    fortran("T", "N", &m, &n, &k, &one, a, &k, b, &k, &none, c, &m, 1, 1);
    fortran("T", "N", &m, &n, &k, &one, a, &k, b, &k, &none, c, &m, 1, 1);
    printf("sgemm_ %.9g\n", sum_f32(c, m * n));
    sgemv(ROW_MAJOR, PLAIN, 30, 20, 1, a, 20, b, 1, 0, y, 1);
    printf("cblas_sgemv %.9g\n", sum_f32(y, 30));
}

static void multiply_f64(const double *a, const double *b)
{
    cblas_dgemm_call dgemm = (cblas_dgemm_call)find("cblas_dgemm");
    dgemv_call fortran = (dgemv_call)find("dgemv_");
    double c[EDGE * EDGE] = {0}, one = 1, none = 0;
    int m = 30, n = 20, step = 1;

    dgemm(ROW_MAJOR, TURNED, PLAIN, 5, 6, 7, 1, a, 5, b, 6, 0, c, 6);
    printf("cblas_dgemm %.17g\n", sum_f64(c, 30));
    fortran("t", &m, &n, &one, a, &m, b, &step, &none, c, &step, 1);
    printf("dgemv_ %.17g\n", sum_f64(c, n));
}

/* All threads bring the same new shapes at about the same time. */
static void *multiply_shapes(void *unused)
{
    float a[SHAPES] = {1}, b[SHAPES] = {1}, c[1];

    (void)unused;
    for (int k = 1; k <= SHAPES; k++)
        for (int i = 0; i < REPEATS; i++)
            shared_sgemm(ROW_MAJOR, PLAIN, PLAIN, 1, 1, k, 1, a, k, b, 1, 0, c, 1);
    return NULL;
}

static int multiply_in_threads(void)
{
    pthread_t threads[THREADS];

    shared_sgemm = (cblas_sgemm_call)find("cblas_sgemm");
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, multiply_shapes, NULL) != 0)
            return 3;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static float a[EDGE * EDGE], b[EDGE * EDGE];
    static double da[EDGE * EDGE], db[EDGE * EDGE];

    if (argc < 2 || argc > 3)
        return 2;
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 77;
    }
    if (argc == 3)
        return multiply_in_threads();
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = (float)(i % 11) - 5;
        b[i] = (float)(i % 13) - 6;
        da[i] = i % 11 - 5;
        db[i] = i % 13 - 6;
    }
    multiply_f32(a, b);
    multiply_f64(da, db);
    return 0;
}
