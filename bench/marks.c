/* bench/marks.c - what a mark costs, inline, beside two clock reads and LTTng-UST in the same run.
 * usage: bench-marks RUN.assay */
#include <assay/session.h>

#include <pthread.h>
#include <stdio.h>

#include "floor.h"

#ifdef ASSAY_BENCH_LTTNG
void bench_loop_lttng(unsigned pairs); /* lttng_marks.c */
#endif

static void loop_scope(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        ASSAY_SCOPE("bench");
    }
}

static void loop_switch(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++)
        ASSAY_SWITCH("bench switch");
    ASSAY_SWITCH_END();
}

enum { THREAD_ROUNDS = 9, THREAD_BURSTS = 21 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    int cpu;
    double ns;
};

static void *work(void *user)
{
    struct worker *w = user;

    double ns[THREAD_BURSTS];

    bench_pin(w->cpu);
    loop_scope(BENCH_WARM);
    for (int i = 0; i < THREAD_BURSTS; i++) {
        pthread_barrier_wait(w->start);
        ns[i] = bench_burst(loop_scope, 0);
    }
    w->ns = bench_median(ns, THREAD_BURSTS);
    return NULL;
}

/* Each thread's CPU nanoseconds a pair while `n` threads record at once; the mean over threads. */
static double with_threads(int n)
{
    pthread_barrier_t start;
    struct worker w[2];
    double sum = 0;

    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        w[i] = (struct worker){.start = &start, .cpu = i};
        pthread_create(&w[i].thread, NULL, work, &w[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(w[i].thread, NULL);
        sum += w[i].ns;
    }
    pthread_barrier_destroy(&start);
    return sum / n;
}

/* Interleaved, so that a slower minute of the machine meets both. */
static double threads_ratio(void)
{
    double ratio[THREAD_ROUNDS];

    for (int i = 0; i < THREAD_ROUNDS; i++) {
        double one = with_threads(1);

        ratio[i] = with_threads(2) / one;
    }
    return bench_median(ratio, THREAD_ROUNDS);
}

enum { FLOOR, CLOCK, SCOPE, SWITCH, OFF, LTTNG, VARIANTS };

int main(int argc, char **argv)
{
    static struct bench_variant variant[VARIANTS] = {
        [FLOOR] = {.name = "2 x rdtsc", .loop = bench_loop_rdtsc, .scale = 1},
        [CLOCK] = {.name = "2 x clock_gettime", .loop = bench_loop_clock, .scale = 1},
        [SCOPE] = {.name = "scope, inline", .loop = loop_scope},
        [SWITCH] = {.name = "switch, inline", .loop = loop_switch},
        [OFF] = {.name = "scope, off",
                 .loop = loop_scope,
                 .scale = 20,
                 .before = assay_session_pause,
                 .after = assay_session_resume},
#ifdef ASSAY_BENCH_LTTNG
        [LTTNG] = {.name = "lttng-ust", .loop = bench_loop_lttng},
#endif
    };
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    size_t n = variant[LTTNG].loop ? VARIANTS : VARIANTS - 1;
    struct assay_error err;

    options.ring_kib = 1024; /* one burst fits; what is measured is the mark, not the disk */
    if (argc != 2 || assay_session_open(argv[1], &options, &err) < 0) {
        fprintf(stderr, "bench-marks: %s\n", argc == 2 ? err.msg : "give the run to write");
        return 3;
    }
    bench_pin(1);
    bench_run(variant, n);
    bench_fact("two_rdtsc", variant[FLOOR].median_ns, "ns");
    bench_fact("two_clock_gettime", variant[CLOCK].median_ns, "ns");
    bench_fact("scope_inline", variant[SCOPE].median_ns, "ns");
    bench_line("scope_inline_vs_two_rdtsc", bench_ratio(&variant[SCOPE], &variant[FLOOR]), "x",
               1.15, 1);
    bench_fact("switch_inline", variant[SWITCH].median_ns, "ns");
    bench_line("scope_disabled", variant[OFF].median_ns, "ns", 1, 1);
    if (variant[LTTNG].loop) {
        bench_fact("lttng_ust_pair", variant[LTTNG].median_ns, "ns");
        bench_line("lttng_ust_vs_scope_inline", bench_ratio(&variant[LTTNG], &variant[SCOPE]), "x",
                   5, 0);
    }
    bench_line("scope_2_threads_vs_1", threads_ratio(), "x", 1.10, 1);
    bench_line("events_lost", (double)assay_session_lost(), "events", 0, 1);
    bench_line("ring_bytes_a_scope", 2 * sizeof(struct assay_record_), "bytes", 32, 1);
    if (assay_session_close(&err) < 0) {
        fprintf(stderr, "bench-marks: %s\n", err.msg);
        return 3;
    }
    return 0;
}
