/* measure/latency/thread_trial.c - whether other numbers of threads run a model faster. */
#include "measure/latency/thread_trial.h"

#include "base/units.h"
#include "format/model_file.h"
#include "measure/latency/interleaved_run.h"

#define SHORT_NS  20000 /* of a call */
#define SMALL_NS  5e6   /* of an inference */
#define TRIAL_S   0.3
#define MUCH      0.5
#define AT_MOST_S 0.2 /* of an inference: a trial of longer ones would take too long */

/* The model opened for a number of threads. */
struct side {
    struct as_model *model;
    struct as_model_inputs inputs;
    struct as_engine *engine;
};

static const struct as_json_field fields[] = {
    AS_FIELD(struct as_thread_trial, tried),      AS_FIELD(struct as_thread_trial, threads),
    AS_FIELD(struct as_thread_trial, against),    AS_FIELD(struct as_thread_trial, threads_ns),
    AS_FIELD(struct as_thread_trial, against_ns), AS_FIELD(struct as_thread_trial, factor),
    AS_FIELD(struct as_thread_trial, factor_low), AS_FIELD(struct as_thread_trial, factor_high),
    AS_FIELD(struct as_thread_trial, factor_p90),
};
const struct as_json_shape as_thread_trial_shape = AS_SHAPE(struct as_thread_trial, fields);

static int open_side(struct side *s, const char *spec, const struct as_profile_options *options,
                     unsigned threads, struct assay_error *err)
{
    struct as_engine_options engine = options->engine;
    int rc = as_model_open(&s->model, spec, err);

    engine.threads = threads;
    if (rc == ASSAY_OK)
        rc = as_model_inputs_open(&s->inputs, s->model, &options->inputs, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(&s->inputs, &engine.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(&s->engine, s->model, &engine, err);
    return rc == ASSAY_OK ? as_model_inputs_fill(&s->inputs, s->engine, err) : rc;
}

static void close_side(struct side *s)
{
    as_engine_free(s->engine);
    as_model_inputs_close(&s->inputs);
    as_model_free(s->model);
}

static int run_plain(void *user, struct assay_error *err)
{
    return as_engine_run(user, AS_RUN_PLAIN, NULL, err);
}

static void keep(struct as_thread_trial *out, const struct as_pair_run *pair)
{
    out->tried = true;
    out->against_ns = pair->plain.summary.median;
    out->threads_ns = pair->other.summary.median;
    out->factor = pair->factor;
    out->factor_low = pair->factor_low;
    out->factor_high = pair->factor_high;
    out->factor_p90 = pair->factor_p90;
}

int as_thread_trial_run(struct as_thread_trial *out, const char *spec,
                        const struct as_profile_options *options, unsigned threads,
                        unsigned against, struct assay_error *err)
{
    struct side used = {0}, other = {0};
    struct as_pair_options pair = {.plain = run_plain,
                                   .other = run_plain,
                                   .time_s = TRIAL_S,
                                   .source = options->latency.source};
    struct as_pair_run run = {0};
    int rc;

    *out = (struct as_thread_trial){.threads = threads,
                                    .against = against,
                                    .threads_ns = AS_UNKNOWN,
                                    .against_ns = AS_UNKNOWN,
                                    .factor = AS_UNKNOWN,
                                    .factor_low = AS_UNKNOWN,
                                    .factor_high = AS_UNKNOWN,
                                    .factor_p90 = AS_UNKNOWN};
    rc = open_side(&used, spec, options, against, err);
    if (rc == ASSAY_OK)
        rc = open_side(&other, spec, options, threads, err);
    pair.plain_user = used.engine;
    pair.other_user = other.engine;
    if (rc == ASSAY_OK)
        rc = as_pair_run(&run, &pair, err);
    if (rc == ASSAY_OK)
        keep(out, &run);
    close_side(&used);
    close_side(&other);
    if (rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM)
        return rc;
    if (err)
        *err = (struct assay_error){0};
    return ASSAY_OK;
}

int as_thread_trial_best(struct as_thread_trial *best, const char *spec,
                         const struct as_profile_options *options, unsigned most,
                         struct assay_error *err)
{
    int rc = ASSAY_OK;

    *best = (struct as_thread_trial){.threads = most, .against = most, .factor = 1};
    for (unsigned n = 1; n < most && rc == ASSAY_OK && !as_stop_asked(options->latency.stop);
         n *= 2) {
        struct as_thread_trial trial;

        rc = as_thread_trial_run(&trial, spec, options, n, most, err);
        if (rc == ASSAY_OK && as_thread_trial_won(&trial) && trial.factor < best->factor)
            *best = trial;
    }
    return rc;
}

/* Whether calls below SHORT_NS take most of the time. */
static bool is_mostly_short(const struct as_profile_pass *pass)
{
    double all = 0, in_short = 0;

    for (size_t i = 0; i < pass->n_steps; i++) {
        double sum = 0, calls = 0;

        for (size_t k = 0; k < pass->n_runs; k++) {
            sum += (double)pass->self_ns[i * pass->n_runs + k];
            calls += pass->calls[i * pass->n_runs + k];
        }
        all += sum;
        in_short += sum < SHORT_NS * calls ? sum : 0;
    }
    return in_short > MUCH * all;
}

unsigned as_thread_trial_wanted(const struct as_profile_run *run, unsigned most)
{
    double ns = run->profile.plain.summary.median;

    if (!run->profiled || !(ns < AT_MOST_S * 1e9))
        return 0;
    if (run->threads < most)
        return most;
    if (run->threads < 2)
        return 0;
    return ns < SMALL_NS || is_mostly_short(&run->profile) ? 1 : 0;
}
