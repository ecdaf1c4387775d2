/* engine/kernels/move/kern_arrange.c - the smaller kernels of the shape family: triangles, identity
 * matrices, sequences turned round, images put together from columns. */
#include <string.h>

#include "engine/kernels/move/kern_move.h"
#include "model/infer/infer_context.h"

/* ---- Trilu ---- */

struct triangle {
    const uint8_t *src;
    uint8_t *dst;
    uint64_t rows, columns;
    size_t width;
    int64_t k;
    bool upper;
};

/* Of row r the columns from r + k on belong to the upper triangle, those up to r + k to the lower.
 */
static void cut_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct triangle *t = arg;
    size_t row_bytes = t->columns * t->width;

    for (uint64_t i = from; i < to; i++) {
        int64_t r = (int64_t)(i % t->rows), n = (int64_t)t->columns, edge;
        const uint8_t *src = t->src + i * row_bytes;
        uint8_t *dst = t->dst + i * row_bytes;
        size_t first;

        edge = t->upper ? t->k : t->k + 1; /* k is within the rows and columns */
        edge = r + edge < 0 ? 0 : r + edge > n ? n : r + edge;
        first = (size_t)edge * t->width;
        if (t->upper) {
            memset(dst, 0, first);
            memcpy(dst + first, src + first, row_bytes - first);
        } else {
            memcpy(dst, src, first);
            memset(dst + first, 0, row_bytes - first);
        }
    }
}

static int64_t within(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

int as_kern_trilu(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct triangle t = {.src = in->data, .dst = k->out[0]->data};
    int rc = as_move_width(k, in, &t.width);

    if (rc < 0 || in->n == 0)
        return rc;
    if (in->rank < 2)
        return as_kernel_fail(k, "a tensor of rank %d has no triangle", in->rank);
    if (as_has_in(k, 1) && (k->in[1]->n != 1 || !as_dtype_is_integer(k->in[1]->dtype)))
        return as_kernel_fail(k, "its diagonal is not one integer");
    t.rows = (uint64_t)in->dims[in->rank - 2];
    t.columns = (uint64_t)in->dims[in->rank - 1];
    t.upper = as_node_int(k->node, "upper", 1) != 0;
    t.k = as_has_in(k, 1) ? as_val_i64(k->in[1], 0) : 0;
    t.k = within(t.k, -(int64_t)t.rows - 1, (int64_t)t.columns + 1);
    as_kernel_parallel(k, in->n / t.columns, as_move_grain(t.columns * t.width), cut_rows, &t);
    return as_move_own_texts(k, k->out[0]);
}

int as_kern_eye_like(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];
    int64_t diagonal = as_node_int(k->node, "k", 0);

    memset(out->data, 0, out->bytes);
    if (out->rank != 2)
        return as_kernel_fail(k, "an identity matrix of %d dimensions", out->rank);
    if (diagonal <= -out->dims[0] || diagonal >= out->dims[1])
        return ASSAY_OK;
    for (int64_t row = 0; row < out->dims[0]; row++)
        if (row + diagonal >= 0 && row + diagonal < out->dims[1])
            as_val_put_f64(out, (uint64_t)(row * out->dims[1] + row + diagonal), 1);
    return ASSAY_OK;
}

/* ---- ReverseSequence ---- */

int as_kern_reverse_sequence(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *lengths = k->in[1];
    int64_t batch = as_node_int(k->node, "batch_axis", 1);
    int64_t time = as_node_int(k->node, "time_axis", 0), n_batch, n_time;
    const uint8_t *src = in->data;
    uint8_t *dst = k->out[0]->data;
    size_t width, run;
    int rc = as_move_width(k, in, &width);

    if (rc < 0 || in->n == 0)
        return rc;
    if (in->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        return as_kernel_cannot(k, "axes %lld and %lld: batch and time must be the first two",
                                (long long)batch, (long long)time);
    n_batch = in->dims[batch];
    n_time = in->dims[time];
    run = width * (size_t)as_move_product(in->dims, 2, in->rank);
    if (!as_dtype_is_integer(lengths->dtype) || lengths->n != (uint64_t)n_batch)
        return as_kernel_fail(k, "its lengths are not one integer for each of the batch");
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t length = as_val_i64(lengths, (uint64_t)b);

        if (length < 0 || length > n_time)
            return as_kernel_fail(k, "length %lld is outside of %lld steps", (long long)length,
                                  (long long)n_time);
        for (int64_t t = 0; t < n_time; t++) {
            int64_t from = t < length ? length - 1 - t : t;
            int64_t to_at = batch == 0 ? b * n_time + t : t * n_batch + b;
            int64_t from_at = batch == 0 ? b * n_time + from : from * n_batch + b;

            memcpy(dst + (size_t)to_at * run, src + (size_t)from_at * run, run);
        }
    }
    return as_move_own_texts(k, k->out[0]);
}

