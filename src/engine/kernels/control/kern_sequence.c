/* engine/kernels/control/kern_sequence.c - kernels of sequences and optionals: elements are shared,
 * never copied, save where one tensor becomes many or many one. */
#include "engine/kernels/control/kern_control.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/kernels/move/kern_move.h"
#include "model/infer/infer_context.h"

int as_list_begin(struct as_kernel_ctx *k, size_t i, enum as_value_kind kind, uint64_t n)
{
    struct as_val *out = k->out[i];

    if (n >= INT32_MAX)
        return as_kernel_fail(k, "a sequence of %llu elements", (unsigned long long)n);
    as_val_drop(out);
    return as_val_list(out, k->mem, kind, (int32_t)n, k->err);
}

int as_list_keep(struct as_kernel_ctx *k, struct as_val *to, const struct as_val *from)
{
    struct as_dims dims;
    int rc;

    if (from->kind != AS_VALUE_TENSOR || from->hold)
        return as_val_share(to, from, k->err);
    as_val_dims(from, &dims);
    rc = as_val_new(to, k->mem, AS_MEM_ACTIVATIONS, from->dtype, &dims, k->err);
    if (rc < 0)
        return rc;
    memcpy(to->data, from->data, from->bytes);
    return as_move_own_texts(k, to);
}

int as_list_add(struct as_kernel_ctx *k, size_t i, const struct as_val *elem)
{
    struct as_val *out = k->out[i];
    int rc;

    /* Deeper lists would be copied and dropped by ever deeper calls. */
    if (out->kind == AS_VALUE_SEQUENCE ? elem->kind != AS_VALUE_TENSOR
                                       : elem->kind == AS_VALUE_OPTIONAL)
        return as_kernel_fail(k, "a sequence holds tensors, and an optional no optional");
    rc = as_list_keep(k, &out->elems[out->n_elems], elem);
    if (rc == ASSAY_OK)
        out->n_elems++;
    return rc;
}

static int need_sequence(struct as_kernel_ctx *k)
{
    if (!as_has_in(k, 0) || k->in[0]->kind != AS_VALUE_SEQUENCE)
        return as_kernel_fail(k, "its first input is not a sequence");
    return ASSAY_OK;
}

/* Input `i` as a place in a sequence of n, or of n and the place behind it. */
static int place_of(struct as_kernel_ctx *k, size_t i, int32_t n, bool behind, int32_t *place)
{
    const struct as_val *in = as_has_in(k, i) ? k->in[i] : NULL;
    int64_t said;

    *place = behind ? n : n - 1;
    if (!in)
        return n > 0 || behind ? ASSAY_OK : as_kernel_fail(k, "the sequence is empty");
    if (in->kind != AS_VALUE_TENSOR || in->n != 1 || !as_dtype_is_integer(in->dtype))
        return as_kernel_fail(k, "its position is not one integer");
    said = as_val_i64(in, 0);
    if (said < -(int64_t)n || said >= (int64_t)n + behind)
        return as_kernel_fail(k, "position %lld is outside of a sequence of %d", (long long)said,
                              n);
    *place = (int32_t)(said < 0 ? said + n : said);
    return ASSAY_OK;
}

static int empty(struct as_kernel_ctx *k)
{
    return as_has_out(k, 0) ? as_list_begin(k, 0, AS_VALUE_SEQUENCE, 0) : ASSAY_OK;
}

static int construct(struct as_kernel_ctx *k)
{
    int rc = as_list_begin(k, 0, AS_VALUE_SEQUENCE, k->n_in);

    for (size_t i = 0; i < k->n_in && rc == ASSAY_OK; i++)
        rc =
            k->in[i] ? as_list_add(k, 0, k->in[i]) : as_kernel_fail(k, "element %zu is missing", i);
    return rc;
}

static int at(struct as_kernel_ctx *k)
{
    int32_t place;
    int rc = need_sequence(k);

    if (rc == ASSAY_OK)
        rc = place_of(k, 1, k->in[0]->n_elems, false, &place);
    return rc < 0 ? rc : as_kernel_pass(k, 0, &k->in[0]->elems[place]);
}

static int insert(struct as_kernel_ctx *k)
{
    int32_t place, n;
    int rc = need_sequence(k);

    if (rc == ASSAY_OK && !as_has_in(k, 1))
        rc = as_kernel_fail(k, "there is nothing to insert");
    if (rc == ASSAY_OK)
        rc = place_of(k, 2, k->in[0]->n_elems, true, &place);
    if (rc < 0)
        return rc;
    n = k->in[0]->n_elems;
    rc = as_list_begin(k, 0, AS_VALUE_SEQUENCE, (uint64_t)n + 1);
    for (int32_t i = 0; i <= n && rc == ASSAY_OK; i++)
        rc = as_list_add(k, 0, i == place ? k->in[1] : &k->in[0]->elems[i - (i > place)]);
    return rc;
}

