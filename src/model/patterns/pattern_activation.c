/* model/patterns/pattern_activation.c - activations that exporters spell out as products: SiLU,
 * HardSwish, Mish, and Gelu by erf or tanh. A product is taken apart into its numbers and tensors
 * first, so that the order in which it was written does not matter. */
#include <math.h>

#include "base/units.h"
#include "model/patterns/patterns.h"

enum { MAX_FACTORS = 8 };

struct product {
    double scale;
    uint32_t at[MAX_FACTORS];
    unsigned n;
};

static bool push(struct product *f, uint32_t value, unsigned times)
{
    for (; times > 0; times--) {
        if (f->n == MAX_FACTORS)
            return false;
        f->at[f->n++] = value;
    }
    return true;
}

/* Puts the factors of one operation in place of what it makes; false: it is not a product. */
static bool open_op(const struct as_pattern_graph *g, const struct as_pattern_op *op,
                    struct product *f)
{
    double x;

    if (op->n_in != 2 || f->n + 3 > MAX_FACTORS)
        return false;
    if (op->op == AS_OP_Mul)
        return push(f, op->in[0], 1) && push(f, op->in[1], 1);
    if (!g->scalar(g->of, op->in[1], &x))
        return false;
    if (op->op == AS_OP_Div && x != 0) {
        f->scale /= x;
        return push(f, op->in[0], 1);
    }
    return op->op == AS_OP_Pow && (x == 2 || x == 3) && push(f, op->in[0], (unsigned)x);
}

/* All factors of what `op` makes; operations that only it needs are opened and become parts. */
static bool take_apart(const struct as_pattern_graph *g, const struct as_pattern_op *op,
                       struct as_pattern_match *m, struct product *f)
{
    *f = (struct product){.scale = 1};
    if (!open_op(g, op, f))
        return false;
    for (unsigned i = 0; i < f->n;) {
        struct as_pattern_op inner;
        uint32_t value = f->at[i];
        double x;

        f->at[i] = f->at[--f->n];
        if (g->scalar(g->of, value, &x)) {
            f->scale *= x;
        } else if (as_pattern_inner(g, value, &inner) && open_op(g, &inner, f)) {
            if (!as_pattern_add(m, &inner))
                return false;
        } else { /* a tensor: stays, in front of those not looked at */
            if (f->n == MAX_FACTORS)
                return false;
            f->at[f->n++] = f->at[i];
            f->at[i++] = value;
        }
    }
    return true;
}

/* Whether `value` is x times `scale`. */
static bool is_scaled(const struct as_pattern_graph *g, uint32_t value, uint32_t x,
                      struct as_pattern_match *m, double *scale)
{
    struct as_pattern_op op;
    struct product f;

    *scale = 1;
    if (value == x)
        return true;
    if (!as_pattern_inner(g, value, &op) || !take_apart(g, &op, m, &f) || f.n != 1 || f.at[0] != x)
        return false;
    *scale = f.scale;
    return as_pattern_add(m, &op);
}

/* Whether `value` is `scale` times x to the power of `times`. */
static bool is_power(const struct as_pattern_graph *g, uint32_t value, uint32_t x,
                     struct as_pattern_match *m, unsigned times, double scale)
{
    struct as_pattern_op op;
    struct product f;

    if (!as_pattern_inner(g, value, &op) || !take_apart(g, &op, m, &f) || f.n != times ||
        !as_pattern_near(f.scale, scale))
        return false;
    for (unsigned i = 0; i < f.n; i++)
        if (f.at[i] != x)
            return false;
    return as_pattern_add(m, &op);
}

/* The value that `value` is the sum of, with the number `x`; AS_NONE: it is none. */
static uint32_t sum_with(const struct as_pattern_graph *g, uint32_t value, double x,
                         struct as_pattern_match *m)
{
    struct as_pattern_op add;

