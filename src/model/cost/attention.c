/* model/cost/attention.c - finds attention in a graph: softmax(QK')V made of plain operators, or
 * single operators that are one. Whatever does not fit the pattern is simply not found. */
#include "model/cost/attention.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "model/weights/parameters.h"

enum {
    MAX_INPUTS = 64, /* of a node that are followed */
    MAX_PATH = 16,   /* nodes between a product and the softmax */
    MAX_STEPS = 96,  /* nodes looked at while searching one path */
    MAX_CLIMB = 32,  /* nodes between a product and the projection before it */
};

struct use {
    const struct as_graph *graph;
    const struct as_node *node;
    uint32_t next; /* use of the same value */
};

struct search {
    struct as_costs *costs;
    const struct as_model *model;
    const uint32_t *row_of;
    uint32_t *first_use; /* by value */
    struct use *uses;
    uint32_t n_uses;
};

/* A search for one product from the softmax. */
struct path {
    const struct as_node *nodes[MAX_PATH];
    const struct as_graph *graphs[MAX_PATH];
    int n, steps;
};

/* What was found of one block. */
struct block {
    const struct as_graph *graph;
    const struct as_node *softmax, *scores, *values; /* QK', and the product with V */
    const struct as_graph *scores_graph, *values_graph;
    struct path up, down;
};

static const struct as_value *value_at(const struct search *s, uint32_t id)
{
    return id == AS_NONE ? NULL : &s->model->values[id];
}

static const struct as_node *producer(const struct search *s, uint32_t id)
{
    const struct as_value *value = value_at(s, id);

    if (!value || value->producer == AS_NONE || !value->graph ||
        value->producer >= value->graph->n_nodes)
        return NULL;
    return &value->graph->nodes[value->producer];
}

static bool is_constant(const struct search *s, uint32_t id)
{
    const struct as_value *value = value_at(s, id);

    return value && (value->data || as_constant_behind(s->model, id) != AS_NONE);
}

static bool is_product(const struct as_node *node)
{
    return (node->op == AS_OP_MatMul || node->op == AS_OP_MS_FusedMatMul ||
            node->op == AS_OP_MS_TransposeMatMul || node->op == AS_OP_Einsum) &&
           node->n_inputs >= 2 && node->inputs[0] != AS_NONE && node->inputs[1] != AS_NONE &&
           node->n_outputs > 0 && node->outputs[0] != AS_NONE;
}

static bool is_of_activations(const struct search *s, const struct as_node *node)
{
    return is_product(node) && !is_constant(s, node->inputs[0]) && !is_constant(s, node->inputs[1]);
}

static const struct as_cost_row *row_making(const struct search *s, const struct as_node *node)
{
    uint32_t row = node->n_outputs > 0 && node->outputs[0] != AS_NONE ? s->row_of[node->outputs[0]]
                                                                      : (uint32_t)AS_NONE;

    return row == AS_NONE ? NULL : &s->costs->rows[row];
}

/* ---- from the softmax to its two products ---- */

static bool lies_before_softmax(enum as_op op)
{
    static const enum as_op ops[] = {
        AS_OP_Add,
        AS_OP_Sub,
        AS_OP_Mul,
        AS_OP_Div,
        AS_OP_Where,
        AS_OP_Cast,
        AS_OP_Max,
        AS_OP_Min,
        AS_OP_Clip,
        AS_OP_Identity,
        AS_OP_Reshape,
        AS_OP_Tanh,
        AS_OP_Dropout,
        AS_OP_Squeeze,
        AS_OP_Unsqueeze,
        AS_OP_QuantizeLinear,
        AS_OP_DequantizeLinear,
        AS_OP_TFL_RESHAPE,
    };

    for (size_t i = 0; i < AS_COUNT_OF(ops); i++)
        if (ops[i] == op)
            return true;
    return false;
}

static bool push(struct path *p, const struct as_graph *graph, const struct as_node *node)
{
    if (p->n == MAX_PATH || p->steps++ >= MAX_STEPS)
        return false;
    p->graphs[p->n] = graph;
    p->nodes[p->n++] = node;
    return true;
}

/* Depth is limited by MAX_PATH and the whole by MAX_STEPS, so this may call itself. */
static const struct as_node *climb_to_scores(const struct search *s, uint32_t id, struct path *p)
{
    const struct as_node *node = producer(s, id);

    if (!node || s->model->values[id].data)
        return NULL;
    if (is_product(node))
        return is_of_activations(s, node) ? node : NULL;
    if (!lies_before_softmax(node->op) || !push(p, s->model->values[id].graph, node))
        return NULL;
    for (uint32_t i = 0; i < node->n_inputs && i < MAX_INPUTS; i++) {
        const struct as_node *found =
            node->inputs[i] == AS_NONE ? NULL : climb_to_scores(s, node->inputs[i], p);

        if (found)
            return found;
    }
    p->n--;
    return NULL;
}

