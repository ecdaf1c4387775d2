/* model/fold/fold_math.c - arithmetic on constants, element by element.
 * Integers wrap as their dtype does; a division by zero or a number that does not fit ends it. */
#include "model/fold/fold.h"

#include <math.h>

/* False: this has no result we may claim. */
typedef bool (*unary_int)(int64_t a, int64_t *out);
typedef double (*unary_float)(double a);
typedef bool (*binary_int)(int64_t a, int64_t b, int64_t *out);
typedef bool (*binary_float)(double a, double b, double *out);

/* ---- of one ---- */

static bool abs_int(int64_t a, int64_t *out)
{
    *out = a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    return true;
}

static bool neg_int(int64_t a, int64_t *out)
{
    *out = (int64_t)(0 - (uint64_t)a);
    return true;
}

static bool sign_int(int64_t a, int64_t *out)
{
    *out = (a > 0) - (a < 0);
    return true;
}

static bool relu_int(int64_t a, int64_t *out)
{
    *out = a > 0 ? a : 0;
    return true;
}

static bool not_bool(int64_t a, int64_t *out)
{
    *out = !a;
    return true;
}

static bool not_bits(int64_t a, int64_t *out)
{
    *out = ~a;
    return true;
}

static double neg_float(double a)
{
    return -a;
}

static double sign_float(double a)
{
    return isnan(a) ? a : (a > 0) - (a < 0);
}

static double relu_float(double a)
{
    return a > 0 || isnan(a) ? a : 0;
}

static double reciprocal(double a)
{
    return 1 / a;
}

static double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

static double softplus(double a)
{
    return a > 30 ? a : log1p(exp(a));
}

static double softsign(double a)
{
    return a / (1 + fabs(a));
}

static double mish(double a)
{
    return a * tanh(softplus(a));
}

static double hard_swish(double a)
{
    return a * fmax(0, fmin(1, a / 6 + 0.5));
}

static double is_nan(double a)
{
    return isnan(a) ? 1 : 0;
}

static const struct {
    unary_int of_int;
    unary_float of_float;
} unary[AS_OP_COUNT] = {
    [AS_OP_Abs] = {abs_int, fabs},
    [AS_OP_Neg] = {neg_int, neg_float},
    [AS_OP_Sign] = {sign_int, sign_float},
    [AS_OP_Relu] = {relu_int, relu_float},
    [AS_OP_Not] = {not_bool, NULL},
    [AS_OP_BitwiseNot] = {not_bits, NULL},
    [AS_OP_Ceil] = {NULL, ceil},
    [AS_OP_Floor] = {NULL, floor},
    [AS_OP_Round] = {NULL, nearbyint},
    [AS_OP_Sqrt] = {NULL, sqrt},
    [AS_OP_Reciprocal] = {NULL, reciprocal},
    [AS_OP_Exp] = {NULL, exp},
    [AS_OP_Log] = {NULL, log},
    [AS_OP_Erf] = {NULL, erf},
    [AS_OP_Sigmoid] = {NULL, sigmoid},
    [AS_OP_Softplus] = {NULL, softplus},
    [AS_OP_Softsign] = {NULL, softsign},
    [AS_OP_Mish] = {NULL, mish},
    [AS_OP_HardSwish] = {NULL, hard_swish},
    [AS_OP_Sin] = {NULL, sin},
    [AS_OP_Cos] = {NULL, cos},
    [AS_OP_Tan] = {NULL, tan},
    [AS_OP_Asin] = {NULL, asin},
    [AS_OP_Acos] = {NULL, acos},
    [AS_OP_Atan] = {NULL, atan},
    [AS_OP_Sinh] = {NULL, sinh},
    [AS_OP_Cosh] = {NULL, cosh},
    [AS_OP_Tanh] = {NULL, tanh},
    [AS_OP_Asinh] = {NULL, asinh},
    [AS_OP_Acosh] = {NULL, acosh},
    [AS_OP_Atanh] = {NULL, atanh},
    [AS_OP_IsNaN] = {NULL, is_nan},
};

static unsigned out_dtype(const struct as_infer *ctx)
{
    return as_fold_type(ctx, 0)->dtype;
}

