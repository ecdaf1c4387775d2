/* measure/overhead/built_network.h - a small network described in code and made ready to run.
 * For studies of the machine and of ourselves, which need no model file. */
#ifndef AS_MEASURE_OVERHEAD_BUILT_NETWORK_H
#define AS_MEASURE_OVERHEAD_BUILT_NETWORK_H

#include "measure/inputs/model_inputs.h"
#include "model/build/builder.h"

/* Adds inputs, nodes and outputs for that size; failures are kept by the builder. */
typedef void (*as_network_build)(struct as_builder *b, int64_t size);

struct as_built_network {
    struct as_model *model;
    struct as_engine *engine;
    struct as_input_options fill;
    struct as_model_inputs inputs;
};

/* The network must stay where it is while it is open. Inputs hold seeded random numbers. */
AS_MUST_USE int as_built_network_open(struct as_built_network *network, as_network_build build,
                                      int64_t size, const struct as_engine_options *options,
                                      struct assay_error *err);
/* Accepts {0}. */
void as_built_network_close(struct as_built_network *network);

/* One plain run; `user` is the network. */
AS_MUST_USE int as_built_network_run(void *user, struct assay_error *err);

#endif
