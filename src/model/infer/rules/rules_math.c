/* model/infer/rules/rules_math.c - shape rules of operators that work on one element at a time.
 * Arithmetic, comparisons, activations, casts; most take numpy's broadcast or nothing at all. */
#include "base/units.h"
#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

static int like_first(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

/* Also of sequences and optionals, and of constants of any size. */
static int identity(struct as_infer *ctx)
{
    int rc = as_out_like(ctx, 0, 0);

    as_fold_share(ctx, 0, 0);
    return rc;
}

static int to_bool(struct as_infer *ctx)
{
    struct as_dims dims;

    return as_out_tensor(ctx, 0, AS_DTYPE_BOOL, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

static unsigned first_known_dtype(const struct as_infer *ctx, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (as_in_dtype(ctx, i) != AS_DTYPE_UNKNOWN)
            return as_in_dtype(ctx, i);
    return AS_DTYPE_UNKNOWN;
}

static int misfit(struct as_infer *ctx, size_t i)
{
    char first[80], other[80];
    const struct as_type *a = as_in_type(ctx, 0), *b = as_in_type(ctx, i);

    if (!a || !b)
        return as_conflict(ctx, "the inputs cannot be broadcast together");
    as_type_text(first, sizeof first, a);
    as_type_text(other, sizeof other, b);
    return as_conflict(ctx, "%s and %s cannot be broadcast together", first, other);
}

/* All inputs against each other. */
static int broadcast_all(struct as_infer *ctx, unsigned dtype)
{
    struct as_dims all = {0}, dims;

    for (uint32_t i = 0; i < ctx->node->n_inputs; i++) {
        if (!as_in_type(ctx, i))
            continue;
        if (!as_in_dims(ctx, i, &dims))
            return as_out_tensor(ctx, 0, dtype, NULL);
        if (!as_dims_broadcast(&all, &dims, &all))
            return misfit(ctx, i);
    }
    return as_out_tensor(ctx, 0, dtype, &all);
}

static int two(struct as_infer *ctx, unsigned dtype)
{
    struct as_dims dims;

    /* Before opset 7 the second input is stretched to the first by an attribute. */
    if (ctx->opset > 0 && ctx->opset < 7)
        return as_out_tensor(ctx, 0, dtype, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
    return broadcast_all(ctx, dtype);
}

static int arithmetic(struct as_infer *ctx)
{
    return two(ctx, first_known_dtype(ctx, 0, 2));
}

static int power(struct as_infer *ctx)
{
    return two(ctx, as_in_dtype(ctx, 0));
}

static int compare(struct as_infer *ctx)
{
    return two(ctx, AS_DTYPE_BOOL);
}

static int variadic(struct as_infer *ctx)
{
    return broadcast_all(ctx, first_known_dtype(ctx, 0, ctx->node->n_inputs));
}

static int where(struct as_infer *ctx)
{
    return broadcast_all(ctx, first_known_dtype(ctx, 1, 3));
}

/* One word of each dtype, as `to` had it before opset 6. */
static unsigned dtype_of_word(const struct as_node *node)
{
    static const char *const words[] = {"FLOAT",  "UINT8",  "INT8",   "UINT16", "INT16",
                                        "INT32",  "INT64",  "STRING", "BOOL",   "FLOAT16",
                                        "DOUBLE", "UINT32", "UINT64"};

    for (size_t i = 0; i < AS_COUNT_OF(words); i++)
        if (as_node_text_is(node, "to", words[i]))
            return as_dtype_of_onnx((int64_t)i + 1);
    return AS_DTYPE_UNKNOWN;
}

static int cast(struct as_infer *ctx)
{
    unsigned dtype = as_dtype_of_onnx(as_node_int(ctx->node, "to", 0));
    struct as_dims dims;

    if (dtype == AS_DTYPE_UNKNOWN)
        dtype = dtype_of_word(ctx->node);
    return as_out_tensor(ctx, 0, dtype, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

static int cast_like(struct as_infer *ctx)
{
    struct as_dims dims;

    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 1), as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

/* The slope must fit into the first input, whose shape stays. */
static int prelu(struct as_infer *ctx)
{
    struct as_dims dims, slope, both;

    if (ctx->opset >= 7 && as_in_dims(ctx, 0, &dims) && as_in_dims(ctx, 1, &slope)) {
        if (slope.rank > dims.rank || !as_dims_broadcast(&dims, &slope, &both))
            return misfit(ctx, 1);
        for (int i = 0; i < dims.rank; i++)
            if (dims.at[i] >= 0 && both.at[i] >= 0 && both.at[i] != dims.at[i])
                return misfit(ctx, 1);
    }
    return as_out_like(ctx, 0, 0);
}

/* Without training it hands its input on, and the mask is of ones. */
static int dropout(struct as_infer *ctx)
{
    unsigned mask = ctx->opset >= 10 ? (unsigned)AS_DTYPE_BOOL : as_in_dtype(ctx, 0);
    struct as_dims dims;
    int64_t training = 0;
    int rc = as_out_like(ctx, 0, 0);

    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, mask, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
    if (ctx->opset >= 7 && (!as_in_type(ctx, 2) || (as_in_int(ctx, 2, &training) && !training)))
        as_fold_share(ctx, 0, 0);
    return rc;
}

static int bernoulli(struct as_infer *ctx)
{
    unsigned dtype = as_dtype_of_onnx(as_node_int(ctx->node, "dtype", 0));
    struct as_dims dims;

    return as_out_tensor(ctx, 0, dtype != AS_DTYPE_UNKNOWN ? dtype : as_in_dtype(ctx, 0),
                         as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

#define UNARY(name)  {AS_OP_##name, like_first, as_fold_unary},
#define BINARY(name) {AS_OP_##name, arithmetic, as_fold_binary},
#define LIKE(name)   {AS_OP_##name, like_first, NULL},

const struct as_op_rule as_rules_math[] = {
    UNARY(Abs) UNARY(Neg) UNARY(Sign) UNARY(Relu) UNARY(BitwiseNot) UNARY(Ceil) UNARY(Floor)
        UNARY(Round) UNARY(Sqrt) UNARY(Reciprocal) UNARY(Exp) UNARY(Log) UNARY(Erf) UNARY(Sigmoid)
            UNARY(Softplus) UNARY(Softsign) UNARY(Mish) UNARY(HardSwish) UNARY(Sin) UNARY(Cos)
                UNARY(Tan) UNARY(Asin) UNARY(Acos) UNARY(Atan) UNARY(Sinh) UNARY(Cosh) UNARY(Tanh)
                    UNARY(Asinh) UNARY(Acosh) UNARY(Atanh) LIKE(Celu) LIKE(Elu) LIKE(Gelu)
                        LIKE(HardSigmoid) LIKE(LeakyRelu) LIKE(Selu) LIKE(Shrink)
                            LIKE(ThresholdedRelu) LIKE(Affine) LIKE(ImageScaler)
                                LIKE(ParametricSoftplus) LIKE(ScaledTanh) BINARY(Add) BINARY(Sub)
                                    BINARY(Mul) BINARY(Div) BINARY(Mod) BINARY(BitShift)
                                        BINARY(BitwiseAnd) BINARY(BitwiseOr)
                                            BINARY(BitwiseXor){AS_OP_Pow, power, as_fold_binary},
    {AS_OP_And, compare, as_fold_binary},
    {AS_OP_Or, compare, as_fold_binary},
    {AS_OP_Xor, compare, as_fold_binary},
    {AS_OP_Equal, compare, as_fold_binary},
    {AS_OP_Less, compare, as_fold_binary},
    {AS_OP_LessOrEqual, compare, as_fold_binary},
    {AS_OP_Greater, compare, as_fold_binary},
    {AS_OP_GreaterOrEqual, compare, as_fold_binary},
    {AS_OP_Not, to_bool, as_fold_unary},
    {AS_OP_IsNaN, to_bool, as_fold_unary},
    {AS_OP_IsInf, to_bool, NULL},
    {AS_OP_Sum, variadic, as_fold_variadic},
    {AS_OP_Mean, variadic, as_fold_variadic},
    {AS_OP_Min, variadic, as_fold_variadic},
    {AS_OP_Max, variadic, as_fold_variadic},
    {AS_OP_Where, where, as_fold_where},
    {AS_OP_Clip, like_first, as_fold_clip},
    {AS_OP_Cast, cast, as_fold_cast},
    {AS_OP_CastLike, cast_like, as_fold_cast},
    {AS_OP_PRelu, prelu, as_fold_binary},
    {AS_OP_Dropout, dropout, NULL},
    {AS_OP_Identity, identity, NULL},
    {AS_OP_Bernoulli, bernoulli, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
