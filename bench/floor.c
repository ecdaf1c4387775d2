/* bench/floor.c - times loops fairly: thread CPU time, pinned, variants interleaved round by round.
 * A round is many short bursts with a pause after each, so that whoever drains the events keeps up. */
#include "floor.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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

double bench_round(bench_loop loop)
{
    const struct timespec pause = {0, 1000000};
    double burst[BENCH_BURSTS];

    for (int i = 0; i < BENCH_BURSTS; i++) {
        double start = cpu_ns();

        loop(BENCH_PAIRS);
        burst[i] = (cpu_ns() - start) / BENCH_PAIRS;
        nanosleep(&pause, NULL);
    }
    return bench_median(burst, BENCH_BURSTS);
}

void bench_run(struct bench_variant *variant, size_t n)
{
    for (size_t v = 0; v < n; v++) { /* once unmeasured: first use of everything */
        if (variant[v].before)
            variant[v].before();
        variant[v].loop(BENCH_PAIRS);
        if (variant[v].after)
            variant[v].after();
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        for (size_t v = 0; v < n; v++) {
            if (variant[v].before)
                variant[v].before();
            variant[v].ns[round] = bench_round(variant[v].loop);
            if (variant[v].after)
                variant[v].after();
        }
    }
    for (size_t v = 0; v < n; v++) {
        double copy[BENCH_ROUNDS];

        for (int i = 0; i < BENCH_ROUNDS; i++)
            copy[i] = variant[v].ns[i];
        variant[v].median_ns = bench_median(copy, BENCH_ROUNDS);
    }
}

double bench_ratio(const struct bench_variant *a, const struct bench_variant *b)
{
    double ratio[BENCH_ROUNDS];

    for (int i = 0; i < BENCH_ROUNDS; i++)
        ratio[i] = a->ns[i] / b->ns[i];
    return bench_median(ratio, BENCH_ROUNDS);
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

    printf("%-34s %10.3f %-10s %s%-8g %s\n", name, value, unit, most ? "<=" : ">=", bound, ok ? "ok" : "miss");
    fflush(stdout);
}

void bench_fact(const char *name, double value, const char *unit)
{
    printf("%-34s %10.3f %-10s %-10s -\n", name, value, unit, "-");
    fflush(stdout);
}
