/* experiment/bench/workload_model.h - a model as a workload: every setting has an engine of its
 * own, opened beforehand, and each sample is one run of it. */
#ifndef AS_EXPERIMENT_BENCH_WORKLOAD_MODEL_H
#define AS_EXPERIMENT_BENCH_WORKLOAD_MODEL_H

#include "experiment/bench/bench.h"
#include "measure/inputs/model_inputs.h"

struct as_load_model; /* one engine a setting */

struct as_load_model_options {
    const char *spec;                /* of the model, as the user gave it */
    struct as_engine_options engine; /* what does not vary */
    struct as_input_options inputs;
};

/* Axes: threads, batch, fuse (0 or 1), kernels (auto or reference); any other name is a key of a
 * built-in model, or a symbolic dimension of a file. A setting that cannot be opened fails when it
 * is run; USAGE for values that are none. */
AS_MUST_USE int as_load_model_new(struct as_load_model **load, const struct as_grid *grid,
                                  const struct as_load_model_options *options,
                                  struct assay_error *err);
void as_load_model_free(struct as_load_model *load);

/* Each sample is run twice, and the second is timed: the first makes the threads and the caches
 * those of this setting again. Memory is the engine's own exact count. */
struct as_bench_load as_load_model_table(struct as_load_model *load);

#endif
