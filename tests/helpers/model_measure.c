/* model_measure MODEL [INPUT FILE]: what assay/measure.h says of the work of a model and its
 * layers.
 */
#include <assay/measure.h>
#include <stdio.h>

enum { MOST = 512 };

static void print_layers(struct assay_model *model, const struct assay_measure_options *o,
                         struct assay_error *err)
{
    struct assay_model_layer_profile layers[MOST];
    int n = assay_model_profile_layers(model, o, layers, MOST, err);
    double shares = 0;

    for (int i = 0; i < n && i < MOST; i++) {
        if (layers[i].latency_ms >= 0)
            shares += layers[i].share;
        printf("layer %s flops %llu rate %s\n", layers[i].name, (unsigned long long)layers[i].flops,
               layers[i].gflops_per_second >= 0 ? "known"
               : layers[i].reason               ? layers[i].reason
                                                : "without a reason");
    }
    printf("shares %.6f\n", shares);
}

int main(int argc, char **argv)
{
    static const struct assay_roof roof = {.size = sizeof roof,
                                           .peak_gflops = 100,
                                           .bandwidth_gbs = 10,
                                           .cache_bandwidth_gbs = 50,
                                           .cache_bytes = 1 << 20};
    struct assay_measure_options o = {.size = sizeof(struct assay_measure_options)};
    struct assay_input_file file = {argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL};
    struct assay_forward_profile f = {0};
    struct assay_model *model = NULL;
    struct assay_error err = {0};
    int rc = argc > 1 ? assay_model_open(&model, argv[1], &err) : ASSAY_ERR_USAGE;

    o.runs = 12;
    o.time_seconds = 0.03;
    o.roof = &roof;
    o.files = &file;
    o.n_files = file.path ? 1 : 0;
    if (rc == 0)
        rc = assay_model_profile_forward(model, &o, &f, &err);
    if (rc == 0) {
        printf("flops %llu complete %d rate %s\n", (unsigned long long)f.flops, f.complete,
               f.gflops_per_second >= 0 ? "known" : "unknown");
        printf("bottleneck %s\nreason %s\n", f.bottleneck, f.reason ? f.reason : "none");
        print_layers(model, &o, &err);
    } else {
        fprintf(stderr, "%s\n", err.msg);
    }
    assay_model_free(model);
    return rc == 0 ? 0 : 3;
}
