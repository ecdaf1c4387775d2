/* engine/kernels/math/kern_math_unary.c - kernels of one number in, one number out.
 * Each formula is written once and made into a loop for each type. */
#include <tgmath.h>

#include "base/units.h"
#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_typed.h"

struct params {
    double alpha, beta;
};

typedef void (*unary_loop)(const struct params *p, const void *in, void *out, uint64_t n);

/* In a formula: x is the number, T its type, a and b the parameters. */
#define LOOP(name, tag, type, result, formula)                                                     \
    AS_VECTOR(static, name##_##tag,                                                                \
              (const struct params *p, const void *in, void *out, uint64_t n), (p, in, out, n))    \
    {                                                                                              \
        typedef type T;                                                                            \
        const T *from = in, a = (T)p->alpha, b = (T)p->beta;                                       \
        result *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                         \
                                                                                                   \
        (void)a, (void)b;                                                                          \
        AS_IVDEP for (uint64_t i = 0; i < n; i++)                                                  \
        {                                                                                          \
            T x = from[i];                                                                         \
                                                                                                   \
            to[i] = (result)(formula);                                                             \
        }                                                                                          \
    }

#define FLOAT_FORMULAS(X)                                                                          \
    X(Abs, fabs(x))                                                                                \
    X(Neg, -x)                                                                                     \
    X(Sign, x > 0 ? 1 : x < 0 ? -1 : x)                                                            \
    X(Ceil, ceil(x))                                                                               \
    X(Floor, floor(x))                                                                             \
    X(Round, rint(x))                                                                              \
    X(Sqrt, sqrt(x))                                                                               \
    X(Reciprocal, 1 / x)                                                                           \
    X(Exp, AS_EXP(x))                                                                              \
    X(Log, log(x))                                                                                 \
    X(Erf, AS_ERF(x))                                                                              \
    X(Sin, sin(x))                                                                                 \
    X(Cos, cos(x))                                                                                 \
    X(Tan, tan(x))                                                                                 \
    X(Asin, asin(x))                                                                               \
    X(Acos, acos(x))                                                                               \
    X(Atan, atan(x))                                                                               \
    X(Sinh, sinh(x))                                                                               \
    X(Cosh, cosh(x))                                                                               \
    X(Tanh, AS_TANH(x))                                                                            \
    X(Asinh, asinh(x))                                                                             \
    X(Acosh, acosh(x))                                                                             \
    X(Atanh, atanh(x))                                                                             \
    X(Relu, x < 0 ? 0 : x)                                                                         \
    X(Sigmoid, AS_SIGMOID(x))                                                                      \
    X(Softplus, (x > 0 ? x : 0) + log1p(AS_EXP(-fabs(x))))                                         \
    X(Softsign, x / (1 + fabs(x)))                                                                 \
    X(HardSwish, x *fmin(fmax(x / 6 + (T)0.5, (T)0), (T)1))                                        \
    X(HardSigmoid, fmin(fmax(a *x + b, (T)0), (T)1))                                               \
    X(Mish, mish(x))                                                                               \
    X(Elu, x > 0 ? x : a * AS_EXPM1(x))                                                            \
    X(Celu, x > 0 ? x : a * AS_EXPM1(x / a))                                                       \
    X(Selu, b *(x > 0 ? x : a * AS_EXPM1(x)))                                                      \
    X(LeakyRelu, x < 0 ? a * x : x)                                                                \
    X(ThresholdedRelu, x > a ? x : 0)                                                              \
    X(Affine, a *x + b)                                                                            \
    X(ScaledTanh, a *AS_TANH(b *x))                                                                \
    X(ParametricSoftplus, a *((b * x > 0 ? b * x : 0) + log1p(AS_EXP(-fabs(b * x)))))

/* Shrink and the exact and quick forms of Gelu are chosen by attributes. */
#define CHOSEN_FORMULAS(X)                                                                         \
    X(Shrink, x<-a ? x + b : x> a ? x - b : 0)                                                     \
    X(GeluErf, x *(T)0.5 * (1 + AS_ERF(x * (T)0.70710678118654752440)))                            \
    X(GeluTanh,                                                                                    \
      x *(T)0.5 * (1 + AS_TANH((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x))))

