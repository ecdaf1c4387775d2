/* engine/kernels/tflite/kern_tfl_math.c - what TensorFlow Lite does to single numbers and along
 * axes, mostly by the kernels of ONNX's operators of another name. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/rnn/kern_rnn_act.h"
#include "engine/kernels/tflite/kern_tflite.h"

/* ---- clipping and copying ---- */

static int copy_floats(struct as_kernel_ctx *k)
{
    if (!as_tfl_f32(k->in[0], -1) || !as_tfl_f32(k->out[0], -1) || k->in[0]->n != k->out[0]->n)
        return as_kernel_cannot(k, "from %s to %s", as_dtype_name(k->in[0]->dtype),
                                as_dtype_name(k->out[0]->dtype));
    memcpy(k->out[0]->data, k->in[0]->data, (size_t)k->in[0]->n * sizeof(float));
    return ASSAY_OK;
}

static int clip(struct as_kernel_ctx *k)
{
    struct as_act act = {AS_ACT_CLIP, 0, INFINITY};
    int rc = copy_floats(k);

    if (k->node->op == AS_OP_TFL_RELU6)
        act.beta = 6;
    else if (k->node->op != AS_OP_TFL_RELU)
        act.beta = 1;
    if (k->node->op == AS_OP_TFL_RELU_N1_TO_1)
        act.alpha = -1;
    if (rc == ASSAY_OK)
        as_act_run(&act, k->out[0]->data, k->out[0]->n);
    return rc;
}

static int rsqrt(struct as_kernel_ctx *k)
{
    float *out = k->out[0]->data;
    int rc = copy_floats(k);

    for (uint64_t i = 0; rc == ASSAY_OK && i < k->out[0]->n; i++)
        out[i] = 1 / sqrtf(out[i]);
    return rc;
}

static int square(struct as_kernel_ctx *k)
{
    const struct as_val *twice[] = {k->in[0], k->in[0]};

    return as_kernel_delegate(k, &(struct as_delegate){.op = AS_OP_Mul, .ins = twice, .n_ins = 2});
}

static int squared_difference(struct as_kernel_ctx *k)
{
    int rc = as_kernel_delegate(k, &(struct as_delegate){.op = AS_OP_Sub});

    if (rc < 0)
        return rc;
    if (!as_tfl_f32(k->out[0], -1))
        return as_kernel_cannot(k, "a difference of %s", as_dtype_name(k->out[0]->dtype));
    for (uint64_t i = 0; i < k->out[0]->n; i++)
        ((float *)k->out[0]->data)[i] *= ((float *)k->out[0]->data)[i];
    return ASSAY_OK;
}

static int gelu(struct as_kernel_ctx *k)
{
    bool rough = as_node_int(k->node, "approximate", 0) != 0;
    struct as_attr attr = as_attr_text("approximate", rough ? "tanh" : "none");

    return as_kernel_delegate(
        k, &(struct as_delegate){.op = AS_OP_Gelu, .attrs = &attr, .n_attrs = 1});
}

/* ---- rows ---- */

enum row_kind { SOFTMAX, LOG_SOFTMAX, UNIT };

static void soften(const float *x, float *out, uint64_t n, float beta, bool logs)
{
    float most = -INFINITY, sum = 0, shift;

    for (uint64_t i = 0; i < n; i++)
        most = beta * x[i] > most ? beta * x[i] : most;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = beta * x[i] - most;
        sum += as_expf(out[i]);
    }
    shift = logs ? logf(sum) : 0;
    for (uint64_t i = 0; i < n; i++)
        out[i] = logs ? out[i] - shift : as_expf(out[i]) / sum;
}

