/* tests/unit/test_kern_control.c - Loop, Scan, If and sequences where ONNX's own cases do not look:
 * no round at all, rounds that differ, axes and directions, places out of reach. */
#include "body_kit.h"

/* ---- Loop ---- */

/* Each round doubles what is carried, and gives what it got (or, `counting`, its number). */
static uint32_t doubling_loop(struct move_run *r, struct body *b, double trips, double goes,
                              bool counting)
{
    static const double one[] = {5};
    uint32_t in[3], out;

    move_init(r, 13);
    in[0] = move_numbers(r, AS_DTYPE_I64, KIT_SCALAR, &trips);
    in[1] = move_numbers(r, AS_DTYPE_BOOL, KIT_SCALAR, &goes);
    in[2] = move_numbers(r, AS_DTYPE_F32, KIT_DIMS(1), one);
    out = kit_node(r->k, AS_OP_Loop, 3, in, 2);
    body_init(b, r, 3);
    b->outputs[0] = body_node(b, AS_OP_Identity, b->inputs[1], AS_NONE);
    b->outputs[1] = body_node(b, AS_OP_Concat, b->inputs[2], b->inputs[2]);
    b->outputs[2] = body_node(b, AS_OP_Identity, b->inputs[counting ? 0 : 2], AS_NONE);
    body_done(b, "body", 3);
    return out;
}

static void a_loop_carries_and_counts(void **state)
{
    struct move_run r;
    struct body b;
    uint32_t out = doubling_loop(&r, &b, 3, 1, true);

    (void)state;
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 5, 5, 5, 5, 5, 5, 5, 5);
    MOVE_EXPECT(&r, 1, 0, 1, 2);
    move_fini(&r);
}

static void a_loop_without_rounds_gives_what_went_in(void **state)
{
    static const double trips[] = {0, 4, -7}, goes[] = {1, 0, 1};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct move_run r;
        struct body b;
        uint32_t out = doubling_loop(&r, &b, trips[i], goes[i], true);

        assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
        MOVE_EXPECT(&r, 0, 5);
        move_expect_dims(&r, 1, KIT_DIMS(0));
        move_fini(&r);
    }
}

static void rounds_that_differ_cannot_be_stacked(void **state)
{
    struct move_run r;
    struct body b;
    uint32_t out = doubling_loop(&r, &b, 3, 1, false);

    (void)state;
    assert_int_equal(move_go(&r, out, 2), ASSAY_ERR_FORMAT);
    assert_non_null(strstr(r.err.msg, "element 1 is not like the first"));
    move_fini(&r);
}

/* Its condition is always true: without a trip count, or with the one that exporters write then. */
static void a_loop_that_never_ends_is_stopped(void **state)
{
    static const double five[] = {5}, yes = 1, greatest = 9223372036854774784.0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct move_run r;
        struct body b;
        uint32_t in[3], out;

        move_init(&r, 13);
        in[0] = i ? move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, &greatest) : AS_NONE;
        in[1] = move_numbers(&r, AS_DTYPE_BOOL, KIT_SCALAR, &yes);
        in[2] = move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(1), five);
        out = kit_node(r.k, AS_OP_Loop, 3, in, 1);
        body_init(&b, &r, 3);
        b.outputs[0] = body_node(&b, AS_OP_Identity, b.inputs[1], AS_NONE);
        b.outputs[1] = body_node(&b, AS_OP_Identity, b.inputs[2], AS_NONE);
        body_done(&b, "body", 2);
        assert_int_equal(move_go(&r, out, 1), ASSAY_ERR_FORMAT);
        assert_non_null(strstr(r.err.msg, "still true after 100000 rounds"));
        assert_non_null(strstr(r.err.msg, "Loop"));
        move_fini(&r);
    }
}

/* ---- Scan ---- */

static void a_scan_goes_along_any_axis_in_any_direction(void **state)
{
    static const int64_t one = 1;
    struct move_run r;
    struct body b;
    uint32_t in, out;

    (void)state;
    move_init(&r, 11);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 3));
    out = KIT_NODE(r.k, AS_OP_Scan, in);
    kit_attr_int(r.k, "num_scan_inputs", 1);
    kit_attr_ints(r.k, "scan_input_axes", &one, 1);
    kit_attr_ints(r.k, "scan_input_directions", &one, 1);
    body_init(&b, &r, 1);
    b.outputs[0] = body_node(&b, AS_OP_Identity, b.inputs[0], AS_NONE);
    body_done(&b, "body", 1);
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    move_expect_dims(&r, 0, KIT_DIMS(3, 2));
    MOVE_EXPECT(&r, 0, 2, 5, 1, 4, 0, 3);
    move_fini(&r);
}

static void a_scan_of_opset_8_has_a_batch(void **state)
{
    struct move_run r;
    struct body b;
    uint32_t in[3], out;

    (void)state;
    move_init(&r, 8);
    in[0] = MOVE_INTS(&r, 2, 1);
    in[1] = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 1));
    in[2] = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2, 1));
    out = kit_node(r.k, AS_OP_Scan, 3, in, 2);
    kit_attr_int(r.k, "num_scan_inputs", 1);
    body_init(&b, &r, 2);
    b.outputs[0] = body_node(&b, AS_OP_Identity, b.inputs[1], AS_NONE);
    b.outputs[1] = body_node(&b, AS_OP_Concat, b.inputs[0], b.inputs[1]);
    body_done(&b, "body", 2);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 1, 2);
    move_expect_dims(&r, 1, KIT_DIMS(2, 2, 2));
    MOVE_EXPECT(&r, 1, 0, 0, 0, 1, 1, 2, 0, 0); /* nothing past the end of the second */
    move_fini(&r);
}

