/* tests/unit/test_rules_tflite.c - shapes of TensorFlow Lite's operators: channels last, and shapes
 * that were written for one batch used with another. */
#include "rule_cases.h"

#define TFL "@tflite"

static const struct rule_case layers[] = {
    {0, "CONV_2D" TFL, "8x224x224x3; 32x3x3x3; 32", "padding=SAME stride_h=2 stride_w=2",
     "8x112x112x32"},
    {0, "CONV_2D" TFL, "1x10x12x3; 32x3x3x3; 32",
     "padding=VALID stride_h=2 stride_w=1 dilation_w_factor=2", "1x4x8x32"},
    {0, "CONV_2D" TFL, "1x10x12x3; 32x3x3x3; 32", "padding=VALID stride_h=0", "!strides holds 0"},
    {0, "CONV_2D" TFL, "1x2x12x3; 32x3x3x3; 32", "padding=VALID stride_h=1", "!does not fit"},
    {0, "DEPTHWISE_CONV_2D" TFL, "1x8x8x4; 1x3x3x8; 8", "padding=SAME stride_h=1 stride_w=1",
     "1x8x8x8"},
    {0, "AVERAGE_POOL_2D" TFL, "2x7x7x64",
     "padding=VALID stride_h=1 stride_w=1 filter_height=7 filter_width=7", "2x1x1x64"},
    {0, "TRANSPOSE_CONV" TFL, "i32{1,8,8,4}; 4x3x3x2; 5x4x4x2", "padding=SAME stride_h=2",
     "5x8x8x4"},
    {0, "FULLY_CONNECTED" TFL, "2x3x4; 10x4; 10", "keep_num_dims=1", "2x3x10"},
    {0, "FULLY_CONNECTED" TFL, "2x3x4; 10x12; 10", "", "2x10"},
    {0, "FULLY_CONNECTED" TFL, "2x3x4; 10x5; 10", "", "!not rows of 5"},
    {0, "BATCH_MATMUL" TFL, "2x3x4; 2x5x4", "adj_y=1", "2x3x5"},
    {0, "ADD" TFL, "2x1x4; 3x1", "", "2x3x4"},
    {0, "ADD" TFL, "2x4; 3", "", "!cannot be broadcast"},
    {0, "SVDF" TFL, "2x16; 8x16; 8x4; 4; 2x32", "rank=2", "2x4"},
    {0, "UNIDIRECTIONAL_SEQUENCE_LSTM" TFL, "2x5x16; 8x16; 8x16; 8x16; 8x16; 8x8; 8x8; 8x8; 8x8",
     "", "2x5x8"},
    {0, "RESIZE_BILINEAR" TFL, "2x4x4x3; i32{8,9}", "", "2x8x9x3"},
    {0, "EMBEDDING_LOOKUP" TFL, "i32:7; 100x16", "", "7x16"},
};

