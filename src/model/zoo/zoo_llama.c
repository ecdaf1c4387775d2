/* model/zoo/zoo_llama.c - a decoder of settable size in the manner of Llama: grouped heads, RMS
 * norm, gated layers, rotary positions. Once as a graph, once as the bare weights of a GGUF file.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/build/build_attention.h"
#include "model/zoo/zoo_models.h"

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
    else if (as_zoo_text(values[AS_LLAMA_PAST], values[AS_LLAMA_SEQ]) > values[AS_LLAMA_CONTEXT])
        as_build_fail(b, ASSAY_ERR_USAGE, "a text of %lld tokens is longer than the context, %lld",
                      (long long)as_zoo_text(values[AS_LLAMA_PAST], values[AS_LLAMA_SEQ]),
                      (long long)values[AS_LLAMA_CONTEXT]);
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

static uint32_t llama_blocks(struct as_builder *b, uint32_t x, const int64_t *values,
                             struct as_build_attention *how)
{
    for (int64_t i = 0; i < values[AS_LLAMA_LAYERS]; i++) {
        how->layer = i;
        as_build_scope(b, "model.layers.%lld", (long long)i);
        x = llama_layer(b, x, values, how);
        as_build_scope_end(b);
    }
    return as_build_rms_norm(b, "model.norm", x, norm_eps);
}

void as_zoo_llama(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t seq = values[AS_LLAMA_SEQ], head_dim = values[AS_LLAMA_WIDTH] / values[AS_LLAMA_HEADS];
    struct as_zoo_cache_sizes sizes = {values[AS_LLAMA_PAST], values[AS_LLAMA_LAYERS], batch,
                                       kv_heads_of(values), head_dim};
    struct as_build_attention how = {.heads = values[AS_LLAMA_HEADS],
                                     .kv_heads = kv_heads_of(values)};
    struct as_build_cache cache;
    struct as_zoo_places places;
    uint32_t ids, table, x;
    struct as_build_rope rope;

    if (!check_llama(b, values))
        return;
    describe(b, values);
    ids = as_zoo_tokens(b, "input_ids", batch, seq);
    how.cache = as_zoo_cache(b, &cache, &sizes);
    places = as_zoo_places(b, ids, seq, how.cache);
    rope = as_build_rope_table(b, "rope", places.positions, head_dim, rope_base);
    how.rope = &rope;
    how.mask = as_zoo_causal(b, &places, how.cache);
    x = as_build_embedding(b, "model.embed_tokens", ids, values[AS_LLAMA_VOCAB],
                           values[AS_LLAMA_WIDTH], &table);
    x = llama_blocks(b, x, values, &how);
    x = values[AS_LLAMA_TIED] ? as_build_linear_tied(b, "lm_head", x, table)
                              : as_build_linear(b, "lm_head", x, values[AS_LLAMA_VOCAB], false);
    as_build_output(b, x, "logits");
    if (how.cache)
        as_build_cache_end(b, how.cache);
}

/* A weight of the graph as a GGUF file has it: rows and columns swapped, and of rows that rotary
 * positions turn, those beside each other that are half a head apart in the graph. */
struct turned {
    const struct as_data *source;
    uint64_t rows, columns;
    uint64_t head; /* rows of a head that is turned; 0: none is */
};

static int make_turned(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                       struct assay_error *err)
{
    const struct turned *t = data->from;
    uint32_t size = as_dtype_at(data->dtype)->block_bytes;
    int rc = ASSAY_OK;

    for (uint64_t i = 0; i < n && rc == ASSAY_OK; i++) {
        uint64_t row = (first + i) / t->columns, in_head = t->head ? row % t->head : 0;

        row = row - in_head + in_head % 2 * (t->head / 2) + in_head / 2;
        rc = as_data_read(t->source, (first + i) % t->columns * t->rows + row, 1,
                          (uint8_t *)out + i * size, err);
    }
    return rc;
}

/* What a tensor of the file is in the graph. */
struct weight {
    const char *name, *of;
    int64_t rows, columns; /* rows 0: a norm, which stays f32 as in files of others */
    int64_t head;
};

