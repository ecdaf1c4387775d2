/* tests/unit/test_train_memory.c - what a training step holds, part by part.
 * The networks are small enough to be added up by hand beside each figure. */
#include "plan_kit.h"

#include "model/memory/train_memory.h"

#define MB 1000000u

static struct as_train_memory count(struct kit *k, const struct as_train_options *options)
{
    struct as_train_memory out;

    assert_int_equal(as_train_memory_count(&out, k->model, &k->costs, &k->params, options, NULL),
                     ASSAY_OK);
    return out;
}

/* One product of an input of 50 million numbers with 125 million weights. */
static void one_layer(struct kit *k)
{
    uint32_t x, w, y;

    kit_begin(k);
    x = kit_f32(k, 50 * MB);
    w = kit_weight(k, 125 * MB);
    y = kit_f32(k, 0);
    kit_ends(k, k->main, &x, 1, &y, 1);
    kit_node(k, AS_OP_MatMul, x, w, y);
}

static void a_model_of_125_million_weights_needs_2200_megabytes(void **state)
{
    const struct as_train_options options = {.optimizer = AS_OPTIMIZER_ADAM};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    one_layer(&k);
    m = count(&k, &options);
    assert_int_equal(m.parameter_bytes, 500 * MB);
    assert_int_equal(m.gradient_bytes, 500 * MB);
    assert_int_equal(m.optimizer_bytes, 1000 * MB);
    assert_int_equal(m.master_bytes, 0);
    assert_int_equal(m.saved_bytes, 200 * MB);
    assert_int_equal(m.forward_peak_bytes, 1700 * MB);
    assert_int_equal(m.backward_peak_bytes, 2200u * MB);
    assert_int_equal(m.step_peak_bytes, 2000 * MB); /* the model state */
    assert_int_equal(m.peak_bytes, 2200u * MB);
    assert_true(m.exact);
    kit_end(&k);
}

static void every_optimizer_has_its_state(void **state)
{
    /* 3 x 4 x 5000 weights and a vector of 7 */
    static const struct {
        enum as_optimizer optimizer;
        uint64_t bytes;
    } cases[] = {
        {AS_OPTIMIZER_SGD, 0},
        {AS_OPTIMIZER_SGD_MOMENTUM, 60007 * 4},
        {AS_OPTIMIZER_NESTEROV, 60007 * 4},
        {AS_OPTIMIZER_RMSPROP, 60007 * 4},
        {AS_OPTIMIZER_ADAGRAD, 60007 * 4},
        {AS_OPTIMIZER_ADAM, 60007 * 8},
        {AS_OPTIMIZER_ADAMW, 60007 * 8},
        {AS_OPTIMIZER_NADAM, 60007 * 8},
        {AS_OPTIMIZER_AMSGRAD, 60007 * 12},
        {AS_OPTIMIZER_LION, 60007 * 4},
        {AS_OPTIMIZER_ADAFACTOR, 3 * (4 + 5000) * 4 + 7 * 4},
        {AS_OPTIMIZER_ADAM8, 2 * (60007 + 30 * 4 + 4)}, /* 30 blocks and 1 */
        {AS_OPTIMIZER_LION8, 60007 + 30 * 4 + 4},
    };
    struct as_dims dims = {3, {3, 4, 5000}};
    uint32_t w;
    struct kit k;

    (void)state;
    assert_int_equal(UNIT_COUNT(cases), AS_OPTIMIZER_COUNT);
    kit_begin(&k);
    w = kit_weight(&k, 60000);
    kit_weight(&k, 7);
    assert_true(as_type_tensor(&k.model->values[w].type, &k.model->arena, AS_DTYPE_F32, &dims));
    kit_weight(&k, 100); /* three that are not trained */
    k.param[2].role = AS_ROLE_BUFFER;
    k.model->values[kit_weight(&k, 100)].type.dtype = AS_DTYPE_I8;
    kit_weight(&k, 100);
    k.param[4].elems = 0;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(as_optimizer_bytes(&k.params, k.model, cases[i].optimizer),
                         cases[i].bytes);
    assert_string_equal(as_optimizer_name(AS_OPTIMIZER_SGD_MOMENTUM), "sgd-momentum");
    assert_string_equal(as_optimizer_name(AS_OPTIMIZER_COUNT), "?");
    assert_int_equal(as_optimizer_bytes(&k.params, k.model, AS_OPTIMIZER_COUNT), 0);
    kit_end(&k);
}

