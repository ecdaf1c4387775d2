/* engine/kernels/attention/kern_attention.c - Attention and MultiHeadAttention of com.microsoft:
 * queries, keys and values are brought into rows of heads, behind those of the past, and attended
 * to. */
#include "engine/kernels/attention/kern_attention.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/gemm/kern_gemm.h"

/* ---- shared ---- */

void as_heads_copy(const struct as_heads_from *from, float *to, int64_t length, int64_t first)
{
    for (int64_t b = 0; b < from->batch; b++)
        for (int64_t n = 0; n < from->heads; n++)
            for (int64_t s = 0; s < from->rows; s++) {
                const float *x =
                    from->x + b * from->at.batch + n * from->at.head + s * from->at.row;
                const float *bias = from->bias ? from->bias + n * from->width : NULL;
                float *row = to + ((b * from->heads + n) * length + first + s) * from->width;

                for (int64_t i = 0; i < from->width; i++)
                    row[i] = x[i] + (bias ? bias[i] : 0);
            }
}

bool as_is_floats(const struct as_val *val, int rank)
{
    return val && val->kind == AS_VALUE_TENSOR && val->dtype == AS_DTYPE_F32 && val->rank == rank;
}

static const struct as_val *in_at(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

/* ---- masks ---- */

/* Turns the mask of the node into what is added to scores. */
struct mask {
    int64_t batch, rows, keys;
    float filter;
};

static float *new_mask(struct as_kernel_ctx *k, int64_t n)
{
    return as_kernel_work(k, (uint64_t)n, sizeof(float));
}

/* [batch] lengths, or with [2 * batch] their ends, then their beginnings. */
static int mask_lengths(struct as_kernel_ctx *k, const struct mask *m, const struct as_val *mask,
                        struct as_attend *a)
{
    float *to = new_mask(k, m->batch * m->keys);

    if (!to)
        return ASSAY_ERR_NOMEM;
    for (int64_t b = 0; b < m->batch; b++) {
        int64_t end = as_val_i64(mask, (uint64_t)b), begin = 0;

        if (mask->n >= 2 * (uint64_t)m->batch)
            begin = as_val_i64(mask, (uint64_t)(m->batch + b));
        for (int64_t j = 0; j < m->keys; j++)
            to[b * m->keys + j] = j >= begin && j < end ? 0 : m->filter;
    }
    a->key_mask = to;
    return ASSAY_OK;
}

static int mask_keys(struct as_kernel_ctx *k, const struct mask *m, const struct as_val *mask,
                     struct as_attend *a)
{
    float *to = new_mask(k, m->batch * m->keys);

    if (!to)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < m->batch * m->keys; i++)
        to[i] = as_val_i64(mask, (uint64_t)i) != 0 ? 0 : m->filter;
    a->key_mask = to;
    return ASSAY_OK;
}

/* [batch, rows, keys], or a square of all positions of which the rows are the last. */
static int mask_rows(struct as_kernel_ctx *k, const struct mask *m, const struct as_val *mask,
                     struct as_attend *a)
{
    int64_t all = mask->dims[mask->rank - 2], wide = mask->dims[mask->rank - 1];
    int64_t skip = mask->rank == 4 ? m->keys - m->rows : 0;
    float *to;

    if (mask->dims[0] != m->batch || wide < m->keys || all < m->rows + skip ||
        (mask->rank == 4 && mask->dims[1] != 1))
        return as_kernel_fail(k, "the mask does not fit");
    if (a->bias)
        return as_kernel_cannot(k, "a mask of rows together with a bias");
    to = new_mask(k, m->batch * m->rows * m->keys);
    if (!to)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < m->batch * m->rows * m->keys; i++) {
        int64_t key = i % m->keys, row = i / m->keys % m->rows, b = i / m->keys / m->rows;

        to[i] =
            as_val_i64(mask, (uint64_t)((b * all + skip + row) * wide + key)) != 0 ? 0 : m->filter;
    }
    a->bias = to;
    a->bias_at = (struct as_heads){m->rows * m->keys, 0, m->keys};
    return ASSAY_OK;
}