static const struct use *next_use(const struct search *s, const struct use *use)
{
    return use->next == AS_NONE ? NULL : &s->uses[use->next];
}

static const struct use *uses_of(const struct search *s, uint32_t id)
{
    return s->first_use[id] == AS_NONE ? NULL : &s->uses[s->first_use[id]];
}

/* The product with the values; `projects` looks for one with weights instead. */
static const struct use *descend(const struct search *s, uint32_t id, struct path *p, bool projects)
{
    for (const struct use *u = uses_of(s, id); u; u = next_use(s, u)) {
        const struct as_node *node = u->node;
        const struct use *found;
        bool passes = lies_before_softmax(node->op) || node->op == AS_OP_Transpose ||
                      node->op == AS_OP_Flatten;

        if (projects &&
            (node->op == AS_OP_Gemm || (is_product(node) && !is_of_activations(s, node))))
            return u;
        if (is_product(node) && !projects)
            return is_of_activations(s, node) ? u : NULL;
        if (!passes || node->n_outputs == 0 || node->outputs[0] == AS_NONE ||
            !push(p, u->graph, node))
            continue;
        found = descend(s, node->outputs[0], p, projects);
        if (found)
            return found;
        p->n--;
    }
    return NULL;
}

/* ---- sizes ---- */

static bool known_dims(const struct search *s, uint32_t id, struct as_dims *dims)
{
    const struct as_value *value = value_at(s, id);

    return value && as_type_is_static(&value->type) && as_type_dims(&value->type, dims);
}

/* Moves that only lead from one shape to another. */
static bool only_moves(enum as_op op)
{
    return op == AS_OP_Transpose || op == AS_OP_Reshape || op == AS_OP_Cast ||
           op == AS_OP_Identity || op == AS_OP_Mul || op == AS_OP_Div || op == AS_OP_Squeeze ||
           op == AS_OP_Unsqueeze || op == AS_OP_QuantizeLinear || op == AS_OP_DequantizeLinear;
}

/* The input of a node that carries on what it works on: the first that is no constant. */
static uint32_t carried(const struct search *s, const struct as_node *node)
{
    uint32_t fallback = AS_NONE;

    for (uint32_t i = 0; i < node->n_inputs && i < MAX_INPUTS; i++) {
        if (node->inputs[i] == AS_NONE || is_constant(s, node->inputs[i]))
            continue;
        if (producer(s, node->inputs[i]))
            return node->inputs[i];
        if (fallback == AS_NONE)
            fallback = node->inputs[i]; /* an input of the graph, such as a cache */
    }
    return fallback;
}

/* Splits `lead` into batch and heads by a tensor of four dimensions that has both. */
static bool split_lead(struct as_attention *a, const struct as_dims *dims, uint64_t lead)
{
    if (dims->rank != 4 || dims->at[0] <= 0 ||
        as_sat_mul((uint64_t)dims->at[0], (uint64_t)dims->at[1]) != lead)
        return false;
    a->batch = (uint64_t)dims->at[0];
    a->heads = (uint64_t)dims->at[1];
    return true;
}

static void size_heads(const struct search *s, const struct block *b, const struct as_dims *scores,
                       struct as_attention *a)
{
    uint64_t lead = as_cost_volume(scores, 0, scores->rank - 2);
    struct as_dims dims;
    uint32_t id = b->scores->inputs[0];

    if (scores->rank > 4) {
        struct as_dims keys;
        bool shared = known_dims(s, b->scores->inputs[1], &keys) && keys.rank == scores->rank &&
                      keys.at[keys.rank - 3] == 1;

        a->heads = as_cost_volume(scores, scores->rank - (shared ? 4 : 3), scores->rank - 2);
        a->batch = a->heads ? lead / a->heads : 0;
        return;
    }
    if (split_lead(a, scores, lead))
        return;
    for (int i = 0; i < b->up.n; i++)
        if (known_dims(s, b->up.nodes[i]->outputs[0], &dims) && split_lead(a, &dims, lead))
            return;
    for (int hop = 0; hop < 6; hop++) {
        const struct as_node *node = producer(s, id);

        if (!node || !only_moves(node->op))
            break;
        id = carried(s, node);
        if (known_dims(s, id, &dims) && split_lead(a, &dims, lead))
            return;
    }
    a->batch = lead % s->costs->batch == 0 && s->costs->batch <= lead ? s->costs->batch : 1;
    a->heads = lead / a->batch;
}

