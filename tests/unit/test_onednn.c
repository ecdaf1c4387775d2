/* tests/unit/test_onednn.c - kernels of oneDNN against those in plain C, in real numbers. */
#include "onednn_kit.h"

static const struct as_seeded weights = {AS_SEEDED_NORMAL, 0, 0.5f};

struct conv_case {
    const char *what;
    int rank; /* with batch and channels */
    int64_t x[5], filters, kernel[3], stride[3], dilation[3], pads[6], group;
    const char *auto_pad;
    const char *post; /* an activation behind it; "residual": an addition, then Relu */
};

static const struct conv_case convs[] = {
    {"odd channels", 4, {1, 3, 9, 11}, 5, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, NULL, NULL},
    {"stride", 4, {2, 16, 14, 14}, 32, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 1, NULL, "Relu"},
    {"pads of each side",
     4,
     {1, 8, 10, 7},
     24,
     {3, 2},
     {2, 1},
     {1, 1},
     {0, 1, 2, 0},
     1,
     NULL,
     NULL},
    {"dilated", 4, {1, 17, 16, 16}, 16, {3, 3}, {1, 1}, {2, 3}, {2, 3, 2, 3}, 1, NULL, "Sigmoid"},
    {"groups", 4, {1, 12, 8, 8}, 18, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 3, NULL, "HardSwish"},
    {"groups of 16", 4, {1, 32, 8, 8}, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2, NULL, NULL},
    {"depthwise", 4, {1, 20, 9, 9}, 20, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 20, NULL, "Relu"},
    {"pointwise", 4, {2, 40, 7, 7}, 48, {1, 1}, {1, 1}, {1, 1}, {0}, 1, NULL, "Tanh"},
    {"pointwise stride", 4, {1, 64, 8, 8}, 32, {1, 1}, {2, 2}, {1, 1}, {0}, 1, NULL, NULL},
    {"residual", 4, {1, 32, 7, 7}, 32, {1, 1}, {1, 1}, {1, 1}, {0}, 1, NULL, "residual"},
    {"large residual",
     4,
     {1, 32, 20, 20},
     32,
     {3, 3},
     {1, 1},
     {1, 1},
     {1, 1, 1, 1},
     1,
     NULL,
     "residual"},
    {"same upper", 4, {1, 4, 9, 10}, 8, {3, 4}, {2, 2}, {1, 1}, {0}, 1, "SAME_UPPER", NULL},
    {"same lower", 4, {1, 4, 9, 10}, 8, {3, 4}, {2, 2}, {1, 1}, {0}, 1, "SAME_LOWER", "Elu"},
    {"one axis", 3, {2, 6, 31}, 10, {5}, {2}, {2}, {3, 1}, 1, NULL, "Relu"},
    {"three axes",
     5,
     {1, 4, 6, 7, 8},
     6,
     {3, 2, 3},
     {1, 2, 1},
     {1, 1, 1},
     {1, 0, 1, 1, 1, 1},
     1,
     NULL,
     NULL},
    {"a wide window", 4, {1, 3, 30, 30}, 16, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, 1, NULL, "Relu"},
};

/* The spatial attributes of a case. */
static uint32_t window_attrs(const struct conv_case *c, struct as_attr *attrs)
{
    uint32_t n = (uint32_t)c->rank - 2, count = 0;

    attrs[count++] = as_attr_of_ints("strides", c->stride, n);
    attrs[count++] = as_attr_of_ints("dilations", c->dilation, n);
    attrs[count++] = as_attr_of_int("group", c->group);
    if (c->auto_pad)
        attrs[count++] = as_attr_of_text("auto_pad", c->auto_pad, strlen(c->auto_pad));
    else
        attrs[count++] = as_attr_of_ints("pads", c->pads, 2 * n);
    return count;
}

