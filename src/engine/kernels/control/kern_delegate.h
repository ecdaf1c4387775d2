/* engine/kernels/control/kern_delegate.h - runs a node as another operator's, with attributes of
 * its own: what one format calls by another name is written once. */
#ifndef AS_ENGINE_KERNELS_CONTROL_KERN_DELEGATE_H
#define AS_ENGINE_KERNELS_CONTROL_KERN_DELEGATE_H

#include "engine/kernel.h"

/* The operator in place of the node's, its attributes, and its inputs (NULL: the node's). Outputs
 * are those of `k`. `opset` is of the default domain. */
struct as_delegate {
    enum as_op op;
    const struct as_attr *attrs;
    uint32_t n_attrs;
    const struct as_val *const *ins;
    size_t n_ins;
};
AS_MUST_USE int as_kernel_delegate(struct as_kernel_ctx *k, const struct as_delegate *d);

static inline struct as_attr as_attr_int(const char *name, int64_t value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = value};
}

static inline struct as_attr as_attr_float(const char *name, double value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = value};
}

static inline struct as_attr as_attr_ints(const char *name, const int64_t *at, int n)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INTS, .n = (uint32_t)n, .ints = at};
}

static inline struct as_attr as_attr_text(const char *name, const char *text)
{
    return (struct as_attr){
        .name = name, .kind = AS_ATTR_TEXT, .text = {text, __builtin_strlen(text)}};
}

#endif
