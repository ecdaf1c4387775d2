/* model/infer/rules/rules_attention.c - shape rules of the attention operators of com.microsoft.
 * B is the batch, S the new tokens, P those of the past, T all of them, N heads of size H. */
#include "model/infer/infer_rules.h"

/* Dimension `axis` of input `in`; unknown when there is none. */
static int64_t dim_of(const struct as_infer *ctx, size_t in, int axis)
{
    struct as_dims dims;

    return as_in_dims(ctx, in, &dims) && axis < dims.rank ? dims.at[axis] : AS_DIM_UNKNOWN;
}

static int rank_of(const struct as_infer *ctx, size_t in)
{
    struct as_dims dims;

    return as_in_dims(ctx, in, &dims) ? dims.rank : -1;
}

static int64_t divided(int64_t dim, int64_t by)
{
    return dim == AS_DIM_UNKNOWN || by < 1 || dim % by != 0 ? AS_DIM_UNKNOWN : dim / by;
}

static int need_rank(struct as_infer *ctx, size_t in, int rank, const char *what)
{
    int is = rank_of(ctx, in);

    return is < 0 || is == rank
               ? ASSAY_OK
               : as_conflict(ctx, "%s has %d dimensions instead of %d", what, is, rank);
}

static int read_heads(struct as_infer *ctx, int64_t *heads)
{
    *heads = as_node_int(ctx->node, "num_heads", 0);
    return *heads > 0 ? ASSAY_OK : as_conflict(ctx, "num_heads is %lld", (long long)*heads);
}

/* Widths of query, key and value, all packed in the columns of input 1. */
static int packed_widths(struct as_infer *ctx, int64_t *key, int64_t *value)
{
    int64_t all = dim_of(ctx, 1, 1);
    struct as_ints sizes;

    if (as_node_ints(ctx->node, "qkv_hidden_sizes", &sizes) && sizes.n > 0) {
        if (sizes.n != 3 || sizes.at[0] < 1 || sizes.at[1] < 1 || sizes.at[2] < 1)
            return as_conflict(ctx, "qkv_hidden_sizes is not three positive numbers");
        *key = sizes.at[1];
        *value = sizes.at[2];
        return ASSAY_OK;
    }
    if (all != AS_DIM_UNKNOWN && all % 3 != 0)
        return as_conflict(ctx, "weights with %lld columns are not those of three projections",
                           (long long)all);
    *key = *value = divided(all, 3);
    return ASSAY_OK;
}

/* Input [B, S, D], weights [D, Dq + Dk + Dv]; the past is [2, B, N, P, H]. */
static int infer_attention(struct as_infer *ctx)
{
    bool quantized = ctx->node->op == AS_OP_MS_QAttention;
    size_t past = quantized ? 8 : 4;
    unsigned dtype = as_in_dtype(ctx, quantized ? 3 : 0);
    int64_t heads = 1, key = AS_DIM_UNKNOWN, value = AS_DIM_UNKNOWN, total;
    struct as_dims out, present;
    int rc = need_rank(ctx, 0, 3, "the input");

    if (rc == ASSAY_OK)
        rc = need_rank(ctx, 1, 2, "the weights");
    if (rc == ASSAY_OK)
        rc = read_heads(ctx, &heads);
    if (rc == ASSAY_OK)
        rc = packed_widths(ctx, &key, &value);
    if (rc < 0)
        return rc;
    out = (struct as_dims){3, {dim_of(ctx, 0, 0), dim_of(ctx, 0, 1), value}};
    rc = as_out_tensor(ctx, 0, dtype, &out);
    if (rc < 0 || ctx->node->n_outputs < 2)
        return rc;
    total = out.at[1];
    if (as_in_type(ctx, past))
        total = as_dim_add(dim_of(ctx, past, 3), total);
    if (as_node_int(ctx->node, "past_present_share_buffer", 0) != 0)
        total = dim_of(ctx, past, 3);
    present = (struct as_dims){5, {2, out.at[0], heads, total, divided(key, heads)}};
    return as_out_tensor(ctx, 1, dtype, &present);
}

/* What the inputs of MultiHeadAttention come to, however they are packed. */
struct heads {
    int64_t n, batch, fresh, key_tokens, head, value_head;
};

