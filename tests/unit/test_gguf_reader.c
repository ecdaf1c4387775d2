/* tests/unit/test_gguf_reader.c - GGUF made by hand: what is read, what is refused and in which
 * words, and the graph that is built over the tensors of a decoder. */
#include <stdio.h>

#include "unit.h"

#include "base/alloc.h"
#include "bytes_kit.h"
#include "format/gguf/gguf_types.h"
#include "model/infer/infer.h"

/* A file being made: the header is put last. */
struct made {
    struct as_buffer pairs, tensors, data;
    uint64_t n_pairs, n_tensors;
    uint64_t alignment;
    uint32_t version;
};

static void put_text(struct as_buffer *b, const char *text)
{
    put_u64(b, strlen(text));
    put_bytes(b, text, strlen(text));
}

static void key(struct made *m, const char *name, uint32_t kind)
{
    put_text(&m->pairs, name);
    put_u32(&m->pairs, kind);
    m->n_pairs++;
}

static void key_u32(struct made *m, const char *name, uint32_t value)
{
    key(m, name, AS_GGUF_U32);
    put_u32(&m->pairs, value);
}

static void key_f32(struct made *m, const char *name, float value)
{
    key(m, name, AS_GGUF_F32);
    put_f32(&m->pairs, value);
}

static void key_text(struct made *m, const char *name, const char *value)
{
    key(m, name, AS_GGUF_STRING);
    put_text(&m->pairs, value);
}

/* Describes a tensor without data. */
static void describe(struct made *m, const char *name, uint32_t rank, const uint64_t *dims,
                     uint32_t type, uint64_t offset)
{
    put_text(&m->tensors, name);
    put_u32(&m->tensors, rank);
    for (uint32_t i = 0; i < rank && i < 8; i++)
        put_u64(&m->tensors, dims[i]);
    put_u32(&m->tensors, type);
    put_u64(&m->tensors, offset);
    m->n_tensors++;
}

/* A tensor of f32 (or of `type` when its size is given) with zeros for data; inner first. */
static void tensor(struct made *m, const char *name, uint64_t inner, uint64_t outer, uint32_t type,
                   size_t bytes)
{
    uint64_t dims[] = {inner, outer};

    put_align(&m->data, m->alignment ? m->alignment : 32);
    describe(m, name, outer ? 2 : 1, dims, type, m->data.size);
    put_zeros(&m->data, bytes);
}

static void f32(struct made *m, const char *name, uint64_t inner, uint64_t outer)
{
    tensor(m, name, inner, outer, 0, (size_t)(inner * (outer ? outer : 1) * 4));
}

static struct as_buffer finish(struct made *m)
{
    struct as_buffer file = {0};

    put_bytes(&file, "GGUF", 4);
    put_u32(&file, m->version ? m->version : 3);
    put_u64(&file, m->n_tensors);
    put_u64(&file, m->n_pairs);
    put_bytes(&file, m->pairs.data, m->pairs.size);
    put_bytes(&file, m->tensors.data, m->tensors.size);
    put_align(&file, m->alignment ? m->alignment : 32);
    put_bytes(&file, m->data.data, m->data.size);
    as_buffer_fini(&m->pairs);
    as_buffer_fini(&m->tensors);
    as_buffer_fini(&m->data);
    return file;
}

static struct as_model *good(struct made *m, struct as_buffer *file)
{
    struct as_model *model;
    struct assay_error err;

    *file = finish(m);
    if (kit_read(&as_format_gguf, file, &model, &err) != ASSAY_OK)
        fail_msg("%s", err.msg);
    return model;
}

static void bad(struct made *m, const char *words)
{
    struct as_buffer file = finish(m);

    kit_refuse(&as_format_gguf, &file, words);
    as_buffer_fini(&file);
}

/* ---- metadata and tensors ---- */