    if (!as_pattern_made_by(g, value, AS_OP_Add, &add) || add.n_in != 2)
        return AS_NONE;
    for (uint32_t i = 0; i < 2; i++)
        if (as_pattern_is_number(g, add.in[i], x))
            return as_pattern_add(m, &add) ? add.in[1 - i] : AS_NONE;
    return AS_NONE;
}

static bool has_bounds(const struct as_pattern_graph *g, const struct as_pattern_op *clip,
                       double low, double high)
{
    double a, b;

    return as_pattern_clip_bounds(g, clip, &a, &b) && a == low && b == high;
}

/* ---- what the other factor may be, when x is one ---- */

static bool is_silu(const struct as_pattern_graph *g, const struct as_pattern_op *other,
                    double scale, struct as_pattern_match *m, struct as_activation_pattern *found)
{
    double alpha;

    if (scale != 1 || !is_scaled(g, other->in[0], found->x, m, &alpha))
        return false;
    found->op = AS_OP_MS_QuickGelu;
    found->opset = 1;
    found->attrs[0] = (struct as_attr){.name = "alpha", .kind = AS_ATTR_FLOAT, .f = alpha};
    found->n_attrs = 1;
    return true;
}

static bool is_hard_swish(const struct as_pattern_graph *g, const struct as_pattern_op *other,
                          double scale, struct as_pattern_match *m,
                          struct as_activation_pattern *found)
{
    const struct as_node *spec = other->spec;

    if (other->op == AS_OP_Clip) {
        if (!as_pattern_near(scale, 1.0 / 6) || !has_bounds(g, other, 0, 6) ||
            sum_with(g, other->in[0], 3, m) != found->x)
            return false;
    } else if (scale != 1 || other->in[0] != found->x ||
               !as_pattern_near(as_node_float(spec, "alpha", 0.2), 1.0 / 6) ||
               !as_pattern_near(as_node_float(spec, "beta", 0.5), 0.5)) {
        return false;
    }
    found->op = AS_OP_HardSwish;
    found->opset = 14;
    return true;
}

static bool is_mish(const struct as_pattern_graph *g, const struct as_pattern_op *other,
                    double scale, struct as_pattern_match *m, struct as_activation_pattern *found)
{
    struct as_pattern_op softplus;

    if (scale != 1 || !as_pattern_made_by(g, other->in[0], AS_OP_Softplus, &softplus) ||
        softplus.in[0] != found->x || !as_pattern_add(m, &softplus))
        return false;
    found->op = AS_OP_Mish;
    found->opset = 18;
    return true;
}

/* sqrt(2/pi) * (x + 0.044715 * x^3), or with x taken out of the brackets. */
static bool is_gelu_cubic(const struct as_pattern_graph *g, uint32_t value, uint32_t x,
                          struct as_pattern_match *m)
{
    struct as_pattern_op op, add;
    struct product f;
    uint32_t sum;

    if (!as_pattern_inner(g, value, &op) || !take_apart(g, &op, m, &f) || !as_pattern_add(m, &op) ||
        !as_pattern_near(f.scale, sqrt(2 / 3.14159265358979323846)))
        return false;
    if (f.n == 2 && (f.at[0] == x || f.at[1] == x)) {
        sum = sum_with(g, f.at[f.at[0] == x], 1, m);
        return sum != AS_NONE && is_power(g, sum, x, m, 2, 0.044715);
    }
    return f.n == 1 && as_pattern_made_by(g, f.at[0], AS_OP_Add, &add) && as_pattern_add(m, &add) &&
           as_pattern_other(&add, x) != AS_NONE &&
           is_power(g, as_pattern_other(&add, x), x, m, 3, 0.044715);
}