/* How often each head of keys was repeated on its way to the product. */
static uint64_t repeats(const struct search *s, uint32_t id)
{
    for (int hop = 0; hop < MAX_PATH; hop++) {
        const struct as_node *node = producer(s, id);
        uint64_t in, out;
        uint32_t from;

        if (!node)
            return 1;
        from = node->n_inputs > 0 ? node->inputs[0] : AS_NONE;
        if (from == AS_NONE)
            return 1;
        if (node->op == AS_OP_Expand || node->op == AS_OP_Tile || node->op == AS_OP_Concat) {
            bool same = node->n_inputs <= MAX_INPUTS;

            for (uint32_t i = 1; i < node->n_inputs && same && node->op == AS_OP_Concat; i++)
                same &= node->inputs[i] == from;
            if (!same || !as_type_elems(&s->model->values[from].type, &in) ||
                !as_type_elems(&s->model->values[node->outputs[0]].type, &out) || in == 0)
                return 1;
            if (out / in > 1)
                return out / in;
        } else if (!only_moves(node->op)) {
            return 1;
        }
        id = carried(s, node);
        if (id == AS_NONE)
            return 1;
    }
    return 1;
}

static void size_kv_heads(const struct search *s, const struct block *b, struct as_attention *a)
{
    uint64_t n = 0,
             all = as_sat_mul(as_sat_mul(a->batch, a->heads), as_sat_mul(a->keys, a->head_dim));
    uint64_t times = repeats(s, b->scores->inputs[1]);

    /* Fewer heads may also be broadcast by the product itself. */
    if (times == 1 && as_type_elems(&s->model->values[b->scores->inputs[1]].type, &n) && n > 0 &&
        n < all && all % n == 0)
        times = all / n;
    a->kv_heads = times > 0 && a->heads % times == 0 ? a->heads / times : a->heads;
}

static bool size_block(const struct search *s, const struct block *b, struct as_attention *a)
{
    const struct as_cost_row *scores_row = row_making(s, b->scores);
    const struct as_cost_row *values_row = row_making(s, b->values);
    struct as_dims scores;
    uint64_t n_scores, n_values;

    if (!scores_row || !values_row || scores_row->state != AS_COST_KNOWN ||
        values_row->state != AS_COST_KNOWN || !known_dims(s, b->scores->outputs[0], &scores) ||
        scores.rank < 2 || !as_type_elems(&s->model->values[b->values->outputs[0]].type, &n_values))
        return false;
    n_scores = as_cost_volume(&scores, 0, scores.rank);
    a->queries = (uint64_t)scores.at[scores.rank - 2];
    a->keys = (uint64_t)scores.at[scores.rank - 1];
    if (n_scores == 0 || n_values == 0)
        return false;
    size_heads(s, b, &scores, a);
    if (a->heads == 0 || a->batch == 0)
        return false;
    a->head_dim = scores_row->forward.macs / n_scores;
    a->value_dim = n_values / (n_scores / a->keys);
    size_kv_heads(s, b, a);
    a->macs = as_sat_add(scores_row->forward.macs, values_row->forward.macs);
    return true;
}

/* ---- projections ---- */

static bool leads_to_projection(enum as_op op)
{
    static const enum as_op ops[] = {
        AS_OP_Add,
        AS_OP_Sub,
        AS_OP_Split,
        AS_OP_Slice,
        AS_OP_Gather,
        AS_OP_Expand,
        AS_OP_Tile,
        AS_OP_Concat,
        AS_OP_Neg,
        AS_OP_Dropout,
        AS_OP_MS_RotaryEmbedding,
        AS_OP_LayerNormalization,
        AS_OP_SimplifiedLayerNormalization,
    };

    for (size_t i = 0; i < AS_COUNT_OF(ops); i++)
        if (ops[i] == op)
            return true;
    return only_moves(op);
}

static const struct as_node *projection_before(const struct search *s, uint32_t id)
{
    for (int hop = 0; hop < MAX_CLIMB && id != AS_NONE; hop++) {
        const struct as_node *node = producer(s, id);

        if (!node)
            return NULL;
        if (node->op == AS_OP_Gemm || node->op == AS_OP_Conv ||
            (is_product(node) && !is_of_activations(s, node)))
            return node;
        if (!leads_to_projection(node->op))
            return NULL;
        id = carried(s, node);
    }
    return NULL;
}

