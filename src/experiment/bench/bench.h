/* experiment/bench/bench.h - one experiment: settings, the samples each of them gave, and the loop
 * that takes them in turns. What a setting does is told by a workload. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_H
#define AS_EXPERIMENT_BENCH_BENCH_H

#include "experiment/bench/bench_journal.h"
#include "experiment/bench/grid.h"
#include "measure/stop.h"

struct as_bench_setting {
    char name[AS_GRID_NAME]; /* "softmax", "mincut_l0.5_t2", "threads=1,batch=8" */
    double lambda, tau;      /* NaN where there is none */
    double items;            /* of work in one sample: the batch of a model; 1 otherwise */
    struct as_bench_sample *samples;
    size_t n, capacity;
    bool failed;
    char why[240]; /* it failed */
};

struct as_bench {
    const char *kind; /* "attention", "command" or "model" */
    struct as_bench_setting *settings;
    size_t n_settings;
    size_t baseline; /* SIZE_MAX: none */
    uint64_t n_samples;
    uint64_t n_kept; /* samples that a resumed journal brought */
};

/* `n` settings without names or samples. */
AS_MUST_USE int as_bench_init(struct as_bench *bench, const char *kind, size_t n,
                              struct assay_error *err);
void as_bench_fini(struct as_bench *bench);

/* Keeps a sample, from the loop or from a journal: as_journal_seen with the bench as `user`. Those
 * of a setting come in the order of their numbers. */
int as_bench_keep(void *bench, const struct as_bench_sample *sample, const char *why,
                  struct assay_error *err);

/* Samples that need not be taken any more: those that are there, and all of a setting that failed.
 */
uint64_t as_bench_done(const struct as_bench *bench);

/* Samples that are there. */
uint64_t as_bench_measured(const struct as_bench *bench);

/* What is measured. Failures that a setting is to blame for leave the others running; NOMEM and IO
 * end the experiment. */
struct as_bench_load {
    void *user;
    /* Makes sample `sample_id` ready, for all settings; may be NULL. */
    int (*ready)(void *user, uint64_t sample_id, struct assay_error *err);
    /* Just before a setting runs it: what must not be timed or metered; may be NULL. */
    int (*before)(void *user, size_t setting, struct assay_error *err);
    /* Runs it in one setting, times it and fills what it knows of `out`; the meter runs along. */
    int (*run)(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
               struct assay_error *err);
    /* Looks at what came out, when a run worked; not when warming up. May be NULL. */
    int (*after)(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
                 struct assay_error *err);
};

/* Reads energy around a run; both may fail, and then the energy of that sample is unknown. */
struct as_bench_meter {
    void *user;
    int (*begin)(void *user, struct assay_error *err);
    int (*end)(void *user, double *joules, struct assay_error *err);
};

struct as_bench_loop {
    const struct as_bench_load *load;
    const struct as_bench_meter *meter; /* NULL: energy is unknown */
    bool redact;                        /* what a command that failed printed is not kept */
    struct as_journal *journal;         /* NULL: none is kept */
    uint64_t seed;                      /* of the order */
    unsigned warmup;                    /* rounds before the first that counts */
    const struct as_stop *stop;         /* ends it; the sample that is under way is not kept */
    void (*progress)(void *user, const struct as_bench *bench, bool warming);
    void *user;
};

/* Takes every sample that is missing: round by round, in each round every setting once, in an order
 * that changes from round to round, so that a machine that drifts is unfair to nobody. */
AS_MUST_USE int as_bench_run(struct as_bench *bench, const struct as_bench_loop *loop,
                             struct assay_error *err);

/* ---- bench_meter.c ---- */

struct as_power_meter {
    const struct assay_power_source *source; /* the caller's */
    struct assay_power_tracker *tracker;     /* of all samples; NULL: none are kept */
    double watts, joules;
    uint64_t from_ns;
    uint64_t n_failed;      /* samples */
    struct assay_error why; /* the last that failed */
};

struct as_bench_meter as_power_meter_table(struct as_power_meter *meter);

#endif
