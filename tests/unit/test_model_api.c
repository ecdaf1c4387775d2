/* assay/model.h: networks described in C are counted to the last digit, and mistakes are told. */
#include "unit.h"

#include <assay/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

static struct assay_model *begin(int rank, const int64_t *dims, int *x)
{
    struct assay_model *model = new_model();

    assert_non_null(model);
    *x = assay_model_input(model, "x", ASSAY_DTYPE_F32, rank, dims);
    return model;
}

static struct assay_model_counts counts_of(struct assay_model *model)
{
    struct assay_model_counts counts;
    struct assay_error err = {0};

    if (assay_model_count(model, &counts, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(counts.n_unknown_ops, 0);
    assert_int_equal(counts.n_unknown_shapes, 0);
    assert_true(counts.complete);
    return counts;
}

static void dense_layers_have_the_textbook_counts(void **state)
{
    static const struct {
        int64_t in, out, batch;
        uint64_t parameters, products, bias; /* products and bias: FLOPs of the batch */
    } cases[] = {
        {128, 64, 1, 8256, 16384, 64},
        {768, 3072, 32, 2362368, 150994944, 98304},
        {3072, 768, 1, 2360064, 2 * 3072 * 768, 768},
        {512, 512, 64, 262656, 33554432, 64 * 512},
        {1000, 500, 1, 500500, 1000000, 500},
        {256, 128, 1, 32896, 65536, 128},
        {10, 5, 1, 55, 100, 5},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const int64_t dims[] = {cases[i].batch, cases[i].in};
        int x;
        struct assay_model *model = begin(2, dims, &x);
        struct assay_model_counts counts;

        assay_model_output(model, assay_model_linear(model, "fc", x, cases[i].out, true), "y");
        counts = counts_of(model);
        assert_int_equal(counts.parameters, cases[i].parameters);
        assert_int_equal(counts.trainable, cases[i].parameters);
        assert_int_equal(counts.parameter_bytes, 4 * cases[i].parameters);
        assert_int_equal(2 * counts.macs, cases[i].products);
        assert_int_equal(counts.flops, cases[i].products + cases[i].bias);
        assert_int_equal(counts.batch, (uint64_t)cases[i].batch);
        /* The short form is of one sample and does not know the bias. */
        assert_int_equal(assay_model_count_flops(model),
                         (int64_t)cases[i].products / cases[i].batch);
        assert_int_equal(assay_model_count_parameters(model), (int64_t)cases[i].parameters);
        assay_model_free(model);
    }
}

static void convolutions_have_the_textbook_counts(void **state)
{
    static const struct {
        int64_t size, channels, kernel, stride, pad;
        int64_t flops, parameters;
    } cases[] = {
        {224, 64, 7, 2, 3, 236027904, 64 * 3 * 49 + 64},
        {32, 16, 3, 1, 1, 884736, 16 * 27 + 16},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const int64_t dims[] = {1, 3, cases[i].size, cases[i].size};
        struct assay_conv2d conv = assay_conv2d_make(cases[i].channels, cases[i].kernel);
        int x;
        struct assay_model *model = begin(4, dims, &x);

        conv.stride_h = conv.stride_w = cases[i].stride;
        conv.pad_h = conv.pad_w = cases[i].pad;
        x = assay_model_conv2d(model, NULL, x, &conv);
        assert_int_equal(assay_model_count_flops(model), cases[i].flops);
        assert_int_equal(assay_model_count_parameters(model), cases[i].parameters);
        assay_model_free(model);
    }
}

static void a_sequence_is_the_sum_of_its_layers(void **state)
{
    static const struct assay_layer_spec layers[] = {
        {.kind = ASSAY_LAYER_LINEAR, .out = 64},
        {.kind = ASSAY_LAYER_ACTIVATION, .activation = ASSAY_ACTIVATION_RELU},
        {.kind = ASSAY_LAYER_LINEAR, .out = 10, .name = "head"},
    };
    const int64_t dims[] = {1, 128};
    struct assay_model_layer layer;
    int x;
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    assert_int_equal(assay_model_layer_at(model, 0, &layer), ASSAY_ERR_STATE);
    assay_model_sequential(model, "net", x, layers, UNIT_COUNT(layers));
    assert_int_equal(assay_model_count_flops(model), 17664);
    assert_int_equal(assay_model_count_parameters(model), 129 * 64 + 65 * 10);
    assert_int_equal(assay_model_layer_at(model, 2, &layer), ASSAY_OK);
    assert_string_equal(layer.name, "net.head");
    assert_string_equal(layer.op, "Gemm");
    assert_string_equal(layer.output, "1x10");
    assert_int_equal(layer.macs, 640);
    assert_int_equal(layer.parameters, 650);
    assert_int_equal(assay_model_layer_at(model, 3, &layer), ASSAY_ERR_NOTFOUND);
    assay_model_free(model);
}

static void a_model_without_parameters_has_none(void **state)
{
    const int64_t dims[] = {1, 16};
    int x;
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    assay_model_activation(model, ASSAY_ACTIVATION_RELU, NULL, x);
    assert_int_equal(assay_model_count_parameters(model), 0);
    assay_model_free(model);
    model = new_model(); /* nothing at all */
    assert_int_equal(assay_model_count_parameters(model), 0);
    assert_int_equal(assay_model_count_flops(model), 0);
    assay_model_free(model);
}

static void tied_tables_are_counted_once(void **state)
{
    static const char *const symbols[] = {"batch", "seq"};
    const int64_t dims[] = {-1, -1};
    struct assay_attention attention = assay_attention_make(4);
    struct assay_model_counts one, more;
    struct assay_model *model = new_model();
    int ids, x, table;

    (void)state;
    attention.causal = true;
    attention.kv_heads = 2;
    ids = assay_model_input_named(model, "ids", ASSAY_DTYPE_I64, 2, dims, symbols);
    x = assay_model_embedding(model, "table", ids, 1000, 64, &table);
    x = assay_model_add(model, NULL, x, assay_model_attention(model, "attn", x, -1, &attention));
    x = assay_model_rms_norm(model, "norm", x, 0);
    assay_model_output(model, assay_model_linear_tied(model, "head", x, table), "logits");
    assert_int_equal(assay_model_set_dim(model, "batch", 1, NULL), ASSAY_OK);
    assert_int_equal(assay_model_set_dim(model, "seq", 10, NULL), ASSAY_OK);
    one = counts_of(model);
    assert_int_equal(one.parameters, 64000 + 2 * (65 * 64) + 2 * (65 * 32) + 64);
    assert_int_equal(one.macs, 10 * (64 * 64 * 2 + 64 * 32 * 2 + 64000) + 2 * 10 * 10 * 64);
    assert_int_equal(assay_model_set_dim(model, "batch", 3, NULL), ASSAY_OK);
    more = counts_of(model);
    assert_int_equal(more.macs, 3 * one.macs);
    assert_int_equal(more.macs_per_sample, one.macs);
    assert_int_equal(more.parameters, one.parameters);
    assay_model_free(model);
}

/* One of each layer: it links, infers and knows every operator. */
static void every_layer_can_be_counted(void **state)
{
    const int64_t dims[] = {2, 8, 16, 16}, shape[] = {0, 8, -1}, order[] = {0, 2, 1};
    struct assay_conv2d conv = assay_conv2d_make(8, 3);
    struct assay_pool2d pool = assay_pool2d_make(2);
    struct assay_attention attention = assay_attention_make(2);
    struct assay_model_counts counts;
    int x, y, both[2];
    struct assay_model *model = begin(4, dims, &x);

    (void)state;
    conv.pad_h = conv.pad_w = 1;
    conv.groups = 8;
    x = assay_model_conv2d(model, "depthwise", x, &conv);
    x = assay_model_batch_norm(model, "bn", x, 0);
    x = assay_model_group_norm(model, "gn", x, 4, 0);
    for (int act = ASSAY_ACTIVATION_RELU; act <= ASSAY_ACTIVATION_GELU_TANH; act++)
        x = assay_model_activation(model, (enum assay_activation)act, NULL, x);
    y = assay_model_max_pool2d(model, NULL, x, &pool);
    both[0] = assay_model_avg_pool2d(model, NULL, x, &pool);
    both[1] = y;
    x = assay_model_concat(model, NULL, both, 2, 1);
    conv.groups = 1;
    x = assay_model_conv_transpose2d(model, "up", x, &conv);
    x = assay_model_adaptive_avg_pool2d(model, NULL, x, 4, 4);
    x = assay_model_reshape(model, NULL, x, 3, shape);
    x = assay_model_transpose(model, NULL, x, 3, order);
    x = assay_model_layer_norm(model, NULL, x, 0);
    x = assay_model_attend(model, NULL, x, x, x, &attention);
    x = assay_model_lstm(model, NULL, x, 6, false);
    x = assay_model_dropout(model, NULL, x, 0.5);
    x = assay_model_mul(model, NULL, x, x);
    y = assay_model_transpose(model, NULL, x, 3, order);
    x = assay_model_softmax(model, NULL, assay_model_matmul(model, NULL, x, y), -1);
    x = assay_model_flatten(model, NULL, x, 1);
    counts = counts_of(model);
    assert_int_equal(counts.parameters,
                     8 * 9 + 8 + 16 + 16 + 8 * 16 * 9 + 8 + 16 + 4 * 6 * (8 + 6 + 2));
    assert_int_equal(counts.frozen, 16);
    assert_true(counts.activation_peak_bytes > 0);
    assert_true(counts.activation_peak_bytes < counts.activation_sum_bytes);
    assert_true(counts.backward_macs > counts.macs);
    assay_model_free(model);
}

static void any_operator_can_be_named(void **state)
{
    const int64_t dims[] = {2, 6}, axes[] = {1};
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    const struct assay_attr attrs[] = {
        {.name = "axes", .kind = ASSAY_ATTR_INTS, .ints = axes, .n_ints = 1},
        {.name = "keepdims", .kind = ASSAY_ATTR_INT, .i = 0},
    };
    struct assay_model_layer layer;
    int x, y[2];
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    x = assay_model_add(
        model, NULL, x,
        assay_model_constant(model, "c", ASSAY_DTYPE_F32, 1, (const int64_t[]){6}, numbers));
    assert_int_equal(assay_model_node(model, "ReduceMax", "top", &x, 1, attrs, 2, y, 1), ASSAY_OK);
    assay_model_output(model, y[0], "top");
    (void)counts_of(model);
    assert_int_equal(assay_model_layer_at(model, 1, &layer), ASSAY_OK);
    assert_string_equal(layer.op, "ReduceMax");
    assert_string_equal(layer.output, "2");
    assay_model_free(model);
}

static void an_operator_nobody_knows_is_reported(void **state)
{
    const int64_t dims[] = {1, 4};
    struct assay_model_counts counts;
    int x, y;
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    x = assay_model_linear(model, "fc", x, 4, false);
    assay_model_node(model, "NoSuchThing", NULL, &x, 1, NULL, 0, &y, 1);
    assert_int_equal(assay_model_count(model, &counts, NULL), ASSAY_OK);
    assert_int_equal(counts.n_unknown_ops, 1);
    assert_int_equal(counts.parameters, 16);
    assay_model_free(model);
}

static void the_first_mistake_is_told(void **state)
{
    const int64_t dims[] = {1, 4};
    struct assay_model_counts counts;
    struct assay_error err = {0};
    int x;
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    x = assay_model_conv2d(model, "c", x, NULL);
    assert_true(x < 0);
    x = assay_model_linear(model, "later", x, 4, true);
    assert_true(x < 0);
    assert_int_equal(assay_model_error(model, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "'c' is described by NULL"));
    assert_int_equal(assay_model_count(model, &counts, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_count_parameters(model), ASSAY_ERR_USAGE);
    assay_model_free(model);
    assert_true(assay_model_linear(NULL, "fc", 0, 4, true) < 0);
    assert_true(assay_model_count(NULL, &counts, &err) < 0);
    assay_model_free(NULL);
}

static void a_counted_model_does_not_grow(void **state)
{
    const int64_t dims[] = {1, 4};
    struct assay_error err = {0};
    int x;
    struct assay_model *model = begin(2, dims, &x);

    (void)state;
    x = assay_model_linear(model, "fc", x, 4, true);
    assert_int_equal(assay_model_count_parameters(model), 20);
    assert_true(assay_model_linear(model, "fc2", x, 4, true) < 0);
    assert_int_equal(assay_model_error(model, &err), ASSAY_ERR_STATE);
    assay_model_free(model);
}

static void models_are_opened_written_and_opened_again(void **state)
{
    struct assay_model_counts before, after;
    struct assay_model *model = NULL;
    struct assay_error err = {0};
    char path[] = "/tmp/test_model_api.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(assay_model_open(&model, "zoo:squeezenet1_1", &err), ASSAY_OK);
    assert_true(assay_model_linear(model, "fc", 0, 4, true) < 0);
    before = counts_of(model);
    assert_int_equal(before.macs, 349151936);
    assert_int_equal(assay_model_set_batch(model, 2, &err), ASSAY_OK);
    assert_int_equal(counts_of(model).macs, 2 * 349151936);
    assert_int_equal(assay_model_write_onnx(model, path, &err), ASSAY_OK);
    assay_model_free(model);
    model = NULL;
    assert_int_equal(assay_model_open(&model, path, &err), ASSAY_OK);
    after = counts_of(model);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(assay_model_set_shape(model, "no such input", 1, (const int64_t[]){3}, &err),
                     ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "it has: input"));
    assert_int_equal(assay_model_count(model, &after, &err), ASSAY_OK);
    assay_model_free(model);
    unlink(path);
    assert_true(assay_model_open(&model, "/nowhere/at/all.onnx", &err) < 0);
    assert_null(model);
}

/* Describes, counts and writes; 0 or the code of whatever failed. */
static int whole_life(const char *path)
{
    const int64_t dims[] = {-1, 8, 16};
    struct assay_attention attention = assay_attention_make(2);
    struct assay_model_counts counts;
    struct assay_model *model = new_model();
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 3, dims), rc;

    attention.causal = true;
    assay_model_scope_begin(model, "block");
    x = assay_model_attention(model, "attn", x, -1, &attention);
    x = assay_model_lstm(model, NULL, assay_model_layer_norm(model, NULL, x, 0), 4, true);
    assay_model_scope_end(model);
    x = assay_model_linear_quantized(model, "head", x, 3, 4, true); /* raises the opset */
    assay_model_output(model, assay_model_rms_norm(model, NULL, x, 0), "y");
    rc = assay_model_set_batch(model, 2, NULL);
    (void)unlink(path); /* a model is not replaced */
    if (rc == ASSAY_OK)
        rc = assay_model_count(model, &counts, NULL);
    if (rc == ASSAY_OK)
        rc = assay_model_write_onnx(model, path, NULL);
    assay_model_free(model);
    return rc;
}

static void running_out_of_memory_is_an_ordinary_error(void **state)
{
    char path[] = "/tmp/test_model_api.XXXXXX";
    int fd = mkstemp(path), rc = ASSAY_ERR_NOMEM;
    uint64_t nth = 0;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    as_alloc_fail_at(0, 0);
    assert_int_equal(whole_life(path), ASSAY_OK);
    for (; as_alloc_count() > 0 && rc != ASSAY_OK && nth < 5000; nth++) {
        as_alloc_fail_at(nth + 1, 1);
        rc = whole_life(path);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        as_alloc_fail_at(UINT64_MAX, 0); /* counts, and fails nothing */
        assert_int_equal(whole_life(path), ASSAY_OK);
    }
    as_alloc_fail_at(0, 0);
    assert_true(nth == 0 || rc == ASSAY_OK);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_layers_have_the_textbook_counts),
        cmocka_unit_test(convolutions_have_the_textbook_counts),
        cmocka_unit_test(a_sequence_is_the_sum_of_its_layers),
        cmocka_unit_test(a_model_without_parameters_has_none),
        cmocka_unit_test(tied_tables_are_counted_once),
        cmocka_unit_test(every_layer_can_be_counted),
        cmocka_unit_test(any_operator_can_be_named),
        cmocka_unit_test(an_operator_nobody_knows_is_reported),
        cmocka_unit_test(the_first_mistake_is_told),
        cmocka_unit_test(a_counted_model_does_not_grow),
        cmocka_unit_test(models_are_opened_written_and_opened_again),
        cmocka_unit_test(running_out_of_memory_is_an_ordinary_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
