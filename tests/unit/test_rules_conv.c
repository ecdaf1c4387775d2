/* tests/unit/test_rules_conv.c - shapes of convolutions and pools: padding, rounding, refusals.
 * Where two readings of a rule differ, the case says which one holds. */
#include "rule_cases.h"

static const struct rule_case convs[] = {
    {11, "Conv", "1x3x224x224; 64x3x7x7", "strides=2,2 pads=3,3,3,3", "1x64x112x112"},
    {11, "Conv", "1x3x32x32; 8x3x3x3; 8", "dilations=2,2", "1x8x28x28"},
    {11, "Conv", "1x3x5x5; 8x3x2x2", "auto_pad=SAME_UPPER strides=2,2", "1x8x3x3"},
    {11, "Conv", "1x3x5x5; 8x3x2x2", "auto_pad=VALID strides=2,2", "1x8x2x2"},
    {11, "Conv", "2x8x10; 8x1x3", "group=8", "2x8x8"},
    {11, "Conv", "1x2x4x5x6; 4x2x3x3x3", "", "1x4x2x3x4"},
    {11, "Conv", "?x3x?x8; 4x3x3x3", "", "?x4x?x6"},
    {11, "Conv", "?; 4x3x3x3", "", "?x4x?x?"},
    {11, "Conv", "1x3x4x4; ?", "kernel_shape=3,3", "1x?x2x2"},
    {11, "Conv", "1x3x4x4; 8x3x3x3", "strides=0,1", "!strides holds 0"},
    {11, "Conv", "1x3x4x4; 8x3x3x3", "dilations=1,-1", "!dilations holds -1"},
    {11, "Conv", "1x3x4x4; 8x3x0x3", "", "!kernel is 0"},
    {11, "Conv", "1x3x4x4; 8x3x3x3", "kernel_shape=3,5", "!kernel_shape is 5"},
    {11, "Conv", "1x3x4x4; 8x3x3x3", "group=0", "!group is 0"},
    {11, "Conv", "1x4x4x4; 8x3x3x3", "", "!4 channels"},
    {11, "Conv", "1x4x4x4; 9x2x3x3", "group=2", "!9 output channels"},
    {11, "Conv", "1x3x4x4; 8x3x5x5", "", "!does not fit"},
    {11, "Conv", "1x3x4x4; 8x3x3x3", "pads=1,1", "!pads has 2 numbers where 4"},
    {11, "Conv", "1x3x4x4; 8x3x3", "", "!dimensions"},
    {11, "Conv", "1x3x4611686018427387904x4; 8x3x3x3", "pads=1000000,0,1000000,0", "1x8x?x2"},
    {10, "ConvInteger", "u8:1x1x3x3; u8:1x1x2x2; u8=1", "", "1x1x2x2"},
    {19, "DeformConv", "1x1x3x3; 1x1x2x2; 1x8x4x4", "pads=1,1,1,1", "1x1x4x4"},
    {10, "QLinearConv", "u8:1x1x7x7; f32=1; u8=0; u8:1x1x1x1; f32=1; u8=0; f32=1; u8=0", "",
     "1x1x7x7"},
};

static const struct rule_case transposed[] = {
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "", "1x2x5x5"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "strides=3,2 output_padding=1,1", "1x2x10x8"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "strides=3,2 output_shape=10,8", "1x2x10x8"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "strides=3,2 output_shape=1,2,10,8", "1x2x10x8"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "auto_pad=SAME_UPPER strides=2,2", "1x2x6x6"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "strides=3,2 pads=1,2,1,2", "1x2x7x3"},
    {11, "ConvTranspose", "1x1x3x3; 1x1x2x2", "dilations=2,2", "1x1x5x5"},
    {11, "ConvTranspose", "1x4x8; 4x3x3", "group=2", "1x6x10"},
    {11, "ConvTranspose", "1x4x8; 3x3x3", "", "!4 channels"},
    {11, "ConvTranspose", "1x4x8; 4x3x3", "group=3", "!3 groups"},
    {11, "ConvTranspose", "1x4x1; 4x3x3", "pads=5,5", "!nothing would be left"},
    {11, "ConvTranspose", "1x1x3x3; 1x2x3x3", "output_shape=10,8,3", "!output_shape has 3"},
    {1, "ConvTransposeWithDynamicPads@com.microsoft", "1x1x3x3; 1x1x3x3; i64{1,1,1,1}", "",
     "1x1x3x3"},
};

