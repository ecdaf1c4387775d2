/* model/fold/fold_gather.c - picking and placing elements of constants by index.
 * Every index is compared with both ends before it is used. */
#include "model/fold/fold.h"

/* Element `k` of the indices as a place within `d`. */
static bool place_at(const struct as_data *indices, uint64_t k, int64_t d, int64_t *out)
{
    if (!as_fold_int(indices, k, out))
        return false;
    if (*out < 0)
        *out += d;
    return *out >= 0 && *out < d;
}

/* Both inputs, the output's dimensions as the rule has set them, and the output. */
struct picking {
    struct as_fold_in in, at;
    struct as_fold_out out;
};

static bool start_picking(const struct as_infer *ctx, struct picking *p)
{
    struct as_dims dims;

    return as_fold_in(ctx, 0, &p->in) && as_fold_in(ctx, 1, &p->at) &&
           as_dtype_is_integer(p->at.data->dtype) && as_type_dims(as_fold_type(ctx, 0), &dims) &&
           as_fold_start(ctx, &p->out, p->in.data->dtype, &dims);
}

int as_fold_gather(struct as_infer *ctx)
{
    struct picking p;
    int64_t outer, inner, d;
    uint64_t to = 0;
    int axis;

    if (!start_picking(ctx, &p) ||
        !as_axis(as_node_int(ctx->node, "axis", 0), p.in.dims.rank, &axis))
        return ASSAY_OK;
    if (p.out.data->n == 0)
        return as_fold_end(ctx, 0, &p.out);
    outer = as_dims_product(&p.in.dims, 0, axis);
    inner = as_dims_product(&p.in.dims, axis + 1, p.in.dims.rank);
    d = p.in.dims.at[axis];
    for (int64_t o = 0; o < outer; o++)
        for (uint64_t k = 0; k < p.at.data->n; k++) {
            int64_t place;

            if (!place_at(p.at.data, k, d, &place))
                return ASSAY_OK;
            as_fold_copy_run(&p.out, to, p.in.data, (uint64_t)((o * d + place) * inner),
                             (uint64_t)inner);
            to += (uint64_t)inner;
        }
    return as_fold_end(ctx, 0, &p.out);
}

/* Offsets in a tensor of `strides` for every place of the indices, with `axis` replaced by the
 * index there. False: an index is out of range, or the tensor smaller than the indices. */
static bool offset_by_element(const struct as_fold_in *at, const struct as_fold_walk *walk,
                              uint64_t k, const struct as_dims *dims, int axis, int64_t *offset)
{
    int64_t place;

    if (!place_at(at->data, k, dims->at[axis], &place))
        return false;
    *offset = walk->offset[0];
    for (int i = 0; i < dims->rank; i++)
        if (i != axis && walk->at[i] >= dims->at[i])
            return false;
    *offset += (place - walk->at[axis]) * walk->strides[0][axis];
    return true;
}

int as_fold_gather_elements(struct as_infer *ctx)
{
    struct as_fold_walk walk = {.n = 1};
    struct picking p;
    int axis;

    if (!start_picking(ctx, &p) || p.in.dims.rank != p.at.dims.rank ||
        !as_axis(as_node_int(ctx->node, "axis", 0), p.in.dims.rank, &axis) ||
        p.out.data->n != p.at.data->n)
        return ASSAY_OK;
    walk.dims = &p.at.dims;
    walk.strides[0] = p.in.strides;
    for (uint64_t i = 0; i < p.at.data->n; i++, as_fold_step(&walk)) {
        int64_t from;

        if (!offset_by_element(&p.at, &walk, i, &p.in.dims, axis, &from))
            return ASSAY_OK;
        as_fold_copy(&p.out, i, p.in.data, (uint64_t)from);
    }
    return as_fold_end(ctx, 0, &p.out);
}

/* The start of the part that tuple `k` of `n` numbers points at, from dimension `first` on. */
static bool offset_by_tuple(const struct as_fold_in *at, uint64_t k, int64_t n,
                            const struct as_dims *dims, const int64_t *strides, int first,
                            int64_t *offset)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place;

        if (!place_at(at->data, k * (uint64_t)n + (uint64_t)i, dims->at[first + i], &place))
            return false;
        *offset += place * strides[first + i];
    }
    return true;
}

int as_fold_gather_nd(struct as_infer *ctx)
{
    int64_t batch = as_node_int(ctx->node, "batch_dims", 0), n, part, tuples, batches;
    struct picking p;

    if (!start_picking(ctx, &p) || p.out.data->n == 0 || p.at.dims.rank < 1 || batch < 0 ||
        batch >= p.in.dims.rank || batch >= p.at.dims.rank)
        return ASSAY_OK;
    n = p.at.dims.at[p.at.dims.rank - 1];
    if (n < 1 || n > p.in.dims.rank - batch)
        return ASSAY_OK;
    part = as_dims_product(&p.in.dims, (int)(batch + n), p.in.dims.rank);
    tuples = (int64_t)p.at.data->n / n;
    batches = as_dims_product(&p.in.dims, 0, (int)batch);
    if (part < 1 || batches < 1 || tuples % batches != 0 ||
        (uint64_t)(tuples * part) != p.out.data->n)
        return ASSAY_OK;
    for (int64_t k = 0; k < tuples; k++) {
        int64_t from = k / (tuples / batches) * ((int64_t)p.in.data->n / batches);

        if (!offset_by_tuple(&p.at, (uint64_t)k, n, &p.in.dims, p.in.strides, (int)batch, &from))
            return ASSAY_OK;
        as_fold_copy_run(&p.out, (uint64_t)(k * part), p.in.data, (uint64_t)from, (uint64_t)part);
    }
    return as_fold_end(ctx, 0, &p.out);
}