/* What a projection works on, before anything that only moves it. */
static uint32_t source_of(const struct search *s, const struct as_node *projection)
{
    uint32_t id = carried(s, projection);

    for (int hop = 0; hop < 8 && id != AS_NONE; hop++) {
        const struct as_node *node = producer(s, id);

        if (!node || !only_moves(node->op))
            break;
        id = carried(s, node);
    }
    return id;
}

/* Those before queries, keys and values, and the one behind; a product that makes several of them
 * counts once. */
static void find_projections(const struct search *s, const uint32_t qkv[3], uint32_t result,
                             struct as_attention *a)
{
    const struct as_node *found[4] = {NULL};
    const struct use *out;
    struct path p = {.n = 0};

    for (int i = 0; i < 3; i++)
        found[i] = projection_before(s, qkv[i]);
    out = descend(s, result, &p, true);
    found[3] = out ? out->node : NULL;
    for (int i = 0; i < 4; i++) {
        const struct as_cost_row *row = found[i] ? row_making(s, found[i]) : NULL;
        bool again = false;

        for (int k = 0; k < i; k++)
            again |= found[k] == found[i];
        if (row && !again)
            a->projection_macs = as_sat_add(a->projection_macs, row->forward.macs);
    }
    if (found[0] && found[1] && found[0] != found[1])
        a->cross = source_of(s, found[0]) != source_of(s, found[1]);
}

static void find_block_projections(const struct search *s, const struct block *b,
                                   struct as_attention *a)
{
    uint32_t other = b->values->inputs[0];

    /* Of the product with V the operand that is not the softmax. */
    if (producer(s, other) == b->softmax ||
        (b->down.n > 0 && producer(s, other) == b->down.nodes[b->down.n - 1]))
        other = b->values->inputs[1];
    find_projections(s, (const uint32_t[3]){b->scores->inputs[0], b->scores->inputs[1], other},
                     b->values->outputs[0], a);
}

/* Of one node with three inputs; a node with the projection inside has counted it already. */
static void find_node_projections(const struct search *s, const struct as_node *node,
                                  struct as_attention *a)
{
    uint32_t qkv[3];

    if (a->projection_macs || node->n_inputs < 3 || node->n_outputs < 1)
        return;
    for (int i = 0; i < 3; i++)
        qkv[i] = node->inputs[i] == AS_NONE ? node->inputs[0] : node->inputs[i];
    if (qkv[0] != AS_NONE && node->outputs[0] != AS_NONE)
        find_projections(s, qkv, node->outputs[0], a);
}

/* ---- causality, names, rows ---- */

static bool on_path(const struct block *b, const struct search *s, uint32_t id)
{
    const struct as_node *node = producer(s, id);

    if (node == b->scores)
        return true;
    for (int i = 0; i < b->up.n; i++)
        if (b->up.nodes[i] == node)
            return true;
    return false;
}

/* The mask is what joins the path from QK' to the softmax from aside. */
static bool is_causal(const struct search *s, const struct block *b)
{
    if (b->softmax->op == AS_OP_MS_BiasSoftmax && b->softmax->n_inputs > 1 &&
        b->softmax->inputs[1] != AS_NONE && as_mask_is_causal(s->model, b->softmax->inputs[1]))
        return true;
    for (int i = 0; i < b->up.n; i++) {
        const struct as_node *node = b->up.nodes[i];

        for (uint32_t k = 0; k < node->n_inputs && k < MAX_INPUTS; k++)
            if (node->inputs[k] != AS_NONE && !on_path(b, s, node->inputs[k]) &&
                as_mask_is_causal(s->model, node->inputs[k]))
                return true;
    }
    return false;
}

static const char *common_scope(struct as_arena *arena, const struct block *b)
{
    const char *names[3] = {b->softmax->name, b->scores->name, b->values->name};
    size_t n = 0, cut = 0;
    const char *scope;

    while (names[0][n] && names[0][n] == names[1][n] && names[0][n] == names[2][n]) {
        n++;
        if (names[0][n - 1] == '/' || names[0][n - 1] == '.')
            cut = n - 1;
    }
    scope = as_arena_text(arena, names[0], cut);
    return scope ? scope : "";
}

static void mark(const struct search *s, const struct as_node *node, uint32_t index)
{
    uint32_t row = node->n_outputs > 0 && node->outputs[0] != AS_NONE ? s->row_of[node->outputs[0]]
                                                                      : (uint32_t)AS_NONE;

    if (row != AS_NONE)
        s->costs->rows[row].attention = index;
}

