/* model/zoo/zoo_cnn.c - networks for images, with the names torchvision gives their parameters.
 * Normalization stays a node of its own, as trained. */
#include <stdio.h>

#include "base/units.h"
#include "model/zoo/zoo_models.h"

uint32_t as_zoo_image(struct as_builder *b, int64_t batch, int64_t size)
{
    static const char *const symbols[4] = {"batch"};
    struct as_dims dims = {4, {batch ? batch : AS_DIM_UNKNOWN, 3, size, size}};

    return as_build_input(b, "input", AS_DTYPE_F32, &dims, symbols);
}

static const char *numbered(char out[32], int64_t number)
{
    (void)snprintf(out, 32, "%lld", (long long)number);
    return out;
}

static uint32_t relu(struct as_builder *b, const char *name, uint32_t x)
{
    return as_build_activation(b, AS_ACT_RELU, name, x);
}

/* A square convolution that keeps the size at stride 1. */
static struct as_build_conv square(int64_t channels, int64_t kernel, int64_t stride)
{
    return (struct as_build_conv){.channels = channels,
                                  .kernel = {kernel, kernel},
                                  .stride = {stride, stride},
                                  .pad = {kernel / 2, kernel / 2}};
}

/* ---- AlexNet and VGG ---- */

/* Both end in three dense layers: classifier.first, .first + 3, .first + 6 or so. */
static uint32_t classifier(struct as_builder *b, uint32_t x, const int64_t at[3], int64_t classes)
{
    char name[32];

    x = as_build_flatten(b, "flatten", x, 1);
    as_build_scope(b, "classifier");
    for (int i = 0; i < 3; i++) {
        x = as_build_linear(b, numbered(name, at[i]), x, i < 2 ? 4096 : classes, true);
        if (i < 2)
            x = relu(b, numbered(name, at[i] + 1), x);
    }
    as_build_scope_end(b);
    return x;
}

void as_zoo_alexnet(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const struct {
        int64_t at, channels, kernel, stride, pad;
        bool pooled;
    } convs[] = {{0, 64, 11, 4, 2, true},
                 {3, 192, 5, 1, 2, true},
                 {6, 384, 3, 1, 1, false},
                 {8, 256, 3, 1, 1, false},
                 {10, 256, 3, 1, 1, true}};
    static const int64_t dense[] = {1, 4, 6};
    const struct as_build_pool pool = {.kernel = {3, 3}, .stride = {2, 2}};
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);
    char name[32];

    as_build_scope(b, "features");
    for (size_t i = 0; i < AS_COUNT_OF(convs); i++) {
        struct as_build_conv conv = square(convs[i].channels, convs[i].kernel, convs[i].stride);

        conv.pad[0] = conv.pad[1] = convs[i].pad;
        conv.bias = true;
        x = as_build_conv(b, numbered(name, convs[i].at), x, &conv);
        x = relu(b, numbered(name, convs[i].at + 1), x);
        if (convs[i].pooled)
            x = as_build_max_pool(b, numbered(name, convs[i].at + 2), x, &pool);
    }
    as_build_scope_end(b);
    x = as_build_adaptive_avg_pool(b, "avgpool", x, 6, 6);
    as_build_output(b, classifier(b, x, dense, values[AS_CNN_CLASSES]), "output");
}

/* Stages of equal width, each halved at its end. */
static void vgg(struct as_builder *b, const int64_t *values, int64_t batch, const int lengths[5])
{
    static const int64_t widths[] = {64, 128, 256, 512, 512}, dense[] = {0, 3, 6};
    const struct as_build_pool pool = {.kernel = {2, 2}};
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);
    int64_t at = 0;
    char name[32];

    as_build_scope(b, "features");
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < lengths[stage]; i++) {
            struct as_build_conv conv = square(widths[stage], 3, 1);

            conv.bias = true;
            x = as_build_conv(b, numbered(name, at++), x, &conv);
            x = relu(b, numbered(name, at++), x);
        }
        x = as_build_max_pool(b, numbered(name, at++), x, &pool);
    }
    as_build_scope_end(b);
    x = as_build_adaptive_avg_pool(b, "avgpool", x, 7, 7);
    as_build_output(b, classifier(b, x, dense, values[AS_CNN_CLASSES]), "output");
}

