/* tests/unit/test_memory_plan.c - lifetimes, peaks and places of activations.
 * Places are checked against every pair of tensors. */
#include "plan_kit.h"

#include "model/memory/memory_plan.h"
#include "stats/describe/rng.h"

static struct as_memory_plan *plan_of(struct kit *k)
{
    struct as_memory_plan *plan = NULL;

    assert_int_equal(as_memory_plan_new(&plan, k->model, &k->costs, NULL), ASSAY_OK);
    return plan;
}

static const struct as_plan_tensor *tensor_of(const struct as_memory_plan *plan, uint32_t value)
{
    for (size_t i = 0; i < plan->n_tensors; i++)
        if (plan->tensors[i].value == value)
            return &plan->tensors[i];
    return NULL;
}

static void expect_life(const struct as_memory_plan *plan, uint32_t value, uint32_t first,
                        uint32_t last)
{
    const struct as_plan_tensor *t = tensor_of(plan, value);

    assert_non_null(t);
    assert_int_equal(t->first, first);
    assert_int_equal(t->last, last);
}

/* Bytes of `t` and `u` may be the same only when no row is. */
static void expect_apart(const struct as_plan_tensor *tensors, size_t n, uint64_t arena_bytes)
{
    for (size_t i = 0; i < n; i++) {
        const struct as_plan_tensor *t = &tensors[i];

        assert_int_equal(t->offset % AS_PLAN_ALIGN, 0);
        assert_true(t->bytes == 0 || t->offset + t->bytes <= arena_bytes);
        for (size_t j = 0; j < i; j++) {
            const struct as_plan_tensor *u = &tensors[j];

            if (t->first > u->last || u->first > t->last || !t->bytes || !u->bytes)
                continue;
            if (t->offset < u->offset + u->bytes && u->offset < t->offset + t->bytes)
                fail_msg("tensors %u and %u overlap", (unsigned)i, (unsigned)j);
        }
    }
}

