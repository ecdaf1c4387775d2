/* model/infer/batch_axis.c - which dimension of an input counts samples.
 * The input is followed through nodes that only move or scale it, up to one whose inputs have a
 * batch by definition: a convolution, a recurrent layer, a lookup, a GEMM call. */
#include "model/infer/batch_axis.h"

#include <string.h>
#include <strings.h>

#include "base/units.h"

/* What is looked at; the nodes that decide are near the inputs. */
enum { MAX_NODES = 4096, MAX_TRACKED = 32, MAX_INPUTS = 8, MAX_INPUTS_LOOKED_AT = 64 };

/* A value made from the input: which axis of the input each of its dimensions is; -1: none. */
struct track {
    uint32_t value;
    int rank, from[AS_MAX_RANK];
};

struct search {
    const struct as_graph *graph;
    struct track tracked[MAX_TRACKED];
    size_t n;
    int found; /* an axis, or AS_BATCH_AXIS_INSIDE; AS_NO_BATCH_AXIS: nothing so far */
};

static void decide(struct search *s, const struct track *t, int dim)
{
    if (dim < t->rank)
        s->found = t->from[dim] < 0 ? AS_BATCH_AXIS_INSIDE : t->from[dim];
}

static void track(struct search *s, const struct as_node *node, const struct track *t)
{
    if (s->n == MAX_TRACKED || node->n_outputs == 0 || node->outputs[0] == AS_NONE)
        return;
    s->tracked[s->n] = *t;
    s->tracked[s->n++].value = node->outputs[0];
}

struct numbers {
    size_t n;
    int64_t at[AS_MAX_RANK];
};

/* Of an initializer or of a Constant node, which is not inferred yet; NULL: neither. */
static const struct as_data *constant_of(const struct as_graph *graph, const struct as_value *value)
{
    const struct as_node *node;
    const struct as_attr *attr;

    if (!value || value->data || value->producer == AS_NONE || value->graph != graph)
        return value ? value->data : NULL;
    node = &graph->nodes[value->producer];
    attr = node->op == AS_OP_Constant ? as_node_attr(node, "value") : NULL;
    return attr ? attr->data : NULL;
}

/* Numbers of an attribute, or of a constant input since opset 13. */
static bool read_ints(const struct search *s, const struct as_node *node, const char *name,
                      size_t input, struct numbers *out)
{
    const struct as_data *data = constant_of(s->graph, as_node_input(s->graph, node, input));
    struct as_ints given;

    if (as_node_ints(node, name, &given)) {
        out->n = given.n;
        if (given.n <= AS_MAX_RANK)
            memcpy(out->at, given.at, given.n * sizeof *given.at);
        return given.n <= AS_MAX_RANK;
    }
    if (!data || data->dtype != AS_DTYPE_I64 || data->partial || !data->bytes ||
        data->n > AS_MAX_RANK)
        return false;
    out->n = (size_t)data->n;
    memcpy(out->at, data->bytes, out->n * sizeof *out->at);
    return true;
}

static void follow_transpose(struct search *s, const struct as_node *node, const struct track *t)
{
    struct track to = *t;
    struct as_ints perm;
    bool given = as_node_ints(node, "perm", &perm);

    for (int i = 0; i < t->rank; i++) {
        int64_t from = given && (size_t)i < perm.n ? perm.at[i] : t->rank - 1 - i;

        if (from < 0 || from >= t->rank || (given && perm.n != (size_t)t->rank))
            return;
        to.from[i] = t->from[from];
    }
    track(s, node, &to);
}

static void follow_unsqueeze(struct search *s, const struct as_node *node, const struct track *t)
{
    struct track to = {.rank = t->rank};
    struct numbers axes;
    int taken = 0;

    if (!read_ints(s, node, "axes", 1, &axes) || axes.n + (size_t)t->rank > AS_MAX_RANK)
        return;
    to.rank += (int)axes.n;
    for (int i = 0; i < to.rank; i++) {
        bool added = false;

        for (size_t k = 0; k < axes.n; k++)
            added = added || (axes.at[k] < 0 ? axes.at[k] + to.rank : axes.at[k]) == i;
        if (!added && taken == t->rank)
            return;
        to.from[i] = added ? -1 : t->from[taken++];
    }
    track(s, node, &to);
}

