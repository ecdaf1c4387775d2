/* engine/kernels/reduce/kern_reduce.c - the table of kernels along axes, and Reduce*, ArgMax,
 * CumSum. Axes are an attribute in older opsets and an input in newer ones. */
#include "engine/kernels/reduce/kern_reduce.h"

#include <string.h>

#include "engine/kernels/math/kern_typed.h"

static enum as_reduction reduction_of(enum as_op op)
{
    switch (op) {
    case AS_OP_ReduceMean:
        return AS_REDUCE_MEAN;
    case AS_OP_ReduceProd:
        return AS_REDUCE_PROD;
    case AS_OP_ReduceMax:
        return AS_REDUCE_MAX;
    case AS_OP_ReduceMin:
        return AS_REDUCE_MIN;
    case AS_OP_ReduceL1:
        return AS_REDUCE_L1;
    case AS_OP_ReduceL2:
        return AS_REDUCE_L2;
    case AS_OP_ReduceSumSquare:
        return AS_REDUCE_SQUARES;
    case AS_OP_ReduceLogSum:
        return AS_REDUCE_LOG_SUM;
    case AS_OP_ReduceLogSumExp:
        return AS_REDUCE_LOG_SUM_EXP;
    default:
        return AS_REDUCE_SUM;
    }
}

int as_run_reduce(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    bool marked[AS_MAX_RANK];
    struct as_dims axes;
    int rc = as_kernel_axes(k, 1, "axes", in->rank, &axes);

    if (rc < 0)
        return rc;
    if (axes.rank == 0 && as_node_int(k->node, "noop_with_empty_axes", 0) != 0) {
        rc = as_kernel_same_size(k, in, k->out[0], "the output");
        if (rc == ASSAY_OK)
            memcpy(k->out[0]->data, in->data, in->bytes);
        return rc;
    }
    memset(marked, axes.rank == 0, sizeof marked);
    for (int i = 0; i < axes.rank; i++)
        marked[axes.at[i]] = true;
    return as_reduce(k, reduction_of(k->node->op), in, marked, k->out[0]);
}

/* ---- ArgMax and ArgMin ---- */

struct arg {
    const void *in;
    int64_t *out;
    struct as_around a;
    bool smallest, last;
};

/* The best so far is found again by its place, which the output holds. */
#define X(DTYPE, tag, type, wide)                                                                  \
    static void arg_##tag(void *work, uint64_t from, uint64_t to)                                  \
    {                                                                                              \
        const struct arg *g = work;                                                                \
                                                                                                   \
        for (uint64_t o = from; o < to; o++) {                                                     \
            const type *in = (const type *)g->in + o * g->a.n * g->a.inner;                        \
            int64_t *out = g->out + o * g->a.inner;                                                \
                                                                                                   \
            memset(out, 0, g->a.inner * sizeof *out);                                              \
            for (uint64_t j = 1; j < g->a.n; j++)                                                  \
                for (uint64_t i = 0; i < g->a.inner; i++) {                                        \
                    type best = in[(uint64_t)out[i] * g->a.inner + i];                             \
                    type x = in[j * g->a.inner + i];                                               \
                                                                                                   \
                    if ((g->smallest ? x < best : x > best) || (g->last && x == best))             \
                        out[i] = (int64_t)j;                                                       \
                }                                                                                  \
        }                                                                                          \
    }
AS_TYPES_NUMBER(X)
#undef X

static const as_kernel_work_fn args[AS_DTYPE_COUNT] = {
#define X(DTYPE, tag, type, wide) [AS_DTYPE_##DTYPE] = arg_##tag,
    AS_TYPES_NUMBER(X)
#undef X
};

int as_run_arg(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    as_kernel_work_fn loop = args[in->dtype];
    struct arg g = {.in = in->data,
                    .out = k->out[0]->data,
                    .smallest = k->node->op == AS_OP_ArgMin,
                    .last = as_node_int(k->node, "select_last_index", 0) != 0};
    int64_t said = as_node_int(k->node, "axis", 0);
    bool narrow = k->out[0]->dtype == AS_DTYPE_I32;
    struct as_dims list;
    int axis, rc;

    /* In TensorFlow Lite the axis is an input and the indices may be of 32 bits. */
    if (as_node_is_lowered(k->node) && as_in_numbers(k, 1, &list) && list.rank == 1)
        said = list.at[0];
    rc = as_kernel_axis(k, said, in->rank, &axis);
    if (rc < 0)
        return rc;
    g.a = as_around_axes(in, axis, axis + 1);
    if (!loop || (k->out[0]->dtype != AS_DTYPE_I64 && !narrow))
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(in->dtype));
    if (g.a.n == 0 || k->out[0]->n != g.a.outer * g.a.inner)
        return as_kernel_fail(k, "axis %d has nothing to choose from", axis);
    if (narrow)
        g.out = as_kernel_work(k, k->out[0]->n, sizeof *g.out);
    if (!g.out)
        return ASSAY_ERR_NOMEM;
    as_kernel_parallel(k, g.a.outer, as_grain_of(g.a.n * g.a.inner), loop, &g);
    for (uint64_t i = 0; narrow && i < k->out[0]->n; i++)
        as_val_put_i64(k->out[0], i, g.out[i]);
    return ASSAY_OK;
}

