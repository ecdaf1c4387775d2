/* model/patterns/pattern_norm.c - normalizations along the last axis that exporters spell out:
 * mean, difference, square, mean, root, quotient. */
#include "model/patterns/patterns.h"

static bool reduces_last(const struct as_pattern_graph *g, const struct as_pattern_op *op)
{
    const struct as_type *type = g->type(g->of, op->in[0]);
    struct as_dims list;
    struct as_ints axes;

    if (op->n_in > 1 && op->in[1] != AS_NONE) {
        if (!g->list(g->of, op->in[1], &list))
            return false;
        axes = (struct as_ints){(size_t)list.rank, list.at};
    } else if (!as_node_ints(op->spec, "axes", &axes)) {
        return false;
    }
    return type && type->rank > 0 && axes.n == 1 &&
           (axes.at[0] == -1 || axes.at[0] == type->rank - 1) &&
           as_node_int(op->spec, "keepdims", 1) == 1;
}

/* What `value` is the mean of along its last axis; AS_NONE: it is none. */
static uint32_t mean_of(const struct as_pattern_graph *g, uint32_t value,
                        struct as_pattern_match *m)
{
    struct as_pattern_op op;

    if (!as_pattern_made_by(g, value, AS_OP_ReduceMean, &op) || op.in[0] == AS_NONE ||
        !reduces_last(g, &op) || !as_pattern_add(m, &op))
        return AS_NONE;
    return op.in[0];
}

static uint32_t square_of(const struct as_pattern_graph *g, uint32_t value,
                          struct as_pattern_match *m)
{
    struct as_pattern_op op;

    if (value == AS_NONE || !g->maker(g->of, value, &op) || op.n_in != 2 || !as_pattern_add(m, &op))
        return AS_NONE;
    if (op.op == AS_OP_Mul && op.in[0] == op.in[1])
        return op.in[0];
    return op.op == AS_OP_Pow && as_pattern_is_number(g, op.in[1], 2) ? op.in[0] : AS_NONE;
}

/* Whether `value` is x less its mean; fills both. */
static bool is_difference(const struct as_pattern_graph *g, uint32_t value,
                          struct as_pattern_match *m, struct as_norm_pattern *norm)
{
    struct as_pattern_op op;

    if (!as_pattern_made_by(g, value, AS_OP_Sub, &op) || op.n_in != 2 ||
        mean_of(g, op.in[1], m) != op.in[0])
        return false;
    norm->x = op.in[0];
    norm->mean = op.in[1];
    return as_pattern_add(m, &op);
}

/* Whether `value` is sqrt(mean(square) + eps), of x or of its difference from the mean. */
static bool is_deviation(const struct as_pattern_graph *g, uint32_t value,
                         struct as_pattern_match *m, struct as_norm_pattern *norm)
{
    struct as_pattern_op root, add;
    uint32_t variance = AS_NONE, squared;

    if (!as_pattern_made_by(g, value, AS_OP_Sqrt, &root) ||
        !as_pattern_made_by(g, root.in[0], AS_OP_Add, &add) || add.n_in != 2 ||
        !as_pattern_add(m, &root) || !as_pattern_add(m, &add))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (g->scalar(g->of, add.in[i], &norm->eps))
            variance = add.in[1 - i];
    squared = square_of(g, mean_of(g, variance, m), m);
    if (squared == AS_NONE || norm->eps < 0)
        return false;
    if (!is_difference(g, squared, m, norm)) {
        norm->x = squared;
        norm->mean = AS_NONE;
    }
    return true;
}

/* Whether `value` is one over such a deviation. */
static bool is_inverse(const struct as_pattern_graph *g, uint32_t value, struct as_pattern_match *m,
                       struct as_norm_pattern *norm)
{
    struct as_pattern_op op;

    if (value == AS_NONE || !g->maker(g->of, value, &op) || op.n_in == 0 || !as_pattern_add(m, &op))
        return false;
    if (op.op == AS_OP_Reciprocal)
        return is_deviation(g, op.in[0], m, norm);
    return op.op == AS_OP_Div && op.n_in == 2 && as_pattern_is_number(g, op.in[0], 1) &&
           is_deviation(g, op.in[1], m, norm);
}

/* What is divided must be x less its mean, or x itself without. */
static bool is_numerator(const struct as_pattern_graph *g, uint32_t value,
                         struct as_pattern_match *m, const struct as_norm_pattern *norm)
{
    struct as_norm_pattern other;

    if (norm->mean == AS_NONE)
        return value == norm->x;
    return is_difference(g, value, m, &other) && other.x == norm->x;
}

static bool match_quotient(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                           struct as_pattern_match *m, struct as_norm_pattern *norm)
{
    if (last->op == AS_OP_Div) {
        m->n = 0;
        return is_deviation(g, last->in[1], m, norm) && is_numerator(g, last->in[0], m, norm);
    }
    for (uint32_t i = 0; last->op == AS_OP_Mul && i < 2; i++) {
        m->n = 0;
        if (is_inverse(g, last->in[i], m, norm) && is_numerator(g, last->in[1 - i], m, norm))
            return true;
    }
    return false;
}

/* k, which is scale / deviation, and shift - mean * k behind it. */
static bool match_factor(const struct as_pattern_graph *g, uint32_t x, uint32_t k,
                         const struct as_pattern_op *rest, struct as_pattern_match *m,
                         struct as_norm_pattern *norm)
{
    struct as_pattern_op factor, less;
    struct as_pattern_match start;

    if (!as_pattern_made_by(g, k, AS_OP_Mul, &factor) || factor.n_in != 2 ||
        !as_pattern_made_by(g, rest->in[1], AS_OP_Mul, &less) || !as_pattern_add(m, &less) ||
        !as_pattern_add(m, &factor))
        return false;
    start = *m;
    for (uint32_t s = 0; s < 2; s++) {
        *m = start;
        if (is_inverse(g, factor.in[1 - s], m, norm) && norm->x == x && norm->mean != AS_NONE &&
            as_pattern_other(&less, k) == norm->mean && as_pattern_is_vector(g, factor.in[s], x) &&
            as_pattern_is_vector(g, rest->in[0], x)) {
            norm->scale = factor.in[s];
            norm->shift = rest->in[0];
            return true;
        }
    }
    return false;
}

/* TensorFlow's way: x * k + (shift - mean * k), with k = scale / deviation. */
static bool match_batchnorm_form(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                                 struct as_pattern_match *m, struct as_norm_pattern *norm)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct as_pattern_op main, rest;

        if (!as_pattern_made_by(g, last->in[i], AS_OP_Mul, &main) || main.n_in != 2 ||
            !as_pattern_made_by(g, last->in[1 - i], AS_OP_Sub, &rest) || rest.n_in != 2)
            continue;
        for (uint32_t j = 0; j < 2; j++) {
            m->n = 0;
            if (as_pattern_add(m, &main) && as_pattern_add(m, &rest) &&
                match_factor(g, main.in[j], main.in[1 - j], &rest, m, norm))
                return true;
        }
    }
    return false;
}

bool as_pattern_norm(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                     struct as_pattern_match *m, struct as_norm_pattern *norm)
{
    bool found;

    *norm = (struct as_norm_pattern){.eps = -1, .scale = AS_NONE, .shift = AS_NONE};
    m->n = 0;
    if (last->n_in != 2)
        return false;
    found = last->op == AS_OP_Add ? match_batchnorm_form(g, last, m, norm)
                                  : match_quotient(g, last, m, norm);
    return found && as_pattern_closed(g, m, last) && as_pattern_same_type(g, norm->x, last->out);
}
