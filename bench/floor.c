/* bench/floor.c - times loops fairly: thread CPU time, pinned, variants interleaved burst by burst.
 * A burst fits into a ring and is followed by a pause, so that whoever drains the events keeps up.
 */
#include "floor.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void bench_pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double bench_median(double *value, size_t n)
{
    qsort(value, n, sizeof *value, by_value);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

double bench_burst(bench_loop loop, unsigned scale)
{
    const struct timespec pause = {0, 15000000};
    unsigned times = scale ? scale : 1;
    double start, end;

    loop(BENCH_WARM * times);
    start = cpu_ns();
    loop(BENCH_PAIRS * times);
    end = cpu_ns();
    if (!scale)
        nanosleep(&pause, NULL);
    return (end - start) / (BENCH_PAIRS * (double)times);
}

void bench_run(struct bench_variant *variant, size_t n)
{
    for (int burst = 0; burst < BENCH_BURSTS; burst++) {
        for (size_t v = 0; v < n; v++) {
            if (variant[v].before)
                variant[v].before();
            variant[v].ns[burst] = bench_burst(variant[v].loop, variant[v].scale);
            if (variant[v].after)
                variant[v].after();
        }
    }
    for (size_t v = 0; v < n; v++) {
        double copy[BENCH_BURSTS];

        memcpy(copy, variant[v].ns, sizeof copy);
        variant[v].median_ns = bench_median(copy, BENCH_BURSTS);
    }
}

double bench_ratio(const struct bench_variant *a, const struct bench_variant *b)
{
    double ratio[BENCH_BURSTS];

    for (int i = 0; i < BENCH_BURSTS; i++)
        ratio[i] = a->ns[i] / b->ns[i];
    return bench_median(ratio, BENCH_BURSTS);
}

void bench_loop_rdtsc(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
#if defined(__x86_64__)
        __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()));
        __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()));
#endif
    }
}

void bench_loop_clock(unsigned pairs)
{
    struct timespec t;

    for (unsigned i = 0; i < pairs; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
}

void bench_line(const char *name, double value, const char *unit, double bound, int most)
{
    int ok = most ? value <= bound : value >= bound;

    printf("%-34s %10.3f %-10s %s%-8g %s\n", name, value, unit, most ? "<=" : ">=", bound,
           ok ? "ok" : "miss");
    fflush(stdout);
}

void bench_fact(const char *name, double value, const char *unit)
{
    printf("%-34s %10.3f %-10s %-10s -\n", name, value, unit, "-");
    fflush(stdout);
}