static void mixed_precision_keeps_a_master_copy(void **state)
{
    struct as_train_options options = {.optimizer = AS_OPTIMIZER_ADAMW, .mixed = true};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    one_layer(&k);
    m = count(&k, &options);
    assert_int_equal(m.parameter_bytes, 250 * MB);
    assert_int_equal(m.master_bytes, 500 * MB);
    assert_int_equal(m.gradient_bytes, 250 * MB);
    assert_int_equal(m.optimizer_bytes, 1000 * MB);
    assert_int_equal(m.saved_bytes, 100 * MB);
    assert_int_equal(m.backward_peak_bytes, 2100u * MB);
    options.accumulate = 4; /* gradients in f32 and there all the time */
    m = count(&k, &options);
    assert_int_equal(m.gradient_bytes, 500 * MB);
    assert_int_equal(m.forward_peak_bytes, 2350u * MB);
    assert_int_equal(m.backward_peak_bytes, 2600u * MB); /* with those of 16 bits on their way */
    options = (struct as_train_options){.dtype = AS_DTYPE_BF16, .accumulate = 4};
    m = count(&k, &options);
    assert_int_equal(m.parameter_bytes, 250 * MB);
    assert_int_equal(m.master_bytes, 0);
    assert_int_equal(m.gradient_bytes, 250 * MB);
    assert_int_equal(m.forward_peak_bytes, 600 * MB);
    kit_end(&k);
}

static void zero_divides_among_ranks_and_rounds_up(void **state)
{
    struct as_train_options options = {.optimizer = AS_OPTIMIZER_ADAM, .ranks = 3};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    one_layer(&k);
    m = count(&k, &options);
    assert_int_equal(m.peak_bytes, 2200u * MB);
    options.zero_stage = 1;
    m = count(&k, &options);
    assert_int_equal(m.optimizer_bytes, 333333334);
    assert_int_equal(m.gradient_bytes, 500 * MB);
    assert_int_equal(m.backward_peak_bytes, 500 * MB + 333333334 + 200 * MB + 500 * MB);
    options.zero_stage = 2;
    m = count(&k, &options);
    assert_int_equal(m.gradient_bytes, 166666667);
    assert_int_equal(m.parameter_bytes, 500 * MB);
    assert_int_equal(m.step_peak_bytes, 500 * MB + 333333334 + 166666667);
    options.zero_stage = 3;
    m = count(&k, &options);
    assert_int_equal(m.parameter_bytes, 166666667);
    /* the layer that runs has its parameters whole */
    assert_int_equal(m.forward_peak_bytes, 166666667 + 333333334 + 200 * MB + 500 * MB);
    options.ranks = 1;
    m = count(&k, &options);
    assert_int_equal(m.peak_bytes, 2200u * MB);
    kit_end(&k);
}

/* x(10) -W1(1000)-> a(20) -Relu-> b(20) -W2(3000)-> c(30) -Relu-> y(30) */
static void two_layers(struct kit *k)
{
    uint32_t x, w1, w2, a, b, c, y;

    kit_begin(k);
    x = kit_f32(k, 10);
    w1 = kit_weight(k, 1000);
    w2 = kit_weight(k, 3000);
    a = kit_f32(k, 20);
    b = kit_f32(k, 20);
    c = kit_f32(k, 30);
    y = kit_f32(k, 30);
    kit_ends(k, k->main, &x, 1, &y, 1);
    kit_node(k, AS_OP_MatMul, x, w1, a)->forward.macs = 1000;
    kit_node(k, AS_OP_Relu, a, AS_NONE, b);
    kit_node(k, AS_OP_MatMul, b, w2, c)->forward.macs = 3000;
    kit_node(k, AS_OP_Relu, c, AS_NONE, y);
}

static void the_time_line_is_followed_row_by_row(void **state)
{
    const struct as_train_options options = {.optimizer = AS_OPTIMIZER_SGD};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    two_layers(&k);
    m = count(&k, &options);
    assert_int_equal(m.parameter_bytes, 16000);
    /* x, b and y are saved; b by Relu and by MatMul, once */
    assert_int_equal(m.saved_bytes, (10 + 20 + 30) * 4);
    /* at the last row: x b c y */
    assert_int_equal(m.forward_peak_bytes, 16000 + (10 + 20 + 30 + 30) * 4);
    /* gradients of c and y, or of b and c */
    assert_int_equal(m.workspace_bytes, 60 * 4);
    /* backward, in floats beside the parameters:
     *   row 3: saved x b y 60, gradients of activations y c 60
     *   row 2: saved x b 30, c b 50, W2 3000
     *   row 1: saved x b 30, b a 40, W2 3000
     *   row 0: saved x 10, a 20, W2 and W1 4000 */
    assert_int_equal(m.backward_peak_bytes, 16000 + (10 + 20 + 4000) * 4);
    assert_int_equal(m.step_peak_bytes, 16000 + 16000);
    assert_int_equal(m.peak_bytes, m.backward_peak_bytes);
    assert_int_equal(m.recompute_macs, 0);
    kit_end(&k);
}

