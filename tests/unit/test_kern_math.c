/* tests/unit/test_kern_math.c - kernels of arithmetic, reductions and quantized numbers, where
 * files hold what cannot work: every one must end in a sentence that names the thing to blame. */
#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_math.h"
#include "kernel_move_kit.h"

static const double some[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void a_divisor_of_zero_is_refused(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 14);
    out = KIT_NODE(r.k, AS_OP_Div, MOVE_INTS(&r, 1, 2, 3), MOVE_INTS(&r, 1, 0, 3));
    move_fails(&r, out, "element 1 of the divisor is 0");
    move_init(&r, 14);
    out = KIT_NODE(r.k, AS_OP_Mod, MOVE_INTS(&r, 1, 2, 3), MOVE_INTS(&r, 0));
    move_fails(&r, out, "element 0 of the divisor is 0");
}

static void the_smallest_by_minus_one_wraps(void **state)
{
    const double low = -9223372036854775808.0;
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 14);
    out = KIT_NODE(r.k, AS_OP_Div, MOVE_INTS(&r, low, 7), MOVE_INTS(&r, -1));
    (void)KIT_NODE(r.k, AS_OP_Mod, r.k->inputs[0], r.k->inputs[1]);
    assert_int_equal(move_go(&r, out, 2), ASSAY_OK);
    assert_int_equal(as_val_i64(as_engine_output(r.engine, 0), 0), INT64_MIN);
    assert_int_equal(as_val_i64(as_engine_output(r.engine, 0), 1), -7);
    MOVE_EXPECT(&r, 1, 0, 0);
    move_fini(&r);
}

static void shifts_past_the_width_give_zero(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 11);
    out = KIT_NODE(r.k, AS_OP_BitShift,
                   move_numbers(&r, AS_DTYPE_U8, KIT_DIMS(4), (const double[]){255, 255, 255, 255}),
                   move_numbers(&r, AS_DTYPE_U8, KIT_DIMS(4), (const double[]){7, 8, 64, 255}));
    kit_attr_text(r.k, "direction", "RIGHT");
    assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
    MOVE_EXPECT(&r, 0, 1, 0, 0, 0);
    move_fini(&r);
}

static void text_that_is_no_number_is_refused(void **state)
{
    static const char *const words[] = {"1", "2x"};
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_Cast, move_texts(&r, KIT_DIMS(2), words));
    kit_attr_int(r.k, "to", 1);
    move_fails(&r, out, "'2x' is not a number");
}

/* Largest numbers and what is past them, from the table in ONNX's description of Cast. */
static void small_floats_saturate_or_not(void **state)
{
    static const double in[] = {448, 1e4, -1e4, 464, 465, UNIT_INFINITY, UNIT_NAN};
    static const double stops[] = {448, 448, -448, 448, 448, 448, UNIT_NAN};
    static const double goes[] = {448, UNIT_NAN, UNIT_NAN, 448, UNIT_NAN, UNIT_NAN, UNIT_NAN};

    (void)state;
    for (int saturate = 0; saturate < 2; saturate++) {
        struct move_run r;
        uint32_t out;

        move_init(&r, 19);
        out = KIT_NODE(r.k, AS_OP_Cast, move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(7), in));
        kit_attr_int(r.k, "to", 17);
        kit_attr_int(r.k, "saturate", saturate);
        assert_int_equal(move_go(&r, out, 1), ASSAY_OK);
        for (uint64_t i = 0; i < 7; i++) {
            double have = as_val_f64(as_engine_output(r.engine, 0), i);
            double want = saturate ? stops[i] : goes[i];

            assert_true(have == want || (isnan(have) && isnan(want)));
        }
        move_fini(&r);
    }
}

static void targets_outside_the_classes_are_refused(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_NegativeLogLikelihoodLoss,
                   move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(3, 4), some), MOVE_INTS(&r, 0, 4, 1));
    move_fails(&r, out, "target 4 is outside of 4 classes");
}

static void scales_that_do_not_fit_are_refused(void **state)
{
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 21);
    out = KIT_NODE(r.k, AS_OP_QuantizeLinear, move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(3, 4), some),
                   move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(3, 3), some));
    kit_attr_int(r.k, "axis", 1);
    kit_attr_int(r.k, "block_size", 3);
    move_fails(&r, out, "9 scales do not fit the input");
}

