/* Costs of whole graphs: bytes, the backward pass, bodies, sums, and what cannot be counted. */
#include "cost_kit.h"

#include "model/zoo/zoo.h"

static const struct as_cost_row *row(const struct cost_kit *k, size_t i)
{
    assert_in_range(i, 0, k->costs->n_rows - 1);
    return &k->costs->rows[i];
}

static void bytes_are_counted_once_each(void **state)
{
    static const struct {
        int64_t opset;
        const char *text;
        uint64_t read, written;
    } cases[] = {
        {14, "in x 2x5; in z 5; Add x,z -> y", 40 + 20, 40},
        {14, "in x 2x5; Mul x,x -> y", 40, 40},
        {13, "in x 1000x8; in i i64:3; Gather x,i -> y", 3 * 8 * 4 + 24, 96},
        {13, "in x 2x5; const s i64{5,2}; Reshape x,s -> y", 0, 0},
        {13, "in x 2x5; Identity x -> y", 0, 0},
        {13, "in x 2x5; Dropout x -> y", 0, 0},
        {13, "in x 2x5; Shape x -> y", 0, 0},
        {13, "in x 2x5; Transpose x -> y", 40, 40},
        {21, "in x i4:3x3; const s f32=1; DequantizeLinear x,s -> y", 5 + 4, 36},
        {13, "in x f16:2x5; const w f16:5x3; MatMul x,w -> y", 20 + 30, 12},
        {13, "in x 1x100; const a i64{2}; const b i64{12}; const c i64{1}; Slice x,a,b,c -> y",
         40 + 24, 40},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cost_kit k;

        cost_open(&k, cases[i].opset, cases[i].text);
        if (k.costs->forward.bytes_read != cases[i].read ||
            k.costs->forward.bytes_written != cases[i].written)
            fail_msg("%s: %llu read, %llu written", cases[i].text,
                     (unsigned long long)k.costs->forward.bytes_read,
                     (unsigned long long)k.costs->forward.bytes_written);
        assert_int_equal(row(&k, 0)->output_bytes, cases[i].written);
        cost_close(&k);
    }
}

/* Forward 2 x MACs + bias; the batch is named, and a sample is what is left without it. */
static void reference_layers_have_their_figures(void **state)
{
    static const struct {
        uint64_t batch, in, out, parameters, macs;
    } cases[] = {
        {1, 128, 64, 8256, 16384 / 2},
        {1, 768, 3072, 2362368, 768 * 3072},
        {1, 3072, 768, 2360064, 768 * 3072},
        {32, 768, 3072, 2362368, 150994944 / 2},
        {1, 512, 512, 262656, 524288 / 2},
        {64, 512, 512, 262656, 33554432 / 2},
        {1, 1000, 500, 500500, 1000000 / 2},
        {1, 256, 128, 32896, 256 * 128},
        {1, 10, 5, 55, 50},
        {1, 1024, 512, 524800, 1024 * 512},
        {1, 784, 128, 100480, 200704 / 2},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cost_kit k;
        char text[160];

        snprintf(text, sizeof text,
                 "in x %ux%u; const w %ux%u; const b %u; Gemm x,w,b -> y transB=1",
                 (unsigned)cases[i].batch, (unsigned)cases[i].in, (unsigned)cases[i].out,
                 (unsigned)cases[i].in, (unsigned)cases[i].out);
        cost_open(&k, 13, text);
        assert_int_equal(k.params->parameters, cases[i].parameters);
        assert_int_equal(k.params->parameter_bytes, 4 * cases[i].parameters);
        assert_int_equal(k.costs->forward.macs, cases[i].macs);
        assert_int_equal(k.costs->forward.elementwise, cases[i].batch * cases[i].out);
        assert_int_equal(as_cost_flops(&k.costs->forward),
                         2 * cases[i].macs + cases[i].batch * cases[i].out);
        assert_int_equal(k.costs->batch, cases[i].batch);
        /* dW and db; no gradient of the input. */
        assert_int_equal(k.costs->backward.macs, cases[i].macs);
        assert_int_equal(k.costs->backward.elementwise, cases[i].batch * cases[i].out);
        assert_int_equal(row(&k, 0)->parameters, cases[i].parameters);
        assert_int_equal(row(&k, 0)->saved_bytes, 4 * cases[i].batch * cases[i].in);
        cost_close(&k);
    }
}

