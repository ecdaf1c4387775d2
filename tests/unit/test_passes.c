/* The optimizer on small graphs: which steps are left, and that they compute the same. */
#include <math.h>

#include "engine/engine.h"
#include "graph_kit.h"

/* Numbers of both signs that differ from one another. */
static double wave(uint64_t i, double from)
{
    return 1.5 * sin(0.7 * (double)i + from);
}

static uint32_t weights(struct kit *k, struct as_dims dims, double from)
{
    uint64_t n = (uint64_t)as_dims_product(&dims, 0, dims.rank);
    struct as_data *data = as_data_new(&k->model->arena, AS_DTYPE_F32, n);

    assert_non_null(data);
    for (uint64_t i = 0; i < n; i++)
        as_data_put_f64(data, i, wave(i, from));
    return kit_constant(k, data, dims);
}

static uint32_t positive(struct kit *k, int64_t n, double least)
{
    struct as_data *data = as_data_new(&k->model->arena, AS_DTYPE_F32, (uint64_t)n);

    assert_non_null(data);
    for (int64_t i = 0; i < n; i++)
        as_data_put_f64(data, (uint64_t)i, least + fabs(wave((uint64_t)i, 2)));
    return kit_constant(k, data, KIT_DIMS(n));
}

static uint32_t number(struct kit *k, double x)
{
    return kit_numbers(k, AS_DTYPE_F32, KIT_SCALAR, &x);
}

static uint32_t byte(struct kit *k, unsigned dtype, double x)
{
    return kit_numbers(k, dtype, KIT_SCALAR, &x);
}

static uint32_t input(struct kit *k, struct as_dims dims)
{
    return kit_input(k, AS_DTYPE_F32, &dims);
}

static void attr_float(struct kit *k, const char *name, double f)
{
    kit_attr(k, (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = f});
}

static void link_model(struct kit *k, const uint32_t *outputs, uint32_t n)
{
    struct as_graph *graph = k->model->main;

    assert_int_equal(as_graph_reserve_nodes(graph, k->n_nodes, NULL), ASSAY_OK);
    memcpy(graph->nodes, k->nodes, k->n_nodes * sizeof *k->nodes);
    k->model->has_graph = true;
    graph->inputs = k->inputs;
    graph->n_inputs = k->n_inputs;
    graph->outputs = outputs;
    graph->n_outputs = n;
    assert_int_equal(as_model_link(k->model, &k->err), ASSAY_OK);
}

static struct as_engine *run(struct kit *k, bool no_fuse)
{
    struct as_engine_options options = {.no_fuse = no_fuse, .reference = true};
    struct as_engine *engine = NULL;

    if (as_engine_new(&engine, k->model, &options, &k->err) < 0)
        fail_msg("%s", k->err.msg);
    for (size_t i = 0; as_engine_input_value(engine, i); i++) {
        struct as_val *val = as_engine_input(engine, i);

        for (uint64_t j = 0; j < val->n; j++)
            as_val_put_f64(val, j, as_dtype_is_float(val->dtype) ? wave(j, (double)i) : (double)j);
    }
    if (as_engine_run(engine, AS_RUN_PLAIN, NULL, &k->err) < 0)
        fail_msg("%s", k->err.msg);
    return engine;
}

static void expect_steps(const struct as_engine *engine, const char *steps, size_t n_sources)
{
    char text[600] = "";
    struct as_step_info info;
    size_t sources = 0;

    for (size_t i = 0; i < as_engine_n_steps(engine); i++) {
        size_t used = strlen(text);

        as_engine_step(engine, i, &info);
        snprintf(text + used, sizeof text - used, "%s%s%s", i ? " " : "", info.op, info.fused);
        sources += info.n_sources;
    }
    assert_string_equal(text, steps);
    if (n_sources)
        assert_int_equal(sources, n_sources);
}

static void expect_outputs(const struct as_engine *a, const struct as_engine *b)
{
    for (size_t i = 0; as_engine_output_value(a, i); i++) {
        const struct as_val *x = as_engine_output(a, i), *y = as_engine_output(b, i);

        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->n, y->n);
        for (uint64_t j = 0; j < x->n; j++) {
            double u = as_val_f64(x, j), v = as_val_f64(y, j);

            if (fabs(u - v) > 1e-5 + 1e-4 * fabs(u))
                fail_msg("output %zu, number %llu: %.9g without, %.9g with", i,
                         (unsigned long long)j, u, v);
        }
    }
}