static int read_mask(struct as_kernel_ctx *k, const struct as_val *mask, struct as_attend *a)
{
    struct mask m = {a->batch, a->rows, a->keys,
                     (float)as_node_float(k->node, "mask_filter_value", -10000)};

    if (!mask)
        return ASSAY_OK;
    if (!as_dtype_is_integer(mask->dtype) && mask->dtype != AS_DTYPE_BOOL)
        return as_kernel_cannot(k, "a mask of %s", as_dtype_name(mask->dtype));
    if (mask->rank == 1 && (mask->n == (uint64_t)m.batch || mask->n == 2 * (uint64_t)m.batch))
        return mask_lengths(k, &m, mask, a);
    if (mask->rank == 2 && mask->n == (uint64_t)(m.batch * m.keys))
        return mask_keys(k, &m, mask, a);
    if (mask->rank == 3 || mask->rank == 4)
        return mask_rows(k, &m, mask, a);
    return as_kernel_cannot(k, "a mask of this shape");
}

int as_attention_bias(struct as_kernel_ctx *k, const struct as_val *bias, struct as_attend *a)
{
    struct as_dims all = {4, {a->batch, a->heads, a->rows, a->keys}};
    int64_t steps[AS_MAX_RANK];

    if (!bias)
        return ASSAY_OK;
    if (!as_is_floats(bias, 4) || bias->dims[2] != a->rows || bias->dims[3] < a->keys)
        return as_kernel_fail(k, "the attention bias does not fit");
    all.at[3] = bias->dims[3];
    if (!as_strides_broadcast(bias, &all, steps))
        return as_kernel_fail(k, "the attention bias does not fit");
    a->bias = bias->data;
    a->bias_at = (struct as_heads){steps[0], steps[1], steps[2]};
    return ASSAY_OK;
}

/* ---- both ---- */

struct sources {
    struct as_heads_from q, k, v;
    const float *past_k, *past_v; /* [batch, heads, past, width], or NULL */
    int64_t past;
    float *present_k, *present_v; /* room for past and fresh, or NULL */
    const struct as_val *mask, *bias;
    struct as_val *out;
};

/* The past, then the fresh ones, in `to` or in working memory. */
static int join_past(struct as_kernel_ctx *k, const struct as_heads_from *fresh, const float *past,
                     int64_t n_past, float **to)
{
    int64_t length = n_past + fresh->rows, heads = fresh->batch * fresh->heads;

    if (!*to)
        *to = as_kernel_work(k, (uint64_t)(heads * length * fresh->width), sizeof **to);
    if (!*to)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; past && i < heads; i++)
        memcpy(*to + i * length * fresh->width, past + i * n_past * fresh->width,
               (size_t)(n_past * fresh->width) * sizeof **to);
    as_heads_copy(fresh, *to, length, n_past);
    return ASSAY_OK;
}

static int attend(struct as_kernel_ctx *k, struct sources *s)
{
    struct as_attend a = {.batch = s->q.batch,
                          .heads = s->q.heads,
                          .kv_heads = s->q.heads,
                          .rows = s->q.rows,
                          .keys = s->past + s->k.rows,
                          .width = s->q.width,
                          .value_width = s->v.width,
                          .out = s->out->data};
    int64_t *past = as_kernel_work(k, (uint64_t)a.batch, sizeof *past), all = a.heads;
    float *q = NULL;
    int rc;

    if (!past)
        return ASSAY_ERR_NOMEM;
    if (s->out->dtype != AS_DTYPE_F32 ||
        s->out->n != (uint64_t)(a.batch * a.rows * a.heads * a.value_width))
        return as_kernel_fail(k, "there is no room for the output");
    if (s->k.rows != s->v.rows || s->k.width != s->q.width)
        return as_kernel_fail(k, "queries, keys and values do not fit");
    rc = join_past(k, &s->q, NULL, 0, &q);
    if (rc == ASSAY_OK)
        rc = join_past(k, &s->k, s->past_k, s->past, &s->present_k);
    if (rc == ASSAY_OK)
        rc = join_past(k, &s->v, s->past_v, s->past, &s->present_v);
    if (rc == ASSAY_OK)
        rc = as_attention_bias(k, s->bias, &a);
    if (rc == ASSAY_OK)
        rc = read_mask(k, s->mask, &a);
    if (rc < 0)
        return rc;
    for (int64_t b = 0; b < a.batch; b++)
        past[b] = a.keys - a.rows;
    a.q = q;
    a.k = s->present_k;
    a.v = s->present_v;
    a.q_at = (struct as_heads){all * a.rows * a.width, a.rows * a.width, a.width};
    a.k_at = (struct as_heads){all * a.keys * a.width, a.keys * a.width, a.width};
    a.v_at = (struct as_heads){all * a.keys * a.value_width, a.keys * a.value_width, a.value_width};
    a.out_at = (struct as_heads){a.rows * all * a.value_width, a.value_width, all * a.value_width};
    a.past = past;
    a.causal = as_node_int(k->node, "unidirectional", 0) != 0 && a.keys >= a.rows;
    a.scale = (float)as_node_float(k->node, "scale", 0);
    if (!(a.scale > 0))
        a.scale = a.width > 0 ? 1 / sqrtf((float)a.width) : 1;
    as_attend_run(k, &a);
    return ASSAY_OK;
}