static void build_conv(struct as_builder *b, const void *how)
{
    const struct conv_case *c = how;
    struct as_dims x = {.rank = c->rank}, w = {.rank = c->rank};
    struct as_attr attrs[8];
    uint32_t in, out, n = window_attrs(c, attrs);

    memcpy(x.at, c->x, sizeof c->x);
    w.at[0] = c->filters;
    w.at[1] = c->x[1] / c->group;
    memcpy(w.at + 2, c->kernel, sizeof c->kernel);
    in = as_build_input(b, "x", AS_DTYPE_F32, &x, NULL);
    out = as_build_one(b,
                       &(struct as_build_node){
                           .op = "Conv",
                           AS_BUILD_IN(in, as_build_param(b, "w", &w, &weights),
                                       as_build_param(b, "b", PAIR_DIMS(c->filters), &weights)),
                           .attrs = attrs,
                           .n_attrs = n},
                       NULL);
    if (c->post && strcmp(c->post, "residual") == 0) {
        out = as_build_one(b, &(struct as_build_node){.op = "Add", AS_BUILD_IN(out, in)}, NULL);
        out = as_build_one(b, &(struct as_build_node){.op = "Relu", AS_BUILD_IN(out)}, NULL);
    } else if (c->post) {
        out = as_build_one(b, &(struct as_build_node){.op = c->post, AS_BUILD_IN(out)}, NULL);
    }
    as_build_output(b, out, "y");
}

static void convolutions_are_those_of_plain_c(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(convs); i++) {
        struct pair p = {0};

        pair_open(&p, build_conv, &convs[i]);
        pair_same(&p, convs[i].what);
        if (pair_has_library(&p))
            assert_string_not_equal(pair_kernel(&p, "Conv"), "plain C");
        pair_close(&p);
    }
}

static void build_transpose(struct as_builder *b, const void *how)
{
    const struct conv_case *c = how;
    struct as_dims x = {.rank = c->rank}, w = {.rank = c->rank};
    struct as_attr attrs[8];
    uint32_t n = window_attrs(c, attrs);

    memcpy(x.at, c->x, sizeof c->x);
    w.at[0] = c->x[1];
    w.at[1] = c->filters / c->group;
    memcpy(w.at + 2, c->kernel, sizeof c->kernel);
    as_build_output(
        b,
        as_build_one(b,
                     &(struct as_build_node){
                         .op = "ConvTranspose",
                         AS_BUILD_IN(as_build_input(b, "x", AS_DTYPE_F32, &x, NULL),
                                     as_build_param(b, "w", &w, &weights),
                                     as_build_param(b, "b", PAIR_DIMS(c->filters), &weights)),
                         .attrs = attrs,
                         .n_attrs = n},
                     NULL),
        "y");
}

