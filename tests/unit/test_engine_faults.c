/* tests/unit/test_engine_faults.c - opening and running small networks when any one allocation
 * fails, or all from one on. The answer is then "out of memory" or the right one; nothing leaks. */
#include "body_kit.h"

#include "base/alloc.h"

struct network {
    struct move_run r;
    struct body bodies[3];
    uint32_t n_outs;
};

typedef uint32_t (*make_network)(struct network *n);

static uint32_t filled(struct network *n, struct as_dims dims)
{
    double at[1024];

    for (size_t i = 0; i < UNIT_COUNT(at); i++)
        at[i] = (double)(i % 7) / 8 + 0.125;
    return kit_numbers(n->r.k, AS_DTYPE_F32, dims, at);
}

/* What is fused: a convolution with its normalization and activation, a product with its bias. */
static uint32_t make_cnn(struct network *n)
{
    struct kit *k = n->r.k;
    uint32_t x = move_count(&n->r, AS_DTYPE_F32, KIT_DIMS(1, 4, 8, 8)), bn[5];

    bn[0] = KIT_NODE(k, AS_OP_Conv, x, filled(n, KIT_DIMS(4, 4, 3, 3)), filled(n, KIT_DIMS(4)));
    KIT_ATTR_INTS(k, "pads", 1, 1, 1, 1);
    for (int i = 1; i < 5; i++)
        bn[i] = filled(n, KIT_DIMS(4));
    x = kit_node(k, AS_OP_BatchNormalization, 5, bn, 1);
    x = KIT_NODE(k, AS_OP_Relu, x);
    x = KIT_NODE(k, AS_OP_MaxPool, x);
    KIT_ATTR_INTS(k, "kernel_shape", 2, 2);
    KIT_ATTR_INTS(k, "strides", 2, 2);
    x = KIT_NODE(k, AS_OP_Flatten, x);
    x = KIT_NODE(k, AS_OP_MatMul, x, filled(n, KIT_DIMS(64, 4)));
    x = KIT_NODE(k, AS_OP_Add, x, filled(n, KIT_DIMS(4)));
    return KIT_NODE(k, AS_OP_Softmax, x);
}

/* An If of which the side is not known, then a Loop that carries and collects. */
static uint32_t make_control(struct network *n)
{
    static const double yes = 1, trips = 3;
    struct kit *k = n->r.k;
    uint32_t x = move_count(&n->r, AS_DTYPE_F32, KIT_DIMS(4)), in[3];

    in[0] = move_numbers(&n->r, AS_DTYPE_I64, KIT_SCALAR, &trips);
    in[1] = move_numbers(&n->r, AS_DTYPE_BOOL, KIT_SCALAR, &yes);
    in[2] = KIT_NODE(k, AS_OP_If, in[1]);
    for (int i = 0; i < 2; i++) {
        struct body *b = &n->bodies[i];

        body_init(b, &n->r, 0);
        b->outputs[0] = body_node(b, i ? AS_OP_Neg : AS_OP_Add, x, i ? AS_NONE : x);
        body_done(b, i ? "else_branch" : "then_branch", 1);
    }
    x = kit_node(k, AS_OP_Loop, 3, in, 2);
    body_init(&n->bodies[2], &n->r, 3);
    n->bodies[2].outputs[0] =
        body_node(&n->bodies[2], AS_OP_Identity, n->bodies[2].inputs[1], AS_NONE);
    n->bodies[2].outputs[1] = body_node(&n->bodies[2], AS_OP_Relu, n->bodies[2].inputs[2], AS_NONE);
    n->bodies[2].outputs[2] =
        body_node(&n->bodies[2], AS_OP_Identity, n->bodies[2].inputs[0], AS_NONE);
    body_done(&n->bodies[2], "body", 3);
    return x + 1;
}

/* Quantized on both sides of a product, weights too. */
static uint32_t make_quantized(struct network *n)
{
    static const double scale = 0.25, zero = 3;
    struct kit *k = n->r.k;
    uint32_t x = move_count(&n->r, AS_DTYPE_F32, KIT_DIMS(4, 4)), w, s, z;
    double at[16];

    for (int i = 0; i < 16; i++)
        at[i] = i * 5;
    s = kit_numbers(k, AS_DTYPE_F32, KIT_SCALAR, &scale);
    z = kit_numbers(k, AS_DTYPE_U8, KIT_SCALAR, &zero);
    w = kit_numbers(k, AS_DTYPE_U8, KIT_DIMS(4, 4), at);
    x = KIT_NODE(k, AS_OP_QuantizeLinear, x, s, z);
    x = KIT_NODE(k, AS_OP_DequantizeLinear, x, s, z);
    w = KIT_NODE(k, AS_OP_DequantizeLinear, w, s, z);
    x = KIT_NODE(k, AS_OP_MatMul, x, w);
    return KIT_NODE(k, AS_OP_QuantizeLinear, x, s, z);
}

