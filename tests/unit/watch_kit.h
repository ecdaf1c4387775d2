/* tests/unit/watch_kit.h - a run of a program that never was: every figure known, times chosen.
 * What it would have recorded, read and named stands in target_stand_ins.h. */
#ifndef AS_TESTS_WATCH_KIT_H
#define AS_TESTS_WATCH_KIT_H

#include "target_stand_ins.h"

enum { PROGRAM_KIT_RSS = 1, PROGRAM_KIT_HEAP, PROGRAM_KIT_CPU };

static inline void program_kit_samples(struct kit *k, const struct program_kit *how, double seconds)
{
    size_t n = (size_t)(seconds / PROGRAM_KIT_INTERVAL);
    struct as_event *event = calloc(6 * n + 1, sizeof *event);
    size_t m = 0;

    assert_non_null(event);
    kit_site(k, PROGRAM_KIT_RSS, ASSAY_CATEGORY_CHANNEL, AS_CHANNEL_TREE_RSS);
    kit_site(k, PROGRAM_KIT_HEAP, ASSAY_CATEGORY_CHANNEL, AS_CHANNEL_HEAP_LIVE);
    kit_site(k, PROGRAM_KIT_CPU, ASSAY_CATEGORY_CHANNEL, AS_CHANNEL_TREE_CPU);
    for (size_t i = 0; i < n; i++) {
        double t = (double)i * PROGRAM_KIT_INTERVAL, live = program_kit_live(how, t);
        /* Not a smooth line: something is always allocated just now. */
        double now = (double)(i * 7919 % 13) * 4096;
        double mapped = how->maps ? 3 * t * PROGRAM_KIT_MIB : 0;
        uint64_t ns = (uint64_t)(t * 1e9);

        if (how->returns && i + 6 > n) /* within the last twentieth */
            live *= (double)(n - i) / 8;

        event[m++] = (struct as_event){ns, PROGRAM_KIT_RSS, AS_RECORD_SAMPLE};
        event[m++] = (struct as_event){kit_bits(live + now + mapped + 30 * PROGRAM_KIT_MIB), 0,
                                       AS_RECORD_VALUE};
        if (!how->no_heap) {
            event[m++] = (struct as_event){ns, PROGRAM_KIT_HEAP, AS_RECORD_SAMPLE};
            event[m++] = (struct as_event){kit_bits(live + now), 0, AS_RECORD_VALUE};
        }
        event[m++] = (struct as_event){ns, PROGRAM_KIT_CPU, AS_RECORD_SAMPLE};
        event[m++] = (struct as_event){kit_bits(how->waits ? 0.05 : 0.97), 0, AS_RECORD_VALUE};
    }
    kit_thread(k, 0, 77, "watch");
    kit_events(k, 0, event, m);
    free(event);
}

static inline void program_kit_facts(const struct program_kit *how, double seconds)
{
    const char *argv[] = {"./a.out", how->hostile ? program_kit_nasty : "--rows", "1000000"};
    uint64_t cpu = (uint64_t)(seconds * 1e9 * (how->waits ? 0.05 : 0.97));
    const struct as_watch_facts facts = {
        .argv = argv,
        .n_args = 3,
        .folder = "/home/somebody",
        .exit_status = how->hostile ? 139 : 0,
        .signal = how->hostile ? 11 : 0,
        .dumped = how->hostile,
        .heap_why = how->no_heap ? "the program is static" : NULL,
        .wall_seconds = seconds,
        .interval_seconds = PROGRAM_KIT_INTERVAL,
        .readings = (uint64_t)(seconds / PROGRAM_KIT_INTERVAL),
        .cpu_user_ns = as_fact_of(cpu * 2 / 3),
        .cpu_system_ns = as_fact_of(cpu / 3),
        .peak_rss_bytes = as_fact_of(70u << 20),
        .tree_peak_rss_bytes = as_fact_of(71u << 20),
        .tree_peak_pss_bytes = as_fact_of(70u << 20),
        .minor_faults = as_fact_of(523456),
        .major_faults = as_fact_of(12),
        .switches_voluntary = as_fact_of(4567),
        .switches_involuntary = as_fact_of(89),
        .read_bytes = as_fact_of(123u << 20),
        .written_bytes = as_fact_none("the kernel does not count it"),
        .run_delay_ns = as_fact_of(0),
        .own_cpu_ns = as_fact_of(123456789),
        .processes_left_out = 0,
    };

    assert_int_equal(as_watch_record_facts(&facts, NULL), ASSAY_OK);
}

