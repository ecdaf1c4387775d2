/* model/cost/cost_attention.c - the sizes and counts of operators that are an attention by
 * themselves. Counted densely, as executed without skipping; what a causal mask leaves is reported
 * beside it. */
#include "base/units.h"
#include "model/cost/cost_rules.h"

/* Where an operator keeps what; -1: it has none. */
struct layout {
    enum as_op op;
    int8_t weight; /* of a projection inside the operator, with its bias behind it */
    int8_t key, value, past_key, past; /* `past` holds keys and values in one tensor */
    int8_t mask, bias, offsets;        /* offsets: [batch, longest], where tokens are packed */
    bool causal, grouped;
};

static const struct layout layouts[] = {
    {AS_OP_MS_Attention, 1, -1, -1, -1, 4, 3, 5, -1, false, false},
    {AS_OP_MS_QAttention, 1, -1, -1, -1, 8, 5, -1, -1, false, false},
    {AS_OP_MS_MultiHeadAttention, -1, 1, 2, 6, -1, 4, 5, -1, false, false},
    {AS_OP_MS_DecoderMaskedMultiHeadAttention, -1, 1, 2, 5, -1, 3, 4, -1, true, false},
    {AS_OP_MS_GroupQueryAttention, -1, 1, 2, 3, -1, -1, 10, -1, true, true},
    {AS_OP_MS_SparseAttention, -1, 1, 2, 3, -1, -1, -1, -1, true, true},
    {AS_OP_MS_PackedAttention, 1, -1, -1, -1, -1, -1, 5, 3, false, false},
    {AS_OP_MS_PackedMultiHeadAttention, -1, 1, 2, -1, -1, -1, 6, 4, false, false},
};

static const struct layout *layout_of(enum as_op op)
{
    for (size_t i = 0; i < AS_COUNT_OF(layouts); i++)
        if (layouts[i].op == op)
            return &layouts[i];
    return NULL;
}

struct sizing {
    const struct as_graph *graph;
    const struct as_node *node;
    const struct layout *layout;
    struct as_attention *out;
};

static bool dims_at(const struct sizing *s, int i, struct as_dims *dims)
{
    const struct as_value *value = i < 0 ? NULL : as_node_input(s->graph, s->node, (size_t)i);

    return value && as_type_is_static(&value->type) && as_type_dims(&value->type, dims);
}

static bool given(const struct sizing *s, int i)
{
    return i >= 0 && as_node_input(s->graph, s->node, (size_t)i) != NULL;
}

/* Batch and queries from the first input, or from the offsets of packed tokens. */
static bool size_queries(const struct sizing *s, const struct as_dims *x)
{
    struct as_dims offsets;

    if (s->layout->offsets >= 0) {
        if (!dims_at(s, s->layout->offsets, &offsets) || offsets.rank != 2)
            return false;
        s->out->batch = (uint64_t)offsets.at[0];
        s->out->queries = (uint64_t)offsets.at[1];
        return true;
    }
    if (x->rank < 3)
        return false;
    s->out->batch = (uint64_t)x->at[0];
    s->out->queries = (uint64_t)x->at[1];
    return true;
}

/* Keys, heads' widths and the product inside, of operators that project their input. */
static bool size_projected(const struct sizing *s, const struct as_dims *x)
{
    uint64_t heads = s->out->heads, tokens = as_cost_volume(x, 0, x->rank - 1);
    struct as_dims w;
    struct as_ints sizes;

    if (!dims_at(s, s->layout->weight, &w) || w.rank != 2)
        return false;
    if (as_node_ints(s->node, "qkv_hidden_sizes", &sizes) && sizes.n == 3 && sizes.at[0] > 0 &&
        sizes.at[2] > 0) {
        s->out->head_dim = (uint64_t)sizes.at[0] / heads;
        s->out->value_dim = (uint64_t)sizes.at[2] / heads;
    } else {
        s->out->head_dim = s->out->value_dim = (uint64_t)w.at[1] / 3 / heads;
    }
    s->out->projection_macs = as_sat_mul(tokens, as_cost_volume(&w, 0, 2));
    s->out->keys = s->out->queries;
    return true;
}

