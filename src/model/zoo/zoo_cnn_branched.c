/* model/zoo/zoo_cnn_branched.c - networks for images with more than one way through a block:
 * Inception and squeeze-and-excitation. Names are torchvision's. */
#include <stdio.h>

#include "base/units.h"
#include "model/zoo/zoo_models.h"

static const double bn_eps = 1e-3;

static struct as_build_conv square(int64_t channels, int64_t kernel, int64_t stride)
{
    return (struct as_build_conv){.channels = channels,
                                  .kernel = {kernel, kernel},
                                  .stride = {stride, stride},
                                  .pad = {kernel / 2, kernel / 2}};
}

/* ---- GoogLeNet ---- */

static uint32_t basic_conv(struct as_builder *b, const char *scope, uint32_t x, int64_t channels,
                           int64_t kernel, int64_t stride)
{
    struct as_build_conv conv = square(channels, kernel, stride);

    as_build_scope(b, "%s", scope);
    x = as_build_conv(b, "conv", x, &conv);
    x = as_build_batch_norm(b, "bn", x, bn_eps);
    x = as_build_activation(b, AS_ACT_RELU, "relu", x);
    as_build_scope_end(b);
    return x;
}

static uint32_t pool_ceil(struct as_builder *b, const char *name, uint32_t x, int64_t kernel,
                          int64_t stride, int64_t pad)
{
    const struct as_build_pool pool = {
        .kernel = {kernel, kernel}, .stride = {stride, stride}, .pad = {pad, pad}, .ceil = true};

    return as_build_max_pool(b, name, x, &pool);
}

/* 1x1, 1x1 and 3x3, 1x1 and 3x3 again, a pooling and 1x1: side by side. */
static uint32_t inception(struct as_builder *b, uint32_t x, const int64_t widths[6])
{
    uint32_t way[4];

    way[0] = basic_conv(b, "branch1", x, widths[0], 1, 1);
    way[1] = basic_conv(b, "branch2.0", x, widths[1], 1, 1);
    way[1] = basic_conv(b, "branch2.1", way[1], widths[2], 3, 1);
    way[2] = basic_conv(b, "branch3.0", x, widths[3], 1, 1);
    way[2] = basic_conv(b, "branch3.1", way[2], widths[4], 3, 1);
    way[3] = pool_ceil(b, "branch4.0", x, 3, 1, 1);
    way[3] = basic_conv(b, "branch4.1", way[3], widths[5], 1, 1);
    return as_build_concat(b, "concat", way, 4, 1);
}

void as_zoo_googlenet(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const struct {
        const char *name;
        int64_t widths[6];
        int64_t pool; /* kernel of a pooling behind it; 0: none */
    } blocks[] = {
        {"inception3a", {64, 96, 128, 16, 32, 32}, 0},
        {"inception3b", {128, 128, 192, 32, 96, 64}, 3},
        {"inception4a", {192, 96, 208, 16, 48, 64}, 0},
        {"inception4b", {160, 112, 224, 24, 64, 64}, 0},
        {"inception4c", {128, 128, 256, 24, 64, 64}, 0},
        {"inception4d", {112, 144, 288, 32, 64, 64}, 0},
        {"inception4e", {256, 160, 320, 32, 128, 128}, 2},
        {"inception5a", {256, 160, 320, 32, 128, 128}, 0},
        {"inception5b", {384, 192, 384, 48, 128, 128}, 0},
    };
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);
    char name[32];
    int pools = 3;

    x = basic_conv(b, "conv1", x, 64, 7, 2);
    x = pool_ceil(b, "maxpool1", x, 3, 2, 0);
    x = basic_conv(b, "conv2", x, 64, 1, 1);
    x = basic_conv(b, "conv3", x, 192, 3, 1);
    x = pool_ceil(b, "maxpool2", x, 3, 2, 0);
    for (size_t i = 0; i < AS_COUNT_OF(blocks); i++) {
        as_build_scope(b, "%s", blocks[i].name);
        x = inception(b, x, blocks[i].widths);
        as_build_scope_end(b);
        (void)snprintf(name, sizeof name, "maxpool%d", pools);
        if (blocks[i].pool) {
            x = pool_ceil(b, name, x, blocks[i].pool, 2, 0);
            pools++;
        }
    }
    x = as_build_global_avg_pool(b, "avgpool", x);
    x = as_build_flatten(b, "flatten", x, 1);
    as_build_output(b, as_build_linear(b, "fc", x, values[AS_CNN_CLASSES], true), "output");
}

