/* measure/peaks/peak_team.h - threads that do the same thing at the same moment, several times.
 * Each is bound to a processor of its own where that is allowed. */
#ifndef AS_MEASURE_PEAKS_PEAK_TEAM_H
#define AS_MEASURE_PEAKS_PEAK_TEAM_H

#include "measure/peaks/peaks.h"

/* What one thread does in a trial; `member` counts from 0. */
typedef void (*as_team_fn)(void *user, unsigned member);

struct as_team_job {
    const struct as_topology *topology; /* whose processors the threads are bound to */
    unsigned n_threads;                 /* 1 to AS_PEAK_MAX_THREADS */
    unsigned max_trials;                /* at most AS_TEAM_MAX_TRIALS */
    unsigned min_trials;
    uint64_t budget_ns; /* no trial begins after this, once min_trials are done */
    as_team_fn prepare; /* once before the trials, by each thread; may be NULL */
    as_team_fn trial;
    void *user;
};

#define AS_TEAM_MAX_TRIALS 256

struct as_team_result {
    unsigned n_trials;
    double best_ns, median_ns; /* from the first to begin to the last to end */
};

/* Fails when threads cannot be started or memory is short. */
AS_MUST_USE int as_team_run(struct as_team_result *out, const struct as_team_job *job,
                            struct assay_error *err);

#endif
