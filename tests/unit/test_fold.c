/* tests/unit/test_fold.c - constants computed while inferring: exact, partly known, or left alone.
 */
#include "graph_kit.h"

#define OPEN AS_DIM_UNKNOWN

static const double ones[65536] = {1};

static void shapes_flow_through_arithmetic(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(OPEN, 8, 16);
    uint32_t x = kit_input(k, AS_DTYPE_F32, &dims), shape, width, half, want, out;

    (void)state;
    shape = KIT_NODE(k, AS_OP_Shape, x);
    width = KIT_NODE(k, AS_OP_Gather, shape, KIT_INTS(k, 2));
    half = KIT_NODE(k, AS_OP_Div, width, KIT_INTS(k, 2));
    want = KIT_NODE(k, AS_OP_Concat, KIT_NODE(k, AS_OP_Gather, shape, KIT_INTS(k, 0)), half,
                    KIT_INTS(k, -1));
    kit_attr_int(k, "axis", 0);
    out = KIT_NODE(k, AS_OP_Reshape, x, want);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, shape, OPEN, 8, 16);
    KIT_EXPECT_INTS(k, want, OPEN, 8, -1);
    kit_expect(k, out, "f32 ?x8x?");
    kit_free(k);
}

static void what_is_open_stays_open_through_moves(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(3, OPEN);
    uint32_t shape = KIT_NODE(k, AS_OP_Shape, kit_input(k, AS_DTYPE_F32, &dims));
    uint32_t sum = KIT_NODE(k, AS_OP_Add, shape, kit_int(k, 4));
    uint32_t product = KIT_NODE(k, AS_OP_ReduceProd, shape);
    uint32_t turned = KIT_NODE(k, AS_OP_Slice, sum, KIT_INTS(k, -1), KIT_INTS(k, INT64_MIN),
                               KIT_INTS(k, 0), KIT_INTS(k, -1));
    uint32_t same = KIT_NODE(k, AS_OP_Equal, shape, shape);

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, sum, 7, OPEN);
    KIT_EXPECT_INTS(k, product, OPEN);
    KIT_EXPECT_INTS(k, turned, OPEN, 7);
    assert_null(k->model->values[same].data); /* a bool cannot be unknown */
    kit_free(k);
}

static void integers_wrap_and_division_by_zero_is_left_alone(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t sum = KIT_NODE(k, AS_OP_Add, KIT_INTS(k, INT64_MAX), KIT_INTS(k, 1));
    uint32_t zero = KIT_NODE(k, AS_OP_Div, KIT_INTS(k, 1), KIT_INTS(k, 0));
    uint32_t least = KIT_NODE(k, AS_OP_Div, KIT_INTS(k, INT64_MIN), KIT_INTS(k, -1));
    uint32_t rest = KIT_NODE(k, AS_OP_Mod, KIT_INTS(k, -7, 7, INT64_MIN), KIT_INTS(k, 3, -3, -1));
    uint32_t cut = KIT_NODE(k, AS_OP_Div, KIT_INTS(k, -7), KIT_INTS(k, 2));
    uint32_t a = kit_numbers(k, AS_DTYPE_U8, KIT_DIMS(1), (const double[]){200});
    uint32_t byte = KIT_NODE(k, AS_OP_Add, a, a);

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, sum, INT64_MIN);
    assert_null(k->model->values[zero].data);
    assert_null(k->model->values[least].data);
    KIT_EXPECT_INTS(k, rest, 2, -2, 0);
    KIT_EXPECT_INTS(k, cut, -3);
    KIT_EXPECT_INTS(k, byte, 144);
    kit_free(k);
}

static void floats_are_rounded_to_their_dtype(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t a = kit_numbers(k, AS_DTYPE_F32, KIT_DIMS(1), (const double[]){16777216});
    uint32_t b = kit_numbers(k, AS_DTYPE_F32, KIT_DIMS(1), (const double[]){1});
    uint32_t sum = KIT_NODE(k, AS_OP_Add, a, b);
    uint32_t far = kit_numbers(k, AS_DTYPE_F32, KIT_DIMS(2), (const double[]){1e30, 2.9});
    uint32_t cast = KIT_NODE(k, AS_OP_Cast, far), whole;

    (void)state;
    kit_attr_int(k, "to", 7);
    whole = KIT_NODE(k, AS_OP_Cast,
                     kit_numbers(k, AS_DTYPE_F32, KIT_DIMS(2), (const double[]){-2.9, 2.9}));
    kit_attr_int(k, "to", 7);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    assert_true(as_data_f64(k->model->values[sum].data, 0) == 16777216);
    kit_expect(k, cast, "i64 2");
    assert_null(k->model->values[cast].data); /* 1e30 is no i64 */
    KIT_EXPECT_INTS(k, whole, -2, 2);
    kit_free(k);
}

static void picking_and_placing(void **state)
{
    struct kit *k = kit_new(16);
    uint32_t x = KIT_INTS(k, 10, 20, 30, 40);
    uint32_t rows = KIT_NODE(k, AS_OP_Reshape, x, KIT_INTS(k, 2, 2)), turned, placed, out;
    uint32_t bad = KIT_NODE(k, AS_OP_Gather, x, KIT_INTS(k, 4));

    (void)state;
    turned = KIT_NODE(k, AS_OP_Transpose, rows);
    placed = KIT_NODE(k, AS_OP_ScatterElements, x, KIT_INTS(k, -1, 0), KIT_INTS(k, 5, 6));
    kit_attr_text(k, "reduction", "add");
    out =
        KIT_NODE(k, AS_OP_Where, KIT_NODE(k, AS_OP_Greater, x, KIT_INTS(k, 15)), x, KIT_INTS(k, 0));
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, turned, 10, 30, 20, 40);
    KIT_EXPECT_INTS(k, placed, 16, 20, 30, 45);
    KIT_EXPECT_INTS(k, out, 0, 20, 30, 40);
    assert_null(k->model->values[bad].data);
    kit_expect(k, bad, "i64 1");
    kit_free(k);
}

