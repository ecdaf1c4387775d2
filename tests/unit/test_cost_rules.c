/* What single operators cost, worked out by hand: products, recurrent cells, normalizations,
 * pools, activations, and those of other domains. */
#include "cost_kit.h"

struct cost_case {
    int64_t opset;
    const char *text;
    uint64_t macs, elementwise, transcendental, back_macs;
};

static void check(const struct cost_case *c)
{
    struct cost_kit k;
    const struct as_cost *f, *b;

    cost_open(&k, c->opset, c->text);
    f = &k.costs->forward;
    b = &k.costs->backward;
    if (k.costs->n_unknown_ops + k.costs->n_unknown_shapes > 0)
        fail_msg("%s: not counted", c->text);
    if (f->macs != c->macs || f->elementwise != c->elementwise ||
        f->transcendental != c->transcendental || b->macs != c->back_macs)
        fail_msg("%s:\n  %llu MACs, %llu elementwise, %llu transcendental, %llu MACs back", c->text,
                 (unsigned long long)f->macs, (unsigned long long)f->elementwise,
                 (unsigned long long)f->transcendental, (unsigned long long)b->macs);
    cost_close(&k);
}

static void check_all(const struct cost_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i]);
}

/* An input of the graph has no gradient, so only the weights' is counted. */
static void convolutions_count_kernel_times_output(void **state)
{
    static const struct cost_case cases[] = {
        {13, "in x 1x3x224x224; const w 64x3x7x7; Conv x,w -> y strides=2,2 pads=3,3,3,3",
         236027904 / 2, 0, 0, 236027904 / 2},
        {13, "in x 1x3x32x32; const w 16x3x3x3; Conv x,w -> y pads=1,1,1,1", 884736 / 2, 0, 0,
         884736 / 2},
        {13, "in x 1x4x8x8; const w 6x2x3x3; const b 6; Conv x,w,b -> y group=2", 216 * 18, 216, 0,
         216 * 18},
        {13, "in x 2x8x10x10; const w 8x1x3x3; Conv x,w -> y group=8", 2 * 8 * 64 * 9, 0, 0,
         2 * 8 * 64 * 9},
        {13, "in x 1x3x10x10; const w 4x3x3x3; Conv x,w -> y dilations=2,2", 4 * 36 * 27, 0, 0,
         4 * 36 * 27},
        {13, "in x 1x3x10x10; const w 4x3x1x5; Conv x,w -> y", 4 * 10 * 6 * 15, 0, 0,
         4 * 10 * 6 * 15},
        {13, "in x 1x2x6x6x6; const w 4x2x3x3x3; Conv x,w -> y", 4 * 64 * 54, 0, 0, 4 * 64 * 54},
        {13, "in x 1x2x9; const w 4x2x3; Conv x,w -> y strides=2,", 4 * 4 * 6, 0, 0, 4 * 4 * 6},
        /* transposed: by what goes in */
        {13, "in x 1x4x5x5; const w 4x3x2x2; const b 3; ConvTranspose x,w,b -> y strides=2,2",
         100 * 12, 300, 0, 100 * 12},
        {13, "in x 1x4x8; const w 4x3x3; ConvTranspose x,w -> y group=2", 32 * 9, 0, 0, 32 * 9},
        {10, "in x u8:1x1x3x3; const w u8:1x1x2x2; const z u8=1; ConvInteger x,w,z -> y", 16, 9, 0,
         0},
        {10,
         "in x u8:1x1x7x7; const s f32=1; const z u8=0; const w u8:2x1x1x1; const b i32:2; "
         "QLinearConv x,s,z,w,s,z,s,z,b -> y",
         98, 98 * 6, 0, 0},
        {19, "in x 1x1x3x3; const w 1x1x2x2; in o 1x8x4x4; DeformConv x,w,o -> y pads=1,1,1,1",
         16 * 4, 16 * 4 * 7 + 128, 0, 16 * 4},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

static void products_count_every_index_once(void **state)
{
    static const struct cost_case cases[] = {
        {13, "in x 2x3x4; const w 4x5; MatMul x,w -> y", 120, 0, 0, 120},
        {13, "in x 4; const w 4x5; MatMul x,w -> y", 20, 0, 0, 20},
        {13, "in x 2x1x3x4; in z 5x4x6; MatMul x,z -> y", 2 * 5 * 3 * 6 * 4, 0, 0, 0},
        {13, "in x 128; const w 128x64; MatMul x,w -> y", 8192, 0, 0, 8192},
        {13, "in x 4x3; const w 4x5; const b 5; Gemm x,w,b -> y transA=1 alpha=0.5 beta=0.5",
         3 * 5 * 4, 15 + 5 + 15, 0, 60},
        {13, "in x 3x4; const w 5x4; Gemm x,w -> y transB=1", 60, 0, 0, 60},
        {12, "in q 1x2x3x4; in k 1x2x5x4; Einsum q,k -> y equation=bhqd,bhkd->bhqk", 120, 0, 0, 0},
        {12, "in a 2x3; in b 2x3; Einsum a,b -> y equation=ij,ij->ij", 0, 6, 0, 0},
        {12, "in a 2x3; Einsum a -> y equation=ij->j", 0, 6, 0, 0},
        {12, "in a 2x3; Einsum a -> y equation=ij->ji", 0, 0, 0, 0},
        {12, "in a 7x2x3; in b 3x4; Einsum a,b -> y equation=...ij,jk->...ik", 7 * 24, 0, 0, 0},
        {10, "in a u8:4x3; const b u8:3x2; const z u8=1; MatMulInteger a,b,z,z -> y", 24, 18, 0, 0},
        {10,
         "in a u8:2x4; const s f32=1; const z u8=0; const b u8:4x3; QLinearMatMul "
         "a,s,z,b,s,z,s,z -> y",
         24, 30, 0, 0},
        {11, "in x 2x3x3; Det x -> y", 0, 2 * (2 * 5 + 3 + 2), 0, 0},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

/* Steps x directions x gates x hidden x (input + hidden). */
static void recurrent_cells_count_gates(void **state)
{
    static const struct cost_case cases[] = {
        {14, "in x 1x1x128; const w 1x512x128; const r 1x512x128; LSTM x,w,r -> y hidden_size=128",
         131072, 128 * 14, 128 * 5, 65536 + 2 * 65536},
        {14,
         "in x 5x2x3; const w 2x16x3; const r 2x16x4; const b 2x32; LSTM x,w,r,b -> y "
         "hidden_size=4 direction=bidirectional",
         10 * 2 * 16 * 7, 80 * 18 + 32, 400, 10 * 2 * 16 * (3 + 8)},
        {14, "in x 5x2x3; const w 1x12x3; const r 1x12x4; GRU x,w,r -> y hidden_size=4",
         10 * 12 * 7, 40 * 12, 120, 10 * 12 * 11},
        {14, "in x 5x2x3; const w 1x4x3; const r 1x4x4; RNN x,w,r -> y hidden_size=4", 10 * 4 * 7,
         40, 40, 10 * 4 * 11},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

static void normalizations_and_pools_count_each_step(void **state)
{
    static const struct cost_case cases[] = {
        {13, "in x 2x3x4; Softmax x -> y", 0, 4 * 24 - 6, 24, 0},
        {11, "in x 2x3x4; Softmax x -> y", 0, 4 * 24 - 2, 24, 0},
        {13, "in x 2x3x4; LogSoftmax x -> y axis=1", 0, 4 * 24 - 8, 24 + 8, 0},
        {17, "in x 2x3x4; const s 4; const b 4; LayerNormalization x,s,b -> y", 0, 7 * 24 + 24, 6,
         0},
        {17, "in x 2x3x4; const s 4; LayerNormalization x,s -> y", 0, 6 * 24 + 24, 6, 0},
        {15, "in x 1x2x3x3; const s 2; BatchNormalization x,s,s,s,s -> y", 0, 36 + 8, 2, 0},
        {6, "in x 2x3x4; const s 3; InstanceNormalization x,s,s -> y", 0, 7 * 24 + 24, 6, 0},
        {13, "in x 1x4x2x2; LRN x -> y size=3", 0, 16 * 7, 16, 0},
        {13, "in x 2x4; LpNormalization x -> y", 0, 24, 2, 0},
        {13, "in x 1x1x4x4; MaxPool x -> y kernel_shape=2,2 strides=2,2", 0, 12, 0, 0},
        {13, "in x 1x1x4x4; AveragePool x -> y kernel_shape=2,2 strides=2,2", 0, 20, 0, 0},
        {13, "in x 1x2x4x4; GlobalAveragePool x -> y", 0, 34, 0, 0},
        {13, "in x 1x2x4x4; GlobalMaxPool x -> y", 0, 30, 0, 0},
        {13, "in x 2x5; ReduceMean x -> y axes=1,", 0, 12, 0, 0},
        {13, "in x 2x5; ReduceMax x -> y axes=1,", 0, 8, 0, 0},
        {13, "in x 2x5; ReduceL2 x -> y axes=1,", 0, 20, 2, 0},
        {13, "in x 2x5; ArgMax x -> y axis=1", 0, 8, 0, 0},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

static void elements_count_their_operations(void **state)
{
    static const struct cost_case cases[] = {
        {14, "in x 2x5; in z 5; Add x,z -> y", 0, 10, 0, 0},
        {14, "in x 2x5; Relu x -> y", 0, 10, 0, 0},
        {14, "in x 10; Sigmoid x -> y", 0, 20, 10, 0},
        {14, "in x 10; Tanh x -> y", 0, 0, 10, 0},
        {20, "in x 10; Gelu x -> y", 0, 40, 10, 0},
        {20, "in x 10; Gelu x -> y approximate=tanh", 0, 80, 10, 0},
        {14, "in x 10; const a f32=0; const b f32=6; Clip x,a,b -> y", 0, 20, 0, 0},
        {13, "in x 4; in z 3x4; in w 4; Sum x,z,w -> y", 0, 24, 0, 0},
        {13, "in x 4; in z 4; Mean x,z -> y", 0, 8, 0, 0},
        {13, "in x 4; in z 4; Pow x,z -> y", 0, 0, 4, 0},
        {13, "in x 2x3; Transpose x -> y", 0, 0, 0, 0},
        {13, "in x 10; const s f32=1; const z u8=0; QuantizeLinear x,s,z -> y", 0, 50, 0, 0},
        {13, "in x u8:10; const s f32=1; const z u8=0; DequantizeLinear x,s,z -> y", 0, 20, 0, 0},
        {13, "in x u8:10; const s f32=1; DequantizeLinear x,s -> y", 0, 10, 0, 0},
        {11, "in x 10; DynamicQuantizeLinear x -> y,s,z", 0, 70, 0, 0},
        {13, "in x 1x1x2x2; const r f32{}; const s f32{1,1,2,2}; Resize x,-,s -> y mode=linear", 0,
         16 * 7, 0, 0},
        {13, "in x 1x1x2x2; const s f32{1,1,2,2}; Resize x,-,s -> y mode=nearest", 0, 0, 0, 0},
        {17, "in x 1x8x1; DFT x -> y axis=1", 0, 120, 0, 0},
        {13, "in x 2x8; const k i64{3}; TopK x,k -> y,i", 0, 32, 0, 0},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

static void other_domains_are_counted_too(void **state)
{
    static const struct cost_case cases[] = {
        {1,
         "in x 2x3x8; const w u8:5x1x4; const s 5; MatMulNBits@com.microsoft x,w,s -> y K=8 N=5 "
         "bits=4 block_size=16",
         240, 80, 0, 0},
        {1, "in x 3x4; const w 4x5; FusedMatMul@com.microsoft x,w -> y alpha=0.5", 60, 15, 0, 60},
        {1, "in x 2x8; const b 8; BiasGelu@com.microsoft x,b -> y", 0, 80, 16, 0},
        {1,
         "in x 1x6x12; const w 12x36; const b 36; Attention@com.microsoft x,w,b -> y num_heads=3",
         6 * 12 * 36 + 2 * 6 * 6 * 12, 3 * 36 + 6 * 36 + 4 * 3 * 36 - 18, 3 * 36,
         6 * 12 * 36 + 4 * 6 * 6 * 12},
        {1,
         "in x 1x8x8x3; const w 4x3x3x3; const b 4; CONV_2D@tflite x,w,b -> y padding=VALID "
         "stride_w=1 stride_h=1 fused_activation_function=RELU",
         144 * 27, 288, 0, 144 * 27},
        {1,
         "in x 1x8x8x3; const w 1x3x3x6; const b 6; DEPTHWISE_CONV_2D@tflite x,w,b -> y "
         "padding=VALID stride_w=1 stride_h=1 depth_multiplier=2",
         216 * 9, 216, 0, 216 * 9},
        {1,
         "in x 2x10; const w 5x10; const b 5; FULLY_CONNECTED@tflite x,w,b -> y "
         "fused_activation_function=RELU6",
         100, 10 + 20, 0, 100},
        {1, "in x 2x4x3; in z 2x4x5; BATCH_MATMUL@tflite x,z -> y adj_x=1", 2 * 3 * 5 * 4, 0, 0, 0},
        {1,
         "in x 1x4x4x2; MAX_POOL_2D@tflite x -> y padding=VALID stride_w=2 stride_h=2 "
         "filter_width=2 filter_height=2",
         0, 8 * 3, 0, 0},
    };

    (void)state;
    check_all(cases, UNIT_COUNT(cases));
}

/* Operators that no rule can be written for: what they do is not in the file, or not known. */
static void no_operator_is_left_out(void **state)
{
    static const enum as_op without[] = {AS_OP_TFL_CALL};

    (void)state;
    for (int op = 1; op < AS_OP_COUNT; op++) {
        const struct as_op_cost *cost = as_op_cost_find((enum as_op)op);
        bool none = false;

        for (size_t i = 0; i < UNIT_COUNT(without); i++)
            none |= without[i] == (enum as_op)op;
        if (!cost != none)
            fail_msg("%s %s", as_op_name((enum as_op)op), cost ? "has costs" : "has no costs");
        if (cost) {
            assert_int_equal(cost->op, op);
            assert_non_null(cost->rule);
            assert_in_range(cost->saved, 0, AS_SAVED_COUNT - 1);
        }
    }
    assert_null(as_op_cost_find(AS_OP_UNKNOWN));
    assert_null(as_op_cost_find(AS_OP_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_count_kernel_times_output),
        cmocka_unit_test(products_count_every_index_once),
        cmocka_unit_test(recurrent_cells_count_gates),
        cmocka_unit_test(normalizations_and_pools_count_each_step),
        cmocka_unit_test(elements_count_their_operations),
        cmocka_unit_test(other_domains_are_counted_too),
        cmocka_unit_test(no_operator_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
