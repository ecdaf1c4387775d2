/* engine/kernels/math/kern_math_binary.c - arithmetic of two numbers, and sums and extremes of many
 * tensors. Each formula is written once and made into loops for each type and way of broadcasting.
 */
#include <string.h>
#include <tgmath.h>

#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_math_loops.h"
#include "engine/kernels/math/kern_typed.h"

/* NaN wins, as in NumPy. */
#define LARGER  (x > y || x != x ? x : y)
#define SMALLER (x < y || x != x ? x : y)

#define X(DTYPE, tag, type, wide)                                                                  \
    AS_LOOP2(Add, tag, type, type, x + y)                                                          \
    AS_LOOP2(Sub, tag, type, type, x - y)                                                          \
    AS_LOOP2(Mul, tag, type, type, x *y)                                                           \
    AS_LOOP2(Div, tag, type, type, x / y)                                                          \
    AS_LOOP2(Max, tag, type, type, LARGER)                                                         \
    AS_LOOP2(Min, tag, type, type, SMALLER)                                                        \
    AS_LOOP2(PRelu, tag, type, type, x < 0 ? x * y : x)                                            \
    AS_LOOP2(Rem, tag, type, type, fmod(x, y))                                                     \
    AS_LOOP2(Mod, tag, type, type, x - floor(x / y) * y)
AS_TYPES_FLOAT(X)
#undef X

#define X(DTYPE, tag, type, wide)                                                                  \
    AS_LOOP2(Add, tag, type, type, (wide)x + (wide)y)                                              \
    AS_LOOP2(Sub, tag, type, type, (wide)x - (wide)y)                                              \
    AS_LOOP2(Mul, tag, type, type, (wide)x *(wide)y)                                               \
    AS_LOOP2(Max, tag, type, type, x > y ? x : y)                                                  \
    AS_LOOP2(Min, tag, type, type, x < y ? x : y)                                                  \
    AS_LOOP2(BitwiseAnd, tag, type, type, x &y)                                                    \
    AS_LOOP2(BitwiseOr, tag, type, type, x | y)                                                    \
    AS_LOOP2(BitwiseXor, tag, type, type, x ^ y)                                                   \
    AS_LOOP2(ShiftLeft, tag, type, type, (uint64_t)y < 8 * sizeof(T) ? (wide)x << y : 0)           \
    AS_LOOP2(ShiftRight, tag, type, type, (uint64_t)y < 8 * sizeof(T) ? x >> y : 0)
AS_TYPES_WHOLE(X)
#undef X

/* Divisors are never 0 here. The smallest number by -1 wraps to itself; the remainder of Mod takes
 * the divisor's sign, as in Python. */