static void a_chain_needs_two_neighbors_at_once(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, a, b, y, w;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 100);
    w = kit_weight(&k, 5000);
    a = kit_f32(&k, 200);
    b = kit_f32(&k, 300);
    y = kit_f32(&k, 10);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_MatMul, x, w, a);
    kit_node(&k, AS_OP_Relu, a, AS_NONE, b);
    kit_node(&k, AS_OP_MatMul, b, w, y);
    plan = plan_of(&k);
    assert_int_equal(plan->n_tensors, 4);
    expect_life(plan, x, 0, 0);
    expect_life(plan, a, 0, 1);
    expect_life(plan, b, 1, 2);
    expect_life(plan, y, 2, 2);
    assert_null(tensor_of(plan, w));
    assert_int_equal(plan->n_steps, 3);
    assert_int_equal(plan->live_bytes[0], 1200);
    assert_int_equal(plan->live_bytes[1], 2000);
    assert_int_equal(plan->live_bytes[2], 1240);
    assert_int_equal(plan->peak_bytes, 2000);
    assert_int_equal(plan->peak_step, 1);
    assert_int_equal(plan->naive_bytes, 2440);
    assert_int_equal(plan->input_bytes, 400);
    assert_int_equal(plan->output_bytes, 40);
    assert_int_equal(plan->n_unknown, 0);
    assert_true(plan->arena_bytes >= plan->peak_bytes);
    expect_apart(plan->tensors, plan->n_tensors, plan->arena_bytes);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void a_skip_connection_lives_to_its_last_reader(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, a, b, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    a = kit_f32(&k, 16);
    b = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, a);
    kit_node(&k, AS_OP_Relu, a, AS_NONE, b);
    kit_node(&k, AS_OP_Add, x, b, y);
    plan = plan_of(&k);
    expect_life(plan, x, 0, 2);
    assert_int_equal(plan->peak_bytes, 3 * 64);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void a_view_takes_no_bytes_and_prolongs_what_it_shares(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, a, view, b, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    a = kit_f32(&k, 16);
    view = kit_f32(&k, 16);
    b = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, a);
    kit_node(&k, AS_OP_Flatten, a, AS_NONE, view);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, b);
    kit_node(&k, AS_OP_Add, view, b, y);
    plan = plan_of(&k);
    assert_int_equal(plan->n_tensors, 4);
    expect_life(plan, a, 0, 3);
    assert_null(tensor_of(plan, view));
    assert_int_equal(plan->naive_bytes, 4 * 64);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void an_output_that_is_a_view_keeps_its_memory_to_the_end(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, a, view, y, ends[2];
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    a = kit_f32(&k, 16);
    view = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    ends[0] = y;
    ends[1] = view;
    kit_ends(&k, k.main, &x, 1, ends, 2);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, a);
    kit_node(&k, AS_OP_Flatten, a, AS_NONE, view);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, y);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, kit_f32(&k, 1));
    plan = plan_of(&k);
    expect_life(plan, a, 0, 3);
    expect_life(plan, y, 2, 3);
    assert_int_equal(plan->output_bytes, 128);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void what_constants_alone_make_is_no_activation(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, w, turned, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    w = kit_weight(&k, 256);
    turned = kit_f32(&k, 256);
    y = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Transpose, w, AS_NONE, turned)->constant = true;
    kit_node(&k, AS_OP_MatMul, x, turned, y);
    plan = plan_of(&k);
    assert_int_equal(plan->n_tensors, 2);
    expect_life(plan, x, 0, 1);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void unknown_sizes_are_counted_and_left_out(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, a, text, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    a = kit_f32(&k, -1);
    text = kit_value(&k, k.main, AS_DTYPE_STRING, 3);
    y = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, a);
    kit_node(&k, AS_OP_Relu, a, AS_NONE, text);
    kit_node(&k, AS_OP_Relu, text, AS_NONE, y);
    plan = plan_of(&k);
    assert_int_equal(plan->n_unknown, 2);
    assert_int_equal(plan->naive_bytes, 128);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void a_sequence_is_the_sum_of_its_tensors(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, seq, y;
    struct as_type elems[3];
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    seq = kit_f32(&k, 1);
    y = kit_f32(&k, 16);
    for (int i = 0; i < 3; i++)
        elems[i] = k.model->values[x].type;
    k.model->values[seq].type =
        (struct as_type){.kind = AS_VALUE_SEQUENCE, .rank = -1, .n_elems = 3, .elems = elems};
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_SequenceConstruct, x, x, seq);
    kit_node(&k, AS_OP_ConcatFromSequence, seq, AS_NONE, y);
    plan = plan_of(&k);
    assert_int_equal(tensor_of(plan, seq)->bytes, 192);
    k.model->values[seq].type.n_elems = -1;
    as_memory_plan_free(plan);
    plan = plan_of(&k);
    assert_int_equal(plan->n_unknown, 1);
    as_memory_plan_free(plan);
    kit_end(&k);
}

