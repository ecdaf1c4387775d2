/* model/infer/infer_types.c - types of sequences and optionals, and what two types have in common.
 * What differs becomes unknown, so that a merged type holds for both. */
#include "model/infer/infer_context.h"

#include <string.h>

#define COPIES_MAX ((int64_t)1 << 18)

bool as_type_may_copy(const struct as_infer *ctx, int64_t n)
{
    return n >= 0 && n <= AS_SEQUENCE_MAX && ctx->copied_elems <= COPIES_MAX - n;
}

static bool merge_tensors(struct as_arena *arena, const struct as_type *a, const struct as_type *b,
                          struct as_type *out)
{
    unsigned dtype = a->dtype == b->dtype ? a->dtype : (unsigned)AS_DTYPE_UNKNOWN;
    struct as_dims dims, other;

    if (as_type_equal(a, b)) {
        *out = *a;
        return true;
    }
    if (!as_type_dims(a, &dims) || !as_type_dims(b, &other) || dims.rank != other.rank)
        return as_type_tensor(out, arena, dtype, NULL);
    for (int i = 0; i < dims.rank; i++)
        if (dims.at[i] != other.at[i])
            dims.at[i] = AS_DIM_UNKNOWN;
    return as_type_tensor(out, arena, dtype, &dims);
}

/* How many types `elems` points to. */
static int32_t listed(const struct as_type *type)
{
    if (!type->elems)
        return 0;
    return type->n_elems < 0 ? 1 : type->n_elems;
}

static bool copy_elem(struct as_arena *arena, const struct as_type *elem, struct as_type *out)
{
    struct as_type *copy = as_arena_alloc(arena, sizeof *copy);

    if (!copy)
        return false;
    *copy = *elem;
    out->elems = copy;
    return true;
}

bool as_type_merge(struct as_arena *arena, const struct as_type *a, const struct as_type *b,
                   struct as_type *out)
{
    struct as_type one, other;

    if (a->kind != b->kind) {
        *out = AS_TYPE_UNKNOWN;
        return true;
    }
    if (a->kind == AS_VALUE_TENSOR)
        return merge_tensors(arena, a, b, out);
    *out = *a;
    if (as_type_equal(a, b))
        return true;
    *out = AS_TYPE_UNKNOWN;
    out->kind = a->kind;
    if (a->n_elems < 0 && !a->elems)
        return true;
    if (b->n_elems < 0 && !b->elems)
        return true;
    if (!as_type_common(arena, a, &one) || !as_type_common(arena, b, &other))
        return false;
    /* An empty one says nothing of its elements. */
    if (listed(a) == 0)
        one = other;
    else if (listed(b) > 0 && !as_type_merge(arena, &one, &other, &one))
        return false;
    /* Of more than one each would have to be merged with its like; the count is given up. */
    if (a->n_elems == 1 && b->n_elems == 1)
        out->n_elems = 1;
    return listed(a) + listed(b) == 0 || copy_elem(arena, &one, out);
}

bool as_type_common(struct as_arena *arena, const struct as_type *sequence, struct as_type *out)
{
    *out = AS_TYPE_UNKNOWN;
    if (listed(sequence) == 0)
        return true;
    *out = sequence->elems[0];
    for (int32_t i = 1; i < listed(sequence); i++)
        if (!as_type_equal(out, &sequence->elems[i]) &&
            !as_type_merge(arena, out, &sequence->elems[i], out))
            return false;
    return true;
}

bool as_type_many(struct as_arena *arena, const struct as_type *elem, struct as_type *out)
{
    *out = AS_TYPE_UNKNOWN;
    out->kind = AS_VALUE_SEQUENCE;
    return copy_elem(arena, elem, out);
}

/* Sequences hold tensors, optionals tensors or sequences; deeper ones are not followed, so that
 * nothing that walks a type can be made to walk far. */
static bool may_hold(enum as_value_kind kind, const struct as_type *elem)
{
    if (elem->kind == AS_VALUE_TENSOR || elem->kind == AS_VALUE_MAP)
        return true;
    return kind == AS_VALUE_OPTIONAL && elem->kind == AS_VALUE_SEQUENCE;
}

bool as_type_list(struct as_infer *ctx, enum as_value_kind kind, const struct as_type *elems,
                  size_t n, struct as_type *out)
{
    struct as_type *copy, whole = {.kind = (uint8_t)kind, .rank = -1};

    *out = AS_TYPE_UNKNOWN;
    out->kind = (uint8_t)kind;
    for (size_t i = 0; i < n; i++)
        if (!may_hold(kind, &elems[i]))
            return true;
    if (n > INT32_MAX)
        return true;
    if (!as_type_may_copy(ctx, (int64_t)n)) {
        whole.n_elems = (int32_t)n;
        whole.elems = elems;
        return as_type_common(ctx->arena, &whole, &whole) && copy_elem(ctx->arena, &whole, out);
    }
    copy = as_arena_alloc(ctx->arena, (n ? n : 1) * sizeof *copy);
    if (!copy)
        return false;
    if (n > 0)
        memcpy(copy, elems, n * sizeof *copy);
    ctx->copied_elems += (int64_t)n;
    out->elems = copy;
    out->n_elems = (int32_t)n;
    return true;
}

bool as_type_with_axis(struct as_arena *arena, const struct as_type *type, int axis, int64_t dim,
                       struct as_type *out)
{
    unsigned dtype = type->kind == AS_VALUE_TENSOR ? type->dtype : (unsigned)AS_DTYPE_UNKNOWN;
    struct as_dims dims;

    if (!as_type_dims(type, &dims) || axis < 0 || axis > dims.rank || dims.rank == AS_MAX_RANK)
        return as_type_tensor(out, arena, dtype, NULL);
    for (int i = dims.rank; i > axis; i--)
        dims.at[i] = dims.at[i - 1];
    dims.at[axis] = dim;
    dims.rank++;
    return as_type_tensor(out, arena, dtype, &dims);
}

bool as_type_without_axis(struct as_arena *arena, const struct as_type *type, int axis,
                          struct as_type *out)
{
    unsigned dtype = type->kind == AS_VALUE_TENSOR ? type->dtype : (unsigned)AS_DTYPE_UNKNOWN;
    struct as_dims dims;

    if (!as_type_dims(type, &dims) || axis < 0 || axis >= dims.rank)
        return as_type_tensor(out, arena, dtype, NULL);
    for (int i = axis; i + 1 < dims.rank; i++)
        dims.at[i] = dims.at[i + 1];
    dims.rank--;
    return as_type_tensor(out, arena, dtype, &dims);
}