static void follow_squeeze(struct search *s, const struct as_node *node, const struct track *t)
{
    struct track to = {.rank = 0};
    struct numbers axes;

    if (!read_ints(s, node, "axes", 1, &axes))
        return;
    for (int i = 0; i < t->rank; i++) {
        bool gone = false;

        for (size_t k = 0; k < axes.n; k++)
            gone = gone || (axes.at[k] < 0 ? axes.at[k] + t->rank : axes.at[k]) == i;
        if (!gone)
            to.from[to.rank++] = t->from[i];
    }
    track(s, node, &to);
}

/* A first dimension that stays, or is whatever is left, counts samples. */
static void judge_reshape(struct search *s, const struct as_node *node, const struct track *t)
{
    struct numbers shape;

    if (read_ints(s, node, "shape", 1, &shape) && shape.n > 1 &&
        (shape.at[0] == -1 || shape.at[0] == 0))
        decide(s, t, 0);
}

/* Two stacks of matrices have the batch in front. Of one stack that meets a matrix of weights, rows
 * and batch are all the same. */
static void judge_matmul(struct search *s, const struct as_node *node, uint32_t input,
                         const struct track *t)
{
    const struct as_value *other = as_node_input(s->graph, node, input == 0 ? 1 : 0);

    if ((t->rank == 2 && input == 0) ||
        (t->rank > 2 && other && !constant_of(s->graph, other) && other->type.rank > 2))
        decide(s, t, 0);
    else if (t->rank > 2)
        track(s, node, t);
}

/* [sequence, batch, features], or with layout 1 the batch first; states have the direction before
 * the batch, or behind it. */
static void judge_recurrent(struct search *s, const struct as_node *node, uint32_t input,
                            const struct track *t)
{
    bool first = as_node_int(node, "layout", 0) != 0;

    if (input == 0 || input == 5 || input == 6)
        decide(s, t, first ? 0 : 1);
}

static void visit(struct search *s, const struct as_node *node, uint32_t input,
                  const struct track *t)
{
    switch (node->op) {
    case AS_OP_Conv:
    case AS_OP_ConvTranspose:
    case AS_OP_ConvInteger:
    case AS_OP_QLinearConv:
    case AS_OP_MS_FusedConv:
    case AS_OP_MS_NhwcConv:
    case AS_OP_MaxPool:
    case AS_OP_AveragePool:
    case AS_OP_GlobalAveragePool:
    case AS_OP_GlobalMaxPool:
    case AS_OP_BatchNormalization:
    case AS_OP_InstanceNormalization:
    case AS_OP_LRN:
    case AS_OP_DepthToSpace:
    case AS_OP_SpaceToDepth:
        if (input == 0 && t->rank > 2)
            decide(s, t, 0);
        return;
    case AS_OP_LSTM:
    case AS_OP_GRU:
    case AS_OP_RNN:
    case AS_OP_MS_DynamicQuantizeLSTM:
        judge_recurrent(s, node, input, t);
        return;
    case AS_OP_Gather:
        if (input == 1 && t->rank > 1)
            decide(s, t, 0);
        return;
    case AS_OP_Gemm:
        if (input == 0)
            decide(s, t, as_node_int(node, "transA", 0) != 0 ? 1 : 0);
        return;
    case AS_OP_MatMul:
        judge_matmul(s, node, input, t);
        return;
    case AS_OP_Flatten:
        if (as_node_int(node, "axis", 1) == 1)
            decide(s, t, 0);
        return;
    case AS_OP_MS_Attention:
    case AS_OP_MS_EmbedLayerNormalization:
    case AS_OP_MS_MultiHeadAttention:
    case AS_OP_MS_GroupQueryAttention:
        if (t->rank > 1)
            decide(s, t, 0);
        return;
    case AS_OP_Reshape:
        if (input == 0)
            judge_reshape(s, node, t);
        return;
    case AS_OP_Transpose:
        follow_transpose(s, node, t);
        return;
    case AS_OP_Unsqueeze:
        if (input == 0)
            follow_unsqueeze(s, node, t);
        return;
    case AS_OP_Squeeze:
        if (input == 0)
            follow_squeeze(s, node, t);
        return;
    case AS_OP_Cast:
    case AS_OP_Identity:
    case AS_OP_Sub:
    case AS_OP_Add:
    case AS_OP_Mul:
    case AS_OP_Div:
    case AS_OP_Neg:
    case AS_OP_Clip:
    case AS_OP_Pad:
    case AS_OP_Slice:
    case AS_OP_Split:
    case AS_OP_Concat:
    case AS_OP_Resize:
    case AS_OP_QuantizeLinear:
    case AS_OP_DequantizeLinear:
    case AS_OP_LayerNormalization:
    case AS_OP_Relu:
    case AS_OP_Tanh:
    case AS_OP_Sigmoid:
    case AS_OP_Log:
    case AS_OP_Exp:
        track(s, node, t);
        return;
    default:
        return;
    }
}

