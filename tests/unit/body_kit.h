/* tests/unit/body_kit.h - bodies of If, Loop and Scan for a graph of the move kit. */
#ifndef AS_TESTS_BODY_KIT_H
#define AS_TESTS_BODY_KIT_H

#include "kernel_move_kit.h"

/* A body in the making: its values, and nodes of one output each. */
struct body {
    struct move_run *r;
    struct as_graph *graph;
    uint32_t inputs[4], outputs[4];
    struct as_node nodes[4];
    uint32_t n_nodes;
};

static inline uint32_t body_value(struct body *b)
{
    struct as_model *model = b->r->k->model;
    char name[24];
    int size = snprintf(name, sizeof name, "b%u", model->n_values);

    return as_model_add_value(model, b->graph, name, (size_t)size, NULL);
}

static inline void body_init(struct body *b, struct move_run *r, uint32_t n_inputs)
{
    struct as_model *model = r->k->model;

    *b = (struct body){.r = r, .graph = as_graph_new(model, model->main, "body", NULL)};
    assert_non_null(b->graph);
    for (uint32_t i = 0; i < n_inputs; i++)
        b->inputs[i] = body_value(b);
    b->graph->inputs = b->inputs;
    b->graph->n_inputs = n_inputs;
}

static inline uint32_t body_node(struct body *b, enum as_op op, uint32_t first, uint32_t second)
{
    struct as_model *model = b->r->k->model;
    uint32_t *ids = as_arena_zero(&model->arena, 3, sizeof *ids);
    struct as_attr *axis = as_arena_zero(&model->arena, 1, sizeof *axis);

    assert_non_null(ids);
    assert_non_null(axis);
    ids[0] = first;
    ids[1] = second;
    ids[2] = body_value(b);
    *axis = (struct as_attr){.name = "axis", .kind = AS_ATTR_INT, .i = 0};
    b->nodes[b->n_nodes++] = (struct as_node){.name = "",
                                              .op_name = as_op_name(op),
                                              .domain_name = "",
                                              .op = op,
                                              .n_inputs = second == AS_NONE ? 1 : 2,
                                              .n_outputs = 1,
                                              .inputs = ids,
                                              .outputs = ids + 2,
                                              .n_attrs = op == AS_OP_Concat ? 1 : 0,
                                              .attrs = axis};
    return ids[2];
}

/* The last node of the main graph has the body in attribute `name`. */
static inline void body_done(struct body *b, const char *name, uint32_t n_outputs)
{
    assert_int_equal(as_graph_reserve_nodes(b->graph, b->n_nodes, NULL), ASSAY_OK);
    memcpy(b->graph->nodes, b->nodes, b->n_nodes * sizeof *b->nodes);
    b->graph->outputs = b->outputs;
    b->graph->n_outputs = n_outputs;
    kit_attr(b->r->k, (struct as_attr){.name = name, .kind = AS_ATTR_GRAPH, .graph = b->graph});
}

#endif