static int erase(struct as_kernel_ctx *k)
{
    int32_t place, n;
    int rc = need_sequence(k);

    if (rc == ASSAY_OK)
        rc = place_of(k, 1, k->in[0]->n_elems, false, &place);
    if (rc < 0)
        return rc;
    n = k->in[0]->n_elems;
    rc = as_list_begin(k, 0, AS_VALUE_SEQUENCE, (uint64_t)n);
    for (int32_t i = 0; i < n && rc == ASSAY_OK; i++)
        if (i != place)
            rc = as_list_add(k, 0, &k->in[0]->elems[i]);
    return rc;
}

static int put_scalar(struct as_kernel_ctx *k, unsigned dtype, int64_t x)
{
    struct as_dims scalar = {0};
    int rc = as_kernel_out(k, 0, dtype, &scalar);

    if (rc == ASSAY_OK && as_has_out(k, 0))
        as_val_put_i64(k->out[0], 0, x);
    return rc;
}

static int length(struct as_kernel_ctx *k)
{
    int rc = need_sequence(k);

    return rc < 0 ? rc : put_scalar(k, AS_DTYPE_I64, k->in[0]->n_elems);
}

/* ---- SplitToSequence ---- */

struct parting {
    const struct as_val *in;
    int axis;
    int64_t strides[AS_MAX_RANK];
    bool keep; /* the axis stays, also when a part has just one */
};

static int add_part(struct as_kernel_ctx *k, const struct parting *p, int64_t begin, int64_t n)
{
    struct as_val *elem = &k->out[0]->elems[k->out[0]->n_elems];
    int64_t steps[AS_MAX_RANK];
    struct as_dims dims = {0};
    int rc;

    for (int d = 0; d < p->in->rank; d++) {
        if (d == p->axis && !p->keep)
            continue;
        steps[dims.rank] = p->strides[d];
        dims.at[dims.rank++] = d == p->axis ? n : p->in->dims[d];
    }
    rc = as_val_new(elem, k->mem, AS_MEM_ACTIVATIONS, p->in->dtype, &dims, k->err);
    if (rc < 0)
        return rc;
    k->out[0]->n_elems++;
    return as_move_view(k, elem, p->in, begin * p->strides[p->axis], steps);
}

/* Equal parts of `each`, the last one shorter where they do not come out even. */
static int split_evenly(struct as_kernel_ctx *k, const struct parting *p, int64_t each)
{
    int64_t all = p->in->dims[p->axis];
    int rc;

    if (each < 1)
        return as_kernel_fail(k, "parts of %lld", (long long)each);
    rc = as_list_begin(k, 0, AS_VALUE_SEQUENCE, (uint64_t)(all / each + (all % each != 0)));
    for (int64_t begin = 0; begin < all && rc == ASSAY_OK; begin += each) {
        rc = add_part(k, p, begin, all - begin < each ? all - begin : each);
        if (all - begin <= each)
            break;
    }
    return rc;
}

static int split_to_sequence(struct as_kernel_ctx *k)
{
    const struct as_val *split = as_has_in(k, 1) ? k->in[1] : NULL;
    struct parting p = {.in = k->in[0]};
    int64_t begin = 0;
    int rc = as_move_axis_of(k, "axis", 0, p.in->rank, &p.axis);

    if (rc < 0)
        return rc;
    as_strides(p.in, p.strides);
    p.keep = split || as_node_int(k->node, "keepdims", 1) != 0;
    if (!split)
        return split_evenly(k, &p, 1);
    if (!as_dtype_is_integer(split->dtype))
        return as_kernel_fail(k, "its parts are not integers");
    if (split->rank == 0)
        return split_evenly(k, &p, as_val_i64(split, 0));
    rc = as_list_begin(k, 0, AS_VALUE_SEQUENCE, split->n);
    for (uint64_t i = 0; i < split->n && rc == ASSAY_OK; i++) {
        int64_t n = as_val_i64(split, i);

        if (n < 0 || n > p.in->dims[p.axis] - begin)
            return as_kernel_fail(k, "part %llu of %lld reaches beyond %lld", (unsigned long long)i,
                                  (long long)n, (long long)p.in->dims[p.axis]);
        rc = add_part(k, &p, begin, n);
        begin += n;
    }
    if (rc == ASSAY_OK && begin != p.in->dims[p.axis])
        rc = as_kernel_fail(k, "the parts are %lld together, the axis is %lld", (long long)begin,
                            (long long)p.in->dims[p.axis]);
    return rc;
}

/* ---- ConcatFromSequence ---- */

