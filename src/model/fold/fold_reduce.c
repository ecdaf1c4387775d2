/* model/fold/fold_reduce.c - sums, products, extremes and orders of constants along axes.
 * Floats are summed in double and rounded once; integers wrap as their dtype does. */
#include "model/fold/fold.h"

#include <math.h>

struct total {
    double f;
    uint64_t u;
    uint64_t n;
    bool unknown;
};

typedef void (*take)(struct total *t, union as_number x, bool is_float);

static void take_sum(struct total *t, union as_number x, bool is_float)
{
    if (is_float)
        t->f += x.f;
    else
        t->u += (uint64_t)x.i;
}

static void take_abs(struct total *t, union as_number x, bool is_float)
{
    if (is_float)
        t->f += fabs(x.f);
    else
        t->u += x.i < 0 ? 0 - (uint64_t)x.i : (uint64_t)x.i;
}

static void take_square(struct total *t, union as_number x, bool is_float)
{
    if (is_float)
        t->f += x.f * x.f;
    else
        t->u += (uint64_t)x.i * (uint64_t)x.i;
}

static void take_exp(struct total *t, union as_number x, bool is_float)
{
    t->f += is_float ? exp(x.f) : exp((double)x.i);
}

static void take_product(struct total *t, union as_number x, bool is_float)
{
    if (is_float)
        t->f = t->n ? t->f * x.f : x.f;
    else
        t->u = t->n ? t->u * (uint64_t)x.i : (uint64_t)x.i;
}

static void take_max(struct total *t, union as_number x, bool is_float)
{
    if (is_float && (!t->n || x.f > t->f || isnan(x.f)))
        t->f = x.f;
    if (!is_float && (!t->n || x.i > (int64_t)t->u))
        t->u = (uint64_t)x.i;
}

static void take_min(struct total *t, union as_number x, bool is_float)
{
    if (is_float && (!t->n || x.f < t->f || isnan(x.f)))
        t->f = x.f;
    if (!is_float && (!t->n || x.i < (int64_t)t->u))
        t->u = (uint64_t)x.i;
}

static const take takes[AS_OP_COUNT] = {
    [AS_OP_ReduceL1] = take_abs,     [AS_OP_ReduceL2] = take_square,
    [AS_OP_ReduceLogSum] = take_sum, [AS_OP_ReduceLogSumExp] = take_exp,
    [AS_OP_ReduceMax] = take_max,    [AS_OP_ReduceMean] = take_sum,
    [AS_OP_ReduceMin] = take_min,    [AS_OP_ReduceProd] = take_product,
    [AS_OP_ReduceSum] = take_sum,    [AS_OP_ReduceSumSquare] = take_square,
};

/* What the numbers taken come to. False: nothing we may claim. */
static bool finish(enum as_op op, const struct total *t, bool is_float, union as_number *out)
{
    bool integer_only =
        op == AS_OP_ReduceL2 || op == AS_OP_ReduceLogSum || op == AS_OP_ReduceLogSumExp;

    if (t->n == 0 && (op == AS_OP_ReduceMax || op == AS_OP_ReduceMin || op == AS_OP_ReduceMean))
        return false;
    if (!is_float) {
        if (integer_only || (op == AS_OP_ReduceMean && (int64_t)t->u % (int64_t)t->n != 0))
            return false;
        out->i = t->n == 0 && op == AS_OP_ReduceProd ? 1 : (int64_t)t->u;
        if (op == AS_OP_ReduceMean)
            out->i /= (int64_t)t->n;
        return true;
    }
    out->f = t->n == 0 && op == AS_OP_ReduceProd ? 1 : t->f;
    if (op == AS_OP_ReduceMean)
        out->f /= (double)t->n;
    if (op == AS_OP_ReduceL2)
        out->f = sqrt(out->f);
    if (op == AS_OP_ReduceLogSum || op == AS_OP_ReduceLogSumExp)
        out->f = log(out->f);
    return true;
}

/* Adds every element of `in` to the total of the place it goes to. */
static void take_all(const struct as_fold_in *in, const int64_t *strides, take how, bool is_float,
                     struct total *totals)
{
    struct as_fold_walk walk = {.dims = &in->dims, .n = 1, .strides = {strides}};

