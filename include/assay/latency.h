/* assay/latency.h - latency of inferences: what was recorded, and its percentiles.
 * Times are nanoseconds; the microsecond fields serve files and readers that expect them. */
#ifndef ASSAY_LATENCY_H
#define ASSAY_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One timed inference. */
struct assay_latency_record {
    uint64_t sample_id;      /* whatever identifies this sample */
    uint64_t wall_time_ns;   /* from the call to the result */
    uint64_t kernel_time_ns; /* spent computing; means nothing unless kernel_available */
    bool kernel_available;   /* kernel_time_ns was measured, not copied from the wall time */
    uint64_t seq_len;        /* length of the input */
};

/* Which of the two times is meant. */
enum assay_latency_time { ASSAY_LATENCY_WALL, ASSAY_LATENCY_KERNEL };

/* What became of one of the two times. With n = 0 every field is 0 or false. */
struct assay_latency_stats {
    /* Percentiles by nearest rank, in whole microseconds, rounded down. */
    uint64_t p50_us, p95_us, p99_us;
    /* The mean, with its fraction. */
    double mean_us;
    /* The population standard deviation: the divisor is n. */
    double std_us;
    /* How many records had this time. */
    uint64_t n;
    /* The same percentiles, least and greatest, in nanoseconds. */
    uint64_t p50_ns, p95_ns, p99_ns, min_ns, max_ns;
    /* The mean and the population standard deviation, in nanoseconds. */
    double mean_ns, std_ns;
    /* False when n is too small for that tail (200 and 1000 are needed): warn beside the value. */
    bool p95_supported, p99_supported;
};

/* The records of one sequence length. */
struct assay_latency_group {
    uint64_t seq_len;                  /* exactly this length */
    uint64_t n_records;                /* of that length */
    struct assay_latency_stats wall;   /* of all of them */
    struct assay_latency_stats kernel; /* of those with a kernel time; its n may be 0 */
};

/* Fills `out` from `n` records in any order, which are not changed. Records without a kernel time
 * are left out of ASSAY_LATENCY_KERNEL. Returns 0, or a negative code when memory ran out. */
ASSAY_API int assay_latency_summarize(const struct assay_latency_record *records, size_t n,
                                      enum assay_latency_time which,
                                      struct assay_latency_stats *out, struct assay_error *err);

/* Fills `groups`, shortest length first, with as many as there is `capacity` for. Returns how many
 * lengths there are, which may be more than `capacity`, so a call with capacity 0 (and groups NULL)
 * asks for the number; or a negative code when memory ran out. */
ASSAY_API int assay_latency_groups(const struct assay_latency_record *records, size_t n,
                                   struct assay_latency_group *groups, size_t capacity,
                                   struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