/* x -> Loop { u = Relu(captured); v = Add(u, carried) } -> y, then z = Relu(y) */
static void a_body_keeps_what_it_reads_from_outside(void **state)
{
    struct as_memory_plan *plan;
    struct as_attr attr = {.name = "body", .kind = AS_ATTR_GRAPH};
    uint32_t x, captured, carried, u, v, w, y, z;
    struct as_graph *body;
    struct kit k;

    (void)state;
    kit_begin(&k);
    body = as_graph_new(k.model, k.main, "body", NULL);
    assert_non_null(body);
    x = kit_f32(&k, 16);
    captured = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    z = kit_f32(&k, 16);
    carried = kit_value(&k, body, AS_DTYPE_F32, 16);
    u = kit_value(&k, body, AS_DTYPE_F32, 16);
    v = kit_value(&k, body, AS_DTYPE_F32, 16);
    w = kit_value(&k, body, AS_DTYPE_F32, 16);
    kit_ends(&k, k.main, &x, 1, &z, 1);
    kit_ends(&k, body, &carried, 1, &v, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, captured);
    attr.graph = body;
    kit_node(&k, AS_OP_Loop, AS_NONE, x, y);
    k.nodes[1].attrs = &attr;
    k.nodes[1].n_attrs = 1;
    kit_node_in(&k, body, AS_OP_Relu, &captured, 1, &u, 1);
    kit_node_in(&k, body, AS_OP_Add, (uint32_t[]){u, carried}, 2, &v, 1);
    kit_node_in(&k, body, AS_OP_Relu, &u, 1, &w, 1);
    kit_node(&k, AS_OP_Relu, y, AS_NONE, z);
    plan = plan_of(&k);
    expect_life(plan, x, 0, 4);        /* an input of the loop */
    expect_life(plan, captured, 0, 4); /* read again in the next turn */
    expect_life(plan, carried, 2, 3);
    expect_life(plan, u, 2, 4);
    expect_life(plan, v, 3, 4); /* comes out of the body */
    expect_life(plan, w, 4, 4);
    expect_life(plan, y, 1, 5);
    expect_life(plan, z, 5, 5);
    as_memory_plan_free(plan);
    k.rows[2].times = k.rows[3].times = k.rows[4].times = 0; /* it never runs */
    plan = plan_of(&k);
    assert_null(tensor_of(plan, u));
    assert_null(tensor_of(plan, carried));
    assert_int_equal(plan->n_tensors, 4);
    as_memory_plan_free(plan);
    kit_end(&k);
}

/* Both sides of an If make a large tensor; only one of them runs at a time. */
static void two_branches_share_their_memory(void **state)
{
    struct as_memory_plan *plan;
    struct as_attr attr[2] = {{.name = "then_branch", .kind = AS_ATTR_GRAPH},
                              {.name = "else_branch", .kind = AS_ATTR_GRAPH}};
    uint32_t x, y, a, b;
    struct as_graph *left, *right;
    struct kit k;

    (void)state;
    kit_begin(&k);
    left = as_graph_new(k.model, k.main, "then", NULL);
    right = as_graph_new(k.model, k.main, "else", NULL);
    assert_true(left && right);
    x = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    a = kit_value(&k, left, AS_DTYPE_F32, 1600);
    b = kit_value(&k, right, AS_DTYPE_F32, 1600);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_ends(&k, left, NULL, 0, &a, 1);
    kit_ends(&k, right, NULL, 0, &b, 1);
    attr[0].graph = left;
    attr[1].graph = right;
    kit_node(&k, AS_OP_If, x, AS_NONE, y);
    k.nodes[0].attrs = attr;
    k.nodes[0].n_attrs = 2;
    kit_node_in(&k, left, AS_OP_Relu, &x, 1, &a, 1);
    kit_node_in(&k, right, AS_OP_Relu, &x, 1, &b, 1);
    plan = plan_of(&k);
    expect_life(plan, a, 1, 1);
    expect_life(plan, b, 2, 2);
    assert_int_equal(plan->peak_bytes, 64 + 64 + 6400);
    assert_int_equal(plan->arena_bytes, 64 + 64 + 6400);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static void a_network_without_nodes_holds_its_inputs(void **state)
{
    struct as_memory_plan *plan;
    struct kit k;
    uint32_t x;

    (void)state;
    kit_begin(&k);
    plan = plan_of(&k);
    assert_int_equal(plan->n_tensors, 0);
    assert_int_equal(plan->peak_bytes, 0);
    assert_int_equal(plan->arena_bytes, 0);
    as_memory_plan_free(plan);
    x = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &x, 1);
    plan = plan_of(&k);
    assert_int_equal(plan->n_steps, 0);
    assert_int_equal(plan->peak_bytes, 64);
    assert_int_equal(plan->arena_bytes, 64);
    as_memory_plan_free(plan);
    as_memory_plan_free(NULL);
    kit_end(&k);
}