static int read_multi_head(struct as_infer *ctx, struct heads *h)
{
    int64_t width;
    int rc = read_heads(ctx, &h->n);

    if (rc < 0)
        return rc;
    h->batch = dim_of(ctx, 0, 0);
    h->fresh = h->key_tokens = dim_of(ctx, 0, 1);
    if (rank_of(ctx, 0) == 5) { /* query, key and value: [B, S, N, 3, H] */
        h->head = h->value_head = dim_of(ctx, 0, 4);
        return ASSAY_OK;
    }
    rc = need_rank(ctx, 0, 3, "the query");
    width = dim_of(ctx, 0, 2);
    h->head = h->value_head = divided(width, h->n);
    if (rc < 0)
        return rc;
    if (!as_in_type(ctx, 1)) { /* query, key and value in one row; the past tells their heads */
        h->head = dim_of(ctx, 5, 3);
        h->value_head = dim_of(ctx, 6, 3);
        return rc;
    }
    if (width != AS_DIM_UNKNOWN && width % h->n != 0)
        return as_conflict(ctx, "a width of %lld cannot be split into %lld heads", (long long)width,
                           (long long)h->n);
    /* [B, L, D], [B, L, N, 2, H] or, as a past, [B, N, L, H] */
    h->key_tokens = dim_of(ctx, 1, rank_of(ctx, 1) == 4 ? 2 : 1);
    if (rank_of(ctx, 2) == 3)
        h->value_head = divided(dim_of(ctx, 2, 2), h->n);
    else if (rank_of(ctx, 2) == 4)
        h->value_head = dim_of(ctx, 2, 3);
    return ASSAY_OK;
}

static int infer_multi_head(struct as_infer *ctx)
{
    bool step = ctx->node->op == AS_OP_MS_DecoderMaskedMultiHeadAttention;
    size_t past = step ? 5 : 6;
    unsigned dtype = as_in_dtype(ctx, 0);
    struct heads h = {0};
    struct as_dims out, present;
    int64_t total;
    int rc = read_multi_head(ctx, &h);

    if (rc < 0)
        return rc;
    out = (struct as_dims){3, {h.batch, h.fresh, as_dim_mul(h.value_head, h.n)}};
    rc = as_out_tensor(ctx, 0, dtype, &out);
    total = as_in_type(ctx, past) ? as_dim_add(dim_of(ctx, past, 2), h.key_tokens) : h.key_tokens;
    if (step && as_node_int(ctx->node, "past_present_share_buffer", 0) != 0)
        total = dim_of(ctx, past, 2);
    present = (struct as_dims){4, {h.batch, h.n, total, h.head}};
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, dtype, &present);
    present.at[3] = h.value_head;
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 2, dtype, &present);
    present = (struct as_dims){4, {h.batch, h.n, h.fresh, total}};
    return rc == ASSAY_OK ? as_out_tensor(ctx, 3, dtype, &present) : rc;
}

/* The cache holds all tokens, or stays as long as it is when it has room for them. */
static int64_t cache_length(const struct as_infer *ctx, size_t past, size_t total, int64_t fresh)
{
    int64_t length = dim_of(ctx, past, 2), all;

    if (!as_in_type(ctx, past))
        return fresh;
    if (length == 0 || !as_in_int(ctx, total, &all) || all < 0)
        return length == 0 ? fresh : AS_DIM_UNKNOWN;
    if (length == AS_DIM_UNKNOWN)
        return AS_DIM_UNKNOWN;
    return all > length ? all : length;
}

/* Query [B, S, N * H] with key and value of fewer heads, or all three in one row. */
static int infer_group_query(struct as_infer *ctx)
{
    int64_t kv = as_node_int(ctx->node, "kv_num_heads", 0), heads = 1, head, width, length;
    unsigned dtype = as_in_dtype(ctx, 0), cache;
    struct as_dims out, present;
    int rc = read_heads(ctx, &heads);

    if (rc == ASSAY_OK)
        rc = need_rank(ctx, 0, 3, "the query");
    if (rc == ASSAY_OK && (kv < 1 || heads % kv != 0 || heads > 1 << 20))
        rc = as_conflict(ctx, "%lld heads cannot share %lld of key and value", (long long)heads,
                         (long long)kv);
    if (rc < 0)
        return rc;
    width = dim_of(ctx, 0, 2);
    head = divided(width, as_in_type(ctx, 1) ? heads : heads + 2 * kv);
    if (width != AS_DIM_UNKNOWN && head == AS_DIM_UNKNOWN)
        return as_conflict(ctx, "a width of %lld cannot be split into its heads", (long long)width);
    out = (struct as_dims){3, {dim_of(ctx, 0, 0), dim_of(ctx, 0, 1), as_dim_mul(heads, head)}};
    rc = as_out_tensor(ctx, 0, dtype, &out);
    if (rc < 0 || ctx->node->n_outputs < 2)
        return rc;
    length = cache_length(ctx, 3, 6, out.at[1]);
    present = (struct as_dims){4, {out.at[0], kv, length, head}};
    cache = as_in_type(ctx, 3) ? as_in_dtype(ctx, 3) : dtype;
    rc = as_out_tensor(ctx, 1, cache, &present);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 2, cache, &present);
    return rc == ASSAY_OK && length == AS_DIM_UNKNOWN
               ? as_unknown(ctx, "the length of its cache is not a constant")
               : rc;
}