static const struct rule_case pools[] = {
    {12, "MaxPool", "1x3x32x32", "kernel_shape=2,2", "1x3x31x31; 1x3x31x31"},
    {12, "MaxPool", "1x1x4x4", "kernel_shape=3,3 strides=2,2", "1x1x1x1"},
    {12, "MaxPool", "1x1x4x4", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "1x1x2x2"},
    /* The third window would start behind the input. */
    {12, "MaxPool", "1x1x2x2", "kernel_shape=1,1 strides=2,2 ceil_mode=1", "1x1x1x1"},
    {12, "MaxPool", "1x1x5", "kernel_shape=2, strides=3, ceil_mode=1 pads=0,1", "1x1x2"},
    {12, "MaxPool", "1x1x1", "kernel_shape=2, strides=2, ceil_mode=1", "1x1x1"},
    {12, "MaxPool", "1x1x6", "kernel_shape=1, strides=4, ceil_mode=1", "1x1x2"},
    {12, "MaxPool", "1x1x4x4", "kernel_shape=2,2 dilations=2,2", "1x1x2x2"},
    {12, "MaxPool", "1x1x5x5", "kernel_shape=3,3 auto_pad=SAME_LOWER strides=2,2", "1x1x3x3"},
    {12, "MaxPool", "1x1x5x5", "", "!kernel_shape is missing"},
    {12, "MaxPool", "1x1x5x5", "kernel_shape=0,1", "!kernel_shape holds 0"},
    {12, "MaxPool", "1x1x2x2", "kernel_shape=3,3", "!does not fit"},
    {19, "AveragePool", "1x1x4x4x4", "kernel_shape=2,2,2 dilations=2,2,2 ceil_mode=1", "1x1x2x2x2"},
    {18, "LpPool", "1x3x32", "kernel_shape=2,", "1x3x31"},
    {7, "GlobalAveragePool", "2x3x5x5x?", "", "2x3x1x1x1"},
    {11, "MaxUnpool", "1x1x2x2; i64:1x1x2x2", "kernel_shape=2,2 strides=2,2", "1x1x4x4"},
    {11, "MaxUnpool", "1x1x2x2; i64:1x1x2x2; i64{1,1,5,5}", "kernel_shape=2,2 strides=2,2",
     "1x1x5x5"},
    {7, "MaxRoiPool", "1x3x8x8; 4x5", "pooled_shape=2,3", "4x3x2x3"},
    {18, "Col2Im", "1x5x5; i64{5,5}; i64{1,5}", "", "1x1x5x5"},
    {18, "Col2Im", "1x10x12; i64{3,4,5}; i64{1,1,5}", "", "1x2x3x4x5"},
    {18, "Col2Im", "1x7x5; i64{5,5}; i64{1,5}", "", "!blocks of 5"},
    {1, "QLinearAveragePool@com.microsoft", "u8:1x8x8x3; f32=1; u8=0; f32=1; u8=0",
     "kernel_shape=2,2 strides=2,2 channels_last=1", "1x4x4x3"},
};

static void check_all(const struct rule_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kit_check(&cases[i]);
}

static void convolutions_slide(void **state)
{
    (void)state;
    check_all(convs, UNIT_COUNT(convs));
}

static void transposed_convolutions_spread(void **state)
{
    (void)state;
    check_all(transposed, UNIT_COUNT(transposed));
}

static void pools_round_as_they_are_told(void **state)
{
    (void)state;
    check_all(pools, UNIT_COUNT(pools));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_slide),
        cmocka_unit_test(transposed_convolutions_spread),
        cmocka_unit_test(pools_round_as_they_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
