/* model/zoo/zoo_transformer.c - transformers of the zoo, with the names their authors' files use.
 * Attention is dense, as it executes; masks and rotary tables are made by nodes, not stored. */
#include "model/zoo/zoo_models.h"

static int64_t open_or(int64_t value)
{
    return value ? value : AS_DIM_UNKNOWN;
}

uint32_t as_zoo_tokens(struct as_builder *b, const char *name, int64_t batch, int64_t seq)
{
    static const char *const symbols[] = {"batch", "seq"};
    struct as_dims dims = {2, {open_or(batch), open_or(seq)}};

    return as_build_input(b, name, AS_DTYPE_I64, &dims, symbols);
}

struct as_build_cache *as_zoo_cache(struct as_builder *b, struct as_build_cache *cache,
                                    const struct as_zoo_cache_sizes *sizes)
{
    struct as_dims dims = {4,
                           {open_or(sizes->batch), sizes->heads,
                            sizes->past > 0 ? sizes->past : AS_DIM_UNKNOWN, sizes->head_dim}};

    if (sizes->past == 0)
        return NULL;
    (void)as_build_cache_begin(b, cache, sizes->layers, &dims);
    return cache;
}

struct as_zoo_places as_zoo_places(struct as_builder *b, uint32_t ids, int64_t seq,
                                   const struct as_build_cache *cache)
{
    struct as_zoo_places places = {.known = open_or(seq)};

    places.length = as_build_length(b, "length", ids, 1);
    places.positions =
        cache ? as_build_cache_positions(b, "position_ids", cache, places.length, places.known)
              : as_build_positions(b, "position_ids", places.length, places.known);
    return places;
}

uint32_t as_zoo_causal(struct as_builder *b, const struct as_zoo_places *places,
                       const struct as_build_cache *cache)
{
    return cache ? as_build_cache_mask(b, "causal_mask", cache, places->length, places->known)
                 : as_build_causal_mask(b, "causal_mask", places->length, places->known);
}

static bool check_text(struct as_builder *b, int64_t width, int64_t heads, int64_t seq,
                       int64_t context)
{
    if (width % heads)
        as_build_fail(b, ASSAY_ERR_USAGE, "a width of %lld cannot be shared by %lld heads",
                      (long long)width, (long long)heads);
    if (seq > context)
        as_build_fail(b, ASSAY_ERR_USAGE, "a text of %lld tokens is longer than the context, %lld",
                      (long long)seq, (long long)context);
    return as_build_ok(b);
}

/* Wider by four and narrow again. */
static uint32_t feed_forward(struct as_builder *b, const char *const names[3], uint32_t x,
                             int64_t width, enum as_activation act)
{
    x = as_build_linear(b, names[0], x, 4 * width, true);
    x = as_build_activation(b, act, names[1], x);
    return as_build_linear(b, names[2], x, width, true);
}

/* Queries, keys and values of one product, side by side. */
static uint32_t joint_attention(struct as_builder *b, const char *const names[3], uint32_t x,
                                int64_t width, const struct as_build_attention *how)
{
    uint32_t part[3];

    x = as_build_linear(b, names[0], x, 3 * width, true);
    if (!as_build_split(b, names[1], x, -1, 3, part))
        return AS_NONE;
    x = as_build_attend(b, part[0], part[1], part[2], how);
    return as_build_linear(b, names[2], x, width, true);
}

/* ---- BERT ---- */

static uint32_t bert_embeddings(struct as_builder *b, const int64_t *values, uint32_t ids,
                                uint32_t types)
{
    int64_t width = values[AS_BERT_WIDTH];
    uint32_t words, kinds, places, length;

    as_build_scope(b, "embeddings");
    words = as_build_embedding(b, "word_embeddings", ids, values[AS_BERT_VOCAB], width, NULL);
    kinds = as_build_embedding(b, "token_type_embeddings", types, 2, width, NULL);
    length = as_build_length(b, "length", ids, 1);
    places = as_build_positions(b, "position_ids", length, open_or(values[AS_BERT_SEQ]));
    places =
        as_build_embedding(b, "position_embeddings", places, values[AS_BERT_CONTEXT], width, NULL);
    words = as_build_binary(b, "Add", "add_types", words, kinds);
    words = as_build_binary(b, "Add", "add_positions", words, places);
    words = as_build_layer_norm(b, "LayerNorm", words, 1e-12);
    as_build_scope_end(b);
    return words;
}

/* 1 for tokens that count becomes 0, 0 becomes very low: [batch, 1, 1, seq]. */
static uint32_t bert_mask(struct as_builder *b, uint32_t mask)
{
    static const int64_t apart[] = {0, 1, 1, -1};

    as_build_scope(b, "mask");
    mask = as_build_reshape(b, "Reshape", mask, apart, 4);
    mask = as_build_cast(b, "Cast", mask, b->dtype);
    mask = as_build_binary(b, "Sub", "Sub", as_build_number(b, 1), mask);
    mask = as_build_binary(b, "Mul", "Mul", mask, as_build_number(b, -10000));
    as_build_scope_end(b);
    return mask;
}