static void a_sequence_of_layers_adds_up(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13,
              "in x 1x128; const a 128x64; const b 64x10; MatMul x,a -> h; Relu h -> r; "
              "MatMul r,b -> y; out y");
    assert_int_equal(2 * k.costs->forward.macs, 17664);
    assert_int_equal(row(&k, 0)->backward.macs, 128 * 64); /* its input needs none */
    assert_int_equal(row(&k, 2)->backward.macs, 2 * 64 * 10);
    assert_int_equal(row(&k, 1)->backward.elementwise, 64);
    assert_int_equal(row(&k, 0)->saved_bytes, 128 * 4);
    assert_int_equal(row(&k, 1)->saved_bytes, 64 * 4); /* its output, which row 2 keeps too */
    assert_int_equal(row(&k, 2)->saved_bytes, 0);
    cost_close(&k);
}

static void a_product_of_activations_has_two_gradients(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13,
              "in x 4x8; const a 8x8; const b 8x8; MatMul x,a -> q; MatMul x,b -> v; "
              "Transpose v -> t; MatMul q,t -> y; Cast x -> c to=1; MatMul c,t -> z");
    assert_int_equal(row(&k, 3)->backward.macs, 2 * 4 * 4 * 8);
    assert_int_equal(row(&k, 5)->backward.macs, 4 * 4 * 8); /* nothing trained lies behind c */
    cost_close(&k);
    cost_open(&k, 13,
              "in x 4x8; const w i8:8x8; const s f32=1; DequantizeLinear w,s -> d; "
              "MatMul x,d -> y");
    assert_int_equal(k.costs->backward.macs, 0); /* integers are not trained */
    assert_int_equal(row(&k, 1)->parameters, 64);
    assert_int_equal(row(&k, 1)->parameter_bytes, 64);
    cost_close(&k);
}

static void folded_nodes_cost_nothing(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13, "in x 2x3; Shape x -> s; const o i64{2}; Mul s,o -> t; Relu x -> y");
    assert_int_equal(k.costs->n_rows, 3);
    assert_int_equal(row(&k, 1)->forward.elementwise, 0);
    assert_int_equal(row(&k, 1)->forward.bytes_read, 0);
    assert_int_equal(k.costs->forward.elementwise, 6);
    cost_close(&k);
}

static void loops_multiply_what_is_inside(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(
        &k, 13,
        "in x 4; const n i64=5; const c bool=1; graph body; in i i64:scalar; in g bool:scalar; "
        "in v 4; Relu v -> w; Identity g -> h; out h; out w; end; Loop n,c,x -> y body=@body");
    assert_int_equal(k.costs->n_rows, 3);
    assert_int_equal(row(&k, 0)->depth, 0);
    assert_int_equal(row(&k, 1)->depth, 1);
    assert_int_equal(row(&k, 1)->times, 5);
    assert_true(row(&k, 1)->times_known);
    assert_int_equal(k.costs->forward.elementwise, 20);
    assert_true(k.costs->times_known);
    cost_close(&k);
    cost_open(
        &k, 13,
        "in x 4; in n i64:scalar; const c bool=1; graph body; in i i64:scalar; in g "
        "bool:scalar; in v 4; Relu v -> w; Identity g -> h; out h; out w; end; Loop n,c,x -> y "
        "body=@body");
    assert_int_equal(row(&k, 1)->times, 1);
    assert_false(row(&k, 1)->times_known);
    assert_false(k.costs->times_known);
    assert_int_equal(k.costs->forward.elementwise, 4);
    cost_close(&k);
}