/* Runs the graph that ends in `y` both ways. `n_sources`: nodes the steps account for; 0: do not
 * look. Frees the kit. */
static void expect_of(struct kit *k, const uint32_t *outputs, uint32_t n, const char *steps,
                      size_t n_sources)
{
    struct as_engine *plain, *fused;
    struct as_model *model = k->model;

    link_model(k, outputs, n);
    plain = run(k, true);
    fused = run(k, false);
    expect_steps(fused, steps, n_sources);
    expect_outputs(plain, fused);
    as_engine_free(plain);
    as_engine_free(fused);
    assert_ptr_equal(k->model, model);
    kit_free(k);
}

static void expect(struct kit *k, uint32_t y, const char *steps, size_t n_sources)
{
    expect_of(k, &y, 1, steps, n_sources);
}

static uint32_t conv(struct kit *k, uint32_t x, int64_t out, int64_t in, double from)
{
    uint32_t y = KIT_NODE(k, AS_OP_Conv, x, weights(k, KIT_DIMS(out, in, 3, 3), from));

    KIT_ATTR_INTS(k, "pads", 1, 1, 1, 1);
    return y;
}

static uint32_t batch_norm(struct kit *k, uint32_t x, int64_t n)
{
    return KIT_NODE(k, AS_OP_BatchNormalization, x, weights(k, KIT_DIMS(n), 1),
                    weights(k, KIT_DIMS(n), 3), weights(k, KIT_DIMS(n), 4), positive(k, n, 0.5));
}

static void batch_norm_and_relu_join_a_conv(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));

    (void)state;
    x = KIT_NODE(k, AS_OP_Relu, batch_norm(k, conv(k, x, 4, 2, 0), 4));
    expect(k, x, "Conv+Relu", 3);
}

static void batch_norm_joins_a_grouped_transposed_conv(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 4, 3, 3));

    (void)state;
    x = KIT_NODE(k, AS_OP_ConvTranspose, x, weights(k, KIT_DIMS(4, 3, 2, 2), 0),
                 weights(k, KIT_DIMS(6), 1));
    kit_attr_int(k, "group", 2);
    expect(k, batch_norm(k, x, 6), "ConvTranspose", 2);
}

static void a_residual_and_its_activation_become_posts(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));
    uint32_t y = conv(k, x, 2, 2, 0);

    (void)state;
    y = KIT_NODE(k, AS_OP_Relu, KIT_NODE(k, AS_OP_Add, x, conv(k, y, 2, 2, 1)));
    expect(k, y, "Conv Conv+Add+Relu", 4);
}

static void what_two_read_is_not_fused(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));
    uint32_t y = conv(k, x, 2, 2, 0);
    uint32_t outputs[2];

    (void)state;
    outputs[0] = KIT_NODE(k, AS_OP_Relu, y);
    outputs[1] = KIT_NODE(k, AS_OP_Tanh, y);
    expect_of(k, outputs, 2, "Conv Relu Tanh", 3);
}

static void an_output_in_between_is_not_fused(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));
    uint32_t outputs[2];

    (void)state;
    outputs[0] = conv(k, x, 2, 2, 0);
    outputs[1] = KIT_NODE(k, AS_OP_Relu, outputs[0]);
    expect_of(k, outputs, 2, "Conv Relu", 2);
}

static void scale_shift_and_bias_go_into_weights(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));

    (void)state;
    x = KIT_NODE(k, AS_OP_Mul, conv(k, x, 3, 2, 0), weights(k, KIT_DIMS(1, 3, 1, 1), 2));
    x = KIT_NODE(k, AS_OP_Sub, number(k, 2), x);
    x = KIT_NODE(k, AS_OP_Div, KIT_NODE(k, AS_OP_Add, weights(k, KIT_DIMS(3, 1, 1), 5), x),
                 number(k, -4));
    expect(k, x, "Conv", 5);
}

static void a_row_of_numbers_is_no_channel(void **state)
{
    struct kit *k = kit_new(15);
    uint32_t x = input(k, KIT_DIMS(1, 3, 3, 3));

    (void)state;
    x = KIT_NODE(k, AS_OP_Add, conv(k, x, 3, 3, 0), weights(k, KIT_DIMS(3), 2));
    expect(k, x, "Conv Add", 2);
}

