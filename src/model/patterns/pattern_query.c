/* model/patterns/pattern_query.c - what the patterns ask again and again of a graph. */
#include <math.h>

#include "model/patterns/patterns.h"

bool as_pattern_near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b));
}

bool as_pattern_add(struct as_pattern_match *m, const struct as_pattern_op *op)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->parts[i].id == op->id)
            return true;
    if (m->n == AS_PATTERN_PARTS)
        return false;
    m->parts[m->n++] = *op;
    return true;
}

static uint32_t reads(const struct as_pattern_op *op, uint32_t value)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op->n_in; i++)
        n += op->in[i] == value;
    return n;
}

bool as_pattern_closed(const struct as_pattern_graph *g, const struct as_pattern_match *m,
                       const struct as_pattern_op *last)
{
    for (unsigned i = 0; i < m->n; i++) {
        uint32_t value = m->parts[i].out, n = reads(last, value);

        for (unsigned j = 0; j < m->n; j++)
            n += reads(&m->parts[j], value);
        if (g->n_uses(g->of, value) != n)
            return false;
    }
    return true;
}

bool as_pattern_made_by(const struct as_pattern_graph *g, uint32_t value, enum as_op wanted,
                        struct as_pattern_op *op)
{
    return value != AS_NONE && g->maker(g->of, value, op) && op->op == wanted && op->n_in > 0;
}

bool as_pattern_inner(const struct as_pattern_graph *g, uint32_t value, struct as_pattern_op *op)
{
    return value != AS_NONE && g->n_uses(g->of, value) == 1 && g->maker(g->of, value, op);
}

bool as_pattern_is_number(const struct as_pattern_graph *g, uint32_t value, double wanted)
{
    double x;

    return g->scalar(g->of, value, &x) && as_pattern_near(x, wanted);
}

uint32_t as_pattern_other(const struct as_pattern_op *op, uint32_t value)
{
    if (op->n_in != 2 || (op->in[0] != value && op->in[1] != value))
        return AS_NONE;
    return op->in[op->in[0] == value];
}

static bool bound(const struct as_pattern_graph *g, const struct as_pattern_op *clip, uint32_t i,
                  const char *name, double *out)
{
    if (clip->opset < 11) {
        *out = as_node_float(clip->spec, name, *out);
        return true;
    }
    return i >= clip->n_in || clip->in[i] == AS_NONE || g->scalar(g->of, clip->in[i], out);
}

bool as_pattern_clip_bounds(const struct as_pattern_graph *g, const struct as_pattern_op *clip,
                            double *low, double *high)
{
    *low = -(double)INFINITY;
    *high = (double)INFINITY;
    return bound(g, clip, 1, "min", low) && bound(g, clip, 2, "max", high);
}

bool as_pattern_same_type(const struct as_pattern_graph *g, uint32_t a, uint32_t b)
{
    const struct as_type *one = g->type(g->of, a), *other = g->type(g->of, b);

    return one && other && as_type_equal(one, other);
}

bool as_pattern_is_vector(const struct as_pattern_graph *g, uint32_t value, uint32_t like)
{
    const struct as_type *type = g->type(g->of, value), *x = g->type(g->of, like);

    return type && x && x->rank > 0 && type->rank == 1 && type->dims[0] == x->dims[x->rank - 1] &&
           type->dtype == x->dtype;
}
