/* measure/inputs/input_use.c - what numbers an input must hold so that the model can run at all.
 * Indices must stay inside the table they look into, lengths inside what they count. */
#include "measure/inputs/model_inputs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

enum use_kind {
    USE_INDEX,     /* into axis `axis` of the table */
    USE_INDEX_ALL, /* into several axes from the first on */
    USE_LENGTH,    /* of that axis of the table */
    USE_LAST,      /* the last place of a cache and what is added to it */
    USE_TOTAL,     /* the length of both */
    USE_CHOICE,    /* compared with the table, a constant */
};

/* Who looks where: operator, its input that is the index, the one that is the table, the attribute
 * with the axis (NULL: as in `axis`). */
static const struct use {
    enum as_op op;
    uint32_t in, table;
    enum use_kind kind;
    const char *attr;
    int64_t axis;
} uses[] = {
    {AS_OP_Gather, 1, 0, USE_INDEX, "axis", 0},
    {AS_OP_GatherElements, 1, 0, USE_INDEX, "axis", 0},
    {AS_OP_Scatter, 1, 0, USE_INDEX, "axis", 0},
    {AS_OP_ScatterElements, 1, 0, USE_INDEX, "axis", 0},
    {AS_OP_GatherND, 1, 0, USE_INDEX_ALL, NULL, 0},
    {AS_OP_ScatterND, 1, 0, USE_INDEX_ALL, NULL, 0},
    {AS_OP_LSTM, 4, 0, USE_LENGTH, NULL, 0},
    {AS_OP_GRU, 4, 0, USE_LENGTH, NULL, 0},
    {AS_OP_RNN, 4, 0, USE_LENGTH, NULL, 0},
    {AS_OP_ReverseSequence, 1, 0, USE_LENGTH, "time_axis", 0},
    {AS_OP_MS_EmbedLayerNormalization, 0, 2, USE_INDEX, NULL, 0},
    {AS_OP_MS_EmbedLayerNormalization, 1, 4, USE_INDEX, NULL, 0},
    {AS_OP_MS_EmbedLayerNormalization, 8, 3, USE_INDEX, NULL, 0},
    {AS_OP_MS_QEmbedLayerNormalization, 0, 2, USE_INDEX, NULL, 0},
    {AS_OP_MS_QEmbedLayerNormalization, 1, 4, USE_INDEX, NULL, 0},
    {AS_OP_MS_GatherBlockQuantized, 1, 0, USE_INDEX, "gather_axis", 0},
    {AS_OP_MS_RotaryEmbedding, 1, 2, USE_INDEX, NULL, 0},
    {AS_OP_MS_GroupQueryAttention, 5, 0, USE_LAST, NULL, 0},
    {AS_OP_MS_GroupQueryAttention, 6, 0, USE_TOTAL, NULL, 0},
    {AS_OP_Equal, 0, 1, USE_CHOICE, NULL, 0},
    {AS_OP_Equal, 1, 0, USE_CHOICE, NULL, 0},
    {AS_OP_TFL_EMBEDDING_LOOKUP, 0, 1, USE_INDEX, NULL, 0},
};

/* Nodes that hand on the numbers of one input (all: of any) as they are. */
static const struct pass {
    enum as_op op;
    bool all;
} passes[] = {
    {AS_OP_Cast, false},      {AS_OP_Reshape, false},     {AS_OP_Unsqueeze, false},
    {AS_OP_Squeeze, false},   {AS_OP_Identity, false},    {AS_OP_Flatten, false},
    {AS_OP_Transpose, false}, {AS_OP_Slice, false},       {AS_OP_Split, false},
    {AS_OP_Concat, true},     {AS_OP_Expand, false},      {AS_OP_Tile, false},
    {AS_OP_Gather, false},    {AS_OP_TFL_RESHAPE, false},
};

enum { CACHE_INPUT = 3, CACHE_AXIS = 2 }; /* of GroupQueryAttention: past keys, their length */

struct walk {
    const struct as_model *model;
    uint8_t *reached; /* by value */
    struct as_input_use *out;
};

static int64_t dim_of(const struct as_value *v, int64_t axis)
{
    if (!v || v->type.kind != AS_VALUE_TENSOR || v->type.rank < 0)
        return AS_DIM_UNKNOWN;
    axis += axis < 0 ? v->type.rank : 0;
    return axis >= 0 && axis < v->type.rank ? v->type.dims[axis] : AS_DIM_UNKNOWN;
}

static void limit(struct walk *w, const struct as_value *table, int64_t size)
{
    if (size == AS_DIM_UNKNOWN || size < 0 || (w->out->below && (uint64_t)size >= w->out->below))
        return;
    w->out->below = size ? (uint64_t)size : 1;
    w->out->table = table->name;
}