void as_zoo_vgg16(struct as_builder *b, const int64_t *values, int64_t batch)
{
    vgg(b, values, batch, (const int[]){2, 2, 3, 3, 3});
}

void as_zoo_vgg19(struct as_builder *b, const int64_t *values, int64_t batch)
{
    vgg(b, values, batch, (const int[]){2, 2, 4, 4, 4});
}

/* ---- ResNet ---- */

static uint32_t conv_bn(struct as_builder *b, const char *conv_name, const char *bn_name,
                        uint32_t x, struct as_build_conv conv)
{
    x = as_build_conv(b, conv_name, x, &conv);
    return as_build_batch_norm(b, bn_name, x, 1e-5);
}

/* One residual block of two 3x3 convolutions, or of 1x1, 3x3 and 1x1 with four times the width. */
static uint32_t residual(struct as_builder *b, uint32_t x, int64_t width, int64_t stride,
                         bool bottleneck)
{
    int64_t out = bottleneck ? 4 * width : width;
    uint32_t side = x, y;
    struct as_dims dims;

    if (bottleneck) {
        y = relu(b, "relu1", conv_bn(b, "conv1", "bn1", x, square(width, 1, 1)));
        y = relu(b, "relu2", conv_bn(b, "conv2", "bn2", y, square(width, 3, stride)));
        y = conv_bn(b, "conv3", "bn3", y, square(out, 1, 1));
    } else {
        y = relu(b, "relu1", conv_bn(b, "conv1", "bn1", x, square(width, 3, stride)));
        y = conv_bn(b, "conv2", "bn2", y, square(width, 3, 1));
    }
    if (as_build_dims(b, x, &dims) && (stride != 1 || dims.at[1] != out))
        side = conv_bn(b, "downsample.0", "downsample.1", x, square(out, 1, stride));
    y = as_build_binary(b, "Add", "add", y, side);
    return relu(b, "relu", y);
}

static void resnet(struct as_builder *b, const int64_t *values, int64_t batch, const int lengths[4],
                   bool bottleneck)
{
    const struct as_build_pool pool = {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}};
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);

    x = relu(b, "relu", conv_bn(b, "conv1", "bn1", x, square(64, 7, 2)));
    x = as_build_max_pool(b, "maxpool", x, &pool);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < lengths[stage]; i++) {
            as_build_scope(b, "layer%d.%d", stage + 1, i);
            x = residual(b, x, INT64_C(64) << stage, stage > 0 && i == 0 ? 2 : 1, bottleneck);
            as_build_scope_end(b);
        }
    x = as_build_global_avg_pool(b, "avgpool", x);
    x = as_build_flatten(b, "flatten", x, 1);
    x = as_build_linear(b, "fc", x, values[AS_CNN_CLASSES], true);
    as_build_output(b, x, "output");
}

void as_zoo_resnet18(struct as_builder *b, const int64_t *values, int64_t batch)
{
    resnet(b, values, batch, (const int[]){2, 2, 2, 2}, false);
}

void as_zoo_resnet34(struct as_builder *b, const int64_t *values, int64_t batch)
{
    resnet(b, values, batch, (const int[]){3, 4, 6, 3}, false);
}

void as_zoo_resnet50(struct as_builder *b, const int64_t *values, int64_t batch)
{
    resnet(b, values, batch, (const int[]){3, 4, 6, 3}, true);
}

/* ---- MobileNetV2 ---- */

static uint32_t relu6_conv(struct as_builder *b, const char *scope, uint32_t x,
                           struct as_build_conv conv)
{
    as_build_scope(b, "%s", scope);
    x = conv_bn(b, "0", "1", x, conv);
    x = as_build_activation(b, AS_ACT_RELU6, "2", x);
    as_build_scope_end(b);
    return x;
}

