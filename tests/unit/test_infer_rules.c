/* tests/unit/test_infer_rules.c - shapes of operators as versions and attributes change them, what
 * stays open when a dimension does, and inputs that can never work. */
#include "graph_kit.h"

#define OPEN AS_DIM_UNKNOWN

static uint32_t f32(struct kit *k, struct as_dims dims)
{
    return kit_input(k, AS_DTYPE_F32, &dims);
}

static void arithmetic_broadcasts_and_keeps_open_dimensions(void **state)
{
    struct kit *k = kit_new(14);
    uint32_t sum = KIT_NODE(k, AS_OP_Add, f32(k, KIT_DIMS(OPEN, 1, 5)), f32(k, KIT_DIMS(3, 1)));
    uint32_t less = KIT_NODE(k, AS_OP_Less, f32(k, KIT_DIMS(OPEN, 4)), f32(k, KIT_DIMS(7, 4)));

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, sum, "f32 ?x3x5");
    kit_expect(k, less, "bool 7x4");
    kit_free(k);
}

static void what_cannot_be_broadcast_names_its_node(void **state)
{
    struct kit *k = kit_new(14);

    (void)state;
    KIT_NODE(k, AS_OP_Mul, f32(k, KIT_DIMS(2, 3)), f32(k, KIT_DIMS(2, 4)));
    assert_int_equal(kit_infer(k), ASSAY_ERR_FORMAT);
    assert_string_equal(k->err.msg, "node 'v2' (Mul): 2x3 and 2x4 cannot be broadcast together");
    kit_free(k);
}

static void reshape_of_an_open_batch_cancels_what_it_copies(void **state)
{
    struct kit *k = kit_new(14);
    uint32_t x = f32(k, KIT_DIMS(OPEN, 12, 64));
    uint32_t flat = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 0, -1));
    uint32_t other = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, -1, 768));
    uint32_t fixed = KIT_NODE(k, AS_OP_Reshape, f32(k, KIT_DIMS(4, 6)), KIT_INTS(k, 2, -1, 3));

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, flat, "f32 ?x768");
    kit_expect(k, other, "f32 ?x768");
    kit_expect(k, fixed, "f32 2x4x3");
    kit_free(k);
}

static void reshape_of_zero_copies_unless_zero_is_allowed(void **state)
{
    struct kit *k = kit_new(14);
    uint32_t copied = KIT_NODE(k, AS_OP_Reshape, f32(k, KIT_DIMS(3, 4)), KIT_INTS(k, 0, 4));
    uint32_t zero = KIT_NODE(k, AS_OP_Reshape, f32(k, KIT_DIMS(0, 4)), KIT_INTS(k, 2, 0));

    (void)state;
    kit_attr_int(k, "allowzero", 1);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, copied, "f32 3x4");
    kit_expect(k, zero, "f32 2x0");
    kit_free(k);
}

static void reshape_that_loses_elements_is_a_conflict(void **state)
{
    static const int64_t wrong[][2] = {{5, 5}, {-1, 5}, {-1, -1}, {-2, 3}};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        struct kit *k = kit_new(14);

        KIT_NODE(k, AS_OP_Reshape, f32(k, KIT_DIMS(4, 6)), kit_ints(k, 2, wrong[i]));
        assert_int_equal(kit_infer(k), ASSAY_ERR_FORMAT);
        kit_free(k);
    }
}

static void axes_are_an_attribute_or_an_input(void **state)
{
    struct kit *k = kit_new(11);
    uint32_t x = f32(k, KIT_DIMS(2, 1, 3)), old, new, sum, all, none;

    (void)state;
    old = KIT_NODE(k, AS_OP_Squeeze, x);
    KIT_ATTR_INTS(k, "axes", 1);
    new = KIT_NODE(k, AS_OP_Unsqueeze, x, KIT_INTS(k, -1, 0));
    sum = KIT_NODE(k, AS_OP_ReduceSum, x, KIT_INTS(k, 0, -1));
    kit_attr_int(k, "keepdims", 0);
    all = KIT_NODE(k, AS_OP_ReduceMean, x);
    kit_attr_int(k, "keepdims", 0);
    none = KIT_NODE(k, AS_OP_ReduceMax, x);
    kit_attr_int(k, "noop_with_empty_axes", 1);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, old, "f32 2x3");
    kit_expect(k, new, "f32 1x2x1x3x1");
    kit_expect(k, sum, "f32 1");
    kit_expect(k, all, "f32 scalar");
    kit_expect(k, none, "f32 2x1x3");
    kit_free(k);
}

