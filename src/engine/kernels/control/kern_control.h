/* engine/kernels/control/kern_control.h - what kernels that run bodies share. */
#ifndef AS_ENGINE_KERNELS_CONTROL_KERN_CONTROL_H
#define AS_ENGINE_KERNELS_CONTROL_KERN_CONTROL_H

#include "engine/kernel.h"

/* n empty values for what a body gives, or NULL with an error set; as_control_drop() drops them and
 * gives them back, and accepts NULL. */
struct as_val *as_control_vals(struct as_kernel_ctx *k, size_t n);
void as_control_drop(struct as_val *vals, size_t n);

/* `to` holds what `from` held, which is empty afterwards. */
void as_control_move(struct as_val *to, struct as_val *from);

/* Output `i`, where it is wanted, takes over `from`, which is empty or unchanged afterwards. */
AS_MUST_USE int as_control_give(struct as_kernel_ctx *k, size_t i, struct as_val *from);

/* Its first element is true. */
bool as_control_true(const struct as_val *val);

int as_kern_loop(struct as_kernel_ctx *k); /* kern_loop.c */
int as_kern_scan(struct as_kernel_ctx *k); /* kern_scan.c */

/* ---- kern_sequence.c ---- */

/* The empty `to` becomes another reference to `from`, or a copy where nothing holds that: a tensor
 * in planned memory is there for its last reader only. */
AS_MUST_USE int as_list_keep(struct as_kernel_ctx *k, struct as_val *to, const struct as_val *from);

/* Output `i`, which must be wanted, becomes an empty list with room for n elements. */
AS_MUST_USE int as_list_begin(struct as_kernel_ctx *k, size_t i, enum as_value_kind kind,
                              uint64_t n);
/* Keeps `elem` at its end. */
AS_MUST_USE int as_list_add(struct as_kernel_ctx *k, size_t i, const struct as_val *elem);

/* Output `i` becomes n > 0 tensors joined along an axis, or along a new one when `stack`. */
AS_MUST_USE int as_list_join(struct as_kernel_ctx *k, size_t i, const struct as_val *elems,
                             int64_t n, int axis, bool stack);

/* ---- kern_delegate.c ---- */

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