static const struct rule_case shapes[] = {
    {0, "RESHAPE" TFL, "2x3x4; i32{6,-1}", "", "6x4"},
    {0, "RESHAPE" TFL, "8x1x1x1001; i32{1,1001}", "", "8x1001"}, /* written for a batch of 1 */
    {0, "RESHAPE" TFL, "8x1x1x1001", "new_shape=1,1001", "8x1001"},
    {0, "RESHAPE" TFL, "2x3; i32{4,-1}", "", "!do not fit"},
    {0, "RESHAPE" TFL, "2x3; i32:3", "", "?x?x?"},
    {0, "SQUEEZE" TFL, "2x1x1x5", "squeeze_dims=1,2", "2x5"},
    {0, "SQUEEZE" TFL, "2x1x1x5", "", "2x5"},
    {0, "EXPAND_DIMS" TFL, "2x3; i32=-1", "", "2x3x1"},
    {0, "CONCATENATION" TFL, "2x3; 2x4", "axis=-1", "2x7"},
    {0, "CONCATENATION" TFL, "2x3; 3x4", "axis=-1", "!2 in one input and 3"},
    {0, "PACK" TFL, "2x3; 2x3", "axis=1 values_count=2", "2x2x3"},
    {0, "UNPACK" TFL, "4x3", "axis=0 num=4", "3; 3; 3; 3"},
    {0, "SPLIT" TFL, "i32=1; 2x8", "num_splits=4", "2x2; 2x2; 2x2; 2x2"},
    {0, "SPLIT_V" TFL, "2x8; i32{1,-1,2,3}; i32=1", "", "2x1; 2x2; 2x2; 2x3"},
    {0, "SLICE" TFL, "4x5; i32{1,2}; i32{2,-1}", "", "2x3"},
    {0, "STRIDED_SLICE" TFL, "4x5x6; i32{0,1}; i32{4,5}; i32{2,2}", "", "2x2x6"},
    {0, "STRIDED_SLICE" TFL, "4x5x6; i32{1,0}; i32{2,0}; i32{1,1}", "shrink_axis_mask=1 end_mask=2",
     "5x6"},
    {0, "STRIDED_SLICE" TFL, "4x5; i32{-1,0}; i32{-5,5}; i32{-1,1}", "", "4x5"},
    {0, "STRIDED_SLICE" TFL, "4x5x6; i32{0,0,1}; i32{0,0,3}; i32{1,1,1}",
     "ellipsis_mask=1 new_axis_mask=2", "4x5x1x2"},
    {0, "STRIDED_SLICE" TFL, "4; i32{0}; i32{4}; i32{0}", "", "!stride of 0"},
    {0, "TILE" TFL, "2x3; i32{2,1}", "", "4x3"},
    {0, "TRANSPOSE" TFL, "2x3x4; i32{2,0,1}", "", "4x2x3"},
    {0, "GATHER" TFL, "4x5; i32:2x3", "axis=1", "4x2x3"},
    {0, "GATHER_ND" TFL, "4x5x6; i32:7x2", "", "7x6"},
    {0, "MEAN" TFL, "2x7x7x64; i32{1,2}", "keep_dims=0", "2x64"},
    {0, "MEAN" TFL, "2x7x7x64; i32{1,2}", "keep_dims=1", "2x1x1x64"},
    {0, "ARG_MAX" TFL, "2x10; i32=1", "", "2"},
    {0, "ONE_HOT" TFL, "i32:2x3; i32=7; f32=1; f32=0", "axis=-1", "2x3x7"},
    {0, "TOPK_V2" TFL, "2x10; i32=3", "", "2x3; 2x3"},
    {0, "DEPTH_TO_SPACE" TFL, "1x2x3x8", "block_size=2", "1x4x6x2"},
    {0, "SHAPE" TFL, "2x3x4", "", "3"},
    {0, "WHERE" TFL, "bool:2x3", "", "?x2"},
};

static void layers_have_channels_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(layers); i++)
        kit_check(&layers[i]);
}

static void elements_are_moved(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(shapes); i++)
        kit_check(&shapes[i]);
}

/* A shape taken apart and put together again, as converters write it for an open batch. */
static void a_shape_computed_in_the_graph_is_followed(void **state)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct rule_kit k;

    (void)state;
    assert_int_equal(kit_infer(&k, 0,
                               "in a i32:6x4x5; SHAPE" TFL " a -> s\n"
                               "const b i32{0}; const e i32{1}; const one i32{1}\n"
                               "STRIDED_SLICE" TFL " s,b,e,one -> n shrink_axis_mask=1\n"
                               "const m i32=20; PACK" TFL " n,m -> t axis=0\n"
                               "RESHAPE" TFL " a,t -> r",
                               &open),
                     ASSAY_OK);
    kit_is(&k, "r", "6x20");
    kit_free(&k);
}

static void a_while_keeps_what_does_not_change(void **state)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct rule_kit k;

    (void)state;
    assert_int_equal(
        kit_infer(&k, 0,
                  "in i i32:scalar; in a 1x4\n"
                  "graph test; in p i32:scalar; in q 1x4; LESS" TFL " p,p -> l; out l; end\n"
                  "graph body; in r i32:scalar; in s 1x4; CONCATENATION" TFL " s,s -> u axis=0\n"
                  "out r; out u; end\n"
                  "WHILE" TFL " i,a -> x,y cond=@test body=@body",
                  &open),
        ASSAY_OK);
    kit_is(&k, "x", "scalar");
    kit_is(&k, "y", "?x4");
    assert_int_equal(k.closed[1]->times, AS_DIM_UNKNOWN);
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_channels_last),
        cmocka_unit_test(elements_are_moved),
        cmocka_unit_test(a_shape_computed_in_the_graph_is_followed),
        cmocka_unit_test(a_while_keeps_what_does_not_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