static void axes_that_are_not_known_leave_the_rank(void **state)
{
    struct kit *k = kit_new(18);
    struct as_dims two = KIT_DIMS(2);
    uint32_t x = f32(k, KIT_DIMS(2, 3, 4)), axes = kit_input(k, AS_DTYPE_I64, &two), keep, drop;

    (void)state;
    keep = KIT_NODE(k, AS_OP_ReduceSum, x, axes);
    drop = KIT_NODE(k, AS_OP_ReduceSum, x, axes);
    kit_attr_int(k, "keepdims", 0);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, keep, "f32 ?x?x?");
    kit_expect(k, drop, "f32 ?");
    assert_int_equal(k->model->values[drop].type.rank, 1);
    assert_true(k->model->n_findings > 0);
    kit_free(k);
}

static void slices_clamp_as_numpy_does(void **state)
{
    static const struct {
        int64_t start, end, step;
        const char *expected;
    } cases[] = {
        {0, INT64_MAX, 1, "f32 10"},
        {-3, INT64_MAX, 1, "f32 3"},
        {2, -2, 2, "f32 3"},
        {-1, INT64_MIN, -1, "f32 10"},
        {100, -100, -3, "f32 4"},
        {5, 5, 1, "f32 0"},
        {0, 10, INT64_MAX, "f32 1"},
        {9, INT64_MIN, INT64_MIN, "f32 1"},
        {INT64_MIN, INT64_MAX, 3, "f32 4"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct kit *k = kit_new(13);
        uint32_t out =
            KIT_NODE(k, AS_OP_Slice, f32(k, KIT_DIMS(10)), KIT_INTS(k, cases[i].start),
                     KIT_INTS(k, cases[i].end), KIT_INTS(k, 0), KIT_INTS(k, cases[i].step));

        assert_int_equal(kit_infer(k), ASSAY_OK);
        kit_expect(k, out, cases[i].expected);
        kit_free(k);
    }
}

static void slice_of_the_old_kind_has_attributes(void **state)
{
    struct kit *k = kit_new(9);
    uint32_t out = KIT_NODE(k, AS_OP_Slice, f32(k, KIT_DIMS(8, 9)));

    (void)state;
    KIT_ATTR_INTS(k, "starts", 1, -3);
    KIT_ATTR_INTS(k, "ends", 5, INT64_MAX);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, out, "f32 4x3");
    kit_free(k);
}

static void split_makes_equal_given_or_rest_parts(void **state)
{
    struct kit *k = kit_new(18);
    uint32_t x = f32(k, KIT_DIMS(2, 7)), rest, given;

    (void)state;
    rest = kit_node(k, AS_OP_Split, 1, &x, 3);
    kit_attr_int(k, "axis", -1);
    kit_attr_int(k, "num_outputs", 3);
    given = kit_node(k, AS_OP_Split, 2, (const uint32_t[]){x, KIT_INTS(k, 5, 2)}, 2);
    kit_attr_int(k, "axis", 1);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, rest, "f32 2x3");
    kit_expect(k, rest + 2, "f32 2x1");
    kit_expect(k, given, "f32 2x5");
    kit_expect(k, given + 1, "f32 2x2");
    kit_free(k);
}

static void pads_may_be_negative_and_of_some_axes(void **state)
{
    struct kit *k = kit_new(18);
    uint32_t x = f32(k, KIT_DIMS(4, 5));
    uint32_t all = KIT_NODE(k, AS_OP_Pad, x, KIT_INTS(k, 1, -1, 2, 0));
    uint32_t some = KIT_NODE(k, AS_OP_Pad, x, KIT_INTS(k, 3, 4), AS_NONE, KIT_INTS(k, -1));

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, all, "f32 7x4");
    kit_expect(k, some, "f32 4x12");
    kit_free(k);
}

