/* measure/latency/profile_pass.h - the time of every step, run after run, and what measuring it
 * costs: runs with and without stand beside each other (ABBA), so that both see the same machine.
 */
#ifndef AS_MEASURE_LATENCY_PROFILE_PASS_H
#define AS_MEASURE_LATENCY_PROFILE_PASS_H

#include "engine/engine.h"
#include "measure/latency/latency_run.h"
#include "measure/latency/sample_interference.h"

#define AS_PROFILE_MIN_RUNS    10
#define AS_PROFILE_MAX_RUNS    1000
#define AS_PROFILE_MAX_SAMPLES 2000000 /* steps x runs kept */

/* 0 means the default everywhere. */
struct as_profile_pass_options {
    unsigned runs; /* exactly so many, as far as there is room */
    double time_s; /* default 1.5 */
    double level;
    const struct as_interference_source *source; /* the clock; NULL: the machine's */
    const struct as_stop *stop; /* ends it with what there is; STATE before the first pair */
    void (*progress)(void *user, double share, double left_s);
    void *user;
};

struct as_profile_pass {
    size_t n_steps, n_runs;
    uint64_t *self_ns; /* by step, then by run: [step * n_runs + run] */
    uint32_t *calls;   /* the same */
    double *run_ns;    /* each profiled run as a whole, without what stands around it */
    double *plain_ns;  /* the plain run beside it */
    struct as_latency_metrics profiled, plain;
    double cost_share;                      /* how much longer a profiled run takes: 0.01 is 1 % */
    double cost_low_share, cost_high_share; /* its interval */
    bool capped; /* fewer runs than wanted: there was no room for more samples */
};

/* Fails with the first run that fails. */
AS_MUST_USE int as_profile_pass(struct as_profile_pass *out, struct as_engine *engine,
                                const struct as_profile_pass_options *options,
                                struct assay_error *err);
void as_profile_pass_fini(struct as_profile_pass *pass);

/* "low" for a factor below 2 (fit for frequent use), "moderate" below 10, else "high". */
const char *as_profile_cost_class(double factor);
/* What to do with such a cost, in a sentence. */
const char *as_profile_cost_hint(double factor);

#endif
