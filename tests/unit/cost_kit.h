/* tests/unit/cost_kit.h - costs and parameters of graphs written as text.
 * The text is that of rule_kit.h; shapes are inferred before anything is counted. */
#ifndef AS_TESTS_COST_KIT_H
#define AS_TESTS_COST_KIT_H

#include "rule_kit.h"

#include "model/cost/cost.h"
#include "model/weights/parameters.h"

struct cost_kit {
    struct rule_kit graph;
    struct as_costs *costs;
    struct as_params *params;
};

static inline void cost_count(struct cost_kit *k)
{
    if (as_costs_new(&k->costs, k->graph.model, &k->graph.err) < 0 ||
        as_params_new(&k->params, k->graph.model, true, &k->graph.err) < 0)
        fail_msg("%s", k->graph.err.msg);
}

static inline void cost_open(struct cost_kit *k, int64_t opset, const char *text)
{
    struct as_infer_options options = {.keep_unknown = true};

    *k = (struct cost_kit){0};
    if (kit_infer(&k->graph, opset, text, &options) < 0)
        fail_msg("%s: %s", text, k->graph.err.msg);
    cost_count(k);
}

static inline void cost_close(struct cost_kit *k)
{
    as_costs_free(k->costs);
    as_params_free(k->params);
    kit_free(&k->graph);
}

#endif
