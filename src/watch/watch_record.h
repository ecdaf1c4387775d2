/* watch/watch_record.h - writes what was seen of a program into the open session, as data
 * blocks that analyze/watch/target.h reads back. */
#ifndef AS_WATCH_WATCH_RECORD_H
#define AS_WATCH_WATCH_RECORD_H

#include "base/error.h"
#include "base/fact.h"
#include "probe/heap/gemm_watch.h"
#include "probe/heap/heap_watch.h"
#include "probe/symbols/elf_symbols.h"

#define AS_EXIT_UNKNOWN (-1)

/* What is known when the command has ended. It is written when it begins too, with an unknown exit
 * status and no time: the last one holds. */
struct as_watch_facts {
    const char *const *argv;
    bool without_args; /* only the first is recorded */
    size_t n_args;
    const char *folder; /* NULL: unknown */
    int exit_status, signal;
    bool dumped;
    const char *heap_why;
    const char *peak_from;   /* how peak_rss_bytes is known; NULL: it is not */
    const char *gemm_why;    /* why products may have gone by unseen; NULL: nothing speaks for it */
    const char *gemm_core;   /* what an OpenBLAS has chosen kernels for; NULL: not known */
    const char *cpu_vectors; /* the widest the CPU has: avx512, avx2, avx, sse; NULL: not known */
    double usable_cpus;      /* by affinity and control group; NaN: unknown */
    double address_limit_bytes; /* of each process (ulimit -v, -d); NaN: none */
    double group_limit_bytes;   /* of its control group; NaN: none known */
    uint64_t started_mono_ns;   /* what all seconds are counted from; 0: not told */
    double wall_seconds, interval_seconds;
    uint64_t readings;
    struct as_fact cpu_user_ns, cpu_system_ns, peak_rss_bytes, tree_peak_rss_bytes,
        tree_peak_pss_bytes, minor_faults, major_faults, switches_voluntary, switches_involuntary,
        read_bytes, written_bytes, run_delay_ns, own_cpu_ns;
    uint64_t processes_left_out;
    double exit_live_bytes;      /* of its heap, as it called exit() or left main; NaN: unknown */
    double judged_until_seconds; /* behind it the program tears down: no growth; NaN: nowhere */
};

struct as_process_facts {
    int64_t pid, parent_pid;
    const char *name, *runtime; /* the latter NULL: none known */
    double start_seconds, end_seconds;
    struct as_fact cpu_user_ns, cpu_system_ns, peak_rss_bytes, minor_faults, major_faults,
        switches_voluntary, switches_involuntary, read_bytes, written_bytes, io_wait_ns,
        run_delay_ns, threads_most, descriptors_most;
    bool heap_watched;
};

/* The live bytes of one site at the samples, for its growth; thinned to at most 256. */
struct as_site_series {
    uint32_t id; /* as_heap_site.id */
    const double *seconds, *live_bytes;
    size_t n;
};

/* Each appends its blocks; STATE when no session is open. */
AS_MUST_USE int as_watch_record_facts(const struct as_watch_facts *facts, struct assay_error *err);
AS_MUST_USE int as_watch_record_processes(const struct as_process_facts *process, size_t n,
                                          struct assay_error *err);
/* Everything the heap part of a share tells, with names from `symbols` (may be NULL). `iterations`
 * of live bytes come along by themselves. */
AS_MUST_USE int as_watch_record_heap(struct as_heap_watch *watch, struct as_symbols *symbols,
                                     const struct as_site_series *series, size_t n_series,
                                     struct assay_error *err);
AS_MUST_USE int as_watch_record_gemm(int64_t pid, const struct as_gemm_calls *calls, size_t n,
                                     uint64_t unplaced, struct assay_error *err);

/* The names of the channels the watcher samples; values in bytes and processors. */
#define AS_CHANNEL_TREE_RSS  "tree_rss"
#define AS_CHANNEL_TREE_ANON "tree_anon"
#define AS_CHANNEL_HEAP_LIVE "heap_live"
#define AS_CHANNEL_TREE_CPU  "tree_cpu"
/* Counts: of the first process, and of the others what they have more than at first. */
#define AS_CHANNEL_TREE_DESCRIPTORS "tree_descriptors"
#define AS_CHANNEL_TREE_THREADS     "tree_threads"

#endif