static void choose(struct walk *w, const struct as_value *table)
{
    const struct as_data *data = table ? table->data : NULL;
    uint8_t bytes[8] = {0};
    struct as_data one;

    if (w->out->is_choice || !data || data->n != 1 || data->partial ||
        !as_dtype_is_integer(data->dtype) || as_data_read(data, 0, 1, bytes, NULL) < 0)
        return;
    one = (struct as_data){.dtype = data->dtype, .n = 1, .bytes = bytes};
    w->out->is_choice = true;
    w->out->choice = as_data_i64(&one, 0);
}

static void apply(struct walk *w, const struct use *use, const struct as_graph *graph,
                  const struct as_node *node)
{
    const struct as_value *table = as_node_input(graph, node, use->table);
    int64_t axis = use->attr ? as_node_int(node, use->attr, use->axis) : use->axis, past;

    switch (use->kind) {
    case USE_INDEX:
        limit(w, table, dim_of(table, axis));
        break;
    case USE_INDEX_ALL:
        for (int64_t i = 0; table && i < table->type.rank; i++)
            limit(w, table, dim_of(table, i));
        break;
    case USE_LENGTH:
        if (dim_of(table, axis) != AS_DIM_UNKNOWN)
            w->out->length = dim_of(table, axis);
        break;
    case USE_CHOICE:
        choose(w, table);
        break;
    case USE_LAST:
    case USE_TOTAL:
        past = dim_of(as_node_input(graph, node, CACHE_INPUT), CACHE_AXIS);
        if (dim_of(table, 1) != AS_DIM_UNKNOWN)
            w->out->length =
                dim_of(table, 1) + (past != AS_DIM_UNKNOWN ? past : 0) - (use->kind == USE_LAST);
        break;
    }
}

static bool is_reached(const struct walk *w, const struct as_node *node, uint32_t i)
{
    return i < node->n_inputs && node->inputs[i] != AS_NONE && w->reached[node->inputs[i]];
}

static void visit(struct walk *w, const struct as_graph *graph, const struct as_node *node)
{
    bool on = false;

    for (size_t i = 0; i < AS_COUNT_OF(uses); i++)
        if (uses[i].op == node->op && is_reached(w, node, uses[i].in))
            apply(w, &uses[i], graph, node);
    for (size_t i = 0; i < AS_COUNT_OF(passes); i++) {
        if (passes[i].op != node->op)
            continue;
        on = is_reached(w, node, 0);
        for (uint32_t k = 1; passes[i].all && k < node->n_inputs; k++)
            on = on || is_reached(w, node, k);
    }
    for (uint32_t i = 0; on && i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE)
            w->reached[node->outputs[i]] = 1;
}

/* Nodes of a graph stand after those they need, and a body is walked where its owner stands. */
static void walk_graph(struct walk *w)
{
    struct {
        const struct as_graph *graph;
        uint32_t node, attr;
    } stack[AS_MAX_GRAPH_DEPTH + 1] = {{.graph = w->model->main}};
    size_t depth = 1;

    while (depth > 0) {
        const struct as_graph *graph = stack[depth - 1].graph;
        const struct as_node *node = &graph->nodes[stack[depth - 1].node];
        const struct as_graph *body = NULL;

        if (stack[depth - 1].node >= graph->n_nodes) {
            depth--;
            continue;
        }
        if (stack[depth - 1].attr == 0)
            visit(w, graph, node);
        while (!body && stack[depth - 1].attr < node->n_attrs) {
            const struct as_attr *attr = &node->attrs[stack[depth - 1].attr++];

            if (attr->kind == AS_ATTR_GRAPH)
                body = attr->graph;
        }
        if (body && depth <= AS_MAX_GRAPH_DEPTH) {
            stack[depth].graph = body;
            stack[depth].node = stack[depth].attr = 0;
            depth++;
        } else if (!body) {
            stack[depth - 1].node++;
            stack[depth - 1].attr = 0;
        }
    }
}

int as_input_use_find(struct as_input_use *out, const struct as_model *model, uint32_t input,
                      struct assay_error *err)
{
    struct walk w = {.model = model, .out = out};

    *out = (struct as_input_use){.length = -1};
    w.reached = as_alloc_zero((size_t)model->n_values + 1, 1);
    if (!w.reached)
        return as_fail_nomem(err);
    w.reached[input] = 1;
    if (model->main)
        walk_graph(&w);
    as_free(w.reached);
    return ASSAY_OK;
}