/* Children point at each other, so no leaf is ever reached. */
static void a_tree_with_a_circle_ends(void **state)
{
    static const struct as_text modes[] = {{"BRANCH_LT", 9}, {"BRANCH_LT", 9}, {"LEAF", 4}};
    static const float values[] = {100, 100, 0}, weight[] = {1};
    static const int64_t tree[] = {0, 0, 0}, ids[] = {0, 1, 2}, yes[] = {1, 1, 0}, no[] = {2, 2, 0};
    struct move_run r;
    uint32_t out;

    (void)state;
    move_init(&r, 13);
    out = KIT_NODE(r.k, AS_OP_ML_TreeEnsembleRegressor,
                   move_numbers(&r, AS_DTYPE_F32, KIT_DIMS(3, 4), some));
    r.k->nodes[0].domain_name = "ai.onnx.ml";
    {
        const struct as_attr attrs[] = {
            {.name = "nodes_treeids", .kind = AS_ATTR_INTS, .n = 3, .ints = tree},
            {.name = "nodes_nodeids", .kind = AS_ATTR_INTS, .n = 3, .ints = ids},
            {.name = "nodes_featureids", .kind = AS_ATTR_INTS, .n = 3, .ints = tree},
            {.name = "nodes_values", .kind = AS_ATTR_FLOATS, .n = 3, .floats = values},
            {.name = "nodes_modes", .kind = AS_ATTR_TEXTS, .n = 3, .texts = modes},
            {.name = "nodes_truenodeids", .kind = AS_ATTR_INTS, .n = 3, .ints = yes},
            {.name = "nodes_falsenodeids", .kind = AS_ATTR_INTS, .n = 3, .ints = no},
            {.name = "target_treeids", .kind = AS_ATTR_INTS, .n = 1, .ints = tree},
            {.name = "target_nodeids", .kind = AS_ATTR_INTS, .n = 1, .ints = ids},
            {.name = "target_ids", .kind = AS_ATTR_INTS, .n = 1, .ints = tree},
            {.name = "target_weights", .kind = AS_ATTR_FLOATS, .n = 1, .floats = weight},
        };

        r.k->nodes[0].attrs = attrs;
        r.k->nodes[0].n_attrs = UNIT_COUNT(attrs);
        move_fails(&r, out, "has a circle");
    }
}

/* The first numbers NumPy draws after seed(0). */
static void the_twister_is_numpys(void **state)
{
    struct as_mersenne m;

    (void)state;
    as_mersenne_seed(&m, 0);
    assert_true(as_mersenne_unit(&m) == 0.5488135039273248);
    assert_true(as_mersenne_unit(&m) == 0.7151893663724195);
}

static double off(float have, double want)
{
    return want == 0 ? fabs((double)have) : fabs((double)have - want) / fabs(want);
}

/* A million places, against libm in double. */
static void fast_functions_keep_to_their_bounds(void **state)
{
    double exp_off = 0, tanh_off = 0, erf_off = 0, sigmoid_off = 0, expm1_off = 0;

    (void)state;
    for (int i = -500000; i < 500000; i++) {
        float x = (float)i * 1.7e-4f;
        double w = (double)x;

        exp_off = fmax(exp_off, off(as_expf(x), exp(w)));
        tanh_off = fmax(tanh_off, off(as_tanhf(x), tanh(w)));
        erf_off = fmax(erf_off, off(as_erff(x), erf(w)));
        sigmoid_off = fmax(sigmoid_off, off(as_sigmoidf(x), 1 / (1 + exp(-w))));
        expm1_off = fmax(expm1_off, off(as_expm1f(x), expm1(w)));
    }
    if (exp_off > 3e-7 || tanh_off > 3e-7 || erf_off > 5e-7 || sigmoid_off > 4e-7 ||
        expm1_off > 1e-6)
        fail_msg("exp %g tanh %g erf %g sigmoid %g expm1 %g", exp_off, tanh_off, erf_off,
                 sigmoid_off, expm1_off);
    assert_true(as_expf(-INFINITY) == 0 && isinf(as_expf(INFINITY)) && isinf(as_expf(89)));
    assert_true(as_expf(-100) > 0 && as_expf(88.7f) < INFINITY);
    assert_true(as_erff(INFINITY) == 1 && as_tanhf(-INFINITY) == -1);
    assert_true(isnan(as_expf(NAN)) && isnan(as_tanhf(NAN)) && isnan(as_erff(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_divisor_of_zero_is_refused),
        cmocka_unit_test(the_smallest_by_minus_one_wraps),
        cmocka_unit_test(shifts_past_the_width_give_zero),
        cmocka_unit_test(text_that_is_no_number_is_refused),
        cmocka_unit_test(small_floats_saturate_or_not),
        cmocka_unit_test(targets_outside_the_classes_are_refused),
        cmocka_unit_test(scales_that_do_not_fit_are_refused),
        cmocka_unit_test(a_tree_with_a_circle_ends),
        cmocka_unit_test(the_twister_is_numpys),
        cmocka_unit_test(fast_functions_keep_to_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
