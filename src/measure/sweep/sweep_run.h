/* measure/sweep/sweep_run.h - the same model at many settings, each measured twice: on the way up
 * and on the way down, so that a machine that drifts is seen. A setting that fails is a row that
 * says so.
 */
#ifndef AS_MEASURE_SWEEP_SWEEP_RUN_H
#define AS_MEASURE_SWEEP_SWEEP_RUN_H

#include "measure/inputs/model_inputs.h"
#include "measure/inputs/open_sizes.h"
#include "measure/latency/latency_run.h"
#include "trace/run/run_maker.h"

enum { AS_SWEEP_AXES = 4, AS_SWEEP_VALUES = 64, AS_SWEEP_POINTS = 256 };

enum as_sweep_kind {
    AS_SWEEP_BATCH,
    AS_SWEEP_THREADS,
    AS_SWEEP_DIM,   /* a symbolic dimension */
    AS_SWEEP_KEY,   /* of a built-in model */
    AS_SWEEP_SHAPE, /* of an input */
    AS_SWEEP_KIND_COUNT
};

struct as_sweep_axis {
    enum as_sweep_kind kind;
    const char *name; /* of the dimension, key or input; else "batch" or "threads" */
    size_t n;
    int64_t values[AS_SWEEP_VALUES];        /* of a shape: its elements */
    struct as_dims shapes[AS_SWEEP_VALUES]; /* of AS_SWEEP_SHAPE */
};

struct as_sweep_point;

struct as_sweep_options {
    const char *spec; /* of the model, as the user gave it */
    struct as_sweep_axis axes[AS_SWEEP_AXES];
    size_t n_axes;
    struct as_infer_options infer; /* what does not vary */
    struct as_engine_options engine;
    struct as_input_options inputs;
    struct as_latency_options latency; /* of each point and each way; its stop ends the sweep */
    /* Before each measurement, of `of`; and after it, with the point that was measured. */
    void (*progress)(void *user, size_t step, size_t of);
    void (*measured)(void *user, const struct as_sweep_point *point, size_t step);
    void *user;
};

struct as_sweep_point {
    size_t place[AS_SWEEP_AXES]; /* among each axis' values */
    int rc;                      /* negative: it failed, because of `err` */
    struct assay_error err;
    unsigned threads;
    uint64_t batch, parameters, macs, flops, bytes;
    bool batch_unknown;      /* no dimension is known to count samples; `batch` is 1 then */
    uint64_t executed_flops; /* without those in padding: the rate is of these */
    bool counted;
    double *samples_ns; /* of both ways */
    size_t n_samples;
    struct as_latency_metrics figures;
    double way_ns[2];          /* medians up and down */
    uint64_t activation_bytes; /* measured: the most alive together */
    uint64_t peak_bytes;       /* of all the engine holds */
};

struct as_sweep_run {
    const struct as_sweep_options *options; /* the caller's */
    struct as_sweep_point *points;          /* the last axis varies fastest */
    size_t n_points;
    struct as_open_size *sizes; /* of open dimensions that no axis varies, and who gave each */
    size_t n_sizes;
    struct as_arena arena; /* of the sizes, when they were measured */
};

/* USAGE for an axis that is none of the model; fails when every point does. */
AS_MUST_USE int as_sweep_run_new(struct as_sweep_run **run, const struct as_sweep_options *options,
                                 struct assay_error *err);
void as_sweep_run_free(struct as_sweep_run *run);

/* ---- sweep_fields.c ---- */

/* Axes and points into a run, and back: points are in the run's memory, and each is one of the
 * settings that the axes in `options` name. */
void as_sweep_run_put(const struct as_sweep_run *run, struct as_run_maker *maker);
AS_MUST_USE int as_sweep_run_get(struct as_sweep_run *out, struct as_sweep_options *options,
                                 struct as_run *run, struct assay_error *err);

#endif