static int by_consumers(const struct as_model *model, const struct as_value *input)
{
    struct search s = {.graph = model->main, .n = 1, .found = AS_NO_BATCH_AXIS};

    s.tracked[0] =
        (struct track){.value = (uint32_t)(input - model->values), .rank = input->type.rank};
    for (int i = 0; i < input->type.rank; i++)
        s.tracked[0].from[i] = i;
    for (uint32_t i = 0; i < model->main->n_nodes && i < MAX_NODES; i++) {
        const struct as_node *node = &model->main->nodes[i];

        for (uint32_t k = 0; k < node->n_inputs && k < MAX_INPUTS; k++)
            for (size_t at = 0; at < s.n; at++)
                if (node->inputs[k] == s.tracked[at].value) {
                    visit(&s, node, k, &s.tracked[at]);
                    break;
                }
        if (s.found != AS_NO_BATCH_AXIS)
            break;
    }
    return s.found;
}

/* "batch", "batch_size", "N". */
static int by_symbols(const struct as_value *input)
{
    for (int i = 0; input->symbols && i < input->type.rank; i++) {
        const char *name = input->symbols[i];

        if (name && (strcasestr(name, "batch") || strcasecmp(name, "n") == 0 ||
                     strcasecmp(name, "b") == 0 || strcasecmp(name, "bs") == 0))
            return i;
    }
    return AS_NO_BATCH_AXIS;
}

int as_batch_axis_of(const struct as_model *model, const struct as_value *input)
{
    int axis;

    if (input->type.kind != AS_VALUE_TENSOR || input->type.rank < 1 ||
        input->type.rank > AS_MAX_RANK)
        return AS_NO_BATCH_AXIS;
    if (model->format != AS_FORMAT_ONNX)
        return 0; /* by the formats' and the builder's convention */
    axis = by_symbols(input);
    if (axis == AS_NO_BATCH_AXIS)
        axis = by_consumers(model, input);
    if (axis == AS_NO_BATCH_AXIS && (input->type.rank == 2 || input->type.rank > 3))
        axis = 0; /* rows of features, pictures, videos */
    return axis;
}

struct as_batch_place as_batch_place_of(const struct as_model *model, const struct as_value *named,
                                        int named_axis)
{
    const char *why = "the model has no input with dimensions";

    if (named)
        return (struct as_batch_place){(uint32_t)(named - model->values), named_axis, NULL};
    for (uint32_t i = 0; i < model->main->n_inputs && i < MAX_INPUTS_LOOKED_AT; i++) {
        const struct as_value *input = &model->values[model->main->inputs[i]];
        int axis;

        if (!input->is_input || input->type.kind != AS_VALUE_TENSOR || input->type.rank < 1)
            continue;
        axis = as_batch_axis_of(model, input);
        if (axis >= 0)
            return (struct as_batch_place){(uint32_t)(input - model->values), axis, NULL};
        why = axis == AS_BATCH_AXIS_INSIDE
                  ? "an input is one sample: the model adds the batch dimension itself"
                  : "neither names nor the first nodes show which dimension of an input it is";
    }
    return (struct as_batch_place){AS_NONE, 0, why};
}