static void bias_and_gelu_join_a_matmul_through_a_view(void **state)
{
    struct kit *k = kit_new(20);
    uint32_t x = input(k, KIT_DIMS(6, 4));

    (void)state;
    x = KIT_NODE(k, AS_OP_MatMul, x, weights(k, KIT_DIMS(4, 5), 0));
    x = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 2, 3, 5));
    x = KIT_NODE(k, AS_OP_Add, x, weights(k, KIT_DIMS(5), 1));
    x = KIT_NODE(k, AS_OP_Gelu, x);
    expect(k, x, "MatMul+Gelu Reshape", 4);
}

static void scale_of_a_gemm_respects_beta(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(6, 4));

    (void)state;
    x = KIT_NODE(k, AS_OP_Gemm, x, weights(k, KIT_DIMS(5, 4), 0), weights(k, KIT_DIMS(5), 1));
    kit_attr_int(k, "transB", 1);
    attr_float(k, "alpha", 0.5);
    attr_float(k, "beta", 3);
    x = KIT_NODE(k, AS_OP_Mul, x, number(k, 0.25));
    x = KIT_NODE(k, AS_OP_Add, x, weights(k, KIT_DIMS(5), 2));
    x = KIT_NODE(k, AS_OP_Clip, x, number(k, -1), number(k, 1));
    expect(k, x, "Gemm+Clip", 4);
}

static void products_of_activations_stay_alone(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(2, 3, 4)), y = input(k, KIT_DIMS(2, 4, 3));

    (void)state;
    x = KIT_NODE(k, AS_OP_MatMul, x, y);
    x = KIT_NODE(k, AS_OP_Mul, x, number(k, 0.5));
    x = KIT_NODE(k, AS_OP_Add, x, input(k, KIT_DIMS(2, 3, 3)));
    expect(k, x, "MatMul Mul Add", 3);
}

static void silu_hardswish_and_mish_are_found(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(1, 2, 5, 5));

    (void)state;
    x = conv(k, x, 2, 2, 0);
    x = KIT_NODE(k, AS_OP_Mul, x, KIT_NODE(k, AS_OP_Sigmoid, x));
    x = conv(k, x, 2, 2, 1);
    x = KIT_NODE(k, AS_OP_Mul, x,
                 KIT_NODE(k, AS_OP_Clip, KIT_NODE(k, AS_OP_Add, x, number(k, 3)), number(k, 0),
                          number(k, 6)));
    x = conv(k, KIT_NODE(k, AS_OP_Div, x, number(k, 6)), 2, 2, 2);
    x = KIT_NODE(k, AS_OP_Mul, x, KIT_NODE(k, AS_OP_Tanh, KIT_NODE(k, AS_OP_Softplus, x)));
    expect(k, x, "Conv+QuickGelu Conv+HardSwish Conv+Mish", 12);
}

static uint32_t gelu_by_tanh(struct kit *k, uint32_t x)
{
    uint32_t cube =
        KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Pow, x, number(k, 3)), number(k, 0.044715));
    uint32_t inner =
        KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Add, x, cube), number(k, 0.7978845608028654));
    uint32_t one = KIT_NODE(k, AS_OP_Add, KIT_NODE(k, AS_OP_Tanh, inner), number(k, 1));

    return KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Mul, x, number(k, 0.5)), one);
}

static void gelu_is_found_by_erf_and_by_tanh(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(3, 4)), erf;

    (void)state;
    x = KIT_NODE(k, AS_OP_MatMul, x, weights(k, KIT_DIMS(4, 4), 0));
    x = gelu_by_tanh(k, x);
    erf = KIT_NODE(k, AS_OP_Erf, KIT_NODE(k, AS_OP_Div, x, number(k, 1.4142135)));
    x = KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Add, erf, number(k, 1)), x);
    x = KIT_NODE(k, AS_OP_Mul, number(k, 0.5), x);
    expect(k, x, "MatMul+FastGelu+Gelu", 14);
}

static uint32_t mean(struct kit *k, uint32_t x)
{
    uint32_t y = KIT_NODE(k, AS_OP_ReduceMean, x);

    KIT_ATTR_INTS(k, "axes", -1);
    return y;
}