static void products_of_vectors_and_batches(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t dot = KIT_NODE(k, AS_OP_MatMul, f32(k, KIT_DIMS(4)), f32(k, KIT_DIMS(4)));
    uint32_t row = KIT_NODE(k, AS_OP_MatMul, f32(k, KIT_DIMS(4)), f32(k, KIT_DIMS(2, 4, 5)));
    uint32_t many =
        KIT_NODE(k, AS_OP_MatMul, f32(k, KIT_DIMS(OPEN, 1, 3, 4)), f32(k, KIT_DIMS(2, 4, 5)));
    uint32_t gemm = KIT_NODE(k, AS_OP_Gemm, f32(k, KIT_DIMS(4, 3)), f32(k, KIT_DIMS(5, 4)));

    (void)state;
    kit_attr_int(k, "transA", 1);
    kit_attr_int(k, "transB", 1);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, dot, "f32 scalar");
    kit_expect(k, row, "f32 2x5");
    kit_expect(k, many, "f32 ?x2x3x5");
    kit_expect(k, gemm, "f32 3x5");
    kit_free(k);
}

static void einsum_reads_its_whole_grammar(void **state)
{
    static const struct {
        const char *equation, *expected;
    } cases[] = {
        {"ij,jk->ik", "f32 3x5"},          {"ij,jk", "f32 3x5"},
        {" i j , j k -> k i ", "f32 5x3"}, {"ij,jk->", "f32 scalar"},
        {"...j,jk->...k", "f32 3x5"},      {"bj,jB", "f32 5x3"},
        {"i...,...k->...", "f32 4"},       {"ij,jk->ijk", "f32 3x4x5"},
    };
    static const char *const wrong[] = {"ij->ij",    "ij,jk->iz",    "i,jk->i",
                                        "i1,jk",     "ij,jk->ii",    "",
                                        "......,jk", "ij,jk,kl->il", "ij,ik->jk"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases) + UNIT_COUNT(wrong); i++) {
        bool right = i < UNIT_COUNT(cases);
        struct kit *k = kit_new(13);
        uint32_t out = KIT_NODE(k, AS_OP_Einsum, f32(k, KIT_DIMS(3, 4)), f32(k, KIT_DIMS(4, 5)));

        kit_attr_text(k, "equation", right ? cases[i].equation : wrong[i - UNIT_COUNT(cases)]);
        assert_int_equal(kit_infer(k), right ? ASSAY_OK : ASSAY_ERR_FORMAT);
        if (right)
            kit_expect(k, out, cases[i].expected);
        kit_free(k);
    }
}

static void dropout_masks_are_bool_since_opset_10(void **state)
{
    (void)state;
    for (int64_t opset = 7; opset <= 13; opset += 3) {
        struct kit *k = kit_new(opset);
        uint32_t x = f32(k, KIT_DIMS(2)), out = kit_node(k, AS_OP_Dropout, 1, &x, 2);

        assert_int_equal(kit_infer(k), ASSAY_OK);
        kit_expect(k, out, "f32 2");
        kit_expect(k, out + 1, opset < 10 ? "f32 2" : "bool 2");
        kit_free(k);
    }
}

static void old_broadcasts_keep_the_first_shape(void **state)
{
    struct kit *k = kit_new(6);
    uint32_t out = KIT_NODE(k, AS_OP_Add, f32(k, KIT_DIMS(2, 3, 4)), f32(k, KIT_DIMS(3)));

    (void)state;
    kit_attr_int(k, "broadcast", 1);
    kit_attr_int(k, "axis", 1);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, out, "f32 2x3x4");
    kit_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_broadcasts_and_keeps_open_dimensions),
        cmocka_unit_test(what_cannot_be_broadcast_names_its_node),
        cmocka_unit_test(reshape_of_an_open_batch_cancels_what_it_copies),
        cmocka_unit_test(reshape_of_zero_copies_unless_zero_is_allowed),
        cmocka_unit_test(reshape_that_loses_elements_is_a_conflict),
        cmocka_unit_test(axes_are_an_attribute_or_an_input),
        cmocka_unit_test(axes_that_are_not_known_leave_the_rank),
        cmocka_unit_test(slices_clamp_as_numpy_does),
        cmocka_unit_test(slice_of_the_old_kind_has_attributes),
        cmocka_unit_test(split_makes_equal_given_or_rest_parts),
        cmocka_unit_test(pads_may_be_negative_and_of_some_axes),
        cmocka_unit_test(products_of_vectors_and_batches),
        cmocka_unit_test(einsum_reads_its_whole_grammar),
        cmocka_unit_test(dropout_masks_are_bool_since_opset_10),
        cmocka_unit_test(old_broadcasts_keep_the_first_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
