/* model/build/build_opset.c - which opset a described model needs, and what changes when it needs
 * more. Models are described in AS_BUILD_OPSET; only types and operators that it lacks raise it. */
#include "model/build/build_ops.h"

#include <string.h>

/* The first version of the file format that goes with an opset. */
static int64_t ir_of(int64_t opset)
{
    return opset >= AS_OPSET_4BIT ? 10 : opset >= AS_OPSET_F8 ? 9 : AS_BUILD_IR;
}

void as_build_need_opset(struct as_builder *b, int64_t opset)
{
    struct as_model *model = b->model;

    if (!as_build_ok(b) || model->n_opsets == 0 || model->opset >= opset)
        return;
    model->opset = opset;
    model->opsets[0].version = opset;
    model->ir_version = ir_of(opset);
}

void as_build_need_dtype(struct as_builder *b, unsigned dtype)
{
    switch (dtype) {
    case AS_DTYPE_F8E4M3FN:
    case AS_DTYPE_F8E4M3FNUZ:
    case AS_DTYPE_F8E5M2:
    case AS_DTYPE_F8E5M2FNUZ:
        as_build_need_opset(b, AS_OPSET_F8);
        break;
    case AS_DTYPE_I4:
    case AS_DTYPE_U4:
        as_build_need_opset(b, AS_OPSET_4BIT);
        break;
    default:
        break;
    }
}

/* Those whose axes were an attribute until opset 17; ReduceSum's were an input before. */
static bool is_reduction(const struct as_node *node)
{
    return strncmp(node->op_name, "Reduce", 6) == 0 && strcmp(node->op_name, "ReduceSum") != 0;
}

static void axes_to_input(struct as_builder *b, struct as_node *node)
{
    const struct as_attr *axes = as_node_attr(node, "axes");
    struct as_attr *rest;
    uint32_t *inputs, list, n = 0;

    if (!axes || axes->kind != AS_ATTR_INTS || node->n_inputs != 1)
        return;
    list = as_build_ints(b, axes->ints, axes->n);
    inputs = as_arena_zero(&b->model->arena, 2, sizeof *inputs);
    rest = as_arena_zero(&b->model->arena, node->n_attrs, sizeof *rest);
    if (!inputs || !rest) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (&node->attrs[i] != axes)
            rest[n++] = node->attrs[i];
    inputs[0] = node->inputs[0];
    inputs[1] = list;
    node->inputs = inputs;
    node->n_inputs = 2;
    node->attrs = rest;
    node->n_attrs = n;
}

static void say_parts(struct as_builder *b, struct as_node *node)
{
    struct as_attr *more;

    if (node->n_inputs > 1 || as_node_attr(node, "num_outputs"))
        return;
    more = as_arena_zero(&b->model->arena, node->n_attrs + 1u, sizeof *more);
    if (!more) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return;
    }
    if (node->n_attrs)
        memcpy(more, node->attrs, node->n_attrs * sizeof *more);
    more[node->n_attrs] = as_attr_of_int("num_outputs", node->n_outputs);
    node->attrs = more;
    node->n_attrs++;
}

void as_build_raise_nodes(struct as_builder *b)
{
    if (b->model->opset < 18)
        return;
    for (size_t i = 0; i < b->n_nodes && as_build_ok(b); i++) {
        struct as_node *node = &b->nodes[i];

        if (node->domain_name[0])
            continue;
        if (is_reduction(node))
            axes_to_input(b, node);
        else if (strcmp(node->op_name, "Split") == 0)
            say_parts(b, node);
    }
}
