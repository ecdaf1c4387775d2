/* analyze/model/sweep.h - how a model scales: fitted exponents, the knee, the best setting under a
 * limit. A pure function of the points measured. */
#ifndef AS_ANALYZE_MODEL_SWEEP_H
#define AS_ANALYZE_MODEL_SWEEP_H

#include "analyze/model/roofline.h"
#include "measure/sweep/sweep_run.h"

/* y = a * x^exponent, by least squares of the logarithms. */
struct as_power_law {
    bool known; /* two different x at least, all above 0 */
    size_t n;
    double exponent; /* 1: grows as fast */
    double error;    /* its standard error; NaN with two points */
    double r2;
};

/* Needs x and y above 0; others are left out. */
struct as_power_law as_power_law_fit(const double *x, const double *y, size_t n);

/* Throughput still rises by at least this share when the setting doubles; else it is the knee. */
#define AS_SWEEP_KNEE_GAIN 0.10
#define AS_SWEEP_MAX_DRIFT 0.1 /* above it the two passes contradict any verdict */
#define AS_SWEEP_KNEE_ROWS 3   /* that worked along the first axis; with fewer there is no knee */

struct as_sweep_row {
    const struct as_sweep_point *point;
    const struct as_sweep_options *options; /* of all rows: what the places of the point mean */
    double samples_per_second;
    double samples_per_second_mb; /* over MiB of peak memory */
    double gflops_per_second, memory_mb;
    double speedup; /* of throughput against the first row that worked */
    double drift;   /* |up - down| over the median */
    struct as_roof roof;
};

struct as_sweep {
    const struct as_sweep_run *run;
    struct as_sweep_row *rows; /* of every point */
    size_t n_rows;
    /* Of the first axis alone, at the first value of the others. */
    struct as_power_law latency, memory, work, throughput;
    double memory_growth, compute_growth; /* last over first */
    double drift;                         /* the most of a row */
    size_t knee; /* row after which doubling gains little, whatever comes later; SIZE_MAX: none */
    bool same_work; /* only batch and threads vary */
    size_t best;    /* of the same work the most throughput within the limits; else the most work
                       within them, when there are some; SIZE_MAX: none */
    size_t n_equal; /* other rows within the limits that `best` is not significantly better than */
    size_t n_untested;                       /* such rows of which one or the other has no CI */
    size_t fastest;                          /* least latency */
    double max_latency_ns, max_memory_bytes; /* limits given; NaN: none */
    enum as_bound verdict;                   /* what bounds most rows */
    const char *advice; /* NULL: the passes differ by more than AS_SWEEP_MAX_DRIFT */
    struct as_arena arena;
};

struct as_sweep_limits {
    double max_latency_ns, max_memory_bytes; /* 0: none */
};

/* `peaks` may be NULL. */
AS_MUST_USE int as_sweep_new(struct as_sweep **sweep, const struct as_sweep_run *run,
                             const struct as_peaks *peaks, const struct as_sweep_limits *limits,
                             struct assay_error *err);
void as_sweep_free(struct as_sweep *sweep);

/* "batch 8, threads 2": a row's setting. */
void as_sweep_setting_text(const struct as_sweep *sweep, size_t row, char *out, size_t capacity);

#endif