/* ---- Attention ---- */

static int read_past(struct as_kernel_ctx *k, struct sources *s, const struct as_val *past)
{
    int64_t half;

    if (!past)
        return ASSAY_OK;
    if (!as_is_floats(past, 5) || past->dims[0] != 2 || past->dims[1] != s->q.batch ||
        past->dims[2] != s->q.heads || past->dims[4] != s->k.width || s->k.width != s->v.width)
        return as_kernel_fail(k, "the past does not fit");
    if (as_node_int(k->node, "past_present_share_buffer", 0) != 0)
        return as_kernel_cannot(k, "a past that shares its buffer");
    s->past = past->dims[3];
    half = (int64_t)(past->n / 2);
    s->past_k = past->data;
    s->past_v = s->past_k + half;
    return ASSAY_OK;
}

static int widths_of(struct as_kernel_ctx *k, int64_t all, int64_t heads, int64_t *widths)
{
    struct as_ints sizes;

    if (as_node_ints(k->node, "qkv_hidden_sizes", &sizes) && sizes.n == 3)
        for (int i = 0; i < 3; i++)
            widths[i] = sizes.at[i];
    else
        widths[0] = widths[1] = widths[2] = all / 3;
    for (int i = 0; i < 3; i++)
        if (widths[i] < 1 || widths[i] > all || widths[i] % heads != 0)
            return as_kernel_fail(k, "the weights are not those of %lld heads", (long long)heads);
    if (widths[0] + widths[1] + widths[2] != all)
        return as_kernel_fail(k, "the weights are not those of three projections");
    return ASSAY_OK;
}

/* Rows of queries, keys and values side by side. */
static int project(struct as_kernel_ctx *k, float **rows)
{
    const struct as_val *x = k->in[0], *w = k->in[1], *bias = in_at(k, 2);
    uint64_t m = (uint64_t)(x->dims[0] * x->dims[1]), n = (uint64_t)w->dims[1];
    struct as_gemm g;

    if (bias && (!as_is_floats(bias, 1) || bias->n != n))
        return as_kernel_fail(k, "the bias does not fit");
    *rows = as_kernel_work(k, m * n, sizeof **rows);
    if (!*rows)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; bias && i < m; i++)
        memcpy(*rows + i * n, bias->data, (size_t)n * sizeof **rows);
    g = as_gemm_plain(m, n, (uint64_t)x->dims[2], x->data, w->data, false, *rows);
    g.add = bias != NULL;
    return as_gemm_run(k, &g);
}