/* ---- sequences ---- */

static void a_place_outside_of_a_sequence_is_named(void **state)
{
    static const double places[] = {2, -3};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct move_run r;
        uint32_t in, sequence;

        move_init(&r, 13);
        in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2));
        sequence = KIT_NODE(r.k, AS_OP_SequenceConstruct, in, in);
        move_fails(&r,
                   KIT_NODE(r.k, AS_OP_SequenceAt, sequence,
                            move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, &places[i])),
                   "outside of a sequence of 2");
    }
}

/* What a sequence holds stays when the memory of its makers is used again. */
static void a_sequence_keeps_its_elements(void **state)
{
    struct move_run r;
    uint32_t in, first, second, third, sequence, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(2, 2));
    first = KIT_NODE(r.k, AS_OP_Transpose, in);
    sequence = KIT_NODE(r.k, AS_OP_SequenceConstruct, first);
    second = KIT_NODE(r.k, AS_OP_Concat, in, in);
    kit_attr_int(r.k, "axis", 0);
    third = KIT_NODE(r.k, AS_OP_Transpose, second);
    out = KIT_NODE(r.k, AS_OP_ConcatFromSequence, sequence);
    kit_attr_int(r.k, "axis", 0);
    (void)third;
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 0, 2, 1, 3);
    move_fini(&r);
}

static void parts_must_not_reach_beyond_the_axis(void **state)
{
    struct move_run r;
    uint32_t in, sequence;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(5));
    sequence = KIT_NODE(r.k, AS_OP_SplitToSequence, in, MOVE_INTS(&r, 4, 2));
    move_fails(&r, KIT_NODE(r.k, AS_OP_SequenceAt, sequence, kit_int(r.k, 0)), "reaches beyond 5");
}

static void the_last_part_may_be_shorter(void **state)
{
    static const double two = 2;
    struct move_run r;
    uint32_t in, sequence, out;

    (void)state;
    move_init(&r, 13);
    in = move_count(&r, AS_DTYPE_F32, KIT_DIMS(5));
    sequence =
        KIT_NODE(r.k, AS_OP_SplitToSequence, in, move_numbers(&r, AS_DTYPE_I64, KIT_SCALAR, &two));
    out = KIT_NODE(r.k, AS_OP_SequenceAt, sequence, kit_int(r.k, -1));
    (void)KIT_NODE(r.k, AS_OP_SequenceLength, sequence);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 4);
    MOVE_EXPECT(&r, 1, 3);
    move_fini(&r);
}

/* ---- texts ---- */

static void texts_are_split_and_put_together(void **state)
{
    static const char *const texts[] = {"a,b,,c", "", "x"}, *const tail[] = {"!"};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 20);
    in = move_texts(&r, KIT_DIMS(3), texts);
    out = kit_node(r.k, AS_OP_StringSplit, 1, &in, 2);
    kit_attr_text(r.k, "delimiter", ",");
    kit_attr_int(r.k, "maxsplit", 2);
    (void)KIT_NODE(r.k, AS_OP_StringConcat, in, move_texts(&r, KIT_DIMS(1), tail));
    assert_int_equal(move_go(&r, out, 4), ASSAY_OK);
    MOVE_EXPECT_TEXTS(&r, 0, "a", "b", ",c", "", "", "", "x", "", "");
    MOVE_EXPECT(&r, 1, 3, 1, 1);
    MOVE_EXPECT_TEXTS(&r, 3, "a,b,,c!", "!", "x!");
    move_fini(&r);
}

static void white_space_parts_texts_where_nothing_else_is_said(void **state)
{
    static const char *const texts[] = {"  a \t b ", " "};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 20);
    in = move_texts(&r, KIT_DIMS(2), texts);
    out = kit_node(r.k, AS_OP_StringSplit, 1, &in, 2);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    MOVE_EXPECT_TEXTS(&r, 0, "a", "b", "", "");
    MOVE_EXPECT(&r, 1, 2, 0);
    move_fini(&r);
}

static void letters_beyond_ascii_have_a_case_too(void **state)
{
    static const char *const texts[] = {"Ärger", "ЖУК", "q"};
    struct move_run r;
    uint32_t in, out;

    (void)state;
    move_init(&r, 10);
    in = move_texts(&r, KIT_DIMS(3), texts);
    out = KIT_NODE(r.k, AS_OP_StringNormalizer, in);
    kit_attr_text(r.k, "case_change_action", "LOWER");
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT_TEXTS(&r, 0, "ärger", "жук", "q");
    move_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_carries_and_counts),
        cmocka_unit_test(a_loop_without_rounds_gives_what_went_in),
        cmocka_unit_test(a_loop_that_never_ends_is_stopped),
        cmocka_unit_test(rounds_that_differ_cannot_be_stacked),
        cmocka_unit_test(a_scan_goes_along_any_axis_in_any_direction),
        cmocka_unit_test(a_scan_of_opset_8_has_a_batch),
        cmocka_unit_test(a_place_outside_of_a_sequence_is_named),
        cmocka_unit_test(a_sequence_keeps_its_elements),
        cmocka_unit_test(parts_must_not_reach_beyond_the_axis),
        cmocka_unit_test(the_last_part_may_be_shorter),
        cmocka_unit_test(texts_are_split_and_put_together),
        cmocka_unit_test(white_space_parts_texts_where_nothing_else_is_said),
        cmocka_unit_test(letters_beyond_ascii_have_a_case_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