int as_fold_unary(struct as_infer *ctx)
{
    unary_int of_int = unary[ctx->node->op].of_int;
    unary_float of_float = unary[ctx->node->op].of_float;
    struct as_fold_out out;
    struct as_fold_in in;
    bool is_float;

    if (!as_fold_in(ctx, 0, &in) || !as_fold_start(ctx, &out, out_dtype(ctx), &in.dims))
        return ASSAY_OK;
    is_float = as_dtype_is_float(in.data->dtype);
    if (is_float ? !of_float : !of_int)
        return ASSAY_OK;
    for (uint64_t i = 0; i < in.data->n; i++) {
        union as_number a, result = {.i = 0};

        if (!as_fold_number(in.data, i, is_float, &a)) {
            if (!as_fold_put_unknown(&out, i))
                return ASSAY_OK;
            continue;
        }
        if (is_float)
            result.f = of_float(a.f);
        else if (!of_int(a.i, &result.i))
            return ASSAY_OK;
        if (!as_fold_put(&out, i, is_float, result))
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &out);
}

/* ---- of two ---- */

#define WRAPPING(name, operator)                                                                   \
    static bool name##_int(int64_t a, int64_t b, int64_t *out)                                     \
    {                                                                                              \
        *out = (int64_t)((uint64_t)a operator(uint64_t) b);                                        \
        return true;                                                                               \
    }
#define PLAIN(name, operator)                                                                      \
    static bool name##_float(double a, double b, double *out)                                      \
    {                                                                                              \
        *out = a operator b;                                                                       \
        return true;                                                                               \
    }
#define COMPARING(name, operator)                                                                  \
    static bool name##_int(int64_t a, int64_t b, int64_t *out)                                     \
    {                                                                                              \
        *out = a operator b;                                                                       \
        return true;                                                                               \
    }                                                                                              \
    PLAIN(name, operator)

WRAPPING(add, +)
WRAPPING(sub, -)
WRAPPING(mul, *)
WRAPPING(and, &)
WRAPPING(or, |)
WRAPPING(xor, ^)
PLAIN(add, +)
PLAIN(sub, -)
PLAIN(mul, *)
PLAIN(div, /)
COMPARING(equal, ==)
COMPARING(less, <)
COMPARING(less_equal, <=)
COMPARING(greater, >)
COMPARING(greater_equal, >=)

static bool div_int(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *out = a / b;
    return true;
}

/* The sign is that of the divisor. */
static bool mod_int(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    *out = b == -1 ? 0 : a % b;
    if (*out != 0 && (*out < 0) != (b < 0))
        *out += b;
    return true;
}

/* The sign is that of the dividend, as C has it. */
static bool rest_int(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    *out = b == -1 ? 0 : a % b;
    return true;
}

static bool rest_float(double a, double b, double *out)
{
    *out = fmod(a, b);
    return true;
}

static bool shift_left(int64_t a, int64_t b, int64_t *out)
{
    *out = b >= 0 && b < 64 ? (int64_t)((uint64_t)a << b) : 0;
    return b >= 0 && b < 64;
}

static bool shift_right(int64_t a, int64_t b, int64_t *out)
{
    *out = b >= 0 && b < 64 ? (int64_t)((uint64_t)a >> b) : 0;
    return b >= 0 && b < 64;
}

static bool pow_int(int64_t a, int64_t b, int64_t *out)
{
    uint64_t result = 1, base = (uint64_t)a;

    if (b < 0)
        return false;
    for (; b; b >>= 1) {
        if (b & 1)
            result *= base;
        base *= base;
    }
    *out = (int64_t)result;
    return true;
}

static bool pow_float(double a, double b, double *out)
{
    *out = pow(a, b);
    return true;
}

static bool min_int(int64_t a, int64_t b, int64_t *out)
{
    *out = a < b ? a : b;
    return true;
}

static bool max_int(int64_t a, int64_t b, int64_t *out)
{
    *out = a > b ? a : b;
    return true;
}

static bool min_float(double a, double b, double *out)
{
    *out = isnan(a) || a < b ? a : b;
    return true;
}

static bool max_float(double a, double b, double *out)
{
    *out = isnan(a) || a > b ? a : b;
    return true;
}

static bool prelu_float(double a, double b, double *out)
{
    *out = a < 0 ? a * b : a;
    return true;
}

struct binary {
    binary_int of_int;
    binary_float of_float;
};

