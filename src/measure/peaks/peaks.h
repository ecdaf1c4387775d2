/* measure/peaks/peaks.h - the most this machine can compute and move, measured: the roofs of a
 * roofline. The best of many short trials, because what disturbs a trial can only make it slower.
 */
#ifndef AS_MEASURE_PEAKS_PEAKS_H
#define AS_MEASURE_PEAKS_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/json_fields.h"
#include "measure/stop.h"
#include "probe/system/topology.h"

/* Raised whenever figures of before cannot be compared with those of now: caches are then void. */
#define AS_PEAKS_VERSION 2

#define AS_PEAK_MAX_COUNTS  12  /* thread counts measured */
#define AS_PEAK_MAX_THREADS 256 /* more are not started */

/* Types of numbers: name, key, unit of one operation. */
#define AS_PEAK_TYPES(X)                                                                           \
    X(F32, "f32", "FLOP")                                                                          \
    X(F64, "f64", "FLOP")                                                                          \
    X(BF16, "bf16", "FLOP")                                                                        \
    X(I8, "i8", "OP")

enum as_peak_type {
#define X(name, key, unit) AS_PEAK_##name,
    AS_PEAK_TYPES(X)
#undef X
        AS_PEAK_TYPE_COUNT
};

enum as_peak_level { AS_PEAK_L1, AS_PEAK_L2, AS_PEAK_L3, AS_PEAK_DRAM, AS_PEAK_LEVEL_COUNT };
enum as_peak_access { AS_PEAK_READ, AS_PEAK_WRITE, AS_PEAK_TRIAD, AS_PEAK_ACCESS_COUNT };

/* One figure. A multiply-add counts as two operations; bytes are those the program names, so a
 * store that first fetches its line moves more than is counted. */
struct as_peak {
    double rate;     /* operations or bytes a second; NaN when it cannot be had */
    double spread;   /* how far the median of the trials lies below the best, as a share of it */
    const char *isa; /* which instructions, for instance "avx512"; NULL without a rate */
    const char *why; /* why there is no rate: a static sentence; NULL with one */
};

struct as_peak_place {
    uint64_t size_bytes; /* of one cache; of the memory for DRAM; 0: not known */
    uint64_t set_bytes;  /* walked by one thread alone in the measurement; 0: not measured */
};

struct as_peaks {
    unsigned n_counts;
    unsigned threads[AS_PEAK_MAX_COUNTS]; /* ascending, from 1 */
    struct as_peak compute[AS_PEAK_TYPE_COUNT][AS_PEAK_MAX_COUNTS];
    struct as_peak bandwidth[AS_PEAK_LEVEL_COUNT][AS_PEAK_ACCESS_COUNT][AS_PEAK_MAX_COUNTS];
    struct as_peak_place place[AS_PEAK_LEVEL_COUNT];
    double frequency_hz;       /* of the processor while it computes; NaN when not known */
    double vector_hz;          /* the same right after wide vectors, which may lower it */
    double clock_ns;           /* one reading of the clock that times layers */
    double gettime_ns;         /* one reading of the system's clock */
    uint64_t measured_unix_ns; /* when */
    uint64_t took_ns;          /* how long it took */
    bool quick;                /* few trials and a smaller set for DRAM */
};

/* As a run keeps them: measure/peaks/peak_fields.c. */
extern const struct as_json_shape as_peaks_shape;
/* Whether what was read can be peaks: thread counts ascend from 1, each metric is in its range. */
bool as_peaks_valid(const struct as_peaks *peaks);

/* Told before each step, at most some tens of times a second. */
typedef void (*as_peak_progress)(void *user, const char *what, unsigned done, unsigned total);

struct as_peaks_options {
    const struct as_topology *topology; /* needed */
    unsigned max_threads;               /* 0: all that can run at once */
    uint64_t memory_bytes;              /* most to use for DRAM; 0: a quarter of what is left */
    bool quick;
    as_peak_progress progress;  /* may be NULL */
    const struct as_stop *stop; /* what is left is then unknown, because of that */
    unsigned *n_measured;       /* metrics that were measured; NULL: nobody asks */
    void *user;
};

/* Takes some seconds, one more when `quick` is not given. What cannot be measured is NaN with a
 * reason and no failure; only memory and threads that cannot be had at all are one. */
AS_MUST_USE int as_peaks_measure(struct as_peaks *out, const struct as_peaks_options *options,
                                 struct assay_error *err);

/* The thread counts for a machine on which `max` threads can run: 1, 2, 4 ... and `max`. */
unsigned as_peaks_counts(unsigned max, unsigned out[AS_PEAK_MAX_COUNTS]);

/* Rates that somebody gives instead; 0 or NaN: not known. */
struct as_peak_rates {
    double flops[AS_PEAK_TYPE_COUNT];   /* operations a second, by type */
    double bytes[AS_PEAK_LEVEL_COUNT];  /* a second, by level */
    uint64_t size[AS_PEAK_LEVEL_COUNT]; /* of the cache of a level; without one it is not known */
};

/* The peaks of `threads` threads that such rates stand for; all others are not known. */
void as_peaks_from_rates(struct as_peaks *out, const struct as_peak_rates *rates, unsigned threads);

/* Operations a second of `threads` threads; between two counts measured, on the line between them,
 * and past the last as the last. NaN when not known. */
double as_peak_flops(const struct as_peaks *p, enum as_peak_type type, unsigned threads);

/* Bytes a second: the roof, so the best of reading, writing and triad. */
double as_peak_bandwidth(const struct as_peaks *p, enum as_peak_level level, unsigned threads);

/* Of one kind of access. */
double as_peak_bandwidth_of(const struct as_peaks *p, enum as_peak_level level,
                            enum as_peak_access access, unsigned threads);

/* The smallest level that holds a working set of that many bytes. */
enum as_peak_level as_peak_level(const struct as_peaks *p, uint64_t bytes);

/* FLOP a byte above which that type of number is bound by computing; NaN when not known. */
double as_peak_ridge(const struct as_peaks *p, enum as_peak_type type, enum as_peak_level level,
                     unsigned threads);

/* Multiply-adds of vectors a cycle on one thread, by the frequency under vectors: 2 on a core with
 * two units. NaN when not known. */
double as_peak_fma_a_cycle(const struct as_peaks *p);

/* "f32", "FLOP", "L1", "read". */
const char *as_peak_type_name(enum as_peak_type type);
const char *as_peak_type_unit(enum as_peak_type type);
const char *as_peak_level_name(enum as_peak_level level);
const char *as_peak_access_name(enum as_peak_access access);

/* The text given, as the static one that `isa` and `why` point to; NULL when it is none of ours. */
const char *as_peak_isa_find(const char *name, size_t size);
const char *as_peak_reason_find(const char *text, size_t size);

/* Cycles a second of the calling thread's processor, from a chain of dependent additions, in less
 * than a millisecond; NaN where the chain is not known. */
double as_frequency_measure(void);

/* The same while the thread's clock is what multiply-adds of wide vectors leave it: some ms. */
double as_frequency_under_vectors(void);

#endif