/* x tanh(log(1 + e^x)), with the logarithm cancelled; past 20 it is x. */
static inline float mish_f32(float x)
{
    float e = as_expf(x < 20 ? x : 20), n = e * (e + 2);

    return x * (n / (n + 2));
}

static inline double mish_f64(double x)
{
    double e = (exp)(x < 40 ? x : 40), n = e * (e + 2);

    return x * (n / (n + 2));
}

#define mish(x) _Generic((x), float : mish_f32, double : mish_f64)(x)

#define X(name, formula) LOOP(name, f32, float, float, formula)
FLOAT_FORMULAS(X)
CHOSEN_FORMULAS(X)
LOOP(IsNaN, f32, float, uint8_t, x != x)
LOOP(IsInf, f32, float, uint8_t, (a != 0 && x == (T)INFINITY) || (b != 0 && x == -(T)INFINITY))
#undef X
#define X(name, formula) LOOP(name, f64, double, double, formula)
FLOAT_FORMULAS(X)
CHOSEN_FORMULAS(X)
LOOP(IsNaN, f64, double, uint8_t, x != x)
LOOP(IsInf, f64, double, uint8_t, (a != 0 && x == (T)INFINITY) || (b != 0 && x == -(T)INFINITY))
#undef X

#define X(DTYPE, tag, type, wide)                                                                  \
    LOOP(Abs, tag, type, type, x < 0 ? (wide)0 - (wide)x : (wide)x)                                \
    LOOP(Neg, tag, type, type, (wide)0 - (wide)x)                                                  \
    LOOP(Sign, tag, type, type, (x > 0) - (x < 0))                                                 \
    LOOP(Relu, tag, type, type, x < 0 ? 0 : x)                                                     \
    LOOP(BitwiseNot, tag, type, type, ~(wide)x)
AS_TYPES_SIGNED(X)
#undef X
#define X(DTYPE, tag, type, wide)                                                                  \
    LOOP(Abs, tag, type, type, x)                                                                  \
    LOOP(Neg, tag, type, type, (wide)0 - (wide)x)                                                  \
    LOOP(Sign, tag, type, type, x > 0)                                                             \
    LOOP(Relu, tag, type, type, x)                                                                 \
    LOOP(BitwiseNot, tag, type, type, ~(wide)x)
AS_TYPES_UNSIGNED(X)
#undef X
LOOP(Not, flag, uint8_t, uint8_t, x == 0)