/* The cache is a buffer that keeps its shape. */
static int infer_sparse(struct as_infer *ctx)
{
    int64_t kv = as_node_int(ctx->node, "kv_num_heads", 0), heads = 1, head;
    struct as_dims out;
    int rc = read_heads(ctx, &heads);

    if (rc == ASSAY_OK)
        rc = need_rank(ctx, 0, 3, "the query");
    if (rc == ASSAY_OK && (kv < 1 || kv > 1 << 20 || heads > 1 << 20))
        rc = as_conflict(ctx, "%lld heads cannot share %lld of key and value", (long long)heads,
                         (long long)kv);
    if (rc < 0)
        return rc;
    head = divided(dim_of(ctx, 0, 2), as_in_type(ctx, 1) ? heads : heads + 2 * kv);
    out = (struct as_dims){3, {dim_of(ctx, 0, 0), dim_of(ctx, 0, 1), as_dim_mul(heads, head)}};
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    if (rc == ASSAY_OK)
        rc = as_out_like(ctx, 1, 3);
    return rc == ASSAY_OK ? as_out_like(ctx, 2, 4) : rc;
}

/* Tokens of all sequences in one row after another, without padding. */
static int infer_packed(struct as_infer *ctx)
{
    struct as_dims out = {2, {dim_of(ctx, 0, 0), AS_DIM_UNKNOWN}};
    int64_t key, value = AS_DIM_UNKNOWN;
    int rc = need_rank(ctx, 0, 2, "the input");

    if (rc == ASSAY_OK)
        rc = packed_widths(ctx, &key, &value);
    if (rc < 0)
        return rc;
    out.at[1] = value;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int infer_packed_multi_head(struct as_infer *ctx)
{
    struct as_dims out = {2, {dim_of(ctx, 0, 0), AS_DIM_UNKNOWN}};

    if (rank_of(ctx, 0) == 4) /* [tokens, N, 3, H] */
        out.at[1] = as_dim_mul(dim_of(ctx, 0, 1), dim_of(ctx, 0, 3));
    else
        out.at[1] = dim_of(ctx, 2, 1);
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int infer_rotary(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

/* A table [buckets, heads] and the two lengths give [1, heads, query, key]. */
static int infer_position_bias(struct as_infer *ctx)
{
    struct as_dims out = {4, {1, dim_of(ctx, 0, 1), AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int rc;

    if (as_in_int(ctx, 1, &out.at[2]) && as_in_int(ctx, 2, &out.at[3]))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    out.at[2] = out.at[3] = AS_DIM_UNKNOWN;
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    return rc == ASSAY_OK ? as_unknown(ctx, "its lengths are not constants") : rc;
}

const struct as_op_rule as_rules_attention[] = {
    {AS_OP_MS_Attention, infer_attention, NULL},
    {AS_OP_MS_QAttention, infer_attention, NULL},
    {AS_OP_MS_MultiHeadAttention, infer_multi_head, NULL},
    {AS_OP_MS_DecoderMaskedMultiHeadAttention, infer_multi_head, NULL},
    {AS_OP_MS_GroupQueryAttention, infer_group_query, NULL},
    {AS_OP_MS_SparseAttention, infer_sparse, NULL},
    {AS_OP_MS_PackedAttention, infer_packed, NULL},
    {AS_OP_MS_PackedMultiHeadAttention, infer_packed_multi_head, NULL},
    {AS_OP_MS_RotaryEmbedding, infer_rotary, NULL},
    {AS_OP_MS_RelativePositionBias, infer_position_bias, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
