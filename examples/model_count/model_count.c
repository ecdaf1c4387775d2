/* examples/model_count - describes a small network in C, counts it and writes it as ONNX.
 *
 * The classifier of digits that examples/basic computes by hand, once as a description: assay
 * follows the shapes, knows what each layer costs, and makes weights when the file is written. */
#include <assay/model.h>

#include <inttypes.h>
#include <stdio.h>

static struct assay_model *describe(void)
{
    static const int64_t image[] = {-1, 1, 28, 28}; /* as many images as the caller likes */
    static const char *const names[] = {"batch", NULL, NULL, NULL};
    static const struct assay_layer_spec layers[] = {
        {.kind = ASSAY_LAYER_CONV2D, .name = "conv1", .out = 16, .kernel = 5},
        {.kind = ASSAY_LAYER_ACTIVATION, .activation = ASSAY_ACTIVATION_RELU},
        {.kind = ASSAY_LAYER_MAX_POOL, .kernel = 2},
        {.kind = ASSAY_LAYER_CONV2D, .name = "conv2", .out = 32, .kernel = 5},
        {.kind = ASSAY_LAYER_ACTIVATION, .activation = ASSAY_ACTIVATION_RELU},
        {.kind = ASSAY_LAYER_MAX_POOL, .kernel = 2},
        {.kind = ASSAY_LAYER_FLATTEN},
        {.kind = ASSAY_LAYER_LINEAR, .name = "dense1", .out = 128},
        {.kind = ASSAY_LAYER_ACTIVATION, .activation = ASSAY_ACTIVATION_RELU},
        {.kind = ASSAY_LAYER_LINEAR, .name = "dense2", .out = 10},
        {.kind = ASSAY_LAYER_SOFTMAX},
    };
    const struct assay_model_options options = {
        .size = sizeof options, .name = "digits", .seed = 1};
    struct assay_model *model;
    int x;

    (void)assay_model_new(&model, &options, NULL);
    x = assay_model_input_named(model, "image", ASSAY_DTYPE_F32, 4, image, names);
    x = assay_model_sequential(model, NULL, x, layers, sizeof layers / sizeof *layers);
    assay_model_output(model, x, "digit");
    return model; /* what went wrong on the way is told by the count */
}

static void print_layers(const struct assay_model *model)
{
    struct assay_model_layer layer;

    printf("%-8s %-10s %-14s %12s %14s\n", "layer", "operator", "output", "parameters", "MACs");
    for (size_t i = 0; assay_model_layer_at(model, i, &layer) == 0; i++)
        printf("%-8s %-10s %-14s %12" PRIu64 " %14" PRIu64 "\n", layer.name, layer.op, layer.output,
               layer.parameters, layer.macs);
}

int main(int argc, char **argv)
{
    struct assay_model *model = describe();
    struct assay_model_counts counts;
    struct assay_error err;
    int failed = 0;

    for (int64_t batch = 1; batch <= 32 && !failed; batch *= 32) {
        failed = assay_model_set_dim(model, "batch", batch, &err) < 0 ||
                 assay_model_count(model, &counts, &err) < 0;
        if (!failed && batch == 1)
            print_layers(model);
        if (!failed)
            printf("batch %2" PRId64 ": %" PRIu64 " parameters, %" PRIu64 " MACs, %" PRIu64
                   " FLOPs, %" PRIu64 " bytes of activations at the peak\n",
                   batch, counts.parameters, counts.macs, counts.flops,
                   counts.activation_peak_bytes);
    }
    if (!failed && argc > 1)
        failed = assay_model_write_onnx(model, argv[1], &err) < 0;
    if (failed)
        fprintf(stderr, "model_count: %s\n", err.msg);
    assay_model_free(model);
    return failed;
}
