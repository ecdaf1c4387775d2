/* tests/unit/test_rules_microsoft.c - shapes of com.microsoft, ai.onnx.ml and training operators.
 * Attention in its many packings, with and without a past. */
#include "rule_cases.h"

#define MS "@com.microsoft"
#define ML "@ai.onnx.ml"

static const struct rule_case attentions[] = {
    {1, "Attention" MS, "2x8x16; 16x48; 48", "num_heads=4", "2x8x16; 2x2x4x8x4"},
    {1, "Attention" MS, "2x8x16; 16x48; 48; -; 2x2x4x5x4", "num_heads=4", "2x8x16; 2x2x4x13x4"},
    {1, "Attention" MS, "2x8x16; 16x40; 40", "num_heads=4 qkv_hidden_sizes=16,16,8",
     "2x8x8; 2x2x4x8x4"},
    {1, "Attention" MS, "2x8x16; 16x47; 48", "num_heads=4", "!47 columns"},
    {1, "Attention" MS, "2x8x16; 16x48; 48", "", "!num_heads is 0"},
    {1, "QAttention" MS, "u8:2x8x16; i8:16x48; 48; f32=1; f32=1", "num_heads=4",
     "2x8x16; 2x2x4x8x4"},
    {1, "MultiHeadAttention" MS, "2x8x16; 2x6x16; 2x6x24", "num_heads=4",
     "2x8x24; 2x4x6x4; 2x4x6x6"},
    {1, "MultiHeadAttention" MS, "2x8x4x3x5", "num_heads=4", "2x8x20; 2x4x8x5; 2x4x8x5"},
    {1, "MultiHeadAttention" MS, "2x8x16; 2x6x4x2x4", "num_heads=4", "2x8x16; 2x4x6x4"},
    {1, "MultiHeadAttention" MS, "2x8x16; 2x4x9x4; 2x4x9x4", "num_heads=4", "2x8x16; 2x4x9x4"},
    {1, "MultiHeadAttention" MS, "2x1x16; 2x1x16; 2x1x16; -; -; -; 2x4x7x4; 2x4x7x4", "num_heads=4",
     "2x1x16; 2x4x8x4; 2x4x8x4"},
    {1, "MultiHeadAttention" MS, "2x8x15; 2x6x15; 2x6x15", "num_heads=4", "!4 heads"},
    {1, "GroupQueryAttention" MS, "1x1x64; 1x1x16; 1x1x16; 1x2x20x8; 1x2x20x8; i32:1; i32=21",
     "num_heads=8 kv_num_heads=2", "1x1x64; 1x2x21x8; 1x2x21x8"},
    {1, "GroupQueryAttention" MS, "1x1x64; 1x1x16; 1x1x16; 1x2x64x8; 1x2x64x8; i32:1; i32=21",
     "num_heads=8 kv_num_heads=2", "1x1x64; 1x2x64x8"},
    {1, "GroupQueryAttention" MS, "1x5x96; -; -; 1x2x0x8; 1x2x0x8; i32:1; i32:scalar",
     "num_heads=8 kv_num_heads=2", "1x5x64; 1x2x5x8"},
    {1, "GroupQueryAttention" MS, "1x5x96; -; -; 1x2x7x8; 1x2x7x8; i32:1; i32:scalar",
     "num_heads=8 kv_num_heads=2", "1x5x64; 1x2x?x8"},
    {1, "GroupQueryAttention" MS, "1x5x96", "num_heads=8 kv_num_heads=3", "!3 of key and value"},
    {1, "DecoderMaskedMultiHeadAttention" MS, "2x1x44; -; -; -; -; 2x4x7x4; 2x4x7x3", "num_heads=4",
     "2x1x12; 2x4x8x4; 2x4x8x3; 2x4x1x8"},
    {1, "DecoderMaskedMultiHeadAttention" MS, "2x1x16; 2x4x9x4; 2x4x9x4", "num_heads=4",
     "2x1x16; 2x4x9x4"},
    {1, "PackedAttention" MS, "10x16; 16x48; 48", "num_heads=4", "10x16"},
    {1, "PackedMultiHeadAttention" MS, "10x4x3x5", "num_heads=4", "10x20"},
    {1, "RotaryEmbedding" MS, "1x5x64; i64:1x5; 100x4; 100x4", "", "1x5x64"},
    {1, "RelativePositionBias" MS, "32x8; i64=5; i64=7", "max_distance=128", "1x8x5x7"},
};

