/* engine/kernels/control/kern_delegate.c - runs a node as another operator's, with attributes of
 * its own. */
#include "engine/kernels/control/kern_delegate.h"

enum { DELEGATE_OPSET = 18 };

int as_kernel_delegate(struct as_kernel_ctx *k, const struct as_delegate *d)
{
    const struct as_kernel *kernel = as_kernel_find(d->op);
    struct as_kernel_ctx inner = *k;
    struct as_node node = *k->node;

    if (!kernel || !kernel->run || (kernel->flags & AS_KERNEL_MAKES_OUT))
        return as_kernel_cannot(k, "it needs a kernel of %s", as_op_name(d->op));
    node.op = d->op;
    node.op_name = as_op_name(d->op);
    node.attrs = d->attrs;
    node.n_attrs = d->n_attrs;
    inner.node = &node;
    inner.opset = DELEGATE_OPSET;
    if (d->ins) {
        inner.in = d->ins;
        inner.n_in = d->n_ins;
    }
    return kernel->run(&inner);
}