    for (uint64_t i = 0; i < in->data->n; i++, as_fold_step(&walk)) {
        struct total *t = &totals[walk.offset[0]];
        union as_number x;

        if (!as_fold_number(in->data, i, is_float, &x)) {
            t->unknown = true;
            continue;
        }
        how(t, x, is_float);
        t->n++;
    }
}

int as_fold_reduce(struct as_infer *ctx, const bool *marked)
{
    const struct as_type *type = as_fold_type(ctx, 0);
    int64_t strides[AS_MAX_RANK], step = 1;
    struct total *totals;
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;
    bool is_float;

    if (!as_fold_in(ctx, 0, &in) || in.data->dtype == AS_DTYPE_STRING ||
        !as_type_dims(type, &dims) || !as_fold_start(ctx, &out, in.data->dtype, &dims))
        return ASSAY_OK;
    is_float = as_dtype_is_float(in.data->dtype);
    for (int i = in.dims.rank - 1; i >= 0; i--) {
        strides[i] = marked[i] ? 0 : step;
        step = marked[i] || in.data->n == 0 ? step : step * in.dims.at[i];
    }
    totals = as_arena_zero(ctx->arena, out.data->n ? out.data->n : 1, sizeof *totals);
    if (!totals)
        return ASSAY_OK;
    take_all(&in, strides, takes[ctx->node->op], is_float, totals);
    for (uint64_t i = 0; i < out.data->n; i++) {
        union as_number result = {.i = 0};
        bool done;

        if (totals[i].unknown)
            done = as_fold_put_unknown(&out, i);
        else
            done = finish(ctx->node->op, &totals[i], is_float, &result) &&
                   as_fold_put(&out, i, is_float, result);
        if (!done)
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &out);
}

/* A tensor seen as rows along one axis: outer x length x inner. */
struct rows {
    int64_t outer, length, inner;
};

/* False also when there are none. */
static bool rows_of(const struct as_dims *dims, int64_t said, struct rows *rows)
{
    int axis;

    if (!as_axis(said, dims->rank, &axis))
        return false;
    rows->outer = as_dims_product(dims, 0, axis);
    rows->length = dims->at[axis];
    rows->inner = as_dims_product(dims, axis + 1, dims->rank);
    return rows->outer > 0 && rows->length > 0 && rows->inner > 0;
}

static uint64_t row_at(const struct rows *rows, int64_t outer, int64_t k, int64_t inner)
{
    return (uint64_t)((outer * rows->length + k) * rows->inner + inner);
}

int as_fold_arg(struct as_infer *ctx)
{
    const struct as_type *type = as_fold_type(ctx, 0);
    bool largest = ctx->node->op == AS_OP_ArgMax;
    bool last = as_node_int(ctx->node, "select_last_index", 0) != 0;
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;
    struct rows rows;

    if (!as_fold_in(ctx, 0, &in) || !as_fold_ordered(in.data) || !as_type_dims(type, &dims) ||
        !rows_of(&in.dims, as_node_int(ctx->node, "axis", 0), &rows) ||
        !as_fold_start(ctx, &out, AS_DTYPE_I64, &dims))
        return ASSAY_OK;
    for (int64_t o = 0; o < rows.outer; o++)
        for (int64_t i = 0; i < rows.inner; i++) {
            int64_t best = 0;

            for (int64_t k = 1; k < rows.length; k++) {
                int order =
                    as_fold_compare(in.data, row_at(&rows, o, k, i), row_at(&rows, o, best, i));

                if ((largest ? order > 0 : order < 0) || (last && order == 0))
                    best = k;
            }
            as_data_put_i64(out.data, (uint64_t)(o * rows.inner + i), best);
        }
    return as_fold_end(ctx, 0, &out);
}

