/* assay/model.h used wrongly: NULL everywhere, sizes that fit no input, growing what cannot grow.
 * Each is answered by a code and a sentence, and nothing else changes. */
#include "unit.h"

#include <assay/model.h>
#include <stdio.h>

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

static struct assay_model *described(int *x)
{
    static const char *const symbols[] = {"batch", "seq", NULL};
    const int64_t dims[] = {-1, -1, 8};
    struct assay_model *model = new_model();

    assert_non_null(model);
    *x = assay_model_input_named(model, "x", ASSAY_DTYPE_F32, 3, dims, symbols);
    return model;
}

static int64_t macs_of(struct assay_model *model)
{
    struct assay_model_counts counts;
    struct assay_error err = {0};

    if (assay_model_count(model, &counts, &err) < 0)
        fail_msg("%s", err.msg);
    return (int64_t)counts.macs;
}

/* Calls that ask need no description to be refused. */
static void asking_with_null_is_refused(void **state)
{
    struct assay_model_counts counts;
    struct assay_model_layer layer;
    struct assay_error err = {0};
    int64_t dims[4] = {1};
    int x;
    struct assay_model *model = described(&x), *opened = NULL;

    (void)state;
    assert_int_equal(assay_model_open(NULL, "zoo:mlp", &err), ASSAY_ERR_USAGE);
    assert_true(strlen(err.msg) > 10);
    assert_int_equal(assay_model_open(&opened, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_open(NULL, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_dims(model, x, NULL, 4), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_dims(model, x, NULL, 0), 3);
    assert_int_equal(assay_model_set_shape(model, NULL, 1, dims, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_set_shape(model, "x", 3, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_set_dim(model, NULL, 1, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_count(model, NULL, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "counts"));
    assert_int_equal(assay_model_count(model, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_write_onnx(model, NULL, &err), ASSAY_ERR_USAGE);
    /* none of these linked the model */
    assert_true(assay_model_linear(model, "fc", x, 4, true) >= 0);
    assert_int_equal(assay_model_count(model, &counts, NULL), ASSAY_OK);
    assert_int_equal(assay_model_layer_at(model, 0, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_layer_at(model, 0, &layer), ASSAY_OK);
    assay_model_free(model);
}

typedef int (*refuse)(struct assay_model *model, int x);

static int null_dims(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_input(m, NULL, ASSAY_DTYPE_F32, 2, NULL);
}
static int null_dims_named(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_input_named(m, NULL, ASSAY_DTYPE_F32, 2, NULL, NULL);
}
static int null_data(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_constant(m, NULL, ASSAY_DTYPE_F32, 0, NULL, NULL);
}
static int null_param(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_parameter(m, NULL, 2, NULL, 1);
}
static int null_typed(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_parameter_typed(m, NULL, ASSAY_DTYPE_I4, 2, NULL, 1);
}
static int no_scale(struct assay_model *m, int x)
{
    return assay_model_quantize(m, NULL, x, -1, -1, 0);
}
static int no_scale_back(struct assay_model *m, int x)
{
    return assay_model_dequantize(m, NULL, x, -1, -1, 0);
}
static int no_input(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_linear_quantized(m, NULL, -1, 4, 8, true);
}
static int no_dtype(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_input(m, NULL, (enum assay_dtype)99, 0, NULL);
}
static int null_conv(struct assay_model *m, int x)
{
    return assay_model_conv2d(m, NULL, x, NULL);
}
static int null_transposed(struct assay_model *m, int x)
{
    return assay_model_conv_transpose2d(m, NULL, x, NULL);
}
static int null_max(struct assay_model *m, int x)
{
    return assay_model_max_pool2d(m, NULL, x, NULL);
}
static int null_avg(struct assay_model *m, int x)
{
    return assay_model_avg_pool2d(m, NULL, x, NULL);
}
static int null_attention(struct assay_model *m, int x)
{
    return assay_model_attention(m, NULL, x, -1, NULL);
}
static int null_attend(struct assay_model *m, int x)
{
    return assay_model_attend(m, NULL, x, x, x, NULL);
}
static int null_tensors(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_concat(m, NULL, NULL, 2, 0);
}
static int null_shape(struct assay_model *m, int x)
{
    return assay_model_reshape(m, NULL, x, 2, NULL);
}
static int null_order(struct assay_model *m, int x)
{
    return assay_model_transpose(m, NULL, x, 3, NULL);
}
static int null_layers(struct assay_model *m, int x)
{
    return assay_model_sequential(m, NULL, x, NULL, 2);
}
static int null_op(struct assay_model *m, int x)
{
    int y;

    return assay_model_node(m, NULL, NULL, &x, 1, NULL, 0, &y, 1);
}
static int null_inputs(struct assay_model *m, int x)
{
    int y;

    (void)x;
    return assay_model_node(m, "Relu", NULL, NULL, 1, NULL, 0, &y, 1);
}
static int null_attrs(struct assay_model *m, int x)
{
    int y;

    return assay_model_node(m, "Relu", NULL, &x, 1, NULL, 1, &y, 1);
}
static int null_outputs(struct assay_model *m, int x)
{
    return assay_model_node(m, "Relu", NULL, &x, 1, NULL, 0, NULL, 1);
}
static int null_attr_name(struct assay_model *m, int x)
{
    const struct assay_attr attr = {.kind = ASSAY_ATTR_TEXT};
    int y;

    return assay_model_node(m, "Relu", NULL, &x, 1, &attr, 1, &y, 1);
}
static int no_tensor(struct assay_model *m, int x)
{
    (void)x;
    return assay_model_linear(m, NULL, -1, 4, true);
}

static const refuse cases[] = {
    null_dims,       null_dims_named, null_data,    null_param,     null_typed,
    no_scale,        no_scale_back,   no_input,     no_dtype,       null_conv,
    null_transposed, null_max,        null_avg,     null_attend,    null_attention,
    null_tensors,    null_shape,      null_order,   null_layers,    null_op,
    null_inputs,     null_attrs,      null_outputs, null_attr_name, no_tensor,
};

static void describing_with_null_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_error err = {0};
        int x;
        struct assay_model *model = described(&x);

        if (cases[i](model, x) != ASSAY_ERR_USAGE)
            fail_msg("case %zu is not refused as wrong use", i);
        assert_int_equal(assay_model_error(model, &err), ASSAY_ERR_USAGE);
        assert_true(strlen(err.msg) > 10);
        assay_model_free(model);
    }
}

/* What assay_model_new() gives when memory ran out may be handed on; every call accepts it. */
static void a_model_that_is_null_is_accepted_everywhere(void **state)
{
    struct assay_model_counts counts;
    struct assay_model_layer layer;
    struct assay_error err = {0};
    int64_t dims[1];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(cases[i](NULL, 0), ASSAY_ERR_NOMEM);
    assay_model_scope_begin(NULL, NULL);
    assay_model_scope_end(NULL);
    assay_model_output(NULL, 0, NULL);
    assay_model_free(NULL);
    assert_true(assay_model_global_avg_pool(NULL, NULL, 0) < 0);
    assert_true(assay_model_adaptive_avg_pool2d(NULL, NULL, 0, 1, 1) < 0);
    assert_true(assay_model_linear_tied(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_batch_norm(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_layer_norm(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_rms_norm(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_group_norm(NULL, NULL, 0, 1, 0) < 0);
    assert_true(assay_model_activation(NULL, ASSAY_ACTIVATION_RELU, NULL, 0) < 0);
    assert_true(assay_model_softmax(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_dropout(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_embedding(NULL, NULL, 0, 1, 1, NULL) < 0);
    assert_true(assay_model_lstm(NULL, NULL, 0, 1, false) < 0);
    assert_true(assay_model_add(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_mul(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_matmul(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_flatten(NULL, NULL, 0, 0) < 0);
    assert_true(assay_model_dims(NULL, 0, dims, 1) < 0);
    assert_true(assay_model_set_shape(NULL, NULL, 0, NULL, NULL) < 0);
    assert_true(assay_model_set_batch(NULL, 1, NULL) < 0);
    assert_true(assay_model_set_dim(NULL, NULL, 0, NULL) < 0);
    assert_true(assay_model_count(NULL, &counts, NULL) < 0);
    assert_true(assay_model_layer_at(NULL, 0, &layer) < 0);
    assert_true(assay_model_count_parameters(NULL) < 0);
    assert_true(assay_model_count_flops(NULL) < 0);
    assert_true(assay_model_write_onnx(NULL, "/tmp/never", NULL) < 0);
    assert_int_equal(assay_model_error(NULL, &err), ASSAY_ERR_NOMEM);
}

static void sizes_that_fit_no_input_change_nothing(void **state)
{
    struct assay_model_counts counts;
    struct assay_error err = {0};
    int x;
    struct assay_model *model = described(&x);

    (void)state;
    assay_model_linear(model, "fc", x, 4, false);
    for (int twice = 0; twice < 2; twice++) { /* before it is linked and after */
        assert_int_equal(assay_model_set_dim(model, "zz", 3, &err), ASSAY_ERR_USAGE);
        assert_non_null(strstr(err.msg, "it has: batch, seq"));
        assert_int_equal(assay_model_set_dim(model, "", 3, &err), ASSAY_ERR_USAGE);
        assert_int_equal(assay_model_set_dim(model, "seq", -3, &err), ASSAY_ERR_USAGE);
        assert_int_equal(assay_model_set_shape(model, "q", 3, (int64_t[]){1, 2, 3}, &err),
                         ASSAY_ERR_USAGE);
        assert_non_null(strstr(err.msg, "it has: x"));
        assert_int_equal(assay_model_set_shape(model, "x", 2, (int64_t[]){1, 2}, &err),
                         ASSAY_ERR_USAGE);
        assert_non_null(strstr(err.msg, "has 3 dimensions"));
        assert_int_equal(assay_model_set_batch(model, -1, &err), ASSAY_ERR_USAGE);
        assert_int_equal(assay_model_set_dim(model, "batch", 1, &err), ASSAY_OK);
        assert_int_equal(assay_model_set_dim(model, "seq", 5, &err), ASSAY_OK);
        assert_int_equal(macs_of(model), 5 * 32);
    }
    assert_int_equal(assay_model_set_dim(model, "seq", 7, &err), ASSAY_OK);
    assert_int_equal(macs_of(model), 7 * 32);
    /* a shape against a dimension given: that count fails, the next one need not */
    assert_int_equal(assay_model_set_shape(model, "x", 3, (int64_t[]){1, 9, 8}, &err), ASSAY_OK);
    assert_int_equal(assay_model_count(model, &counts, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_set_shape(model, "x", 3, (int64_t[]){1, 7, 3}, &err), ASSAY_OK);
    assert_true(assay_model_count(model, &counts, &err) < 0); /* 3 numbers where 8 are used */
    assert_int_equal(assay_model_set_shape(model, "x", 3, (int64_t[]){1, 7, 8}, &err), ASSAY_OK);
    assert_int_equal(macs_of(model), 7 * 32);
    assert_int_equal(assay_model_set_batch(model, 2, &err), ASSAY_OK);
    assert_int_equal(assay_model_count(model, &counts, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_model_set_batch(model, 0, &err), ASSAY_OK);
    assert_int_equal(macs_of(model), 7 * 32);
    assay_model_free(model);
}

/* One rule for both kinds: refused, told, and still to be counted. */
static void what_cannot_grow_can_still_be_counted(void **state)
{
    struct assay_error err = {0};
    int x;
    struct assay_model *model = described(&x), *opened = NULL;

    (void)state;
    x = assay_model_linear(model, "fc", x, 4, true);
    assert_int_equal(assay_model_count_parameters(model), 36);
    assert_int_equal(assay_model_open(&opened, "zoo:mlp:hidden=4,layers=1", NULL), ASSAY_OK);
    for (int i = 0; i < 2; i++) {
        struct assay_model *m = i ? opened : model;
        int64_t before = assay_model_count_parameters(m);

        assert_int_equal(assay_model_error(m, NULL), ASSAY_OK);
        assert_int_equal(assay_model_linear(m, "more", x, 4, true), ASSAY_ERR_STATE);
        assert_int_equal(assay_model_error(m, &err), ASSAY_ERR_STATE);
        assert_non_null(strstr(err.msg, "cannot grow"));
        assert_true(before > 0);
        assert_int_equal(assay_model_count_parameters(m), before);
        assay_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_with_null_is_refused),
        cmocka_unit_test(describing_with_null_is_refused),
        cmocka_unit_test(a_model_that_is_null_is_accepted_everywhere),
        cmocka_unit_test(sizes_that_fit_no_input_change_nothing),
        cmocka_unit_test(what_cannot_grow_can_still_be_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