static void tensors_are_read_in_place_outermost_first(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;
    const struct as_value *q;

    (void)state;
    key_text(&m, "general.architecture", "strange");
    key_text(&m, "general.name", "a name");
    tensor(&m, "a", 256, 3, 12, 3 * 144);
    f32(&m, "b", 5, 0);
    model = good(&m, &file);
    q = kit_value(model, "a");
    assert_non_null(q);
    assert_int_equal(q->type.rank, 2);
    assert_int_equal(q->type.dims[0], 3);
    assert_int_equal(q->type.dims[1], 256);
    assert_int_equal(q->type.dtype, AS_DTYPE_Q4_K);
    assert_int_equal(q->data->size_bytes, 432);
    assert_int_equal(q->n_scales, 3);
    assert_ptr_equal(q->data->bytes, file.data + q->data->offset);
    assert_int_equal(q->data->offset % 32, 0);
    assert_true(q->is_initializer);
    assert_int_equal(kit_value(model, "b")->data->size_bytes, 20);
    assert_false(model->has_graph);
    assert_int_equal(model->main->n_nodes, 0);
    assert_int_equal(model->format, AS_FORMAT_GGUF);
    assert_int_equal(model->ir_version, 3);
    assert_string_equal(model->graph_name, "a name");
    as_model_free(model);
    as_buffer_fini(&file);
}

static void every_kind_of_metadata_is_kept_as_text(void **state)
{
    static const char *const expected[][2] = {
        {"u8", "200"},
        {"i8", "-3"},
        {"u16", "65535"},
        {"i16", "-2"},
        {"i32", "-1"},
        {"f", "1e-05"},
        {"yes", "true"},
        {"u64", "18446744073709551615"},
        {"i64", "-5"},
        {"f64", "0.1"},
        {"words", "string[2]"},
        {"deep", "array[2]"},
        {"long", "text of 300 bytes"},
    };
    char text[301];
    struct made m = {.version = 2};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    memset(text, 'x', 300);
    text[300] = 0;
    key(&m, "u8", AS_GGUF_U8);
    put_int(&m.pairs, 200, 1);
    key(&m, "i8", AS_GGUF_I8);
    put_int(&m.pairs, (uint64_t)-3, 1);
    key(&m, "u16", AS_GGUF_U16);
    put_int(&m.pairs, 65535, 2);
    key(&m, "i16", AS_GGUF_I16);
    put_int(&m.pairs, (uint64_t)-2, 2);
    key(&m, "i32", AS_GGUF_I32);
    put_u32(&m.pairs, UINT32_MAX);
    key_f32(&m, "f", 1e-5f);
    key(&m, "yes", AS_GGUF_BOOL);
    put_int(&m.pairs, 1, 1);
    key(&m, "u64", AS_GGUF_U64);
    put_u64(&m.pairs, UINT64_MAX);
    key(&m, "i64", AS_GGUF_I64);
    put_u64(&m.pairs, (uint64_t)-5);
    key(&m, "f64", AS_GGUF_F64);
    put_u64(&m.pairs, 0x3fb999999999999aull);
    key(&m, "words", AS_GGUF_ARRAY);
    put_u32(&m.pairs, AS_GGUF_STRING);
    put_u64(&m.pairs, 2);
    put_text(&m.pairs, "one");
    put_text(&m.pairs, "");
    key(&m, "deep", AS_GGUF_ARRAY);
    put_u32(&m.pairs, AS_GGUF_ARRAY);
    put_u64(&m.pairs, 2);
    for (int i = 0; i < 2; i++) {
        put_u32(&m.pairs, AS_GGUF_U16);
        put_u64(&m.pairs, 1);
        put_int(&m.pairs, 7, 2);
    }
    key_text(&m, "long", text);
    model = good(&m, &file);
    assert_int_equal(model->n_meta, UNIT_COUNT(expected));
    for (size_t i = 0; i < UNIT_COUNT(expected); i++)
        assert_string_equal(kit_meta(model, expected[i][0]), expected[i][1]);
    assert_true(kit_found(model, "does not name its architecture"));
    as_model_free(model);
    as_buffer_fini(&file);
}

