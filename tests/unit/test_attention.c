/* Attention found in plain graphs and in single operators: heads, sizes, masks, what is left of it
 * under a causal mask. */
#include "cost_kit.h"

#include "model/zoo/zoo.h"

static const struct as_attention *only(const struct cost_kit *k)
{
    assert_int_equal(k->costs->n_attentions, 1);
    return &k->costs->attentions[0];
}

static void plain_attention_is_found(void **state)
{
    const struct as_attention *a;
    struct cost_kit k;

    (void)state;
    cost_open(
        &k, 13,
        "in q 2x3x5x4; in k 2x3x4x7; in v 2x3x7x6; in m 2x1x1x7; const s f32=0.5; MatMul q,k -> "
        "d; Mul d,s -> e; Add e,m -> f; Softmax f -> p; MatMul p,v -> y");
    a = only(&k);
    assert_int_equal(a->batch, 2);
    assert_int_equal(a->heads, 3);
    assert_int_equal(a->kv_heads, 3);
    assert_int_equal(a->queries, 5);
    assert_int_equal(a->keys, 7);
    assert_int_equal(a->head_dim, 4);
    assert_int_equal(a->value_dim, 6);
    assert_false(a->causal);
    assert_int_equal(a->macs, 2 * 3 * 5 * 7 * (4 + 6));
    assert_int_equal(a->causal_macs, a->macs);
    assert_string_equal(as_attention_kind(a), "MHA");
    for (size_t i = 0; i < k.costs->n_rows; i++)
        assert_int_equal(k.costs->rows[i].attention, 0);
    assert_null(k.costs->decoder.architecture);
    cost_close(&k);
}

static void causal_masks_are_seen(void **state)
{
    static const char *const masks[] = {
        "in o 5x5; Trilu o -> m upper=1; Add d,m -> f",
        "const a i64{0,1,2,3,4}; const c i64{1}; Unsqueeze a,c -> b; Less b,a -> m; const n "
        "f32=-1e9; "
        "Where m,n,d -> f",
    };
    struct cost_kit k;
    char text[600];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(masks); i++) {
        snprintf(text, sizeof text,
                 "in q 1x2x5x4; in k 1x2x4x5; in v 1x2x5x4; MatMul q,k -> d; %s; Softmax f -> p; "
                 "MatMul p,v -> y",
                 masks[i]);
        cost_open(&k, 13, text);
        assert_true(only(&k)->causal);
        assert_int_equal(only(&k)->macs, 2 * 25 * 8);
        assert_int_equal(only(&k)->causal_macs, 2 * 15 * 8);
        assert_string_equal(k.costs->decoder.architecture, "decoder");
        assert_int_equal(k.costs->decoder.heads, 2);
        assert_int_equal(k.costs->decoder.layers, 1);
        cost_close(&k);
    }
}

