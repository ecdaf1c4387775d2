/* measure/latency/thread_trial.h - whether other numbers of threads run a model faster: each timed
 * interleaved with the number that is used, so that a busy machine slows both alike. */
#ifndef AS_MEASURE_LATENCY_THREAD_TRIAL_H
#define AS_MEASURE_LATENCY_THREAD_TRIAL_H

#include "measure/latency/profile_run.h"

/* One number of threads against another. */
struct as_thread_trial {
    bool tried;
    uint32_t threads, against;              /* tried, and used so far */
    double threads_ns, against_ns;          /* p50 of an inference with each */
    double factor, factor_low, factor_high; /* of the time with `threads`, and its 95 % CI */
    double factor_p90;                      /* nine of ten pairs of neighbors show less */
};

/* The threads tried are faster: the CI shows it, or, where noise in bursts leaves none, nine of ten
 * pairs do. */
static inline bool as_thread_trial_won(const struct as_thread_trial *t)
{
    return t->tried && t->factor < 1 && (t->factor_high < 1 || t->factor_p90 < 1);
}

extern const struct as_json_shape as_thread_trial_shape;

/* Opens the model anew for each of the two. What cannot be run leaves `tried` false and is no
 * failure; running out of memory is. */
AS_MUST_USE int as_thread_trial_run(struct as_thread_trial *out, const char *spec,
                                    const struct as_profile_options *options, unsigned threads,
                                    unsigned against, struct assay_error *err);

/* The number of threads up to `most` that runs the model fastest: 1, 2, 4 ... and `most` are tried.
 * `best` is the trial that shows it, `tried` false where `most` itself is. */
AS_MUST_USE int as_thread_trial_best(struct as_thread_trial *best, const char *spec,
                                     const struct as_profile_options *options, unsigned most,
                                     struct assay_error *err);

/* The number of threads to try beside those of the profile, of `most`: one, where an inference or
 * most of its calls are so short that handing work over may cost more than it saves; all, where
 * fewer were used. 0: none. */
unsigned as_thread_trial_wanted(const struct as_profile_run *run, unsigned most);

#endif
