/* model/build/build_attention.c - attention for the builder, written in plain operators that any
 * engine runs: dense products, a softmax, and masks that nodes make, so that nothing is stored for
 * them. */
#include "model/build/build_attention.h"

#include <math.h>

uint32_t as_build_positions(struct as_builder *b, const char *name, uint32_t length, int64_t known)
{
    struct as_build_node node = {
        .op = "Range",
        .name = name,
        AS_BUILD_IN(as_build_int(b, 0), length, as_build_int(b, 1)),
    };
    struct as_dims dims = {1, {known}};

    return as_build_one(b, &node, &dims);
}

/* [rows, columns] full of minus infinity. */
static uint32_t full_of_minus_infinity(struct as_builder *b, uint32_t rows, uint32_t columns,
                                       const struct as_dims *dims)
{
    struct as_arena *arena = &b->model->arena;
    struct as_dims one = {1, {1}};
    struct as_attr value = {.name = "value", .kind = AS_ATTR_TENSOR};
    const int64_t flat = -1;
    uint32_t height = as_build_reshape(b, "Reshape", rows, &flat, 1);
    uint32_t width =
        columns == rows ? height : as_build_reshape(b, "Reshape_columns", columns, &flat, 1);
    uint32_t shape = as_build_concat(b, "Concat", (const uint32_t[]){height, width}, 2, 0);
    struct as_build_node node = {.op = "ConstantOfShape",
                                 .name = "ConstantOfShape",
                                 AS_BUILD_IN(shape),
                                 .attrs = &value,
                                 .n_attrs = 1};
    uint32_t full;

    value.data = as_data_new(arena, b->dtype, 1);
    if (!value.data || !as_type_tensor(&value.type, arena, b->dtype, &one))
        return as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
    as_data_put_f64(value.data, 0, (double)-INFINITY);
    full = as_build_one(b, &node, NULL);
    as_build_set_type(b, full, b->dtype, dims);
    return full;
}

uint32_t as_build_mask_above(struct as_builder *b, uint32_t rows, uint32_t columns, uint32_t first,
                             const struct as_dims *dims)
{
    struct as_build_node node = {.op = "Trilu",
                                 .name = "Trilu",
                                 AS_BUILD_IN(full_of_minus_infinity(b, rows, columns, dims), first),
                                 AS_BUILD_ATTR(as_attr_of_int("upper", 1))};

    return as_build_one(b, &node, dims);
}

uint32_t as_build_causal_mask(struct as_builder *b, const char *name, uint32_t length,
                              int64_t known)
{
    struct as_dims dims = {2, {known, known}};
    uint32_t mask;

    as_build_scope(b, "%s", name);
    mask = as_build_mask_above(b, length, length, as_build_int(b, 1), &dims);
    as_build_scope_end(b);
    return mask;
}

struct as_build_rope as_build_rope_table(struct as_builder *b, const char *name, uint32_t positions,
                                         int64_t head_dim, double base)
{
    const int64_t column[] = {-1, 1};
    unsigned dtype = b->dtype;
    struct as_build_rope rope;
    uint32_t steps, angles;

    as_build_scope(b, "%s", name);
    b->dtype = AS_DTYPE_F32; /* angles of far positions need more digits than a half float has */
    steps = as_build_positions(b, "Range", as_build_int(b, head_dim / 2), head_dim / 2);
    steps = as_build_cast(b, "Cast_steps", steps, AS_DTYPE_F32);
    steps = as_build_binary(b, "Mul", "Mul_steps", steps,
                            as_build_number(b, -2 * log(base) / (double)head_dim));
    steps = as_build_unary(b, "Exp", "Exp", steps);
    angles = as_build_cast(b, "Cast_positions", positions, AS_DTYPE_F32);
    angles = as_build_reshape(b, "Reshape", angles, column, 2);
    angles = as_build_binary(b, "Mul", "Mul_angles", angles, steps);
    b->dtype = dtype;
    rope.cos = as_build_cast(b, "Cast_cos", as_build_unary(b, "Cos", "Cos", angles), dtype);
    rope.sin = as_build_cast(b, "Cast_sin", as_build_unary(b, "Sin", "Sin", angles), dtype);
    as_build_scope_end(b);
    return rope;
}

/* Turns each pair of numbers half a head apart by the angle of its position. */
static uint32_t rotated(struct as_builder *b, const char *scope, uint32_t x,
                        const struct as_build_rope *rope)
{
    uint32_t half[2], turned[2];

    as_build_scope(b, "%s", scope);
    if (!as_build_split(b, "Split", x, -1, 2, half))
        return AS_NONE;
    turned[0] =
        as_build_binary(b, "Sub", "Sub", as_build_binary(b, "Mul", "Mul_0", half[0], rope->cos),
                        as_build_binary(b, "Mul", "Mul_1", half[1], rope->sin));
    turned[1] =
        as_build_binary(b, "Add", "Add", as_build_binary(b, "Mul", "Mul_2", half[1], rope->cos),
                        as_build_binary(b, "Mul", "Mul_3", half[0], rope->sin));
    x = as_build_concat(b, "Concat", turned, 2, -1);
    as_build_scope_end(b);
    return x;
}

