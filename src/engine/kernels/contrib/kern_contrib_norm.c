/* engine/kernels/contrib/kern_contrib_norm.c - the normalizations of com.microsoft that add
 * something first: a skip connection, embeddings, a bias. */
#include <math.h>
#include <string.h>

#include "engine/kernels/contrib/kern_contrib.h"
#include "engine/kernels/math/fast_math.h"

static const struct as_val *in_at(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

/* An f32 input of `n` elements, or NULL when it is left out; false: there is another. */
static bool floats(const struct as_kernel_ctx *k, size_t i, uint64_t n, const float **to)
{
    const struct as_val *in = in_at(k, i);

    *to = in ? in->data : NULL;
    return !in || (in->dtype == AS_DTYPE_F32 && in->n == n);
}

struct norm {
    const float *x, *skip, *gamma, *beta, *bias; /* all but x may be NULL */
    uint64_t width, skip_rows;
    float *out, *sum, *mean, *inverse; /* the last three may be NULL */
    float epsilon;
    bool root; /* the mean is not taken off */
};

static void norm_row(const struct norm *v, float *row, uint64_t r)
{
    double mean = 0, square = 0, inverse;
    float shift, scale;

    for (uint64_t i = 0; i < v->width; i++)
        mean += (double)row[i];
    mean = v->root ? 0 : mean / (double)v->width;
    for (uint64_t i = 0; i < v->width; i++)
        square += ((double)row[i] - mean) * ((double)row[i] - mean);
    inverse = 1 / sqrt(square / (double)v->width + (double)v->epsilon);
    if (v->mean)
        v->mean[r] = (float)mean;
    if (v->inverse)
        v->inverse[r] = (float)inverse;
    shift = (float)mean;
    scale = (float)inverse;
    for (uint64_t i = 0; i < v->width; i++)
        row[i] =
            (row[i] - shift) * scale * (v->gamma ? v->gamma[i] : 1) + (v->beta ? v->beta[i] : 0);
}

AS_VECTOR(static, work_skip, (void *arg, uint64_t from, uint64_t to), (arg, from, to))
{
    const struct norm *v = arg;

    for (uint64_t r = from; r < to; r++) {
        const float *x = v->x + r * v->width, *skip = v->skip + r % v->skip_rows * v->width;
        float *out = v->out + r * v->width;

        for (uint64_t i = 0; i < v->width; i++)
            out[i] = x[i] + skip[i] + (v->bias ? v->bias[i] : 0);
        if (v->sum)
            memcpy(v->sum + r * v->width, out, v->width * sizeof *out);
        norm_row(v, out, r);
    }
}

/* Outputs one and two, which the simplified one has too, are of one number for each row. */
static int row_output(struct as_kernel_ctx *k, size_t i, uint64_t rows, float **to)
{
    if (!as_has_out(k, i))
        return ASSAY_OK;
    if (k->out[i]->dtype != AS_DTYPE_F32 || k->out[i]->n != rows)
        return as_kernel_cannot(k, "its output %zu", i);
    *to = k->out[i]->data;
    return ASSAY_OK;
}

int as_ms_skip_norm(struct as_kernel_ctx *k)
{
    bool root = k->node->op == AS_OP_MS_SkipSimplifiedLayerNormalization;
    const struct as_val *x = in_at(k, 0), *skip = in_at(k, 1);
    struct norm v = {.root = root, .epsilon = (float)as_node_float(k->node, "epsilon", 1e-12)};
    uint64_t rows;
    int rc;

    if (!x || !skip || !as_has_out(k, 0) || x->dtype != AS_DTYPE_F32 ||
        skip->dtype != AS_DTYPE_F32 || x->rank < 1 || k->out[0]->n != x->n ||
        k->out[0]->dtype != AS_DTYPE_F32)
        return as_kernel_fail(k, "input and skip do not fit");
    v.width = (uint64_t)x->dims[x->rank - 1];
    if (x->n == 0)
        return ASSAY_OK;
    rows = x->n / v.width;
    if (skip->n == 0 || skip->n % v.width != 0 || x->n % skip->n != 0 || !as_has_in(k, 2) ||
        !floats(k, 2, v.width, &v.gamma) || !floats(k, 3, v.width, root ? &v.bias : &v.beta) ||
        (!root && !floats(k, 4, v.width, &v.bias)))
        return as_kernel_fail(k, "skip, scale or bias do not fit");
    rc = row_output(k, 1, rows, &v.mean);
    if (rc == ASSAY_OK)
        rc = row_output(k, 2, rows, &v.inverse);
    if (rc < 0)
        return rc;
    if (as_has_out(k, 3)) {
        if (k->out[3]->dtype != AS_DTYPE_F32 || k->out[3]->n != x->n)
            return as_kernel_fail(k, "there is no room for the sum");
        v.sum = k->out[3]->data;
    }
    v.x = x->data;
    v.skip = skip->data;
    v.skip_rows = skip->n / v.width;
    v.out = k->out[0]->data;
    as_kernel_parallel(k, rows, v.width > 4096 ? 1 : 4096 / v.width, work_skip, &v);
    return ASSAY_OK;
}

/* ---- embeddings ---- */

struct table {
    const float *at;
    int64_t rows;
};

static int table_of(struct as_kernel_ctx *k, size_t i, int64_t width, struct table *table)
{
    const struct as_val *in = in_at(k, i);

    *table = (struct table){NULL, 0};
    if (!in)
        return ASSAY_OK;
    if (in->dtype != AS_DTYPE_F32 || in->rank != 2 || in->dims[1] != width)
        return as_kernel_fail(k, "input %zu is not a table of rows of %lld", i, (long long)width);
    *table = (struct table){in->data, in->dims[0]};
    return ASSAY_OK;
}

static int add_embedding(struct as_kernel_ctx *k, const struct table *table, int64_t id,
                         int64_t width, float *row)
{
    if (!table->at)
        return ASSAY_OK;
    if (id < 0 || id >= table->rows)
        return as_kernel_fail(k, "row %lld of a table of %lld", (long long)id,
                              (long long)table->rows);
    for (int64_t i = 0; i < width; i++)
        row[i] += table->at[id * width + i];
    return ASSAY_OK;
}

/* How many tokens of each sample the mask lets through. */
static int count_mask(struct as_kernel_ctx *k, int64_t batch, int64_t length)
{
    const struct as_val *mask = in_at(k, 7);

    if (!as_has_out(k, 1))
        return ASSAY_OK;
    if (k->out[1]->n != (uint64_t)batch || (mask && mask->n != (uint64_t)(batch * length)))
        return as_kernel_fail(k, "the mask does not fit");
    for (int64_t b = 0; b < batch; b++) {
        int64_t n = 0;

        for (int64_t s = 0; mask && s < length; s++)
            n += as_val_i64(mask, (uint64_t)(b * length + s)) != 0;
        as_val_put_i64(k->out[1], (uint64_t)b, n);
    }
    return ASSAY_OK;
}

static int embed_rows(struct as_kernel_ctx *k, const struct table *tables, const struct norm *v,
                      int64_t rows, int64_t length)
{
    const struct as_val *ids = in_at(k, 0), *segments = in_at(k, 1), *places = in_at(k, 8);
    int64_t width = (int64_t)v->width;
    int rc = ASSAY_OK;

    for (int64_t r = 0; rc == ASSAY_OK && r < rows; r++) {
        float *row = v->out + r * width;
        int64_t place = r % length;

        if (places)
            place = as_val_i64(places, (uint64_t)r % places->n);
        memset(row, 0, v->width * sizeof *row);
        rc = add_embedding(k, &tables[0], as_val_i64(ids, (uint64_t)r), width, row);
        if (rc == ASSAY_OK)
            rc = add_embedding(k, &tables[1], place, width, row);
        if (rc == ASSAY_OK && segments)
            rc = add_embedding(k, &tables[2], as_val_i64(segments, (uint64_t)r), width, row);
        if (v->sum)
            memcpy(v->sum + r * width, row, v->width * sizeof *row);
        norm_row(v, row, (uint64_t)r);
    }
    return rc;
}

int as_ms_embed_norm(struct as_kernel_ctx *k)
{
    const struct as_val *ids = in_at(k, 0), *words = in_at(k, 2), *segments = in_at(k, 1);
    const struct as_val *places = in_at(k, 8);
    struct norm v = {.epsilon = (float)as_node_float(k->node, "epsilon", 1e-12)};
    struct table tables[3];
    int rc = ASSAY_OK;

    if (!ids || !words || ids->rank != 2 || words->rank != 2 || !as_has_out(k, 0) ||
        !as_dtype_is_integer(ids->dtype))
        return as_kernel_fail(k, "ids or words are missing");
    v.width = (uint64_t)words->dims[1];
    for (size_t i = 0; rc == ASSAY_OK && i < 3; i++)
        rc = table_of(k, 2 + i, words->dims[1], &tables[i]);
    if (rc < 0)
        return rc;
    if (!floats(k, 5, v.width, &v.gamma) || !floats(k, 6, v.width, &v.beta) ||
        (segments && (segments->n != ids->n || !as_dtype_is_integer(segments->dtype))) ||
        (places && (places->n == 0 || ids->n % places->n != 0)) ||
        k->out[0]->dtype != AS_DTYPE_F32 || k->out[0]->n != ids->n * v.width)
        return as_kernel_fail(k, "the inputs do not fit each other");
    if (as_has_out(k, 2) && (k->out[2]->n != k->out[0]->n || k->out[2]->dtype != AS_DTYPE_F32))
        return as_kernel_fail(k, "there is no room for the sum");
    v.sum = as_has_out(k, 2) ? k->out[2]->data : NULL;
    v.out = k->out[0]->data;
    rc = count_mask(k, ids->dims[0], ids->dims[1]);
    return rc < 0 || k->out[0]->n == 0 ? rc
                                       : embed_rows(k, tables, &v, (int64_t)ids->n, ids->dims[1]);
}

/* ---- groups ---- */

struct groups {
    const float *gamma, *beta;
    float *x;                             /* in place */
    int64_t channels, space, groups, per; /* per: channels of a group */
    bool last, silu;
    double epsilon;
};

static float *at(const struct groups *v, int64_t batch, int64_t c, int64_t p)
{
    return v->x + (v->last ? (batch * v->space + p) * v->channels + c
                           : (batch * v->channels + c) * v->space + p);
}

static void work_groups(void *arg, uint64_t from, uint64_t to)
{
    const struct groups *v = arg;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++) {
        int64_t batch = i / v->groups, first = i % v->groups * v->per;
        double mean = 0, square = 0, scale, n = (double)(v->per * v->space);

        for (int64_t p = 0; p < v->space; p++)
            for (int64_t c = first; c < first + v->per; c++)
                mean += (double)*at(v, batch, c, p);
        mean /= n;
        for (int64_t p = 0; p < v->space; p++)
            for (int64_t c = first; c < first + v->per; c++) {
                double x = (double)*at(v, batch, c, p) - mean;

                square += x * x;
            }
        scale = 1 / sqrt(square / n + v->epsilon);
        for (int64_t p = 0; p < v->space; p++)
            for (int64_t c = first; c < first + v->per; c++) {
                float *x = at(v, batch, c, p);
                float y = (float)(((double)*x - mean) * scale) * v->gamma[c] + v->beta[c];

                *x = v->silu ? y * as_sigmoidf(y) : y;
            }
    }
}

