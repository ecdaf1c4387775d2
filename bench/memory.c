/* bench/memory.c - what counting and reading memory costs the program that does it.
 * usage: bench-memory */
#include <assay/memory.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "floor.h"
#include "probe/process/memory_sampler.h"
#include "profiler/memory_profile.h"

static struct assay_memory_tracker *new_tracker(const char *label, size_t most)
{
    const struct assay_memory_tracker_options options = {
        .size = sizeof options, .label = label, .max_snapshots = most};
    struct assay_memory_tracker *tracker;

    (void)assay_memory_tracker_new(&tracker, &options, NULL);
    return tracker;
}

enum { BURSTS = 301, READINGS = 200, SAMPLING_S = 4 };

static void loop_pair(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        assay_memory_add(ASSAY_MEMORY_TEMP, 4096);
        assay_memory_sub(ASSAY_MEMORY_TEMP, 4096);
    }
}

static void loop_block(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++)
        assay_memory_free(assay_memory_alloc(ASSAY_MEMORY_TEMP, 4096));
}

/* Nanoseconds of CPU a pair. */
static double pair_ns(bench_loop loop)
{
    double ns[BURSTS];

    for (int i = 0; i < BURSTS; i++)
        ns[i] = bench_burst(loop, 1);
    return bench_median(ns, BURSTS);
}

static void *nothing(void *user)
{
    return user;
}

/* From its first second thread on a program counts with locked instructions. */
static void make_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

struct worker {
    pthread_t thread;
    int cpu;
    double ns;
};

static void *work(void *user)
{
    struct worker *w = user;

    bench_pin(w->cpu);
    w->ns = pair_ns(loop_pair);
    return NULL;
}

/* Both count at once, into the same kind. */
static double contended_ns(void)
{
    struct worker w[2];
    double sum = 0;

    for (int i = 0; i < 2; i++) {
        w[i] = (struct worker){.cpu = i};
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            return 0;
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(w[i].thread, NULL);
        sum += w[i].ns;
    }
    return sum / 2;
}

static void bench_layers(void)
{
    struct as_memory_layer_reading out;
    struct as_memory_profile *p = NULL;
    struct as_memory_moment newest = {0};
    struct as_memory_change change;
    struct as_memory_span span;
    double us[READINGS];

    if (as_memory_profile_new(&p, NULL, NULL) < 0 || as_memory_profile_start(p, NULL) < 0)
        return;
    for (int i = 0; i < READINGS; i++) {
        uint64_t from = as_clock_mono_ns();

        as_memory_profile_begin_layer(p, &newest, &span);
        as_memory_profile_end_layer(p, &newest, &span, &change);
        (void)!as_memory_profile_add(p, &change, "layer", 0, NULL, &out, NULL);
        us[i] = (double)(as_clock_mono_ns() - from) / 1e3;
    }
    bench_fact("memory_layer_reading", bench_median(us, READINGS), "us");
    as_memory_profile_free(p);
}

static void bench_capture(const char *name, enum assay_capture how)
{
    struct assay_memory_snapshot s;
    double us[READINGS];

    for (int i = 0; i < READINGS; i++) {
        uint64_t from = as_clock_mono_ns();

        (void)assay_memory_capture(&s, how, NULL);
        us[i] = (double)(as_clock_mono_ns() - from) / 1e3;
    }
    bench_fact(name, bench_median(us, READINGS), "us");
}

static void take_nothing(void *user)
{
    (void)user;
}

/* What a thread costs that wakes as often and does nothing. */
static void bench_waking(void)
{
    struct timespec time = {.tv_sec = SAMPLING_S};
    struct as_memory_sampler empty = {0};
    uint64_t cpu_ns, wall_ns;

    if (as_memory_sampler_start(&empty, 10000, take_nothing, NULL, NULL) < 0)
        return;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    as_memory_sampler_stop(&empty);
    if (as_memory_sampler_cost(&empty, &cpu_ns, &wall_ns))
        bench_fact("memory_sampler_waking_share", (double)cpu_ns / (double)wall_ns, "share");
}

static void bench_sampler(void)
{
    struct assay_memory_tracker *t = new_tracker("bench", 0);
    struct timespec time = {.tv_sec = SAMPLING_S};
    struct assay_memory_report r;

    if (!t || assay_memory_tracker_start(t, 10000, NULL) < 0)
        return;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    (void)assay_memory_tracker_stop(t, NULL);
    if (assay_memory_tracker_report(t, &r, NULL) == 0) {
        bench_line("memory_sampler_cpu_share", (double)r.sampler_cpu_ns / (double)r.sampler_wall_ns,
                   "share", 0.005, 1);
        bench_fact("memory_sampler_readings", (double)r.n_snapshots, "readings");
    }
    assay_memory_tracker_free(t);
}

int main(void)
{
    bench_pin(1);
    bench_line("memory_add_sub_pair", pair_ns(loop_pair), "ns", 20, 1);
    make_thread();
    bench_line("memory_add_or_sub_threads", pair_ns(loop_pair) / 2, "ns", 20, 1);
    bench_fact("memory_alloc_free_pair", pair_ns(loop_block), "ns");
    bench_fact("memory_add_sub_pair_contended", contended_ns(), "ns");
    bench_capture("memory_capture_usual", ASSAY_CAPTURE_USUAL);
    bench_capture("memory_capture_all", ASSAY_CAPTURE_ALL);
    bench_layers();
    bench_waking();
    bench_sampler();
    return 0;
}