/* Each head of keys or values serves `times` heads of queries. */
static uint32_t repeated(struct as_builder *b, const char *scope, uint32_t x, int64_t heads,
                         int64_t times)
{
    const int64_t wide[] = {1, 1, times, 1, 1};
    struct as_dims dims;
    uint32_t y;

    if (times == 1 || !as_build_dims(b, x, &dims) || dims.rank != 4)
        return x;
    as_build_scope(b, "%s", scope);
    {
        struct as_build_node open = {.op = "Unsqueeze",
                                     .name = "Unsqueeze",
                                     AS_BUILD_IN(x, as_build_ints(b, (const int64_t[]){2}, 1))};
        struct as_dims five = {5, {dims.at[0], dims.at[1], 1, dims.at[2], dims.at[3]}};

        y = as_build_one(b, &open, &five);
        five.at[2] = times;
        {
            struct as_build_node expand = {
                .op = "Expand", .name = "Expand", AS_BUILD_IN(y, as_build_ints(b, wide, 5))};

            y = as_build_one(b, &expand, &five);
        }
    }
    y = as_build_reshape(b, "Reshape", y, (const int64_t[]){0, heads * times, -1, dims.at[3]}, 4);
    as_build_scope_end(b);
    return y;
}

/* [batch, length, heads x d] to [batch, heads, length, d]. */
static uint32_t by_head(struct as_builder *b, const char *scope, uint32_t x, int64_t heads,
                        int64_t width, const int64_t *order)
{
    const int64_t apart[] = {0, 0, heads, width};

    as_build_scope(b, "%s", scope);
    x = as_build_reshape(b, "Reshape", x, apart, 4);
    x = as_build_transpose(b, "Transpose", x, order, 4);
    as_build_scope_end(b);
    return x;
}

static bool check_attend(struct as_builder *b, uint32_t q, uint32_t k, uint32_t v,
                         const struct as_build_attention *how, int64_t *width)
{
    struct as_dims dq, dk, dv;
    int64_t kv = how->kv_heads ? how->kv_heads : how->heads;
    bool fits = as_build_dims(b, q, &dq) && as_build_dims(b, k, &dk) && as_build_dims(b, v, &dv) &&
                dq.rank == 3 && dk.rank == 3 && dv.rank == 3;

    if (!as_build_ok(b))
        return false;
    if (!fits)
        as_build_fail(b, ASSAY_ERR_USAGE, "attention needs inputs of [batch, length, width]");
    else if (how->heads < 1 || kv < 1 || how->heads % kv || dq.at[2] < 1 || dq.at[2] % how->heads ||
             dk.at[2] != dq.at[2] / how->heads * kv || dv.at[2] != dk.at[2])
        as_build_fail(
            b, ASSAY_ERR_USAGE,
            "attention of %lld heads, %lld for keys, does not fit widths %lld, %lld, %lld",
            (long long)how->heads, (long long)kv, (long long)dq.at[2], (long long)dk.at[2],
            (long long)dv.at[2]);
    else
        *width = dq.at[2] / how->heads;
    return as_build_ok(b);
}

uint32_t as_build_attend(struct as_builder *b, uint32_t q, uint32_t k, uint32_t v,
                         const struct as_build_attention *how)
{
    static const int64_t heads_first[] = {0, 2, 1, 3}, keys_last[] = {0, 2, 3, 1},
                         swapped[] = {0, 1, 3, 2};
    int64_t kv = how->kv_heads ? how->kv_heads : how->heads, width = 0;
    bool plain = !how->rope && !how->cache && kv == how->heads;
    uint32_t scores;

    if (!check_attend(b, q, k, v, how, &width))
        return AS_NONE;
    q = by_head(b, "q", q, how->heads, width, heads_first);
    k = by_head(b, "k", k, kv, width, plain ? keys_last : heads_first);
    v = by_head(b, "v", v, kv, width, heads_first);
    if (how->rope) {
        q = rotated(b, "q_rope", q, how->rope);
        k = rotated(b, "k_rope", k, how->rope);
    }
    if (how->cache) {
        k = as_build_cache_join(b, how->cache, how->layer, true, k);
        v = as_build_cache_join(b, how->cache, how->layer, false, v);
    }
    k = repeated(b, "k_repeat", k, kv, how->heads / kv);
    v = repeated(b, "v_repeat", v, kv, how->heads / kv);
    if (!plain)
        k = as_build_transpose(b, "k_transpose", k, swapped, 4);
    scores = as_build_matmul(b, "scores", q, k);
    scores = as_build_binary(b, "Div", "scale", scores, as_build_number(b, sqrt((double)width)));
    if (how->mask != AS_NONE)
        scores = as_build_binary(b, "Add", "mask", scores, how->mask);
    scores = as_build_softmax(b, "softmax", scores, -1);
    v = as_build_matmul(b, "values", scores, v);
    v = as_build_transpose(b, "join", v, heads_first, 4);
    return as_build_reshape(b, "merge", v, (const int64_t[]){0, 0, how->heads * width}, 3);
}

uint32_t as_build_attention_layer(struct as_builder *b, const char *name, uint32_t x,
                                  uint32_t context, const struct as_build_attention *how,
                                  const struct as_build_projections *names)
{
    struct as_dims dims = {0};
    int64_t kv = how->kv_heads ? how->kv_heads : how->heads, width;
    uint32_t q, k, v;

    if (as_build_ok(b) && (!as_build_dims(b, x, &dims) || dims.rank != 3 || dims.at[2] < 1 ||
                           how->heads < 1 || dims.at[2] % how->heads))
        return as_build_fail(b, ASSAY_ERR_USAGE,
                             "attention '%.60s' needs an input of [batch, length, width] whose "
                             "width %lld heads can share",
                             name ? name : "", (long long)how->heads);
    if (!as_build_ok(b))
        return AS_NONE;
    width = dims.at[2] / how->heads;
    as_build_scope(b, "%s", name ? name : "attention");
    q = as_build_linear(b, names->q, x, dims.at[2], names->bias);
    k = as_build_linear(b, names->k, context, kv * width, names->bias);
    v = as_build_linear(b, names->v, context, kv * width, names->bias);
    x = as_build_linear(b, names->out, as_build_attend(b, q, k, v, how), dims.at[2], names->bias);
    as_build_scope_end(b);
    return x;
}