int as_list_join(struct as_kernel_ctx *k, size_t i, const struct as_val *elems, int64_t n, int axis,
                 bool stack)
{
    struct as_dims dims, out = {0};
    int64_t sum = 0;
    uint64_t outer, inner, all, begin = 0;
    int rc = ASSAY_OK;

    as_val_dims(&elems[0], &dims);
    if (dims.rank + stack > AS_MAX_RANK)
        return as_kernel_fail(k, "more than %d dimensions", AS_MAX_RANK);
    for (int64_t e = 0; e < n; e++) {
        bool fits = elems[e].kind == AS_VALUE_TENSOR && elems[e].rank == dims.rank &&
                    elems[e].dtype == elems[0].dtype;

        for (int d = 0; d < dims.rank && fits; d++)
            fits = (d == axis && !stack) || elems[e].dims[d] == dims.at[d];
        if (!fits)
            return as_kernel_fail(k, "element %lld is not like the first", (long long)e);
        if (!stack && __builtin_add_overflow(sum, elems[e].dims[axis], &sum))
            return as_kernel_fail(k, "the elements are too long together");
    }
    for (int d = 0; d < dims.rank + stack; d++)
        out.at[out.rank++] = d == axis ? (stack ? n : sum) : dims.at[stack && d > axis ? d - 1 : d];
    rc = as_kernel_out(k, i, elems[0].dtype, &out);
    if (rc < 0 || !as_has_out(k, i) || k->out[i]->n == 0)
        return rc;
    outer = (uint64_t)as_move_product(out.at, 0, axis);
    inner = (uint64_t)as_move_product(out.at, axis + 1, out.rank);
    all = inner * (uint64_t)out.at[axis];
    for (int64_t e = 0; e < n && rc == ASSAY_OK; e++) {
        rc = as_move_part(k, k->out[i], &elems[e], outer, all, begin);
        begin += stack ? inner : inner * (uint64_t)elems[e].dims[axis];
    }
    return rc < 0 ? rc : as_move_own_texts(k, k->out[i]);
}

static int concat_from_sequence(struct as_kernel_ctx *k)
{
    bool stack = as_node_int(k->node, "new_axis", 0) != 0;
    const struct as_val *in;
    int axis, rc = need_sequence(k);

    if (rc < 0)
        return rc;
    in = k->in[0];
    if (in->n_elems < 1 || in->elems[0].kind != AS_VALUE_TENSOR)
        return as_kernel_fail(k, "there is no tensor in the sequence");
    rc = as_move_axis_of(k, "axis", 0, in->elems[0].rank + stack, &axis);
    return rc < 0 ? rc : as_list_join(k, 0, in->elems, in->n_elems, axis, stack);
}

/* ---- optionals ---- */

static int optional(struct as_kernel_ctx *k)
{
    int rc = as_list_begin(k, 0, AS_VALUE_OPTIONAL, 1);

    return rc == ASSAY_OK && as_has_in(k, 0) ? as_list_add(k, 0, k->in[0]) : rc;
}

static int has_element(struct as_kernel_ctx *k)
{
    bool has = as_has_in(k, 0) && k->in[0]->present;

    if (has && k->in[0]->kind == AS_VALUE_OPTIONAL)
        has = k->in[0]->n_elems > 0;
    return put_scalar(k, AS_DTYPE_BOOL, has);
}

static int get_element(struct as_kernel_ctx *k)
{
    if (!as_has_in(k, 0))
        return as_kernel_fail(k, "there is no optional");
    if (k->in[0]->kind != AS_VALUE_OPTIONAL) {
        if (!as_has_out(k, 0))
            return ASSAY_OK;
        as_val_drop(k->out[0]);
        return as_list_keep(k, k->out[0], k->in[0]);
    }
    if (k->in[0]->n_elems < 1)
        return as_kernel_fail(k, "an empty optional is opened");
    return as_kernel_pass(k, 0, &k->in[0]->elems[0]);
}

#define MAKES (AS_KERNEL_MAKES_OUT | AS_KERNEL_HALF | AS_KERNEL_TEXT | AS_KERNEL_LISTS)

const struct as_kernel as_kernels_sequence[] = {
    {AS_OP_SequenceEmpty, empty, MAKES},
    {AS_OP_SequenceConstruct, construct, MAKES},
    {AS_OP_SequenceAt, at, MAKES},
    {AS_OP_SequenceInsert, insert, MAKES},
    {AS_OP_SequenceErase, erase, MAKES},
    {AS_OP_SequenceLength, length, MAKES},
    {AS_OP_SplitToSequence, split_to_sequence, MAKES},
    {AS_OP_ConcatFromSequence, concat_from_sequence, MAKES},
    {AS_OP_Optional, optional, MAKES},
    {AS_OP_OptionalHasElement, has_element, MAKES},
    {AS_OP_OptionalGetElement, get_element, MAKES},
    {AS_OP_UNKNOWN, NULL, 0},
};