static void checkpoints_save_memory_and_cost_macs(void **state)
{
    const struct as_train_options options = {.optimizer = AS_OPTIMIZER_SGD, .checkpoint = true};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    two_layers(&k); /* cut in the middle: b crosses */
    m = count(&k, &options);
    assert_int_equal(m.recompute_macs, 1000);
    assert_int_equal(m.saved_bytes, (20 + 30) * 4); /* b, and y of the last block */
    /* row 0: x a 30, row 1: a b 40, row 2: b c 50, row 3: b c y 80 */
    assert_int_equal(m.forward_peak_bytes, 16000 + 80 * 4);
    /* row 0: x 10, the gradient of a 20, of the weights 4000; while the block is made again:
     * b 20 and its gradient 20, W2 3000, and x a, or a and x saved 30 */
    assert_int_equal(m.backward_peak_bytes, 16000 + (10 + 20 + 4000) * 4);
    kit_end(&k);
}

static void a_long_chain_keeps_its_narrow_places(void **state)
{
    const struct as_train_options plain = {0}, cut = {.checkpoint = true};
    struct as_train_memory m;
    uint32_t w, x, at;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = at = kit_f32(&k, 1000);
    w = kit_weight(&k, 10);
    for (int i = 0; i < 16; i++) {
        uint32_t next = kit_f32(&k, i == 4 || i == 7 || i == 12 ? 1 : 1000);

        kit_node(&k, AS_OP_MatMul, at, w, next)->forward.macs = 1;
        at = next;
    }
    kit_ends(&k, k.main, &x, 1, &at, 1);
    m = count(&k, &plain);
    assert_int_equal(m.saved_bytes, 4 * (13 * 1000 + 3));
    m = count(&k, &cut);
    /* the cuts are after rows 4, 7 and 12; inside the last block two inputs are saved */
    assert_int_equal(m.saved_bytes, 4 * (3 + 2 * 1000));
    assert_int_equal(m.recompute_macs, 13);
    assert_true(m.peak_bytes < 4 * 7000);
    kit_end(&k);
}

static void what_no_gradient_passes_saves_nothing(void **state)
{
    const struct as_train_options options = {0};
    struct as_train_memory m;
    uint32_t x, a, y, w;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 10);
    a = kit_f32(&k, 10);
    y = kit_f32(&k, 10);
    w = kit_weight(&k, 100);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, a); /* nothing trained is behind it */
    kit_node(&k, AS_OP_MatMul, a, w, y);
    m = count(&k, &options);
    assert_int_equal(m.saved_bytes, 40);
    assert_int_equal(m.workspace_bytes, 40);
    k.params.n_params = 0;
    m = count(&k, &options);
    assert_int_equal(m.saved_bytes, 0);
    assert_int_equal(m.gradient_bytes, 0);
    kit_end(&k);
}

static void indices_are_saved_beside_the_tensors(void **state)
{
    const struct as_train_options options = {.dtype = AS_DTYPE_F16};
    struct as_train_memory m;
    uint32_t x, a, y, w;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 10);
    a = kit_f32(&k, 40);
    y = kit_f32(&k, 10);
    w = kit_weight(&k, 100);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_MatMul, x, w, a);
    kit_node(&k, AS_OP_MaxPool, a, AS_NONE, y)->inner_bytes = 80; /* indices: not halved */
    m = count(&k, &options);
    assert_int_equal(m.saved_bytes, 20 + 80 + 80); /* x, a and the indices */
    kit_end(&k);
}

