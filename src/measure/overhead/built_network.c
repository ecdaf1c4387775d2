/* measure/overhead/built_network.c - a small network described in code and made ready to run. */
#include "measure/overhead/built_network.h"

#include "base/alloc.h"

static int build_model(struct as_built_network *network, as_network_build build, int64_t size,
                       struct assay_error *err)
{
    struct as_builder *b = as_alloc_zero(1, sizeof *b);
    int rc;

    if (!b)
        return as_fail_nomem(err);
    rc = as_model_new(&network->model, 0, err);
    if (rc == ASSAY_OK) {
        as_builder_init(b, network->model, 0);
        build(b, size);
        rc = as_builder_finish(b, err);
        as_builder_fini(b);
    }
    as_free(b);
    return rc;
}

int as_built_network_open(struct as_built_network *network, as_network_build build, int64_t size,
                          const struct as_engine_options *options, struct assay_error *err)
{
    struct as_engine_options engine = *options;
    int rc;

    *network = (struct as_built_network){.fill.fill = AS_INPUTS_RANDOM};
    rc = build_model(network, build, size, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_open(&network->inputs, network->model, &network->fill, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(&network->inputs, &engine.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(&network->engine, network->model, &engine, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_fill(&network->inputs, network->engine, err);
    if (rc < 0)
        as_built_network_close(network);
    return rc;
}

void as_built_network_close(struct as_built_network *network)
{
    if (!network)
        return;
    as_engine_free(network->engine);
    as_model_inputs_close(&network->inputs);
    as_model_free(network->model);
    *network = (struct as_built_network){0};
}

int as_built_network_run(void *user, struct assay_error *err)
{
    struct as_built_network *network = user;

    return as_engine_run(network->engine, AS_RUN_PLAIN, NULL, err);
}