static void layer_norms_are_found(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(3, 4, 6)), d, s;

    (void)state;
    d = KIT_NODE(k, AS_OP_Sub, x, mean(k, x));
    s = mean(k, KIT_NODE(k, AS_OP_Pow, d, number(k, 2)));
    s = KIT_NODE(k, AS_OP_Sqrt, KIT_NODE(k, AS_OP_Add, s, number(k, 1e-5)));
    x = KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Div, d, s), weights(k, KIT_DIMS(6), 1));
    x = KIT_NODE(k, AS_OP_Add, weights(k, KIT_DIMS(6), 2), x);
    s = mean(k, KIT_NODE(k, AS_OP_Mul, x, x));
    s = KIT_NODE(k, AS_OP_Sqrt, KIT_NODE(k, AS_OP_Add, number(k, 1e-6), s));
    x = KIT_NODE(k, AS_OP_Mul, x, KIT_NODE(k, AS_OP_Reciprocal, s));
    expect(k, x, "LayerNormalization SimplifiedLayerNormalization", 15);
}

/* k = scale / deviation; x * k + (shift - mean * k) */
static void layer_norm_as_tensorflow_writes_it_is_found(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(3, 6)), m = mean(k, x), d, s, rest;

    (void)state;
    d = KIT_NODE(k, AS_OP_Sub, x, m);
    s = mean(k, KIT_NODE(k, AS_OP_Mul, d, d));
    s = KIT_NODE(k, AS_OP_Sqrt, KIT_NODE(k, AS_OP_Add, s, number(k, 1e-5)));
    s = KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Reciprocal, s), weights(k, KIT_DIMS(6), 1));
    rest = KIT_NODE(k, AS_OP_Sub, weights(k, KIT_DIMS(6), 2), KIT_NODE(k, AS_OP_Mul, m, s));
    x = KIT_NODE(k, AS_OP_Add, KIT_NODE(k, AS_OP_Mul, x, s), rest);
    expect(k, x, "LayerNormalization", 12);
}

static void what_does_nothing_goes(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(2, 6));

    (void)state;
    x = KIT_NODE(k, AS_OP_Identity, KIT_NODE(k, AS_OP_Tanh, x));
    x = KIT_NODE(k, AS_OP_Cast, x);
    kit_attr_int(k, "to", 1);
    x = KIT_NODE(k, AS_OP_Mul, KIT_NODE(k, AS_OP_Dropout, x), number(k, 1));
    x = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 3, 4));
    x = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 4, -1));
    x = KIT_NODE(k, AS_OP_Identity, x);
    expect(k, x, "Tanh Reshape", 0);
}

static void a_slice_that_turns_round_stays(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(6));

    (void)state;
    x = KIT_NODE(k, AS_OP_Slice, KIT_NODE(k, AS_OP_Tanh, x), KIT_INTS(k, -1),
                 KIT_INTS(k, INT64_MIN + 1), KIT_INTS(k, 0), KIT_INTS(k, -1));
    x = KIT_NODE(k, AS_OP_Slice, x, KIT_INTS(k, 0), KIT_INTS(k, 100));
    expect(k, KIT_NODE(k, AS_OP_Neg, x), "Tanh Slice Neg", 0);
}

static void the_same_is_computed_once(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(2, 6)), a, b;

    (void)state;
    a = KIT_NODE(k, AS_OP_Exp, KIT_NODE(k, AS_OP_Mul, x, number(k, 2)));
    b = KIT_NODE(k, AS_OP_Exp, KIT_NODE(k, AS_OP_Mul, x, number(k, 2)));
    x = KIT_NODE(k, AS_OP_Div, a, KIT_NODE(k, AS_OP_Add, b, number(k, 3)));
    expect(k, x, "Mul Exp Add Div", 0);
}

static void pad_and_transpose_become_attributes(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = input(k, KIT_DIMS(1, 2, 4, 4)), y;

    (void)state;
    x = KIT_NODE(k, AS_OP_Pad, x, KIT_INTS(k, 0, 0, 1, 2, 0, 0, 3, 0));
    x = conv(k, x, 2, 2, 0);
    y = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 8, -1));
    y = KIT_NODE(k, AS_OP_Transpose, y);
    y = KIT_NODE(k, AS_OP_Gemm, y, weights(k, KIT_DIMS(8, 3), 0));
    expect(k, y, "Conv Reshape Gemm", 5);
}