static const struct binary binary[AS_OP_COUNT] = {
    [AS_OP_Add] = {add_int, add_float},
    [AS_OP_Sub] = {sub_int, sub_float},
    [AS_OP_Mul] = {mul_int, mul_float},
    [AS_OP_Div] = {div_int, div_float},
    [AS_OP_Mod] = {mod_int, NULL},
    [AS_OP_Pow] = {pow_int, pow_float},
    [AS_OP_And] = {and_int, NULL},
    [AS_OP_Or] = {or_int, NULL},
    [AS_OP_Xor] = {xor_int, NULL},
    [AS_OP_BitwiseAnd] = {and_int, NULL},
    [AS_OP_BitwiseOr] = {or_int, NULL},
    [AS_OP_BitwiseXor] = {xor_int, NULL},
    [AS_OP_BitShift] = {shift_right, NULL},
    [AS_OP_Equal] = {equal_int, equal_float},
    [AS_OP_Less] = {less_int, less_float},
    [AS_OP_LessOrEqual] = {less_equal_int, less_equal_float},
    [AS_OP_Greater] = {greater_int, greater_float},
    [AS_OP_GreaterOrEqual] = {greater_equal_int, greater_equal_float},
    [AS_OP_PRelu] = {NULL, prelu_float},
    [AS_OP_Sum] = {add_int, add_float},
    [AS_OP_Mean] = {NULL, add_float},
    [AS_OP_Min] = {min_int, min_float},
    [AS_OP_Max] = {max_int, max_float},
};

static struct binary binary_of(const struct as_node *node)
{
    if (node->op == AS_OP_BitShift && as_node_text_is(node, "direction", "LEFT"))
        return (struct binary){shift_left, NULL};
    if (node->op == AS_OP_Mod && as_node_int(node, "fmod", 0) != 0)
        return (struct binary){rest_int, rest_float};
    return binary[node->op];
}

/* False: not to be computed. */
static bool combine(struct as_fold_out *out, const struct as_fold_in *a, const struct as_fold_in *b,
                    struct binary how)
{
    bool is_float = as_dtype_is_float(a->data->dtype) || as_dtype_is_float(b->data->dtype);
    int64_t strides_a[AS_MAX_RANK], strides_b[AS_MAX_RANK];
    struct as_fold_walk walk = {.dims = &out->dims, .n = 2, .strides = {strides_a, strides_b}};

    if (is_float ? !how.of_float : !how.of_int)
        return false;
    as_fold_broadcast(a, &out->dims, strides_a);
    as_fold_broadcast(b, &out->dims, strides_b);
    for (uint64_t i = 0; i < out->data->n; i++, as_fold_step(&walk)) {
        union as_number x, y, result = {.i = 0};

        if (!as_fold_number(a->data, (uint64_t)walk.offset[0], is_float, &x) ||
            !as_fold_number(b->data, (uint64_t)walk.offset[1], is_float, &y)) {
            if (!as_fold_put_unknown(out, i))
                return false;
            continue;
        }
        if (is_float ? !how.of_float(x.f, y.f, &result.f) : !how.of_int(x.i, y.i, &result.i))
            return false;
        if (!as_fold_put(out, i, is_float, result))
            return false;
    }
    return true;
}

int as_fold_binary(struct as_infer *ctx)
{
    struct as_fold_out out;
    struct as_fold_in a, b;
    struct as_dims dims;

    if (ctx->opset < 7 && as_node_attr(ctx->node, "axis"))
        return ASSAY_OK;
    if (!as_fold_in(ctx, 0, &a) || !as_fold_in(ctx, 1, &b) ||
        !as_dims_broadcast(&a.dims, &b.dims, &dims) ||
        !as_fold_start(ctx, &out, out_dtype(ctx), &dims) ||
        !combine(&out, &a, &b, binary_of(ctx->node)))
        return ASSAY_OK;
    return as_fold_end(ctx, 0, &out);
}

int as_fold_variadic(struct as_infer *ctx)
{
    struct binary how = binary[ctx->node->op];
    struct as_fold_in all, next;
    struct as_fold_out out;
    struct as_dims dims;

    if (!as_fold_in(ctx, 0, &all))
        return ASSAY_OK;
    for (uint32_t i = 1; i < ctx->node->n_inputs; i++) {
        if (!as_fold_in(ctx, i, &next) || !as_dims_broadcast(&all.dims, &next.dims, &dims) ||
            !as_fold_start(ctx, &out, out_dtype(ctx), &dims) || !combine(&out, &all, &next, how))
            return ASSAY_OK;
        all.data = out.data;
        all.dims = out.dims;
        as_fold_strides(&all.dims, all.strides);
    }
    if (!as_fold_start(ctx, &out, out_dtype(ctx), &all.dims))
        return ASSAY_OK;
    for (uint64_t i = 0; i < all.data->n; i++) {
        if (ctx->node->op == AS_OP_Mean)
            as_data_put_f64(out.data, i, as_data_f64(all.data, i) / ctx->node->n_inputs);
        else
            as_fold_copy(&out, i, all.data, i);
    }
    return as_fold_end(ctx, 0, &out);
}

