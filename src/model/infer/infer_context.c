/* model/infer/infer_context.c - what a shape rule sees of its node, and how it says what comes out.
 * Nothing here decides a shape; it reads, checks and keeps. */
#include "model/infer/infer_context.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct as_value *input_at(const struct as_infer *ctx, size_t i)
{
    return as_node_input(ctx->graph, ctx->node, i);
}

const struct as_type *as_in_type(const struct as_infer *ctx, size_t i)
{
    const struct as_value *value = input_at(ctx, i);

    return value ? &value->type : NULL;
}

bool as_in_dims(const struct as_infer *ctx, size_t i, struct as_dims *out)
{
    const struct as_type *type = as_in_type(ctx, i);

    return type && as_type_dims(type, out);
}

unsigned as_in_dtype(const struct as_infer *ctx, size_t i)
{
    const struct as_type *type = as_in_type(ctx, i);

    return type && type->kind == AS_VALUE_TENSOR ? type->dtype : (unsigned)AS_DTYPE_UNKNOWN;
}

const struct as_data *as_in_data(const struct as_infer *ctx, size_t i)
{
    struct as_value *value = input_at(ctx, i);
    struct as_data *data = value ? value->data : NULL;

    if (!data || data->n > AS_FOLD_MAX)
        return NULL;
    if (data->dtype == AS_DTYPE_STRING)
        return data;
    if (as_dtype_at(data->dtype)->kind == AS_CLASS_BLOCK ||
        as_dtype_at(data->dtype)->kind == AS_CLASS_COMPLEX)
        return NULL;
    if (!as_model_load(ctx->model, data, (uint64_t)AS_FOLD_MAX * 8))
        return NULL;
    return data;
}

bool as_in_ints(const struct as_infer *ctx, size_t i, struct as_ints *out)
{
    const struct as_data *data = as_in_data(ctx, i);
    const struct as_type *type = as_in_type(ctx, i);
    int64_t *at;

    *out = (struct as_ints){0, NULL};
    if (!data || type->rank > 1 || data->dtype == AS_DTYPE_STRING)
        return false;
    at = as_arena_alloc(ctx->arena, (data->n ? data->n : 1) * sizeof *at);
    if (!at)
        return false;
    for (uint64_t k = 0; k < data->n; k++)
        at[k] = as_data_i64(data, k);
    *out = (struct as_ints){data->n, at};
    return true;
}

bool as_in_list(const struct as_infer *ctx, size_t i, struct as_dims *out)
{
    const struct as_data *data = as_in_data(ctx, i);
    const struct as_type *type = as_in_type(ctx, i);

    out->rank = 0;
    if (!data || !type || type->rank > 1 || data->dtype == AS_DTYPE_STRING || data->n > AS_MAX_RANK)
        return false;
    for (; (uint64_t)out->rank < data->n; out->rank++) {
        int64_t number = as_data_i64(data, (uint64_t)out->rank);

        out->at[out->rank] = number == INT64_MIN && !data->partial ? number + 1 : number;
    }
    return true;
}

int64_t as_in_length(const struct as_infer *ctx, size_t i)
{
    struct as_dims dims;

    if (!as_in_dims(ctx, i, &dims) || dims.rank > 1)
        return AS_DIM_UNKNOWN;
    return dims.rank == 1 ? dims.at[0] : 1;
}

bool as_in_int(const struct as_infer *ctx, size_t i, int64_t *out)
{
    const struct as_data *data = as_in_data(ctx, i);

    if (!data || data->n != 1 || data->dtype == AS_DTYPE_STRING)
        return false;
    *out = as_data_i64(data, 0);
    return !(data->partial && *out == AS_DIM_UNKNOWN);
}

bool as_in_float(const struct as_infer *ctx, size_t i, double *out)
{
    const struct as_data *data = as_in_data(ctx, i);

    if (!data || data->n != 1 || data->dtype == AS_DTYPE_STRING || data->partial)
        return false;
    *out = as_data_f64(data, 0);
    return true;
}

int as_out_type(struct as_infer *ctx, size_t i, const struct as_type *type)
{
    struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

    if (value)
        value->type = *type;
    return ASSAY_OK;
}

int as_out_tensor(struct as_infer *ctx, size_t i, unsigned dtype, const struct as_dims *dims)
{
    struct as_type type;

    for (int k = 0; dims && k < dims->rank; k++)
        if (dims->at[k] < 0 && dims->at[k] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "dimension %d of output %zu would be %lld", k, i,
                               (long long)dims->at[k]);
    if (!as_node_output(ctx->graph, ctx->node, i))
        return ASSAY_OK;
    if (!as_type_tensor(&type, ctx->arena, dtype, dims))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, i, &type);
}