static const struct rule_case others[] = {
    {1, "SkipLayerNormalization" MS, "2x8x16; 2x8x16; 16", "", "2x8x16; ?; ?; 2x8x16"},
    {1, "SkipSimplifiedLayerNormalization" MS, "2x8x16; 2x8x16; 16", "", "2x8x16; ?; ?; 2x8x16"},
    {1, "EmbedLayerNormalization" MS, "i32:2x8; i32:2x8; 100x16; 8x16", "", "2x8x16; 2; 2x8x16"},
    {1, "FusedMatMul" MS, "2x3x4; 2x5x4", "transB=1", "2x3x5"},
    {1, "FusedMatMul" MS, "3x2x4; 2x4x5", "transBatchA=1", "2x3x5"},
    {1, "FusedMatMul" MS, "4x2x3; 2x4x5", "transBatchA=1 transA=1", "2x3x5"},
    {1, "FusedMatMul" MS, "2x3x4; 2x5x4", "", "!rows of 4"},
    {1, "FusedGemm" MS, "4x2; 4x5; 5", "transA=1", "2x5"},
    {1, "FusedConv" MS, "1x3x8x8; 4x3x3x3", "activation=Relu", "1x4x6x6"},
    {1, "NhwcConv" MS, "1x8x8x3; 4x3x3x3", "", "1x6x6x4"},
    {1, "QLinearConv" MS, "u8:1x8x8x3; f32=1; u8=0; u8:4x3x3x3; f32=1; u8=0; f32=1; u8=0",
     "channels_last=1", "1x6x6x4"},
    {1, "MatMulNBits" MS, "2x8x64; u8:32x2x16; 64", "K=64 N=32 bits=4 block_size=32", "2x8x32"},
    {1, "MatMulNBits" MS, "2x8x63; u8:32x2x16; 64", "K=64 N=32", "!rows of 63"},
    {1, "MatMulIntegerToFloat" MS, "u8:2x3; u8:3x4; f32=1; f32=1", "", "2x4"},
    {1, "DynamicQuantizeMatMul" MS, "2x3; u8:3x4; f32=1", "", "2x4"},
    {1, "QGemm" MS, "u8:2x3; f32=1; u8=0; u8:4x3; f32=1; u8=0", "transB=1", "2x4"},
    {1, "QLinearAdd" MS, "u8:2x1; f32=1; u8=0; u8:3; f32=1; u8=0; f32=1; u8=0", "", "2x3"},
    {1, "QLinearConcat" MS, "f32=1; u8=0; u8:2x3; f32=1; u8=0; u8:4x3; f32=1; u8=0", "axis=0",
     "6x3"},
    {1, "QLinearGlobalAveragePool" MS, "u8:1x8x8x3; f32=1; u8=0; f32=1; u8=0", "channels_last=1",
     "1x1x1x3"},
    {1, "QLinearReduceMean" MS, "u8:2x3x4; f32=1; u8=0; f32=1; u8=0", "axes=-1, keepdims=0", "2x3"},
    {1, "BiasSplitGelu" MS, "2x8x16; 16", "", "2x8x8"},
    {1, "GatherBlockQuantized" MS, "u4:100x64; i64:2x3; 100x2", "", "2x3x64"},
    {1, "GatherBlockQuantized" MS, "u8:100x32; i64:2x3; 100x2", "bits=4", "2x3x64"},
    {1, "RemovePadding" MS, "2x8x16; i32:2", "", "?x16; 2x8; 3; 1"},
    {1, "RestorePadding" MS, "10x16; i32:2x8", "", "2x8x16"},
    {1, "Range" MS, "f32=0; f32=5; f32=2", "", "3"},
    {1, "Pad" MS, "2x3; i64{0,1,0,2}", "", "2x6"},
    {1, "Unique" MS, "5", "", "?; 5; ?"},
    {1, "MoE" MS, "2x8x16; 16x4", "", "2x8x16"},
    {1, "ArrayFeatureExtractor" ML, "5; i64:1x2", "", "1x2"},
    {1, "FeatureVectorizer" ML, "4x2; 4x3", "inputdimensions=2,3", "4x5"},
    {1, "LinearClassifier" ML, "4x2", "classlabels_ints=0,1,2", "4; 4x3"},
    {1, "SVMClassifier" ML, "4x2", "classlabels_ints=0,1,2", "4; 4x?"},
    {1, "TreeEnsembleClassifier" ML, "4x2", "classlabels_int64s=0,1", "4; 4x2"},
    {1, "TreeEnsembleRegressor" ML, "4x2", "n_targets=3", "4x3"},
    {1, "LinearRegressor" ML, "2", "", "1x1"},
    {1, "OneHotEncoder" ML, "i64:4x2", "cats_int64s=1,2,3", "4x2x3"},
    {1, "Scaler" ML, "i64:4x2", "", "4x2"},
    {1, "ZipMap" ML, "2x3", "", "seq(2)[map(?)[], map(?)[]]"},
    {1, "Adagrad@ai.onnx.preview.training", "scalar; i64:scalar; 2; 3; 2; 3; 2; 3", "",
     "2; 3; 2; 3"},
    {1, "Adam@ai.onnx.preview.training", "scalar; i64:scalar; 2; 2; 2; 2", "", "2; 2; 2"},
    {1, "Momentum@ai.onnx.preview.training", "scalar; i64:scalar; 4x5; 4x5", "", "!whole number"},
};

static void attention_in_every_packing(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(attentions); i++)
        kit_check(&attentions[i]);
}

static void other_domains_follow_their_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(others); i++)
        kit_check(&others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_in_every_packing),
        cmocka_unit_test(other_domains_follow_their_documents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
