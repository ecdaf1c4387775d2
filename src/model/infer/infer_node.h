/* model/infer/infer_node.h - the types of one node's outputs, for inputs that are there with their
 * numbers. For shapes that depend on data: the same rules as as_infer_shapes(), asked while
 * running. */
#ifndef AS_MODEL_INFER_INFER_NODE_H
#define AS_MODEL_INFER_INFER_NODE_H

#include "model/infer/infer_rules.h"

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