static uint32_t bert_layer(struct as_builder *b, uint32_t x, const int64_t *values, uint32_t mask)
{
    static const struct as_build_projections names = {"self.query", "self.key", "self.value",
                                                      "output.dense", true};
    static const char *const dense[] = {"intermediate.dense", "intermediate.act", "output.dense"};
    struct as_build_attention how = {.heads = values[AS_BERT_HEADS], .mask = mask};
    uint32_t y = as_build_attention_layer(b, "attention", x, x, &how, &names);

    x = as_build_binary(b, "Add", "attention.output.add", y, x);
    x = as_build_layer_norm(b, "attention.output.LayerNorm", x, 1e-12);
    y = feed_forward(b, dense, x, values[AS_BERT_WIDTH], AS_ACT_GELU);
    x = as_build_binary(b, "Add", "output.add", y, x);
    return as_build_layer_norm(b, "output.LayerNorm", x, 1e-12);
}

void as_zoo_bert(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t seq = values[AS_BERT_SEQ];
    uint32_t ids, mask, types, x, first;

    if (!check_text(b, values[AS_BERT_WIDTH], values[AS_BERT_HEADS], seq, values[AS_BERT_CONTEXT]))
        return;
    ids = as_zoo_tokens(b, "input_ids", batch, seq);
    mask = as_zoo_tokens(b, "attention_mask", batch, seq);
    types = as_zoo_tokens(b, "token_type_ids", batch, seq);
    x = bert_embeddings(b, values, ids, types);
    mask = bert_mask(b, mask);
    for (int64_t i = 0; i < values[AS_BERT_LAYERS]; i++) {
        as_build_scope(b, "encoder.layer.%lld", (long long)i);
        x = bert_layer(b, x, values, mask);
        as_build_scope_end(b);
    }
    as_build_output(b, x, "last_hidden_state");
    as_build_scope(b, "pooler");
    first = as_build_gather(b, "first_token", x, as_build_int(b, 0), 1);
    first = as_build_linear(b, "dense", first, values[AS_BERT_WIDTH], true);
    first = as_build_activation(b, AS_ACT_TANH, "activation", first);
    as_build_scope_end(b);
    as_build_output(b, first, "pooler_output");
}

/* ---- GPT-2 ---- */

static uint32_t gpt2_layer(struct as_builder *b, uint32_t x, const int64_t *values,
                           const struct as_build_attention *how)
{
    static const char *const joint[] = {"c_attn", "split", "c_proj"};
    static const char *const dense[] = {"mlp.c_fc", "mlp.act", "mlp.c_proj"};
    int64_t width = values[AS_BERT_WIDTH];
    uint32_t y = as_build_layer_norm(b, "ln_1", x, 1e-5);

    as_build_scope(b, "attn");
    y = joint_attention(b, joint, y, width, how);
    as_build_scope_end(b);
    x = as_build_binary(b, "Add", "add_attn", x, y);
    y = as_build_layer_norm(b, "ln_2", x, 1e-5);
    y = feed_forward(b, dense, y, width, AS_ACT_GELU_TANH);
    return as_build_binary(b, "Add", "add_mlp", x, y);
}

static void describe_gpt2(struct as_builder *b, const int64_t *values)
{
    uint64_t width = (uint64_t)values[AS_BERT_WIDTH], heads = (uint64_t)values[AS_BERT_HEADS];

    b->model->decoder = (struct as_decoder){.architecture = "gpt2",
                                            .layers = (uint64_t)values[AS_BERT_LAYERS],
                                            .heads = heads,
                                            .kv_heads = heads,
                                            .head_dim = width / heads,
                                            .value_dim = width / heads,
                                            .width = width,
                                            .ffn_width = 4 * width,
                                            .context = (uint64_t)values[AS_BERT_CONTEXT],
                                            .vocabulary = (uint64_t)values[AS_BERT_VOCAB],
                                            .norm_eps = 1e-5};
}

