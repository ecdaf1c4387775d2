/* measure/latency/profile_run.c - the whole protocol for one model: opened, filled, warmed up,
 * timed, profiled, its memory counted. Everything raw is kept; analyses make figures of it. */
#include "measure/latency/profile_run.h"

#include <assay/session.h>

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"

static const char *const phase_text[] = {
#define X(name, text) text,
    AS_PROFILE_PHASES(X)
#undef X
};

const char *as_profile_phase_text(enum as_profile_phase phase)
{
    return (unsigned)phase < AS_PHASE_COUNT ? phase_text[phase] : "working";
}

static void tell(const struct as_profile_run *run, enum as_profile_phase phase, double share,
                 double left_s)
{
    const struct as_latency_progress now = {
        .share = share, .median_ns = AS_UNKNOWN, .left_s = left_s};

    if (run->options.progress)
        run->options.progress(run->options.user, phase, &now);
}

static void tell_latency(void *user, const struct as_latency_progress *now)
{
    const struct as_profile_run *run = user;

    run->options.progress(run->options.user,
                          now->phase == AS_LATENCY_WARMING ? AS_PHASE_WARM_UP : AS_PHASE_TIMING,
                          now);
}

static void tell_profile(void *user, double share, double left_s)
{
    tell(user, AS_PHASE_PROFILING, share, left_s);
}

static bool is_stopped(const struct as_profile_run *run)
{
    return as_stop_asked(run->options.latency.stop);
}

/* Opens an engine for these sizes and the files' own, with its inputs filled. */
static int open_engine(struct as_profile_run *run, struct as_model *model,
                       const struct as_infer_options *infer, const struct as_input_options *from,
                       struct as_engine **engine, struct as_model_inputs *inputs,
                       struct assay_error *err)
{
    struct as_engine_options options = run->options.engine;
    int rc = as_model_inputs_open(inputs, model, from, err);

