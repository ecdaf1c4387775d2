/* tests/unit/test_rules_image.c - shapes of resized and sampled images, normalizations, recurrent
 * layers, quantization and Fourier transforms: each in all the versions it has. */
#include "rule_cases.h"

static const struct rule_case images[] = {
    {10, "Resize", "1x1x2x4; f32{1,1,0.6,0.6}", "", "1x1x1x2"},
    {10, "Resize", "1x1x10x10; f32{1,1,0.7,0.7}", "", "1x1x7x7"}, /* 6.99999988 in 64 bits */
    {11, "Resize", "1x1x2x2; -; f32{1,1,2,3}", "", "1x1x4x6"},
    {11, "Resize", "1x1x2x2; f32{}; f32{}; i64{1,1,7,8}", "", "1x1x7x8"},
    {11, "Resize", "1x1x4x4; f32{0,0,0.25,0.5,1,1,0.75,0.75}; f32{1,1,5,5}",
     "coordinate_transformation_mode=tf_crop_and_resize", "1x1x10x5"},
    {13, "Resize", "1x1x2x2; -; 4", "", "?x?x?x?"},
    {13, "Resize", "1x1x2x2; -; -; i64:4", "", "?x?x?x?"},
    {18, "Resize", "1x1x4x4; -; f32{0.8,0.8}", "axes=2,3", "1x1x3x3"},
    {18, "Resize", "1x1x2x4; -; -; i64{7,8}", "axes=-2,-1", "1x1x7x8"},
    {18, "Resize", "1x1x2x4; -; -; i64{7,8}", "axes=2,3 keep_aspect_ratio_policy=not_larger",
     "1x1x4x8"},
    {18, "Resize", "1x1x2x4; -; -; i64{7,8}", "axes=2,3 keep_aspect_ratio_policy=not_smaller",
     "1x1x7x14"},
    {18, "Resize", "1x1x2x4; -; -; i64{7,8}", "axes=3,3", "!named twice"},
    {18, "Resize", "1x1x2x4; -; -; i64{7,8}", "axes=3,4", "!axis 4"},
    {13, "Resize", "1x1x2x4; -; f32{1,1,0,1}", "", "!not positive"},
    {13, "Resize", "1x1x2x4; -; f32{1,1,2}", "", "!3 scales for 4"},
    {13, "Resize", "1x1x2x4", "", "!neither scales nor sizes"},
    {7, "Upsample", "1x3x8x8", "scales=1.0,1.0,2.0,2.0", "1x3x16x16"},
    {9, "Upsample", "1x3x8x8; f32{1,1,2,1.5}", "", "1x3x16x12"},
    {16, "GridSample", "1x3x4x4; 1x6x7x2", "", "1x3x6x7"},
    {20, "GridSample", "1x3x4x4x4; 1x5x6x7x3", "", "1x3x5x6x7"},
    {16, "GridSample", "1x3x4x4; 1x6x7x3", "", "!the grid has 3 numbers"},
    {20, "AffineGrid", "2x2x3; i64{2,3,5,6}", "", "2x5x6x2"},
    {20, "AffineGrid", "2x3x4; i64{2,3,4,5,6}", "", "2x4x5x6x3"},
    {16, "RoiAlign", "1x3x10x10; 5x4; i64:5", "output_height=4 output_width=6", "5x3x4x6"},
    {13, "DepthToSpace", "1x8x2x3", "blocksize=2", "1x2x4x6"},
    {13, "DepthToSpace", "1x6x2x3", "blocksize=2", "!cannot be split by 4"},
    {13, "DepthToSpace", "1x6x2x3", "blocksize=0", "!blocksize is 0"},
    {13, "SpaceToDepth", "1x2x4x6", "blocksize=2", "1x8x2x3"},
    {20, "ImageDecoder", "u8:100", "pixel_format=Grayscale", "?x?x1"},
    {1, "Crop", "1x3x10x12", "border=1,2,3,4", "1x3x4x8"},
};

static const struct rule_case norms[] = {
    {9, "BatchNormalization", "2x3x4x5; 3; 3; 3; 3", "", "2x3x4x5; 3; 3; 3"},
    {15, "BatchNormalization", "2x3x4x5; 3; 3; 3; 3", "training_mode=1", "2x3x4x5; 3; 3"},
    {15, "BatchNormalization", "2x3x4x5; 3; 4; 3; 3", "", "!bias has 4 elements"},
    {6, "InstanceNormalization", "2x3x4x5; 3; 3", "", "2x3x4x5"},
    {17, "LayerNormalization", "2x3x4; 4; 4", "", "2x3x4; 2x3x1; 2x3x1"},
    {17, "LayerNormalization", "2x3x4; 3x4", "axis=1", "2x3x4; 2x1x1; 2x1x1"},
    {17, "LayerNormalization", "2x3x4; 3x4", "axis=3", "!axis 3"},
    {21, "GroupNormalization", "2x4x3; 4; 4", "num_groups=2", "2x4x3"},
    {21, "GroupNormalization", "2x4x3; 4; 4", "num_groups=3", "!3 groups"},
    {21, "GroupNormalization", "2x4x3; 4; 4", "", "!num_groups is 0"},
    {13, "NegativeLogLikelihoodLoss", "3x5x6; i64:3x6", "reduction=none", "3x6"},
    {13, "NegativeLogLikelihoodLoss", "3x5x6; i64:3x6", "", "scalar"},
    {13, "NegativeLogLikelihoodLoss", "3x5x6; i64:3x7", "", "!targets"},
    {13, "SoftmaxCrossEntropyLoss", "3x5; i64:3", "reduction=none", "3; 3x5"},
};

