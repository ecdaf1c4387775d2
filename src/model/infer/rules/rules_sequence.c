/* model/infer/rules/rules_sequence.c - shape rules of sequences, optionals and strings.
 * The type of every element is kept while their number is known. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

static int out_list(struct as_infer *ctx, size_t i, const struct as_type *elems, size_t n)
{
    struct as_type type;

    if (!as_type_list(ctx, AS_VALUE_SEQUENCE, elems, n, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, i, &type);
}

static int out_many(struct as_infer *ctx, size_t i, const struct as_type *elem)
{
    struct as_type type;

    if (!as_type_many(ctx->arena, elem, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, i, &type);
}

static int out_bare_sequence(struct as_infer *ctx, size_t i)
{
    struct as_type type = AS_TYPE_UNKNOWN;

    type.kind = AS_VALUE_SEQUENCE;
    return as_out_type(ctx, i, &type);
}

/* The sequence of input `i`; NULL when it is none or nothing is known of it. */
static const struct as_type *sequence_at(const struct as_infer *ctx, size_t i)
{
    const struct as_type *type = as_in_type(ctx, i);

    return type && type->kind == AS_VALUE_SEQUENCE && (type->elems || type->n_elems == 0) ? type
                                                                                          : NULL;
}

static int infer_empty(struct as_infer *ctx)
{
    return out_list(ctx, 0, NULL, 0);
}

static int infer_construct(struct as_infer *ctx)
{
    size_t n = ctx->node->n_inputs;
    struct as_type *elems = as_arena_zero(ctx->arena, n ? n : 1, sizeof *elems);

    if (!elems)
        return as_fail_nomem(ctx->err);
    for (size_t i = 0; i < n; i++)
        elems[i] = as_in_type(ctx, i) ? *as_in_type(ctx, i) : AS_TYPE_UNKNOWN;
    return out_list(ctx, 0, elems, n);
}

/* A place in a sequence of `n`, counted from the end when negative. */
static bool place_of(int64_t said, int32_t n, int32_t *out)
{
    if (said < -(int64_t)n || said >= n)
        return false;
    *out = (int32_t)(said < 0 ? said + n : said);
    return true;
}