static void sums_past_64_bits_stay_at_the_end(void **state)
{
    struct as_memory_plan *plan;
    uint32_t x, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_value(&k, k.main, AS_DTYPE_I8, INT64_MAX);
    y = kit_value(&k, k.main, AS_DTYPE_I8, INT64_MAX);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, y);
    plan = plan_of(&k);
    assert_true(plan->naive_bytes == 2 * (uint64_t)INT64_MAX);
    assert_true(plan->peak_bytes == 2 * (uint64_t)INT64_MAX);
    assert_true(plan->arena_bytes == UINT64_MAX); /* rounded, they pass it */
    as_memory_plan_free(plan);
    kit_node(&k, AS_OP_Relu, y, AS_NONE, kit_value(&k, k.main, AS_DTYPE_I8, INT64_MAX));
    plan = plan_of(&k);
    assert_true(plan->naive_bytes == UINT64_MAX);
    assert_true(plan->peak_bytes == UINT64_MAX);
    assert_true(plan->live_bytes[0] == UINT64_MAX);
    assert_true(plan->tensors[0].offset == UINT64_MAX);
    as_memory_plan_free(plan);
    kit_end(&k);
}

static uint64_t peak_of(const struct as_plan_tensor *tensors, size_t n, uint32_t n_rows)
{
    uint64_t peak = 0;

    for (uint32_t r = 0; r < n_rows; r++) {
        uint64_t live = 0;

        for (size_t i = 0; i < n; i++)
            if (tensors[i].first <= r && r <= tensors[i].last)
                live += tensors[i].bytes;
        peak = live > peak ? live : peak;
    }
    return peak;
}

static void fill_random(struct as_rng *rng, struct as_plan_tensor *tensors, size_t n,
                        uint32_t n_rows, uint32_t life)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t first = (uint32_t)as_rng_below(rng, n_rows);
        uint32_t last = first + (uint32_t)as_rng_below(rng, life);

        tensors[i] = (struct as_plan_tensor){
            .value = (uint32_t)i,
            .first = first,
            .last = last < n_rows ? last : n_rows - 1,
            .bytes = as_rng_below(rng, 10) ? as_rng_below(rng, 1u << as_rng_below(rng, 20)) : 0};
    }
}

static void no_two_places_overlap(void **state)
{
    static struct as_plan_tensor tensors[300];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 7);
    for (int round = 0; round < 400; round++) {
        size_t n = as_rng_below(&rng, 300);
        uint32_t n_rows = 1 + (uint32_t)as_rng_below(&rng, 200);
        uint64_t arena = 0, end = 0;

        fill_random(&rng, tensors, n, n_rows, 1 + (uint32_t)as_rng_below(&rng, n_rows));
        assert_int_equal(as_memory_place(tensors, n, &arena, NULL), ASSAY_OK);
        expect_apart(tensors, n, arena);
        assert_true(arena >= peak_of(tensors, n, n_rows));
        assert_int_equal(as_memory_place_in_order(tensors, n, NULL), ASSAY_OK);
        for (size_t i = 0; i < n; i++)
            if (tensors[i].bytes && tensors[i].offset + tensors[i].bytes > end)
                end = tensors[i].offset + tensors[i].bytes;
        expect_apart(tensors, n, end);
    }
}

/* The textbook case: first fit in order would need more than the peak. */
static void a_chain_is_placed_without_waste(void **state)
{
    struct as_plan_tensor t[] = {
        {0, 0, 1, 64, 0}, {1, 1, 2, 640, 0}, {2, 2, 3, 128, 0}, {3, 3, 4, 512, 0}};
    uint64_t arena;

    (void)state;
    assert_int_equal(as_memory_place(t, 4, &arena, NULL), ASSAY_OK);
    expect_apart(t, 4, arena);
    assert_int_equal(arena, 768);
}

