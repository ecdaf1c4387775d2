/* tests/unit/test_kern_move.c - kernels that move elements, where ONNX's own cases do not look:
 * indices out of reach, strings, nothing at all, steps backwards, halves. */
#include "kernel_move_kit.h"

static const char *const words[] = {"a", "", "ccc", "dd", "e", "f"};

static void strings_are_transposed_and_owned(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_texts(&r, KIT_DIMS(2, 3), words);
    out = KIT_NODE(r.k, AS_OP_Transpose, in);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT_TEXTS(&r, 0, "a", "dd", "", "e", "ccc", "f");
    assert_ptr_not_equal(((const struct as_text *)as_engine_output(r.engine, 0)->data)[0].at,
                         words[0]);
    move_fini(&r);
}

static void strings_are_sliced_backwards(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_texts(&r, KIT_DIMS(2, 3), words);
    out = KIT_NODE(r.k, AS_OP_Slice, in, MOVE_INTS(&r, -1, 5), MOVE_INTS(&r, -9e18, 0),
                   MOVE_INTS(&r, 0, -1), MOVE_INTS(&r, -1, -2));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    move_expect_dims(&r, 0, KIT_DIMS(2, 1));
    MOVE_EXPECT_TEXTS(&r, 0, "f", "ccc");
    move_fini(&r);
}

static void a_slice_may_be_empty(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(4, 3));
    out = KIT_NODE(r.k, AS_OP_Slice, in, MOVE_INTS(&r, 3), MOVE_INTS(&r, 1), MOVE_INTS(&r, 0));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    move_expect_dims(&r, 0, KIT_DIMS(0, 3));
    move_fini(&r);
}

static void nothing_is_transposed_joined_and_repeated(void **state)
{
    struct move_run r;
    uint32_t in, other, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(0, 3));
    other = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 3));
    out = KIT_NODE(r.k, AS_OP_Concat, in, other, in);
    kit_attr_int(r.k, "axis", 0);
    out = KIT_NODE(r.k, AS_OP_Tile, out, MOVE_INTS(&r, 1, 2));
    (void)KIT_NODE(r.k, AS_OP_Transpose, out);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    MOVE_EXPECT(&r, 1, 0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5);
    move_fini(&r);
}

static void halves_keep_their_bits(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F16, KIT_DIMS(2, 2));
    ((uint16_t *)r.in[0].data)[1] = 0x7e01; /* a NaN with a payload */
    out = KIT_NODE(r.k, AS_OP_Transpose, in);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    assert_int_equal(((const uint16_t *)as_engine_output(r.engine, 0)->data)[2], 0x7e01);
    move_fini(&r);
}

/* Data [3, 2] by indices that are one too far at either end. */
static void an_index_out_of_reach_is_named(void **state)
{
    static const double far[] = {3, -4};
    static const enum as_op ops[] = {AS_OP_Gather, AS_OP_GatherND, AS_OP_GatherElements,
                                     AS_OP_ScatterElements, AS_OP_ScatterND};
    char said[40];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ops); i++)
        for (size_t j = 0; j < UNIT_COUNT(far); j++) {
            bool scatter = ops[i] == AS_OP_ScatterElements || ops[i] == AS_OP_ScatterND;
            struct move_run r;
            uint32_t in[3];

            move_init(&r, 13);
            in[0] = move_count(&r, AS_DTYPE_F32, KIT_DIMS(3, 2));
            in[1] = move_numbers(&r, AS_DTYPE_I64, KIT_DIMS(1, 1), &far[j]);
            in[2] = scatter
                        ? move_count(&r, AS_DTYPE_F32,
                                     ops[i] == AS_OP_ScatterND ? KIT_DIMS(1, 2) : KIT_DIMS(1, 1))
                        : 0;
            snprintf(said, sizeof said, "index %d is outside of 3", (int)far[j]);
            move_fails(&r, kit_node(r.k, ops[i], scatter ? 3 : 2, in, 1), said);
        }
}

static void an_index_may_count_from_the_end(void **state)
{
    static const double at[] = {-3, 2, -1};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_I8, KIT_DIMS(3, 2));
    out = KIT_NODE(r.k, AS_OP_Gather, in, move_numbers(&r, AS_DTYPE_I32, KIT_DIMS(3), at));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 0, 1, 4, 5, 4, 5);
    move_fini(&r);
}

static void nothing_can_be_gathered_from_nothing(void **state)
{
    struct move_run r;
    uint32_t in;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(0, 2));
    move_fails(&r, KIT_NODE(r.k, AS_OP_Gather, in, MOVE_INTS(&r, 0)),
               "index 0 is outside of 0 elements");
}

static void one_hot_ignores_what_is_outside(void **state)
{
    static const double values[] = {7, 9};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = MOVE_INTS(&r, 1, -1, 3, -4);
    out = KIT_NODE(r.k, AS_OP_OneHot, in, MOVE_INTS(&r, 3),
                   move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(2), values));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 7, 9, 7, 7, 7, 9, 7, 7, 7, 7, 7, 7);
    move_fini(&r);
}

