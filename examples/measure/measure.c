/* examples/measure - measures a plain C function and a network described in C.
 *
 * The function is a dot product, far too short for any clock: assay times many calls at once and
 * says so. The network is run by assay's own engine and compared with what this machine can do. */
#include <assay/measure.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 4096 };

struct vectors {
    float a[LENGTH], b[LENGTH];
    volatile float result; /* so that the work is not optimized away */
};

static int dot_product(void *user, struct assay_error *err)
{
    struct vectors *v = user;
    float sum = 0;

    (void)err; /* cannot fail; a function that can says so here and returns a negative number */
    for (int i = 0; i < LENGTH; i++)
        sum += v->a[i] * v->b[i];
    v->result = sum;
    return 0;
}

static void print_latency(const char *what, const struct assay_latency *l)
{
    printf("%s: %.2f us, %g %% CI %.2f to %.2f us, %" PRIu64 " samples of %" PRIu64 " calls, %s\n",
           what, l->median_ns / 1e3, 100 * l->level, l->low_ns / 1e3, l->high_ns / 1e3, l->n,
           l->batch, l->steady ? "steady" : "not steady");
    for (int i = 0; i < ASSAY_LATENCY_CAUSES; i++)
        if (l->causes[i].suspected)
            printf("  %" PRIu64 " of %" PRIu64 " long samples had %s\n", l->causes[i].outliers,
                   l->outliers_high, l->causes[i].text);
}

static struct assay_model *describe(void)
{
    static const int64_t shape[] = {8, 256};
    struct assay_model *model;
    int x;

    (void)assay_model_new(&model, NULL, NULL); /* what goes wrong is reported by the measurement */
    x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 2, shape);
    x = assay_model_linear(model, "fc1", x, 512, true);
    x = assay_model_activation(model, ASSAY_ACTIVATION_RELU, "relu", x);
    x = assay_model_linear(model, "fc2", x, 10, true);
    assay_model_output(model, x, "y");
    return model;
}

static int print_layers(struct assay_model *model, const struct assay_measure_options *options,
                        struct assay_error *err)
{
    struct assay_model_layer_profile layers[8];
    int n = assay_model_profile_layers(model, options, layers, 8, err);

    for (int i = 0; i < n && i < 8; i++)
        printf("  %-10s %-8s %8.4f ms  %5.1f %%  %8.3f GFLOP/s\n", layers[i].name,
               layers[i].layer_type, layers[i].latency_ms, 100 * layers[i].share,
               layers[i].gflops_per_second);
    return n < 0 ? n : 0;
}

int main(int argc, char **argv)
{
    static struct vectors vectors;
    struct assay_measure_options options = {.size = sizeof(struct assay_measure_options)};
    struct assay_model *model = describe();
    struct assay_latency latency;
    struct assay_error err;
    char text[512];
    int failed;

    if (argc > 1 && strcmp(argv[1], "--quick") == 0)
        options.time_seconds = 0.2;
    failed = assay_latency_measure(dot_product, &vectors, &options, &latency, &err) < 0;
    if (!failed)
        print_latency("dot product", &latency);
    if (!failed)
        failed = assay_model_profile_quick(model, &options, NULL, text, sizeof text, &err) < 0;
    if (!failed)
        printf("\n%s\n", text);
    if (!failed)
        failed = print_layers(model, &options, &err) < 0;
    if (failed)
        fprintf(stderr, "measure: %s\n", err.msg);
    assay_model_free(model);
    return failed;
}