static void transposed_convolutions_too(void **state)
{
    static const struct conv_case cases[] = {
        {"up by two", 4, {1, 16, 7, 7}, 8, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 1, NULL, NULL},
        {"groups", 4, {1, 8, 5, 6}, 12, {3, 3}, {2, 1}, {1, 1}, {0, 1, 1, 0}, 2, NULL, NULL},
        {"same", 4, {1, 3, 5, 5}, 4, {3, 3}, {2, 2}, {1, 1}, {0}, 1, "SAME_UPPER", NULL},
        {"dilated", 4, {2, 3, 5, 5}, 4, {3, 3}, {1, 1}, {2, 2}, {0}, 1, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct pair p = {0};

        pair_open(&p, build_transpose, &cases[i]);
        pair_same(&p, cases[i].what);
        pair_close(&p);
    }
}

struct product_case {
    const char *what;
    struct as_dims a, b;
    bool constant;
};

static void build_product(struct as_builder *b, const void *how)
{
    const struct product_case *c = how;
    uint32_t left = as_build_input(b, "a", AS_DTYPE_F32, &c->a, NULL);
    uint32_t right = c->constant ? as_build_param(b, "b", &c->b, &weights)
                                 : as_build_input(b, "b", AS_DTYPE_F32, &c->b, NULL);

    as_build_output(
        b, as_build_one(b, &(struct as_build_node){.op = "MatMul", AS_BUILD_IN(left, right)}, NULL),
        "y");
}

static void products_of_any_axes_are_right(void **state)
{
    static const struct product_case cases[] = {
        {"matrices", {2, {7, 33}}, {2, {33, 19}}, true},
        {"a row", {2, {1, 64}}, {2, {64, 50}}, true},
        {"batches of one matrix", {4, {2, 3, 5, 8}}, {2, {8, 6}}, true},
        {"batches", {4, {2, 3, 5, 8}}, {4, {2, 3, 8, 4}}, false},
        {"repeated right", {4, {2, 3, 5, 8}}, {4, {1, 3, 8, 4}}, false},
        {"repeated left", {3, {1, 5, 8}}, {3, {4, 8, 3}}, false},
        {"a vector", {1, {8}}, {2, {8, 3}}, false},
        {"by a vector", {3, {2, 4, 8}}, {1, {8}}, true},
        {"of vectors", {1, {8}}, {1, {8}}, false},
        {"large and plain", {2, {40, 700}}, {2, {700, 600}}, false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct pair p = {0};

        pair_open(&p, build_product, &cases[i]);
        pair_same(&p, cases[i].what);
        if (pair_has_library(&p))
            assert_string_not_equal(pair_kernel(&p, "MatMul"), "plain C");
        pair_close(&p);
    }
}

struct gemm_case {
    const char *what;
    int64_t turn_a, turn_b;
    double alpha, beta;
    struct as_dims c;
};

static void build_gemm(struct as_builder *b, const void *how)
{
    const struct gemm_case *g = how;
    const struct as_dims *a = g->turn_a ? PAIR_DIMS(20, 6) : PAIR_DIMS(6, 20);
    const struct as_dims *w = g->turn_b ? PAIR_DIMS(9, 20) : PAIR_DIMS(20, 9);
    uint32_t in[3] = {as_build_input(b, "a", AS_DTYPE_F32, a, NULL),
                      as_build_param(b, "w", w, &weights)};

    if (g->c.rank)
        in[2] = as_build_param(b, "c", &g->c, &weights);
    as_build_output(
        b,
        as_build_one(b,
                     &(struct as_build_node){.op = "Gemm",
                                             .inputs = in,
                                             .n_inputs = g->c.rank ? 3 : 2,
                                             AS_BUILD_ATTR(as_attr_of_int("transA", g->turn_a),
                                                           as_attr_of_int("transB", g->turn_b),
                                                           as_attr_of_float("alpha", g->alpha),
                                                           as_attr_of_float("beta", g->beta))},
                     NULL),
        "y");
}

static void gemm_turns_scales_and_adds(void **state)
{
    static const struct gemm_case cases[] = {
        {"plain", 0, 0, 1, 1, {1, {9}}},
        {"turned", 1, 1, 1, 1, {1, {9}}},
        {"scaled", 0, 1, 0.5, 1, {0}},
        {"scaled bias", 0, 1, 0.5, 2, {1, {9}}},
        {"bias of rows", 0, 0, 1, 1, {2, {6, 1}}},
        {"a row", 0, 1, 1, 1, {2, {1, 9}}},
        {"whole", 0, 0, 1, 1, {2, {6, 9}}},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct pair p = {0};

        pair_open(&p, build_gemm, &cases[i]);
        pair_same(&p, cases[i].what);
        pair_close(&p);
    }
}

struct chain_case {
    const char *op;
    struct as_attr attrs[4];
    size_t n_attrs;
    int64_t second[4]; /* of a second tensor, a constant; 0: none */
};

/* A convolution in front, so that the operator meets a layout that is not plain. */
static void build_chain(struct as_builder *b, const void *how)
{
    const struct chain_case *c = how;
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(2, 10, 9, 8), NULL), in[2];

    in[0] =
        as_build_one(b,
                     &(struct as_build_node){
                         .op = "Conv",
                         AS_BUILD_IN(x, as_build_param(b, "w", PAIR_DIMS(24, 10, 1, 1), &weights))},
                     PAIR_DIMS(2, 24, 9, 8));
    if (c->second[0])
        in[1] = as_build_param(
            b, "s", PAIR_DIMS(c->second[0], c->second[1], c->second[2], c->second[3]), &weights);
    as_build_output(b,
                    as_build_one(b,
                                 &(struct as_build_node){.op = c->op,
                                                         .inputs = in,
                                                         .n_inputs = c->second[0] ? 2 : 1,
                                                         .attrs = c->attrs,
                                                         .n_attrs = c->n_attrs},
                                 NULL),
                    "y");
    as_build_output(b, in[0], "kept"); /* so that nothing is fused */
}

static const int64_t three[] = {3, 3}, two[] = {2, 2}, ones[] = {1, 1, 1, 1},
                     uneven[] = {0, 1, 1, 0};

static void operators_behind_a_convolution_are_right(void **state)
{
    static const struct chain_case cases[] = {
        {"Relu", {{0}}, 0, {0}},
        {"Elu", {{0}}, 0, {0}},
        {"Tanh", {{0}}, 0, {0}},
        {"HardSigmoid", {{0}}, 0, {0}},
        {"LeakyRelu", {{.name = "alpha", .kind = AS_ATTR_FLOAT, .f = 0.3}}, 1, {0}},
        {"Add", {{0}}, 0, {2, 24, 9, 8}},
        {"Mul", {{0}}, 0, {1, 24, 1, 1}},
        {"Sub", {{0}}, 0, {1, 1, 1, 1}},
        {"Max", {{0}}, 0, {2, 24, 9, 8}},
        {"PRelu", {{0}}, 0, {1, 24, 1, 1}},
        {"GlobalAveragePool", {{0}}, 0, {0}},
        {"GlobalMaxPool", {{0}}, 0, {0}},
        {"MaxPool",
         {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .n = 2, .ints = three},
          {.name = "strides", .kind = AS_ATTR_INTS, .n = 2, .ints = two},
          {.name = "pads", .kind = AS_ATTR_INTS, .n = 4, .ints = ones}},
         3,
         {0}},
        {"AveragePool",
         {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .n = 2, .ints = three},
          {.name = "pads", .kind = AS_ATTR_INTS, .n = 4, .ints = uneven}},
         2,
         {0}},
        {"AveragePool",
         {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .n = 2, .ints = three},
          {.name = "pads", .kind = AS_ATTR_INTS, .n = 4, .ints = uneven},
          {.name = "count_include_pad", .kind = AS_ATTR_INT, .i = 1}},
         3,
         {0}},
        {"MaxPool",
         {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .n = 2, .ints = two},
          {.name = "strides", .kind = AS_ATTR_INTS, .n = 2, .ints = three},
          {.name = "ceil_mode", .kind = AS_ATTR_INT, .i = 1}},
         3,
         {0}},
        {"Concat", {{.name = "axis", .kind = AS_ATTR_INT, .i = 1}}, 1, {2, 7, 9, 8}},
        {"Softmax", {{.name = "axis", .kind = AS_ATTR_INT, .i = 1}}, 1, {0}},
        {"LRN", {{.name = "size", .kind = AS_ATTR_INT, .i = 5}}, 1, {0}},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct pair p = {0};

        pair_open(&p, build_chain, &cases[i]);
        pair_same(&p, cases[i].op);
        pair_close(&p);
    }
}