static void scattered_strings_are_owned(void **state)
{
    static const char *const update[] = {"new"};
    static const double at[] = {2};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_texts(&r, KIT_DIMS(3), words);
    out = KIT_NODE(r.k, AS_OP_ScatterElements, in, move_numbers(&r, AS_DTYPE_I64, KIT_DIMS(1), at),
                   move_texts(&r, KIT_DIMS(1), update));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT_TEXTS(&r, 0, "a", "", "new");
    move_fini(&r);
}

static void nothing_cannot_be_padded_with_itself(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(0));
    out = KIT_NODE(r.k, AS_OP_Pad, in, MOVE_INTS(&r, 1, 1));
    kit_attr_text(r.k, "mode", "edge");
    move_fails(&r, out, "nothing to repeat");
}

static void a_pad_may_take_away(void **state)
{
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_I32, KIT_DIMS(2, 4));
    out = KIT_NODE(r.k, AS_OP_Pad, in, MOVE_INTS(&r, 0, -1, 1, -2));
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 1, 5, 0);
    move_fini(&r);
}

static void a_kept_element_beyond_the_end_is_named(void **state)
{
    static const double keep[] = {0, 0, 1};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    out = KIT_NODE(r.k, AS_OP_Compress, in, move_numbers(&r, AS_DTYPE_BOOL, KIT_DIMS(3), keep));
    kit_attr_int(r.k, "axis", 0);
    move_fails(&r, out, "index 2 is outside of 2");
}

static void a_sequence_longer_than_its_steps_is_named(void **state)
{
    struct move_run r;
    uint32_t in;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    move_fails(&r, KIT_NODE(r.k, AS_OP_ReverseSequence, in, MOVE_INTS(&r, 1, 3)),
               "length 3 is outside of 2");
}

static void a_range_without_steps_is_refused(void **state)
{
    static const double number[] = {0, 5};
    struct move_run r;
    uint32_t zero;

    (void)state;
    move_init(&r, 13);
    zero = move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, number);
    move_fails(&r,
               KIT_NODE(r.k, AS_OP_Range, zero,
                        move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, number + 1), zero),
               "step is 0");
}

static void noise_follows_from_its_seed(void **state)
{
    float numbers[2][6];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct move_run r;
        uint32_t out;

        move_init(&r, 13);
        out = kit_node(r.k, AS_OP_RandomUniform, 0, NULL, 1);
        KIT_ATTR_INTS(r.k, "shape", 2, 3);
        kit_attr(r.k, (struct as_attr){.name = "seed", .kind = AS_ATTR_FLOAT, .f = 4});
        kit_attr(r.k, (struct as_attr){.name = "low", .kind = AS_ATTR_FLOAT, .f = 2});
        kit_attr(r.k, (struct as_attr){.name = "high", .kind = AS_ATTR_FLOAT, .f = 3});
        assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
        memcpy(numbers[i], as_engine_output(r.engine, 0)->data, sizeof numbers[i]);
        move_fini(&r);
    }
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    for (int i = 0; i < 6; i++)
        assert_true(numbers[0][i] >= 2 && numbers[0][i] < 3);
    assert_true(numbers[0][0] < numbers[0][1] || numbers[0][0] > numbers[0][1]);
}

static void a_region_of_no_image_is_named(void **state)
{
    static const double region[] = {0, 0, 1, 1};
    struct move_run r;
    uint32_t in;

    (void)state;
    move_init(&r, 16);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 1, 4, 4));
    move_fails(&r,
               KIT_NODE(r.k, AS_OP_RoiAlign, in,
                        move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(1, 4), region), MOVE_INTS(&r, 2)),
               "index 2 is outside of a batch of 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_transposed_and_owned),
        cmocka_unit_test(strings_are_sliced_backwards),
        cmocka_unit_test(a_slice_may_be_empty),
        cmocka_unit_test(nothing_is_transposed_joined_and_repeated),
        cmocka_unit_test(halves_keep_their_bits),
        cmocka_unit_test(an_index_out_of_reach_is_named),
        cmocka_unit_test(an_index_may_count_from_the_end),
        cmocka_unit_test(nothing_can_be_gathered_from_nothing),
        cmocka_unit_test(one_hot_ignores_what_is_outside),
        cmocka_unit_test(scattered_strings_are_owned),
        cmocka_unit_test(nothing_cannot_be_padded_with_itself),
        cmocka_unit_test(a_pad_may_take_away),
        cmocka_unit_test(a_kept_element_beyond_the_end_is_named),
        cmocka_unit_test(a_sequence_longer_than_its_steps_is_named),
        cmocka_unit_test(a_range_without_steps_is_refused),
        cmocka_unit_test(noise_follows_from_its_seed),
        cmocka_unit_test(a_region_of_no_image_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