static void every_tensor_type_has_the_size_of_its_blocks(void **state)
{
    /* by code: elements and bytes of a block; 0: refused */
    static const struct {
        uint32_t elems, bytes;
    } blocks[] = {
        {1, 4},    {1, 2},    {32, 18},  {32, 20},   {0, 0},     {0, 0},     {32, 22},   {32, 24},
        {32, 34},  {32, 36},  {256, 84}, {256, 110}, {256, 144}, {256, 176}, {256, 210}, {256, 292},
        {256, 66}, {256, 74}, {256, 98}, {256, 50},  {32, 18},   {256, 110}, {256, 82},  {256, 136},
        {1, 1},    {1, 2},    {1, 4},    {1, 8},     {1, 8},     {256, 56},  {1, 2},     {0, 0},
        {0, 0},    {0, 0},    {256, 54}, {256, 66},  {0, 0},     {0, 0},     {0, 0},     {32, 17},
        {64, 36},  {128, 18}, {64, 18},  {0, 0},
    };

    (void)state;
    for (uint32_t code = 0; code < UNIT_COUNT(blocks); code++) {
        struct made m = {0};
        struct as_buffer file;
        struct as_model *model;

        tensor(&m, "t", blocks[code].elems ? blocks[code].elems : 256, 5, code,
               blocks[code].elems ? blocks[code].bytes * 5 : 4000);
        if (!blocks[code].elems) {
            bad(&m, code == 43 ? "not known" : "ggml has removed");
            continue;
        }
        model = good(&m, &file);
        assert_int_equal(model->values[0].data->size_bytes, blocks[code].bytes * 5);
        as_model_free(model);
        as_buffer_fini(&file);
    }
}

static void codes_go_both_ways(void **state)
{
    unsigned dtype;
    uint32_t code;
    const char *removed;

    (void)state;
    for (uint32_t i = 0; i < 60; i++)
        if (as_gguf_dtype(i, &dtype, &removed)) {
            assert_true(as_gguf_code(dtype, &code));
            assert_int_equal(code, i);
        }
    assert_false(as_gguf_code(AS_DTYPE_STRING, &code));
    assert_false(as_gguf_code(AS_DTYPE_UNKNOWN, &code));
}

static void an_alignment_is_kept_to(void **state)
{
    struct made m = {.alignment = 64};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    key_u32(&m, "general.alignment", 64);
    f32(&m, "a", 3, 0);
    f32(&m, "b", 3, 0);
    model = good(&m, &file);
    assert_int_equal(kit_value(model, "b")->data->offset % 64, 0);
    as_model_free(model);
    as_buffer_fini(&file);
}

/* ---- refusals ---- */

static void broken_headers_are_refused(void **state)
{
    struct as_buffer file = {0};
    struct made big = {.version = 0x03000000}, old = {.version = 1}, later = {.version = 4};

    (void)state;
    bad(&big, "big-endian");
    bad(&old, "version 1 of GGUF");
    bad(&later, "version 4 of GGUF");
    put_bytes(&file, "GGUF", 4);
    kit_refuse(&as_format_gguf, &file, "ends inside its version");
    put_u32(&file, 3);
    kit_refuse(&as_format_gguf, &file, "ends inside its counts");
    put_u64(&file, 1000000);
    put_u64(&file, 0);
    kit_refuse(&as_format_gguf, &file, "1000000 tensors, more than fit into its bytes");
    file.size = 8;
    put_u64(&file, 0);
    put_u64(&file, UINT64_MAX);
    kit_refuse(&as_format_gguf, &file, "metadata keys, more than fit into its bytes");
    as_buffer_fini(&file);
}

static void broken_metadata_is_refused(void **state)
{
    struct made twice = {0}, kind = {0}, empty = {0}, flag = {0}, zero = {0}, third = {0},
                text = {0};

    (void)state;
    key_u32(&twice, "a", 1);
    key_u32(&twice, "b", 1);
    key_u32(&twice, "a", 1);
    bad(&twice, "key 'a' is there twice");
    key(&kind, "k", 13);
    put_u32(&kind.pairs, 0);
    bad(&kind, "'k' is of kind 13");
    key_u32(&empty, "", 1);
    bad(&empty, "key 0 is empty");
    key(&flag, "f", AS_GGUF_BOOL);
    put_int(&flag.pairs, 2, 1);
    bad(&flag, "neither true nor false");
    key_u32(&zero, "general.alignment", 0);
    bad(&zero, "general.alignment is 0");
    key_u32(&third, "general.alignment", 48);
    bad(&third, "general.alignment is 48");
    key_text(&text, "general.alignment", "32");
    bad(&text, "general.alignment is a string");
}

