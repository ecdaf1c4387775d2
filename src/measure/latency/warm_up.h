/* measure/latency/warm_up.h - runs a function until its times are steady, which is tested, not
 * assumed. On the way it finds how many calls make a sample that the clock can measure. */
#ifndef AS_MEASURE_LATENCY_WARM_UP_H
#define AS_MEASURE_LATENCY_WARM_UP_H

#include "base/error.h"
#include "measure/latency/sample_interference.h"

/* Anything that can be measured: 0, or what went wrong; a failure ends the measuring. */
typedef int (*as_measured)(void *user, struct assay_error *err);

struct as_warm_up_options {
    unsigned min_runs;   /* calls, however steady; 0: no warm-up but the first call */
    double max_s;        /* no longer than that, once the runs are done */
    double min_batch_ns; /* a sample takes at least so long; 0: a sample is one call */
    const struct as_interference_source *source;
};

struct as_warm_up {
    double first_ns; /* of the very first call */
    double call_ns;  /* of one call at the end: the median of the last samples */
    uint64_t runs;   /* calls made */
    uint64_t batch;  /* calls in a sample */
    double seconds;
    bool steady; /* two windows of samples agree, and neither rises nor falls */
};

/* The first call that fails ends it with that failure. */
AS_MUST_USE int as_warm_up(struct as_warm_up *out, as_measured fn, void *user,
                           const struct as_warm_up_options *options, struct assay_error *err);

/* Calls `fn` `times` times and says how long that took; `done` counts calls for messages. A failure
 * that has no sentence of its own gets one. */
AS_MUST_USE int as_measured_calls(as_measured fn, void *user, uint64_t times, uint64_t *done,
                                  const struct as_interference_source *source, uint64_t *took_ns,
                                  struct assay_error *err);

#endif
