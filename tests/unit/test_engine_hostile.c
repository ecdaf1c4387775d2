/* tests/unit/test_engine_hostile.c - what a file may hold and no engine can run: it is refused with
 * a sentence, before the first run wherever that can be known, and memory stays bounded. */
#include "body_kit.h"

#include "engine/kernel.h"

static void expect_refusal(struct move_run *r, uint32_t out, int code, const char *words)
{
    assert_int_equal(move_go(r, out, 1), code);
    if (!strstr(r->err.msg, words))
        fail_msg("'%s' has no '%s'", r->err.msg, words);
    /* Nothing was opened, so nothing ran. */
    assert_null(r->engine);
    move_fini(r);
}

static void a_missing_input_is_refused_before_the_run(void **state)
{
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    expect_refusal(&r, KIT_NODE(r.k, AS_OP_Div, x), ASSAY_ERR_FORMAT,
                   "(Div, opset 13) cannot work: input 1 is missing");
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    expect_refusal(&r, KIT_NODE(r.k, AS_OP_Where, x, x, AS_NONE), ASSAY_ERR_FORMAT,
                   "input 2 is missing");
}

static void an_output_without_a_name_is_refused_where_it_is_the_first(void **state)
{
    struct move_run r;
    uint32_t x, y, *ids;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(4));
    y = kit_node(r.k, AS_OP_TopK, 2, (const uint32_t[]){x, KIT_INTS(r.k, 1)}, 2);
    ids = as_arena_zero(&r.k->model->arena, 2, sizeof *ids);
    assert_non_null(ids);
    ids[0] = AS_NONE;
    ids[1] = y + 1;
    r.k->nodes[r.k->n_nodes - 1].outputs = ids;
    expect_refusal(&r, y + 1, ASSAY_ERR_FORMAT, "its first output is left out");
}

static void an_output_that_the_operator_has_not_is_a_failure(void **state)
{
    static const char *const words[] = {"a"};
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_texts(&r, KIT_DIMS(1), words);
    x = kit_node(r.k, AS_OP_StringNormalizer, 1, &x, 2);
    move_fails(&r, x + 1, "it has no output 1 to give");
}

static void a_slope_that_is_wider_than_its_input_is_refused(void **state)
{
    struct move_run r;
    uint32_t x, slope;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(1));
    slope = move_count(&r, AS_DTYPE_F32, KIT_DIMS(4));
    x = kit_node(r.k, AS_OP_PRelu, 2, (const uint32_t[]){x, slope}, 1);
    expect_refusal(&r, x, ASSAY_ERR_FORMAT, "PRelu");
}

static void a_view_with_a_second_output_is_refused(void **state)
{
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    x = kit_node(r.k, AS_OP_Reshape, 2, (const uint32_t[]){x, KIT_INTS(r.k, 4)}, 2);
    expect_refusal(&r, x + 1, ASSAY_ERR_FORMAT, "it has no output 1 to give");
}

static void a_kernel_is_given_no_kind_of_value_that_it_does_not_know(void **state)
{
    static const char *const words[] = {"a", "b"};
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_texts(&r, KIT_DIMS(2), words);
    move_fails(&r, KIT_NODE(r.k, AS_OP_Relu, x), "input 0 holds texts");
    move_init(&r, 13);
    x = KIT_NODE(r.k, AS_OP_SequenceConstruct, move_count(&r, AS_DTYPE_F32, KIT_DIMS(2)));
    move_fails(&r, KIT_NODE(r.k, AS_OP_NonZero, x), "input 0 is not a tensor");
}

static void a_tensor_that_can_never_be_is_refused_before_the_run(void **state)
{
    static const int64_t wide[] = {0, (int64_t)1 << 40, (int64_t)1 << 40};
    struct as_dims dims = {3, {wide[0], wide[1], wide[2]}};
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(1));
    x = KIT_NODE(r.k, AS_OP_Expand, x, KIT_INTS(r.k, 1 << 20, 1 << 20, 1 << 10));
    expect_refusal(&r, x, ASSAY_ERR_LIMIT, "more than 2^48 elements");
    /* Also without a single element: products of its other dimensions would not fit. */
    move_init(&r, 13);
    x = kit_input(r.k, AS_DTYPE_F32, &dims);
    expect_refusal(&r, KIT_NODE(r.k, AS_OP_Relu, x), ASSAY_ERR_LIMIT, "more than 2^48 elements");
}

static void a_plan_past_the_limit_is_refused_before_the_run(void **state)
{
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(1));
    x = KIT_NODE(r.k, AS_OP_Expand, x, KIT_INTS(r.k, 1 << 20, 1 << 10));
    expect_refusal(&r, x, ASSAY_ERR_LIMIT, "running this needs 4.00 GiB, and 0.25 GiB");
}

