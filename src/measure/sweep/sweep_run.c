/* measure/sweep/sweep_run.c - the same model at many settings, each measured on the way up and
 * down. */
#include "measure/sweep/sweep_run.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "format/model_file.h"
#include "model/cost/cost.h"
#include "model/weights/parameters.h"

/* One setting while it is measured. */
struct setting {
    const struct as_sweep_options *options;
    struct as_sweep_point *point;
    struct as_model *model;
    struct as_engine *engine;
    struct as_model_inputs inputs;
    struct as_infer_options infer;
    struct as_infer_dim dims[AS_SWEEP_AXES + 64];
    struct as_infer_input shapes[AS_SWEEP_AXES + 64];
    unsigned threads;
};

/* "zoo:NAME:key=value,..." with the keys that vary; a later key wins over an earlier one. */
static int open_model(struct setting *s, struct assay_error *err)
{
    const char *colon =
        strncmp(s->options->spec, "zoo:", 4) == 0 ? strchr(s->options->spec + 4, ':') : NULL;
    char text[1024];
    int size = snprintf(text, sizeof text, "%s", s->options->spec);

    for (size_t i = 0; i < s->options->n_axes; i++) {
        const struct as_sweep_axis *axis = &s->options->axes[i];

        if (axis->kind != AS_SWEEP_KEY || size < 0 || (size_t)size >= sizeof text)
            continue;
        size += snprintf(text + size, sizeof text - (size_t)size, "%s%s=%lld", colon ? "," : ":",
                         axis->name, (long long)axis->values[s->point->place[i]]);
        colon = s->options->spec;
    }
    if (size < 0 || (size_t)size >= sizeof text)
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the model is too long");
    return as_model_open(&s->model, text, err);
}

static int set_axes(struct setting *s, struct assay_error *err)
{
    const struct as_sweep_options *o = s->options;

    s->infer = o->infer;
    s->threads = o->engine.threads;
    if (o->infer.n_dims > 64 || o->infer.n_inputs > 64)
        return as_fail(err, ASSAY_ERR_LIMIT, "too many shapes are given");
    if (o->infer.n_dims)
        memcpy(s->dims, o->infer.dims, o->infer.n_dims * sizeof *s->dims);
    if (o->infer.n_inputs)
        memcpy(s->shapes, o->infer.inputs, o->infer.n_inputs * sizeof *s->shapes);
    for (size_t i = 0; i < o->n_axes; i++) {
        const struct as_sweep_axis *axis = &o->axes[i];
        size_t at = s->point->place[i];

        if (axis->kind == AS_SWEEP_BATCH)
            s->infer.batch = axis->values[at];
        else if (axis->kind == AS_SWEEP_THREADS)
            s->threads = (unsigned)axis->values[at];
        else if (axis->kind == AS_SWEEP_DIM)
            s->dims[s->infer.n_dims++] = (struct as_infer_dim){axis->name, axis->values[at]};
        else if (axis->kind == AS_SWEEP_SHAPE)
            s->shapes[s->infer.n_inputs++] =
                (struct as_infer_input){.name = axis->name, .dims = &axis->shapes[at]};
    }
    s->infer.dims = s->dims;
    s->infer.inputs = s->shapes;
    return ASSAY_OK;
}