static void broken_arrays_are_refused(void **state)
{
    struct made kind = {0}, count = {0}, deep = {0}, word = {0};

    (void)state;
    key(&kind, "a", AS_GGUF_ARRAY);
    put_u32(&kind.pairs, 99);
    put_u64(&kind.pairs, 0);
    bad(&kind, "array of key 'a' is of kind 99");
    key(&count, "a", AS_GGUF_ARRAY);
    put_u32(&count.pairs, AS_GGUF_F64);
    put_u64(&count.pairs, UINT64_MAX / 8 + 2); /* times 8 wraps to 8 */
    put_u64(&count.pairs, 0);
    bad(&count, "array of key 'a' has 2305843009213693953 elements");
    key(&deep, "a", AS_GGUF_ARRAY);
    for (int i = 0; i < 20; i++) {
        put_u32(&deep.pairs, AS_GGUF_ARRAY);
        put_u64(&deep.pairs, 1);
    }
    bad(&deep, "nest more than 4 deep");
    key(&word, "a", AS_GGUF_ARRAY);
    put_u32(&word.pairs, AS_GGUF_STRING);
    put_u64(&word.pairs, 1);
    put_u64(&word.pairs, UINT64_MAX);
    bad(&word, "text 0 of key 'a' has 18446744073709551615 bytes");
}

static void broken_tensors_are_refused(void **state)
{
    static const uint64_t wrap[] = {1ull << 32, 1ull << 32, 1, 1, 1}, huge[] = {UINT64_MAX},
                          row[] = {33, 2}, eight[] = {8};
    struct made rank = {0}, product = {0}, negative = {0}, block = {0}, odd = {0}, past = {0},
                wrapped = {0}, overlap = {0}, twice = {0}, unnamed = {0};

    (void)state;
    describe(&rank, "t", 5, wrap, 0, 0);
    bad(&rank, "tensor 't' has 5 dimensions");
    describe(&product, "t", 4, wrap, 0, 0);
    bad(&product, "tensor 't' multiply past 2^63");
    describe(&negative, "t", 1, huge, 0, 0);
    bad(&negative, "tensor 't' is 18446744073709551615");
    describe(&block, "t", 2, row, 2, 0);
    bad(&block, "tensor 't' have 33 elements, not a multiple of the 32");
    describe(&odd, "t", 1, eight, 0, 4);
    bad(&odd, "'t' is at offset 4, not a multiple");
    describe(&past, "t", 1, eight, 0, 32);
    put_zeros(&past.data, 63);
    bad(&past, "tensor 't' of 32 bytes ends past the end");
    describe(&wrapped, "t", 1, eight, 0, UINT64_MAX - 31);
    put_zeros(&wrapped.data, 64);
    bad(&wrapped, "ends past the end");
    describe(&overlap, "t", 2, (const uint64_t[]){8, 2}, 0, 0);
    describe(&overlap, "u", 1, eight, 0, 32);
    put_zeros(&overlap.data, 128);
    bad(&overlap, "tensor 'u' overlaps tensor 't'");
    f32(&twice, "t", 1, 0);
    f32(&twice, "t", 1, 0);
    bad(&twice, "tensor 't' is there twice");
    f32(&unnamed, "", 1, 0);
    bad(&unnamed, "name of a tensor is empty");
}

/* ---- decoders ---- */

enum { WIDTH = 8, HEADS = 4, KV = 2, HEAD = 2, FFN = 12, WORDS = 10, LAYERS = 2 };