/* ---- of three, and from one dtype to another ---- */

int as_fold_where(struct as_infer *ctx)
{
    int64_t strides[3][AS_MAX_RANK];
    struct as_fold_walk walk = {.n = 3, .strides = {strides[0], strides[1], strides[2]}};
    struct as_fold_in in[3];
    struct as_fold_out out;
    struct as_dims dims;

    for (size_t i = 0; i < 3; i++)
        if (!as_fold_in(ctx, i, &in[i]))
            return ASSAY_OK;
    if (in[0].data->dtype != AS_DTYPE_BOOL || in[1].data->dtype != in[2].data->dtype ||
        !as_dims_broadcast(&in[1].dims, &in[2].dims, &dims) ||
        !as_dims_broadcast(&in[0].dims, &dims, &dims) ||
        !as_fold_start(ctx, &out, in[1].data->dtype, &dims))
        return ASSAY_OK;
    for (int i = 0; i < 3; i++)
        as_fold_broadcast(&in[i], &dims, strides[i]);
    walk.dims = &out.dims;
    for (uint64_t i = 0; i < out.data->n; i++, as_fold_step(&walk)) {
        int from = as_data_i64(in[0].data, (uint64_t)walk.offset[0]) ? 1 : 2;

        as_fold_copy(&out, i, in[from].data, (uint64_t)walk.offset[from]);
    }
    return as_fold_end(ctx, 0, &out);
}

/* A limit of Clip, from an attribute to opset 10 and from an input since. False: it is there, but
 * not known. */
static bool limit_of(const struct as_infer *ctx, const char *name, size_t i, bool is_float,
                     union as_number *limit, bool *there)
{
    struct as_fold_in in;

    *there = false;
    if (ctx->opset < 11 && as_node_attr(ctx->node, name)) {
        *there = true;
        limit->f = as_node_float(ctx->node, name, 0);
        return is_float;
    }
    if (!as_in_type(ctx, i))
        return true;
    *there = true;
    return as_fold_in(ctx, i, &in) && in.data->n == 1 &&
           as_dtype_is_float(in.data->dtype) == is_float &&
           as_fold_number(in.data, 0, is_float, limit);
}

int as_fold_clip(struct as_infer *ctx)
{
    union as_number low = {.i = 0}, high = {.i = 0}, number;
    bool has_low, has_high, is_float;
    struct as_fold_out out;
    struct as_fold_in in;

    if (!as_fold_in(ctx, 0, &in) || !as_fold_start(ctx, &out, in.data->dtype, &in.dims))
        return ASSAY_OK;
    is_float = as_dtype_is_float(in.data->dtype);
    if (!limit_of(ctx, "min", 1, is_float, &low, &has_low) ||
        !limit_of(ctx, "max", 2, is_float, &high, &has_high))
        return ASSAY_OK;
    for (uint64_t i = 0; i < in.data->n; i++) {
        if (!as_fold_number(in.data, i, is_float, &number)) {
            if (!as_fold_put_unknown(&out, i))
                return ASSAY_OK;
            continue;
        }
        if (has_low && (is_float ? number.f < low.f : number.i < low.i))
            number = low;
        if (has_high && (is_float ? number.f > high.f : number.i > high.i))
            number = high;
        if (!as_fold_put(&out, i, is_float, number))
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &out);
}

static bool is_number(unsigned dtype)
{
    return as_dtype_is_float(dtype) || as_dtype_is_integer(dtype) || dtype == AS_DTYPE_BOOL;
}

int as_fold_cast(struct as_infer *ctx)
{
    unsigned to = out_dtype(ctx);
    struct as_fold_out out;
    struct as_fold_in in;
    bool is_float;

    if (!as_fold_in(ctx, 0, &in) || !is_number(in.data->dtype) || !is_number(to))
        return ASSAY_OK;
    if (to == in.data->dtype) {
        as_fold_share(ctx, 0, 0);
        return ASSAY_OK;
    }
    /* How a float becomes one of 8 or 4 bits depends on an attribute; shapes never need it. */
    if ((as_dtype_is_float(to) && as_dtype_at(to)->block_bytes == 1) ||
        !as_fold_start(ctx, &out, to, &in.dims))
        return ASSAY_OK;
    is_float = as_dtype_is_float(in.data->dtype);
    for (uint64_t i = 0; i < in.data->n; i++) {
        union as_number number;

        if (!as_fold_number(in.data, i, is_float, &number) ||
            !as_fold_put(&out, i, is_float, number))
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &out);
}
