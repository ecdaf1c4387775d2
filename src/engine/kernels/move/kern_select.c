/* engine/kernels/move/kern_select.c - kernels whose output is as long as the numbers say: NonZero,
 * Compress and Unique. NonMaxSuppression is in kern_boxes.c. */
#include "engine/kernels/move/kern_move.h"

#include <math.h>
#include <string.h>

#include "model/fold/fold.h"

/* ---- NonZero ---- */

static bool is_zero(const struct as_val *in, uint64_t i)
{
    const struct as_text *texts = in->data;

    if (in->dtype == AS_DTYPE_STRING)
        return texts[i].size == 0;
    if (in->dtype == AS_DTYPE_BOOL)
        return ((const uint8_t *)in->data)[i] == 0;
    if (in->dtype == AS_DTYPE_F32)
        return fpclassify(((const float *)in->data)[i]) == FP_ZERO;
    return as_dtype_is_float(in->dtype) ? fpclassify(as_val_f64(in, i)) == FP_ZERO
                                        : as_val_i64(in, i) == 0;
}

static int non_zero(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_dims dims = {2, {in->rank, 0}};
    int64_t at[AS_MAX_RANK] = {0}, *out;
    uint64_t n = 0, found = 0;
    int rc;

    for (uint64_t i = 0; i < in->n; i++)
        n += !is_zero(in, i);
    dims.at[1] = (int64_t)n;
    rc = as_kernel_out(k, 0, AS_DTYPE_I64, &dims);
    if (rc < 0 || !as_has_out(k, 0))
        return rc;
    out = k->out[0]->data;
    for (uint64_t i = 0; i < in->n; i++) {
        if (!is_zero(in, i)) {
            for (int d = 0; d < in->rank; d++)
                out[(uint64_t)d * n + found] = at[d];
            found++;
        }
        (void)as_move_step(at, in->dims, in->rank);
    }
    return ASSAY_OK;
}

/* ---- Compress ---- */

static int compress(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *keep = k->in[1];
    bool along = as_node_attr(k->node, "axis") != NULL;
    uint64_t outer = 1, length = in->n, inner = 1, n = 0;
    struct as_dims dims = {1, {0}};
    uint8_t *dst;
    size_t width;
    int axis = 0, rc = as_move_width(k, in, &width);

    if (rc == ASSAY_OK && along)
        rc = as_move_axis_of(k, "axis", 0, in->rank, &axis);
    if (rc < 0)
        return rc;
    if (keep->dtype != AS_DTYPE_BOOL)
        return as_kernel_fail(k, "its condition is %s", as_dtype_name(keep->dtype));
    if (along) {
        as_val_dims(in, &dims);
        length = (uint64_t)in->dims[axis];
        outer = (uint64_t)as_move_product(in->dims, 0, axis);
        inner = (uint64_t)as_move_product(in->dims, axis + 1, in->rank);
    }
    for (uint64_t i = 0; i < keep->n; i++) {
        if (is_zero(keep, i))
            continue;
        if (i >= length)
            return as_kernel_fail(k, "index %llu is outside of %llu elements",
                                  (unsigned long long)i, (unsigned long long)length);
        n++;
    }
    dims.at[axis] = (int64_t)n;
    rc = as_kernel_out(k, 0, in->dtype, &dims);
    if (rc < 0 || !as_has_out(k, 0) || k->out[0]->n == 0)
        return rc;
    dst = k->out[0]->data;
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t i = 0; i < length && i < keep->n; i++)
            if (!is_zero(keep, i)) {
                memcpy(dst, (const uint8_t *)in->data + (o * length + i) * inner * width,
                       inner * width);
                dst += inner * width;
            }
    return as_move_own_texts(k, k->out[0]);
}

/* ---- Unique ---- */

/* A tensor as slices along an axis, or as single elements. */
struct slices {
    const struct as_val *in;
    uint64_t outer, length, inner;
};