static void sizes(struct made *m, const char *arch, bool experts)
{
    const struct {
        const char *suffix;
        uint32_t value;
    } numbers[] = {{"block_count", LAYERS},
                   {"attention.head_count", HEADS},
                   {"attention.head_count_kv", KV},
                   {"embedding_length", WIDTH},
                   {"feed_forward_length", FFN},
                   {"context_length", 64},
                   {"rope.dimension_count", HEAD},
                   {"expert_count", experts ? 4 : 0},
                   {"expert_used_count", experts ? 2 : 0}};
    char name[80];

    key_text(m, "general.architecture", arch);
    for (size_t i = 0; i < UNIT_COUNT(numbers); i++) {
        (void)snprintf(name, sizeof name, "%s.%s", arch, numbers[i].suffix);
        if (numbers[i].value)
            key_u32(m, name, numbers[i].value);
    }
    (void)snprintf(name, sizeof name, "%s.attention.layer_norm_rms_epsilon", arch);
    key_f32(m, name, 1e-6f);
    (void)snprintf(name, sizeof name, "%s.rope.freq_base", arch);
    key_f32(m, name, 500000.0f);
}

static void in_block(struct made *m, int layer, const char *name, uint64_t inner, uint64_t outer)
{
    char full[80];

    (void)snprintf(full, sizeof full, "blk.%d.%s", layer, name);
    f32(m, full, inner, outer);
}

static void attention_tensors(struct made *m, int i)
{
    in_block(m, i, "attn_norm.weight", WIDTH, 0);
    in_block(m, i, "attn_q.weight", WIDTH, (uint64_t)HEADS * HEAD);
    in_block(m, i, "attn_k.weight", WIDTH, (uint64_t)KV * HEAD);
    in_block(m, i, "attn_v.weight", WIDTH, (uint64_t)KV * HEAD);
    in_block(m, i, "attn_output.weight", (uint64_t)HEADS * HEAD, WIDTH);
    in_block(m, i, "ffn_norm.weight", WIDTH, 0);
}

static void feed_forward_tensors(struct made *m, int i)
{
    in_block(m, i, "ffn_gate.weight", WIDTH, FFN);
    in_block(m, i, "ffn_up.weight", WIDTH, FFN);
    in_block(m, i, "ffn_down.weight", FFN, WIDTH);
}

static void decoder(struct made *m, const char *arch)
{
    sizes(m, arch, false);
    f32(m, "token_embd.weight", WIDTH, WORDS);
    for (int i = 0; i < LAYERS; i++) {
        attention_tensors(m, i);
        feed_forward_tensors(m, i);
    }
    f32(m, "output_norm.weight", WIDTH, 0);
}

