/* engine/kernels/control/kern_delegate.c - runs a node as another operator's, with attributes of
 * its own. */
#include "engine/kernels/control/kern_control.h"

enum { DELEGATE_OPSET = 18 };

/* The shape rules check the types of a node as it is, not of the operator it is run as. */
static int check_type(struct as_kernel_ctx *k, enum as_op op)
{
    size_t from = op == AS_OP_Where;
    unsigned dtype;

    if (!as_has_in(k, from) || !as_has_out(k, 0))
        return as_kernel_fail(k, "its input or output is missing");
    dtype = k->in[from]->dtype;
    switch (op) {
    case AS_OP_Cast:
        return ASSAY_OK;
    case AS_OP_Shape:
        dtype = k->out[0]->dtype == AS_DTYPE_I32 ? AS_DTYPE_I32 : AS_DTYPE_I64;
        break;
    case AS_OP_ArgMax:
    case AS_OP_ArgMin:
        dtype = AS_DTYPE_I64;
        break;
    case AS_OP_Less:
    case AS_OP_LessOrEqual:
    case AS_OP_Greater:
    case AS_OP_GreaterOrEqual:
    case AS_OP_Equal:
        dtype = AS_DTYPE_BOOL;
        break;
    default:
        break;
    }
    return k->out[0]->dtype == dtype ? ASSAY_OK
                                     : as_kernel_cannot(k, "%s becomes %s", as_dtype_name(dtype),
                                                        as_dtype_name(k->out[0]->dtype));
}

int as_kernel_delegate(struct as_kernel_ctx *k, const struct as_delegate *d)
{
    const struct as_kernel *kernel = as_kernel_find(d->op);
    struct as_kernel_ctx inner = *k;
    struct as_node node = *k->node;
    int rc;

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
    rc = check_type(&inner, d->op);
    return rc < 0 ? rc : kernel->run(&inner);
}