static uint32_t make_sequence(struct network *n)
{
    static const char *const words[] = {"one", "two"};
    struct kit *k = n->r.k;
    uint32_t x = move_count(&n->r, AS_DTYPE_F32, KIT_DIMS(6, 2)), texts, list;

    texts = move_texts(&n->r, KIT_DIMS(2), words);
    texts = KIT_NODE(k, AS_OP_StringConcat, texts, texts);
    list = KIT_NODE(k, AS_OP_SplitToSequence, x, kit_int(k, 2));
    list = KIT_NODE(k, AS_OP_SequenceInsert, list, KIT_NODE(k, AS_OP_Relu, x));
    x = KIT_NODE(k, AS_OP_ConcatFromSequence, list);
    kit_attr_int(k, "axis", 0);
    n->r.outs[n->n_outs++] = texts;
    return x;
}

/* The first code that is not 0. */
static int open_and_run(struct network *n, bool reference, struct assay_error *err)
{
    static const enum as_run_mode modes[] = {AS_RUN_PLAIN, AS_RUN_MEMORY, AS_RUN_PROFILE};
    struct as_engine_options options = {.reference = reference, .limit_bytes = 1 << 28};
    struct as_step_sample samples[64];
    struct as_engine *engine = NULL;
    int rc = as_engine_new(&engine, n->r.k->model, &options, err);

    for (size_t i = 0; i < n->r.n_in && rc == ASSAY_OK; i++)
        rc = as_engine_set_input(engine, i, &n->r.in[i], err);
    for (size_t i = 0; i < UNIT_COUNT(modes) && rc == ASSAY_OK; i++) {
        assert_in_range(as_engine_n_steps(engine), 1, UNIT_COUNT(samples));
        rc = as_engine_run(engine, modes[i], samples, err);
    }
    as_engine_free(engine);
    return rc;
}

static void fail_every_allocation(make_network make, bool reference)
{
    struct network *n = calloc(1, sizeof *n);
    struct assay_error err = {0};
    struct as_graph *graph;
    uint64_t n_allocations;
    uint32_t out;

    assert_non_null(n);
    move_init(&n->r, 17);
    out = make(n);
    n->r.outs[n->n_outs++] = out;
    graph = n->r.k->model->main;
    assert_int_equal(as_graph_reserve_nodes(graph, n->r.k->n_nodes, NULL), ASSAY_OK);
    memcpy(graph->nodes, n->r.k->nodes, n->r.k->n_nodes * sizeof *n->r.k->nodes);
    graph->inputs = n->r.k->inputs;
    graph->n_inputs = n->r.k->n_inputs;
    graph->outputs = n->r.outs;
    graph->n_outputs = n->n_outs;
    assert_int_equal(as_model_link(n->r.k->model, &err), ASSAY_OK);

    as_alloc_fail_at(0, 0);
    assert_int_equal(open_and_run(n, reference, &err), ASSAY_OK);
    n_allocations = as_alloc_count();
    for (uint64_t nth = 1; nth <= n_allocations; nth++)
        for (int persistent = 0; persistent < 2; persistent++) {
            int rc;

            err = (struct assay_error){0};
            as_alloc_fail_at(nth, persistent);
            rc = open_and_run(n, reference, &err);
            as_alloc_fail_at(0, 0);
            if (rc == ASSAY_OK)
                continue;
            if (rc != ASSAY_ERR_NOMEM)
                print_error("allocation %llu: %s\n", (unsigned long long)nth, err.msg);
            assert_int_equal(rc, ASSAY_ERR_NOMEM);
            assert_int_equal(err.code, rc);
            assert_string_not_equal(err.msg, "");
        }
    assert_int_equal(open_and_run(n, reference, &err), ASSAY_OK);
    move_fini(&n->r);
    free(n);
}

#define BOTH(name, make)                                                                           \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        fail_every_allocation(make, true);                                                         \
        fail_every_allocation(make, false);                                                        \
    }

BOTH(a_fused_network_survives, make_cnn)
BOTH(bodies_survive, make_control)
BOTH(a_quantized_network_survives, make_quantized)
BOTH(sequences_and_texts_survive, make_sequence)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_network_survives),
        cmocka_unit_test(bodies_survive),
        cmocka_unit_test(a_quantized_network_survives),
        cmocka_unit_test(sequences_and_texts_survive),
    };

    /* The search for leaks cannot look at threads that a library leaves waiting. */
    if (setenv("OMP_NUM_THREADS", "1", 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
