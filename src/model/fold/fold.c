/* model/fold/fold.c - constants computed while shapes are inferred.
 * Elements are found by strides; nothing outside data->n is ever touched. */
#include "model/fold/fold.h"

#include <math.h>
#include <string.h>

void as_fold_strides(const struct as_dims *dims, int64_t *strides)
{
    int64_t step = 1;

    for (int i = dims->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step = dims->at[i] > 1 ? as_dim_mul(step, dims->at[i]) : step;
        step = step == AS_DIM_UNKNOWN ? 0 : step;
    }
}

bool as_fold_in(const struct as_infer *ctx, size_t i, struct as_fold_in *in)
{
    const struct as_type *type = as_in_type(ctx, i);
    uint64_t n;

    in->data = as_in_data(ctx, i);
    if (!in->data || type->dtype != in->data->dtype || !as_type_elems(type, &n) ||
        n != in->data->n || (in->data->dtype == AS_DTYPE_STRING && n > 0 && !in->data->texts)) {
        in->data = NULL;
        return false;
    }
    (void)as_type_dims(type, &in->dims);
    as_fold_strides(&in->dims, in->strides);
    if (n == 0) /* whatever the other dimensions are */
        memset(in->strides, 0, sizeof in->strides);
    return true;
}

const struct as_type *as_fold_type(const struct as_infer *ctx, size_t i)
{
    static const struct as_type unknown = {.rank = -1, .n_elems = -1};
    const struct as_value *value = as_node_output(ctx->graph, ctx->node, i);

    return value ? &value->type : &unknown;
}

bool as_fold_start(const struct as_infer *ctx, struct as_fold_out *out, unsigned dtype,
                   const struct as_dims *dims)
{
    int64_t n = as_dims_product(dims, 0, dims->rank);

    for (int i = 0; i < dims->rank; i++)
        if (dims->at[i] < 0)
            return false;
    if (n < 0 || (uint64_t)n > ctx->fold_max || dtype == AS_DTYPE_UNKNOWN)
        return false;
    *out = (struct as_fold_out){.dims = *dims};
    out->data = as_data_new(ctx->arena, dtype, (uint64_t)n);
    if (!out->data)
        return false;
    if (dtype == AS_DTYPE_STRING) {
        out->texts = as_arena_zero(ctx->arena, n ? (size_t)n : 1, sizeof *out->texts);
        out->data->texts = out->texts;
        out->data->bytes = NULL;
    }
    return dtype != AS_DTYPE_STRING || out->texts;
}

int as_fold_end(struct as_infer *ctx, size_t i, struct as_fold_out *out)
{
    return as_out_data(ctx, i, out->data, &out->dims);
}

void as_fold_copy(struct as_fold_out *out, uint64_t to, const struct as_data *from, uint64_t k)
{
    if (out->texts)
        out->texts[to] = from->texts[k];
    else
        as_data_copy(out->data, to, from, k);
    if (from->partial && as_data_i64(from, k) == AS_DIM_UNKNOWN)
        out->data->partial = true;
}

