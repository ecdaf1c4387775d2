/* tests/unit/test_cost_backward.c - the backward pass of loops, recurrent cells and attention:
 * which gradients are computed, and what is kept for them. */
#include "cost_kit.h"

#define LOOP_BODY                                                                                  \
    "graph body; in i i64:scalar; in g bool:scalar; in s 4x8; MatMul s,w -> t; Identity g -> h; "  \
    "out h; out t; end; "

static void backward_macs_are(const char *text, uint64_t expected)
{
    struct cost_kit k;
    uint64_t sum = 0;

    cost_open(&k, 17, text);
    if (k.costs->backward.macs != expected)
        fail_msg("%s: %llu MACs, not %llu", text, (unsigned long long)k.costs->backward.macs,
                 (unsigned long long)expected);
    for (size_t i = 0; i < k.costs->n_rows; i++)
        sum += k.costs->rows[i].backward_total.macs;
    assert_int_equal(sum, expected);
    cost_close(&k);
}

static void a_loop_passes_the_gradient_of_what_it_carries(void **state)
{
    const uint64_t each = 4 * 8 * 8;

    (void)state;
    /* 7 of the weight; of the state all but the first, which nothing trained has gone into. */
    backward_macs_are("in x 4x8; const w 8x8; const m i64=7; const c bool=1; " LOOP_BODY
                      "Loop m,c,x -> y body=@body",
                      13 * each);
    /* A start that is made from something trained needs its gradient too. */
    backward_macs_are("in x 4x8; const v 8x8; MatMul x,v -> z; const w 8x8; const m i64=7; "
                      "const c bool=1; " LOOP_BODY "Loop m,c,z -> y body=@body",
                      each + 14 * each);
    backward_macs_are("in x 4x8; const w 8x8; const m i64=1; const c bool=1; " LOOP_BODY
                      "Loop m,c,x -> y body=@body",
                      each);
    backward_macs_are("in x 4x8; const w 8x8; const m i64=0; const c bool=1; " LOOP_BODY
                      "Loop m,c,x -> y body=@body",
                      0);
    /* What comes out needs a gradient: that of the product behind it is counted. */
    backward_macs_are("in x 4x8; const w 8x8; const m i64=2; const c bool=1; " LOOP_BODY
                      "Loop m,c,x -> y body=@body; const u 8x8; MatMul y,u -> z",
                      3 * each + 2 * each);
}

/* a of a round is b of the next: only the third round finds a gradient in b. */
static void gradients_may_need_several_rounds(void **state)
{
    (void)state;
    backward_macs_are("in x 4x8; in q 4x8; const w 8x8; const u 8x8; const m i64=5; "
                      "const c bool=1; graph body; in i i64:scalar; in g bool:scalar; in s 4x8; "
                      "in p 4x8; Identity g -> h; MatMul s,w -> t; MatMul p,u -> r; out h; out t; "
                      "out s; end; Loop m,c,x,q -> y,z body=@body",
                      4 * 8 * 8 * (5 + 4 + 5 + 3));
}

static void a_scan_passes_the_gradient_of_its_state(void **state)
{
    (void)state;
    backward_macs_are("in s 1x8; in x 11x1x8; const w 8x8; graph body; in a 1x8; in b 1x8; "
                      "MatMul a,w -> m; Add m,b -> n; Identity n -> o; out n; out o; end; "
                      "Scan s,x -> last,all num_scan_inputs=1 body=@body",
                      8 * 8 * (11 + 10));
}

static void a_loop_in_a_loop_spares_the_very_first_round_only(void **state)
{
    (void)state;
    backward_macs_are("in x 4x8; const w 8x8; const m i64=3; const n i64=5; const c bool=1; "
                      "graph outer; in i i64:scalar; in g bool:scalar; in s 4x8; graph inner; "
                      "in j i64:scalar; in f bool:scalar; in t 4x8; MatMul t,w -> u; "
                      "Identity f -> e; out e; out u; end; Loop n,c,s -> o body=@inner; "
                      "Identity g -> h; out h; out o; end; Loop m,c,x -> y body=@outer",
                      4 * 8 * 8 * (15 + 14));
}

static void attention_needs_no_gradient_of_an_input(void **state)
{
    const uint64_t projection = 2 * 10 * 32 * 96, scores = 2 * 4 * 10 * 10 * 8;

    (void)state;
    backward_macs_are("in x 2x10x32; const w 32x96; const b 96; Attention@com.microsoft x,w,b -> y "
                      "num_heads=4",
                      projection + 4 * scores);
    backward_macs_are("in x 2x10x32; const v 32x32; MatMul x,v -> z; const w 32x96; const b 96; "
                      "Attention@com.microsoft z,w,b -> y num_heads=4",
                      2 * 10 * 32 * 32 + 2 * projection + 4 * scores);
    /* Only the values are made from something trained: their gradient is all there is. */
    backward_macs_are("in q 2x10x32; in k 2x10x32; const w 32x32; MatMul k,w -> v; "
                      "MultiHeadAttention@com.microsoft q,k,v -> y num_heads=4",
                      2 * 10 * 32 * 32 + scores);
}

static void what_is_made_inside_is_kept(void **state)
{
    static const struct {
        const char *text;
        uint64_t inner, saved;
    } cases[] = {
        /* 10 steps x 3 samples x 2 directions x 16 units, 7 numbers each as PyTorch 1.13 keeps; x.
           The states of all steps that come out are a tensor that the next node keeps. */
        {"in x 10x3x12; const w 2x64x12; const r 2x64x16; LSTM x,w,r -> y hidden_size=16 "
         "direction=bidirectional",
         4 * 7 * 960, 4 * (7 * 960 + 360)},
        {"in x 10x3x12; const w 2x64x12; const r 2x64x16; LSTM x,w,r -> -,h hidden_size=16 "
         "direction=bidirectional",
         4 * 7 * 960, 4 * (7 * 960 + 360)},
        {"in x 10x3x12; const w 1x24x12; const r 1x24x8; GRU x,w,r -> y hidden_size=8", 4 * 7 * 240,
         4 * (7 * 240 + 360)},
        {"in x 10x3x12; const w 1x4x12; const r 1x4x4; RNN x,w,r -> y hidden_size=4", 4 * 120,
         4 * (360 + 120)},
        {"in x f16:10x3x12; const w f16:1x24x12; const r f16:1x24x8; GRU x,w,r -> y hidden_size=8",
         2 * 7 * 240, 2 * (7 * 240 + 360)},
        /* probabilities; queries, keys and values; x */
        {"in x 2x10x32; const w 32x96; const b 96; Attention@com.microsoft x,w,b -> y num_heads=4",
         4 * (2 * 4 * 100 + 3 * 640), 4 * (2 * 4 * 100 + 3 * 640 + 640)},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cost_kit k;

        cost_open(&k, 14, cases[i].text);
        if (k.costs->rows[0].inner_bytes != cases[i].inner ||
            k.costs->rows[0].saved_bytes != cases[i].saved)
            fail_msg("%s: %llu inside, %llu in all", cases[i].text,
                     (unsigned long long)k.costs->rows[0].inner_bytes,
                     (unsigned long long)k.costs->rows[0].saved_bytes);
        cost_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_passes_the_gradient_of_what_it_carries),
        cmocka_unit_test(gradients_may_need_several_rounds),
        cmocka_unit_test(a_scan_passes_the_gradient_of_its_state),
        cmocka_unit_test(a_loop_in_a_loop_spares_the_very_first_round_only),
        cmocka_unit_test(attention_needs_no_gradient_of_an_input),
        cmocka_unit_test(what_is_made_inside_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