/* Wider by `expand`, a 3x3 for each channel alone, narrow again. */
static uint32_t inverted(struct as_builder *b, uint32_t x, int64_t out, int64_t stride,
                         int64_t expand)
{
    struct as_build_conv depthwise;
    struct as_dims dims;
    uint32_t y = x;
    char name[32], norm[32];
    int at = 0;

    if (!as_build_dims(b, x, &dims))
        return AS_NONE;
    as_build_scope(b, "conv");
    if (expand != 1)
        y = relu6_conv(b, numbered(name, at++), y, square(dims.at[1] * expand, 1, 1));
    depthwise = square(dims.at[1] * expand, 3, stride);
    depthwise.groups = depthwise.channels;
    y = relu6_conv(b, numbered(name, at), y, depthwise);
    y = conv_bn(b, numbered(name, at + 1), numbered(norm, at + 2), y, square(out, 1, 1));
    as_build_scope_end(b);
    return stride == 1 && dims.at[1] == out ? as_build_binary(b, "Add", "add", x, y) : y;
}

void as_zoo_mobilenet_v2(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const struct {
        int64_t expand, channels;
        int n;
        int64_t stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);
    int at = 1;

    as_build_scope(b, "features");
    x = relu6_conv(b, "0", x, square(32, 3, 2));
    for (size_t s = 0; s < AS_COUNT_OF(stages); s++)
        for (int i = 0; i < stages[s].n; i++) {
            as_build_scope(b, "%d", at++);
            x = inverted(b, x, stages[s].channels, i ? 1 : stages[s].stride, stages[s].expand);
            as_build_scope_end(b);
        }
    x = relu6_conv(b, "18", x, square(1280, 1, 1));
    as_build_scope_end(b);
    x = as_build_global_avg_pool(b, "avgpool", x);
    x = as_build_flatten(b, "flatten", x, 1);
    x = as_build_linear(b, "classifier.1", x, values[AS_CNN_CLASSES], true);
    as_build_output(b, x, "output");
}

/* ---- SqueezeNet ---- */

static uint32_t relu_conv(struct as_builder *b, const char *name, uint32_t x,
                          struct as_build_conv conv)
{
    char active[64];

    conv.bias = true;
    x = as_build_conv(b, name, x, &conv);
    (void)snprintf(active, sizeof active, "%s_activation", name);
    return relu(b, active, x);
}

/* Few channels, then many again: half of them through 1x1, half through 3x3. */
static uint32_t fire(struct as_builder *b, uint32_t x, int64_t squeeze, int64_t expand)
{
    uint32_t both[2];

    x = relu_conv(b, "squeeze", x, square(squeeze, 1, 1));
    both[0] = relu_conv(b, "expand1x1", x, square(expand, 1, 1));
    both[1] = relu_conv(b, "expand3x3", x, square(expand, 3, 1));
    return as_build_concat(b, "concat", both, 2, 1);
}

void as_zoo_squeezenet1_1(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const struct {
        int64_t squeeze, expand; /* 0: a pooling */
    } parts[] = {{0, 0}, {16, 64},  {16, 64},  {0, 0},    {32, 128}, {32, 128},
                 {0, 0}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};
    const struct as_build_pool pool = {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true};
    struct as_build_conv conv = square(64, 3, 2);
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);
    char name[32];

    as_build_scope(b, "features");
    conv.pad[0] = conv.pad[1] = 0;
    conv.bias = true;
    x = relu(b, "1", as_build_conv(b, "0", x, &conv));
    for (size_t i = 0; i < AS_COUNT_OF(parts); i++) {
        if (!parts[i].squeeze) {
            x = as_build_max_pool(b, numbered(name, (int64_t)i + 2), x, &pool);
            continue;
        }
        as_build_scope(b, "%d", (int)i + 2);
        x = fire(b, x, parts[i].squeeze, parts[i].expand);
        as_build_scope_end(b);
    }
    as_build_scope_end(b);
    conv = square(values[AS_CNN_CLASSES], 1, 1);
    conv.bias = true;
    as_build_scope(b, "classifier");
    x = relu(b, "2", as_build_conv(b, "1", x, &conv));
    x = as_build_global_avg_pool(b, "3", x);
    as_build_scope_end(b);
    as_build_output(b, as_build_flatten(b, "flatten", x, 1), "output");
}
