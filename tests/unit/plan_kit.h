/* tests/unit/plan_kit.h - small networks made by hand, with the rows that costs would give them.
 * Sizes are what the test says; no rule is run. */
#ifndef AS_TESTS_PLAN_KIT_H
#define AS_TESTS_PLAN_KIT_H

#include "unit.h"

#include "base/alloc.h"
#include "model/cost/cost.h"
#include "model/weights/parameters.h"

enum { KIT_NODES = 64, KIT_PARAMS = 16 };

struct kit {
    struct as_model *model;
    struct as_graph *main;
    struct as_cost_row rows[KIT_NODES];
    struct as_node nodes[KIT_NODES];
    uint32_t capacity[KIT_NODES][8];
    uint32_t ends[8][8]; /* of graphs */
    size_t n_ends;
    struct as_param param[KIT_PARAMS];
    struct as_costs costs;
    struct as_params params;
};

static inline void kit_begin(struct kit *k)
{
    memset(k, 0, sizeof *k);
    assert_int_equal(as_model_new(&k->model, 0, NULL), ASSAY_OK);
    k->main = as_graph_new(k->model, NULL, "main", NULL);
    assert_non_null(k->main);
    k->costs.rows = k->rows;
    k->costs.times_known = true;
    k->params.params = k->param;
}

static inline void kit_end(struct kit *k)
{
    as_model_free(k->model);
}

/* A tensor of `n` elements; n < 0: of unknown size. */
static inline uint32_t kit_value(struct kit *k, struct as_graph *graph, unsigned dtype, int64_t n)
{
    struct as_dims dims = {1, {n < 0 ? AS_DIM_UNKNOWN : n}};
    uint32_t id = as_model_add_value(k->model, graph, "", 0, NULL);

    assert_int_not_equal(id, AS_NONE);
    assert_true(as_type_tensor(&k->model->values[id].type, &k->model->arena, dtype, &dims));
    return id;
}

static inline uint32_t kit_f32(struct kit *k, int64_t n)
{
    return kit_value(k, k->main, AS_DTYPE_F32, n);
}

/* A weight, counted. */
static inline uint32_t kit_weight(struct kit *k, int64_t n)
{
    uint32_t id = kit_f32(k, n);
    struct as_param *param = &k->param[k->params.n_params++];

    k->model->values[id].is_initializer = true;
    *param = (struct as_param){.value = id,
                               .role = AS_ROLE_PARAMETER,
                               .layer = "",
                               .elems = (uint64_t)n,
                               .bytes = (uint64_t)n * 4,
                               .tied_to = AS_NONE};
    return id;
}

static inline void kit_copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* The node's row; AS_NONE as input or output: left out. At most four of each. */
static inline struct as_cost_row *kit_node_in(struct kit *k, struct as_graph *graph, enum as_op op,
                                              const uint32_t *in, uint32_t n_in,
                                              const uint32_t *out, uint32_t n_out)
{
    size_t i = k->costs.n_rows++;

    assert_true(i < KIT_NODES && n_in <= 4 && n_out <= 4);
    kit_copy(k->capacity[i], in, n_in);
    kit_copy(k->capacity[i] + 4, out, n_out);
    k->nodes[i] = (struct as_node){.name = "",
                                   .op_name = as_op_name(op),
                                   .domain_name = "",
                                   .op = op,
                                   .n_inputs = n_in,
                                   .n_outputs = n_out,
                                   .inputs = k->capacity[i],
                                   .outputs = k->capacity[i] + 4};
    k->rows[i] = (struct as_cost_row){.graph = graph,
                                      .node = &k->nodes[i],
                                      .depth = graph->depth,
                                      .times = 1,
                                      .times_known = true,
                                      .attention = AS_NONE};
    return &k->rows[i];
}

static inline struct as_cost_row *kit_node(struct kit *k, enum as_op op, uint32_t a, uint32_t b,
                                           uint32_t out)
{
    const uint32_t in[] = {a, b};

    return kit_node_in(k, k->main, op, in, 2, &out, 1);
}

static inline void kit_ends(struct kit *k, struct as_graph *graph, const uint32_t *in,
                            uint32_t n_in, const uint32_t *out, uint32_t n_out)
{
    uint32_t *ends = k->ends[k->n_ends++];

    assert_true(k->n_ends <= 8 && n_in <= 4 && n_out <= 4);
    kit_copy(ends, in, n_in);
    kit_copy(ends + 4, out, n_out);
    graph->inputs = ends;
    graph->n_inputs = n_in;
    graph->outputs = ends + 4;
    graph->n_outputs = n_out;
    for (uint32_t i = 0; i < n_in; i++)
        k->model->values[in[i]].is_input = true;
}

/* Calls `work` with every allocation failing in turn; true once none was left to fail. */
static inline void kit_fail_each(int (*work)(void *user, struct assay_error *err), void *user)
{
    struct assay_error err;

    for (uint64_t nth = 1; nth < 1000; nth++) {
        int rc;

        err = (struct assay_error){0};
        as_alloc_fail_at(nth, 0);
        rc = work(user, &err);
        if (as_alloc_count() < nth) {
            as_alloc_fail_at(0, 0);
            assert_int_equal(rc, ASSAY_OK);
            return;
        }
        as_alloc_fail_at(0, 0);
        if (rc != ASSAY_ERR_NOMEM || err.code != ASSAY_ERR_NOMEM)
            fail_msg("allocation %u failed and the answer was %d", (unsigned)nth, rc);
    }
    fail_msg("too many allocations");
}

#endif
