/* tests/unit/graph_kit.h - small graphs for tests, made by hand: values, constants and nodes.
 * A kit holds up to KIT_NODES nodes; kit_infer() links it and works out the types. */
#ifndef AS_TESTS_GRAPH_KIT_H
#define AS_TESTS_GRAPH_KIT_H

#include <stdio.h>
#include <stdlib.h>

#include "model/infer/infer.h"
#include "model/infer/infer_context.h"
#include "unit.h"

enum { KIT_NODES = 64, KIT_ATTRS = 8 };

struct kit {
    struct as_model *model;
    struct as_node nodes[KIT_NODES];
    struct as_attr attrs[KIT_NODES][KIT_ATTRS];
    uint32_t n_nodes;
    uint32_t inputs[KIT_NODES];
    uint32_t n_inputs;
    struct assay_error err;
};

#define KIT_DIMS(...) ((struct as_dims){UNIT_COUNT(((int64_t[]){__VA_ARGS__})), {__VA_ARGS__}})
#define KIT_SCALAR    ((struct as_dims){0, {0}})
#define KIT_INTS(k, ...)                                                                           \
    kit_ints(k, UNIT_COUNT(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})
#define KIT_NODE(k, op, ...)                                                                       \
    kit_node(k, op, UNIT_COUNT(((uint32_t[]){__VA_ARGS__})), (const uint32_t[]){__VA_ARGS__}, 1)

static inline struct kit *kit_new(int64_t opset)
{
    struct kit *k = calloc(1, sizeof *k);

    assert_non_null(k);
    assert_int_equal(as_model_new(&k->model, 0, NULL), ASSAY_OK);
    assert_non_null(as_graph_new(k->model, NULL, "main", NULL));
    k->model->opset = opset;
    return k;
}

static inline void kit_free(struct kit *k)
{
    as_model_free(k->model);
    free(k);
}

static inline uint32_t kit_value(struct kit *k)
{
    char name[24];
    int size = snprintf(name, sizeof name, "v%u", k->model->n_values);
    uint32_t id = as_model_add_value(k->model, k->model->main, name, (size_t)size, NULL);

    assert_int_not_equal(id, AS_NONE);
    return id;
}

/* NULL dims: of unknown rank. */
static inline uint32_t kit_input(struct kit *k, unsigned dtype, const struct as_dims *dims)
{
    uint32_t id = kit_value(k);

    assert_true(as_type_tensor(&k->model->values[id].type, &k->model->arena, dtype, dims));
    k->inputs[k->n_inputs++] = id;
    return id;
}

static inline uint32_t kit_constant(struct kit *k, struct as_data *data, struct as_dims dims)
{
    uint32_t id = kit_value(k);
    struct as_value *value = &k->model->values[id];

    assert_non_null(data);
    assert_true(as_type_tensor(&value->type, &k->model->arena, data->dtype, &dims));
    value->data = data;
    value->is_initializer = true;
    return id;
}

static inline uint32_t kit_ints(struct kit *k, size_t n, const int64_t *at)
{
    struct as_data *data = as_data_new(&k->model->arena, AS_DTYPE_I64, n);

    for (size_t i = 0; i < n; i++)
        as_data_put_i64(data, i, at[i]);
    return kit_constant(k, data, (struct as_dims){1, {(int64_t)n}});
}

static inline uint32_t kit_int(struct kit *k, int64_t value)
{
    struct as_data *data = as_data_new(&k->model->arena, AS_DTYPE_I64, 1);

    as_data_put_i64(data, 0, value);
    return kit_constant(k, data, KIT_SCALAR);
}

/* Numbers of any dtype. */
static inline uint32_t kit_numbers(struct kit *k, unsigned dtype, struct as_dims dims,
                                   const double *at)
{
    uint64_t n = (uint64_t)as_dims_product(&dims, 0, dims.rank);
    struct as_data *data = as_data_new(&k->model->arena, dtype, n);

    for (uint64_t i = 0; i < n; i++)
        as_data_put_f64(data, i, at[i]);
    return kit_constant(k, data, dims);
}

