/* Prints as JSON what the C API reports of a model, under the names that documents have: of one
 * inference, counted and profiled on one thread. */
#include <assay/measure.h>
#include <assay/model.h>
#include <stdio.h>

static int fail(const struct assay_error *err)
{
    fprintf(stderr, "%s\n", err->msg);
    return 1;
}

int main(int argc, char **argv)
{
    struct assay_measure_options o = {.size = sizeof(struct assay_measure_options)};
    struct assay_forward_profile f;
    struct assay_model *model = NULL;
    struct assay_error err = {0};

    if (argc != 2 || assay_model_open(&model, argv[1], &err) < 0)
        return fail(&err);
    o.runs = 5;
    if (assay_model_profile_forward(model, &o, &f, &err) < 0)
        return fail(&err);
    printf("{\"parameters\": %llu, \"flops\": %llu, \"bytes\": %llu, \"parameter_bytes\": %llu, "
           "\"activation_bytes\": %llu, \"held_parameter_bytes\": %llu}\n",
           (unsigned long long)f.parameters, (unsigned long long)f.flops,
           (unsigned long long)f.bytes_moved, (unsigned long long)f.memory.parameter_bytes,
           (unsigned long long)f.memory.activation_bytes,
           (unsigned long long)f.memory.held_parameter_bytes);
    assay_model_free(model);
    return 0;
}