/* A crowd is placed by the second way; its time is in docs/figures, here only that it ends. */
static void a_crowd_is_placed_too(void **state)
{
    enum { N = 20000 };
    struct as_plan_tensor *tensors = as_alloc_zero(N, sizeof *tensors);
    struct as_rng rng;
    uint64_t arena;

    (void)state;
    assert_non_null(tensors);
    as_rng_seed(&rng, 8);
    fill_random(&rng, tensors, N, N, N);
    assert_int_equal(as_memory_place(tensors, N, &arena, NULL), ASSAY_OK);
    expect_apart(tensors, 2000, arena);
    as_free(tensors);
}

static int plan_again(void *user, struct assay_error *err)
{
    struct as_memory_plan *plan = NULL;
    struct kit *k = user;
    int rc = as_memory_plan_new(&plan, k->model, &k->costs, err);

    assert_true((rc == ASSAY_OK) == (plan != NULL));
    as_memory_plan_free(plan);
    return rc;
}

static int place_crowd(void *user, struct assay_error *err)
{
    return as_memory_place_in_order(user, 2, err);
}

static void any_allocation_may_fail(void **state)
{
    struct as_plan_tensor t[] = {{0, 0, 1, 64, 0}, {1, 1, 2, 640, 0}};
    uint32_t x, y;
    struct kit k;

    (void)state;
    kit_begin(&k);
    x = kit_f32(&k, 16);
    y = kit_f32(&k, 16);
    kit_ends(&k, k.main, &x, 1, &y, 1);
    kit_node(&k, AS_OP_Relu, x, AS_NONE, y);
    kit_fail_each(plan_again, &k);
    kit_fail_each(place_crowd, t);
    kit_end(&k);
}

static void a_token_in_the_cache_is_two_vectors_a_layer_and_head(void **state)
{
    struct as_decoder decoder = {.layers = 32, .heads = 32, .kv_heads = 8, .head_dim = 128};

    (void)state;
    assert_int_equal(as_kv_bytes_per_token(&decoder, 16), 131072); /* 128 KiB, as for Llama 3 8B */
    assert_int_equal(as_kv_bytes_per_token(&decoder, 4), 32768);
    decoder.value_dim = 64;
    assert_int_equal(as_kv_bytes_per_token(&decoder, 16), 98304);
    decoder = (struct as_decoder){.layers = 1, .kv_heads = 1, .head_dim = 3, .value_dim = 2};
    assert_int_equal(as_kv_bytes_per_token(&decoder, 4), 3); /* 20 bits */
    decoder.layers = UINT64_MAX;
    assert_true(as_kv_bytes_per_token(&decoder, 16) == UINT64_MAX);
    decoder = (struct as_decoder){0};
    assert_int_equal(as_kv_bytes_per_token(&decoder, 16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_needs_two_neighbors_at_once),
        cmocka_unit_test(a_skip_connection_lives_to_its_last_reader),
        cmocka_unit_test(a_view_takes_no_bytes_and_prolongs_what_it_shares),
        cmocka_unit_test(an_output_that_is_a_view_keeps_its_memory_to_the_end),
        cmocka_unit_test(what_constants_alone_make_is_no_activation),
        cmocka_unit_test(unknown_sizes_are_counted_and_left_out),
        cmocka_unit_test(a_sequence_is_the_sum_of_its_tensors),
        cmocka_unit_test(a_body_keeps_what_it_reads_from_outside),
        cmocka_unit_test(two_branches_share_their_memory),
        cmocka_unit_test(a_network_without_nodes_holds_its_inputs),
        cmocka_unit_test(sums_past_64_bits_stay_at_the_end),
        cmocka_unit_test(no_two_places_overlap),
        cmocka_unit_test(a_chain_is_placed_without_waste),
        cmocka_unit_test(a_crowd_is_placed_too),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(a_token_in_the_cache_is_two_vectors_a_layer_and_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
