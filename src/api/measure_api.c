/* api/measure_api.c - the public calls of assay/measure.h that time and count memory.
 * The work is done in measure/; here results get the names and units that are promised. */
#include <assay/measure.h>

#include <string.h>

#include "api/measure_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/units.h"
#include "probe/system/topology.h"

_Static_assert((int)ASSAY_LATENCY_CAUSES == (int)AS_CAUSE_COUNT, "promise every cause");
_Static_assert((int)ASSAY_INPUTS_ONES == (int)AS_INPUTS_ONES, "the same order");

int as_measure_options(struct assay_measure_options *to, const struct assay_measure_options *given,
                       struct assay_error *err)
{
    return as_sized_take(to, sizeof *to, given, "options of a measurement", err);
}

struct as_latency_options as_measure_latency_options(const struct assay_measure_options *o)
{
    return (struct as_latency_options){
        .warmup_runs = o->warmup,
        .no_warmup = o->no_warmup,
        .runs = o->runs,
        .min_runs = o->min_runs,
        .target = o->target,
        .time_s = o->time_seconds,
        .level = o->level,
        .no_batch = o->no_batch,
    };
}

/* 0 is the default; the others are not numbers of anything. */
static int check_number(double number, double most, const char *name, struct assay_error *err)
{
    if (number >= 0 && number <= most)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "%s is %g, not a number from 0 to %g", name, number, most);
}

static int check_options(const struct assay_measure_options *o, struct assay_error *err)
{
    int rc = check_number(o->time_seconds, 86400, "time_seconds", err);

    if (rc == ASSAY_OK)
        rc = check_number(o->target, 1, "target", err);
    return rc < 0 ? rc : check_number(o->level, 0.9999, "level", err);
}

/* Of models: as many threads as can run, and a roof that holds for them. */
static int check_threads(const struct assay_measure_options *o, struct assay_error *err)
{
    uint32_t threads = o->threads ? o->threads : 1;
    struct as_topology topology;
    int rc;

    if (o->roof && o->roof->threads && o->roof->threads != threads)
        return as_fail(err, ASSAY_ERR_USAGE, "the roofline is for %u threads, but %u are used",
                       (unsigned)o->roof->threads, (unsigned)threads);
    rc = threads > 1 ? as_topology_read(&topology, NULL, err) : ASSAY_OK;
    return rc < 0 || threads == 1 ? rc : as_topology_check_threads(&topology, threads, err);
}

/* ---- one measuring of a model ---- */

static int take_files(struct as_measure_setup *s, struct assay_error *err)
{
    s->files = as_alloc_zero(s->options.n_files + 1, sizeof *s->files);
    if (!s->files)
        return as_fail_nomem(err);
    for (size_t i = 0; i < s->options.n_files; i++) {
        const struct assay_input_file *f = &s->options.files[i];

        if (!f->path)
            return as_fail(err, ASSAY_ERR_USAGE, "an input has no path of a file");
        s->files[i] = (struct as_input_file){f->name, f->path};
    }
    return ASSAY_OK;
}

static int run_passes(struct as_measure_setup *s, unsigned passes, struct assay_error *err)
{
    struct as_profile_options o = {
        .engine = {.infer = s->sizes.infer,
                   .no_fuse = s->options.no_fuse,
                   .threads = s->options.threads,
                   .limit_bytes = s->options.limit_bytes,
                   .seed = s->options.seed},
        .inputs = {.fill = (enum as_input_fill)s->options.inputs,
                   .seed = s->options.seed,
                   .files = s->files,
                   .n_files = s->options.n_files},
        .latency = as_measure_latency_options(&s->options),
        .profile_runs = s->options.runs,
        .no_timing = !(passes & AS_PASS_TIMING),
        .no_profile = !(passes & AS_PASS_PROFILE),
        .no_memory = !(passes & AS_PASS_MEMORY),
    };

    if ((unsigned)s->options.inputs >= AS_INPUTS_COUNT)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no way number %d to fill inputs",
                       (int)s->options.inputs);
    return as_profile_run_new(&s->run, s->model->model, &o, err);
}

