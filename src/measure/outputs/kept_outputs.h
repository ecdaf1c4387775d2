/* measure/outputs/kept_outputs.h - outputs of a model that are kept: written to files, compared
 * with those of another program, searched for NaN and infinity. They are of one more inference on
 * the same inputs, by the engine that was measured; those of layers by another engine that runs
 * node by node. */
#ifndef AS_MEASURE_OUTPUTS_KEPT_OUTPUTS_H
#define AS_MEASURE_OUTPUTS_KEPT_OUTPUTS_H

#include "measure/latency/profile_run.h"
#include "trace/run/run_maker.h"

#define AS_OUTPUTS_RTOL 1e-3
#define AS_OUTPUTS_ATOL 1e-5

struct as_outputs_options {
    const char *folder;       /* to write to; NULL: nothing is written */
    bool npy, pb;             /* as what; at least one when there is a folder */
    const char *const *nodes; /* whose outputs are written too; "all": every one */
    size_t n_nodes;
    const char *expect; /* a folder of tensors, or one file; NULL: nothing is compared */
    double rtol, atol;
    bool bisect;    /* find the first node that differs from the tensors in `expect` */
    bool check_nan; /* look at the layers, whatever the outputs hold */
};

/* One tensor: all outputs of the model, then what was written or compared of layers. */
struct as_output_row {
    const char *name;
    const char *node; /* that makes it; NULL: none, it is an input or a constant */
    bool is_layer;    /* not an output of the model */
    const char *dtype;
    char shape[80];
    uint64_t n;            /* elements */
    uint64_t n_nan, n_inf; /* of them */
    const char *npy, *pb;  /* names of files in the folder; NULL: not written */
    const char *note;      /* what could not be done with it; NULL: nothing */
    const char *expected;  /* the file it was compared with; NULL: it was not */
    bool agrees;
    uint64_t n_beyond; /* elements beyond tolerance */
    double max_abs;    /* of pairs of finite elements; AS_UNKNOWN: there are none */
    double max_rel;    /* of those whose expected element is not 0 */
    double cosine;     /* similarity; of floats */
    double top1;       /* share of rows along the last axis with the same largest element */
};

/* Where a kind of elements comes from. */
struct as_output_origin {
    const char *node;   /* the first in graph order with such an output; NULL: there is none */
    const char *tensor; /* that output */
    uint64_t n;         /* of its elements */
    const char *source; /* an input or constant of the node that holds them already; NULL: none */
};

struct as_outputs {
    const char *folder, *expect; /* as given; NULL: not asked for */
    double rtol, atol;
    uint64_t n_files;      /* written */
    uint64_t n_differ;     /* outputs of the model */
    uint64_t n_layers;     /* whose outputs were looked at */
    const char *no_layers; /* why they were not, though that was wanted; NULL */
    struct as_output_origin nan, inf;
    bool bisected;
    const char *differs_node, *differs_tensor; /* the first one; NULL: none does */
    uint64_t n_unknown_inputs; /* of that node: not in the folder, so the cause may lie before it */
    struct as_output_row *rows;
    size_t n_rows;
};

struct as_outputs_work;

/* Before anything is measured: the nodes exist, what is expected can be read, and files can be
 * written to the folder, which is made. Model, options and arena must outlive the work; the arena
 * keeps the result. */
AS_MUST_USE int as_outputs_work_new(struct as_outputs_work **work, const struct as_model *model,
                                    const struct as_outputs_options *options,
                                    struct as_arena *arena, struct assay_error *err);
void as_outputs_work_free(struct as_outputs_work *work);

/* Whether what is expected fits the outputs as far as they are known: as `fill` of
 * as_profile_options, whose user is the work. */
AS_MUST_USE int as_outputs_fit(void *work, struct as_engine *engine, struct assay_error *err);

/* Runs once more, and once node by node where that is needed, with the model at `path`. Choices of
 * inputs are made anew. */
AS_MUST_USE int as_outputs_run(struct as_outputs_work *work, struct as_outputs *out,
                               struct as_profile_run *run, const char *path,
                               struct assay_error *err);

/* Counts elements that are not finite; of numbers of any kind. */
void as_output_count(const struct as_val *val, uint64_t *n_nan, uint64_t *n_inf);

/* ---- output_fields.c: into a run, and back ---- */

void as_outputs_put(const struct as_outputs *outputs, struct as_run_maker *maker);
/* NULL: the run has none. */
AS_MUST_USE int as_outputs_get(struct as_outputs **outputs, struct as_run *run,
                               struct assay_error *err);

#endif
