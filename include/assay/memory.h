/* assay/memory.h - what a process holds: by the system's account, and by category as the program
 * itself reports it.
 *
 *     struct assay_memory_snapshot now;
 *     assay_memory_add(ASSAY_MEMORY_KV_CACHE, bytes); // the program's own account
 *     if (assay_memory_capture(&now, ASSAY_CAPTURE_ALL, &err) == 0)
 *         printf("%" PRIu64 " bytes resident\n", now.rss_bytes);
 *
 * A value that cannot be had is ASSAY_UNKNOWN and `why` is the reason; it is never 0. Counting
 * (add, sub, alloc, free) may be done from any thread and from several at once; a tracker may be
 * used by one thread at a time, beside its own sampler. Sizes are bytes. */
#ifndef ASSAY_MEMORY_H
#define ASSAY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the program holds, by category ---- */

#define ASSAY_MEMORY_KINDS(XX)                                                                     \
    XX(PARAMETERS, "parameters")                                                                   \
    XX(ACTIVATIONS, "activations")                                                                 \
    XX(GRADIENTS, "gradients")                                                                     \
    XX(OPTIMIZER, "optimizer")                                                                     \
    XX(KV_CACHE, "kv_cache")                                                                       \
    XX(TEMP, "temp")

enum assay_memory_kind {
#define XX(name, text) ASSAY_MEMORY_##name,
    ASSAY_MEMORY_KINDS(XX)
#undef XX
        ASSAY_MEMORY_KIND_COUNT
};

/* "parameters" and so on; NULL for a number that is not a kind. */
ASSAY_API const char *assay_memory_kind_name(enum assay_memory_kind kind);

/* The program took or gave back `bytes` of that kind. No lock; a few nanoseconds. Giving back more
 * than was taken is counted in `mistakes` and the count stays at 0. A number that is not a kind is
 * a mistake too. */
ASSAY_API void assay_memory_add(enum assay_memory_kind kind, uint64_t bytes);
ASSAY_API void assay_memory_sub(enum assay_memory_kind kind, uint64_t bytes);

/* Memory that counts itself, aligned to 64 bytes, not cleared; NULL without memory. */
ASSAY_API void *assay_memory_alloc(enum assay_memory_kind kind, size_t bytes);
/* Only for what assay_memory_alloc() gave; accepts NULL. */
ASSAY_API void assay_memory_free(void *block);

/* Exact totals of all threads. `peak` of a kind is its own; the peak of the sum is not the sum of
 * the peaks. */
struct assay_memory_counts {
    size_t size; /* set by the library */
    uint64_t current_bytes[ASSAY_MEMORY_KIND_COUNT], peak_bytes[ASSAY_MEMORY_KIND_COUNT];
    uint64_t added[ASSAY_MEMORY_KIND_COUNT]; /* calls of add and alloc */
    uint64_t current_total_bytes, peak_total_bytes;
    uint64_t mistakes;
    bool any; /* the program counts at all: otherwise the values above have no meaning */
};
ASSAY_API void assay_memory_read_counts(struct assay_memory_counts *out);

/* ---- one snapshot ---- */

/* What a snapshot may cost: the usual one reads one small file of the kernel through a descriptor
 * kept open and asks for the page faults; pss and uss need the kernel to walk the page tables,
 * which takes it some 0.1 to 10 ms.
 */
enum assay_capture { ASSAY_CAPTURE_USUAL = 0, ASSAY_CAPTURE_ALL = 1 };

struct assay_memory_snapshot {
    uint64_t rss_bytes;      /* resident now */
    uint64_t peak_rss_bytes; /* the most since the process began: VmHWM, or the greatest memory that
                                was read in it when that is more. Never falls */
    uint64_t anonymous_bytes, file_bytes, shared_memory_bytes; /* what rss is made of */
    uint64_t swap_bytes;
    uint64_t virtual_bytes;
    uint64_t pss_bytes, uss_bytes; /* shared pages by their share; not at all */
    uint64_t minor_faults, major_faults;
    uint64_t memory_total_bytes; /* of the machine or the container, for the percentage */
    /* The program's own account; unknown when it counts nothing. */
    uint64_t kv_cache_bytes, activation_bytes, temp_buffer_bytes;
    uint64_t parameter_bytes, gradient_bytes, optimizer_bytes;
    uint64_t timestamp_us; /* UNIX microseconds: the wall clock once, then the steady one */
    uint64_t monotonic_ns;
    const char *why; /* a static sentence for what is unknown above; NULL: nothing is */
};

