/* engine/kernels/control/kern_sequence.h - building sequences and optionals, and tensors from many.
 */
#ifndef AS_ENGINE_KERNELS_CONTROL_KERN_SEQUENCE_H
#define AS_ENGINE_KERNELS_CONTROL_KERN_SEQUENCE_H

#include "engine/kernel.h"

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

#endif