/* The input of a SkipGroupNorm: x + skip + bias, which is its second output too. */
static int add_skip(struct as_kernel_ctx *k, const struct groups *v)
{
    const struct as_val *x = k->in[0], *skip = in_at(k, 3), *bias = in_at(k, 4);
    uint64_t channels = (uint64_t)v->channels, batch = (uint64_t)x->dims[0];
    bool whole = skip && skip->n == x->n;

    if (!skip || skip->dtype != AS_DTYPE_F32 || (!whole && skip->n != batch * channels) ||
        (bias && (bias->dtype != AS_DTYPE_F32 || bias->n != channels)))
        return as_kernel_fail(k, "skip or bias do not fit");
    for (uint64_t i = 0; i < x->n; i++) {
        uint64_t c = v->last ? i % channels : i / (uint64_t)v->space % channels;
        uint64_t b = i / (uint64_t)v->space / channels;

        v->x[i] += ((const float *)skip->data)[whole ? i : b * channels + c];
        if (bias)
            v->x[i] += ((const float *)bias->data)[c];
    }
    if (as_has_out(k, 1)) {
        if (k->out[1]->n != x->n || k->out[1]->dtype != AS_DTYPE_F32)
            return as_kernel_fail(k, "there is no room for the sum");
        memcpy(k->out[1]->data, v->x, (size_t)x->bytes);
    }
    return ASSAY_OK;
}

