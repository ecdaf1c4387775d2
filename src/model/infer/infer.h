/* model/infer/infer.h - works out the type of every value from those of the inputs.
 * What cannot be known stays unknown and is a finding; an operator we do not know stops nothing. */
#ifndef AS_MODEL_INFER_INFER_H
#define AS_MODEL_INFER_INFER_H

#include "model/graph/graph.h"
#include "model/infer/infer_rules.h"

/* What the user says of one input; exactly as much as is given. */
struct as_infer_input {
    const char *name;
    const struct as_type *type; /* NULL: as declared. Full type for tests with real inputs */
    const struct as_dims *dims; /* NULL: as declared; the dtype stays */
    struct as_data *data;       /* its numbers, or NULL */
    const char *source;         /* who gives it, as in as_bound_dim; NULL: "--shape" */
};

struct as_infer_dim {
    const char *symbol;
    int64_t value;
};

struct as_infer_options {
    const struct as_infer_input *inputs;
    size_t n_inputs;
    const struct as_infer_dim *dims;
    size_t n_dims;
    int64_t batch;           /* 0: as declared, or 1 */
    const char *batch_input; /* whose dimension batch_axis counts samples; NULL: found out */
    int batch_axis;
    bool keep_unknown; /* symbolic dimensions without a value stay unknown instead of a default */
    bool proven_only;  /* what the file declares of values that nodes make is not believed: a shape
                          that is known is then one that every run has */
};

/* A symbolic dimension and the value it was given. */
struct as_bound_dim {
    const char *symbol; /* "" for one without a name: then `input` and `axis` say which */
    const char *input;
    int axis;
    int64_t value;      /* AS_DIM_UNKNOWN with keep_unknown */
    bool by_default;    /* nobody gave it */
    const char *source; /* "--dim", "--shape", "--batch", "--input", "sum of others", "default" */
};

struct as_bound_dims {
    struct as_bound_dim *at; /* in the model's arena */
    size_t n;
};

/* May be called again with other options: types that inference made are made anew. `bound` may be
 * NULL. ASSAY_ERR_USAGE for an input or symbol that is not there (the sentence lists those that
 * are), ASSAY_ERR_FORMAT for a node of the main graph that cannot work with its inputs. Where
 * dimensions by default are what cannot work, these stay unknown and a finding says so. */
AS_MUST_USE int as_infer_shapes(struct as_model *model, const struct as_infer_options *options,
                                struct as_bound_dims *bound, struct assay_error *err);

/* ---- infer_bind.c ---- */

/* Sets the types (and numbers, where given) of the main graph's inputs. `overridden` becomes true
 * when they differ from fixed dimensions in the file. */
AS_MUST_USE int as_infer_bind(struct as_model *model, const struct as_infer_options *options,
                              struct as_bound_dims *bound, bool *overridden,
                              struct assay_error *err);

/* ---- infer_node.c ---- */

struct as_infer_now {
    struct as_model *model; /* its types and constants are as before when it returns */
    struct as_graph *graph;
    const struct as_node *node;
    int64_t opset;
    const struct as_op_rule *rule;
    struct as_arena *arena;         /* the types found live in it */
    const struct as_type *in;       /* by input; of one that is left out: not looked at */
    struct as_data *const *in_data; /* the numbers of those that are small; NULL: not known */
    struct as_type *out;            /* by output: filled */
};

/* ASSAY_ERR_FORMAT when the inputs cannot work, with a sentence about them. */
AS_MUST_USE int as_infer_now(const struct as_infer_now *now, struct assay_error *err);

#endif