/* Fails only when nothing at all could be read. */
ASSAY_API int assay_memory_capture(struct assay_memory_snapshot *out, enum assay_capture how,
                                   struct assay_error *err);

/* ---- snapshots over time ---- */

struct assay_memory_tracker;

/* Zero means the default. */
struct assay_memory_tracker_options {
    size_t size;          /* sizeof(struct assay_memory_tracker_options) */
    const char *label;    /* copied; NULL: "" */
    size_t max_snapshots; /* kept: 100,000; more thin out what is kept, older and newer alike, and
                             the report still counts every one */
};

/* `options` may be NULL. */
ASSAY_API int assay_memory_tracker_new(struct assay_memory_tracker **out,
                                       const struct assay_memory_tracker_options *options,
                                       struct assay_error *err);
/* Stops its sampler. Accepts NULL. */
ASSAY_API void assay_memory_tracker_free(struct assay_memory_tracker *tracker);

/* Takes and keeps one snapshot now. */
ASSAY_API int assay_memory_tracker_snapshot(struct assay_memory_tracker *tracker,
                                            struct assay_error *err);
/* Keeps a snapshot made elsewhere: recorded data, tests. */
ASSAY_API int assay_memory_tracker_add(struct assay_memory_tracker *tracker,
                                       const struct assay_memory_snapshot *snapshot,
                                       struct assay_error *err);

/* A thread that takes a snapshot every `interval_us` (1000 to 60,000,000), shifted at random by up
 * to a tenth so that it cannot run in step with the program. */
ASSAY_API int assay_memory_tracker_start(struct assay_memory_tracker *tracker, uint64_t interval_us,
                                         struct assay_error *err);
ASSAY_API int assay_memory_tracker_stop(struct assay_memory_tracker *tracker,
                                        struct assay_error *err);

/* The greatest rss of all snapshots; ASSAY_UNKNOWN when there is none. */
ASSAY_API uint64_t assay_memory_tracker_peak(struct assay_memory_tracker *tracker);

/* Copies up to `capacity` of the kept snapshots, in order; returns how many there are. */
ASSAY_API size_t assay_memory_tracker_snapshots(struct assay_memory_tracker *tracker,
                                                struct assay_memory_snapshot *out, size_t capacity);

/* One component over time. Values are ASSAY_UNKNOWN, and mean NaN, when no snapshot knew it.
 */
struct assay_memory_series {
    uint64_t n; /* snapshots that knew it */
    uint64_t min_bytes, max_bytes, p95_bytes, last_bytes;
    double mean_bytes, time_weighted_mean_bytes;
};

struct assay_memory_report {
    size_t size;       /* set by the library */
    const char *label; /* the tracker's */
    uint64_t n_snapshots, n_kept;
    uint64_t peak_rss_bytes; /* greatest rss seen in a snapshot */
    uint64_t mean_rss_bytes; /* whole bytes, rounded down */
    uint64_t kv_cache_total_bytes, activation_total_bytes,
        temp_buffer_total_bytes;    /* sums over snapshots */
    uint64_t peak_rss_kernel_bytes; /* the kernel's own peak (VmHWM): no snapshot can miss it */
    struct assay_memory_series rss, kv_cache, activation, temp_buffer;
    uint64_t sampler_cpu_ns;  /* what the sampler's thread cost; unknown without one */
    uint64_t sampler_wall_ns; /* while it ran */
    uint64_t failed;          /* snapshots that failed */
};
ASSAY_API int assay_memory_tracker_report(struct assay_memory_tracker *tracker,
                                          struct assay_memory_report *out, struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