/* So that what is counted is what is run. */
static int keep_file_sizes(struct as_measure_setup *s, struct assay_error *err)
{
    struct as_input_options options = {.files = s->files, .n_files = s->options.n_files};
    struct as_infer_options infer = s->sizes.infer;
    struct as_model_inputs inputs;
    int rc;

    if (s->options.n_files == 0)
        return ASSAY_OK;
    rc = as_model_inputs_open(&inputs, s->model->model, &options, err);
    if (rc < 0)
        return rc;
    rc = as_model_inputs_sizes(&inputs, &infer, err);
    for (size_t i = s->sizes.infer.n_inputs; rc == ASSAY_OK && i < infer.n_inputs; i++)
        rc = assay_model_set_shape(s->model, infer.inputs[i].name, infer.inputs[i].dims->rank,
                                   infer.inputs[i].dims->at, err);
    as_model_inputs_close(&inputs);
    as_handle_sizes_fini(&s->sizes);
    return rc < 0 ? rc : as_handle_sizes_init(&s->sizes, s->model, err);
}

static void drop(struct as_measure_setup *s)
{
    as_profile_run_free(s->run);
    as_free(s->files);
    as_handle_sizes_fini(&s->sizes);
    s->run = NULL;
    s->files = NULL;
}

int as_measure_setup_open(struct as_measure_setup *s, struct assay_model *model,
                          const struct assay_measure_options *options, unsigned passes,
                          struct assay_error *err)
{
    int rc;

    *s = (struct as_measure_setup){.model = model};
    rc = as_measure_options(&s->options, options, err);
    if (rc == ASSAY_OK)
        rc = check_options(&s->options, err);
    if (rc == ASSAY_OK)
        rc = check_threads(&s->options, err);
    if (rc == ASSAY_OK)
        rc = as_handle_seal(model, err);
    if (rc < 0)
        return rc;
    rc = as_handle_sizes_init(&s->sizes, model, err);
    if (rc == ASSAY_OK)
        rc = take_files(s, err);
    if (rc == ASSAY_OK)
        rc = keep_file_sizes(s, err);
    if (rc == ASSAY_OK)
        rc = assay_model_count(model, &s->counts, err);
    if (rc == ASSAY_OK)
        rc = run_passes(s, passes, err);
    if (rc < 0)
        drop(s);
    return rc;
}

int as_measure_setup_close(struct as_measure_setup *s, struct assay_error *err)
{
    drop(s);
    return assay_model_count(s->model, &s->counts, err);
}

/* ---- latency ---- */

static void put_causes(struct assay_latency *out, const struct as_latency_run *run)
{
    for (unsigned c = 0; c < AS_CAUSE_COUNT; c++)
        out->causes[c] = (struct assay_latency_cause){
            .text = as_cause_text((enum as_cause)c),
            .known = run->causes[c].known,
            .suspected = run->causes[c].suspected,
            .events = run->causes[c].n,
            .outliers = run->causes[c].n_outliers,
            .others = run->causes[c].n_others,
        };
}

static void put_summary(struct assay_latency *out, const struct as_latency_metrics *f)
{
    const struct as_summary *s = &f->summary;

    out->latency_ms = s->median / 1e6;
    out->median_ns = s->median;
    out->low_ns = f->median.interval.low;
    out->high_ns = f->median.interval.high;
    out->level = f->median.interval.level;
    out->interval_reached = f->median.interval.reached;
    out->n_effective = f->median.n_effective;
    out->mean_ns = s->mean;
    out->std_ns = s->std_sample;
    out->min_ns = s->min;
    out->max_ns = s->max;
    out->mad_ns = s->mad;
    out->cv = s->cv;
    out->p50_ns = s->percentile[AS_SUMMARY_P50];
    out->p90_ns = s->percentile[AS_SUMMARY_P90];
    out->p95_ns = s->percentile[AS_SUMMARY_P95];
    out->p99_ns = s->percentile[AS_SUMMARY_P99];
    out->p90_supported = s->supported[AS_SUMMARY_P90];
    out->p95_supported = s->supported[AS_SUMMARY_P95];
    out->p99_supported = s->supported[AS_SUMMARY_P99];
    out->outliers_mild = f->fences.n_mild_low + f->fences.n_mild_high;
    out->outliers_severe = f->fences.n_severe_low + f->fences.n_severe_high;
    out->trend_p = f->trend_p;
    out->drift_share = f->drift_share;
}