/* The same where queries, keys and values come ready, apart or packed in one. */
static bool size_given(const struct sizing *s, const struct as_dims *x)
{
    struct as_attention *a = s->out;
    struct as_dims k, v;
    bool packed_tokens = s->layout->offsets >= 0;
    uint64_t width = (uint64_t)x->at[x->rank - 1];

    a->keys = a->queries;
    if (!given(s, s->layout->key)) { /* all in the first input */
        bool blocks = x->rank == 5 || (packed_tokens && x->rank == 4);

        a->head_dim = blocks ? width : width / (a->heads + 2 * a->kv_heads);
        a->value_dim = a->head_dim;
        return true;
    }
    a->head_dim = width / a->heads;
    a->value_dim = a->head_dim;
    if (!dims_at(s, s->layout->key, &k))
        return false;
    if (k.rank == 4) /* [batch, heads, keys, width]: from an encoder's cache */
        a->keys = (uint64_t)k.at[2];
    else if (!packed_tokens && k.rank >= 3)
        a->keys = (uint64_t)k.at[1];
    if (given(s, s->layout->value)) {
        if (!dims_at(s, s->layout->value, &v) || v.rank < 2)
            return false;
        a->value_dim = v.rank == 4 ? (uint64_t)v.at[3] : (uint64_t)v.at[v.rank - 1] / a->kv_heads;
    }
    a->cross = s->node->inputs[s->layout->key] != s->node->inputs[0] && a->keys != a->queries;
    return true;
}

/* Keys kept from earlier tokens come on top, unless the output says how many there are in all. */
static bool add_past(const struct sizing *s)
{
    const struct as_value *present = as_node_output(s->graph, s->node, 1);
    struct as_dims past;
    int at = s->layout->past_key >= 0 ? s->layout->past_key : s->layout->past;
    int axis = s->layout->past_key >= 0 ? 2 : 3;

    if (!given(s, at))
        return true;
    if (present && as_type_is_static(&present->type) && present->type.rank == axis + 2) {
        s->out->keys = (uint64_t)present->type.dims[axis];
        return true;
    }
    if (!dims_at(s, at, &past) || past.rank != axis + 2)
        return false;
    s->out->keys = as_sat_add(s->out->keys, (uint64_t)past.at[axis]);
    return true;
}

static uint64_t pair_macs(const struct as_attention *a, uint64_t pairs)
{
    return as_sat_mul(as_sat_mul(a->batch, a->heads),
                      as_sat_mul(pairs, as_sat_add(a->head_dim, a->value_dim)));
}

/* Query i of q sees the keys up to k - q + i. */
uint64_t as_attention_causal_macs(const struct as_attention *a)
{
    uint64_t q = a->queries, k = a->keys, triangle = q < k ? q : k, pairs;

    if (!a->causal)
        return a->macs;
    if (triangle >= (uint64_t)1 << 31)
        return UINT64_MAX;
    pairs = triangle * (triangle + 1) / 2;
    if (k > q)
        pairs = as_sat_add(pairs, as_sat_mul(q, k - q));
    return pair_macs(a, pairs);
}

bool as_attention_of_node(const struct as_graph *graph, const struct as_node *node,
                          struct as_attention *out)
{
    struct sizing s = {graph, node, layout_of(node->op), out};
    int64_t heads = as_node_int(node, "num_heads", 0);
    struct as_dims x;

    *out = (struct as_attention){.name = as_node_label(graph, node), .scope = ""};
    if (!s.layout || heads <= 0 || heads > INT32_MAX || !dims_at(&s, 0, &x) || x.rank < 2 ||
        !size_queries(&s, &x))
        return false;
    out->heads = out->kv_heads = (uint64_t)heads;
    if (s.layout->grouped) {
        int64_t kv = as_node_int(node, "kv_num_heads", heads);

        if (kv <= 0 || kv > heads)
            return false;
        out->kv_heads = (uint64_t)kv;
    }
    out->causal = s.layout->causal || as_node_int(node, "unidirectional", 0) != 0;
    if (!(s.layout->weight >= 0 ? size_projected(&s, &x) : size_given(&s, &x)) || !add_past(&s))
        return false;
    out->macs = pair_macs(out, as_sat_mul(out->queries, out->keys));
    out->causal_macs = as_attention_causal_macs(out);
    return true;
}

static bool grad_at(const struct as_cost_ctx *ctx, int at)
{
    return at >= 0 && as_cost_grad(ctx, (size_t)at);
}

