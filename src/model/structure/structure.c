/* model/structure/structure.c - nodes of a graph that cost time and compute nothing new. Only the
 * main graph is looked at; readers in bodies count as readers. */
#include "model/structure/structure.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define MAX_RANK    16
#define MAX_BETWEEN 64 /* nodes between two Transposes */

static const char *const rule_name[] = {
#define X(name, rule) rule,
    AS_STRUCTURES(X)
#undef X
};

const char *as_structure_rule(enum as_structure_kind kind)
{
    return (unsigned)kind < AS_STRUCTURE_COUNT ? rule_name[kind] : "";
}

/* Who reads each value of the main graph. */
struct search {
    const struct as_model *model;
    const struct as_graph *graph;
    struct as_arena *arena;
    uint32_t *n_readers; /* by value, those in bodies too; an output of the graph has one more */
    uint32_t *reader;    /* by value: the last node of the main graph that reads it */
    bool *listed[AS_STRUCTURE_COUNT]; /* by node */
    struct as_structure found[AS_STRUCTURE_COUNT];
};

static void count_readers(struct search *s, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        for (uint32_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == AS_NONE)
                continue;
            s->n_readers[node->inputs[k]]++;
            if (graph == s->graph)
                s->reader[node->inputs[k]] = i;
        }
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] != AS_NONE)
            s->n_readers[graph->outputs[i]] += 2; /* whatever else reads it, it must be made */
}

/* Bodies are found by their owners: a stack of graphs, as deep as files may nest them. */
static void count_bodies(struct search *s, const struct as_graph *outer)
{
    struct {
        const struct as_graph *graph;
        uint32_t node, attr;
    } stack[AS_MAX_GRAPH_DEPTH + 1];
    size_t depth = 1;

    stack[0].graph = outer;
    stack[0].node = stack[0].attr = 0;
    while (depth > 0) {
        const struct as_graph *graph = stack[depth - 1].graph;
        const struct as_node *node = NULL;

        if (stack[depth - 1].node < graph->n_nodes)
            node = &graph->nodes[stack[depth - 1].node];
        if (!node) {
            depth--;
        } else if (stack[depth - 1].attr >= node->n_attrs) {
            stack[depth - 1].node++;
            stack[depth - 1].attr = 0;
        } else {
            const struct as_attr *attr = &node->attrs[stack[depth - 1].attr++];

            if (attr->kind != AS_ATTR_GRAPH || !attr->graph || depth > AS_MAX_GRAPH_DEPTH)
                continue;
            count_readers(s, attr->graph);
            stack[depth].graph = attr->graph;
            stack[depth].node = stack[depth].attr = 0;
            depth++;
        }
    }
}

/* The one node of the main graph that reads it; NULL: none, or several. */
static const struct as_node *only_reader(const struct search *s, uint32_t value)
{
    return value != AS_NONE && s->n_readers[value] == 1 && s->reader[value] != AS_NONE
               ? &s->graph->nodes[s->reader[value]]
               : NULL;
}

static const struct as_node *maker(const struct search *s, uint32_t value)
{
    const struct as_value *v = value == AS_NONE ? NULL : &s->model->values[value];

    return v && v->graph == s->graph && v->producer != AS_NONE ? &s->graph->nodes[v->producer]
                                                               : NULL;
}

static bool is_constant(const struct search *s, uint32_t value)
{
    const struct as_value *v = value == AS_NONE ? NULL : &s->model->values[value];

    return v && (v->data || v->is_initializer);
}

static bool is_listed(const struct search *s, enum as_structure_kind kind,
                      const struct as_node *node)
{
    return s->listed[kind] && s->listed[kind][node - s->graph->nodes];
}

/* The list has a place for every node of the graph. */
static int list_node(struct search *s, enum as_structure_kind kind, const struct as_node *node,
                     struct assay_error *err)
{
    struct as_structure *found = &s->found[kind];
    size_t at = (size_t)(node - s->graph->nodes);

    if (!s->listed[kind]) {
        s->listed[kind] = as_arena_zero(s->arena, s->graph->n_nodes + 1, sizeof(bool));
        found->nodes = as_arena_zero(s->arena, s->graph->n_nodes + 1, sizeof *found->nodes);
        if (!s->listed[kind] || !found->nodes)
            return as_fail_nomem(err);
    }
    if (!s->listed[kind][at])
        found->nodes[found->n_nodes++] = as_node_label(s->graph, node);
    s->listed[kind][at] = true;
    return ASSAY_OK;
}