static void mark_block(const struct search *s, const struct block *b, uint32_t index)
{
    mark(s, b->softmax, index);
    mark(s, b->scores, index);
    mark(s, b->values, index);
    for (int i = 0; i < b->up.n; i++)
        mark(s, b->up.nodes[i], index);
    for (int i = 0; i < b->down.n; i++)
        mark(s, b->down.nodes[i], index);
}

static bool is_softmax(const struct as_node *node)
{
    return (node->op == AS_OP_Softmax || node->op == AS_OP_MS_BiasSoftmax) && node->n_inputs > 0 &&
           node->inputs[0] != AS_NONE && node->n_outputs > 0 && node->outputs[0] != AS_NONE;
}

static bool softmax_is_last(const struct search *s, const struct as_node *node)
{
    const struct as_type *type = &s->model->values[node->outputs[0]].type;
    int64_t usual =
        node->op == AS_OP_Softmax && s->model->opset > 0 && s->model->opset < 13 ? 1 : -1;
    int64_t axis = as_node_int(node, "axis", usual);

    return type->kind == AS_VALUE_TENSOR && type->rank > 0 &&
           (axis == -1 || axis == type->rank - 1);
}

static void try_softmax(const struct search *s, const struct as_cost_row *row)
{
    struct block b = {.graph = row->graph, .softmax = row->node};
    struct as_costs *costs = s->costs;
    struct as_attention a = {.scope = ""};
    const struct use *values;

    if (!softmax_is_last(s, row->node))
        return;
    b.scores = climb_to_scores(s, row->node->inputs[0], &b.up);
    values = b.scores ? descend(s, row->node->outputs[0], &b.down, false) : NULL;
    if (!values)
        return;
    b.values = values->node;
    if (!size_block(s, &b, &a))
        return;
    a.name = as_node_label(row->graph, row->node);
    a.scope = common_scope(&costs->arena, &b);
    find_block_projections(s, &b, &a);
    a.causal = !a.cross && is_causal(s, &b);
    a.causal_macs = as_attention_causal_macs(&a);
    mark_block(s, &b, (uint32_t)costs->n_attentions);
    costs->attentions[costs->n_attentions++] = a;
}

static void try_node(const struct search *s, struct as_cost_row *row)
{
    struct as_costs *costs = s->costs;
    struct as_attention a = {0};

    if (is_softmax(row->node)) {
        try_softmax(s, row);
    } else if (row->state == AS_COST_KNOWN && as_attention_of_node(row->graph, row->node, &a)) {
        find_node_projections(s, row->node, &a);
        row->attention = (uint32_t)costs->n_attentions;
        costs->attentions[costs->n_attentions++] = a;
    }
}

/* Who uses each value, in the order of execution. */
static bool list_uses(struct search *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->costs->n_rows; i++)
        n += s->costs->rows[i].node->n_inputs;
    s->uses = as_alloc_zero(n + 1, sizeof *s->uses);
    s->first_use = as_alloc_zero((size_t)s->model->n_values + 1, sizeof *s->first_use);
    if (!s->uses || !s->first_use || n >= AS_NONE)
        return false;
    memset(s->first_use, 0xff, ((size_t)s->model->n_values + 1) * sizeof *s->first_use);
    for (size_t i = s->costs->n_rows; i-- > 0;) {
        const struct as_cost_row *row = &s->costs->rows[i];

        for (uint32_t k = row->node->n_inputs; k-- > 0;) {
            uint32_t id = row->node->inputs[k];

            if (id == AS_NONE)
                continue;
            s->uses[s->n_uses] = (struct use){row->graph, row->node, s->first_use[id]};
            s->first_use[id] = s->n_uses++;
        }
    }
    return true;
}

int as_attentions_find(struct as_costs *costs, const struct as_model *model, const uint32_t *row_of,
                       struct assay_error *err)
{
    struct search s = {.costs = costs, .model = model, .row_of = row_of};
    size_t n = 0;
    int rc = ASSAY_OK;

    for (size_t i = 0; i < costs->n_rows; i++) {
        const struct as_op_cost *cost = as_op_cost_find(costs->rows[i].node->op);

        n += is_softmax(costs->rows[i].node) || (cost && cost->rule == as_cost_attention);
    }
    if (n == 0)
        return ASSAY_OK;
    costs->attentions = as_arena_zero(&costs->arena, n, sizeof *costs->attentions);
    if (!costs->attentions || !list_uses(&s)) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < costs->n_rows; i++)
        try_node(&s, &costs->rows[i]);
out:
    as_free(s.uses);
    as_free(s.first_use);
    return rc;
}