/* Of a picture of one pixel the layouts are one: Flatten and Gemm take it as it is. */
static void build_classifier(struct as_builder *b, const void *how)
{
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(2, 8, 6, 6), NULL);

    (void)how;
    x = as_build_one(
        b,
        &(struct as_build_node){
            .op = "Conv", AS_BUILD_IN(x, as_build_param(b, "w", PAIR_DIMS(20, 8, 3, 3), &weights))},
        NULL);
    x = as_build_one(b, &(struct as_build_node){.op = "GlobalAveragePool", AS_BUILD_IN(x)}, NULL);
    x = as_build_one(b, &(struct as_build_node){.op = "Flatten", AS_BUILD_IN(x)}, NULL);
    x = as_build_one(
        b,
        &(struct as_build_node){.op = "Gemm",
                                AS_BUILD_IN(x, as_build_param(b, "f", PAIR_DIMS(20, 5), &weights))},
        NULL);
    as_build_output(b, x, "y");
}

static void one_pixel_needs_no_reorder(void **state)
{
    struct pair p = {0};

    (void)state;
    pair_open(&p, build_classifier, NULL);
    pair_same(&p, "a classifier");
    if (pair_has_library(&p))
        assert_int_equal(pair_reorders(&p), 1); /* that of the input */
    pair_close(&p);
}