static int add_place(struct search *s, enum as_structure_kind kind, const struct as_node *first,
                     const struct as_node *second, struct assay_error *err)
{
    struct as_structure *found = &s->found[kind];
    char text[2 * 60 + 8];

    if (found->n_places++ > 0)
        return ASSAY_OK;
    (void)snprintf(text, sizeof text, "%.60s and %.60s", as_node_label(s->graph, first),
                   as_node_label(s->graph, second));
    found->example = as_arena_text(s->arena, text, strlen(text));
    return found->example ? ASSAY_OK : as_fail_nomem(err);
}

/* ---- Transposes ---- */

/* What works on each element alone, with a constant of one element at most: the order of
 * dimensions passes through. */
static bool keeps_order(const struct search *s, const struct as_node *node, uint32_t value)
{
    static const enum as_op unary[] = {
        AS_OP_Relu, AS_OP_Sigmoid, AS_OP_Tanh,      AS_OP_Gelu, AS_OP_Erf,         AS_OP_LeakyRelu,
        AS_OP_Elu,  AS_OP_Clip,    AS_OP_HardSwish, AS_OP_Mish, AS_OP_Identity,    AS_OP_Cast,
        AS_OP_Neg,  AS_OP_Abs,     AS_OP_Exp,       AS_OP_Sqrt, AS_OP_HardSigmoid,
    };
    static const enum as_op binary[] = {AS_OP_Add, AS_OP_Sub, AS_OP_Mul, AS_OP_Div};

    for (size_t i = 0; i < AS_COUNT_OF(unary); i++)
        if (node->op == unary[i])
            return node->n_inputs > 0 && node->inputs[0] == value;
    for (size_t i = 0; i < AS_COUNT_OF(binary); i++) {
        uint32_t other = AS_NONE;
        uint64_t n = 0;

        if (node->op != binary[i] || node->n_inputs != 2)
            continue;
        other = node->inputs[0] == value ? node->inputs[1] : node->inputs[0];
        if (is_constant(s, other))
            return as_type_elems(&s->model->values[other].type, &n) && n == 1;
    }
    return false;
}

/* Whether the second undoes the first. A perm that is left out turns the order around. */
static bool undoes(const struct as_node *first, const struct as_node *second)
{
    struct as_ints a, b;
    bool has_a = as_node_ints(first, "perm", &a), has_b = as_node_ints(second, "perm", &b);
    size_t rank = has_a ? a.n : has_b ? b.n : 0;

    if (!has_a && !has_b)
        return true;
    if (rank > MAX_RANK || (has_a && has_b && a.n != b.n))
        return false;
    for (size_t i = 0; i < rank; i++) {
        int64_t in_first = has_b ? b.at[i] : (int64_t)(rank - 1 - i), axis;

        if (in_first < 0 || (uint64_t)in_first >= rank)
            return false;
        axis = has_a ? a.at[in_first] : (int64_t)rank - 1 - in_first;
        if (axis != (int64_t)i)
            return false;
    }
    return true;
}

/* Whether the order of dimensions is the same after both: then the first alone does nothing. */
static bool changes_order(const struct as_node *node)
{
    struct as_ints perm;

    if (!as_node_ints(node, "perm", &perm))
        return true;
    for (size_t i = 0; i < perm.n; i++)
        if (perm.at[i] != (int64_t)i)
            return true;
    return false;
}

/* A Transpose, elementwise work that one after the other reads, and the Transpose that undoes it.
 */
