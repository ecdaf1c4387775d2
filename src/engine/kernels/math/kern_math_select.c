/* engine/kernels/math/kern_math_select.c - Where and Clip: which of several numbers it is to be.
 * Where only moves bytes, so its loops go by the width of an element. */
#include <math.h>
#include <string.h>

#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_typed.h"

struct wide {
    uint64_t half[2];
};

#define WHERE(tag, type)                                                                           \
    AS_VECTOR(                                                                                     \
        static, where_##tag,                                                                       \
        (const void *arg, const void *const *in, void *out, uint64_t n, const int64_t *stride),    \
        (arg, in, out, n, stride))                                                                 \
    {                                                                                              \
        const uint8_t *c = in[0];                                                                  \
        const type *a = in[1], *b = in[2];                                                         \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        (void)arg;                                                                                 \
        if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1)                                    \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = c[i] ? a[i] : b[i];                  \
        else if (stride[0] == 1 && stride[1] == 0 && stride[2] == 1)                               \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = c[i] ? *a : b[i];                    \
        else if (stride[0] == 1 && stride[1] == 1 && stride[2] == 0)                               \
            AS_IVDEP for (uint64_t i = 0; i < n; i++) to[i] = c[i] ? a[i] : *b;                    \
        else                                                                                       \
            for (uint64_t i = 0; i < n; i++)                                                       \
                to[i] = c[(int64_t)i * stride[0]] ? a[(int64_t)i * stride[1]]                      \
                                                  : b[(int64_t)i * stride[2]];                     \
    }
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)
WHERE(16, struct wide)

_Static_assert(sizeof(struct as_text) == sizeof(struct wide), "texts are moved as wide elements");

/* Texts that were copied from an input get bytes of the output's own. */
static int own_texts(struct as_kernel_ctx *k, struct as_val *out)
{
    struct as_text *texts = out->data;

    if (!out->hold)
        return as_kernel_cannot(k, "its strings have nowhere to be");
    for (uint64_t i = 0; i < out->n; i++) {
        texts[i].at =
            as_arena_text(&out->hold->texts, texts[i].at ? texts[i].at : "", texts[i].size);
        if (!texts[i].at)
            return as_fail_nomem(k->err);
    }
    return ASSAY_OK;
}

int as_run_where(struct as_kernel_ctx *k)
{
    static const as_row_fn rows[17] = {
        [1] = where_1, [2] = where_2, [4] = where_4, [8] = where_8, [16] = where_16};
    struct as_broadcast three = {.n_in = 3, .in = {k->in[0], k->in[1], k->in[2]}, .out = k->out[0]};
    size_t bytes = as_elem_bytes(k->out[0]->dtype);
    int rc;

    if (k->in[0]->dtype != AS_DTYPE_BOOL || k->in[1]->dtype != k->in[2]->dtype ||
        k->in[1]->dtype != k->out[0]->dtype)
        return as_kernel_fail(k, "%s, %s and %s do not go together", as_dtype_name(k->in[0]->dtype),
                              as_dtype_name(k->in[1]->dtype), as_dtype_name(k->in[2]->dtype));
    three.row = bytes <= 16 ? rows[bytes] : NULL;
    if (!three.row)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(k->out[0]->dtype));
    rc = as_broadcast_run(k, &three);
    return rc == ASSAY_OK && k->out[0]->dtype == AS_DTYPE_STRING ? own_texts(k, k->out[0]) : rc;
}

/* ---- Clip ---- */

struct clip {
    const void *in;
    void *out;
    const struct as_val *low, *high; /* NULL: no limit */
    double low_float, high_float;    /* of the attributes, before opset 11 and in TensorFlow Lite */
};

/* NaN stays; where the limits cross the upper one wins. */
#define X(DTYPE, tag, type, wide)                                                                  \
    AS_VECTOR(static, clip_loop_##tag,                                                             \
              (const type *in, type out[], type low, type high, uint64_t n),                       \
              (in, out, low, high, n))                                                             \
    {                                                                                              \
        AS_IVDEP for (uint64_t i = 0; i < n; i++)                                                  \
        {                                                                                          \
            type x = in[i] < low ? low : in[i];                                                    \
                                                                                                   \
            out[i] = x > high ? high : x;                                                          \
        }                                                                                          \
    }                                                                                              \
    static void clip_##tag(void *arg, uint64_t from, uint64_t to)                                  \
    {                                                                                              \
        const struct clip *c = arg;                                                                \
        type low = c->low ? *(const type *)c->low->data : LOWEST_##tag(c->low_float);              \
        type high = c->high ? *(const type *)c->high->data : HIGHEST_##tag(c->high_float);         \
                                                                                                   \
        clip_loop_##tag((const type *)c->in + from, (type *)c->out + from, low, high, to - from);  \
    }
#define LOWEST_f32(x)  (float)x
#define LOWEST_f64(x)  x
#define LOWEST_i8(x)   INT8_MIN
#define LOWEST_i16(x)  INT16_MIN
#define LOWEST_i32(x)  INT32_MIN
#define LOWEST_i64(x)  INT64_MIN
#define LOWEST_u8(x)   0
#define LOWEST_u16(x)  0
#define LOWEST_u32(x)  0
#define LOWEST_u64(x)  0
#define HIGHEST_f32(x) (float)x
#define HIGHEST_f64(x) x
#define HIGHEST_i8(x)  INT8_MAX
#define HIGHEST_i16(x) INT16_MAX
#define HIGHEST_i32(x) INT32_MAX
#define HIGHEST_i64(x) INT64_MAX
#define HIGHEST_u8(x)  UINT8_MAX
#define HIGHEST_u16(x) UINT16_MAX
#define HIGHEST_u32(x) UINT32_MAX
#define HIGHEST_u64(x) UINT64_MAX
AS_TYPES_NUMBER(X)
#undef X

static const as_kernel_work_fn clips[AS_DTYPE_COUNT] = {
#define X(DTYPE, tag, type, wide) [AS_DTYPE_##DTYPE] = clip_##tag,
    AS_TYPES_NUMBER(X)
#undef X
};

static int check_limit(struct as_kernel_ctx *k, size_t i, const struct as_val **limit)
{
    *limit = k->opset >= 11 && as_has_in(k, i) ? k->in[i] : NULL;
    if (*limit && ((*limit)->n < 1 || (*limit)->dtype != k->in[0]->dtype))
        return as_kernel_fail(k, "limit %zu is not one number of the input's type", i);
    return ASSAY_OK;
}

int as_run_clip(struct as_kernel_ctx *k)
{
    bool lowered = as_node_is_lowered(k->node), by_attrs = k->opset < 11 || lowered;
    double most = (double)INFINITY;
    struct clip c = {.in = k->in[0]->data,
                     .out = k->out[0]->data,
                     .low_float = by_attrs ? as_node_float(k->node, "min", -most) : -most,
                     .high_float = by_attrs ? as_node_float(k->node, "max", most) : most};
    as_kernel_work_fn loop = clips[k->in[0]->dtype];
    int rc = as_kernel_same_size(k, k->in[0], k->out[0], "the output");

    if (rc == ASSAY_OK)
        rc = check_limit(k, 1, &c.low);
    if (rc == ASSAY_OK)
        rc = check_limit(k, 2, &c.high);
    if (rc < 0)
        return rc;
    /* Limits by attributes are floats; integers would not be limited. */
    if (!loop || (lowered && !as_dtype_is_float(k->in[0]->dtype)))
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(k->in[0]->dtype));
    as_kernel_parallel(k, k->in[0]->n, AS_GRAIN, loop, &c);
    return ASSAY_OK;
}