/* A run in separate memory gives the same numbers, and so does one after it. */
static void runs_in_separate_memory_are_the_same(void **state)
{
    struct assay_error err = {0};
    struct pair p = {0};

    (void)state;
    pair_open(&p, build_conv, &convs[10]);
    assert_int_equal(as_engine_run(p.engine[1], AS_RUN_MEMORY, NULL, &err), ASSAY_OK);
    pair_same(&p, "memory");
    assert_int_equal(as_engine_run(p.engine[1], AS_RUN_PLAIN, NULL, &err), ASSAY_OK);
    pair_same(&p, "once more");
    pair_close(&p);
}

/* How many numbers are not zero is known only while running. */
static void build_dynamic(struct as_builder *b, const void *how)
{
    static const int64_t turned[] = {1, 0};
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, PAIR_DIMS(6, 5), NULL);

    (void)how;
    x = as_build_one(b, &(struct as_build_node){.op = "NonZero", AS_BUILD_IN(x)}, NULL);
    x = as_build_one(b,
                     &(struct as_build_node){.op = "Transpose",
                                             AS_BUILD_IN(x),
                                             AS_BUILD_ATTR(as_attr_of_ints("perm", turned, 2))},
                     NULL);
    x = as_build_one(b,
                     &(struct as_build_node){
                         .op = "Cast", AS_BUILD_IN(x), AS_BUILD_ATTR(as_attr_of_int("to", 1))},
                     NULL);
    x = as_build_one(
        b,
        &(struct as_build_node){.op = "MatMul",
                                AS_BUILD_IN(x, as_build_param(b, "w", PAIR_DIMS(2, 40), &weights))},
        NULL);
    as_build_output(b, x, "y");
}

static void shapes_that_come_again_get_a_kernel(void **state)
{
    struct assay_error err = {0};
    struct pair p = {0};

    (void)state;
    pair_open(&p, build_dynamic, NULL);
    pair_same(&p, "the first run");
    assert_string_equal(pair_kernel(&p, "MatMul"), "plain C");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(as_engine_run(p.engine[1], AS_RUN_PLAIN, NULL, &err), ASSAY_OK);
        pair_same(&p, "another run");
    }
    if (pair_has_library(&p))
        assert_string_not_equal(pair_kernel(&p, "MatMul"), "plain C");
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_those_of_plain_c),
        cmocka_unit_test(transposed_convolutions_too),
        cmocka_unit_test(products_of_any_axes_are_right),
        cmocka_unit_test(gemm_turns_scales_and_adds),
        cmocka_unit_test(operators_behind_a_convolution_are_right),
        cmocka_unit_test(one_pixel_needs_no_reorder),
        cmocka_unit_test(runs_in_separate_memory_are_the_same),
        cmocka_unit_test(shapes_that_come_again_get_a_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
