/* bench/gemm_cost.c - prints how long one tiny product takes, in nanoseconds; the least of many
 * rounds. usage: bench-gemm-cost LIBRARY. Exit 77: the library is not here. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 200
#define CALLS  5000

typedef void (*dgemm_call)(int, int, int, int, int, int, double, const double *, int,
                           const double *, int, double, double *, int);

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    double a = 1, b = 1, c, least = INFINITY;
    dgemm_call dgemm;
    void *found;

    if (argc != 2)
        return 2;
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL))
        return 77;
    found = dlsym(RTLD_DEFAULT, "cblas_dgemm"); /* as a program linked with it would find it */
    if (!found)
        return 77;
    memcpy(&dgemm, &found, sizeof dgemm);
    for (int round = 0; round < ROUNDS; round++) {
        double start_ns = now_ns();

        for (int i = 0; i < CALLS; i++)
            dgemm(101, 111, 111, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
        least = fmin(least, (now_ns() - start_ns) / CALLS);
    }
    printf("%.2f\n", least);
    return 0;
}