static int run_attention(struct as_kernel_ctx *k)
{
    const struct as_val *x = in_at(k, 0), *w = in_at(k, 1);
    int64_t heads = as_node_int(k->node, "num_heads", 0), widths[3], all;
    struct sources s = {0};
    struct as_heads_from *parts[] = {&s.q, &s.k, &s.v};
    float *rows = NULL;
    int rc;

    if (!as_is_floats(x, 3) || !as_is_floats(w, 2) || x->dims[2] != w->dims[0] || heads < 1 ||
        !as_has_out(k, 0))
        return as_kernel_fail(k, "input and weights do not fit");
    if (as_node_int(k->node, "do_rotary", 0) != 0)
        return as_kernel_cannot(k, "rotation inside of Attention");
    all = w->dims[1];
    rc = widths_of(k, all, heads, widths);
    if (rc == ASSAY_OK)
        rc = project(k, &rows);
    if (rc < 0)
        return rc;
    for (int i = 0, at = 0; i < 3; at += (int)widths[i++])
        *parts[i] = (struct as_heads_from){
            .x = rows + at,
            .at = {x->dims[1] * all, widths[i] / heads, all},
            .batch = x->dims[0],
            .heads = heads,
            .rows = x->dims[1],
            .width = widths[i] / heads,
        };
    s.out = k->out[0];
    s.mask = in_at(k, 3);
    s.bias = in_at(k, 5);
    rc = read_past(k, &s, in_at(k, 4));
    if (rc == ASSAY_OK && as_has_out(k, 1)) {
        uint64_t n = (uint64_t)(x->dims[0] * heads * (s.past + x->dims[1]) * s.k.width);

        if (k->out[1]->dtype != AS_DTYPE_F32 || k->out[1]->n != 2 * n || s.k.width != s.v.width)
            return as_kernel_fail(k, "there is no room for the present");
        s.present_k = k->out[1]->data;
        s.present_v = s.present_k + n;
    }
    return rc < 0 ? rc : attend(k, &s);
}

/* ---- MultiHeadAttention ---- */

/* How many inputs come when: the two operators number them differently. */
struct places {
    size_t bias, mask, attention_bias, past_k, past_v;
};

/* Rows [B, L, N * H], or as a past [B, N, L, H]. */
static int heads_of(struct as_kernel_ctx *k, const struct as_val *x, int64_t heads,
                    struct as_heads_from *from)
{
    if (as_is_floats(x, 4) && x->dims[1] == heads) {
        *from = (struct as_heads_from){
            .x = x->data,
            .at = {heads * x->dims[2] * x->dims[3], x->dims[2] * x->dims[3], x->dims[3]},
            .batch = x->dims[0],
            .heads = heads,
            .rows = x->dims[2],
            .width = x->dims[3]};
        return ASSAY_OK;
    }
    if (!as_is_floats(x, 3) || x->dims[2] % heads != 0)
        return as_kernel_cannot(k, "queries, keys or values of this shape");
    *from = (struct as_heads_from){.x = x->data,
                                   .at = {x->dims[1] * x->dims[2], x->dims[2] / heads, x->dims[2]},
                                   .batch = x->dims[0],
                                   .heads = heads,
                                   .rows = x->dims[1],
                                   .width = x->dims[2] / heads};
    return ASSAY_OK;
}

/* Part `i` of `n` packed ones: [B, L, N, n, H]. */
static int packed_of(struct as_kernel_ctx *k, const struct as_val *x, int64_t heads, int64_t n,
                     int64_t i, struct as_heads_from *from)
{
    int64_t h;

    if (!as_is_floats(x, 5) || x->dims[2] != heads || x->dims[3] != n)
        return as_kernel_cannot(k, "queries, keys or values of this shape");
    h = x->dims[4];
    *from = (struct as_heads_from){.x = (const float *)x->data + i * h,
                                   .at = {x->dims[1] * heads * n * h, n * h, heads * n * h},
                                   .batch = x->dims[0],
                                   .heads = heads,
                                   .rows = x->dims[1],
                                   .width = h};
    return ASSAY_OK;
}

static int read_three(struct as_kernel_ctx *k, int64_t heads, struct sources *s)
{
    const struct as_val *q = in_at(k, 0), *key = in_at(k, 1), *value = in_at(k, 2);
    int rc;

    if (q && q->rank == 5) {
        rc = packed_of(k, q, heads, 3, 0, &s->q);
        if (rc == ASSAY_OK)
            rc = packed_of(k, q, heads, 3, 1, &s->k);
        return rc < 0 ? rc : packed_of(k, q, heads, 3, 2, &s->v);
    }
    rc = heads_of(k, q, heads, &s->q);
    if (rc == ASSAY_OK && key && key->rank == 5) {
        rc = packed_of(k, key, heads, 2, 0, &s->k);
        return rc < 0 ? rc : packed_of(k, key, heads, 2, 1, &s->v);
    }
    if (rc == ASSAY_OK)
        rc = heads_of(k, key, heads, &s->k);
    if (rc == ASSAY_OK)
        rc = heads_of(k, value, heads, &s->v);
    return rc;
}