void as_zoo_gpt2(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t seq = values[AS_BERT_SEQ], width = values[AS_BERT_WIDTH];
    struct as_zoo_cache_sizes sizes = {values[AS_GPT2_PAST], values[AS_BERT_LAYERS], batch,
                                       values[AS_BERT_HEADS], width / values[AS_BERT_HEADS]};
    struct as_build_attention how = {.heads = values[AS_BERT_HEADS]};
    struct as_build_cache cache;
    struct as_zoo_places places;
    uint32_t ids, learnt, table, x;

    if (!check_text(b, width, values[AS_BERT_HEADS], as_zoo_text(values[AS_GPT2_PAST], seq),
                    values[AS_BERT_CONTEXT]))
        return;
    describe_gpt2(b, values);
    ids = as_zoo_tokens(b, "input_ids", batch, seq);
    how.cache = as_zoo_cache(b, &cache, &sizes);
    places = as_zoo_places(b, ids, seq, how.cache);
    how.mask = as_zoo_causal(b, &places, how.cache);
    x = as_build_embedding(b, "wte", ids, values[AS_BERT_VOCAB], width, &table);
    learnt = as_build_embedding(b, "wpe", places.positions, values[AS_BERT_CONTEXT], width, NULL);
    x = as_build_binary(b, "Add", "add_positions", x, learnt);
    for (; how.layer < values[AS_BERT_LAYERS]; how.layer++) {
        as_build_scope(b, "h.%lld", (long long)how.layer);
        x = gpt2_layer(b, x, values, &how);
        as_build_scope_end(b);
    }
    x = as_build_layer_norm(b, "ln_f", x, 1e-5);
    as_build_output(b, as_build_linear_tied(b, "lm_head", x, table), "logits");
    if (how.cache)
        as_build_cache_end(b, how.cache);
}

/* ---- ViT ---- */

/* The patches as a row of vectors, behind one that is learnt and will hold the answer. */
static uint32_t vit_tokens(struct as_builder *b, uint32_t image, int64_t patches, int64_t width)
{
    static const int64_t order[] = {0, 2, 1}, ones[] = {1, 1};
    const struct as_build_conv conv = {
        .channels = width, .kernel = {16, 16}, .stride = {16, 16}, .bias = true};
    const struct as_seeded small = {AS_SEEDED_NORMAL, 0, 0.02f};
    struct as_dims one = {3, {1, 1, width}}, all = {3, {1, patches + 1, width}}, dims;
    uint32_t x = as_build_conv(b, "conv_proj", image, &conv), both[2], shape[2], places;
    const int64_t flat[] = {0, width, -1}, list = -1;

    x = as_build_reshape(b, "patches.Reshape", x, flat, 3);
    both[1] = as_build_transpose(b, "patches.Transpose", x, order, 3);
    both[0] = as_build_param(b, "class_token", &one, &small);
    shape[0] = as_build_reshape(b, "class_token.Reshape", as_build_length(b, "samples", image, 0),
                                &list, 1);
    shape[1] = as_build_ints(b, ones, 2);
    {
        struct as_build_node expand = {
            .op = "Expand",
            .name = "class_token.Expand",
            AS_BUILD_IN(both[0], as_build_concat(b, "class_token.Concat", shape, 2, 0)),
        };

        (void)as_build_dims(b, image, &dims);
        one.at[0] = dims.at[0];
        both[0] = as_build_one(b, &expand, &one);
    }
    x = as_build_concat(b, "concat", both, 2, 1);
    places = as_build_param(b, "encoder.pos_embedding", &all, &small);
    return as_build_binary(b, "Add", "encoder.add", x, places);
}

static uint32_t vit_layer(struct as_builder *b, uint32_t x, int64_t width)
{
    static const char *const joint[] = {"in_proj", "split", "out_proj"};
    static const char *const dense[] = {"mlp.0", "mlp.1", "mlp.3"};
    const struct as_build_attention how = {.heads = 12, .mask = AS_NONE};
    uint32_t y = as_build_layer_norm(b, "ln_1", x, 1e-6);

    as_build_scope(b, "self_attention");
    y = joint_attention(b, joint, y, width, &how);
    as_build_scope_end(b);
    x = as_build_binary(b, "Add", "add_1", x, y);
    y = as_build_layer_norm(b, "ln_2", x, 1e-6);
    y = feed_forward(b, dense, y, width, AS_ACT_GELU);
    return as_build_binary(b, "Add", "add_2", x, y);
}

void as_zoo_vit_b_16(struct as_builder *b, const int64_t *values, int64_t batch)
{
    const int64_t width = 768, size = values[AS_VIT_SIZE];
    uint32_t x;

    if (size % 16) {
        as_build_fail(b, ASSAY_ERR_USAGE, "size cannot be %lld; give a multiple of 16",
                      (long long)size);
        return;
    }
    x = as_zoo_image(b, batch, size);
    x = vit_tokens(b, x, (size / 16) * (size / 16), width);
    for (int64_t i = 0; i < values[AS_VIT_LAYERS]; i++) {
        as_build_scope(b, "encoder.layers.encoder_layer_%lld", (long long)i);
        x = vit_layer(b, x, width);
        as_build_scope_end(b);
    }
    x = as_build_layer_norm(b, "encoder.ln", x, 1e-6);
    x = as_build_gather(b, "first_token", x, as_build_int(b, 0), 1);
    x = as_build_linear(b, "heads.head", x, values[AS_VIT_CLASSES], true);
    as_build_output(b, x, "output");
}