static void of_two_sides_the_costlier_is_counted(void **state)
{
    static const char bodies[] =
        "in x 4; graph a; Relu x -> p; out p; end; graph b; Sigmoid x -> q; "
        "out q; end; ";
    struct cost_kit k;
    char text[400];

    (void)state;
    snprintf(text, sizeof text, "%sin c bool:scalar; If c -> y then_branch=@a else_branch=@b",
             bodies);
    cost_open(&k, 13, text);
    assert_int_equal(k.costs->n_rows, 3);
    assert_int_equal(row(&k, 1)->times, 0);
    assert_int_equal(row(&k, 1)->state, AS_COST_NOT_COUNTED);
    assert_int_equal(row(&k, 2)->times, 1);
    assert_int_equal(row(&k, 2)->state, AS_COST_KNOWN);
    assert_false(row(&k, 1)->times_known);
    assert_false(row(&k, 2)->times_known);
    assert_int_equal(k.costs->forward.transcendental, 4);
    assert_int_equal(k.costs->forward.elementwise, 8);
    cost_close(&k);
    snprintf(text, sizeof text, "%sconst c bool=1; If c -> y then_branch=@a else_branch=@b",
             bodies);
    cost_open(&k, 13, text);
    assert_int_equal(row(&k, 1)->times, 1);
    assert_int_equal(row(&k, 2)->times, 0);
    assert_true(k.costs->times_known);
    assert_int_equal(k.costs->forward.transcendental, 0);
    assert_int_equal(k.costs->forward.elementwise, 4);
    cost_close(&k);
}

static void what_is_not_known_is_said(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 13, "in x ?x3x8x8; const w 4x3x3x3; Conv x,w -> y; Relu y -> z");
    assert_int_equal(row(&k, 0)->state, AS_COST_UNKNOWN_SHAPE);
    assert_int_equal(row(&k, 1)->state, AS_COST_UNKNOWN_SHAPE);
    assert_int_equal(k.costs->n_unknown_shapes, 2);
    assert_int_equal(k.costs->forward.macs, 0);
    assert_int_equal(k.costs->batch, 1);
    assert_int_equal(row(&k, 0)->parameters, 108);
    cost_close(&k);
    cost_open(&k, 13, "in x 2x3; Relu x -> y; Neg y -> z");
    as_costs_free(k.costs);
    as_params_free(k.params);
    k.graph.model->main->nodes[0].op = AS_OP_UNKNOWN;
    cost_count(&k);
    assert_int_equal(row(&k, 0)->state, AS_COST_UNKNOWN_OP);
    assert_int_equal(k.costs->n_unknown_ops, 1);
    assert_int_equal(k.costs->forward.elementwise, 6);
    cost_close(&k);
}

static void sums_past_64_bits_stay_at_the_top(void **state)
{
    struct as_cost cost = {.macs = UINT64_MAX / 2 + 1}, sum = {0};
    struct cost_kit k;

    (void)state;
    assert_int_equal(as_cost_flops(&cost), UINT64_MAX);
    as_cost_add(&sum, &cost, 3);
    assert_int_equal(sum.macs, UINT64_MAX);
    cost_open(&k, 13, "in x 1073741824x1073741824; in z 1073741824x1073741824; MatMul x,z -> y");
    assert_int_equal(k.costs->forward.macs, UINT64_MAX);
    assert_true(k.costs->overflow);
    cost_close(&k);
    cost_open(&k, 13, "in x 0x3; Softmax x -> y; GlobalAveragePool x -> z");
    assert_false(k.costs->overflow);
    cost_close(&k);
}