static bool is_gelu(const struct as_pattern_graph *g, const struct as_pattern_op *other,
                    double scale, struct as_pattern_match *m, struct as_activation_pattern *found)
{
    uint32_t curve = sum_with(g, other->out, 1, m);
    struct as_pattern_op op;
    double inside;
    bool by_erf;

    if (!as_pattern_inner(g, curve, &op) || op.n_in == 0 || !as_pattern_near(scale, 0.5) ||
        !as_pattern_add(m, &op))
        return false;
    by_erf = op.op == AS_OP_Erf;
    if (by_erf &&
        (!is_scaled(g, op.in[0], found->x, m, &inside) || !as_pattern_near(inside, sqrt(0.5))))
        return false;
    if (!by_erf && (op.op != AS_OP_Tanh || !is_gelu_cubic(g, op.in[0], found->x, m)))
        return false;
    found->op = AS_OP_Gelu;
    found->opset = 20;
    found->attrs[0] = (struct as_attr){.name = "approximate", .kind = AS_ATTR_TEXT};
    found->attrs[0].text = by_erf ? (struct as_text){"none", 4} : (struct as_text){"tanh", 4};
    found->n_attrs = 1;
    return true;
}

static const struct {
    enum as_op op; /* of the other factor */
    bool (*is)(const struct as_pattern_graph *g, const struct as_pattern_op *other, double scale,
               struct as_pattern_match *m, struct as_activation_pattern *found);
} curves[] = {
    {AS_OP_Sigmoid, is_silu}, {AS_OP_Clip, is_hard_swish}, {AS_OP_HardSigmoid, is_hard_swish},
    {AS_OP_Tanh, is_mish},    {AS_OP_Add, is_gelu},
};

static bool match_pair(const struct as_pattern_graph *g, const struct product *f, unsigned x,
                       struct as_pattern_match *m, struct as_activation_pattern *found)
{
    struct as_pattern_op other;

    *found = (struct as_activation_pattern){.x = f->at[x]};
    if (!as_pattern_inner(g, f->at[1 - x], &other) || other.n_in == 0 || !as_pattern_add(m, &other))
        return false;
    for (size_t i = 0; i < AS_COUNT_OF(curves); i++)
        if (curves[i].op == other.op && curves[i].is(g, &other, f->scale, m, found))
            return true;
    return false;
}

/* clip(x + 3, 0, 6) / 6 */
static bool match_hard_sigmoid(const struct as_pattern_graph *g, const struct product *f,
                               struct as_pattern_match *m, struct as_activation_pattern *found)
{
    struct as_pattern_op clip;

    if (f->n != 1 || !as_pattern_inner(g, f->at[0], &clip) || clip.op != AS_OP_Clip ||
        clip.n_in == 0 || !as_pattern_near(f->scale, 1.0 / 6) || !has_bounds(g, &clip, 0, 6) ||
        !as_pattern_add(m, &clip))
        return false;
    *found = (struct as_activation_pattern){.op = AS_OP_HardSigmoid, .opset = 6, .n_attrs = 2};
    found->x = sum_with(g, clip.in[0], 3, m);
    found->attrs[0] = (struct as_attr){.name = "alpha", .kind = AS_ATTR_FLOAT, .f = 1.0 / 6};
    found->attrs[1] = (struct as_attr){.name = "beta", .kind = AS_ATTR_FLOAT, .f = 0.5};
    return found->x != AS_NONE;
}

static bool match(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                  struct as_pattern_match *m, struct as_activation_pattern *found)
{
    struct as_pattern_match start = {.n = 0};
    struct product f;

    if (!take_apart(g, last, &start, &f))
        return false;
    *m = start;
    if (f.n == 1)
        return match_hard_sigmoid(g, &f, m, found);
    for (unsigned x = 0; f.n == 2 && x < 2; x++) {
        *m = start;
        if (match_pair(g, &f, x, m, found))
            return true;
    }
    return false;
}

bool as_pattern_activation(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                           struct as_pattern_match *m, struct as_activation_pattern *found)
{
    m->n = 0;
    return (last->op == AS_OP_Mul || last->op == AS_OP_Div) && match(g, last, m, found) &&
           as_pattern_closed(g, m, last) && as_pattern_same_type(g, found->x, last->out);
}