static void to_unit(const float *x, float *out, uint64_t n)
{
    double sum = 0;
    float length;

    for (uint64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    length = (float)sqrt(sum > 1e-12 ? sum : 1e-12);
    for (uint64_t i = 0; i < n; i++)
        out[i] = x[i] / length;
}

static int each_row(struct as_kernel_ctx *k, enum row_kind kind)
{
    const struct as_val *x = k->in[0];
    float beta = kind == SOFTMAX ? (float)as_node_float(k->node, "beta", 1) : 1;
    uint64_t n;

    if (!as_tfl_f32(x, -1) || !as_tfl_f32(k->out[0], -1) || x->n != k->out[0]->n || x->rank < 1)
        return as_kernel_cannot(k, "an input of %s", as_dtype_name(x->dtype));
    n = (uint64_t)x->dims[x->rank - 1];
    for (uint64_t i = 0; n > 0 && i < x->n; i += n) {
        const float *row = (const float *)x->data + i;
        float *out = (float *)k->out[0]->data + i;

        if (kind == UNIT)
            to_unit(row, out, n);
        else
            soften(row, out, n, beta, kind == LOG_SOFTMAX);
    }
    return kind == UNIT ? as_tfl_activate(k) : ASSAY_OK;
}

static int softmax(struct as_kernel_ctx *k)
{
    return each_row(k, SOFTMAX);
}

static int log_softmax(struct as_kernel_ctx *k)
{
    return each_row(k, LOG_SOFTMAX);
}

static int l2_normalization(struct as_kernel_ctx *k)
{
    return each_row(k, UNIT);
}

/* ---- axes ---- */

/* The axes are given, if only none: of a tensor of bytes one may also reduce nothing. */
static int reduce(struct as_kernel_ctx *k)
{
    static const struct {
        enum as_op from, to;
    } ops[] = {
        {AS_OP_TFL_MEAN, AS_OP_ReduceMean},        {AS_OP_TFL_SUM, AS_OP_ReduceSum},
        {AS_OP_TFL_REDUCE_MAX, AS_OP_ReduceMax},   {AS_OP_TFL_REDUCE_MIN, AS_OP_ReduceMin},
        {AS_OP_TFL_REDUCE_PROD, AS_OP_ReduceProd},
    };
    struct as_attr attrs[2];

    attrs[0] = as_attr_int("keepdims", as_node_int(k->node, "keep_dims", 0));
    attrs[1] = as_attr_int("noop_with_empty_axes", 1);
    for (size_t i = 0; i < AS_COUNT_OF(ops); i++)
        if (ops[i].from == k->node->op)
            return as_kernel_delegate(
                k, &(struct as_delegate){.op = ops[i].to, .attrs = attrs, .n_attrs = 2});
    return as_kernel_cannot(k, "this reduction");
}

static int arg_max(struct as_kernel_ctx *k)
{
    enum as_op op = k->node->op == AS_OP_TFL_ARG_MAX ? AS_OP_ArgMax : AS_OP_ArgMin;
    struct as_val wide = *k->out[0];
    struct as_kernel_ctx inner = *k;
    struct as_val *outs[] = {&wide};
    struct as_attr attrs[2];
    struct as_dims axis;
    int rc;

    if (!as_in_numbers(k, 1, &axis) || axis.rank != 1)
        return as_kernel_fail(k, "it has no axis");
    attrs[0] = as_attr_int("axis", axis.at[0]);
    attrs[1] = as_attr_int("keepdims", 0);
    wide.dtype = AS_DTYPE_I64;
    wide.bytes = wide.n * 8;
    wide.hold = NULL;
    wide.data = as_kernel_work(k, wide.n, 8);
    if (!wide.data)
        return ASSAY_ERR_NOMEM;
    inner.out = outs;
    inner.n_out = 1;
    rc = as_kernel_delegate(
        &inner,
        &(struct as_delegate){.op = op, .attrs = attrs, .n_attrs = 2, .ins = k->in, .n_ins = 1});
    for (uint64_t i = 0; rc == ASSAY_OK && i < wide.n; i++)
        as_val_put_i64(k->out[0], i, as_val_i64(&wide, i));
    return rc;
}

#define SAME(name, onnx)                                                                           \
    {                                                                                              \
        AS_OP_TFL_##name, as_tfl_same, AS_OP_##onnx                                                \
    }
#define FUSED(name, onnx)                                                                          \
    {                                                                                              \
        AS_OP_TFL_##name, as_tfl_same_activated, AS_OP_##onnx                                      \
    }
#define OWN(name, function)                                                                        \
    {                                                                                              \
        AS_OP_TFL_##name, function, AS_OP_UNKNOWN                                                  \
    }

const struct as_tfl_kernel as_tfl_math[] = {
    FUSED(ADD, Add),
    FUSED(SUB, Sub),
    FUSED(MUL, Mul),
    FUSED(DIV, Div),
    SAME(POW, Pow),
    SAME(MAXIMUM, Max),
    SAME(MINIMUM, Min),
    SAME(ADD_N, Sum),
    SAME(LESS, Less),
    SAME(LESS_EQUAL, LessOrEqual),
    SAME(GREATER, Greater),
    SAME(GREATER_EQUAL, GreaterOrEqual),
    SAME(EQUAL, Equal),
    SAME(LOGICAL_AND, And),
    SAME(LOGICAL_OR, Or),
    SAME(LOGICAL_NOT, Not),
    SAME(SELECT, Where),
    SAME(SELECT_V2, Where),
    SAME(LOGISTIC, Sigmoid),
    SAME(TANH, Tanh),
    SAME(EXP, Exp),
    SAME(LOG, Log),
    SAME(SQRT, Sqrt),
    SAME(NEG, Neg),
    SAME(ABS, Abs),
    SAME(SIGN, Sign),
    SAME(SIN, Sin),
    SAME(COS, Cos),
    SAME(FLOOR, Floor),
    SAME(CEIL, Ceil),
    SAME(ROUND, Round),
    SAME(ELU, Elu),
    SAME(LEAKY_RELU, LeakyRelu),
    SAME(PRELU, PRelu),
    SAME(HARD_SWISH, HardSwish),
    SAME(CAST, Cast),
    OWN(GELU, gelu),
    OWN(SQUARE, square),
    OWN(SQUARED_DIFFERENCE, squared_difference),
    OWN(RSQRT, rsqrt),
    OWN(RELU, clip),
    OWN(RELU6, clip),
    OWN(RELU_N1_TO_1, clip),
    OWN(RELU_0_TO_1, clip),
    OWN(SOFTMAX, softmax),
    OWN(LOG_SOFTMAX, log_softmax),
    OWN(L2_NORMALIZATION, l2_normalization),
    OWN(QUANTIZE, copy_floats),
    OWN(DEQUANTIZE, copy_floats),
    OWN(MEAN, reduce),
    OWN(SUM, reduce),
    OWN(REDUCE_MAX, reduce),
    OWN(REDUCE_MIN, reduce),
    OWN(REDUCE_PROD, reduce),
    OWN(ARG_MAX, arg_max),
    OWN(ARG_MIN, arg_max),
    {AS_OP_UNKNOWN, NULL, AS_OP_UNKNOWN},
};
