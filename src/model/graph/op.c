/* model/graph/op.c - operators as numbers, so that shapes, costs and kernels are tables. */
#include "model/graph/op.h"

#include <string.h>

#include "base/units.h"

static const char *const names[] = {"?",
#define X(name) #name,
                                    AS_OPS_ONNX(X) AS_OPS_MICROSOFT(X) AS_OPS_ML(X)
                                        AS_OPS_TRAINING(X) AS_OPS_TFLITE(X)
#undef X
};
_Static_assert(AS_COUNT_OF(names) == AS_OP_COUNT, "name every operator");

#define ONE(name) +1 /* NOLINT(bugprone-macro-parentheses): a chain of them is a sum */
enum {
    ONNX_END = 1 AS_OPS_ONNX(ONE),
    MICROSOFT_END = ONNX_END AS_OPS_MICROSOFT(ONE),
    ML_END = MICROSOFT_END AS_OPS_ML(ONE),
    TRAINING_END = ML_END AS_OPS_TRAINING(ONE),
    TFLITE_END = TRAINING_END AS_OPS_TFLITE(ONE),
};
_Static_assert((int)TFLITE_END == (int)AS_OP_COUNT, "every operator has a domain");

static const struct {
    const char *name;
    int first, end; /* of its operators */
} domains[] = {
    [AS_DOMAIN_ONNX] = {"", 1, ONNX_END},
    [AS_DOMAIN_MICROSOFT] = {"com.microsoft", ONNX_END, MICROSOFT_END},
    [AS_DOMAIN_ML] = {"ai.onnx.ml", MICROSOFT_END, ML_END},
    [AS_DOMAIN_TRAINING] = {"ai.onnx.preview.training", ML_END, TRAINING_END},
    [AS_DOMAIN_TFLITE] = {"tflite", TRAINING_END, TFLITE_END},
    [AS_DOMAIN_OTHER] = {"other", 0, 0},
};
_Static_assert(AS_COUNT_OF(domains) == AS_DOMAIN_COUNT, "describe every domain");

enum as_domain as_domain_find(const char *name)
{
    if (strcmp(name, "ai.onnx") == 0)
        return AS_DOMAIN_ONNX;
    for (int i = 0; i < AS_DOMAIN_OTHER; i++)
        if (strcmp(name, domains[i].name) == 0)
            return (enum as_domain)i;
    return AS_DOMAIN_OTHER;
}

const char *as_domain_name(enum as_domain domain)
{
    return domains[domain].name;
}

enum as_op as_op_find(enum as_domain domain, const char *name)
{
    for (int i = domains[domain].first; i < domains[domain].end; i++)
        if (name[0] == names[i][0] && strcmp(name, names[i]) == 0)
            return (enum as_op)i;
    return AS_OP_UNKNOWN;
}

const char *as_op_name(enum as_op op)
{
    return names[op];
}

enum as_domain as_op_domain(enum as_op op)
{
    for (int i = 0; i < AS_DOMAIN_OTHER; i++)
        if ((int)op >= domains[i].first && (int)op < domains[i].end)
            return (enum as_domain)i;
    return AS_DOMAIN_OTHER;
}