static uint32_t dequantize(struct kit *k, uint32_t q, double scale, uint32_t zero)
{
    return KIT_NODE(k, AS_OP_DequantizeLinear, q, number(k, scale), zero);
}

static void integers_between_quantizations(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(1, 2, 4, 4);
    uint32_t x = kit_input(k, AS_DTYPE_U8, &dims), w, b;
    double numbers[3 * 2 * 3 * 3], bias[] = {100, -200, 31};

    (void)state;
    for (int i = 0; i < 54; i++)
        numbers[i] = i * 7 % 200 - 100;
    w = dequantize(k, kit_numbers(k, AS_DTYPE_I8, KIT_DIMS(3, 2, 3, 3), numbers), 0.02,
                   byte(k, AS_DTYPE_I8, 0));
    b = dequantize(k, kit_numbers(k, AS_DTYPE_I32, KIT_DIMS(3), bias), 0.02 * 0.05,
                   byte(k, AS_DTYPE_I32, 0));
    x = KIT_NODE(k, AS_OP_Conv, dequantize(k, x, 0.05, byte(k, AS_DTYPE_U8, 3)), w, b);
    x = KIT_NODE(k, AS_OP_QuantizeLinear, KIT_NODE(k, AS_OP_Relu, x), number(k, 0.07),
                 byte(k, AS_DTYPE_U8, 0));
    x = KIT_NODE(k, AS_OP_MaxPool, dequantize(k, x, 0.07, byte(k, AS_DTYPE_U8, 0)));
    KIT_ATTR_INTS(k, "kernel_shape", 2, 2);
    x = KIT_NODE(k, AS_OP_QuantizeLinear, x, number(k, 0.07), byte(k, AS_DTYPE_U8, 0));
    expect(k, x, "QLinearConv MaxPool", 7);
}

static void a_relu_that_the_range_does_not_imply_stays(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(1, 2, 4, 4);
    uint32_t x = kit_input(k, AS_DTYPE_U8, &dims), w;
    double numbers[2 * 2] = {3, -5, 100, -77};

    (void)state;
    w = dequantize(k, kit_numbers(k, AS_DTYPE_I8, KIT_DIMS(2, 2, 1, 1), numbers), 0.02,
                   byte(k, AS_DTYPE_I8, 0));
    x = KIT_NODE(k, AS_OP_Conv, dequantize(k, x, 0.05, byte(k, AS_DTYPE_U8, 3)), w);
    x = KIT_NODE(k, AS_OP_QuantizeLinear, KIT_NODE(k, AS_OP_Relu, x), number(k, 0.07),
                 byte(k, AS_DTYPE_U8, 9));
    expect(k, x, "DequantizeLinear Conv+Relu QuantizeLinear", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norm_and_relu_join_a_conv),
        cmocka_unit_test(batch_norm_joins_a_grouped_transposed_conv),
        cmocka_unit_test(a_residual_and_its_activation_become_posts),
        cmocka_unit_test(what_two_read_is_not_fused),
        cmocka_unit_test(an_output_in_between_is_not_fused),
        cmocka_unit_test(scale_shift_and_bias_go_into_weights),
        cmocka_unit_test(a_row_of_numbers_is_no_channel),
        cmocka_unit_test(bias_and_gelu_join_a_matmul_through_a_view),
        cmocka_unit_test(scale_of_a_gemm_respects_beta),
        cmocka_unit_test(products_of_activations_stay_alone),
        cmocka_unit_test(silu_hardswish_and_mish_are_found),
        cmocka_unit_test(gelu_is_found_by_erf_and_by_tanh),
        cmocka_unit_test(layer_norms_are_found),
        cmocka_unit_test(layer_norm_as_tensorflow_writes_it_is_found),
        cmocka_unit_test(what_does_nothing_goes),
        cmocka_unit_test(a_slice_that_turns_round_stays),
        cmocka_unit_test(the_same_is_computed_once),
        cmocka_unit_test(pad_and_transpose_become_attributes),
        cmocka_unit_test(integers_between_quantizations),
        cmocka_unit_test(a_relu_that_the_range_does_not_imply_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