void as_measure_put_latency(struct assay_latency *out, const struct as_latency_run *run,
                            const struct assay_measure_options *options)
{
    size_t n = run->n < options->samples_capacity ? run->n : options->samples_capacity;

    *out = (struct assay_latency){
        .size = sizeof(struct assay_latency),
        .n = run->n,
        .batch = run->batch,
        .stop = as_latency_stop_name(run->stop),
        .seconds = run->seconds,
        .first_ns = run->warm_up.first_ns,
        .warmup_runs = run->warm_up.runs,
        .warmup_steady = run->warm_up.steady,
        .steady = run->steady,
        .timer_cost_ns = run->timer_cost_ns,
        .timer_resolution_ns = run->timer_resolution_ns,
        .outliers_high = run->n_outliers,
        .frequency_before_hz = run->frequency_before_hz,
        .frequency_after_hz = run->frequency_after_hz,
    };
    put_summary(out, &run->figures);
    put_causes(out, run);
    if (options->samples_ns && n)
        memcpy(options->samples_ns, run->samples_ns, n * sizeof *run->samples_ns);
}

int assay_latency_measure(assay_measured fn, void *user,
                          const struct assay_measure_options *options,
                          struct assay_latency *latency, struct assay_error *err)
{
    struct assay_measure_options o;
    struct as_latency_options how;
    struct as_latency_run run;
    int rc;

    if (!fn || !latency)
        return as_fail(err, ASSAY_ERR_USAGE,
                       fn ? "no place for the latency is given"
                          : "no function to measure is given");
    memset(latency, 0, sizeof *latency);
    rc = as_measure_options(&o, options, err);
    if (rc == ASSAY_OK)
        rc = check_options(&o, err);
    if (rc < 0)
        return rc;
    how = as_measure_latency_options(&o);
    rc = as_latency_run(&run, fn, user, &how, err);
    if (rc < 0)
        return rc;
    as_measure_put_latency(latency, &run, &o);
    as_latency_run_fini(&run);
    return ASSAY_OK;
}

int assay_model_measure_latency(struct assay_model *model,
                                const struct assay_measure_options *options,
                                struct assay_latency *latency, struct assay_error *err)
{
    struct as_measure_setup s;
    int rc;

    if (!latency)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the latency is given");
    memset(latency, 0, sizeof *latency);
    rc = as_measure_setup_open(&s, model, options, AS_PASS_TIMING, err);
    if (rc < 0)
        return rc;
    as_measure_put_latency(latency, &s.run->latency, &s.options);
    return as_measure_setup_close(&s, err);
}

double assay_latency_throughput(const struct assay_latency *latency, double items)
{
    return latency && latency->median_ns > 0 ? items * 1e9 / latency->median_ns : AS_UNKNOWN;
}

/* ---- memory ---- */

void as_measure_put_memory(struct assay_memory *out, const struct as_measure_setup *s)
{
    const struct as_memory_pass *m = &s->run->memory;
    const struct as_mem_total *of = m->counted.of;
    uint64_t peak = m->counted.all.peak_bytes;

    *out = (struct assay_memory){
        .size = sizeof *out,
        .activation_bytes = of[AS_MEM_ACTIVATIONS].peak_bytes,
        .peak_bytes = peak,
        .held_parameter_bytes = of[AS_MEM_PARAMETERS].peak_bytes,
        .workspace_bytes = of[AS_MEM_WORKSPACE].peak_bytes,
        .state_bytes = of[AS_MEM_KV_CACHE].peak_bytes,
        .planned = m->plan.known,
        .planned_bytes = m->plan.known ? m->plan.peak_bytes : 0,
        .rss_before_bytes = m->before.rss.why ? ASSAY_UNKNOWN : m->before.rss.value,
        .rss_after_bytes = m->after.rss.why ? ASSAY_UNKNOWN : m->after.rss.value,
        .rss_peak_bytes = m->after.rss_peak.why ? ASSAY_UNKNOWN : m->after.rss_peak.value,
    };
    out->activation_memory_mb = (double)out->activation_bytes / AS_MIB;
    out->peak_memory_mb = (double)peak / AS_MIB;
    out->memory_efficiency =
        peak ? (double)(out->held_parameter_bytes + out->activation_bytes) / (double)peak
             : AS_UNKNOWN;
    if (out->planned)
        out->planned_difference = (int64_t)(out->activation_bytes - out->planned_bytes);
}

int assay_model_measure_memory(struct assay_model *model,
                               const struct assay_measure_options *options,
                               struct assay_memory *memory, struct assay_error *err)
{
    struct as_measure_setup s;
    int rc;

    if (!memory)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the memory is given");
    memset(memory, 0, sizeof *memory);
    rc = as_measure_setup_open(&s, model, options, AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    as_measure_put_memory(memory, &s);
    rc = as_measure_setup_close(&s, err);
    memory->parameter_bytes = s.counts.parameter_bytes;
    memory->parameter_memory_mb = (double)s.counts.parameter_bytes / AS_MIB;
    return rc;
}
