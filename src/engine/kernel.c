/* engine/kernel.c - the one table of kernels in plain C, and what kernels share.
 * What needs the running engine (bodies, threads, working memory) is in exec.c. */
#include "engine/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const struct as_kernel *const families[] = {
#define X(name) as_kernels_##name,
    AS_KERNEL_FAMILIES(X)
#undef X
};

const struct as_kernel *as_kernel_find(enum as_op op)
{
    for (size_t f = 0; f < AS_COUNT_OF(families); f++)
        for (const struct as_kernel *k = families[f]; k->op != AS_OP_UNKNOWN; k++)
            if (k->op == op)
                return k;
    return NULL;
}

int as_kernel_out(struct as_kernel_ctx *k, size_t i, unsigned dtype, const struct as_dims *dims)
{
    if (!as_has_out(k, i))
        return ASSAY_OK;
    as_val_drop(k->out[i]);
    return as_val_new(k->out[i], k->mem, AS_MEM_ACTIVATIONS, dtype, dims, k->err);
}

int as_kernel_pass(struct as_kernel_ctx *k, size_t i, const struct as_val *from)
{
    if (!as_has_out(k, i))
        return ASSAY_OK;
    as_val_drop(k->out[i]);
    return as_val_share(k->out[i], from, k->err);
}

void as_kernel_tell(struct as_kernel_ctx *k, int code, const char *fmt, ...)
{
    const char *what = code == ASSAY_ERR_UNSUPPORTED ? "cannot be run here" : "cannot work";
    char why[160];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    (void)as_fail(k->err, code, "node '%.60s' (%s, opset %lld) %s: %s",
                  as_node_label(k->graph, k->node), k->node->op_name, (long long)k->opset, what,
                  why);
}

bool as_in_numbers(const struct as_kernel_ctx *k, size_t i, struct as_dims *out)
{
    const struct as_val *in = as_has_in(k, i) ? k->in[i] : NULL;

    if (!in || in->kind != AS_VALUE_TENSOR || !as_dtype_is_integer(in->dtype) ||
        in->n > AS_MAX_RANK)
        return false;
    out->rank = (int)in->n;
    for (uint64_t j = 0; j < in->n; j++)
        out->at[j] = as_val_i64(in, j);
    return true;
}

double as_in_number(const struct as_kernel_ctx *k, size_t i, double fallback)
{
    const struct as_val *in = as_has_in(k, i) ? k->in[i] : NULL;

    if (!in || in->kind != AS_VALUE_TENSOR || in->n < 1 || in->dtype == AS_DTYPE_STRING)
        return fallback;
    return as_val_f64(in, 0);
}

int as_kernel_axes(struct as_kernel_ctx *k, size_t i, const char *name, int rank,
                   struct as_dims *axes)
{
    struct as_ints given;
    uint64_t seen = 0;

    axes->rank = 0;
    if (as_has_in(k, i)) {
        if (!as_in_numbers(k, i, axes))
            return as_kernel_fail(k, "its axes are not a list of at most %d integers", AS_MAX_RANK);
    } else if (as_node_ints(k->node, name, &given)) {
        if (given.n > AS_MAX_RANK)
            return as_kernel_fail(k, "it has %zu axes", given.n);
        axes->rank = (int)given.n;
        memcpy(axes->at, given.at, given.n * sizeof *given.at);
    }
    for (int j = 0; j < axes->rank; j++) {
        int64_t axis = axes->at[j];

        if (axis < -rank || axis >= rank)
            return as_kernel_fail(k, "axis %lld is outside of rank %d", (long long)axis, rank);
        seen |= (uint64_t)1 << (axis < 0 ? axis + rank : axis);
    }
    axes->rank = 0;
    for (int axis = 0; axis < rank; axis++)
        if (seen >> axis & 1)
            axes->at[axes->rank++] = axis;
    return ASSAY_OK;
}

void as_strides(const struct as_val *val, int64_t *strides)
{
    int64_t step = 1;

    /* Of a tensor without elements no stride is ever taken, and its other dimensions may be of any
     * size. */
    for (int i = val->rank; i-- > 0;) {
        strides[i] = val->n ? step : 0;
        step *= val->n ? val->dims[i] : 1;
    }
}

bool as_strides_broadcast(const struct as_val *val, const struct as_dims *dims, int64_t *strides)
{
    int64_t own[AS_MAX_RANK] = {0};
    int skip = dims->rank - val->rank;

    if (skip < 0)
        return false;
    as_strides(val, own);
    for (int i = 0; i < dims->rank; i++) {
        if (i < skip || (val->dims[i - skip] == 1 && dims->at[i] != 1))
            strides[i] = 0;
        else if (val->dims[i - skip] == dims->at[i])
            strides[i] = own[i - skip];
        else
            return false;
    }
    return true;
}