/* Returns the first output; the others follow it. */
static inline uint32_t kit_node(struct kit *k, enum as_op op, size_t n_inputs,
                                const uint32_t *inputs, uint32_t n_outputs)
{
    struct as_node *node = &k->nodes[k->n_nodes];
    uint32_t *ids = as_arena_zero(&k->model->arena, n_inputs + n_outputs + 1, sizeof *ids);

    assert_non_null(ids);
    assert_in_range(k->n_nodes, 0, KIT_NODES - 1);
    *node = (struct as_node){.name = "",
                             .op_name = as_op_name(op),
                             .domain_name = "",
                             .op = op,
                             .n_inputs = (uint32_t)n_inputs,
                             .n_outputs = n_outputs,
                             .inputs = ids,
                             .outputs = ids + n_inputs,
                             .attrs = k->attrs[k->n_nodes]};
    if (n_inputs > 0)
        memcpy(ids, inputs, n_inputs * sizeof *ids);
    for (uint32_t i = 0; i < n_outputs; i++)
        ids[n_inputs + i] = kit_value(k);
    k->n_nodes++;
    return ids[n_inputs];
}

/* An attribute of the last node. */
static inline void kit_attr(struct kit *k, struct as_attr attr)
{
    struct as_node *node = &k->nodes[k->n_nodes - 1];

    assert_in_range(node->n_attrs, 0, KIT_ATTRS - 1);
    k->attrs[k->n_nodes - 1][node->n_attrs++] = attr;
}

static inline void kit_attr_int(struct kit *k, const char *name, int64_t value)
{
    kit_attr(k, (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = value});
}

static inline void kit_attr_text(struct kit *k, const char *name, const char *text)
{
    kit_attr(k, (struct as_attr){.name = name, .kind = AS_ATTR_TEXT, .text = {text, strlen(text)}});
}

static inline void kit_attr_ints(struct kit *k, const char *name, const int64_t *at, size_t n)
{
    int64_t *copy = as_arena_zero(&k->model->arena, n + 1, sizeof *copy);

    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, at, n * sizeof *copy);
    kit_attr(k,
             (struct as_attr){.name = name, .kind = AS_ATTR_INTS, .n = (uint32_t)n, .ints = copy});
}

#define KIT_ATTR_INTS(k, name, ...)                                                                \
    kit_attr_ints(k, name, (const int64_t[]){__VA_ARGS__}, UNIT_COUNT(((int64_t[]){__VA_ARGS__})))

/* Links on the first call. Open dimensions stay open. */
static inline int kit_infer(struct kit *k)
{
    struct as_infer_options options = {.keep_unknown = true};
    struct as_graph *main_graph = k->model->main;

    if (!main_graph->nodes) {
        assert_int_equal(as_graph_reserve_nodes(main_graph, k->n_nodes, NULL), ASSAY_OK);
        memcpy(main_graph->nodes, k->nodes, k->n_nodes * sizeof *k->nodes);
        main_graph->inputs = k->inputs;
        main_graph->n_inputs = k->n_inputs;
        assert_int_equal(as_model_link(k->model, &k->err), ASSAY_OK);
    }
    return as_infer_shapes(k->model, &options, NULL, &k->err);
}

/* "i64 2x?" */
static inline void kit_expect(struct kit *k, uint32_t id, const char *expected)
{
    char dims[200], text[240];

    as_type_text(dims, sizeof dims, &k->model->values[id].type);
    snprintf(text, sizeof text, "%s %s", as_dtype_name(k->model->values[id].type.dtype), dims);
    assert_string_equal(text, expected);
}

/* The numbers of a constant of integers; AS_DIM_UNKNOWN for those that are not known. */
static inline void kit_expect_ints(struct kit *k, uint32_t id, const int64_t *at, size_t n)
{
    struct as_data *data = k->model->values[id].data;

    assert_non_null(data);
    assert_int_equal(as_data_load(data, &k->model->arena, 1 << 20, NULL), ASSAY_OK);
    assert_int_equal(data->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(as_data_i64(data, i), at[i]);
}

#define KIT_EXPECT_INTS(k, id, ...)                                                                \
    kit_expect_ints(k, id, (const int64_t[]){__VA_ARGS__}, UNIT_COUNT(((int64_t[]){__VA_ARGS__})))

#endif