int as_out_like(struct as_infer *ctx, size_t i, size_t in)
{
    const struct as_type *type = as_in_type(ctx, in);

    return type ? as_out_type(ctx, i, type) : ASSAY_OK;
}

void as_out_quantized(const struct as_infer *ctx)
{
    struct as_value *out = as_node_output(ctx->graph, ctx->node, 0);
    const struct as_value *in = as_node_input(ctx->graph, ctx->node, 0);

    if (!as_value_is_quantized(in) || !as_value_is_quantized(out) ||
        !as_dtype_is_quantized(out->declared.dtype))
        return;
    if (ctx->node->op == AS_OP_Gemm || ctx->node->op == AS_OP_MatMul ||
        ctx->node->op == AS_OP_MS_FusedMatMul || ctx->node->op == AS_OP_Softmax)
        out->type.dtype = out->declared.dtype;
}

int as_out_data(struct as_infer *ctx, size_t i, struct as_data *data, const struct as_dims *dims)
{
    struct as_value *value = as_node_output(ctx->graph, ctx->node, i);
    int rc;

    if (!data)
        return as_fail_nomem(ctx->err);
    rc = as_out_tensor(ctx, i, data->dtype, dims);
    if (rc == ASSAY_OK && value)
        value->data = data;
    return rc;
}

int as_out_ints(struct as_infer *ctx, size_t i, const int64_t *at, size_t n)
{
    struct as_dims dims = {1, {(int64_t)n}};
    struct as_data *data = as_data_new(ctx->arena, AS_DTYPE_I64, n);

    for (size_t k = 0; data && k < n; k++) {
        as_data_put_i64(data, k, at[k]);
        data->partial |= at[k] == AS_DIM_UNKNOWN;
    }
    return as_out_data(ctx, i, data, &dims);
}

int as_conflict(struct as_infer *ctx, const char *fmt, ...)
{
    char text[160];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return as_fail(ctx->err, ASSAY_ERR_FORMAT, "node '%.80s' (%.40s): %s",
                   as_node_label(ctx->graph, ctx->node), ctx->node->op_name, text);
}

int as_unknown(struct as_infer *ctx, const char *fmt, ...)
{
    char text[160];
    va_list args;

    if (ctx->again > 0)
        return ASSAY_OK;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    as_model_find(ctx->model, AS_FINDING_UNKNOWN_SHAPE, as_node_label(ctx->graph, ctx->node),
                  ctx->node->op_name, "%s", text);
    return ASSAY_OK;
}

bool as_dims_broadcast(const struct as_dims *a, const struct as_dims *b, struct as_dims *out)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;

    for (int i = 0; i < rank; i++) {
        int at_a = a->rank - 1 - i, at_b = b->rank - 1 - i;
        int64_t x = at_a >= 0 ? a->at[at_a] : 1, y = at_b >= 0 ? b->at[at_b] : 1;
        int64_t *to = &out->at[rank - 1 - i];

        if (x == y || y == 1 || (y == AS_DIM_UNKNOWN && x != 1))
            *to = x;
        else if (x == 1 || x == AS_DIM_UNKNOWN)
            *to = y;
        else
            return false;
    }
    out->rank = rank;
    return true;
}

bool as_axis(int64_t axis, int rank, int *out)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

int64_t as_dim_mul(int64_t a, int64_t b)
{
    int64_t product;

    if (a == 0 || b == 0)
        return 0;
    if (a == AS_DIM_UNKNOWN || b == AS_DIM_UNKNOWN)
        return AS_DIM_UNKNOWN;
    if (__builtin_mul_overflow(a, b, &product) || product < 0 || product > INT64_MAX / 2)
        return AS_DIM_UNKNOWN;
    return product;
}

int64_t as_dim_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (a == AS_DIM_UNKNOWN || b == AS_DIM_UNKNOWN)
        return AS_DIM_UNKNOWN;
    if (__builtin_add_overflow(a, b, &sum) || sum < 0 || sum > INT64_MAX / 2)
        return AS_DIM_UNKNOWN;
    return sum;
}

int64_t as_dims_product(const struct as_dims *dims, int from, int to)
{
    int64_t product = 1;
    bool unknown = false;

    for (int i = from; i < to; i++)
        if (dims->at[i] == 0)
            return 0;
    for (int i = from; i < to; i++) {
        if (dims->at[i] == AS_DIM_UNKNOWN) {
            unknown = true;
            continue;
        }
        if (__builtin_mul_overflow(product, dims->at[i], &product) || product > INT64_MAX / 2)
            return -1;
    }
    return unknown ? AS_DIM_UNKNOWN : product;
}
