/* model/zoo_llama.c - a decoder of settable size in the manner of Llama: grouped heads, RMS norm,
 * gated layers, rotary positions. Once as a graph, once as the bare weights of a GGUF file. */
#include "model/build_attention.h"
#include "model/zoo_models.h"

static const double rope_base = 500000, norm_eps = 1e-5;

static int64_t kv_heads_of(const int64_t *values)
{
    return values[AS_LLAMA_KV_HEADS] ? values[AS_LLAMA_KV_HEADS] : values[AS_LLAMA_HEADS];
}

static bool check_llama(struct as_builder *b, const int64_t *values)
{
    int64_t width = values[AS_LLAMA_WIDTH], heads = values[AS_LLAMA_HEADS];

    if (width % heads || (width / heads) % 2)
        as_build_fail(b, ASSAY_ERR_USAGE,
                      "a width of %lld cannot be shared by %lld heads of even size",
                      (long long)width, (long long)heads);
    else if (heads % kv_heads_of(values))
        as_build_fail(b, ASSAY_ERR_USAGE, "kv_heads cannot be %lld; it must divide %lld heads",
                      (long long)kv_heads_of(values), (long long)heads);
    else if (values[AS_LLAMA_SEQ] > values[AS_LLAMA_CONTEXT])
        as_build_fail(b, ASSAY_ERR_USAGE, "a text of %lld tokens is longer than the context, %lld",
                      (long long)values[AS_LLAMA_SEQ], (long long)values[AS_LLAMA_CONTEXT]);
    return as_build_ok(b);
}

static void describe(struct as_builder *b, const int64_t *values)
{
    uint64_t width = (uint64_t)values[AS_LLAMA_WIDTH], heads = (uint64_t)values[AS_LLAMA_HEADS];

    b->dtype = values[AS_LLAMA_DTYPE] ? AS_DTYPE_F16 : AS_DTYPE_F32;
    b->model->decoder = (struct as_decoder){.architecture = "llama",
                                            .layers = (uint64_t)values[AS_LLAMA_LAYERS],
                                            .heads = heads,
                                            .kv_heads = (uint64_t)kv_heads_of(values),
                                            .head_dim = width / heads,
                                            .value_dim = width / heads,
                                            .width = width,
                                            .ffn_width = (uint64_t)values[AS_LLAMA_FFN],
                                            .context = (uint64_t)values[AS_LLAMA_CONTEXT],
                                            .vocabulary = (uint64_t)values[AS_LLAMA_VOCAB],
                                            .rope_dim = width / heads,
                                            .rope_base = rope_base,
                                            .norm_eps = norm_eps};
}

static uint32_t llama_layer(struct as_builder *b, uint32_t x, const int64_t *values,
                            const struct as_build_attention *how)
{
    static const struct as_build_projections names = {"q_proj", "k_proj", "v_proj", "o_proj",
                                                      false};
    uint32_t y = as_build_rms_norm(b, "input_layernorm", x, norm_eps), gate;

    y = as_build_attention_layer(b, "self_attn", y, y, how, &names);
    x = as_build_binary(b, "Add", "add_attn", x, y);
    y = as_build_rms_norm(b, "post_attention_layernorm", x, norm_eps);
    as_build_scope(b, "mlp");
    gate = as_build_linear(b, "gate_proj", y, values[AS_LLAMA_FFN], false);
    gate = as_build_activation(b, AS_ACT_SILU, "act", gate);
    y = as_build_linear(b, "up_proj", y, values[AS_LLAMA_FFN], false);
    y = as_build_binary(b, "Mul", "mul", gate, y);
    y = as_build_linear(b, "down_proj", y, values[AS_LLAMA_WIDTH], false);
    as_build_scope_end(b);
    return as_build_binary(b, "Add", "add_mlp", x, y);
}

void as_zoo_llama(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t seq = values[AS_LLAMA_SEQ], known = seq ? seq : AS_DIM_UNKNOWN;
    struct as_build_attention how = {.heads = values[AS_LLAMA_HEADS],
                                     .kv_heads = kv_heads_of(values)};
    uint32_t ids, length, table, x;
    struct as_build_rope rope;

    if (!check_llama(b, values))
        return;
    describe(b, values);
    ids = as_zoo_tokens(b, "input_ids", batch, seq);
    length = as_build_length(b, "length", ids, 1);
    rope = as_build_rope_table(b, "rope", as_build_positions(b, "position_ids", length, known),
                               values[AS_LLAMA_WIDTH] / values[AS_LLAMA_HEADS], rope_base);
    how.rope = &rope;
    how.mask = as_build_causal_mask(b, "causal_mask", length, known);
    x = as_build_embedding(b, "model.embed_tokens", ids, values[AS_LLAMA_VOCAB],
                           values[AS_LLAMA_WIDTH], &table);
    for (int64_t i = 0; i < values[AS_LLAMA_LAYERS]; i++) {
        as_build_scope(b, "model.layers.%lld", (long long)i);
        x = llama_layer(b, x, values, &how);
        as_build_scope_end(b);
    }
    x = as_build_rms_norm(b, "model.norm", x, norm_eps);
    x = values[AS_LLAMA_TIED] ? as_build_linear_tied(b, "lm_head", x, table)
                              : as_build_linear(b, "lm_head", x, values[AS_LLAMA_VOCAB], false);
    as_build_output(b, x, "logits");
}

/* A matrix of [rows, columns]; norms, which have one row, stay f32 as in files of others. */
static void weight(struct as_builder *b, const char *name, int64_t rows, int64_t columns)
{
    const struct as_seeded matrix = {AS_SEEDED_NORMAL, 0, 0.02f},
                           gain = {AS_SEEDED_UNIFORM, 1, 0.1f};
    struct as_dims dims =
        rows ? (struct as_dims){2, {rows, columns}} : (struct as_dims){1, {columns}};
    unsigned dtype = b->dtype;

    if (!rows)
        b->dtype = AS_DTYPE_F32;
    (void)as_build_param(b, name, &dims, rows ? &matrix : &gain);
    b->dtype = dtype;
}

void as_zoo_llama_weights(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t width = values[AS_LLAMA_WIDTH], ffn = values[AS_LLAMA_FFN],
            kv = width / values[AS_LLAMA_HEADS] * kv_heads_of(values);

    (void)batch;
    if (!check_llama(b, values))
        return;
    describe(b, values);
    b->model->has_graph = false;
    weight(b, "token_embd.weight", values[AS_LLAMA_VOCAB], width);
    for (int64_t i = 0; i < values[AS_LLAMA_LAYERS]; i++) {
        as_build_scope(b, "blk.%lld", (long long)i);
        weight(b, "attn_norm.weight", 0, width);
        weight(b, "attn_q.weight", width, width);
        weight(b, "attn_k.weight", kv, width);
        weight(b, "attn_v.weight", kv, width);
        weight(b, "attn_output.weight", width, width);
        weight(b, "ffn_norm.weight", 0, width);
        weight(b, "ffn_gate.weight", ffn, width);
        weight(b, "ffn_up.weight", ffn, width);
        weight(b, "ffn_down.weight", width, ffn);
        as_build_scope_end(b);
    }
    weight(b, "output_norm.weight", 0, width);
    if (!values[AS_LLAMA_TIED])
        weight(b, "output.weight", values[AS_LLAMA_VOCAB], width);
}