static int infer_at(struct as_infer *ctx)
{
    const struct as_type *sequence = sequence_at(ctx, 0);
    struct as_type type;
    int64_t said;
    int32_t place;

    if (!sequence)
        return ASSAY_OK;
    if (sequence->n_elems >= 0 && as_in_int(ctx, 1, &said)) {
        if (!place_of(said, sequence->n_elems, &place))
            return as_conflict(ctx, "element %lld of a sequence of %d", (long long)said,
                               sequence->n_elems);
        return as_out_type(ctx, 0, &sequence->elems[place]);
    }
    if (!as_type_common(ctx->arena, sequence, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, 0, &type);
}

/* One more, at a place that is not known: every element may be like any other. */
static int insert_anywhere(struct as_infer *ctx, const struct as_type *sequence,
                           const struct as_type *elem)
{
    struct as_type common, *elems;

    if (!as_type_common(ctx->arena, sequence, &common))
        return as_fail_nomem(ctx->err);
    if (sequence->n_elems == 0)
        common = *elem;
    else if (!as_type_merge(ctx->arena, &common, elem, &common))
        return as_fail_nomem(ctx->err);
    if (sequence->n_elems < 0 || !as_type_may_copy(ctx, sequence->n_elems + 1))
        return out_many(ctx, 0, &common);
    elems = as_arena_zero(ctx->arena, (size_t)sequence->n_elems + 1, sizeof *elems);
    if (!elems)
        return as_fail_nomem(ctx->err);
    for (int32_t i = 0; i <= sequence->n_elems; i++)
        elems[i] = common;
    return out_list(ctx, 0, elems, (size_t)sequence->n_elems + 1);
}

static int infer_insert(struct as_infer *ctx)
{
    const struct as_type *sequence = sequence_at(ctx, 0), *elem = as_in_type(ctx, 1);
    struct as_type *elems;
    int64_t said;
    int32_t place;

    if (!sequence || !elem)
        return out_bare_sequence(ctx, 0);
    if (sequence->n_elems < 0 || !as_type_may_copy(ctx, sequence->n_elems + 1))
        return insert_anywhere(ctx, sequence, elem);
    place = sequence->n_elems;
    if (as_in_type(ctx, 2)) {
        if (!as_in_int(ctx, 2, &said))
            return insert_anywhere(ctx, sequence, elem);
        if (said < -(int64_t)place || said > place)
            return as_conflict(ctx, "place %lld in a sequence of %d", (long long)said, place);
        place = (int32_t)(said < 0 ? said + place : said);
    }
    elems = as_arena_zero(ctx->arena, (size_t)sequence->n_elems + 1, sizeof *elems);
    if (!elems)
        return as_fail_nomem(ctx->err);
    for (int32_t i = 0; i < sequence->n_elems; i++)
        elems[i < place ? i : i + 1] = sequence->elems[i];
    elems[place] = *elem;
    return out_list(ctx, 0, elems, (size_t)sequence->n_elems + 1);
}

static int infer_erase(struct as_infer *ctx)
{
    const struct as_type *sequence = sequence_at(ctx, 0);
    struct as_type common, *elems;
    int64_t said = -1;
    int32_t place, n = 0;
    bool known;

    if (!sequence)
        return out_bare_sequence(ctx, 0);
    if (sequence->n_elems == 0)
        return as_conflict(ctx, "nothing can be taken from an empty sequence");
    if (!as_type_common(ctx->arena, sequence, &common))
        return as_fail_nomem(ctx->err);
    if (sequence->n_elems < 0 || !as_type_may_copy(ctx, sequence->n_elems))
        return out_many(ctx, 0, &common);
    place = sequence->n_elems - 1;
    known = !as_in_type(ctx, 1) || as_in_int(ctx, 1, &said);
    if (known && as_in_type(ctx, 1) && !place_of(said, sequence->n_elems, &place))
        return as_conflict(ctx, "element %lld of a sequence of %d", (long long)said,
                           sequence->n_elems);
    elems = as_arena_zero(ctx->arena, (size_t)sequence->n_elems, sizeof *elems);
    if (!elems)
        return as_fail_nomem(ctx->err);
    for (int32_t i = 0; i < sequence->n_elems; i++)
        if (i != place)
            elems[n++] = known ? sequence->elems[i] : common;
    return out_list(ctx, 0, elems, (size_t)n);
}

static int infer_length(struct as_infer *ctx)
{
    const struct as_type *sequence = as_in_type(ctx, 0);
    struct as_dims scalar = {0, {0}};
    struct as_data *data;

    if (!sequence || sequence->kind != AS_VALUE_SEQUENCE || sequence->n_elems < 0)
        return as_out_tensor(ctx, 0, AS_DTYPE_I64, &scalar);
    data = as_data_new(ctx->arena, AS_DTYPE_I64, 1);
    if (data)
        as_data_put_i64(data, 0, sequence->n_elems);
    return as_out_data(ctx, 0, data, &scalar);
}

/* ---- SplitToSequence ---- */

/* The parts of an axis of length `dim`; NULL data and n -1 when they are not known. */
struct parts {
    int64_t n;    /* -1: not known */
    int64_t each; /* of all but the last, where `at` is NULL; or AS_DIM_UNKNOWN */
    int64_t last; /* the same */
    const int64_t *at;
};

static int equal_parts(struct as_infer *ctx, int64_t dim, int64_t each, struct parts *parts)
{
    if (each < 1)
        return as_conflict(ctx, "parts of %lld", (long long)each);
    *parts = (struct parts){-1, each, AS_DIM_UNKNOWN, NULL};
    if (dim == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    parts->n = dim / each + (dim % each != 0);
    parts->last = dim % each ? dim % each : each;
    return ASSAY_OK;
}

static int read_parts(struct as_infer *ctx, int64_t dim, struct parts *parts)
{
    struct as_dims split;
    struct as_ints given;
    int64_t sum = 0;

    *parts = (struct parts){-1, AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, NULL};
    if (!as_in_type(ctx, 1))
        return equal_parts(ctx, dim, 1, parts);
    if (!as_in_dims(ctx, 1, &split))
        return ASSAY_OK;
    if (!as_in_ints(ctx, 1, &given)) {
        if (split.rank == 1 && split.at[0] != AS_DIM_UNKNOWN)
            parts->n = split.at[0];
        return as_unknown(ctx, "its parts are not constants");
    }
    if (split.rank == 0 && given.n == 1)
        return given.at[0] == AS_DIM_UNKNOWN ? ASSAY_OK : equal_parts(ctx, dim, given.at[0], parts);
    for (size_t i = 0; i < given.n; i++) {
        if (given.at[i] < 0 && given.at[i] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "a part of %lld", (long long)given.at[i]);
        sum = as_dim_add(sum, given.at[i]);
    }
    if (sum != AS_DIM_UNKNOWN && dim != AS_DIM_UNKNOWN && sum != dim)
        return as_conflict(ctx, "the parts add up to %lld, the axis has %lld", (long long)sum,
                           (long long)dim);
    parts->n = (int64_t)given.n;
    parts->at = given.at;
    return ASSAY_OK;
}

static bool part_type(struct as_infer *ctx, const struct as_dims *x, int axis, int64_t dim,
                      struct as_type *out)
{
    bool dropped = !as_in_type(ctx, 1) && as_node_int(ctx->node, "keepdims", 1) == 0;
    struct as_dims dims = *x;

    dims.at[axis] = dim;
    if (!as_type_tensor(out, ctx->arena, as_in_dtype(ctx, 0), &dims))
        return false;
    return !dropped || as_type_without_axis(ctx->arena, out, axis, out);
}

static int infer_split(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct parts parts;
    struct as_type *elems, one;
    struct as_dims x;
    int axis, rc;

    if (!as_in_dims(ctx, 0, &x))
        return out_bare_sequence(ctx, 0);
    if (!as_axis(said, x.rank, &axis))
        return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions", (long long)said,
                           x.rank);
    rc = read_parts(ctx, x.at[axis], &parts);
    if (rc < 0)
        return rc;
    if (!as_type_may_copy(ctx, parts.n)) {
        int64_t dim = !as_in_type(ctx, 1) ? 1 : AS_DIM_UNKNOWN;

        if (!part_type(ctx, &x, axis, dim, &one))
            return as_fail_nomem(ctx->err);
        return out_many(ctx, 0, &one);
    }
    elems = as_arena_zero(ctx->arena, (size_t)parts.n + 1, sizeof *elems);
    for (int64_t i = 0; elems && i < parts.n; i++) {
        int64_t dim = parts.at ? parts.at[i] : i + 1 < parts.n ? parts.each : parts.last;

        if (!part_type(ctx, &x, axis, dim, &elems[i]))
            elems = NULL;
    }
    return elems ? out_list(ctx, 0, elems, (size_t)parts.n) : as_fail_nomem(ctx->err);
}

/* ---- ConcatFromSequence ---- */

static int join_elems(struct as_infer *ctx, const struct as_type *sequence, int axis,
                      struct as_dims *dims)
{
    int64_t sum = sequence->n_elems < 0 ? AS_DIM_UNKNOWN : 0;

    for (int32_t k = 0; k < (sequence->n_elems < 0 ? 1 : sequence->n_elems); k++) {
        struct as_dims one;

        if (!as_type_dims(&sequence->elems[k], &one)) {
            sum = AS_DIM_UNKNOWN;
            continue;
        }
        if (one.rank != dims->rank)
            return as_conflict(ctx, "elements of %d and %d dimensions are joined", dims->rank,
                               one.rank);
        for (int i = 0; i < one.rank; i++) {
            if (i == axis || one.at[i] == AS_DIM_UNKNOWN)
                continue;
            if (dims->at[i] != AS_DIM_UNKNOWN && dims->at[i] != one.at[i])
                return as_conflict(ctx, "elements of %lld and %lld on axis %d are joined",
                                   (long long)dims->at[i], (long long)one.at[i], i);
            dims->at[i] = one.at[i];
        }
        if (axis >= 0 && sum != AS_DIM_UNKNOWN)
            sum = as_dim_add(sum, one.at[axis]);
    }
    if (axis >= 0)
        dims->at[axis] = sum;
    return ASSAY_OK;
}

static int infer_concat(struct as_infer *ctx)
{
    const struct as_type *sequence = sequence_at(ctx, 0);
    bool stack = as_node_int(ctx->node, "new_axis", 0) != 0;
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims dims = {-1, {0}};
    struct as_type type;
    int axis, rc;

    if (!sequence)
        return ASSAY_OK;
    if (sequence->n_elems == 0)
        return as_conflict(ctx, "an empty sequence is joined");
    for (int32_t k = 0; k < (sequence->n_elems < 0 ? 1 : sequence->n_elems) && dims.rank < 0; k++)
        (void)as_type_dims(&sequence->elems[k], &dims);
    if (dims.rank < 0)
        return as_out_tensor(ctx, 0, sequence->elems[0].dtype, NULL);
    if (!as_axis(said, dims.rank + stack, &axis))
        return as_conflict(ctx, "axis %lld is outside elements of %d dimensions", (long long)said,
                           dims.rank);
    rc = join_elems(ctx, sequence, stack ? -1 : axis, &dims);
    if (rc < 0 || !stack)
        return rc < 0 ? rc : as_out_tensor(ctx, 0, sequence->elems[0].dtype, &dims);
    if (!as_type_tensor(&type, ctx->arena, sequence->elems[0].dtype, &dims) ||
        !as_type_with_axis(ctx->arena, &type, axis,
                           sequence->n_elems < 0 ? AS_DIM_UNKNOWN : sequence->n_elems, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, 0, &type);
}

/* ---- optionals ---- */

static int infer_optional(struct as_infer *ctx)
{
    const struct as_type *in = as_in_type(ctx, 0);
    struct as_type type;

    if (!as_type_list(ctx, AS_VALUE_OPTIONAL, in, in ? 1 : 0, &type))
        return as_fail_nomem(ctx->err);
    return as_out_type(ctx, 0, &type);
}

static int infer_get_element(struct as_infer *ctx)
{
    const struct as_type *in = as_in_type(ctx, 0);
    const struct as_value *from = as_node_input(ctx->graph, ctx->node, 0);
    struct as_value *to = as_node_output(ctx->graph, ctx->node, 0);

    if (!in)
        return ASSAY_OK;
    if (in->kind != AS_VALUE_OPTIONAL) {
        if (to)
            to->data = from->data;
        return as_out_like(ctx, 0, 0);
    }
    if (in->n_elems == 0)
        return as_conflict(ctx, "an empty optional is opened");
    return in->elems ? as_out_type(ctx, 0, &in->elems[0]) : ASSAY_OK;
}

static int infer_has_element(struct as_infer *ctx)
{
    const struct as_type *in = as_in_type(ctx, 0);
    struct as_dims scalar = {0, {0}};
    struct as_data *data;

    if (in && in->kind == AS_VALUE_OPTIONAL && in->n_elems < 0)
        return as_out_tensor(ctx, 0, AS_DTYPE_BOOL, &scalar);
    /* Nothing at all may also be an optional of which only the kind is not known. */
    if (in && in->kind == AS_VALUE_TENSOR && in->dtype == AS_DTYPE_UNKNOWN && in->rank < 0)
        return as_out_tensor(ctx, 0, AS_DTYPE_BOOL, &scalar);
    data = as_data_new(ctx->arena, AS_DTYPE_BOOL, 1);
    if (data)
        as_data_put_i64(data, 0, in && (in->kind != AS_VALUE_OPTIONAL || in->n_elems > 0));
    return as_out_data(ctx, 0, data, &scalar);
}

/* ---- strings ---- */

static int infer_string_concat(struct as_infer *ctx)
{
    struct as_dims a, b, out;

    if (!as_in_dims(ctx, 0, &a) || !as_in_dims(ctx, 1, &b))
        return as_out_tensor(ctx, 0, AS_DTYPE_STRING, NULL);
    if (!as_dims_broadcast(&a, &b, &out))
        return as_conflict(ctx, "the two inputs do not fit together");
    return as_out_tensor(ctx, 0, AS_DTYPE_STRING, &out);
}

/* One more axis, as long as the most parts a string has. */
static int infer_string_split(struct as_infer *ctx)
{
    const struct as_type *in = as_in_type(ctx, 0);
    struct as_type type;
    struct as_dims x;
    int rc;

    if (!in || !as_in_dims(ctx, 0, &x)) {
        rc = as_out_tensor(ctx, 0, AS_DTYPE_STRING, NULL);
        return rc == ASSAY_OK ? as_out_tensor(ctx, 1, AS_DTYPE_I64, NULL) : rc;
    }
    if (!as_type_with_axis(ctx->arena, in, x.rank, AS_DIM_UNKNOWN, &type))
        return as_fail_nomem(ctx->err);
    type.dtype = AS_DTYPE_STRING;
    rc = as_out_type(ctx, 0, &type);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, AS_DTYPE_I64, &x);
    return rc == ASSAY_OK ? as_unknown(ctx, "the number of parts is in the strings") : rc;
}

static int infer_regex(struct as_infer *ctx)
{
    struct as_dims x;

    return as_out_tensor(ctx, 0, AS_DTYPE_BOOL, as_in_dims(ctx, 0, &x) ? &x : NULL);
}

const struct as_op_rule as_rules_sequence[] = {
    {AS_OP_SequenceEmpty, infer_empty, NULL},
    {AS_OP_SequenceConstruct, infer_construct, NULL},
    {AS_OP_SequenceAt, infer_at, NULL},
    {AS_OP_SequenceInsert, infer_insert, NULL},
    {AS_OP_SequenceErase, infer_erase, NULL},
    {AS_OP_SequenceLength, infer_length, NULL},
    {AS_OP_SplitToSequence, infer_split, NULL},
    {AS_OP_ConcatFromSequence, infer_concat, NULL},
    {AS_OP_Optional, infer_optional, NULL},
    {AS_OP_OptionalGetElement, infer_get_element, NULL},
    {AS_OP_OptionalHasElement, infer_has_element, NULL},
    {AS_OP_StringConcat, infer_string_concat, NULL},
    {AS_OP_StringSplit, infer_string_split, NULL},
    {AS_OP_RegexFullMatch, infer_regex, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
