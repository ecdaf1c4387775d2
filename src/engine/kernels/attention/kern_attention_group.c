/* engine/kernels/attention/kern_attention_group.c - GroupQueryAttention, whose heads share keys and
 * values and whose cache may be longer than what is in it, and RotaryEmbedding. */
#include <math.h>
#include <string.h>

#include "engine/kernels/attention/kern_attention.h"

static const struct as_val *in_at(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

/* ---- rotation ---- */

static int read_rotary(struct as_kernel_ctx *k, const struct as_val *cosines,
                       const struct as_val *sines, const char *interleaved, struct as_rotary *r)
{
    if (!as_is_floats(cosines, 2) || !as_is_floats(sines, 2) || cosines->n != sines->n ||
        cosines->dims[0] != sines->dims[0])
        return as_kernel_fail(k, "cosines and sines do not fit");
    *r = (struct as_rotary){.cos = cosines->data,
                            .sin = sines->data,
                            .dim = 2 * cosines->dims[1],
                            .positions = cosines->dims[0],
                            .interleaved = as_node_int(k->node, interleaved, 0) != 0};
    return ASSAY_OK;
}

/* Without tables: those of `rows` positions from the first on, by the base that a node of ours
 * carries. */
static int make_rotary(struct as_kernel_ctx *k, int64_t first, int64_t rows, int64_t dim,
                       struct as_rotary *r)
{
    double base = as_node_float(k->node, "rope_base", 10000);
    int64_t half = dim / 2;
    float *table;

    if (!(base > 0) || first < 0 || rows < 0 || dim < 2 || dim % 2 != 0)
        return as_kernel_fail(k, "there are no cosines and sines, and none can be made");
    table = as_kernel_work(k, 2 * (uint64_t)rows, (uint64_t)half * sizeof *table);
    if (!table)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < half; i++) {
        double step = pow(base, -2 * (double)i / (double)dim);

        for (int64_t s = 0; s < rows; s++) {
            table[s * half + i] = (float)cos((double)(first + s) * step);
            table[(rows + s) * half + i] = (float)sin((double)(first + s) * step);
        }
    }
    *r = (struct as_rotary){.cos = table,
                            .sin = table + rows * half,
                            .dim = dim,
                            .positions = rows,
                            .interleaved = as_node_int(k->node, "interleaved", 0) != 0};
    return ASSAY_OK;
}

/* Where token `s` of sample `b` is: by a list, one for each sample, or counted from there on. */
static int64_t position_of(const struct as_val *ids, int64_t b, int64_t s, int64_t rows)
{
    if (!ids)
        return s;
    if (ids->n == 1)
        return as_val_i64(ids, 0) + s;
    return as_val_i64(ids, (uint64_t)(b * rows + s));
}

struct turning {
    int64_t batch, heads, rows, width;
    struct as_heads at;
};

static int turn_all(struct as_kernel_ctx *k, const struct as_rotary *r, const struct turning *t,
                    const struct as_val *ids, float *x)
{
    for (int64_t b = 0; b < t->batch; b++)
        for (int64_t s = 0; s < t->rows; s++) {
            int64_t position = position_of(ids, b, s, t->rows);

            if (position < 0 || position >= r->positions)
                return as_kernel_fail(k, "position %lld is outside of the table",
                                      (long long)position);
            for (int64_t n = 0; n < t->heads; n++)
                as_rotary_row(r, x + b * t->at.batch + n * t->at.head + s * t->at.row, position);
        }
    return ASSAY_OK;
}

/* How heads lie in the input. */
static int read_turning(struct as_kernel_ctx *k, const struct as_val *x, int64_t heads,
                        struct turning *t)
{
    if (as_is_floats(x, 4)) { /* [B, N, S, H] */
        *t = (struct turning){x->dims[0], x->dims[1], x->dims[2], x->dims[3], {0}};
        t->at = (struct as_heads){t->heads * t->rows * t->width, t->rows * t->width, t->width};
        return ASSAY_OK;
    }
    if (!as_is_floats(x, 3))
        return as_kernel_cannot(k, "an input of this shape");
    if (heads < 1 || x->dims[2] % heads != 0)
        return as_kernel_fail(k, "%lld heads in a row of %lld", (long long)heads,
                              (long long)x->dims[2]);
    *t = (struct turning){x->dims[0], heads, x->dims[1], x->dims[2] / heads, {0}};
    t->at = (struct as_heads){t->rows * x->dims[2], t->width, x->dims[2]};
    return ASSAY_OK;
}

