/* model/infer/rules/rules_select.c - shape rules of operators whose output is as long as the
 * numbers say. Of constants that length is computed; otherwise the rank is right and the dimension
 * unknown. */
#include <string.h>

#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

/* After the fold: says so when the length is still open. */
static int tell_open(struct as_infer *ctx, int rc)
{
    struct as_value *value = as_node_output(ctx->graph, ctx->node, 0);

    if (rc == ASSAY_OK && value && !as_type_is_static(&value->type))
        return as_unknown(ctx, "how many there are depends on the data");
    return rc;
}

/* ---- NonZero ---- */

static int non_zero(struct as_infer *ctx)
{
    struct as_dims in, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};

    if (as_in_dims(ctx, 0, &in))
        out.at[0] = in.rank;
    return as_out_tensor(ctx, 0, AS_DTYPE_I64, &out);
}

static bool is_zero(const struct as_data *data, uint64_t i)
{
    return as_dtype_is_float(data->dtype) ? as_data_f64(data, i) == 0 : as_data_i64(data, i) == 0;
}

static int count_non_zero(struct as_infer *ctx)
{
    struct as_fold_walk walk = {0};
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims = {2, {0, 0}};
    uint64_t at = 0;

    if (!as_fold_in(ctx, 0, &in) || in.data->dtype == AS_DTYPE_STRING || in.data->partial)
        return ASSAY_OK;
    for (uint64_t i = 0; i < in.data->n; i++)
        dims.at[1] += !is_zero(in.data, i);
    dims.at[0] = in.dims.rank;
    if (!as_fold_start(ctx, &out, AS_DTYPE_I64, &dims))
        return as_out_tensor(ctx, 0, AS_DTYPE_I64, &dims);
    walk.dims = &in.dims;
    for (uint64_t i = 0; i < in.data->n; i++, as_fold_step(&walk)) {
        if (is_zero(in.data, i))
            continue;
        for (int d = 0; d < in.dims.rank; d++)
            as_data_put_i64(out.data, (uint64_t)(d * dims.at[1]) + at, walk.at[d]);
        at++;
    }
    return as_fold_end(ctx, 0, &out);
}

/* ---- Unique ---- */

/* A tensor as slices along an axis, or as single elements. */
struct slices {
    const struct as_data *data;
    uint64_t outer, length, inner;
};

static int compare_text(const struct as_text *a, const struct as_text *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n ? memcmp(a->at, b->at, n) : 0;

    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_slices(const struct slices *s, uint64_t a, uint64_t b)
{
    int order = 0;

    for (uint64_t o = 0; o < s->outer && !order; o++)
        for (uint64_t i = 0; i < s->inner && !order; i++) {
            uint64_t x = (o * s->length + a) * s->inner + i, y = (o * s->length + b) * s->inner + i;

            order = s->data->dtype == AS_DTYPE_STRING
                        ? compare_text(&s->data->texts[x], &s->data->texts[y])
                        : as_fold_compare(s->data, x, y);
        }
    return order;
}

static bool slice_before(const void *of, uint64_t a, uint64_t b)
{
    return compare_slices(of, a, b) < 0;
}

static int set_unique(struct as_infer *ctx, const struct as_dims *in, const int *axis, int64_t n)
{
    struct as_dims flat = {1, {n}}, all = {1, {AS_DIM_UNKNOWN}}, out = flat;
    int rc;

    if (in) {
        all.at[0] = axis ? in->at[*axis] : as_dims_product(in, 0, in->rank);
        all.at[0] = all.at[0] < 0 ? AS_DIM_UNKNOWN : all.at[0];
        out = axis ? *in : flat;
        if (axis)
            out.at[*axis] = n;
    }
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0),
                       in || !as_node_attr(ctx->node, "axis") ? &out : NULL);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, AS_DTYPE_I64, &flat);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 2, AS_DTYPE_I64, &all);
    return rc < 0 ? rc : as_out_tensor(ctx, 3, AS_DTYPE_I64, &flat);
}