/* A triangle kept in the file, sliced as GPT-2 does it; written in the three usual ways. */
static void constant_triangles_are_causal(void **state)
{
    static const struct {
        unsigned dtype;
        double below, above;
        bool causal;
    } cases[] = {
        {AS_DTYPE_F32, 0, -1e9, true}, {AS_DTYPE_BOOL, 1, 0, true}, {AS_DTYPE_BOOL, 0, 1, true},
        {AS_DTYPE_F32, 1, 0, true},    {AS_DTYPE_F32, 0, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cost_kit k;
        struct as_value *mask;
        char text[400];

        snprintf(text, sizeof text,
                 "in q 1x2x4x4; in k 1x2x4x4; in v 1x2x4x4; const m %s:4x4; MatMul q,k -> d; "
                 "const n f32=-1e9; Cast m -> c to=9; Where c,d,n -> f; Softmax f -> p; "
                 "MatMul p,v -> y",
                 as_dtype_name(cases[i].dtype));
        cost_open(&k, 13, text);
        assert_false(only(&k)->causal);
        as_costs_free(k.costs);
        as_params_free(k.params);
        mask = kit_value(&k.graph, "m");
        mask->data = as_data_new(&k.graph.model->arena, cases[i].dtype, 16);
        for (uint64_t e = 0; e < 16; e++)
            as_data_put_f64(mask->data, e, e % 4 <= e / 4 ? cases[i].below : cases[i].above);
        cost_count(&k);
        assert_int_equal(only(&k)->causal, cases[i].causal);
        cost_close(&k);
    }
}

static void repeated_heads_are_grouped(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13,
              "in q 1x8x5x4; in k 1x2x5x4; in v 1x8x5x4; const ax i64{2}; const es i64{1,2,4,5,4}; "
              "const rs i64{1,8,5,4}; Unsqueeze k,ax -> a; Expand a,es -> b; Reshape b,rs -> c; "
              "Transpose c -> t perm=0,1,3,2; MatMul q,t -> d; Softmax d -> p; MatMul p,v -> y");
    assert_int_equal(only(&k)->heads, 8);
    assert_int_equal(only(&k)->kv_heads, 2);
    assert_string_equal(as_attention_kind(only(&k)), "GQA");
    cost_close(&k);
    /* One head of keys broadcast by the product itself. */
    cost_open(&k, 13,
              "in q 1x8x5x4; in k 1x1x4x5; in v 1x1x5x4; MatMul q,k -> d; Softmax d -> p; "
              "MatMul p,v -> y");
    assert_int_equal(only(&k)->kv_heads, 1);
    assert_string_equal(as_attention_kind(only(&k)), "MQA");
    assert_int_equal(only(&k)->macs, 8 * 25 * 8);
    cost_close(&k);
}

static void other_forms_are_found(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13,
              "in q 2x5x3x4; in k 2x7x3x4; in v 2x7x3x4; Einsum q,k -> d "
              "equation=bqhd,bkhd->bhqk; Softmax d -> p; Einsum p,v -> y "
              "equation=bhqk,bkhd->bqhd");
    assert_int_equal(only(&k)->heads, 3);
    assert_int_equal(only(&k)->head_dim, 4);
    assert_int_equal(only(&k)->value_dim, 4);
    assert_int_equal(only(&k)->queries, 5);
    assert_int_equal(only(&k)->keys, 7);
    cost_close(&k);
    /* Heads folded into the batch: found where queries were cut into heads. */
    cost_open(&k, 13,
              "in q 2x3x5x4; const r i64{6,5,4}; Reshape q,r -> a; in k 6x4x7; in v 6x7x4; "
              "MatMul a,k -> d; Softmax d -> p; MatMul p,v -> y");
    assert_int_equal(only(&k)->batch, 2);
    assert_int_equal(only(&k)->heads, 3);
    cost_close(&k);
    /* A softmax that is none. */
    cost_open(&k, 13,
              "in x 2x8; const w 8x10; MatMul x,w -> d; Softmax d -> p; const u 10x4; "
              "MatMul p,u -> y");
    assert_int_equal(k.costs->n_attentions, 0);
    cost_close(&k);
}

static void projections_tell_self_from_cross(void **state)
{
    static const char rest[] =
        "Transpose k -> t perm=0,2,1; MatMul q,t -> d; Softmax d -> p; MatMul "
        "p,v -> z; MatMul z,o -> y";
    static const char weights[] = "const a 8x8; const b 8x8; const c 8x8; const o 8x8; ";
    struct cost_kit k;
    char text[600];

    (void)state;
    snprintf(text, sizeof text,
             "in x 1x5x8; %sMatMul x,a -> q; MatMul x,b -> k; MatMul x,c -> v; %s", weights, rest);
    cost_open(&k, 13, text);
    assert_false(only(&k)->cross);
    assert_int_equal(only(&k)->projection_macs, 4 * 5 * 64);
    assert_int_equal(only(&k)->heads, 1);
    cost_close(&k);
    snprintf(text, sizeof text,
             "in x 1x5x8; in e 1x9x8; %sMatMul x,a -> q; MatMul e,b -> k; MatMul e,c -> v; %s",
             weights, rest);
    cost_open(&k, 13, text);
    assert_true(only(&k)->cross);
    assert_int_equal(only(&k)->keys, 9);
    cost_close(&k);
}