static void a_loop_saves_every_turn(void **state)
{
    const struct as_train_options options = {0};
    struct as_attr attr = {.name = "body", .kind = AS_ATTR_GRAPH};
    struct as_train_memory m;
    uint32_t x, y, in, out, w;
    struct kit k;

    (void)state;
    kit_begin(&k);
    attr.graph = as_graph_new(k.model, k.main, "body", NULL);
    assert_non_null(attr.graph);
    x = kit_f32(&k, 10);
    w = kit_weight(&k, 100);
    y = kit_f32(&k, 10);
    in = kit_value(&k, attr.graph, AS_DTYPE_F32, 10);
    out = kit_value(&k, attr.graph, AS_DTYPE_F32, 10);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_ends(&k, attr.graph, &in, 1, &out, 1);
    kit_node(&k, AS_OP_Loop, AS_NONE, x, y);
    k.nodes[0].attrs = &attr;
    k.nodes[0].n_attrs = 1;
    kit_node_in(&k, attr.graph, AS_OP_MatMul, (uint32_t[]){in, w}, 2, &out, 1)->times = 7;
    m = count(&k, &options);
    assert_int_equal(m.saved_bytes, 7 * 40);
    assert_true(m.exact);
    k.rows[1].times_known = false;
    m = count(&k, &options);
    assert_false(m.exact);
    kit_end(&k);
}

static void what_is_not_known_is_said(void **state)
{
    const struct as_train_options options = {0};
    struct as_train_memory m;
    struct kit k;

    (void)state;
    two_layers(&k);
    k.rows[1].state = AS_COST_UNKNOWN_OP;
    assert_false(count(&k, &options).exact);
    k.rows[1].state = AS_COST_KNOWN;
    k.model->values[k.nodes[0].outputs[0]].type = AS_TYPE_UNKNOWN;
    assert_false(count(&k, &options).exact);
    kit_end(&k);
    kit_begin(&k); /* nothing at all */
    m = count(&k, &options);
    assert_int_equal(m.peak_bytes, 0);
    assert_true(m.exact);
    kit_end(&k);
}

static void sums_past_64_bits_stay_at_the_end(void **state)
{
    const struct as_train_options options = {.optimizer = AS_OPTIMIZER_AMSGRAD};
    struct as_train_memory m;
    uint32_t x, y, w;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, INT64_MAX / 4);
    y = kit_f32(&k, INT64_MAX / 4);
    w = kit_weight(&k, INT64_MAX);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_MatMul, x, w, y);
    m = count(&k, &options);
    assert_true(m.optimizer_bytes == UINT64_MAX);
    assert_true(m.parameter_bytes == UINT64_MAX);
    assert_true(m.peak_bytes == UINT64_MAX);
    assert_false(m.exact);
    kit_end(&k);
}

static void wrong_options_are_refused(void **state)
{
    struct as_train_options options = {.dtype = AS_DTYPE_I8};
    struct as_train_memory m;
    struct assay_error err;
    struct kit k;

    (void)state;
    kit_begin(&k);
    assert_int_equal(as_train_memory_count(&m, k.model, &k.costs, &k.params, &options, &err),
                     ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "training is in f32, f16 or bf16, not in i8");
    options = (struct as_train_options){.zero_stage = 4};
    assert_int_equal(as_train_memory_count(&m, k.model, &k.costs, &k.params, &options, &err),
                     ASSAY_ERR_USAGE);
    options = (struct as_train_options){.optimizer = AS_OPTIMIZER_COUNT};
    assert_int_equal(as_train_memory_count(&m, k.model, &k.costs, &k.params, &options, &err),
                     ASSAY_ERR_USAGE);
    kit_end(&k);
}

static int count_again(void *user, struct assay_error *err)
{
    const struct as_train_options options = {.checkpoint = true};
    struct as_train_memory m;
    struct kit *k = user;

    return as_train_memory_count(&m, k->model, &k->costs, &k->params, &options, err);
}

static void any_allocation_may_fail(void **state)
{
    struct kit k;

    (void)state;
    two_layers(&k);
    kit_fail_each(count_again, &k);
    kit_end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_125_million_weights_needs_2200_megabytes),
        cmocka_unit_test(every_optimizer_has_its_state),
        cmocka_unit_test(mixed_precision_keeps_a_master_copy),
        cmocka_unit_test(zero_divides_among_ranks_and_rounds_up),
        cmocka_unit_test(the_time_line_is_followed_row_by_row),
        cmocka_unit_test(checkpoints_save_memory_and_cost_macs),
        cmocka_unit_test(a_long_chain_keeps_its_narrow_places),
        cmocka_unit_test(what_no_gradient_passes_saves_nothing),
        cmocka_unit_test(indices_are_saved_beside_the_tensors),
        cmocka_unit_test(a_loop_saves_every_turn),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(sums_past_64_bits_stay_at_the_end),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