static int read_biases(struct as_kernel_ctx *k, const struct as_val *bias, struct sources *s)
{
    int64_t q = s->q.heads * s->q.width, v = s->v.heads * s->v.width;

    if (!bias)
        return ASSAY_OK;
    if (!as_is_floats(bias, 1) || bias->n != (uint64_t)(2 * q + v))
        return as_kernel_fail(k, "the bias does not fit");
    s->q.bias = bias->data;
    if (!in_at(k, 1) || in_at(k, 1)->rank != 4) {
        s->k.bias = s->q.bias + q;
        s->v.bias = s->q.bias + 2 * q;
    }
    return ASSAY_OK;
}

static int read_pasts(struct as_kernel_ctx *k, const struct as_val *key, const struct as_val *value,
                      struct sources *s)
{
    if (!key || !value)
        return ASSAY_OK;
    if (!as_is_floats(key, 4) || !as_is_floats(value, 4) || key->dims[0] != s->q.batch ||
        key->dims[1] != s->q.heads || key->dims[3] != s->k.width || value->dims[0] != s->q.batch ||
        value->dims[1] != s->q.heads || value->dims[2] != key->dims[2] ||
        value->dims[3] != s->v.width)
        return as_kernel_fail(k, "the past does not fit");
    if (as_node_int(k->node, "past_present_share_buffer", 0) != 0)
        return as_kernel_cannot(k, "a past that shares its buffer");
    s->past = key->dims[2];
    s->past_k = key->data;
    s->past_v = value->data;
    return ASSAY_OK;
}

static int present_of(struct as_kernel_ctx *k, size_t i, const struct as_heads_from *fresh,
                      int64_t past, float **to)
{
    int64_t n = fresh->batch * fresh->heads * (past + fresh->rows) * fresh->width;

    if (!as_has_out(k, i))
        return ASSAY_OK;
    if (k->out[i]->dtype != AS_DTYPE_F32 || k->out[i]->n != (uint64_t)n)
        return as_kernel_fail(k, "there is no room for the present");
    *to = k->out[i]->data;
    return ASSAY_OK;
}

static int run_heads(struct as_kernel_ctx *k, const struct places *at)
{
    int64_t heads = as_node_int(k->node, "num_heads", 0);
    struct sources s = {0};
    int rc;

    if (heads < 1 || !as_has_in(k, 0) || !as_has_out(k, 0))
        return as_kernel_fail(k, "it has %lld heads", (long long)heads);
    if (as_has_out(k, 3))
        return as_kernel_cannot(k, "scores as an output");
    rc = read_three(k, heads, &s);
    if (rc == ASSAY_OK && (s.k.batch != s.q.batch || s.v.batch != s.q.batch))
        rc = as_kernel_fail(k, "queries, keys and values do not fit");
    if (rc == ASSAY_OK)
        rc = read_biases(k, in_at(k, at->bias), &s);
    if (rc == ASSAY_OK)
        rc = read_pasts(k, in_at(k, at->past_k), in_at(k, at->past_v), &s);
    if (rc == ASSAY_OK)
        rc = present_of(k, 1, &s.k, s.past, &s.present_k);
    if (rc == ASSAY_OK)
        rc = present_of(k, 2, &s.v, s.past, &s.present_v);
    s.out = k->out[0];
    s.mask = in_at(k, at->mask);
    s.bias = in_at(k, at->attention_bias);
    return rc < 0 ? rc : attend(k, &s);
}

static int run_multi_head(struct as_kernel_ctx *k)
{
    return run_heads(k, &(struct places){3, 4, 5, 6, 7});
}

static int run_decoder_step(struct as_kernel_ctx *k)
{
    if (as_has_in(k, 9))
        return as_kernel_cannot(k, "a search with beams");
    return run_heads(k, &(struct places){10, 3, 4, 5, 6});
}

const struct as_kernel as_kernels_attention[] = {
    {AS_OP_MS_Attention, run_attention, 0},
    {AS_OP_MS_MultiHeadAttention, run_multi_head, 0},
    {AS_OP_MS_DecoderMaskedMultiHeadAttention, run_decoder_step, 0},
    {AS_OP_MS_GroupQueryAttention, as_kernel_group_query, 0},
    {AS_OP_MS_RotaryEmbedding, as_kernel_rotary, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