static void single_operators_are_attention(void **state)
{
    const struct as_attention *a;
    struct cost_kit k;

    (void)state;
    cost_open(&k, 1,
              "in q 2x5x32; in k 2x5x8; in v 2x5x8; in p 2x2x7x4; in l i32:2; const t i32=12; "
              "GroupQueryAttention@com.microsoft q,k,v,p,p,l,t -> y,pk,pv num_heads=8 "
              "kv_num_heads=2");
    a = only(&k);
    assert_string_equal(as_attention_kind(a), "GQA");
    assert_int_equal(a->head_dim, 4);
    assert_int_equal(a->queries, 5);
    assert_true(a->causal);
    assert_int_equal(a->macs, 2 * 8 * 5 * a->keys * 8);
    cost_close(&k);
    cost_open(&k, 1,
              "in q 1x4x12; in k 1x6x12; in v 1x6x12; MultiHeadAttention@com.microsoft q,k,v -> "
              "y num_heads=3");
    a = only(&k);
    assert_int_equal(a->keys, 6);
    assert_int_equal(a->macs, 3 * 4 * 6 * 8);
    assert_int_equal(k.costs->forward.macs, a->macs);
    assert_false(a->causal);
    cost_close(&k);
    cost_open(&k, 1,
              "in x 1x6x12; const w 12x36; const b 36; Attention@com.microsoft x,w,b -> y "
              "num_heads=3 unidirectional=1");
    assert_true(only(&k)->causal);
    assert_int_equal(only(&k)->causal_macs, 3 * 21 * 8);
    assert_int_equal(only(&k)->projection_macs, 6 * 12 * 36);
    cost_close(&k);
}

static void zoo_attention_has_its_sizes(void **state)
{
    static const struct {
        const char *spec;
        uint64_t blocks, heads, kv_heads, head_dim, queries;
        bool causal;
    } cases[] = {
        {"vit_b_16", 12, 12, 12, 64, 197, false},
        {"bert-base", 12, 12, 12, 64, 128, false},
        {"gpt2:seq=16", 12, 12, 12, 64, 16, true},
        {"llama:layers=2,width=64,heads=8,kv_heads=2,ffn=128,vocab=100,seq=9", 2, 8, 2, 8, 9, true},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_model *model = NULL;
        struct as_costs *costs = NULL;
        struct assay_error err = {0};

        if (as_zoo_open(&model, cases[i].spec, &err) < 0 ||
            as_infer_shapes(model, NULL, NULL, &err) < 0 || as_costs_new(&costs, model, &err) < 0)
            fail_msg("%s: %s", cases[i].spec, err.msg);
        assert_int_equal(costs->n_attentions, cases[i].blocks);
        for (size_t b = 0; b < costs->n_attentions; b++) {
            const struct as_attention *a = &costs->attentions[b];

            assert_int_equal(a->heads, cases[i].heads);
            assert_int_equal(a->kv_heads, cases[i].kv_heads);
            assert_int_equal(a->head_dim, cases[i].head_dim);
            assert_int_equal(a->queries, cases[i].queries);
            assert_int_equal(a->causal, cases[i].causal);
            assert_false(a->cross);
            assert_true(a->projection_macs > 0);
            assert_string_not_equal(a->scope, "");
        }
        as_costs_free(costs);
        as_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_attention_is_found),
        cmocka_unit_test(causal_masks_are_seen),
        cmocka_unit_test(constant_triangles_are_causal),
        cmocka_unit_test(repeated_heads_are_grouped),
        cmocka_unit_test(other_forms_are_found),
        cmocka_unit_test(projections_tell_self_from_cross),
        cmocka_unit_test(single_operators_are_attention),
        cmocka_unit_test(zoo_attention_has_its_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