/* Each product has a gradient for each of its operands that needs one; the scores need theirs for
 * queries and keys. */
static void attention_backward(struct as_cost_ctx *ctx, const struct layout *layout,
                               const struct as_attention *a)
{
    uint64_t pairs = as_sat_mul(as_sat_mul(a->batch, a->heads), as_sat_mul(a->queries, a->keys));
    uint64_t qk = as_sat_mul(pairs, a->head_dim), av = as_sat_mul(pairs, a->value_dim);
    bool x = as_cost_grad(ctx, 0), w = grad_at(ctx, layout->weight);
    bool packed = layout->key < 0 || !as_cost_has(ctx, (size_t)layout->key);
    bool q = x || w || (layout->weight >= 0 && grad_at(ctx, layout->weight + 1)), k = q, v = q;

    if (!packed) {
        k = grad_at(ctx, layout->key);
        v = layout->value >= 0 && as_cost_has(ctx, (size_t)layout->value)
                ? grad_at(ctx, layout->value)
                : k;
    }
    k |= grad_at(ctx, layout->past_key) || grad_at(ctx, layout->past);
    v |= grad_at(ctx, layout->past_key) || grad_at(ctx, layout->past);
    as_count_each(&ctx->backward->macs, qk, (q ? 1U : 0U) + (k ? 1U : 0U));
    as_count_each(&ctx->backward->macs, av, (q || k ? 1U : 0U) + (v ? 1U : 0U));
    as_count_each(&ctx->backward->macs, a->projection_macs, (x ? 1U : 0U) + (w ? 1U : 0U));
}

/* The probabilities, and where they are made inside queries, keys and values. */
static uint64_t attention_keeps(const struct layout *layout, const struct as_attention *a)
{
    uint64_t kept = as_sat_mul(as_sat_mul(a->batch, a->heads), as_sat_mul(a->queries, a->keys));

    if (layout->weight < 0)
        return kept;
    as_count(&kept,
             as_sat_mul(as_sat_mul(a->batch, a->queries), as_sat_mul(a->heads, a->head_dim)));
    as_count(&kept, as_sat_mul(as_sat_mul(a->batch, a->keys),
                               as_sat_mul(a->kv_heads, as_sat_add(a->head_dim, a->value_dim))));
    return kept;
}

void as_cost_attention(struct as_cost_ctx *ctx)
{
    const struct layout *layout = layout_of(ctx->node->op);
    struct as_attention a = {0};
    uint64_t scores, rows;

    if (!as_attention_of_node(ctx->graph, ctx->node, &a)) {
        ctx->unknown = true;
        return;
    }
    as_count(&ctx->forward->macs, as_sat_add(a.macs, a.projection_macs));
    attention_backward(ctx, layout, &a);
    ctx->kept_floats = attention_keeps(layout, &a);
    rows = as_sat_mul(as_sat_mul(a.batch, a.heads), a.queries);
    scores = as_sat_mul(rows, a.keys);
    as_count(&ctx->forward->elementwise, scores); /* the scale */
    as_count(&ctx->backward->elementwise, scores);
    if (a.causal || (layout->mask >= 0 && as_cost_has(ctx, (size_t)layout->mask)))
        as_count(&ctx->forward->elementwise, scores);
    if (layout->bias >= 0 && as_cost_has(ctx, (size_t)layout->bias))
        as_count(&ctx->forward->elementwise, scores);
    if (layout->weight >= 0)
        as_cost_bias(ctx, 2,
                     as_sat_mul(as_sat_mul(a.batch, a.queries),
                                as_sat_mul(a.heads, as_sat_add(2 * a.head_dim, a.value_dim))));
    as_cost_softmax_of(ctx, scores, rows);
}

const char *as_attention_kind(const struct as_attention *attention)
{
    if (attention->heads == attention->kv_heads)
        return "MHA";
    return attention->kv_heads == 1 ? "MQA" : "GQA";
}

uint64_t as_costs_recomputed(const struct as_costs *costs)
{
    uint64_t again = 0;

    for (size_t i = 0; i < costs->n_attentions; i++) {
        const struct as_attention *a = &costs->attentions[i];

        if (a->causal && !a->cross && a->queries == a->keys && a->queries > 1)
            again = a->queries - 1;
    }
    return again;
}
