/* model/cost/cost_parameters.c - which row each parameter belongs to: the first that uses it.
 * A node made from constants alone hands its parameters on to the row that uses what it makes. */
#include <string.h>

#include "base/alloc.h"
#include "model/cost/cost.h"
#include "model/cost/cost_rules.h"
#include "model/weights/parameters.h"

struct giving {
    struct as_costs *costs;
    const struct as_model *model;
    const struct as_params *params;
    struct as_behind *behind; /* the arrays below are by value */
    uint32_t *param_of;       /* of a constant */
    uint32_t *maker;          /* the row made from constants that makes it, or AS_NONE */
    bool *holds;              /* parameters lie behind it */
    bool *seen;               /* an earlier row took what lies behind it */
    uint32_t *stack;
    bool *used; /* by param: given to a row */
};

/* The param whose numbers count for a constant; AS_NONE when it is no parameter. */
static uint32_t counted(const struct giving *g, uint32_t constant)
{
    uint32_t at = constant == AS_NONE ? AS_NONE : g->param_of[constant];

    if (at == AS_NONE || g->params->params[at].role != AS_ROLE_PARAMETER)
        return AS_NONE;
    if (g->params->params[at].tied_to < g->params->n_params)
        at = g->params->params[at].tied_to;
    return at;
}

static void give(struct giving *g, uint32_t param, struct as_cost_row *row)
{
    if (param == AS_NONE)
        return;
    if (g->used[param]) {
        row->shares_parameters = true;
        return;
    }
    g->used[param] = true;
    as_count(&row->parameters, g->params->params[param].elems);
    as_count(&row->parameter_bytes, g->params->params[param].bytes);
}

/* What lies behind one value, through all that is made from constants; each of it is gone through
 * once, so the stack never holds a value twice. */
static void give_behind(struct giving *g, uint32_t value, struct as_cost_row *row)
{
    uint32_t n = 0;

    g->stack[n++] = value;
    while (n > 0) {
        const struct as_node *node;

        value = g->stack[--n];
        if (g->behind[value].value != AS_NONE) {
            give(g, counted(g, g->behind[value].value), row);
            continue;
        }
        if (g->maker[value] == AS_NONE)
            continue;
        node = g->costs->rows[g->maker[value]].node;
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            uint32_t in = node->inputs[i];

            if (in == AS_NONE)
                continue;
            if (g->seen[in]) {
                row->shares_parameters |= g->holds[in];
                continue;
            }
            g->seen[in] = true;
            g->stack[n++] = in;
        }
    }
}

static void note_maker(struct giving *g, uint32_t r)
{
    const struct as_node *node = g->costs->rows[r].node;
    bool holds = false;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != AS_NONE)
            holds |= g->holds[node->inputs[i]];
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE) {
            g->maker[node->outputs[i]] = r;
            g->holds[node->outputs[i]] |= holds;
        }
}

static void give_row(struct giving *g, struct as_cost_row *row)
{
    for (uint32_t i = 0; i < row->node->n_inputs; i++)
        if (row->node->inputs[i] != AS_NONE && !as_node_passes(row->node, i))
            give_behind(g, row->node->inputs[i], row);
}

/* What no row computes with: handed on to an output of the model, or out of a body. */
static void give_rest(struct giving *g, struct as_cost_row *row)
{
    const struct as_node *node = row->node;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t param =
            node->inputs[i] == AS_NONE ? AS_NONE : counted(g, g->behind[node->inputs[i]].value);

        if (param != AS_NONE && !g->used[param])
            give(g, param, row);
    }
    for (uint32_t k = 0; k < node->n_attrs; k++) {
        const struct as_graph *body = node->attrs[k].graph;

        for (uint32_t i = 0; node->attrs[k].kind == AS_ATTR_GRAPH && body && i < body->n_outputs;
             i++) {
            uint32_t param = body->outputs[i] == AS_NONE
                                 ? AS_NONE
                                 : counted(g, g->behind[body->outputs[i]].value);

            if (param != AS_NONE && !g->used[param])
                give(g, param, row);
        }
    }
}

static bool start(struct giving *g)
{
    size_t n = (size_t)g->model->n_values + 1;

    g->behind = as_alloc_zero(n, sizeof *g->behind);
    g->param_of = as_alloc_zero(n, sizeof *g->param_of);
    g->maker = as_alloc_zero(n, sizeof *g->maker);
    g->holds = as_alloc_zero(n, sizeof *g->holds);
    g->seen = as_alloc_zero(n, sizeof *g->seen);
    g->stack = as_alloc_zero(n, sizeof *g->stack);
    g->used = as_alloc_zero(g->params->n_params + 1, sizeof *g->used);
    if (!g->behind || !g->param_of || !g->maker || !g->holds || !g->seen || !g->stack || !g->used)
        return false;
    memset(g->param_of, 0xff, n * sizeof *g->param_of);
    memset(g->maker, 0xff, n * sizeof *g->maker);
    as_behind_all(g->model, g->behind);
    for (size_t i = 0; i < g->params->n_params; i++)
        g->param_of[g->params->params[i].value] = (uint32_t)i;
    for (uint32_t i = 0; i < g->model->n_values; i++)
        g->holds[i] = counted(g, g->behind[i].value) != AS_NONE;
    return true;
}

int as_costs_attribute(struct as_costs *costs, const struct as_model *model,
                       const struct as_params *params, struct assay_error *err)
{
    struct giving g = {.costs = costs, .model = model, .params = params};
    int rc = ASSAY_OK;

    if (!start(&g)) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (size_t r = 0; r < costs->n_rows; r++) {
        costs->rows[r].parameters = costs->rows[r].parameter_bytes = 0;
        costs->rows[r].shares_parameters = false;
        if (costs->rows[r].constant)
            note_maker(&g, (uint32_t)r);
        else
            give_row(&g, &costs->rows[r]);
    }
    for (size_t r = 0; r < costs->n_rows; r++)
        give_rest(&g, &costs->rows[r]);
out:
    as_free(g.behind);
    as_free(g.param_of);
    as_free(g.maker);
    as_free(g.holds);
    as_free(g.seen);
    as_free(g.stack);
    as_free(g.used);
    return rc;
}