/* ---- MobileNetV3 ---- */

struct bneck {
    int64_t kernel, expand, out;
    bool squeeze, hardswish;
    int64_t stride;
};

static uint32_t conv_act(struct as_builder *b, int at, uint32_t x, struct as_build_conv conv,
                         int act)
{
    as_build_scope(b, "%d", at);
    x = as_build_conv(b, "0", x, &conv);
    x = as_build_batch_norm(b, "1", x, bn_eps);
    if (act >= 0)
        x = as_build_activation(b, (enum as_activation)act, "2", x);
    as_build_scope_end(b);
    return x;
}

/* The nearest multiple of 8, never a tenth below. */
static int64_t by_eight(int64_t width)
{
    int64_t near = (width + 4) / 8 * 8;

    near = near < 8 ? 8 : near;
    return near * 10 < width * 9 ? near + 8 : near;
}

/* Each channel times a number between 0 and 1 that all of them together decide. */
static uint32_t excited(struct as_builder *b, int at, uint32_t x, int64_t channels)
{
    struct as_build_conv down = square(by_eight(channels / 4), 1, 1), up = square(channels, 1, 1);
    uint32_t y;

    down.bias = up.bias = true;
    as_build_scope(b, "%d", at);
    y = as_build_global_avg_pool(b, "avgpool", x);
    y = as_build_activation(b, AS_ACT_RELU, "activation", as_build_conv(b, "fc1", y, &down));
    y = as_build_conv(b, "fc2", y, &up);
    y = as_build_activation(b, AS_ACT_HARDSIGMOID, "scale_activation", y);
    y = as_build_binary(b, "Mul", "mul", y, x);
    as_build_scope_end(b);
    return y;
}

static uint32_t bneck(struct as_builder *b, uint32_t x, const struct bneck *how)
{
    int act = how->hardswish ? AS_ACT_HARDSWISH : AS_ACT_RELU, at = 0;
    struct as_build_conv depthwise = square(how->expand, how->kernel, how->stride);
    struct as_dims dims;
    uint32_t y = x;

    if (!as_build_dims(b, x, &dims))
        return AS_NONE;
    depthwise.groups = how->expand;
    as_build_scope(b, "block");
    if (how->expand != dims.at[1])
        y = conv_act(b, at++, y, square(how->expand, 1, 1), act);
    y = conv_act(b, at++, y, depthwise, act);
    if (how->squeeze)
        y = excited(b, at++, y, how->expand);
    y = conv_act(b, at, y, square(how->out, 1, 1), -1);
    as_build_scope_end(b);
    return how->stride == 1 && dims.at[1] == how->out ? as_build_binary(b, "Add", "add", x, y) : y;
}

void as_zoo_mobilenet_v3_large(struct as_builder *b, const int64_t *values, int64_t batch)
{
    static const struct bneck blocks[] = {
        {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
        {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
        {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
        {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
        {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1},
    };
    const int n = (int)(AS_COUNT_OF(blocks));
    uint32_t x = as_zoo_image(b, batch, values[AS_CNN_SIZE]);

    as_build_scope(b, "features");
    x = conv_act(b, 0, x, square(16, 3, 2), AS_ACT_HARDSWISH);
    for (int i = 0; i < n; i++) {
        as_build_scope(b, "%d", i + 1);
        x = bneck(b, x, &blocks[i]);
        as_build_scope_end(b);
    }
    x = conv_act(b, n + 1, x, square(960, 1, 1), AS_ACT_HARDSWISH);
    as_build_scope_end(b);
    x = as_build_global_avg_pool(b, "avgpool", x);
    x = as_build_flatten(b, "flatten", x, 1);
    x = as_build_linear(b, "classifier.0", x, 1280, true);
    x = as_build_activation(b, AS_ACT_HARDSWISH, "classifier.1", x);
    x = as_build_linear(b, "classifier.3", x, values[AS_CNN_CLASSES], true);
    as_build_output(b, x, "output");
}
