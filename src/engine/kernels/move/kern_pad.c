/* engine/kernels/move/kern_pad.c - Pad and CenterCropPad: where each place of a padded axis comes
 * from is put into a table first, so that every mode is the same copy. */
#include <string.h>

#include "engine/kernels/move/kern_move.h"
#include "model/infer/infer_context.h"

/* Axes after the last padded one move as one run of bytes. */
struct padding {
    const struct as_val *in;
    struct as_val *out;
    int64_t before[AS_MAX_RANK];
    int64_t *table[AS_MAX_RANK]; /* for each place of the output its source, or -1 */
    int64_t strides[AS_MAX_RANK];
    int last;                     /* the last axis that is padded */
    size_t run_bytes, elem_bytes; /* of a place on that axis; of one element */
    int64_t first, length;        /* places on that axis that come from one block of the input */
    const void *fill;
};

static int64_t source_of(int64_t o, int64_t d, int mode)
{
    int64_t period, at;

    if (o >= 0 && o < d)
        return o;
    switch (mode) {
    case 'e':
        return o < 0 ? 0 : d - 1;
    case 'w':
        return (o % d + d) % d;
    case 'r':
        period = 2 * (d - 1);
        at = period ? (o % period + period) % period : 0;
        return at < d ? at : period - at;
    case 's': /* of TensorFlow Lite: the edge is repeated */
        at = (o % (2 * d) + 2 * d) % (2 * d);
        return at < d ? at : 2 * d - 1 - at;
    default:
        return -1;
    }
}

static void fill_place(const struct padding *p, uint8_t *dst, int64_t n)
{
    as_move_fill(dst, p->fill, (uint64_t)n * (p->run_bytes / p->elem_bytes), p->elem_bytes);
}

/* One row along the last padded axis, from the block that begins at `src`. */
static void pad_row(const struct padding *p, uint8_t *dst, const uint8_t *src)
{
    const int64_t *table = p->table[p->last];
    int64_t n = p->out->dims[p->last];

    for (int64_t i = 0; i < n; i++) {
        if (i == p->first && p->length > 0) {
            memcpy(dst + (size_t)i * p->run_bytes, src + (size_t)table[i] * p->run_bytes,
                   (size_t)p->length * p->run_bytes);
            i += p->length - 1;
        } else if (table[i] < 0) {
            fill_place(p, dst + (size_t)i * p->run_bytes, 1);
        } else {
            memcpy(dst + (size_t)i * p->run_bytes, src + (size_t)table[i] * p->run_bytes,
                   p->run_bytes);
        }
    }
}

static void pad_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct padding *p = arg;
    uint64_t row_bytes = (uint64_t)p->out->dims[p->last] * p->run_bytes;
    uint8_t *dst = p->out->data;

    for (uint64_t row = from; row < to; row++) {
        const uint8_t *src = p->in->data;
        uint64_t rest = row;
        bool outside = false;

        for (int d = p->last; d-- > 0;) {
            uint64_t n = (uint64_t)p->out->dims[d];
            int64_t at = p->table[d][rest % n];

            rest /= n;
            outside |= at < 0;
            src += at < 0 ? 0 : at * p->strides[d] * (int64_t)p->elem_bytes;
        }
        if (outside)
            fill_place(p, dst + row * row_bytes, p->out->dims[p->last]);
        else
            pad_row(p, dst + row * row_bytes, src);
    }
}

static int make_tables(struct as_kernel_ctx *k, struct padding *p, int mode)
{
    for (int d = 0; d <= p->last; d++) {
        int64_t n = p->out->dims[d], length = p->in->dims[d], low, high;

        if (length == 0 && n > 0 && mode != 'c')
            return as_kernel_fail(k, "axis %d has nothing to repeat", d);
        if (__builtin_sub_overflow((int64_t)0, p->before[d], &low) ||
            __builtin_add_overflow(low, n, &high))
            return as_kernel_fail(k, "axis %d is padded by %lld", d, (long long)p->before[d]);
        p->table[d] = as_kernel_work(k, (uint64_t)n, sizeof **p->table);
        if (!p->table[d])
            return ASSAY_ERR_NOMEM;
        for (int64_t i = 0; i < n; i++)
            p->table[d][i] = source_of(low + i, length, mode);
    }
    p->first = p->before[p->last] > 0 ? p->before[p->last] : 0;
    p->length = 0;
    while (p->first + p->length < p->out->dims[p->last] &&
           p->first + p->length - p->before[p->last] < p->in->dims[p->last])
        p->length++;
    return ASSAY_OK;
}