/* ---- Col2Im ---- */

struct columns {
    int n; /* axes of the image */
    struct as_dims image, block;
    int64_t stride[AS_MAX_RANK], dilation[AS_MAX_RANK], pad[AS_MAX_RANK];
    int64_t steps[AS_MAX_RANK];   /* blocks along each axis */
    int64_t strides[AS_MAX_RANK]; /* of the image, in elements */
    int64_t n_steps, n_block, n_image;
};

static int64_t list_at(const struct as_node *node, const char *name, int i, int64_t fallback)
{
    struct as_ints given;

    return as_node_ints(node, name, &given) && (size_t)i < given.n ? given.at[i] : fallback;
}

static int read_columns(struct as_kernel_ctx *k, struct columns *c)
{
    if (!as_in_numbers(k, 1, &c->image) || !as_in_numbers(k, 2, &c->block) ||
        c->image.rank != c->block.rank || k->in[0]->rank != 3 ||
        k->out[0]->rank != c->image.rank + 2)
        return as_kernel_fail(k, "image and block are not of one rank");
    c->n = c->image.rank;
    c->n_steps = c->n_block = c->n_image = 1;
    for (int i = c->n; i-- > 0;) {
        int64_t reach, capacity, after = list_at(k->node, "pads", c->n + i, 0);

        c->stride[i] = list_at(k->node, "strides", i, 1);
        c->dilation[i] = list_at(k->node, "dilations", i, 1);
        c->pad[i] = list_at(k->node, "pads", i, 0);
        if (c->stride[i] < 1 || c->dilation[i] < 1 || c->pad[i] < 0 || after < 0 ||
            c->block.at[i] < 1 || c->pad[i] > INT32_MAX || after > INT32_MAX ||
            c->dilation[i] > INT32_MAX || c->block.at[i] > INT32_MAX ||
            c->image.at[i] != k->out[0]->dims[2 + i])
            return as_kernel_fail(k, "axis %d of the image cannot be", i);
        reach = c->dilation[i] * (c->block.at[i] - 1) + 1;
        capacity = c->image.at[i] + c->pad[i] + after - reach;
        c->steps[i] = capacity < 0 ? 0 : capacity / c->stride[i] + 1;
        c->strides[i] = c->n_image;
        c->n_image *= c->image.at[i];
        if (__builtin_mul_overflow(c->n_steps, c->steps[i], &c->n_steps) ||
            __builtin_mul_overflow(c->n_block, c->block.at[i], &c->n_block))
            return as_kernel_fail(k, "there are too many blocks");
    }
    if (c->n_steps != k->in[0]->dims[2] || c->n_block * k->out[0]->dims[1] != k->in[0]->dims[1])
        return as_kernel_fail(k, "%lld columns of %lld do not make such an image",
                              (long long)k->in[0]->dims[2], (long long)k->in[0]->dims[1]);
    return ASSAY_OK;
}

/* Adds one row of columns, which holds the same place of every block, to an image. */
static void add_row(const struct columns *c, const int64_t *in_block, const float *row,
                    float *image)
{
    int64_t at[AS_MAX_RANK] = {0};

    for (int64_t l = 0; l < c->n_steps; l++) {
        int64_t to = 0;
        bool inside = true;

        for (int d = 0; d < c->n; d++) {
            int64_t x = at[d] * c->stride[d] - c->pad[d] + in_block[d] * c->dilation[d];

            inside &= x >= 0 && x < c->image.at[d];
            to += x * c->strides[d];
        }
        if (inside)
            image[to] += row[l];
        (void)as_move_step(at, c->steps, c->n);
    }
}

int as_kern_col2im(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    const float *row = in->data;
    float *image = k->out[0]->data;
    struct columns c;
    int rc;

    if (in->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "columns of %s", as_dtype_name(in->dtype));
    rc = read_columns(k, &c);
    if (rc < 0)
        return rc;
    memset(image, 0, k->out[0]->bytes);
    for (int64_t plane = 0; plane < in->dims[0] * k->out[0]->dims[1]; plane++) {
        int64_t in_block[AS_MAX_RANK] = {0};

        for (int64_t b = 0; b < c.n_block; b++, row += c.n_steps) {
            add_row(&c, in_block, row, image);
            (void)as_move_step(in_block, c.block.at, c.n);
        }
        image += c.n_image;
    }
    return ASSAY_OK;
}
