/* measure/latency/noise.h - how much of a difference between two measurements is nothing but noise.
 * The same kernel is timed as A and as B, in the order ABBA: whatever differs is the machine. */
#ifndef AS_MEASURE_LATENCY_NOISE_H
#define AS_MEASURE_LATENCY_NOISE_H

#include "base/error.h"
#include "base/json/json_fields.h"
#include "probe/process/process_memory.h"
#include "probe/system/system_load.h"
#include "stats/inference/interval.h"
#include "stats/inference/rank_test.h"

#define AS_NOISE_MAX_PAIRS 2000

/* Shares are of the median time of the kernel. */
struct as_noise {
    size_t n_pairs;
    double kernel_ns;            /* median time of one run */
    double cv;                   /* standard deviation over the mean, of all runs */
    double median_share;         /* median of |A - B| of the pairs: the noise floor */
    double p95_share;            /* 95 % of the pairs differ by less; NaN for too few pairs */
    double shift_share;          /* median of all differences B - A: 0 but for chance */
    struct as_interval interval; /* of the median difference B - A of the pairs, 95 %, as shares */
    double p;                    /* of the rank test between A and B */
    double resolvable_share;     /* the least difference that such a test can tell from nothing */
    struct as_process_events events; /* of this thread, meanwhile */
    struct as_load_shares shares;    /* of the machine, meanwhile */
};

/* As a run keeps it: measure/latency/latency_fields.c. */
extern const struct as_json_shape as_noise_shape;

/* Runs about `budget_ns`, on the calling thread; at least 8 pairs. `kernel_ns` is what one run
 * shall take: 0 for 1 ms. */
AS_MUST_USE int as_noise_measure(struct as_noise *out, uint64_t budget_ns, uint64_t kernel_ns,
                                 struct assay_error *err);

/* The figures from the times alone: the pure half of it. Needs at least two pairs. */
AS_MUST_USE int as_noise_from(struct as_noise *out, const double *a_ns, const double *b_ns,
                              size_t n_pairs, struct assay_error *err);

#endif