static const struct rule_case layers[] = {
    {7, "LSTM", "7x2x3; 1x16x3; 1x16x4", "hidden_size=4", "7x1x2x4; 1x2x4; 1x2x4"},
    {7, "LSTM", "7x2x3; 2x16x3; 2x16x4", "direction=bidirectional", "7x2x2x4; 2x2x4; 2x2x4"},
    {14, "LSTM", "2x7x3; 1x16x3; 1x16x4", "layout=1", "2x7x1x4; 2x1x4; 2x1x4"},
    {14, "GRU", "7x2x3; 1x15x3; 1x15x5", "hidden_size=5", "7x1x2x5; 1x2x5"},
    {14, "RNN", "?x2x3; 1x5x3; 1x5x5", "", "?x1x2x5; 1x2x5"},
    {14, "RNN", "7x2x3; 2x5x3; 2x5x5", "", "!2 directions"},
    {14, "RNN", "7x2x3; 1x5x3; 1x5x5", "hidden_size=6", "!hidden_size is 6"},
    {1, "DynamicQuantizeLSTM@com.microsoft", "7x2x3; 1x3x16; 1x4x16", "hidden_size=4",
     "7x1x2x4; 1x2x4; 1x2x4"},
    {13, "QuantizeLinear", "2x3; f32{1,1,1}; u8{0,0,0}", "axis=1", "2x3"},
    {13, "QuantizeLinear", "2x3; f32{1,1}; u8{0,0}", "axis=1", "!2 scales for 3"},
    {13, "QuantizeLinear", "2x3; f32{1,1}", "axis=2", "!axis 2"},
    {21, "DequantizeLinear", "i8:4x6; 2x6; i8:2x6", "axis=0 block_size=2", "4x6"},
    {11, "DynamicQuantizeLinear", "2x3", "", "2x3; scalar; scalar"},
    {10, "MatMulInteger", "u8:2x3; u8:5x3x4", "", "5x2x4"},
    {10, "QLinearMatMul", "u8:2x3; f32=1; u8=0; u8:3x4; f32=1; u8=0; f32=1; u8=0", "", "2x4"},
    {17, "DFT", "1x10x10x1", "axis=1", "1x10x10x2"},
    {17, "DFT", "1x10x10x1", "axis=2 onesided=1", "1x10x6x2"},
    {17, "DFT", "1x10x1; i64=16", "onesided=1", "1x9x2"},
    {20, "DFT", "1x10x12x1; -; i64=1", "onesided=1", "1x6x12x2"},
    {20, "DFT", "1x10x12x1", "onesided=1", "1x10x7x2"},
    {20, "DFT", "1x10x12x1; i64:scalar", "", "1x10x?x2"},
    {20, "DFT", "1x10x12x1", "onesided=1 inverse=1", "!exclude"},
    {17, "STFT", "1x128x1; i64=8; 16", "", "1x15x9x2"},
    {17, "STFT", "1x128x1; i64=8; -; i64=16", "onesided=0", "1x15x16x2"},
    {17, "STFT", "1x128x1; i64=0; 16", "", "!frame_step is 0"},
    {17, "STFT", "1x8x1; i64=1; 16", "", "!shorter than a frame"},
    {17, "MelWeightMatrix", "i64=8; i64=16; i64=8192; f32=0; f32=4096", "", "9x8"},
};

static void check_all(const struct rule_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kit_check(&cases[i]);
}

static void images_follow_scales_sizes_and_regions(void **state)
{
    (void)state;
    check_all(images, UNIT_COUNT(images));
}

static void normalizations_give_what_their_version_gives(void **state)
{
    (void)state;
    check_all(norms, UNIT_COUNT(norms));
}

static void layers_quantization_and_signals(void **state)
{
    (void)state;
    check_all(layers, UNIT_COUNT(layers));
}

static unsigned dtype_after(int64_t opset, const char *text)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct rule_kit k;
    unsigned dtype;

    assert_int_equal(kit_infer(&k, opset, text, &open), ASSAY_OK);
    dtype = kit_value(&k, "x")->type.dtype;
    kit_free(&k);
    return dtype;
}

static void quantized_dtypes_come_from_where_they_should(void **state)
{
    (void)state;
    assert_int_equal(dtype_after(13, "in a 2x3; const s f32=1; QuantizeLinear a,s -> x"),
                     AS_DTYPE_U8);
    assert_int_equal(
        dtype_after(13, "in a 2x3; const s f32=1; const z i8=0; QuantizeLinear a,s,z -> x"),
        AS_DTYPE_I8);
    assert_int_equal(
        dtype_after(21, "in a 2x3; const s f32=1; QuantizeLinear a,s -> x output_dtype=3"),
        AS_DTYPE_I8);
    assert_int_equal(dtype_after(19, "in a i8:2x3; const s f16=1; DequantizeLinear a,s -> x"),
                     AS_DTYPE_F16);
    assert_int_equal(dtype_after(17, "in a f16:2x3; LayerNormalization a,a -> q,x"), AS_DTYPE_F32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_follow_scales_sizes_and_regions),
        cmocka_unit_test(normalizations_give_what_their_version_gives),
        cmocka_unit_test(layers_quantization_and_signals),
        cmocka_unit_test(quantized_dtypes_come_from_where_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