int as_kernel_rotary(struct as_kernel_ctx *k)
{
    const struct as_val *x = in_at(k, 0), *ids = in_at(k, 1);
    int64_t heads = as_node_int(k->node, "num_heads", 0);
    int64_t dim = as_node_int(k->node, "rotary_embedding_dim", 0);
    bool made = !as_has_in(k, 2) && !as_has_in(k, 3);
    struct as_rotary r = {0};
    struct turning t = {0};
    int rc = made ? ASSAY_OK : read_rotary(k, in_at(k, 2), in_at(k, 3), "interleaved", &r);

    if (rc == ASSAY_OK && heads < 1 && as_is_floats(x, 3))
        heads = dim > 0 || r.dim < 1 ? 0 : x->dims[2] / r.dim;
    if (rc == ASSAY_OK)
        rc = read_turning(k, x, heads, &t);
    if (rc < 0)
        return rc;
    if ((!ids && !made) || !as_has_out(k, 0) || k->out[0]->n != x->n ||
        k->out[0]->dtype != AS_DTYPE_F32 ||
        (ids && (!as_dtype_is_integer(ids->dtype) ||
                 (ids->n != 1 && (made || ids->n != (uint64_t)(t.batch * t.rows))))))
        return as_kernel_fail(k, "input and positions do not fit");
    if (made) {
        rc = make_rotary(k, ids ? as_val_i64(ids, 0) : 0, t.rows, dim > 0 ? dim : t.width, &r);
        ids = NULL;
    }
    if (rc < 0)
        return rc;
    if (r.dim > t.width)
        return as_kernel_fail(k, "a head of %lld is turned in %lld", (long long)t.width,
                              (long long)r.dim);
    memcpy(k->out[0]->data, x->data, (size_t)x->bytes);
    return turn_all(k, &r, &t, ids, k->out[0]->data);
}

/* ---- groups ---- */

struct group {
    struct as_heads_from q, k, v;
    int64_t heads, kv, length; /* of the cache that comes out */
    int64_t past_length;       /* of the cache that goes in */
    int64_t *past, *n_keys;    /* of each sample */
    const struct as_val *past_k, *past_v;
    float *cache_k, *cache_v;
};

static struct as_heads_from part_of(const struct as_val *x, int64_t first, int64_t heads,
                                    int64_t width)
{
    return (struct as_heads_from){.x = (const float *)x->data + first * width,
                                  .at = {x->dims[1] * x->dims[2], width, x->dims[2]},
                                  .batch = x->dims[0],
                                  .heads = heads,
                                  .rows = x->dims[1],
                                  .width = width};
}

static int read_group(struct as_kernel_ctx *k, struct group *g)
{
    const struct as_val *q = in_at(k, 0), *key = in_at(k, 1), *value = in_at(k, 2);
    int64_t n = g->heads, kv = g->kv, width;

    if (!as_is_floats(q, 3))
        return as_kernel_cannot(k, "a query that is not f32 of three dimensions");
    if (!key) {
        if (q->dims[2] % (n + 2 * kv) != 0)
            return as_kernel_fail(k, "a row of %lld is none of its heads", (long long)q->dims[2]);
        width = q->dims[2] / (n + 2 * kv);
        g->q = part_of(q, 0, n, width);
        g->k = part_of(q, n, kv, width);
        g->v = part_of(q, n + kv, kv, width);
        return ASSAY_OK;
    }
    width = q->dims[2] / n;
    if (!as_is_floats(key, 3) || !as_is_floats(value, 3) || q->dims[2] % n != 0 ||
        key->dims[2] != kv * width || value->dims[2] != kv * width || key->dims[1] != q->dims[1] ||
        value->dims[1] != q->dims[1] || key->dims[0] != q->dims[0] || value->dims[0] != q->dims[0])
        return as_kernel_fail(k, "queries, keys and values do not fit");
    g->q = part_of(q, 0, n, width);
    g->k = part_of(key, 0, kv, width);
    g->v = part_of(value, 0, kv, width);
    return ASSAY_OK;
}