static const struct {
    enum as_op op;
    unsigned dtype;
    unary_loop loop;
} loops[] = {
#define X(name, formula)                                                                           \
    {AS_OP_##name, AS_DTYPE_F32, name##_f32}, {AS_OP_##name, AS_DTYPE_F64, name##_f64},
    FLOAT_FORMULAS(X)
#undef X
#define X(DTYPE, tag, type, wide)                                                                  \
    {AS_OP_Abs, AS_DTYPE_##DTYPE, Abs_##tag}, {AS_OP_Neg, AS_DTYPE_##DTYPE, Neg_##tag},            \
        {AS_OP_Sign, AS_DTYPE_##DTYPE, Sign_##tag}, {AS_OP_Relu, AS_DTYPE_##DTYPE, Relu_##tag},    \
        {AS_OP_BitwiseNot, AS_DTYPE_##DTYPE, BitwiseNot_##tag},
        AS_TYPES_WHOLE(X)
#undef X
            {AS_OP_IsNaN, AS_DTYPE_F32, IsNaN_f32},
    {AS_OP_IsNaN, AS_DTYPE_F64, IsNaN_f64},
    {AS_OP_IsInf, AS_DTYPE_F32, IsInf_f32},
    {AS_OP_IsInf, AS_DTYPE_F64, IsInf_f64},
    {AS_OP_Shrink, AS_DTYPE_F32, Shrink_f32},
    {AS_OP_Shrink, AS_DTYPE_F64, Shrink_f64},
    {AS_OP_Gelu, AS_DTYPE_F32, GeluErf_f32},
    {AS_OP_Gelu, AS_DTYPE_F64, GeluErf_f64},
    {AS_OP_Not, AS_DTYPE_BOOL, Not_flag},
};

static unary_loop find_loop(enum as_op op, unsigned dtype)
{
    for (size_t i = 0; i < AS_COUNT_OF(loops); i++)
        if (loops[i].op == op && loops[i].dtype == dtype)
            return loops[i].loop;
    return NULL;
}

/* Attributes of the formulas, with what they are when not given. */
static const struct {
    enum as_op op;
    const char *alpha;
    double alpha_default;
    const char *beta;
    double beta_default;
} attributes[] = {
    {AS_OP_HardSigmoid, "alpha", 0.2, "beta", 0.5},
    {AS_OP_Elu, "alpha", 1, NULL, 0},
    {AS_OP_Celu, "alpha", 1, NULL, 0},
    {AS_OP_Selu, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
    {AS_OP_LeakyRelu, "alpha", 0.01, NULL, 0},
    {AS_OP_ThresholdedRelu, "alpha", 1, NULL, 0},
    {AS_OP_Affine, "alpha", 1, "beta", 0},
    {AS_OP_ScaledTanh, "alpha", 1, "beta", 1},
    {AS_OP_ParametricSoftplus, "alpha", 1, "beta", 1},
    {AS_OP_Shrink, "lambd", 0.5, "bias", 0},
};

static struct params read_params(const struct as_node *node)
{
    for (size_t i = 0; i < AS_COUNT_OF(attributes); i++)
        if (attributes[i].op == node->op)
            return (struct params){
                as_node_float(node, attributes[i].alpha, attributes[i].alpha_default),
                attributes[i].beta
                    ? as_node_float(node, attributes[i].beta, attributes[i].beta_default)
                    : 0};
    return (struct params){0, 0};
}

struct unary {
    struct params params;
    unary_loop loop;
    const struct as_val *in;
    struct as_val *out;
};

static void run_plain(void *arg, uint64_t from, uint64_t to)
{
    const struct unary *u = arg;

    u->loop(&u->params, (const char *)u->in->data + from * as_elem_bytes(u->in->dtype),
            (char *)u->out->data + from * as_elem_bytes(u->out->dtype), to - from);
}

/* Types without a loop of their own go through double. */
static void run_double(void *arg, uint64_t from, uint64_t to)
{
    const struct unary *u = arg;
    double x[256];

    while (from < to) {
        uint64_t n = to - from < 256 ? to - from : 256;

        for (uint64_t i = 0; i < n; i++)
            x[i] = as_val_f64(u->in, from + i);
        u->loop(&u->params, x, x, n);
        for (uint64_t i = 0; i < n; i++)
            as_val_put_f64(u->out, from + i, x[i]);
        from += n;
    }
}

static int run_loop(struct as_kernel_ctx *k, unary_loop loop, const struct params *params)
{
    struct unary u = {*params, loop, k->in[0], k->out[0]};
    int rc = as_kernel_same_size(k, u.in, u.out, "the output");

    if (rc < 0)
        return rc;
    if (u.loop) {
        as_kernel_parallel(k, u.in->n, AS_GRAIN, run_plain, &u);
        return ASSAY_OK;
    }
    u.loop = find_loop(k->node->op, AS_DTYPE_F64);
    if (!u.loop || u.in->dtype != u.out->dtype || as_elem_bytes(u.in->dtype) == 0)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(u.in->dtype));
    as_kernel_parallel(k, u.in->n, AS_GRAIN, run_double, &u);
    return ASSAY_OK;
}

int as_run_unary(struct as_kernel_ctx *k)
{
    struct params params = read_params(k->node);

    return run_loop(k, find_loop(k->node->op, k->in[0]->dtype), &params);
}

int as_run_gelu(struct as_kernel_ctx *k)
{
    bool quick = as_node_text_is(k->node, "approximate", "tanh");
    unary_loop loop = find_loop(AS_OP_Gelu, k->in[0]->dtype);

    if (quick && loop)
        loop = k->in[0]->dtype == AS_DTYPE_F32 ? GeluTanh_f32 : GeluTanh_f64;
    return run_loop(k, loop, &(struct params){0, 0});
}

int as_run_is_inf(struct as_kernel_ctx *k)
{
    struct params params = {as_node_int(k->node, "detect_positive", 1) != 0,
                            as_node_int(k->node, "detect_negative", 1) != 0};

    return run_loop(k, find_loop(AS_OP_IsInf, k->in[0]->dtype), &params);
}
