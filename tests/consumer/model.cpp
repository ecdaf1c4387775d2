// tests/consumer/model.cpp - describes, counts and measures a network from C++17.
#include <assay/measure.h>

#include <cstdint>
#include <cstdio>

int main()
{
    const std::int64_t image[] = {1, 3, 32, 32};
    assay_conv2d conv = assay_conv2d_make(16, 3);
    assay_pool2d pool = assay_pool2d_make(2);
    assay_attention attention = assay_attention_make(4);
    auto options = ASSAY_SIZED(struct assay_model_options);
    assay_model *model = nullptr;
    if (assay_model_new(&model, &options, nullptr) < 0)
        return 1;
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 4, image);
    const std::int64_t rows[] = {0, 16, -1};

    conv.pad_h = conv.pad_w = 1;
    x = assay_model_conv2d(model, "conv", x, &conv);
    x = assay_model_max_pool2d(model, nullptr, x, &pool);
    x = assay_model_reshape(model, nullptr, x, 3, rows);
    x = assay_model_attention(model, "attn", x, -1, &attention);
    assay_model_output(model, x, "y");
    const std::int64_t parameters = assay_model_count_parameters(model);
    std::printf("%lld\n", static_cast<long long>(parameters));
    assay_measure_options how = ASSAY_SIZED(struct assay_measure_options);
    assay_latency took;
    int calls = 0;
    how.runs = 5;
    how.time_seconds = 0.01;
    const auto count = [](void *user, assay_error *) { return ++*static_cast<int *>(user), 0; };
    if (assay_latency_measure(count, &calls, &how, &took, nullptr) != 0 || took.n != 5 ||
        static_cast<std::uint64_t>(calls) < 5 * took.batch)
        return 2;
    assay_model_free(model);
    return parameters == 16 * 27 + 16 + 4 * (256 * 256 + 256) ? 0 : 1;
}