/* How much of each sample's cache is used, from the place of its last token. */
static int read_lengths(struct as_kernel_ctx *k, struct group *g)
{
    const struct as_val *last = in_at(k, 5), *pk = in_at(k, 3), *pv = in_at(k, 4);
    int64_t batch = g->q.batch;

    if (pk && pv) {
        if (!as_is_floats(pk, 4) || !as_is_floats(pv, 4) || pk->n != pv->n ||
            pk->dims[0] != batch || pk->dims[1] != g->kv || pk->dims[3] != g->k.width ||
            pv->dims[0] != batch || pv->dims[1] != g->kv || pv->dims[3] != g->k.width)
            return as_kernel_fail(k, "the past does not fit");
        g->past_k = pk;
        g->past_v = pv;
        g->past_length = pk->dims[2];
    }
    g->length =
        as_has_out(k, 1) && k->out[1]->rank == 4 ? k->out[1]->dims[2] : g->past_length + g->q.rows;
    if (last && (!as_dtype_is_integer(last->dtype) || last->n != (uint64_t)batch))
        return as_kernel_fail(k, "seqlens_k is not a list of %lld numbers", (long long)batch);
    g->past = as_kernel_work(k, 2 * (uint64_t)batch, sizeof *g->past);
    if (!g->past)
        return ASSAY_ERR_NOMEM;
    g->n_keys = g->past + batch;
    for (int64_t b = 0; b < batch; b++) {
        /* Who does not say how full the cache is has a full one. */
        int64_t total = last ? as_val_i64(last, (uint64_t)b) : g->length - 1;

        if (total < 0 || total >= g->length)
            return as_kernel_fail(k, "token %lld in a cache of %lld", (long long)total,
                                  (long long)g->length);
        total++;
        g->past[b] = total > g->q.rows ? total - g->q.rows : 0;
        g->n_keys[b] = total;
        if (g->past[b] > g->past_length || g->past[b] + g->q.rows > g->length)
            return as_kernel_fail(k, "%lld tokens are missing in the past",
                                  (long long)(g->past[b] - g->past_length));
    }
    return ASSAY_OK;
}

static int fill_cache(struct as_kernel_ctx *k, size_t out, const struct group *g,
                      const struct as_heads_from *fresh, const struct as_val *past, float **to)
{
    uint64_t n = (uint64_t)(fresh->batch * g->kv * g->length * fresh->width);

    if (as_has_out(k, out)) {
        if (k->out[out]->dtype != AS_DTYPE_F32 || k->out[out]->n != n)
            return as_kernel_fail(k, "there is no room for the present");
        *to = k->out[out]->data;
    } else {
        *to = as_kernel_work(k, n, sizeof **to);
    }
    if (!*to)
        return ASSAY_ERR_NOMEM;
    memset(*to, 0, (size_t)n * sizeof **to);
    for (int64_t i = 0; i < fresh->batch * g->kv; i++) {
        struct as_heads_from one = *fresh;
        int64_t b = i / g->kv;

        if (past)
            memcpy(*to + i * g->length * fresh->width,
                   (const float *)past->data + i * g->past_length * fresh->width,
                   (size_t)(g->past[b] * fresh->width) * sizeof **to);
        one.x = fresh->x + b * fresh->at.batch + i % g->kv * fresh->at.head;
        one.batch = one.heads = 1;
        as_heads_copy(&one, *to + i * g->length * fresh->width, g->length, g->past[b]);
    }
    return ASSAY_OK;
}

/* Queries and the fresh keys, each at the place of its token. */
static int turn_tokens(struct as_kernel_ctx *k, const struct group *g, float *q)
{
    const struct as_val *ids = in_at(k, 9);
    struct as_rotary r;
    int64_t width = g->q.width, rows = g->q.rows;
    int rc = read_rotary(k, in_at(k, 7), in_at(k, 8), "rotary_interleaved", &r);

    if (rc < 0)
        return rc;
    if (r.dim > width ||
        (ids && (!as_dtype_is_integer(ids->dtype) || ids->n != (uint64_t)(g->q.batch * rows))))
        return as_kernel_fail(k, "the rotation does not fit");
    for (int64_t i = 0; i < g->q.batch * rows; i++) {
        int64_t b = i / rows, s = i % rows, place = g->past[b] + s;

        if (ids)
            place = as_val_i64(ids, (uint64_t)i);
        if (place < 0 || place >= r.positions)
            return as_kernel_fail(k, "position %lld is outside of the table", (long long)place);
        for (int64_t n = 0; n < g->heads; n++)
            as_rotary_row(&r, q + ((b * g->heads + n) * rows + s) * width, place);
        for (int64_t n = 0; n < g->kv; n++)
            as_rotary_row(&r, g->cache_k + ((b * g->kv + n) * g->length + g->past[b] + s) * width,
                          place);
    }
    return ASSAY_OK;
}

