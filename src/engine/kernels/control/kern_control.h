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

#endif