static int unique(struct as_infer *ctx)
{
    bool along = as_node_attr(ctx->node, "axis") != NULL;
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims in;
    int axis;

    if (!as_in_dims(ctx, 0, &in))
        return set_unique(ctx, NULL, NULL, AS_DIM_UNKNOWN);
    if (along && !as_axis(said, in.rank, &axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           in.rank);
    return set_unique(ctx, &in, along ? &axis : NULL, AS_DIM_UNKNOWN);
}

static int count_unique(struct as_infer *ctx)
{
    bool along = as_node_attr(ctx->node, "axis") != NULL;
    struct as_fold_in in;
    struct slices s = {.outer = 1, .inner = 1};
    uint64_t *order;
    int64_t n = 1;
    int axis = 0;

    if (!as_fold_in(ctx, 0, &in) || in.data->n == 0 ||
        !(in.data->dtype == AS_DTYPE_STRING || as_fold_ordered(in.data)) ||
        (along && !as_axis(as_node_int(ctx->node, "axis", 0), in.dims.rank, &axis)))
        return ASSAY_OK;
    s.data = in.data;
    s.length = along ? (uint64_t)in.dims.at[axis] : in.data->n;
    if (along) {
        s.outer = (uint64_t)as_dims_product(&in.dims, 0, axis);
        s.inner = (uint64_t)as_dims_product(&in.dims, axis + 1, in.dims.rank);
    }
    order = as_arena_zero(ctx->arena, s.length, 2 * sizeof *order);
    if (!order)
        return ASSAY_OK;
    for (uint64_t i = 0; i < s.length; i++)
        order[i] = i;
    as_fold_sort(order, order + s.length, s.length, slice_before, &s);
    for (uint64_t i = 1; i < s.length; i++)
        n += compare_slices(&s, order[i - 1], order[i]) != 0;
    return set_unique(ctx, &in.dims, along ? &axis : NULL, n);
}

/* ---- Compress ---- */

static int compress(struct as_infer *ctx)
{
    bool along = as_node_attr(ctx->node, "axis") != NULL;
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims in, flat = {1, {AS_DIM_UNKNOWN}};
    int axis;

    if (!along)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &flat);
    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!as_axis(said, in.rank, &axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           in.rank);
    in.at[axis] = AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &in);
}

/* Copies the slices that are kept, when the data is a constant too. */
static int keep_slices(struct as_infer *ctx, const struct as_data *kept, uint64_t n_flags,
                       const struct as_dims *dims, int axis, bool along)
{
    struct as_fold_out out;
    struct as_fold_in in;
    uint64_t outer = 1, inner = 1, length, to = 0;

    if (!as_fold_in(ctx, 0, &in) || in.data->n == 0 ||
        !as_fold_start(ctx, &out, in.data->dtype, dims))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), dims);
    length = along ? (uint64_t)in.dims.at[axis] : in.data->n;
    if (along) {
        outer = (uint64_t)as_dims_product(&in.dims, 0, axis);
        inner = (uint64_t)as_dims_product(&in.dims, axis + 1, in.dims.rank);
    }
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t k = 0; k < length && k < n_flags; k++)
            for (uint64_t i = 0; as_data_i64(kept, k) && i < inner; i++)
                as_fold_copy(&out, to++, in.data, (o * length + k) * inner + i);
    return as_fold_end(ctx, 0, &out);
}

static int count_compress(struct as_infer *ctx)
{
    bool along = as_node_attr(ctx->node, "axis") != NULL;
    struct as_fold_in kept;
    struct as_dims in, out = {1, {0}};
    int64_t limit, n = 0;
    int axis = 0;

    if (!as_fold_in(ctx, 1, &kept) || kept.data->dtype != AS_DTYPE_BOOL || kept.dims.rank != 1 ||
        !as_in_dims(ctx, 0, &in) ||
        (along && !as_axis(as_node_int(ctx->node, "axis", 0), in.rank, &axis)))
        return ASSAY_OK;
    limit = along ? in.at[axis] : as_dims_product(&in, 0, in.rank);
    if (limit < 0)
        return ASSAY_OK;
    for (uint64_t i = 0; i < kept.data->n; i++)
        if (as_data_i64(kept.data, i)) {
            if ((int64_t)i >= limit)
                return as_conflict(ctx, "element %llu is kept of %lld", (unsigned long long)i,
                                   (long long)limit);
            n++;
        }
    if (along)
        out = in;
    out.at[axis] = n;
    return keep_slices(ctx, kept.data, kept.data->n, &out, axis, along);
}

/* ---- texts ---- */

