/* bench/manager.c - what profiling a program with a manager costs it, as a share of its own work.
 * Layers of real arithmetic with and without their marks take turns; CPU time, medians. */
#include <assay/manager.h>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"

enum { SIDE = 64, PAIRS = 1001, MANAGERS = 7, LAYERS = 8 };

static float a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
static unsigned rounds; /* rows a layer computes */

static const char *const layer_name[LAYERS] = {"embed", "norm1", "query", "score",
                                               "mix",   "norm2", "up",    "down"};

/* One copy of it: two would differ by how they lie in memory, and by more than what is measured. */
__attribute__((noinline)) static void work(unsigned layer)
{
    for (unsigned r = 0; r < rounds; r++) {
        unsigned i = (layer * 7 + r) % SIDE;

        for (unsigned k = 0; k < SIDE; k++) {
            for (unsigned j = 0; j < SIDE; j++)
                c[i][j] += a[i][k] * b[k][j];
        }
        __asm__ volatile("" : : "r"(&c[i][0]) : "memory");
    }
}

/* Of the whole process: the manager's own thread is among what it costs. */
static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A pass over the layers: nanoseconds. */
static double pass(struct assay_manager *m, unsigned n)
{
    double from = cpu_ns();

    for (unsigned i = 0; i < n; i++) {
        if (m) {
            struct assay_manager_span span = assay_manager_layer_begin(m, layer_name[i % LAYERS]);

            work(i % LAYERS);
            (void)assay_manager_layer_end(m, &span, NULL, 0, NULL);
        } else {
            work(i % LAYERS);
        }
    }
    return cpu_ns() - from;
}

/* As many rows as take `ns`. */
static void make_layers_of(double ns)
{
    double took[51];

    rounds = 1000;
    for (int i = 0; i < 51; i++)
        took[i] = pass(NULL, 1);
    rounds = (unsigned)(1000 * ns / bench_median(took, 51));
}

/* The median over pairs, each in the order plain, marked, marked, plain. */
static double cost_share(struct assay_manager *m, unsigned n, unsigned pairs)
{
    static double share[PAIRS];

    for (unsigned i = 0; i < pairs; i++) {
        double plain = pass(NULL, n), marked = pass(m, n);

        marked += pass(m, n);
        plain += pass(NULL, n);
        share[i] = marked / plain - 1;
    }
    return bench_median(share, pairs);
}

static double measure_one(const char *const *profilers, size_t n_profilers, unsigned n,
                          unsigned pairs)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;
    struct assay_error err;
    double share;

    options.profilers = profilers;
    options.n_profilers = n_profilers;
    if (assay_manager_new(&m, &options, &err) < 0 || assay_manager_start(m, &err) < 0) {
        fprintf(stderr, "bench-manager: %s\n", err.msg);
        exit(3);
    }
    share = cost_share(m, n, pairs);
    (void)assay_manager_end(m, NULL);
    assay_manager_free(m);
    return share;
}

/* The median of several managers: where one happens to lie in memory counts for as much as what it
 * does. */
static double measure(const char *const *profilers, size_t n_profilers, double layer_ns, unsigned n,
                      unsigned pairs)
{
    double share[MANAGERS];

    make_layers_of(layer_ns);
    for (int i = 0; i < MANAGERS; i++)
        share[i] = measure_one(profilers, n_profilers, n, pairs);
    return bench_median(share, MANAGERS);
}

/* Nanoseconds a call, of an empty layer, while `calls` come before. */
static double empty_cost(struct assay_manager *m, unsigned calls)
{
    double from = cpu_ns();

    for (unsigned i = 0; i < calls; i++) {
        struct assay_manager_span span = assay_manager_layer_begin(m, "empty");

        (void)assay_manager_layer_end(m, &span, NULL, 0, NULL);
    }
    (void)assay_manager_flush(m, NULL); /* what is on its way is among the cost */
    return (cpu_ns() - from) / calls;
}

static void growth(const char *const *profilers, size_t n, const char *name, unsigned calls)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;
    double first, later;

    options.profilers = profilers;
    options.n_profilers = n;
    if (assay_manager_new(&m, &options, NULL) < 0 || assay_manager_start(m, NULL) < 0)
        exit(3);
    first = empty_cost(m, calls);
    (void)empty_cost(m, 8 * calls);
    later = empty_cost(m, calls);
    bench_line(name, later / first, "x", 1.5, 1);
    assay_manager_free(m);
}

/* Nanoseconds of what all profilers read for an empty layer, at its begin and at its end: resident
 * memory, faults of the process, and the heap in use, which can be read only while signals are held
 * back. The use of the thread is not read for layers so short. */
static double probe_cost(int statm, unsigned calls)
{
    double from = cpu_ns();

    for (unsigned i = 0; i < 2 * calls; i++) {
        char text[128];
        struct mallinfo2 heap;
        struct rusage usage;
        sigset_t all, mask;

        sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, &mask);
        heap = mallinfo2();
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
        (void)!pread(statm, text, sizeof text, 0);
        (void)getrusage(RUSAGE_SELF, &usage);
        __asm__ volatile("" : : "r"(&heap), "r"(text), "r"(&usage), "r"(&mask) : "memory");
    }
    return (cpu_ns() - from) / calls;
}

/* A layer with everything on, less the readings that its profilers ask for: interleaved. */
static void cost_beside_probes(void)
{
    enum { ROUNDS = 51, CALLS = 2000 };
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    double all[ROUNDS], own[ROUNDS];
    struct assay_manager *m;

    if (statm < 0 || assay_manager_new(&m, NULL, NULL) < 0 || assay_manager_start(m, NULL) < 0)
        exit(3);
    (void)empty_cost(m, CALLS);
    for (int i = 0; i < ROUNDS; i++) {
        double probes = probe_cost(statm, CALLS), marked = empty_cost(m, CALLS);

        marked += empty_cost(m, CALLS);
        probes += probe_cost(statm, CALLS);
        all[i] = marked / 2;
        own[i] = (marked - probes) / 2;
    }
    bench_fact("manager_all_call", bench_median(all, ROUNDS), "ns");
    bench_line("manager_all_call_beside_probes", bench_median(own, ROUNDS), "ns", 1000, 1);
    assay_manager_free(m);
    close(statm);
}

static void line(const char *name, double share, double bound)
{
    printf("%-34s %10.6f %-10s <=%-8g %s\n", name, share, "share", bound,
           share <= bound ? "ok" : "miss");
    fflush(stdout);
}

int main(void)
{
    static const char *const layer[] = {"layer"};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;
    double cost[21];

    bench_pin(0);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        a[i / SIDE][i % SIDE] = (float)(i % 7) * 0.125f;
        b[i / SIDE][i % SIDE] = (float)(i % 5) * 0.25f;
    }
    options.profilers = layer;
    options.n_profilers = 1;
    if (assay_manager_new(&m, &options, NULL) < 0 || assay_manager_start(m, NULL) < 0)
        return 3;
    for (int i = 0; i < 21; i++)
        cost[i] = empty_cost(m, 20000);
    bench_line("layer_profile_call", bench_median(cost, 21), "ns", 100, 1);
    assay_manager_free(m);
    line("layer_profile_cost_share_100us", measure(layer, 1, 100e3, 8, PAIRS), 0.001);
    line("manager_all_cost_share_1ms", measure(NULL, 0, 1e6, 4, 151), 0.02);
    cost_beside_probes();
    growth(layer, 1, "layer_profile_10x_calls_cost", 100000);
    growth(NULL, 0, "manager_all_10x_calls_cost", 2000);
    return 0;
}