static int look_at_transpose(struct search *s, const struct as_node *first, struct assay_error *err)
{
    uint32_t value = first->n_outputs ? first->outputs[0] : AS_NONE;
    int rc;

    if (!changes_order(first) || is_listed(s, AS_STRUCTURE_TRANSPOSE_PAIR, first))
        return ASSAY_OK; /* one of a pair already */
    for (unsigned i = 0; i < MAX_BETWEEN; i++) {
        const struct as_node *node = only_reader(s, value);

        if (!node)
            return ASSAY_OK;
        if (node->op == AS_OP_Transpose) {
            if (!undoes(first, node))
                return ASSAY_OK;
            rc = add_place(s, AS_STRUCTURE_TRANSPOSE_PAIR, first, node, err);
            rc = rc < 0 ? rc : list_node(s, AS_STRUCTURE_TRANSPOSE_PAIR, first, err);
            return rc < 0 ? rc : list_node(s, AS_STRUCTURE_TRANSPOSE_PAIR, node, err);
        }
        if (node->n_outputs < 1 || !keeps_order(s, node, value))
            return ASSAY_OK;
        value = node->outputs[0];
    }
    return ASSAY_OK;
}

/* ---- Casts ---- */

/* A Cast of what a Cast made for it alone: one of the two could go. */
static int look_at_cast(struct search *s, const struct as_node *node, struct assay_error *err)
{
    const struct as_node *before = node->n_inputs ? maker(s, node->inputs[0]) : NULL;
    int rc;

    if (!before || before->op != AS_OP_Cast)
        return ASSAY_OK;
    rc = add_place(s, AS_STRUCTURE_CAST_CHAIN, before, node, err);
    if (rc == ASSAY_OK && only_reader(s, before->outputs[0]))
        rc = list_node(s, AS_STRUCTURE_CAST_CHAIN, before, err);
    return rc < 0 ? rc : list_node(s, AS_STRUCTURE_CAST_CHAIN, node, err);
}

/* ---- batch norms ---- */

/* Behind a convolution or GEMM that nobody else reads, with constants: it could be in the weights.
 */
static int look_at_batch_norm(struct search *s, const struct as_node *node, struct assay_error *err)
{
    const struct as_node *before = node->n_inputs >= 5 ? maker(s, node->inputs[0]) : NULL;
    int rc;

    if (!before ||
        (before->op != AS_OP_Conv && before->op != AS_OP_ConvTranspose &&
         before->op != AS_OP_Gemm) ||
        !only_reader(s, node->inputs[0]) || as_node_int(node, "training_mode", 0))
        return ASSAY_OK;
    for (uint32_t i = 1; i < 5; i++)
        if (!is_constant(s, node->inputs[i]))
            return ASSAY_OK;
    rc = add_place(s, AS_STRUCTURE_BATCH_NORM, before, node, err);
    return rc < 0 ? rc : list_node(s, AS_STRUCTURE_BATCH_NORM, node, err);
}

static int look(struct search *s, const struct as_node *node, struct assay_error *err)
{
    switch (node->op) {
    case AS_OP_Transpose:
        return look_at_transpose(s, node, err);
    case AS_OP_Cast:
        return look_at_cast(s, node, err);
    case AS_OP_BatchNormalization:
        return look_at_batch_norm(s, node, err);
    default:
        return ASSAY_OK;
    }
}

int as_structures_find(struct as_structure found[AS_STRUCTURE_COUNT], size_t *n_found,
                       const struct as_model *model, struct as_arena *arena,
                       struct assay_error *err)
{
    struct search s = {.model = model, .graph = model->main, .arena = arena};
    int rc = ASSAY_OK;

    *n_found = 0;
    if (!model->main)
        return ASSAY_OK;
    s.n_readers = as_alloc_zero(model->n_values + 1, sizeof *s.n_readers);
    s.reader = as_alloc_zero(model->n_values + 1, sizeof *s.reader);
    if (!s.n_readers || !s.reader) {
        rc = as_fail_nomem(err);
        goto out;
    }
    memset(s.reader, 0xff, model->n_values * sizeof *s.reader); /* AS_NONE */
    count_readers(&s, s.graph);
    count_bodies(&s, s.graph);
    for (uint32_t i = 0; i < s.graph->n_nodes && rc == ASSAY_OK; i++)
        rc = look(&s, &s.graph->nodes[i], err);
    for (int k = 0; k < AS_STRUCTURE_COUNT && rc == ASSAY_OK; k++)
        if (s.found[k].n_places > 0) {
            found[*n_found] = s.found[k];
            found[(*n_found)++].kind = (enum as_structure_kind)k;
        }
out:
    as_free(s.n_readers);
    as_free(s.reader);
    return rc;
}