static int string_normalizer(struct as_infer *ctx)
{
    const struct as_attr *stop = as_node_attr(ctx->node, "stopwords");
    struct as_dims in;

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, AS_DTYPE_STRING, NULL);
    if (in.rank < 1 || in.rank > 2 || (in.rank == 2 && in.at[0] > 1))
        return as_conflict(ctx, "the input is neither [C] nor [1, C]");
    /* Of no text at all comes one empty text, which the run tells. */
    for (int i = 0; i < in.rank; i++)
        if (in.at[i] == 0)
            return as_out_tensor(ctx, 0, AS_DTYPE_STRING, NULL);
    if (!stop || stop->kind != AS_ATTR_TEXTS || stop->n == 0)
        return as_out_like(ctx, 0, 0);
    in.at[in.rank - 1] = AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, AS_DTYPE_STRING, &in);
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* 1: the same word, 0: another, -1: letters beyond ASCII decide, which we do not fold. */
static int same_word(const struct as_text *a, const struct as_text *b, bool with_case)
{
    bool plain = true, same = a->size == b->size;

    if (same && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0))
        return 1;
    if (with_case)
        return 0;
    for (size_t i = 0; i < a->size; i++)
        plain &= (unsigned char)a->at[i] < 128;
    for (size_t i = 0; i < b->size; i++)
        plain &= (unsigned char)b->at[i] < 128;
    for (size_t i = 0; same && i < a->size; i++)
        same = lower(a->at[i]) == lower(b->at[i]);
    return same ? 1 : plain ? 0 : -1;
}

static int count_normalizer(struct as_infer *ctx)
{
    const struct as_attr *stop = as_node_attr(ctx->node, "stopwords");
    bool with_case = as_node_int(ctx->node, "is_case_sensitive", 0) != 0;
    struct as_fold_in in;
    int64_t n = 0;

    if (!as_fold_in(ctx, 0, &in) || in.data->dtype != AS_DTYPE_STRING || !stop ||
        stop->kind != AS_ATTR_TEXTS || (uint64_t)stop->n * in.data->n > 1 << 22)
        return ASSAY_OK;
    for (uint64_t i = 0; i < in.data->n; i++) {
        bool gone = false;

        for (uint32_t k = 0; k < stop->n && !gone; k++) {
            int same = same_word(&in.data->texts[i], &stop->texts[k], with_case);

            if (same < 0)
                return ASSAY_OK;
            gone = same > 0;
        }
        n += !gone;
    }
    in.dims.at[in.dims.rank - 1] = n ? n : 1; /* one empty text when nothing is left */
    return as_out_tensor(ctx, 0, AS_DTYPE_STRING, &in.dims);
}

static int tf_idf(struct as_infer *ctx)
{
    struct as_dims in, out;
    struct as_ints at;
    int64_t n = 0;

    if (!as_node_ints(ctx->node, "ngram_indexes", &at) || at.n == 0)
        return as_conflict(ctx, "there are no 'ngram_indexes'");
    for (size_t i = 0; i < at.n; i++) {
        if (at.at[i] < 0 || at.at[i] > INT32_MAX)
            return as_conflict(ctx, "an n-gram goes to place %lld", (long long)at.at[i]);
        n = at.at[i] + 1 > n ? at.at[i] + 1 : n;
    }
    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, AS_DTYPE_F32, NULL);
    if (in.rank > 2)
        return as_conflict(ctx, "the input has %d dimensions, not 1 or 2", in.rank);
    out.rank = in.rank == 2 ? 2 : 1;
    out.at[0] = in.rank == 2 ? in.at[0] : n;
    if (out.rank == 2)
        out.at[1] = n;
    return as_out_tensor(ctx, 0, AS_DTYPE_F32, &out);
}

#define TELLING(name, count)                                                                       \
    static int name(struct as_infer *ctx)                                                          \
    {                                                                                              \
        return tell_open(ctx, count(ctx));                                                         \
    }

TELLING(fold_non_zero, count_non_zero)
TELLING(fold_unique, count_unique)
TELLING(fold_compress, count_compress)
TELLING(fold_normalizer, count_normalizer)
TELLING(fold_boxes, as_fold_boxes)

const struct as_op_rule as_rules_select[] = {
    {AS_OP_NonZero, non_zero, fold_non_zero},
    {AS_OP_Unique, unique, fold_unique},
    {AS_OP_NonMaxSuppression, as_infer_boxes, fold_boxes},
    {AS_OP_Compress, compress, fold_compress},
    {AS_OP_StringNormalizer, string_normalizer, fold_normalizer},
    {AS_OP_TfIdfVectorizer, tf_idf, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