#define X(DTYPE, tag, type, wide)                                                                  \
    static inline type floor_mod_##tag(type x, type y)                                             \
    {                                                                                              \
        type rest = (type)(y == -1 ? 0 : x % y);                                                   \
                                                                                                   \
        return (type)(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);                       \
    }                                                                                              \
    AS_LOOP2(Div, tag, type, type, y == -1 ? (T)((wide)0 - (wide)x) : (T)(x / y))                  \
    AS_LOOP2(Rem, tag, type, type, y == -1 ? 0 : x % y)                                            \
    AS_LOOP2(Mod, tag, type, type, floor_mod_##tag(x, y))                                          \
    AS_LOOP2(PRelu, tag, type, type, x < 0 ? (T)((wide)x * (wide)y) : x)
AS_TYPES_SIGNED(X)
#undef X
#define X(DTYPE, tag, type, wide)                                                                  \
    AS_LOOP2(Div, tag, type, type, x / y)                                                          \
    AS_LOOP2(Rem, tag, type, type, x % y)                                                          \
    AS_LOOP2(Mod, tag, type, type, x % y)                                                          \
    AS_LOOP2(PRelu, tag, type, type, ((void)y, x))
AS_TYPES_UNSIGNED(X)
#undef X

/* What an operator is in these loops; Mod and BitShift have two forms. */
enum form { ADD, SUB, MUL, DIV, MAX, MIN, PRELU, REM, MOD, AND, OR, XOR, LEFT, RIGHT, N_FORMS };

static const as_row_fn rows[AS_DTYPE_BOOL][N_FORMS] = {
#define X(DTYPE, tag, type, wide)                                                                  \
    [AS_DTYPE_##DTYPE] = {Add_##tag, Sub_##tag,   Mul_##tag, Div_##tag, Max_##tag,                 \
                          Min_##tag, PRelu_##tag, Rem_##tag, Mod_##tag},
    AS_TYPES_FLOAT(X)
#undef X
#define X(DTYPE, tag, type, wide)                                                                  \
    [AS_DTYPE_##DTYPE] = {Add_##tag,       Sub_##tag,        Mul_##tag,       Div_##tag,           \
                          Max_##tag,       Min_##tag,        PRelu_##tag,     Rem_##tag,           \
                          Mod_##tag,       BitwiseAnd_##tag, BitwiseOr_##tag, BitwiseXor_##tag,    \
                          ShiftLeft_##tag, ShiftRight_##tag},
        AS_TYPES_WHOLE(X)
#undef X
};

static enum form form_of(const struct as_node *node)
{
    switch (node->op) {
    case AS_OP_Sub:
        return SUB;
    case AS_OP_Mul:
        return MUL;
    case AS_OP_Div:
        return DIV;
    case AS_OP_Max:
        return MAX;
    case AS_OP_Min:
        return MIN;
    case AS_OP_PRelu:
        return PRELU;
    case AS_OP_Mod:
        return as_node_int(node, "fmod", 0) != 0 ? REM : MOD;
    case AS_OP_BitwiseAnd:
        return AND;
    case AS_OP_BitwiseOr:
        return OR;
    case AS_OP_BitwiseXor:
        return XOR;
    case AS_OP_BitShift:
        return as_node_text_is(node, "direction", "LEFT") ? LEFT : RIGHT;
    default:
        return ADD;
    }
}

static as_row_fn find_row(unsigned dtype, enum form form)
{
    return dtype < AS_DTYPE_BOOL ? rows[dtype][form] : NULL;
}

int as_second_input(struct as_kernel_ctx *k, struct as_val *second)
{
    const struct as_val *a = k->in[0], *b = k->in[1];
    int64_t axis;

    *second = *b;
    if (k->opset >= 7 || b->rank == a->rank || b->n == 1)
        return ASSAY_OK;
    axis = as_node_int(k->node, "axis", (int64_t)a->rank - b->rank);
    if (axis < 0)
        axis += a->rank;
    if (axis < 0 || axis + b->rank > a->rank)
        return as_kernel_fail(k, "axis %lld leaves no room for a second input of rank %d",
                              (long long)axis, b->rank);
    for (int i = (int)axis + b->rank; i < a->rank; i++)
        second->dims[second->rank++] = 1;
    return ASSAY_OK;
}

/* Of whole numbers: a divisor of 0 has no answer. */
static int check_divisor(struct as_kernel_ctx *k, const struct as_val *b)
{
    size_t bytes = as_elem_bytes(b->dtype);
    const char *at = b->data;
    static const char zero[8];

    if (as_dtype_is_float(b->dtype) || bytes > sizeof zero)
        return ASSAY_OK;
    for (uint64_t i = 0; i < b->n; i++)
        if (memcmp(at + i * bytes, zero, bytes) == 0)
            return as_kernel_fail(k, "element %llu of the divisor is 0", (unsigned long long)i);
    return ASSAY_OK;
}

static int run_form(struct as_kernel_ctx *k, enum form form, const struct as_val *a,
                    const struct as_val *b, struct as_val *out)
{
    struct as_broadcast two = {.n_in = 2, .in = {a, b}, .out = out};

    two.row = find_row(a->dtype, form);
    if (!two.row || a->dtype != out->dtype)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(a->dtype));
    if (a->dtype != b->dtype)
        return as_kernel_fail(k, "%s and %s do not go together", as_dtype_name(a->dtype),
                              as_dtype_name(b->dtype));
    return as_broadcast_run(k, &two);
}

int as_run_binary(struct as_kernel_ctx *k)
{
    enum form form = form_of(k->node);
    struct as_val second = {0};
    int rc = as_second_input(k, &second);

    /* A slope of one number per channel stood beside the second axis before opset 7. */
    if (rc == ASSAY_OK && form == PRELU && k->opset < 7 && k->in[1]->n > 1 && k->in[0]->rank > 1 &&
        k->in[1]->rank == 1) {
        second = *k->in[1];
        for (int i = 2; i < k->in[0]->rank; i++)
            second.dims[second.rank++] = 1;
    }
    if (rc == ASSAY_OK && (form == DIV || form == MOD || form == REM))
        rc = check_divisor(k, &second);
    return rc < 0 ? rc : run_form(k, form, k->in[0], &second, k->out[0]);
}

struct scaled {
    struct as_val *out;
    double by;
};

AS_VECTOR(static, scale_f32, (float *x, float by, uint64_t n), (x, by, n))
{
    for (uint64_t i = 0; i < n; i++)
        x[i] *= by;
}

static void scale_piece(void *arg, uint64_t from, uint64_t to)
{
    const struct scaled *s = arg;

    if (s->out->dtype == AS_DTYPE_F32)
        scale_f32((float *)s->out->data + from, (float)s->by, to - from);
    else
        for (uint64_t i = from; i < to; i++)
            as_val_put_f64(s->out, i, as_val_f64(s->out, i) * s->by);
}

int as_run_variadic(struct as_kernel_ctx *k)
{
    enum form form = form_of(k->node);
    struct scaled mean = {k->out[0], 1.0 / (double)k->n_in};
    const struct as_val *sum = k->in[0];
    int rc = ASSAY_OK;

    if (k->n_in == 1) {
        rc = as_kernel_same_size(k, sum, k->out[0], "the output");
        if (rc == ASSAY_OK)
            memcpy(k->out[0]->data, sum->data, sum->bytes);
        return rc;
    }
    for (size_t i = 1; i < k->n_in && rc == ASSAY_OK; i++) {
        if (!k->in[i])
            return as_kernel_fail(k, "input %zu is missing", i);
        rc = run_form(k, form, sum, k->in[i], k->out[0]);
        sum = k->out[0];
    }
    if (rc == ASSAY_OK && k->node->op == AS_OP_Mean)
        as_kernel_parallel(k, k->out[0]->n, AS_GRAIN, scale_piece, &mean);
    return rc;
}