/* One score more in every row: the node's own, or 0 for a smooth softmax. */
static int read_sink(struct as_kernel_ctx *k, int64_t heads, struct as_attend *a)
{
    const struct as_val *sink = in_at(k, 11);
    float *zeros;

    if (sink) {
        if (!as_is_floats(sink, 1) || sink->n != (uint64_t)heads)
            return as_kernel_fail(k, "head_sink does not fit");
        a->sink = sink->data;
    } else if (as_node_int(k->node, "smooth_softmax", 0) > 0) {
        zeros = as_arena_zero(k->scratch, (size_t)heads, sizeof *zeros);
        if (!zeros)
            return as_fail_nomem(k->err);
        a->sink = zeros;
    }
    return ASSAY_OK;
}

static int attend(struct as_kernel_ctx *k, const struct group *g, const float *q)
{
    int64_t n = g->heads, width = g->q.width,
            window = as_node_int(k->node, "local_window_size", -1);
    struct as_attend a = {.batch = g->q.batch,
                          .heads = n,
                          .kv_heads = g->kv,
                          .rows = g->q.rows,
                          .keys = g->length,
                          .width = width,
                          .value_width = width,
                          .q = q,
                          .k = g->cache_k,
                          .v = g->cache_v,
                          .out = k->out[0]->data,
                          .past = g->past,
                          .n_keys = g->n_keys,
                          .causal = true,
                          .window = window > 0 ? window : 0,
                          .softcap = (float)as_node_float(k->node, "softcap", 0),
                          .scale = (float)as_node_float(k->node, "scale", 0)};
    const struct as_val *bias = in_at(k, 10);
    int rc;

    a.q_at = (struct as_heads){n * a.rows * width, a.rows * width, width};
    a.k_at = a.v_at = (struct as_heads){g->kv * g->length * width, g->length * width, width};
    a.out_at = (struct as_heads){a.rows * n * width, width, n * width};
    if (!(a.scale > 0))
        a.scale = width > 0 ? 1 / sqrtf((float)width) : 1;
    /* The bias is as wide as what is used of the cache, which may be longer. */
    if (bias && bias->rank == 4 && bias->dims[3] < a.keys) {
        for (int64_t b = 0; b < a.batch; b++)
            if (g->n_keys[b] > bias->dims[3])
                return as_kernel_fail(k, "the attention bias does not fit");
        a.keys = bias->dims[3];
    }
    rc = as_attention_bias(k, bias, &a);
    if (rc == ASSAY_OK)
        rc = read_sink(k, n, &a);
    if (rc == ASSAY_OK)
        as_attend_run(k, &a);
    return rc;
}

int as_kernel_group_query(struct as_kernel_ctx *k)
{
    struct group g = {.heads = as_node_int(k->node, "num_heads", 0),
                      .kv = as_node_int(k->node, "kv_num_heads", 0)};
    float *q;
    int rc;

    if (g.heads < 1 || g.kv < 1 || g.heads > 1 << 20 || g.heads % g.kv != 0 || !as_has_out(k, 0))
        return as_kernel_fail(k, "%lld heads cannot share %lld of key and value",
                              (long long)g.heads, (long long)g.kv);
    rc = read_group(k, &g);
    if (rc == ASSAY_OK)
        rc = read_lengths(k, &g);
    if (rc == ASSAY_OK)
        rc = fill_cache(k, 1, &g, &g.k, g.past_k, &g.cache_k);
    if (rc == ASSAY_OK)
        rc = fill_cache(k, 2, &g, &g.v, g.past_v, &g.cache_v);
    if (rc < 0)
        return rc;
    if (k->out[0]->dtype != AS_DTYPE_F32 ||
        k->out[0]->n != (uint64_t)(g.q.batch * g.q.rows * g.heads * g.q.width))
        return as_kernel_fail(k, "there is no room for the output");
    q = as_kernel_work(k, k->out[0]->n, sizeof *q);
    if (!q)
        return ASSAY_ERR_NOMEM;
    as_heads_copy(&g.q, q, g.q.rows, 0);
    if (as_node_int(k->node, "do_rotary", 0) != 0)
        rc = turn_tokens(k, &g, q);
    return rc < 0 ? rc : attend(k, &g, q);
}