/* ---- placing ---- */

struct placing {
    struct as_fold_in in, at, updates;
    struct as_fold_out out;
    int how;
};

enum place_how { PLACE_NONE, PLACE_ADD, PLACE_MUL, PLACE_MIN, PLACE_MAX };

static bool start_placing(const struct as_infer *ctx, struct placing *p)
{
    static const char *const words[] = {"none", "add", "mul", "min", "max"};

    if (!as_fold_in(ctx, 0, &p->in) || !as_fold_in(ctx, 1, &p->at) ||
        !as_fold_in(ctx, 2, &p->updates) || p->updates.data->dtype != p->in.data->dtype ||
        !as_dtype_is_integer(p->at.data->dtype) ||
        !as_fold_start(ctx, &p->out, p->in.data->dtype, &p->in.dims))
        return false;
    for (uint64_t i = 0; i < p->in.data->n; i++)
        as_fold_copy(&p->out, i, p->in.data, i);
    p->how = PLACE_NONE;
    for (int i = PLACE_NONE; i <= PLACE_MAX; i++)
        if (as_node_text_is(ctx->node, "reduction", words[i]))
            p->how = i;
    return true;
}

static bool place(struct placing *p, uint64_t to, uint64_t from)
{
    bool is_float = as_dtype_is_float(p->in.data->dtype), less;
    union as_number a, b;

    if (p->how == PLACE_NONE) {
        as_fold_copy(&p->out, to, p->updates.data, from);
        return true;
    }
    if (!as_fold_number(p->out.data, to, is_float, &a) ||
        !as_fold_number(p->updates.data, from, is_float, &b))
        return false;
    less = is_float ? b.f < a.f : b.i < a.i;
    if (p->how == PLACE_MIN || p->how == PLACE_MAX)
        a = less == (p->how == PLACE_MIN) ? b : a;
    else if (is_float)
        a.f = p->how == PLACE_ADD ? a.f + b.f : a.f * b.f;
    else
        a.i = (int64_t)(p->how == PLACE_ADD ? (uint64_t)a.i + (uint64_t)b.i
                                            : (uint64_t)a.i * (uint64_t)b.i);
    return as_fold_put(&p->out, to, is_float, a);
}

int as_fold_scatter_elements(struct as_infer *ctx)
{
    struct as_fold_walk walk = {.n = 1};
    struct placing p;
    int axis;

    if (!start_placing(ctx, &p) || p.in.dims.rank != p.at.dims.rank ||
        p.at.data->n != p.updates.data->n ||
        !as_axis(as_node_int(ctx->node, "axis", 0), p.in.dims.rank, &axis))
        return ASSAY_OK;
    walk.dims = &p.at.dims;
    walk.strides[0] = p.in.strides;
    for (uint64_t i = 0; i < p.at.data->n; i++, as_fold_step(&walk)) {
        int64_t to;

        if (!offset_by_element(&p.at, &walk, i, &p.in.dims, axis, &to) ||
            !place(&p, (uint64_t)to, i))
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &p.out);
}

int as_fold_scatter_nd(struct as_infer *ctx)
{
    int64_t n, part, tuples;
    struct placing p;

    if (!start_placing(ctx, &p) || p.at.dims.rank < 1)
        return ASSAY_OK;
    n = p.at.dims.at[p.at.dims.rank - 1];
    if (n < 1 || n > p.in.dims.rank)
        return ASSAY_OK;
    part = as_dims_product(&p.in.dims, (int)n, p.in.dims.rank);
    tuples = (int64_t)p.at.data->n / n;
    if (part < 0 || (uint64_t)tuples * (uint64_t)part != p.updates.data->n)
        return ASSAY_OK;
    for (int64_t k = 0; k < tuples; k++) {
        int64_t to = 0;

        if (!offset_by_tuple(&p.at, (uint64_t)k, n, &p.in.dims, p.in.strides, 0, &to))
            return ASSAY_OK;
        for (int64_t i = 0; i < part; i++)
            if (!place(&p, (uint64_t)(to + i), (uint64_t)(k * part + i)))
                return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &p.out);
}

int as_fold_one_hot(struct as_infer *ctx)
{
    int64_t depth, inner;
    struct as_fold_in at, values;
    struct as_fold_out out;
    struct as_dims dims;
    int axis;

    if (!as_fold_in(ctx, 0, &at) || !as_fold_in(ctx, 2, &values) || values.data->n != 2 ||
        !as_type_dims(as_fold_type(ctx, 0), &dims) ||
        !as_axis(as_node_int(ctx->node, "axis", -1), dims.rank, &axis) ||
        !as_fold_start(ctx, &out, values.data->dtype, &dims) || out.data->n == 0)
        return ASSAY_OK;
    depth = dims.at[axis];
    inner = as_dims_product(&dims, axis + 1, dims.rank);
    for (uint64_t i = 0; i < out.data->n; i++) {
        int64_t rest = (int64_t)i % inner, k = (int64_t)i / inner % depth,
                before = (int64_t)i / inner / depth, hot;

        if (!as_fold_int(at.data, (uint64_t)(before * inner + rest), &hot))
            return ASSAY_OK;
        as_fold_copy(&out, i, values.data, (hot < 0 ? hot + depth : hot) == k);
    }
    return as_fold_end(ctx, 0, &out);
}
