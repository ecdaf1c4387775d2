/* measure/latency/interleaved_run.h - two ways to do the same thing, timed in turns (ABBA).
 * The ratio is that of neighbors, so that what disturbs both cancels. */
#ifndef AS_MEASURE_LATENCY_INTERLEAVED_RUN_H
#define AS_MEASURE_LATENCY_INTERLEAVED_RUN_H

#include "measure/latency/latency_run.h"

enum { AS_PAIR_MIN = 10, AS_PAIR_MAX = 2000 };

/* 0 means the default everywhere. */
struct as_pair_options {
    as_measured plain, other;
    void *plain_user, *other_user;
    double time_s; /* default 0.3 */
    double level;  /* of the intervals; default 0.95 */
    const struct as_interference_source *source;
};

struct as_pair_run {
    size_t n_pairs;
    uint64_t batch;                         /* calls in a sample */
    struct as_latency_metrics plain, other; /* of one call */
    double factor;                          /* median of other / plain */
    double factor_low, factor_high;         /* its interval */
    double factor_p90;                      /* other / plain of nine pairs in ten is less */
};

/* The first call that fails is the result. */
AS_MUST_USE int as_pair_run(struct as_pair_run *out, const struct as_pair_options *options,
                            struct assay_error *err);

#endif