void as_fold_copy_run(struct as_fold_out *out, uint64_t to, const struct as_data *from, uint64_t k,
                      uint64_t n)
{
    const struct as_dtype_info *info = as_dtype_at(out->data->dtype);

    if (!out->texts && !from->partial && info->block_elems == 1) {
        memcpy(as_data_storage(out->data) + to * info->block_bytes,
               from->bytes + k * info->block_bytes, n * info->block_bytes);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        as_fold_copy(out, to + i, from, k + i);
}

void as_fold_step(struct as_fold_walk *walk)
{
    for (int d = walk->dims->rank - 1; d >= 0; d--) {
        bool wraps = ++walk->at[d] >= walk->dims->at[d];

        for (int k = 0; k < walk->n; k++)
            walk->offset[k] +=
                wraps ? -walk->strides[k][d] * (walk->dims->at[d] - 1) : walk->strides[k][d];
        if (!wraps)
            return;
        walk->at[d] = 0;
    }
}

void as_fold_view(struct as_fold_out *out, const struct as_data *from, const int64_t *strides,
                  int64_t base)
{
    struct as_dims outer = out->dims;
    struct as_fold_walk walk = {.dims = &outer, .n = 1, .strides = {strides}, .offset = {base}};
    uint64_t run = 1;

    /* Rows that lie as they are go at once. */
    if (outer.rank > 0 && strides[outer.rank - 1] == 1)
        run = (uint64_t)outer.at[--outer.rank];
    for (uint64_t i = 0; i < out->data->n; i += run, as_fold_step(&walk))
        as_fold_copy_run(out, i, from, (uint64_t)walk.offset[0], run);
}

void as_fold_broadcast(const struct as_fold_in *in, const struct as_dims *dims, int64_t *strides)
{
    for (int i = 0; i < dims->rank; i++) {
        int at = i - (dims->rank - in->dims.rank);

        strides[i] = at >= 0 && in->dims.at[at] != 1 ? in->strides[at] : 0;
    }
}

bool as_fold_int(const struct as_data *data, uint64_t k, int64_t *out)
{
    if (data->dtype == AS_DTYPE_STRING)
        return false;
    *out = as_data_i64(data, k);
    if (data->dtype == AS_DTYPE_U64 && *out == INT64_MAX)
        return false;
    return !(data->partial && *out == AS_DIM_UNKNOWN);
}

bool as_fold_number(const struct as_data *data, uint64_t k, bool as_float, union as_number *out)
{
    if (!as_float)
        return as_fold_int(data, k, &out->i);
    if (data->dtype == AS_DTYPE_STRING || data->partial)
        return false;
    out->f = as_data_f64(data, k);
    return true;
}

bool as_fold_put(struct as_fold_out *out, uint64_t k, bool as_float, union as_number number)
{
    unsigned dtype = out->data->dtype;

    if (!as_float) {
        as_data_put_i64(out->data, k, number.i);
    } else if (dtype == AS_DTYPE_BOOL) {
        as_data_put_i64(out->data, k, number.f != 0);
    } else {
        if (!as_dtype_is_float(dtype) && !(fabs(number.f) < 9.2e18))
            return false;
        as_data_put_f64(out->data, k, number.f);
        if (!as_dtype_is_float(dtype) && as_data_f64(out->data, k) != trunc(number.f))
            return false;
    }
    return true;
}

bool as_fold_put_unknown(struct as_fold_out *out, uint64_t k)
{
    if (out->data->dtype != AS_DTYPE_I64)
        return false;
    as_data_put_i64(out->data, k, AS_DIM_UNKNOWN);
    out->data->partial = true;
    return true;
}

void as_fold_share(const struct as_infer *ctx, size_t out, size_t in)
{
    struct as_value *to = as_node_output(ctx->graph, ctx->node, out);
    const struct as_value *from = as_node_input(ctx->graph, ctx->node, in);
    uint64_t n;

    if (to && from && from->data && to->type.kind == AS_VALUE_TENSOR &&
        to->type.dtype == from->data->dtype && as_type_elems(&to->type, &n) && n == from->data->n)
        to->data = from->data;
}

/* Merges two sorted halves through `spare`; equal ones keep their order. */
static void merge(uint64_t *at, uint64_t *spare, size_t middle, size_t n, as_fold_before before,
                  const void *of)
{
    size_t a = 0, b = middle;

    for (size_t i = 0; i < n; i++) {
        bool second = a == middle || (b < n && before(of, at[b], at[a]));

        spare[i] = second ? at[b++] : at[a++];
    }
    memcpy(at, spare, n * sizeof *at);
}

void as_fold_sort(uint64_t *at, uint64_t *spare, size_t n, as_fold_before before, const void *of)
{
    for (size_t half = 1; half < n; half *= 2)
        for (size_t from = 0; from + half < n; from += 2 * half) {
            size_t left = n - from;

            merge(at + from, spare, half, left < 2 * half ? left : 2 * half, before, of);
        }
}

bool as_fold_ordered(const struct as_data *data)
{
    int64_t whole;

    if (data->dtype == AS_DTYPE_STRING || data->partial)
        return false;
    for (uint64_t i = 0; i < data->n; i++)
        if (as_dtype_is_float(data->dtype) ? isnan(as_data_f64(data, i))
                                           : !as_fold_int(data, i, &whole))
            return false;
    return true;
}

int as_fold_compare(const struct as_data *data, uint64_t a, uint64_t b)
{
    if (as_dtype_is_float(data->dtype)) {
        double x = as_data_f64(data, a), y = as_data_f64(data, b);

        return (x > y) - (x < y);
    }
    return (as_data_i64(data, a) > as_data_i64(data, b)) -
           (as_data_i64(data, a) < as_data_i64(data, b));
}
