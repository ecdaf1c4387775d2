/* model_quantized BITS FILE: writes a small network whose dense layers have so many bits as ONNX,
 * and prints its parameters, their bytes and how much smaller they are, for a judge to compare. */
#include <assay/model.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

int main(int argc, char **argv)
{
    const int64_t dims[] = {1, 16, 64};
    const float step = 0.05f;
    const int8_t zero = 3;
    int bits = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0, x, s, z;
    struct assay_model *model = new_model();
    struct assay_model_counts counts;
    struct assay_error err = {0};

    x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 3, dims);
    s = assay_model_constant(model, "step", ASSAY_DTYPE_F32, 0, NULL, &step);
    z = assay_model_constant(model, "zero", ASSAY_DTYPE_I8, 0, NULL, &zero);
    x = assay_model_dequantize(model, NULL, assay_model_quantize(model, NULL, x, s, z, 0), s, z, 0);
    x = assay_model_linear_quantized(model, "fc1", x, 128, bits, true);
    x = assay_model_rms_norm(model, "norm", x, 0);
    x = assay_model_flatten(model, NULL, x, 1);
    x = assay_model_linear_quantized(model, "fc2", x, 10, bits, true);
    assay_model_output(model, x, "y");
    if (argc != 3 || assay_model_count(model, &counts, &err) < 0 ||
        assay_model_write_onnx(model, argv[2], &err) < 0) {
        (void)fprintf(stderr, "model_quantized: %s\n", err.msg);
        assay_model_free(model);
        return 3;
    }
    printf("%" PRIu64 " %" PRIu64 " %.3f\n", counts.parameters, counts.parameter_bytes,
           counts.compression);
    assay_model_free(model);
    return 0;
}
