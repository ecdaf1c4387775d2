/* analyze/watch/target.h - what an unmodified program did while `assay run` watched it.
 * Processes, time, memory, heap and GEMM calls, read back from the blocks of a run file. */
#ifndef AS_ANALYZE_WATCH_TARGET_H
#define AS_ANALYZE_WATCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/fact.h"
#include "probe/heap/gemm_watch.h"
#include "probe/heap/heap_watch.h"
#include "trace/run/run_reader.h"

/* One process of the tree. A process that lived shorter than a reading may be missing: `seen` in
 * as_target tells how many forks the kernel counted. */
struct as_process_row {
    int64_t pid, parent_pid;
    const char *name;                  /* the command line, cut */
    const char *runtime;               /* "CPython", "JVM", "Go", "V8"; NULL: none known */
    double start_seconds, end_seconds; /* since the run began; end NaN: still there at the end */
    struct as_fact cpu_user_ns, cpu_system_ns;
    struct as_fact peak_rss_bytes, minor_faults, major_faults;
    struct as_fact switches_voluntary, switches_involuntary;
    struct as_fact read_bytes, written_bytes; /* from and to storage */
    struct as_fact io_wait_ns;
    struct as_fact run_delay_ns; /* ready to run, without a CPU */
    struct as_fact threads_most, descriptors_most;
    bool heap_watched;
};

/* A function that an address is in, and where. */
struct as_heap_frame {
    const char *function, *module, *file; /* NULL: unknown */
    uint64_t offset;                      /* from the function; of an inlined one 0 */
    uint32_t line;                        /* 0: unknown */
    bool inlined;                         /* into the next one, at the same address */
    bool wrapper; /* it allocates for whoever calls it: xmalloc, std::vector and the like */
};

/* Who allocates at a site: the first function, from the site outwards, that is not a wrapper. */
struct as_target_caller {
    const struct as_heap_frame *frame;
    double share, live_share; /* of what the site allocated, of what is live of it at the end */
    double peak_share;        /* of what it held at the peak; NaN: samples do not tell */
    bool estimate;            /* from sampled stacks: the site itself is within wrappers */
    uint64_t samples;         /* 0: not from samples */
};

/* A heap site with a name. */
struct as_target_site {
    struct as_heap_site site; /* of one process */
    int64_t pid;
    uint32_t heap; /* which watched program, from 1: a process may become several by exec */
    const char *function, *module; /* NULL: unknown */
    uint64_t offset;
    uint32_t frame_id;                 /* where its frames begin, counted from 1; 0: unknown */
    const struct as_heap_frame *frame; /* innermost first */
    uint32_t n_frames;
    /* Most allocated first; one when it is known without samples, none when nothing is. */
    const struct as_target_caller *caller;
    size_t n_callers;
    bool peak_known; /* site.peak_live_bytes was captured, when its own process held most */
    bool apart;      /* which was not there when all of them together held most */
    /* Live bytes over the samples, warm-up left out: whether they grow. NaN: too few samples. */
    double growth_bytes_per_second, growth_p_value;
    double growth_bytes; /* over those samples, by the rate; NaN like the others */
    double rise_bytes;   /* what it held at the last of them more than at the first */
    double growth_from_seconds, growth_to_seconds; /* of those samples */
    bool growing;
};

struct as_heap_trace {
    struct as_heap_stack stack; /* without its addresses */
    int64_t pid;
    uint32_t heap;     /* as of sites */
    const double *at;  /* where the frames of each address begin, counted from 1; 0: unknown */
    uint32_t frame_id; /* of the innermost address */
    const struct as_heap_frame *const *frame; /* innermost first, those inlined among them */
    uint32_t n_frames;
};

/* A site, or a part of one, as people look for it: by who allocates. */
struct as_target_row {
    const struct as_target_site *place;
    const struct as_target_caller *caller; /* NULL: not known, or the site has all of it */
    double held_bytes;                     /* at the end or at the peak, whichever is more */
};

/* A series of the whole tree over time. */
struct as_target_series {
    double *seconds, *value;
    size_t n;
};

struct as_peaks;

struct as_target {
    struct as_arena arena;
    /* The roofs of this machine, for the share that products reach. The caller's; NULL: unknown. */
    const struct as_peaks *peaks;
    double processors;          /* that it could use: online, by affinity, by control group; NaN:
                                   unknown */
    double free_bytes;          /* of the machine's memory when the run began; NaN: unknown */
    double group_limit_bytes;   /* of its control group; NaN: none known */
    double address_limit_bytes; /* of each of its processes; NaN: no limit known */
    /* The command. */
    const char *const *argv;
    size_t n_args;
    uint64_t args_left_out;
    const char *folder; /* NULL: unknown */
    int exit_status; /* as the shell would see it: 0 to 255; -1: unknown, it was not seen to end */
    int signal;      /* that ended it; 0: none */
    bool dumped;     /* a core */
    const char *heap_why;     /* why the heap was not watched; NULL: it was */
    uint64_t started_mono_ns; /* the clock's reading that all seconds begin at; 0: not told */
    double wall_seconds;
    struct as_fact cpu_user_ns, cpu_system_ns; /* of the whole tree, as the kernel summed them */
    struct as_fact peak_rss_bytes;             /* of the largest single process (the kernel's) */
    const char *peak_from;                     /* how that one is known; NULL: not told */
    struct as_fact tree_peak_rss_bytes;        /* of the tree, sampled */
    struct as_fact tree_peak_pss_bytes;        /* the same, shared pages once; sampled seldom */
    struct as_fact minor_faults, major_faults, switches_voluntary, switches_involuntary;
    struct as_fact read_bytes, written_bytes;
    struct as_fact run_delay_ns; /* of all threads of all processes seen; at least */
    struct as_fact own_cpu_ns;   /* what watching cost outside the program */
    double interval_seconds;
    /* Readings after this are of its end and say nothing about growth; NaN: not told. */
    double judged_until_seconds;
    double
        exit_live_bytes; /* of the command's heap, as it called exit() or left main; NaN: unknown */
    uint64_t readings;
    uint64_t passed_over; /* things in the run that make no sense or are too many */