static bool sum_row(const struct as_data *in, struct as_fold_out *out, const struct rows *rows,
                    uint64_t base, bool exclusive, bool reverse)
{
    bool is_float = as_dtype_is_float(in->dtype);
    union as_number sum = {.i = 0}, x;

    if (is_float)
        sum.f = 0;
    for (int64_t k = 0; k < rows->length; k++) {
        int64_t place = reverse ? rows->length - 1 - k : k;
        uint64_t at = base + (uint64_t)(place * rows->inner);

        if (!as_fold_number(in, at, is_float, &x))
            return false;
        if (exclusive && !as_fold_put(out, at, is_float, sum))
            return false;
        if (is_float)
            sum.f += x.f;
        else
            sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)x.i);
        if (!exclusive && !as_fold_put(out, at, is_float, sum))
            return false;
    }
    return true;
}

int as_fold_cumsum(struct as_infer *ctx)
{
    bool exclusive = as_node_int(ctx->node, "exclusive", 0) != 0;
    bool reverse = as_node_int(ctx->node, "reverse", 0) != 0;
    struct as_fold_out out;
    struct as_fold_in in;
    struct rows rows;
    int64_t axis;

    if (!as_fold_in(ctx, 0, &in) || !as_in_int(ctx, 1, &axis) || !rows_of(&in.dims, axis, &rows) ||
        !as_fold_start(ctx, &out, in.data->dtype, &in.dims))
        return ASSAY_OK;
    for (int64_t o = 0; o < rows.outer; o++)
        for (int64_t i = 0; i < rows.inner; i++)
            if (!sum_row(in.data, &out, &rows, row_at(&rows, o, 0, i), exclusive, reverse))
                return ASSAY_OK;
    return as_fold_end(ctx, 0, &out);
}

static bool larger(const void *of, uint64_t a, uint64_t b)
{
    return as_fold_compare(of, a, b) > 0;
}

static bool smaller(const void *of, uint64_t a, uint64_t b)
{
    return as_fold_compare(of, a, b) < 0;
}

static void take_row(const struct as_data *in, struct as_fold_out *values,
                     struct as_fold_out *places, const struct rows *rows, const uint64_t *order,
                     int64_t k, uint64_t from, uint64_t to)
{
    for (int64_t i = 0; i < k; i++) {
        uint64_t at = to + (uint64_t)(i * rows->inner);

        as_fold_copy(values, at, in, order[i]);
        as_data_put_i64(places->data, at, (int64_t)((order[i] - from) / (uint64_t)rows->inner));
    }
}

int as_fold_topk(struct as_infer *ctx)
{
    bool largest = as_node_int(ctx->node, "largest", 1) != 0;
    struct as_fold_out values, places;
    const struct as_type *type =
        as_fold_type(ctx, as_node_output(ctx->graph, ctx->node, 0) ? 0 : 1);
    struct as_dims dims;
    struct as_fold_in in;
    struct rows rows, out;
    uint64_t *order;
    int rc;

    if (as_node_int(ctx->node, "sorted", 1) == 0 || !as_type_dims(type, &dims) ||
        !as_fold_in(ctx, 0, &in) || !as_fold_ordered(in.data) ||
        !rows_of(&in.dims, as_node_int(ctx->node, "axis", -1), &rows) ||
        !rows_of(&dims, as_node_int(ctx->node, "axis", -1), &out) || out.length > rows.length ||
        !as_fold_start(ctx, &values, in.data->dtype, &dims) ||
        !as_fold_start(ctx, &places, AS_DTYPE_I64, &dims))
        return ASSAY_OK;
    order = as_arena_zero(ctx->arena, (size_t)rows.length + 1, 2 * sizeof *order);
    if (!order)
        return ASSAY_OK;
    for (int64_t o = 0; o < rows.outer; o++)
        for (int64_t i = 0; i < rows.inner; i++) {
            for (int64_t k = 0; k < rows.length; k++)
                order[k] = row_at(&rows, o, k, i);
            as_fold_sort(order, order + rows.length, (size_t)rows.length,
                         largest ? larger : smaller, in.data);
            take_row(in.data, &values, &places, &rows, order, out.length, row_at(&rows, o, 0, i),
                     row_at(&out, o, 0, i));
        }
    rc = as_fold_end(ctx, 0, &values);
    return rc < 0 ? rc : as_fold_end(ctx, 1, &places);
}
