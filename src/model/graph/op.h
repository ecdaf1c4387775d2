/* model/graph/op.h - operators as numbers, so that shapes, costs and kernels are tables.
 * A number is an index for one build only; nothing stores it. */
#ifndef AS_MODEL_GRAPH_OP_H
#define AS_MODEL_GRAPH_OP_H

#include <stdint.h>

#include "model/graph/op_list.h"

enum as_domain {
    AS_DOMAIN_ONNX, /* "" and "ai.onnx" */
    AS_DOMAIN_MICROSOFT,
    AS_DOMAIN_ML,
    AS_DOMAIN_TRAINING,
    AS_DOMAIN_TFLITE,
    AS_DOMAIN_OTHER,
    AS_DOMAIN_COUNT
};

enum as_op {
    AS_OP_UNKNOWN,
#define X(name) AS_OP_##name,
    AS_OPS_ONNX(X)
#undef X
#define X(name) AS_OP_MS_##name,
        AS_OPS_MICROSOFT(X)
#undef X
#define X(name) AS_OP_ML_##name,
            AS_OPS_ML(X)
#undef X
#define X(name) AS_OP_TRAIN_##name,
                AS_OPS_TRAINING(X)
#undef X
#define X(name) AS_OP_TFL_##name,
                    AS_OPS_TFLITE(X)
#undef X
                        AS_OP_COUNT
};

enum as_domain as_domain_find(const char *name);
const char *as_domain_name(enum as_domain domain);

/* AS_OP_UNKNOWN when there is none of that name in the domain. */
enum as_op as_op_find(enum as_domain domain, const char *name);

/* "Conv"; "?" for AS_OP_UNKNOWN. */
const char *as_op_name(enum as_op op);
enum as_domain as_op_domain(enum as_op op);

#endif
