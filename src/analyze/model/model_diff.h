/* analyze/model/model_diff.h - what changed between two models: layers, weights and what they cost
 * in all. Layers and weights are joined by their names; those of one name in their order. */
#ifndef AS_ANALYZE_MODEL_MODEL_DIFF_H
#define AS_ANALYZE_MODEL_MODEL_DIFF_H

#include "analyze/model/inspect.h"
#include "analyze/run/metric_diff.h"

enum as_model_change {
    AS_MODEL_ADDED,
    AS_MODEL_REMOVED,
    AS_MODEL_CHANGED,
    AS_MODEL_UNREAD, /* numbers that are not to be had were not compared */
    AS_MODEL_CHANGE_COUNT
};
const char *as_model_change_name(enum as_model_change change);

/* What of a layer or weight differs: bits. */
#define AS_MODEL_PARTS(X)                                                                          \
    X(OP, "operator")                                                                              \
    X(INPUTS, "inputs")                                                                            \
    X(SHAPES, "shapes")                                                                            \
    X(ATTRIBUTES, "attributes")                                                                    \
    X(NUMBERS, "numbers")

enum as_model_part {
#define X(name, text) AS_MODEL_##name,
    AS_MODEL_PARTS(X)
#undef X
        AS_MODEL_PART_COUNT
};
const char *as_model_part_name(enum as_model_part part);

struct as_model_row {
    const char *name;
    enum as_model_change change;
    unsigned parts;      /* of CHANGED: bit i is enum as_model_part i */
    const char *what[2]; /* the operator; of a weight its type, as in "f32 64x3x7x7"; NULL: none */
};

/* Layers, or weights. */
struct as_model_rows {
    struct as_model_row *row; /* in the order of B, then what only A has */
    size_t n;
    size_t n_all[2]; /* that the models have */
    size_t n_of[AS_MODEL_CHANGE_COUNT];
};

struct as_model_diff {
    const struct as_inspection *side[2];
    struct as_model_rows layers, weights;
    struct as_metrics totals[2];
    struct as_metric_diff *sums; /* parameters, MACs, ... */
    struct as_arena arena;
};

/* Compares two models, which must outlive the result. Reads the weights of both. */
AS_MUST_USE int as_model_diff_new(struct as_model_diff **out, const struct as_inspection *a,
                                  const struct as_inspection *b, struct assay_error *err);
/* Accepts NULL. */
void as_model_diff_free(struct as_model_diff *diff);

#endif