/* ---- CumSum ---- */

struct cumsum {
    const void *in;
    void *out;
    struct as_around a;
    bool exclusive, reverse;
};

#define X(DTYPE, tag, type, wide)                                                                  \
    static void cumsum_##tag(void *work, uint64_t from, uint64_t to)                               \
    {                                                                                              \
        const struct cumsum *c = work;                                                             \
        uint64_t inner = c->a.inner;                                                               \
                                                                                                   \
        for (uint64_t o = from; o < to; o++) {                                                     \
            const type *in = (const type *)c->in + o * c->a.n * inner;                             \
            /* NOLINTNEXTLINE(bugprone-macro-parentheses): a type */                               \
            type *out = (type *)c->out + o * c->a.n * inner;                                       \
                                                                                                   \
            for (uint64_t step = 0; step < c->a.n; step++) {                                       \
                uint64_t j = c->reverse ? c->a.n - 1 - step : step;                                \
                uint64_t before = c->reverse ? j + 1 : j - 1;                                      \
                uint64_t add = c->exclusive ? before : j;                                          \
                                                                                                   \
                for (uint64_t i = 0; i < inner; i++) {                                             \
                    wide sum = 0, more = 0;                                                        \
                                                                                                   \
                    if (step > 0)                                                                  \
                        sum = (wide)out[before * inner + i];                                       \
                    if (step > 0 || !c->exclusive)                                                 \
                        more = (wide)in[add * inner + i];                                          \
                    out[j * inner + i] = (type)(sum + more);                                       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
AS_TYPES_NUMBER(X)
#undef X

static const as_kernel_work_fn cumsums[AS_DTYPE_COUNT] = {
#define X(DTYPE, tag, type, wide) [AS_DTYPE_##DTYPE] = cumsum_##tag,
    AS_TYPES_NUMBER(X)
#undef X
};

int as_run_cumsum(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct cumsum c = {.in = in->data,
                       .out = k->out[0]->data,
                       .exclusive = as_node_int(k->node, "exclusive", 0) != 0,
                       .reverse = as_node_int(k->node, "reverse", 0) != 0};
    struct as_dims said;
    int axis, rc;

    if (!as_in_numbers(k, 1, &said) || said.rank != 1)
        return as_kernel_fail(k, "its axis is not one number");
    rc = as_kernel_axis(k, said.at[0], in->rank, &axis);
    if (rc == ASSAY_OK)
        rc = as_kernel_same_size(k, in, k->out[0], "the output");
    if (rc < 0)
        return rc;
    if (!cumsums[in->dtype])
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(in->dtype));
    c.a = as_around_axes(in, axis, axis + 1);
    as_kernel_parallel(k, c.a.outer, as_grain_of(c.a.n * c.a.inner), cumsums[in->dtype], &c);
    return ASSAY_OK;
}

#define REDUCE(name)                                                                               \
    {                                                                                              \
        AS_OP_##name, as_run_reduce, 0                                                             \
    }

const struct as_kernel as_kernels_reduce[] = {
    REDUCE(ReduceL1),
    REDUCE(ReduceL2),
    REDUCE(ReduceLogSum),
    REDUCE(ReduceLogSumExp),
    REDUCE(ReduceMax),
    REDUCE(ReduceMean),
    REDUCE(ReduceMin),
    REDUCE(ReduceProd),
    REDUCE(ReduceSum),
    REDUCE(ReduceSumSquare),
    {AS_OP_ArgMax, as_run_arg, 0},
    {AS_OP_ArgMin, as_run_arg, 0},
    {AS_OP_Softmax, as_run_softmax, 0},
    {AS_OP_LogSoftmax, as_run_softmax, 0},
    {AS_OP_Hardmax, as_run_hardmax, 0},
    {AS_OP_CumSum, as_run_cumsum, 0},
    {AS_OP_TopK, as_run_topk, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