static int pad_all(struct as_kernel_ctx *k, struct padding *p, int mode)
{
    uint64_t rows = 1;
    int rc = as_move_width(k, p->in, &p->elem_bytes);

    if (rc < 0 || p->out->n == 0)
        return rc;
    p->last = 0;
    for (int d = 0; d < p->in->rank; d++)
        if (p->before[d] != 0 || p->out->dims[d] != p->in->dims[d])
            p->last = d;
    if (p->in->rank == 0) {
        memcpy(p->out->data, p->in->data, p->elem_bytes);
        return as_move_own_texts(k, p->out);
    }
    rc = make_tables(k, p, mode);
    if (rc < 0)
        return rc;
    as_strides(p->in, p->strides);
    p->run_bytes = p->elem_bytes * (size_t)as_move_product(p->in->dims, p->last + 1, p->in->rank);
    for (int d = 0; d < p->last; d++)
        rows *= (uint64_t)p->out->dims[d];
    as_kernel_parallel(k, rows, as_move_grain((uint64_t)p->out->dims[p->last] * p->run_bytes),
                       pad_rows, p);
    return as_move_own_texts(k, p->out);
}

/* The pads before each axis; those after follow from the output's length. */
static int read_pads(struct as_kernel_ctx *k, struct padding *p)
{
    const struct as_val *list = as_has_in(k, 1) ? k->in[1] : NULL;
    int rank = p->in->rank, n = rank;
    struct as_dims axes = {0};
    struct as_ints given;
    bool old = as_node_ints(k->node, "pads", &given) || as_node_ints(k->node, "paddings", &given);

    /* In TensorFlow Lite the two of an axis are beside each other. */
    uint64_t step = as_node_is_lowered(k->node) ? 2 : 1;

    if (as_has_in(k, 3)) {
        if (!as_in_numbers(k, 3, &axes))
            return as_kernel_fail(k, "its axes are not integers");
        n = axes.rank;
    }
    if (!old && (!list || !as_dtype_is_integer(list->dtype)))
        return as_kernel_fail(k, "it has no pads");
    if ((old ? given.n : list->n) != 2 * (uint64_t)n || p->out->rank != rank)
        return as_kernel_fail(k, "the pads are not two for each axis");
    for (int i = 0; i < n; i++) {
        int axis;

        if (!as_axis(as_has_in(k, 3) ? axes.at[i] : i, rank, &axis))
            return as_kernel_fail(k, "axis %lld is outside of rank %d", (long long)axes.at[i],
                                  rank);
        p->before[axis] = old ? given.at[i] : as_val_i64(list, step * (uint64_t)i);
    }
    return ASSAY_OK;
}

/* What fills a pad of no mode: input 2, else the attribute of older opsets, else zero. */
static int read_fill(struct as_kernel_ctx *k, struct padding *p)
{
    struct as_val one = {.dtype = p->in->dtype, .n = 1, .bytes = p->elem_bytes};
    double value = as_node_float(k->node, "value", 0);

    if (k->node->op == AS_OP_Pad && as_has_in(k, 2) && k->in[2]->n > 0) {
        if (k->in[2]->dtype != p->in->dtype)
            return as_kernel_fail(k, "%s is filled with %s", as_dtype_name(p->in->dtype),
                                  as_dtype_name(k->in[2]->dtype));
        p->fill = k->in[2]->data;
        return ASSAY_OK;
    }
    one.data = as_arena_zero(k->scratch, 1, 16);
    if (!one.data)
        return as_fail_nomem(k->err);
    if (value < 0 || value > 0)
        as_val_put_f64(&one, 0, value);
    p->fill = one.data;
    return ASSAY_OK;
}

int as_kern_pad(struct as_kernel_ctx *k)
{
    struct padding p = {.in = k->in[0], .out = k->out[0]};
    struct as_text mode = {0};
    int rc = as_move_width(k, p.in, &p.elem_bytes);

    if (rc == ASSAY_OK)
        rc = read_pads(k, &p);
    if (rc == ASSAY_OK)
        rc = read_fill(k, &p);
    if (rc < 0)
        return rc;
    (void)as_node_text(k->node, "mode", &mode);
    return pad_all(k, &p, mode.size ? mode.at[0] : 'c');
}

/* Cut or zero-filled around the middle; of an odd rest the smaller half comes first. */
int as_kern_center_crop_pad(struct as_kernel_ctx *k)
{
    struct padding p = {.in = k->in[0], .out = k->out[0]};
    int rc = as_move_width(k, p.in, &p.elem_bytes);

    if (rc == ASSAY_OK)
        rc = read_fill(k, &p);
    if (rc < 0)
        return rc;
    if (p.in->rank != p.out->rank)
        return as_kernel_fail(k, "the output has another rank");
    for (int d = 0; d < p.in->rank; d++) {
        int64_t in = p.in->dims[d], out = p.out->dims[d];

        p.before[d] = out > in ? (out - in) / 2 : -((in - out) / 2);
    }
    return pad_all(k, &p, 'c');
}