int as_ms_group_norm(struct as_kernel_ctx *k)
{
    const struct as_val *x = in_at(k, 0);
    struct groups v = {.groups = as_node_int(k->node, "groups", 0),
                       .last = as_node_int(k->node, "channels_last", 1) != 0,
                       .silu = as_node_int(k->node, "activation", 0) == 1,
                       .epsilon = as_node_float(k->node, "epsilon", 1e-5)};
    int rc = ASSAY_OK;

    if (!x || x->dtype != AS_DTYPE_F32 || x->rank < 3 || !as_has_out(k, 0) ||
        k->out[0]->n != x->n || k->out[0]->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "an input that is not an f32 image");
    v.channels = x->dims[v.last ? x->rank - 1 : 1];
    if (v.groups < 1 || v.channels % v.groups != 0 || !as_has_in(k, 1) || !as_has_in(k, 2) ||
        !floats(k, 1, (uint64_t)v.channels, &v.gamma) ||
        !floats(k, 2, (uint64_t)v.channels, &v.beta))
        return as_kernel_fail(k, "%lld channels in %lld groups", (long long)v.channels,
                              (long long)v.groups);
    if (x->n == 0)
        return ASSAY_OK;
    v.per = v.channels / v.groups;
    v.space = (int64_t)x->n / x->dims[0] / v.channels;
    v.x = k->out[0]->data;
    memcpy(v.x, x->data, (size_t)x->bytes);
    if (k->node->op == AS_OP_MS_SkipGroupNorm)
        rc = add_skip(k, &v);
    if (rc == ASSAY_OK)
        as_kernel_parallel(k, (uint64_t)(x->dims[0] * v.groups), 1, work_groups, &v);
    return rc;
}