static void turn(struct as_builder *b, const struct weight *w, uint32_t id, const char *scope)
{
    struct as_seeded how = as_build_weight_numbers(w->columns);
    struct as_value *value = &b->model->values[id];
    struct turned *t = as_arena_zero(&b->model->arena, 1, sizeof *t);
    char full[AS_MAX_NAME_BYTES];

    (void)snprintf(full, sizeof full, "%s%s", scope, w->of);
    if (!t || !(t->source = as_seeded_data(&b->model->arena, b->dtype, value->data->n,
                                           as_seeded_key(b->seed, full), &how))) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return;
    }
    t->rows = (uint64_t)w->rows;
    t->columns = (uint64_t)w->columns;
    t->head = (uint64_t)w->head;
    value->data->make = make_turned;
    value->data->from = t;
}

/* The same numbers as the graph has, from the same seed. */
static void put_weight(struct as_builder *b, const struct weight *w, const char *scope)
{
    const struct as_seeded gain = as_build_gain_numbers(), table = as_build_table_numbers();
    struct as_dims dims =
        w->rows ? (struct as_dims){2, {w->rows, w->columns}} : (struct as_dims){1, {w->columns}};
    bool is_table = strcmp(w->of, "model.embed_tokens.weight") == 0;
    unsigned dtype = b->dtype;
    char full[AS_MAX_NAME_BYTES];
    uint32_t id;

    if (!w->rows)
        b->dtype = AS_DTYPE_F32;
    id = as_build_param(b, w->name, &dims, w->rows ? &table : &gain);
    if (as_build_ok(b) && w->rows && !is_table) {
        turn(b, w, id, scope);
    } else if (as_build_ok(b)) {
        (void)snprintf(full, sizeof full, "%s%s", scope, w->of);
        b->model->values[id].data =
            as_seeded_data(&b->model->arena, b->dtype, b->model->values[id].data->n,
                           as_seeded_key(b->seed, full), w->rows ? &table : &gain);
        if (!b->model->values[id].data)
            as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
    }
    b->dtype = dtype;
}

static void put_block(struct as_builder *b, const int64_t *values, int64_t layer)
{
    int64_t width = values[AS_LLAMA_WIDTH], ffn = values[AS_LLAMA_FFN],
            head = width / values[AS_LLAMA_HEADS], kv = head * kv_heads_of(values);
    const struct weight weights[] = {
        {"attn_norm.weight", "input_layernorm.weight", 0, width, 0},
        {"attn_q.weight", "self_attn.q_proj.weight", width, width, head},
        {"attn_k.weight", "self_attn.k_proj.weight", kv, width, head},
        {"attn_v.weight", "self_attn.v_proj.weight", kv, width, 0},
        {"attn_output.weight", "self_attn.o_proj.weight", width, width, 0},
        {"ffn_norm.weight", "post_attention_layernorm.weight", 0, width, 0},
        {"ffn_gate.weight", "mlp.gate_proj.weight", ffn, width, 0},
        {"ffn_up.weight", "mlp.up_proj.weight", ffn, width, 0},
        {"ffn_down.weight", "mlp.down_proj.weight", width, ffn, 0},
    };
    char scope[64];

    (void)snprintf(scope, sizeof scope, "model.layers.%lld.", (long long)layer);
    as_build_scope(b, "blk.%lld", (long long)layer);
    for (size_t i = 0; i < AS_COUNT_OF(weights); i++)
        put_weight(b, &weights[i], scope);
    as_build_scope_end(b);
}

void as_zoo_llama_weights(struct as_builder *b, const int64_t *values, int64_t batch)
{
    int64_t width = values[AS_LLAMA_WIDTH], vocabulary = values[AS_LLAMA_VOCAB];
    const struct weight table = {"token_embd.weight", "model.embed_tokens.weight", vocabulary,
                                 width, 0},
                        norm = {"output_norm.weight", "model.norm.weight", 0, width, 0},
                        head = {"output.weight", "lm_head.weight", vocabulary, width, 0};

    (void)batch;
    if (!check_llama(b, values))
        return;
    describe(b, values);
    b->model->has_graph = false;
    put_weight(b, &table, "");
    for (int64_t i = 0; i < values[AS_LLAMA_LAYERS]; i++)
        put_block(b, values, i);
    put_weight(b, &norm, "");
    if (!values[AS_LLAMA_TIED])
        put_weight(b, &head, "");
}