static void lengths_that_depend_on_numbers_are_counted(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims open = KIT_DIMS(6);
    uint32_t x = KIT_INTS(k, 0, 3, 0, 3, 5), flat, some, range, same;

    (void)state;
    flat = KIT_NODE(k, AS_OP_NonZero, x);
    some = KIT_NODE(k, AS_OP_NonZero, kit_input(k, AS_DTYPE_F32, &open));
    range = KIT_NODE(k, AS_OP_Range, kit_int(k, 10), kit_int(k, 0), kit_int(k, -3));
    same = kit_node(k, AS_OP_Unique, 1, &x, 4);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, flat, 1, 3, 4);
    kit_expect(k, some, "i64 1x?");
    KIT_EXPECT_INTS(k, range, 10, 7, 4, 1);
    kit_expect(k, same, "i64 3");
    kit_expect(k, same + 2, "i64 5");
    kit_free(k);
}

static void huge_constants_are_described_not_made(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t out = KIT_NODE(k, AS_OP_ConstantOfShape, KIT_INTS(k, 1 << 20, 1 << 20));
    uint32_t view = KIT_NODE(k, AS_OP_Reshape, out, KIT_INTS(k, -1));
    const struct as_data *data;
    float piece[4];

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    data = k->model->values[out].data;
    assert_non_null(data);
    assert_true(data->generated);
    assert_null(data->bytes);
    assert_int_equal(data->stored_bytes, 0);
    assert_int_equal(data->size_bytes, (uint64_t)1 << 42);
    assert_ptr_equal(k->model->values[view].data, data);
    assert_int_equal(as_data_read(data, (uint64_t)1 << 39, 4, piece, NULL), ASSAY_OK);
    assert_true(piece[3] == 0);
    assert_true(k->model->arena.used_bytes < 65536);
    kit_free(k);
}

static void what_many_nodes_compute_is_limited(void **state)
{
    struct kit *k = kit_new(13);
    uint32_t x = kit_numbers(k, AS_DTYPE_F64, KIT_DIMS(65536), ones);
    size_t before = k->model->arena.used_bytes;

    (void)state;
    for (int i = 0; i < 60; i++)
        x = KIT_NODE(k, AS_OP_Neg, x);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, x, "f64 65536");
    assert_null(k->model->values[x].data);
    assert_true(k->model->arena.used_bytes - before < (size_t)12 << 20);
    kit_free(k);
}

/* Built without the kit, which is for small graphs. */
static void a_hundred_thousand_nodes_take_a_moment(void **state)
{
    enum { N = 100000 };
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(1, 16);
    uint32_t first = kit_input(k, AS_DTYPE_F32, &dims);
    struct as_graph *graph = k->model->main;
    uint32_t *ids = as_arena_zero(&k->model->arena, 3 * N, sizeof *ids);

    (void)state;
    assert_int_equal(as_graph_reserve_nodes(graph, N, NULL), ASSAY_OK);
    for (uint32_t i = 0; i < N; i++) {
        ids[3 * i] = ids[3 * i + 1] = i ? ids[3 * i - 1] : first;
        ids[3 * i + 2] = kit_value(k);
        graph->nodes[i] = (struct as_node){.name = "",
                                           .op_name = "Add",
                                           .domain_name = "",
                                           .op = AS_OP_Add,
                                           .n_inputs = 2,
                                           .n_outputs = 1,
                                           .inputs = ids + (size_t)3 * i,
                                           .outputs = ids + (size_t)3 * i + 2};
    }
    graph->inputs = k->inputs;
    graph->n_inputs = k->n_inputs;
    assert_int_equal(as_model_link(k->model, &k->err), ASSAY_OK);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    kit_expect(k, ids[3 * N - 1], "f32 1x16");
    kit_free(k);
}

static void inference_may_be_done_again(void **state)
{
    struct kit *k = kit_new(13);
    struct as_dims dims = KIT_DIMS(OPEN, 2), given = KIT_DIMS(5, 2);
    uint32_t x = kit_input(k, AS_DTYPE_F32, &dims), shape = KIT_NODE(k, AS_OP_Shape, x);
    struct as_infer_input input = {.name = "v0", .dims = &given};
    struct as_infer_options options = {.inputs = &input, .n_inputs = 1};

    (void)state;
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, shape, OPEN, 2);
    assert_int_equal(as_infer_shapes(k->model, &options, NULL, &k->err), ASSAY_OK);
    KIT_EXPECT_INTS(k, shape, 5, 2);
    assert_int_equal(kit_infer(k), ASSAY_OK);
    KIT_EXPECT_INTS(k, shape, OPEN, 2);
    kit_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_flow_through_arithmetic),
        cmocka_unit_test(what_is_open_stays_open_through_moves),
        cmocka_unit_test(integers_wrap_and_division_by_zero_is_left_alone),
        cmocka_unit_test(floats_are_rounded_to_their_dtype),
        cmocka_unit_test(picking_and_placing),
        cmocka_unit_test(lengths_that_depend_on_numbers_are_counted),
        cmocka_unit_test(huge_constants_are_described_not_made),
        cmocka_unit_test(what_many_nodes_compute_is_limited),
        cmocka_unit_test(a_hundred_thousand_nodes_take_a_moment),
        cmocka_unit_test(inference_may_be_done_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