static void strides_of_an_empty_tensor_do_not_overflow(void **state)
{
    struct as_val val = {.kind = AS_VALUE_TENSOR, .rank = 3, .n = 0};
    int64_t strides[3] = {7, 7, 7};

    (void)state;
    val.dims[0] = INT64_MAX;
    val.dims[1] = INT64_MAX;
    as_strides(&val, strides);
    for (int i = 0; i < 3; i++)
        assert_int_equal(strides[i], 0);
}

static void a_list_in_a_list_in_a_list_is_refused(void **state)
{
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = KIT_NODE(r.k, AS_OP_SequenceConstruct, move_count(&r, AS_DTYPE_F32, KIT_DIMS(2)));
    move_fails(&r, KIT_NODE(r.k, AS_OP_SequenceConstruct, x), "a sequence holds tensors");
}

/* Each round puts together two of the last: 2^64 bytes, were there no limit. */
static void endless_growth_ends_at_the_limit(void **state)
{
    static const struct {
        enum as_op op;
        const char *words;
    } cases[] = {{AS_OP_Concat, "no memory for a tensor"}, {AS_OP_StringConcat, ""}};
    static const char *const text[] = {"ab"};
    static const double rounds = 60, yes = 1;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct move_run r;
        struct body b;
        uint32_t in[3], out;

        move_init(&r, 20);
        in[0] = move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, &rounds);
        in[1] = move_numbers(&r, AS_DTYPE_BOOL, KIT_SCALAR, &yes);
        in[2] = i ? move_texts(&r, KIT_DIMS(1), text) : move_count(&r, AS_DTYPE_F32, KIT_DIMS(1));
        out = kit_node(r.k, AS_OP_Loop, 3, in, 1);
        body_init(&b, &r, 3);
        b.outputs[0] = body_node(&b, AS_OP_Identity, b.inputs[1], AS_NONE);
        b.outputs[1] = body_node(&b, cases[i].op, b.inputs[2], b.inputs[2]);
        body_done(&b, "body", 2);
        assert_int_equal(move_go(&r, out, 1), ASSAY_ERR_NOMEM);
        assert_non_null(strstr(r.err.msg, cases[i].words));
        move_fini(&r);
    }
}

/* What a run must come to is known only when every input is. */
static void a_plan_with_an_open_input_is_not_known(void **state)
{
    struct as_engine_options options = {.reference = true, .infer.keep_unknown = true};
    struct as_dims dims = {1, {AS_DIM_UNKNOWN}};
    struct as_engine_plan plan;
    struct move_run r;
    uint32_t x, out;

    (void)state;
    move_init(&r, 13);
    x = kit_input(r.k, AS_DTYPE_F32, &dims);
    out = KIT_NODE(r.k, AS_OP_Size, kit_input(r.k, AS_DTYPE_F32, &KIT_DIMS(2)));
    (void)x;
    kit_infer(r.k);
    r.k->model->main->outputs = &out;
    r.k->model->main->n_outputs = 1;
    assert_int_equal(as_engine_new(&r.engine, r.k->model, &options, &r.err), ASSAY_OK);
    as_engine_plan(r.engine, &plan);
    assert_false(plan.known);
    move_fini(&r);
}

/* As many taps as there are numbers would be 2^58 steps. */
static void a_window_far_wider_than_its_input_takes_no_longer(void **state)
{
    struct move_run r;
    uint32_t x;

    (void)state;
    move_init(&r, 13);
    x = move_count(&r, AS_DTYPE_F32, KIT_DIMS(1, 1, 2, 2));
    x = KIT_NODE(r.k, AS_OP_MaxPool, x);
    KIT_ATTR_INTS(r.k, "kernel_shape", 1 << 29, 1 << 29);
    KIT_ATTR_INTS(r.k, "pads", 1 << 28, 1 << 28, (1 << 28) - 2, (1 << 28) - 2);
    assert_int_equal(move_go(&r, x, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 3);
    move_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_input_is_refused_before_the_run),
        cmocka_unit_test(an_output_without_a_name_is_refused_where_it_is_the_first),
        cmocka_unit_test(an_output_that_the_operator_has_not_is_a_failure),
        cmocka_unit_test(a_slope_that_is_wider_than_its_input_is_refused),
        cmocka_unit_test(a_view_with_a_second_output_is_refused),
        cmocka_unit_test(a_kernel_is_given_no_kind_of_value_that_it_does_not_know),
        cmocka_unit_test(a_tensor_that_can_never_be_is_refused_before_the_run),
        cmocka_unit_test(a_plan_past_the_limit_is_refused_before_the_run),
        cmocka_unit_test(strides_of_an_empty_tensor_do_not_overflow),
        cmocka_unit_test(a_list_in_a_list_in_a_list_is_refused),
        cmocka_unit_test(endless_growth_ends_at_the_limit),
        cmocka_unit_test(a_plan_with_an_open_input_is_not_known),
        cmocka_unit_test(a_window_far_wider_than_its_input_takes_no_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