/* The published figures, to the last digit. */
/* What a Concat carries doubles in every round: the last round times five would be wrong. */
static void rounds_that_differ_are_not_counted_as_equal(void **state)
{
    struct cost_kit k;

    (void)state;
    cost_open(&k, 17,
              "in x 4x8; const w 8x3; const n i64=5; const c bool=1; graph body; in i i64:scalar; "
              "in g bool:scalar; in v ?x8; Concat v,v -> u axis=0; Identity g -> h; out h; out u; "
              "end; Loop n,c,x -> y body=@body; MatMul y,w -> z");
    assert_int_equal(k.costs->n_unknown_shapes, 1);
    assert_int_equal(row(&k, 1)->state, AS_COST_UNKNOWN_SHAPE);
    assert_int_equal(row(&k, 1)->forward.bytes_written, 0);
    assert_int_equal(row(&k, 3)->forward.macs, 128 * 8 * 3);
    assert_non_null(strstr(k.graph.model->findings->text, "differ from round to round"));
    assert_int_equal(k.graph.model->findings->kind, AS_FINDING_BRANCH);
    cost_close(&k);
    /* The number of the round makes the inner loop longer, so all that is in it varies. */
    cost_open(&k, 17,
              "in x 4x8; const n i64=5; const c bool=1; graph body; in i i64:scalar; "
              "in g bool:scalar; in v 4x8; graph inner; in j i64:scalar; in f bool:scalar; "
              "in s 4x8; Relu s -> t; Identity f -> e; out e; out t; end; "
              "Loop i,c,v -> u body=@inner; Exp u -> q; Identity g -> h; out h; out q; end; "
              "Loop n,c,x -> y body=@body");
    assert_int_equal(row(&k, 2)->state, AS_COST_UNKNOWN_SHAPE);
    assert_int_equal(row(&k, 4)->state, AS_COST_KNOWN); /* Exp: the same in all five */
    assert_int_equal(row(&k, 4)->times, 5);
    cost_close(&k);
}

static void zoo_models_have_the_published_macs(void **state)
{
    static const struct {
        const char *spec;
        uint64_t macs, parameters, stored;
    } cases[] = {
        {"alexnet", 714188480, 61100840, 61100840},
        {"vgg16", 15470264320, 138357544, 138357544},
        {"resnet18", 1814073344, 11689512, 11699112},
        {"resnet50", 4089184256, 25557032, 25610152},
        {"mobilenetv2", 300774272, 3504872, 0},
        {"squeezenet1_1", 349151936, 1235496, 1235496},
        {"vit_b_16", 17563828224, 86567656, 0},
        {"bert-base", 11174215680, 109482240, 0},
        {"gpt2", 145824153600, 124439808, 0},
        {"gpt2:seq=8", 989435904, 124439808, 0},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_model *model = NULL;
        struct as_costs *costs = NULL;
        struct as_params *params = NULL;
        struct assay_error err = {0};

        if (as_zoo_open(&model, cases[i].spec, &err) < 0 ||
            as_infer_shapes(model, NULL, NULL, &err) < 0 || as_costs_new(&costs, model, &err) < 0 ||
            as_params_new(&params, model, true, &err) < 0)
            fail_msg("%s: %s", cases[i].spec, err.msg);
        assert_int_equal(costs->forward.macs, cases[i].macs);
        assert_int_equal(params->parameters, cases[i].parameters);
        assert_int_equal(params->trainable, cases[i].parameters);
        if (cases[i].stored)
            assert_int_equal(params->stored, cases[i].stored);
        assert_int_equal(costs->n_unknown_ops + costs->n_unknown_shapes, 0);
        as_params_free(params);
        as_costs_free(costs);
        as_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted_once_each),
        cmocka_unit_test(reference_layers_have_their_figures),
        cmocka_unit_test(a_sequence_of_layers_adds_up),
        cmocka_unit_test(a_product_of_activations_has_two_gradients),
        cmocka_unit_test(folded_nodes_cost_nothing),
        cmocka_unit_test(loops_multiply_what_is_inside),
        cmocka_unit_test(of_two_sides_the_costlier_is_counted),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(sums_past_64_bits_stay_at_the_top),
        cmocka_unit_test(rounds_that_differ_are_not_counted_as_equal),
        cmocka_unit_test(zoo_models_have_the_published_macs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