    options.infer = *infer;
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(inputs, &options.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(engine, model, &options, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_fill(inputs, *engine, err);
    if (rc == ASSAY_OK && run->options.fill)
        rc = run->options.fill(run->options.fill_user, *engine, err);
    return rc;
}

static int run_plain(void *user, struct assay_error *err)
{
    return as_engine_run(user, AS_RUN_PLAIN, NULL, err);
}

/* Before a profile that stands alone. */
static int warm_it(struct as_profile_run *run, struct assay_error *err)
{
    const struct as_latency_options *l = &run->options.latency;
    struct as_warm_up_options o = {
        .min_runs = l->warmup_runs ? l->warmup_runs : AS_LATENCY_WARMUP_RUNS,
        .max_s = l->warmup_s > 0 ? l->warmup_s : AS_LATENCY_TIME_S / 3,
        .source = l->source ? l->source : as_interference_machine(false),
        .stop = l->stop,
    };
    int rc;

    if (run->options.no_profile || l->no_warmup)
        return ASSAY_OK;
    tell(run, AS_PHASE_WARM_UP, 0, AS_UNKNOWN);
    rc = as_warm_up(&run->latency.warm_up, run_plain, run->engine, &o, err);
    run->cold_ns = run->latency.warm_up.first_ns;
    return rc;
}

static int time_it(struct as_profile_run *run, struct assay_error *err)
{
    struct as_latency_options o = run->options.latency;
    int rc;

    if (run->options.no_timing)
        return warm_it(run, err);

    o.whole_process = run->threads > 1;
    o.progress = run->options.progress ? tell_latency : NULL;
    o.progress_user = run;
    rc = as_latency_run(&run->latency, run_plain, run->engine, &o, err);
    run->cold_ns = run->latency.warm_up.first_ns;
    as_process_memory_read(&run->memory.timed, "");
    return rc;
}

static int profile_it(struct as_profile_run *run, struct assay_error *err)
{
    double time_s =
        run->options.latency.time_s > 0 ? run->options.latency.time_s : AS_LATENCY_TIME_S;
    struct as_profile_pass_options o = {
        .runs = run->options.profile_runs,
        .time_s = run->options.profile_s > 0 ? run->options.profile_s : time_s / 2,
        .level = run->options.latency.level,
        .source = run->options.latency.source,
        .stop = run->options.latency.stop,
        .progress = run->options.progress ? tell_profile : NULL,
        .user = run,
    };
    int rc;

    if (run->options.no_profile || is_stopped(run))
        return ASSAY_OK;
    as_alloc_tidy();
    rc = run->options.record ? assay_session_open(run->options.record, NULL, err) : ASSAY_OK;
    if (rc == ASSAY_OK && run->options.record)
        rc = as_engine_record(run->engine, err);
    if (rc == ASSAY_OK)
        rc = as_profile_pass(&run->profile, run->engine, &o, err);
    run->profiled = rc == ASSAY_OK;
    if (rc == ASSAY_ERR_STATE && is_stopped(run))
        rc = ASSAY_OK; /* the latency is there, the layers are not */
    if (run->options.record && assay_session_is_open()) {
        int closed = assay_session_close(rc < 0 ? NULL : err);

        rc = rc < 0 ? rc : closed;
        run->recorded = rc == ASSAY_OK;
    }
    return rc;
}

static int count_memory(struct as_profile_run *run, struct assay_error *err)
{
    size_t n_steps = as_engine_n_steps(run->engine);
    int rc;

    if (run->options.no_memory)
        return ASSAY_OK;
    tell(run, AS_PHASE_MEMORY, 0, AS_UNKNOWN);
    as_alloc_tidy();
    run->memory.live_bytes = as_alloc_zero(n_steps + 1, sizeof *run->memory.live_bytes);
    if (!run->memory.live_bytes)
        return as_fail_nomem(err);
    as_engine_plan(run->engine, &run->memory.plan);
    as_engine_rest(run->engine);
    as_engine_reset_peaks(run->engine);
    rc = as_engine_run(run->engine, AS_RUN_MEMORY, NULL, err);
    if (rc < 0)
        return rc;
    run->memory.counted = *as_engine_memory(run->engine);
    for (size_t i = 0; i < n_steps; i++)
        run->memory.live_bytes[i] = as_engine_step_live_bytes(run->engine, i);
    as_process_memory_read(&run->memory.after, "");
    run->memory_counted = true;
    return ASSAY_OK;
}

/* It needs more memory than running does, and must not cost the times that are there. */
static int try_memory(struct as_profile_run *run, struct assay_error *err)
{
    if (is_stopped(run)) {
        (void)as_fail(&run->no_memory, ASSAY_ERR_STATE, "the measurement was interrupted");
        return ASSAY_OK;
    }
    if (!run->options.memory_may_fail)
        return count_memory(run, err);
    if (count_memory(run, &run->no_memory) == ASSAY_OK)
        run->no_memory = (struct assay_error){0};
    return ASSAY_OK;
}

static int prepare(struct as_profile_run *run, struct as_model *model, struct assay_error *err)
{
    uint64_t from;
    int rc;

    tell(run, AS_PHASE_PREPARE, 0, AS_UNKNOWN);
    as_alloc_tidy();
    run->memory.peak_is_fresh = run->options.reset_peak_rss && as_process_memory_reset_peak("");
    as_process_memory_read(&run->memory.before, "");
    from = as_clock_mono_ns();
    rc = open_engine(run, model, &run->options.engine.infer, &run->options.inputs, &run->engine,
                     &run->inputs, err);
    run->prepare_ns = as_clock_mono_ns() - from;
    as_process_memory_read(&run->memory.ready, "");
    return rc;
}

int as_profile_run_new(struct as_profile_run **out, struct as_model *model,
                       const struct as_profile_options *options, struct assay_error *err)
{
    struct as_profile_run *run = as_alloc_zero(1, sizeof *run);
    int rc;

    *out = NULL;
    if (!run)
        return as_fail_nomem(err);
    run->options = *options;
    run->options.inputs.loops = options->engine.loops;
    run->options.inputs.n_loops = options->engine.n_loops;
    run->threads = options->engine.threads ? options->engine.threads : 1;
    run->load_ns = options->load_ns;
    rc = prepare(run, model, err);
    if (rc == ASSAY_OK && is_stopped(run))
        rc = as_fail(err, ASSAY_ERR_STATE, AS_STOPPED_BEFORE_FIRST);
    if (rc == ASSAY_OK)
        rc = time_it(run, err);
    if (rc == ASSAY_OK)
        rc = profile_it(run, err);
    as_process_memory_read(&run->memory.ran, "");
    if (options->no_timing)
        run->memory.timed = run->memory.ran;
    if (rc == ASSAY_OK)
        rc = try_memory(run, err);
    if (rc < 0)
        as_profile_run_free(run);
    else
        *out = run;
    return rc;
}

void as_profile_run_free(struct as_profile_run *run)
{
    if (!run)
        return;
    as_latency_run_fini(&run->latency);
    as_profile_pass_fini(&run->profile);
    as_free(run->memory.live_bytes);
    as_engine_free(run->engine);
    as_model_inputs_close(&run->inputs);
    as_free(run);
}