/* Shapes must be known of every node, down to a number for each word. */
static void expect_logits(struct as_model *model)
{
    static const struct as_infer_dim dims[] = {{"batch", 2}, {"seq", 3}};
    struct as_infer_options options = {.dims = dims, .n_dims = 2};
    struct assay_error err = {0};
    const struct as_type *type;

    if (as_infer_shapes(model, &options, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    for (uint32_t i = 0; i < model->main->n_nodes; i++) {
        const struct as_node *node = &model->main->nodes[i];

        if (!as_type_is_static(&as_node_output(model->main, node, 0)->type))
            fail_msg("the shape of %s is not known", node->name);
    }
    type = &model->values[model->main->outputs[0]].type;
    assert_int_equal(type->rank, 3);
    assert_int_equal(type->dims[0], 2);
    assert_int_equal(type->dims[1], 3);
    assert_int_equal(type->dims[2], WORDS);
    assert_int_equal(type->dtype, AS_DTYPE_F32);
}

static void a_llama_has_its_sizes_and_its_graph(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;
    const struct as_decoder *d;
    const struct as_node *node;

    (void)state;
    decoder(&m, "llama");
    model = good(&m, &file);
    d = &model->decoder;
    assert_string_equal(d->architecture, "llama");
    assert_int_equal(d->layers, LAYERS);
    assert_int_equal(d->heads, HEADS);
    assert_int_equal(d->kv_heads, KV);
    assert_int_equal(d->head_dim, HEAD);
    assert_int_equal(d->value_dim, HEAD);
    assert_int_equal(d->width, WIDTH);
    assert_int_equal(d->ffn_width, FFN);
    assert_int_equal(d->context, 64);
    assert_int_equal(d->vocabulary, WORDS);
    assert_int_equal(d->rope_dim, HEAD);
    assert_true(d->rope_base == 500000.0 && d->norm_eps == 1e-6);
    assert_true(model->has_graph);
    assert_int_equal(model->opset, 17);
    /* the embedding, 17 nodes in each block, and the tied head */
    assert_int_equal(model->main->n_nodes, 1 + LAYERS * 17 + 2);
    node = kit_node(model, "blk.1.attn_q");
    assert_non_null(node);
    assert_int_equal(node->op, AS_OP_MS_FusedMatMul);
    assert_int_equal(as_node_int(node, "transB", 0), 1);
    assert_ptr_equal(as_node_input(model->main, node, 1), kit_value(model, "blk.1.attn_q.weight"));
    node = kit_node(model, "blk.0.attn");
    assert_int_equal(node->op, AS_OP_MS_GroupQueryAttention);
    assert_int_equal(as_node_int(node, "num_heads", 0), HEADS);
    assert_int_equal(as_node_int(node, "kv_num_heads", 0), KV);
    node = kit_node(model, "output");
    assert_ptr_equal(as_node_input(model->main, node, 1), kit_value(model, "token_embd.weight"));
    assert_int_equal(model->main->n_inputs, 1);
    assert_string_equal(model->values[model->main->inputs[0]].symbols[1], "seq");
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void biases_and_head_norms_are_used(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    decoder(&m, "qwen3");
    for (int i = 0; i < LAYERS; i++) {
        in_block(&m, i, "attn_q.bias", (uint64_t)HEADS * HEAD, 0);
        in_block(&m, i, "attn_q_norm.weight", HEAD, 0);
        in_block(&m, i, "attn_k_norm.weight", HEAD, 0);
    }
    f32(&m, "output.weight", WIDTH, WORDS);
    model = good(&m, &file);
    assert_true(model->has_graph);
    assert_int_equal(kit_node(model, "blk.0.attn_q_bias")->op, AS_OP_Add);
    assert_int_equal(kit_node(model, "blk.0.attn_k_norm")->op, AS_OP_SimplifiedLayerNormalization);
    assert_int_equal(kit_node(model, "blk.1.attn_q_split")->op, AS_OP_Reshape);
    assert_ptr_equal(as_node_input(model->main, kit_node(model, "output"), 1),
                     kit_value(model, "output.weight"));
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void fused_projections_are_split(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    sizes(&m, "phi3", false);
    f32(&m, "token_embd.weight", WIDTH, WORDS);
    for (int i = 0; i < LAYERS; i++) {
        in_block(&m, i, "attn_norm.weight", WIDTH, 0);
        in_block(&m, i, "attn_qkv.weight", WIDTH, (uint64_t)(HEADS + 2 * KV) * HEAD);
        in_block(&m, i, "attn_output.weight", (uint64_t)HEADS * HEAD, WIDTH);
        in_block(&m, i, "ffn_norm.weight", WIDTH, 0);
        in_block(&m, i, "ffn_up.weight", WIDTH, 2ull * FFN);
        in_block(&m, i, "ffn_down.weight", FFN, WIDTH);
    }
    f32(&m, "output_norm.weight", WIDTH, 0);
    model = good(&m, &file);
    assert_true(model->has_graph);
    assert_int_equal(kit_node(model, "blk.0.attn_qkv_split")->n_outputs, 3);
    assert_int_equal(kit_node(model, "blk.0.ffn_up_split")->n_outputs, 2);
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void experts_become_one_node(void **state)
{
    static const uint64_t up[] = {WIDTH, FFN, 4}, down[] = {FFN, WIDTH, 4};
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    sizes(&m, "llama", true);
    f32(&m, "token_embd.weight", WIDTH, WORDS);
    for (int i = 0; i < LAYERS; i++) {
        static const char *const names[] = {"ffn_gate_exps.weight", "ffn_up_exps.weight",
                                            "ffn_down_exps.weight"};
        char full[80];

        attention_tensors(&m, i);
        in_block(&m, i, "ffn_gate_inp.weight", WIDTH, 4);
        for (int k = 0; k < 3; k++) {
            (void)snprintf(full, sizeof full, "blk.%d.%s", i, names[k]);
            put_align(&m.data, 32);
            describe(&m, full, 3, k == 2 ? down : up, 0, m.data.size);
            put_zeros(&m.data, 4 * WIDTH * FFN * 4);
        }
    }
    f32(&m, "output_norm.weight", WIDTH, 0);
    model = good(&m, &file);
    assert_true(model->has_graph);
    assert_int_equal(kit_node(model, "blk.1.ffn_experts")->op, AS_OP_MS_MoE);
    assert_int_equal(as_node_int(kit_node(model, "blk.1.ffn_experts"), "k", 0), 2);
    assert_int_equal(model->decoder.experts, 4);
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void a_quantized_embedding_is_cast(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    sizes(&m, "llama", false);
    tensor(&m, "token_embd.weight", WIDTH, WORDS, 1, WIDTH * WORDS * 2);
    for (int i = 0; i < LAYERS; i++) {
        attention_tensors(&m, i);
        feed_forward_tensors(&m, i);
    }
    f32(&m, "output_norm.weight", WIDTH, 0);
    model = good(&m, &file);
    assert_int_equal(kit_node(model, "token_embd_f32")->op, AS_OP_Cast);
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void some_blocks_look_past_the_window(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    key_u32(&m, "gemma2.attention.sliding_window", 16);
    key_f32(&m, "gemma2.final_logit_softcapping", 30);
    decoder(&m, "gemma2");
    for (int i = 0; i < LAYERS; i++)
        in_block(&m, i, "post_ffw_norm.weight", WIDTH, 0);
    model = good(&m, &file);
    assert_true(model->has_graph);
    assert_int_equal(as_node_int(kit_node(model, "blk.0.attn"), "local_window_size", 0), 16);
    assert_int_equal(as_node_int(kit_node(model, "blk.1.attn"), "local_window_size", 0), 0);
    assert_int_equal(kit_node(model, "blk.0.ffn_gelu")->op, AS_OP_MS_FastGelu);
    assert_non_null(kit_node(model, "blk.1.post_ffw_norm"));
    assert_non_null(kit_node(model, "output_softcap_tanh"));
    assert_non_null(kit_node(model, "token_embd_scale"));
    assert_true(kit_found(model, "one of 2 blocks looks past the window of 16"));
    expect_logits(model);
    as_model_free(model);
    as_buffer_fini(&file);
}

static void what_does_not_fit_gives_no_graph_and_says_why(void **state)
{
    struct made missing = {0}, misfit = {0}, unknown = {0}, endless = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    sizes(&missing, "llama", false);
    f32(&missing, "token_embd.weight", WIDTH, WORDS);
    model = good(&missing, &file);
    assert_false(model->has_graph);
    assert_int_equal(model->n_values, 1);
    assert_true(kit_found(model, "tensor 'blk.0.attn_norm.weight' is missing"));
    as_model_free(model);
    as_buffer_fini(&file);

    sizes(&misfit, "llama", false);
    f32(&misfit, "token_embd.weight", WIDTH + 1, WORDS);
    model = good(&misfit, &file);
    assert_true(kit_found(model, "'token_embd.weight' does not fit the width"));
    as_model_free(model);
    as_buffer_fini(&file);

    decoder(&unknown, "newthing");
    model = good(&unknown, &file);
    assert_false(model->has_graph);
    assert_int_equal(model->decoder.layers, LAYERS);
    assert_true(kit_found(model, "graph of architecture 'newthing' is not known"));
    as_model_free(model);
    as_buffer_fini(&file);

    key_text(&endless, "general.architecture", "llama");
    key_u32(&endless, "llama.block_count", UINT32_MAX);
    model = good(&endless, &file);
    assert_true(kit_found(model, "4294967295 blocks"));
    as_model_free(model);
    as_buffer_fini(&file);
}

static void heads_that_differ_between_layers_are_told(void **state)
{
    struct made m = {0}, same = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    key_text(&m, "general.architecture", "x");
    key_u32(&m, "x.block_count", 2);
    key(&m, "x.attention.head_count_kv", AS_GGUF_ARRAY);
    put_u32(&m.pairs, AS_GGUF_I32);
    put_u64(&m.pairs, 2);
    put_u32(&m.pairs, 4);
    put_u32(&m.pairs, 8);
    model = good(&m, &file);
    assert_int_equal(model->decoder.kv_heads, 8);
    assert_true(kit_found(model, "'x.attention.head_count_kv' differs between layers"));
    as_model_free(model);
    as_buffer_fini(&file);

    key_text(&same, "general.architecture", "x");
    key(&same, "x.attention.head_count_kv", AS_GGUF_ARRAY);
    put_u32(&same.pairs, AS_GGUF_I32);
    put_u64(&same.pairs, 2);
    put_u32(&same.pairs, 4);
    put_u32(&same.pairs, 4);
    model = good(&same, &file);
    assert_int_equal(model->decoder.kv_heads, 4);
    assert_false(kit_found(model, "differs"));
    assert_null(model->decoder.architecture); /* no block count: no decoder */
    as_model_free(model);
    as_buffer_fini(&file);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;
    size_t size;

    (void)state;
    decoder(&m, "llama");
    model = good(&m, &file);
    as_model_free(model);
    size = file.size;
    for (size_t cut = 4; cut < size; cut++) {
        struct assay_error err;

        file.size = cut;
        assert_true(kit_read(&as_format_gguf, &file, &model, &err) < 0);
        assert_true(err.msg[0]);
        as_model_free(model);
    }
    as_buffer_fini(&file);
}

static void every_allocation_may_fail(void **state)
{
    struct made m = {0};
    struct as_buffer file;
    struct as_model *model;

    (void)state;
    decoder(&m, "qwen3");
    model = good(&m, &file);
    as_model_free(model);
    for (uint64_t nth = 2; nth < 500; nth++) {
        struct as_mapped_file mapped = {.bytes = file.data, .size = file.size, .path = ""};
        struct assay_error err = {0};
        int rc;

        assert_int_equal(as_model_new(&model, 0, &err), ASSAY_OK);
        as_alloc_fail_at(nth - 1, 0);
        rc = as_format_gguf.read(model, &mapped, &err);
        if (as_alloc_count() < nth - 1) /* none was left to fail */
            nth = 500;
        as_alloc_fail_at(0, 0);
        if (rc < 0)
            assert_int_equal(err.code, ASSAY_ERR_NOMEM);
        as_model_free(model);
    }
    as_buffer_fini(&file);
}

static void it_is_known_by_content(void **state)
{
    (void)state;
    assert_true(as_format_gguf.is((const uint8_t *)"GGUF", 4));
    assert_false(as_format_gguf.is((const uint8_t *)"GGU", 3));
    assert_false(as_format_gguf.is((const uint8_t *)"ggml", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_read_in_place_outermost_first),
        cmocka_unit_test(every_kind_of_metadata_is_kept_as_text),
        cmocka_unit_test(every_tensor_type_has_the_size_of_its_blocks),
        cmocka_unit_test(codes_go_both_ways),
        cmocka_unit_test(an_alignment_is_kept_to),
        cmocka_unit_test(broken_headers_are_refused),
        cmocka_unit_test(broken_metadata_is_refused),
        cmocka_unit_test(broken_arrays_are_refused),
        cmocka_unit_test(broken_tensors_are_refused),
        cmocka_unit_test(a_llama_has_its_sizes_and_its_graph),
        cmocka_unit_test(biases_and_head_norms_are_used),
        cmocka_unit_test(fused_projections_are_split),
        cmocka_unit_test(experts_become_one_node),
        cmocka_unit_test(a_quantized_embedding_is_cast),
        cmocka_unit_test(some_blocks_look_past_the_window),
        cmocka_unit_test(what_does_not_fit_gives_no_graph_and_says_why),
        cmocka_unit_test(heads_that_differ_between_layers_are_told),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(it_is_known_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