    struct as_process_row *process; /* in order of their start */
    size_t n_processes;
    uint64_t processes_left_out; /* beyond the limit */

    bool heap_known;
    /* Of all watched processes. The peak is the sum of the peaks of those that were there at one
     * time; theirs need not have been at one time: the slack says how much lower it may be. */
    struct as_heap_totals heap;
    size_t n_heaps; /* processes watched */
    struct as_target_site *place;
    /* Mappings last; else by what each held at the end or at the peak, then by bytes allocated. */
    size_t n_places;
    size_t n_heap_places; /* those that are no mappings: address space is not memory held */
    uint64_t places_left_out;
    struct as_heap_frame *frame;
    size_t n_frames;
    struct as_target_row *row; /* of sites that are no mappings, most held first */
    size_t n_rows;
    struct as_heap_trace *trace;
    size_t n_traces; /* by bytes allocated */
    uint64_t traces_left_out;
    struct as_heap_layer *layer;
    size_t n_layers;
    bool symbols_known;
    const char *lines_why; /* why lines are missing; NULL: nothing speaks for it */

    struct as_gemm_calls *gemm; /* most time first; the same calls of all processes together */
    size_t n_gemm;
    uint64_t gemm_unplaced;
    const char *gemm_why;    /* why products may have gone by unseen; NULL: nothing speaks for it */
    const char *gemm_core;   /* what an OpenBLAS has chosen kernels for; NULL: not known */
    const char *cpu_vectors; /* "avx512", "avx2", "avx", "sse"; NULL: not known */
    double gemm_time_share;  /* of the wall time, threads added up; NaN: none seen */

    struct as_target_series rss, heap_live; /* bytes */
    struct as_target_series anon; /* resident bytes of no file; none in runs of older versions */
    struct as_target_series cpu;  /* processors busy */
    struct as_target_series descriptors, threads; /* counts; of processes but the first, what they
                                                     have more than when they were first seen */
    struct as_target_series marks; /* live bytes at iteration marks; `seconds` are their numbers */
};

/* The process that held most, when its heap was not watched and it held more than those watched;
 * NULL: none. */
const struct as_process_row *as_target_largest_unwatched(const struct as_target *target);

/* NOTFOUND when the run is not one of `assay run`. Free with as_target_free(). */
AS_MUST_USE int as_target_analyze(struct as_target **out, struct as_run *run,
                                  struct assay_error *err);
void as_target_free(struct as_target *target);

/* The most that all its processes are known to have held: what was sampled of them, or the peak of
 * the largest alone when that is more. NaN: not known. */
double as_target_peak_bytes(const struct as_target *target);

/* Whether the run is one of `assay run`. */
bool as_target_in_run(const struct as_run *run);

/* "function  file.c:12" without the folder of the file; where no line is known "function (module)"
 * with the offset within it, "0x1234 (module)" or "0x7f0123"; cut where `out` is full. */
void as_heap_frame_text(const struct as_heap_frame *frame, char *out, size_t capacity);

/* "function+0x12 (module)", for an inlined one "function (inlined, module)". */
void as_heap_frame_address(const struct as_heap_frame *frame, char *out, size_t capacity);

/* The same of a site and of one who allocates at it, NULL when that is not known: after a "~" and
 * with "via" the wrapper when it is an estimate. */
void as_target_caller_text(const struct as_target_site *place,
                           const struct as_target_caller *caller, char *out, size_t capacity);

/* Of the one who holds most of what is live at the site, else who allocated most. */
void as_target_site_text(const struct as_target_site *place, char *out, size_t capacity);

/* The same, with the process where several are watched. */
void as_target_site_owner(const struct as_target *target, const struct as_target_site *place,
                          char *out, size_t capacity);

/* The same of a row. */
void as_target_row_owner(const struct as_target *target, const struct as_target_row *row, char *out,
                         size_t capacity);

/* "malloc", "new", "mmap". */
const char *as_heap_kind_name(enum as_heap_kind kind);

/* Processors the program kept busy on average; NaN when not known. */
double as_target_cpus_used(const struct as_target *target);

/* FLOP a second within the calls; NaN when not known. */
double as_gemm_rate(const struct as_gemm_calls *calls);

/* The share of what this machine can do at the intensity of the product, on all processors:
 * operands and result are moved once. NaN when not known. */
double as_gemm_roof_share(const struct as_target *target, const struct as_gemm_calls *calls);

#endif