static int compare_texts(const struct as_text *a, const struct as_text *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n ? memcmp(a->at, b->at, n) : 0;

    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Numbers that are not one come last and are all the same. */
static int compare_elems(const struct as_val *in, uint64_t a, uint64_t b)
{
    const struct as_text *texts = in->data;

    if (in->dtype == AS_DTYPE_STRING)
        return compare_texts(&texts[a], &texts[b]);
    if (as_dtype_is_float(in->dtype)) {
        double x = as_val_f64(in, a), y = as_val_f64(in, b);

        if (isnan(x) || isnan(y))
            return (isnan(x) != 0) - (isnan(y) != 0);
        return (x > y) - (x < y);
    }
    if (in->dtype == AS_DTYPE_U64) {
        uint64_t x = ((const uint64_t *)in->data)[a], y = ((const uint64_t *)in->data)[b];

        return (x > y) - (x < y);
    }
    return (as_val_i64(in, a) > as_val_i64(in, b)) - (as_val_i64(in, a) < as_val_i64(in, b));
}

static int compare_slices(const struct slices *s, uint64_t a, uint64_t b)
{
    int order = 0;

    for (uint64_t o = 0; o < s->outer && !order; o++)
        for (uint64_t i = 0; i < s->inner && !order; i++)
            order = compare_elems(s->in, (o * s->length + a) * s->inner + i,
                                  (o * s->length + b) * s->inner + i);
    return order;
}

static bool slice_before(const void *of, uint64_t a, uint64_t b)
{
    return compare_slices(of, a, b) < 0;
}

static bool first_before(const void *of, uint64_t a, uint64_t b)
{
    const uint64_t *first = of;

    return first[a] < first[b];
}

/* Groups of equal slices: `first` of each where it first is, `of` each slice its group. */
struct groups {
    uint64_t n;
    uint64_t *first, *count, *of;
};

static int find_groups(struct as_kernel_ctx *k, const struct slices *s, struct groups *g)
{
    uint64_t capacity = s->length + 1;
    uint64_t *work = as_kernel_work(k, capacity, 5 * sizeof *work), *order, *spare, *rank;

    if (!work)
        return ASSAY_ERR_NOMEM;
    order = work;
    spare = work + capacity;
    g->first = work + 2 * capacity;
    g->count = work + 3 * capacity;
    g->of = work + 4 * capacity;
    for (uint64_t i = 0; i < s->length; i++)
        order[i] = i;
    as_fold_sort(order, spare, s->length, slice_before, s);
    g->n = 0;
    for (uint64_t i = 0; i < s->length; i++) {
        if (i == 0 || compare_slices(s, order[i - 1], order[i]) != 0) {
            g->first[g->n] = order[i]; /* equal ones keep their order */
            g->count[g->n++] = 0;
        }
        g->of[order[i]] = g->n - 1;
        g->count[g->n - 1]++;
    }
    if (as_node_int(k->node, "sorted", 1) != 0)
        return ASSAY_OK;
    rank = as_kernel_work(k, capacity, 4 * sizeof *rank);
    if (!rank)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < g->n; i++)
        order[i] = i;
    as_fold_sort(order, spare, g->n, first_before, g->first);
    for (uint64_t i = 0; i < g->n; i++) {
        rank[order[i]] = i;
        rank[capacity + i] = g->first[order[i]];
        rank[2 * capacity + i] = g->count[order[i]];
    }
    for (uint64_t i = 0; i < s->length; i++)
        g->of[i] = rank[g->of[i]];
    g->first = rank + capacity;
    g->count = rank + 2 * capacity;
    return ASSAY_OK;
}

static int put_numbers(struct as_kernel_ctx *k, size_t i, const uint64_t *from, uint64_t n)
{
    struct as_dims dims = {1, {(int64_t)n}};
    int rc = as_kernel_out(k, i, AS_DTYPE_I64, &dims);

    for (uint64_t j = 0; rc == ASSAY_OK && as_has_out(k, i) && j < n; j++)
        as_val_put_i64(k->out[i], j, (int64_t)from[j]);
    return rc;
}

static int put_slices(struct as_kernel_ctx *k, const struct slices *s, const struct groups *g,
                      const struct as_dims *dims)
{
    const uint8_t *src = s->in->data;
    uint8_t *dst;
    size_t width, run;
    int rc = as_move_width(k, s->in, &width);

    if (rc == ASSAY_OK)
        rc = as_kernel_out(k, 0, s->in->dtype, dims);
    if (rc < 0 || !as_has_out(k, 0) || k->out[0]->n == 0)
        return rc;
    dst = k->out[0]->data;
    run = s->inner * width;
    for (uint64_t o = 0; o < s->outer; o++)
        for (uint64_t i = 0; i < g->n; i++)
            memcpy(dst + (o * g->n + i) * run, src + (o * s->length + g->first[i]) * run, run);
    return as_move_own_texts(k, k->out[0]);
}

static int unique(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    bool along = as_node_attr(k->node, "axis") != NULL;
    struct slices s = {in, 1, in->n, 1};
    struct as_dims dims = {1, {0}};
    struct groups g = {0};
    int axis = 0, rc = ASSAY_OK;

    if (as_dtype_at(in->dtype)->kind == AS_CLASS_COMPLEX)
        return as_kernel_cannot(k, "complex numbers have no order");
    if (along) {
        rc = as_move_axis_of(k, "axis", 0, in->rank, &axis);
        if (rc < 0)
            return rc;
        as_val_dims(in, &dims);
        s.length = (uint64_t)in->dims[axis];
        s.outer = (uint64_t)as_move_product(in->dims, 0, axis);
        s.inner = (uint64_t)as_move_product(in->dims, axis + 1, in->rank);
        if (in->n == 0)
            s.outer = s.inner = 0;
    }
    rc = find_groups(k, &s, &g);
    if (rc < 0)
        return rc;
    dims.at[axis] = (int64_t)g.n;
    rc = put_slices(k, &s, &g, &dims);
    if (rc == ASSAY_OK)
        rc = put_numbers(k, 1, g.first, g.n);
    if (rc == ASSAY_OK)
        rc = put_numbers(k, 2, g.of, s.length);
    return rc < 0 ? rc : put_numbers(k, 3, g.count, g.n);
}

#define MAKES (AS_KERNEL_MAKES_OUT | AS_KERNEL_HALF | AS_KERNEL_TEXT)

const struct as_kernel as_kernels_select[] = {
    {AS_OP_NonZero, non_zero, MAKES}, {AS_OP_Compress, compress, MAKES},
    {AS_OP_Unique, unique, MAKES},    {AS_OP_NonMaxSuppression, as_kern_boxes, AS_KERNEL_MAKES_OUT},
    {AS_OP_UNKNOWN, NULL, 0},
};