static int prepare(struct setting *s, struct assay_error *err)
{
    struct as_engine_options engine = s->options->engine;
    int rc = open_model(s, err);

    if (rc == ASSAY_OK)
        rc = set_axes(s, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_open(&s->inputs, s->model, &s->options->inputs, err);
    engine.infer = s->infer;
    engine.threads = s->threads;
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(&s->inputs, &engine.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(&s->engine, s->model, &engine, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_fill(&s->inputs, s->engine, err);
    return rc;
}

static int run_once(void *user, struct assay_error *err)
{
    return as_engine_run(user, AS_RUN_PLAIN, NULL, err);
}

static int keep_samples(struct as_sweep_point *point, const struct as_latency_run *run,
                        struct assay_error *err)
{
    double *grown = as_realloc(point->samples_ns, point->n_samples + run->n, sizeof *grown);

    if (!grown)
        return as_fail_nomem(err);
    memcpy(grown + point->n_samples, run->samples_ns, run->n * sizeof *grown);
    point->samples_ns = grown;
    point->n_samples += run->n;
    return ASSAY_OK;
}

/* Counts and memory, after the time: they disturb it. */
static int count(struct setting *s, struct assay_error *err)
{
    struct as_sweep_point *point = s->point;
    struct as_params *params = NULL;
    struct as_costs *costs = NULL;
    int rc;

    as_engine_rest(s->engine);
    as_engine_reset_peaks(s->engine);
    rc = as_engine_run(s->engine, AS_RUN_MEMORY, NULL, err);
    if (rc < 0)
        return rc;
    point->activation_bytes = as_engine_memory(s->engine)->of[AS_MEM_ACTIVATIONS].peak_bytes;
    point->peak_bytes = as_engine_memory(s->engine)->all.peak_bytes;
    as_engine_tell_shapes(s->engine);
    rc = as_costs_new(&costs, s->model, err);
    if (rc == ASSAY_OK)
        rc = as_params_new(&params, s->model, false, err);
    if (rc == ASSAY_OK) {
        point->parameters = params->parameters;
        point->macs = costs->forward.macs;
        point->flops = as_cost_flops(&costs->forward);
        point->executed_flops = as_cost_executed_flops(&costs->forward);
        point->bytes = costs->forward.bytes_read + costs->forward.bytes_written;
        point->batch = costs->batch;
        point->batch_unknown = costs->batch_why != NULL;
        point->counted = costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 &&
                         costs->times_known && !costs->overflow;
    }
    as_params_free(params);
    as_costs_free(costs);
    return rc;
}

/* A size that an axis sets is not the same at every point. */
static bool is_varied(const struct as_sweep_options *o, const struct as_open_size *size)
{
    for (size_t i = 0; i < o->n_axes; i++) {
        const struct as_sweep_axis *axis = &o->axes[i];

        if ((axis->kind == AS_SWEEP_DIM && strcmp(axis->name, size->name) == 0) ||
            (axis->kind == AS_SWEEP_BATCH && strcmp(size->source, "--batch") == 0) ||
            (axis->kind == AS_SWEEP_SHAPE && strcmp(size->source, "--shape") == 0) ||
            strcmp(size->source, "sum of others") == 0)
            return true;
    }
    return false;
}

/* What was taken for open dimensions, from the first point that runs. */
static int note_sizes(struct as_sweep_run *run, const struct as_model *model,
                      struct assay_error *err)
{
    size_t n = 0, left = 0;
    int rc = ASSAY_OK;

    if (!run->sizes)
        rc = as_open_sizes_list(&run->sizes, &n, model, &run->arena, err);
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++) {
        if (is_varied(run->options, &run->sizes[i]))
            continue;
        run->sizes[left++] = run->sizes[i];
        run->n_sizes = left;
    }
    return rc;
}

static int measure(struct as_sweep_run *sweep, struct as_sweep_point *point, unsigned way,
                   struct assay_error *err)
{
    const struct as_sweep_options *options = sweep->options;
    struct setting s = {.options = options, .point = point};
    struct as_latency_options latency = options->latency;
    struct as_latency_run run = {0};
    int rc = prepare(&s, err);

    if (rc == ASSAY_OK) {
        point->threads = s.threads;
        latency.whole_process = s.threads > 1;
        rc = as_latency_run(&run, run_once, s.engine, &latency, err);
    }
    if (rc == ASSAY_OK) {
        point->way_ns[way] = run.figures.summary.median;
        rc = keep_samples(point, &run, err);
    }
    if (rc == ASSAY_OK)
        rc = note_sizes(sweep, s.model, err);
    if (rc == ASSAY_OK && way == 0)
        rc = count(&s, err);
    as_latency_run_fini(&run);
    as_engine_free(s.engine);
    as_model_inputs_close(&s.inputs);
    as_model_free(s.model);
    return rc;
}

static int make_points(struct as_sweep_run *run, struct assay_error *err)
{
    const struct as_sweep_options *o = run->options;

    run->n_points = 1;
    for (size_t i = 0; i < o->n_axes; i++) {
        if (o->axes[i].n == 0 || run->n_points > AS_SWEEP_POINTS / o->axes[i].n)
            return as_fail(err, ASSAY_ERR_USAGE, "a sweep has from 1 to %d points",
                           AS_SWEEP_POINTS);
        run->n_points *= o->axes[i].n;
    }
    run->points = as_alloc_zero(run->n_points, sizeof *run->points);
    if (!run->points)
        return as_fail_nomem(err);
    for (size_t p = 0; p < run->n_points; p++) {
        size_t rest = p;

        run->points[p].way_ns[0] = run->points[p].way_ns[1] = AS_UNKNOWN;
        for (size_t i = o->n_axes; i-- > 0;) {
            run->points[p].place[i] = rest % o->axes[i].n;
            rest /= o->axes[i].n;
        }
    }
    return ASSAY_OK;
}

/* Once the sweep is interrupted, points without a sample say so; the others keep what they have. */
static int take_step(struct as_sweep_run *run, size_t k, struct assay_error *err)
{
    const struct as_sweep_options *o = run->options;
    struct as_sweep_point *point = &run->points[k < run->n_points ? k : 2 * run->n_points - 1 - k];
    bool stopped = as_stop_asked(o->latency.stop), back = k >= run->n_points;

    if (o->progress && !stopped)
        o->progress(o->user, k, 2 * run->n_points);
    if (point->rc == ASSAY_OK && !stopped)
        point->rc = measure(run, point, back, &point->err);
    if (point->rc == ASSAY_ERR_STATE && back && as_stop_asked(o->latency.stop) &&
        point->n_samples > 0)
        point->rc = ASSAY_OK; /* what the way up gave stays */
    if (point->rc == ASSAY_OK && point->n_samples == 0)
        point->rc = as_fail(&point->err, ASSAY_ERR_STATE, AS_STOPPED_BEFORE_FIRST);
    if (o->measured && !stopped && point->rc == ASSAY_OK)
        o->measured(o->user, point, k);
    /* What is wrong with the words is wrong everywhere. */
    if (point->rc == ASSAY_ERR_USAGE || point->rc == ASSAY_ERR_NOTFOUND)
        return as_fail(err, point->rc, "%s", point->err.msg);
    return ASSAY_OK;
}

int as_sweep_run_new(struct as_sweep_run **out, const struct as_sweep_options *options,
                     struct assay_error *err)
{
    struct as_sweep_run *run = as_alloc_zero(1, sizeof *run);
    size_t n_right = 0;
    int rc;

    *out = NULL;
    if (!run)
        return as_fail_nomem(err);
    run->options = options;
    rc = make_points(run, err);
    for (size_t k = 0; rc == ASSAY_OK && k < 2 * run->n_points; k++)
        rc = take_step(run, k, err);
    for (size_t p = 0; rc == ASSAY_OK && p < run->n_points; p++) {
        struct as_sweep_point *point = &run->points[p];

        if (point->rc == ASSAY_OK)
            point->rc = as_latency_metrics(&point->figures, point->samples_ns, point->n_samples,
                                           AS_LATENCY_LEVEL, &point->err);
        n_right += point->rc == ASSAY_OK;
    }
    if (rc == ASSAY_OK && n_right == 0)
        rc = as_fail(err, run->points[0].rc, "%s", run->points[0].err.msg);
    if (rc < 0)
        as_sweep_run_free(run);
    else
        *out = run;
    return rc;
}

void as_sweep_run_free(struct as_sweep_run *run)
{
    if (!run)
        return;
    for (size_t p = 0; run->points && p < run->n_points; p++)
        as_free(run->points[p].samples_ns);
    as_free(run->points);
    as_arena_fini(&run->arena);
    as_free(run);
}