static inline void program_kit_processes(const struct program_kit *how, double seconds)
{
    struct as_process_facts p[3];

    for (int64_t i = 0; i < 3; i++)
        p[i] = (struct as_process_facts){
            .pid = 4242 + i,
            .parent_pid = i ? 4242 : 4000,
            .name = how->hostile ? program_kit_nasty
                    : i          ? "worker --shard"
                                 : "./a.out --rows",
            .start_seconds = 0.5 * (double)i,
            .end_seconds = i == 2 ? UNIT_NAN : seconds,
            .cpu_user_ns = as_fact_of(1000000000u * (uint64_t)(3 - i)),
            .cpu_system_ns = as_fact_of(200000000u),
            .peak_rss_bytes = as_fact_of((70u - 20 * (uint64_t)i) << 20),
            .minor_faults = as_fact_of(1234),
            .major_faults = as_fact_of(4),
            .switches_voluntary = as_fact_of(100),
            .switches_involuntary = as_fact_of(7),
            .read_bytes = as_fact_of(41u << 20),
            .written_bytes = as_fact_none("the kernel does not count it"),
            .io_wait_ns = as_fact_of(how->waits ? 2500000000u : 0),
            .run_delay_ns = as_fact_of(0),
            .threads_most = as_fact_of(2),
            .heap_watched = i == 0,
        };
    assert_int_equal(as_watch_record_processes(p, 3, NULL), ASSAY_OK);
}

static inline void program_kit_heap(const struct program_kit *how, double seconds)
{
    enum { N = 200 };
    struct as_heap_watch watch = {how, seconds};
    struct as_symbols symbols = {how->hostile};
    double t[N], grown[N], flat[N];
    const struct as_site_series series[] = {{0, t, grown, N}, {1, t, flat, N}};

    for (int i = 0; i < N; i++) {
        t[i] = seconds * i / N;
        grown[i] = how->leaks ? 1.15 * t[i] * PROGRAM_KIT_MIB : 0;
        if (how->returns && i + 4 > N)
            grown[i] *= (double)(N - i) / 8;
        flat[i] = t[i] < 1 ? 20 * t[i] * PROGRAM_KIT_MIB : 20 * PROGRAM_KIT_MIB;
    }
    assert_int_equal(as_watch_record_heap(&watch, how->no_names ? NULL : &symbols, series, 2, NULL),
                     ASSAY_OK);
}

static inline void program_kit_gemm(const struct program_kit *how)
{
    struct as_gemm_calls calls[] = {
        {.function = "cblas_sgemm",
         .dtype = "f32",
         .shape = "m 512 n 512 k 512",
         .m = 512,
         .n = 512,
         .k = 512,
         .batch = 1,
         .calls = 1000,
         .flops = 2.0 * 512 * 512 * 512,
         .time_ns = 4000000000u,
         .min_ns = 3000000,
         .max_ns = 9000000},
        {.function = "dnnl softmax",
         .dtype = "f32",
         .shape = "1x12x128x128",
         .calls = 24,
         .flops = UNIT_NAN,
         .time_ns = 12000000,
         .min_ns = 400000,
         .max_ns = 700000},
    };

    if (how->hostile)
        (void)snprintf(calls[0].shape, sizeof calls[0].shape, "%s", program_kit_nasty);
    assert_int_equal(as_watch_record_gemm(4242, calls, 2, 5, NULL), ASSAY_OK);
    calls[0].max_ns = 10000000;
    assert_int_equal(as_watch_record_gemm(4243, calls, 1, 0, NULL), ASSAY_OK);
}

/* Writes the whole run; as kit_begin(), ended by kit_close(). */
static inline void program_kit_make(struct kit *k, const struct program_kit *how)
{
    double seconds = how->seconds > 0 ? how->seconds : 14;

    kit_begin_bare(k);
    kit_meta(k, "{\"clock\":{\"kind\":\"monotonic\"},\"label\":\"a.out\","
                "\"host\":{\"name\":\"box\",\"cpu_model\":\"Some CPU\",\"cpus_online\":4},"
                "\"command\":[\"assay\",\"run\",\"./a.out\"]}");
    kit_anchor(k, KIT_START, KIT_START);
    program_kit_run = k;
    program_kit_samples(k, how, seconds);
    program_kit_facts(how, seconds);
    program_kit_processes(how, seconds);
    if (!how->no_heap)
        program_kit_heap(how, seconds);
    program_kit_gemm(how);
    program_kit_run = NULL;
    kit_end(k, 0, 1);
}

#endif
