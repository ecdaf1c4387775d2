/* engine/passes/fuse_activation.c - activations that exporters spell out as products: SiLU,
 * HardSwish, Mish, and Gelu by erf or tanh. A product is taken apart into its numbers and tensors
 * first, so that the order in which it was written does not matter. */
#include <math.h>

#include "base/units.h"
#include "engine/passes/passes.h"

enum { MAX_FACTORS = 8 };

struct product {
    double scale;
    uint32_t at[MAX_FACTORS];
    unsigned n;
};

/* What a matched product is; `spec` of the step that stands for it. */
struct found {
    enum as_op op;
    int64_t opset;
    uint32_t x;
    struct as_attr attrs[2];
    uint32_t n_attrs;
};

static bool push(struct product *f, uint32_t slot, unsigned times)
{
    for (; times > 0; times--) {
        if (f->n == MAX_FACTORS)
            return false;
        f->at[f->n++] = slot;
    }
    return true;
}

/* Puts the factors of one step in place of what it makes; false: it is no product. */
static bool open_step(const struct as_pass_graph *o, const struct as_step *step, struct product *f)
{
    double x;

    if (step->n_in != 2 || step->n_post_ops || f->n + 3 > MAX_FACTORS)
        return false;
    if (step->op == AS_OP_Mul)
        return push(f, step->in[0], 1) && push(f, step->in[1], 1);
    if (!as_pass_scalar(o, step->in[1], &x))
        return false;
    if (step->op == AS_OP_Div && x != 0) {
        f->scale /= x;
        return push(f, step->in[0], 1);
    }
    return step->op == AS_OP_Pow && (x == 2 || x == 3) && push(f, step->in[0], (unsigned)x);
}

/* All factors of what `step` makes; steps that only it needs are opened and become parts. */
static bool take_apart(const struct as_pass_graph *o, const struct as_step *step,
                       struct as_pass_match *m, struct product *f)
{
    *f = (struct product){.scale = 1};
    if (!open_step(o, step, f))
        return false;
    for (unsigned i = 0; i < f->n;) {
        struct as_step *inner = as_pass_inner(o, f->at[i]);
        uint32_t slot = f->at[i];
        double x;

        f->at[i] = f->at[--f->n];
        if (as_pass_scalar(o, slot, &x)) {
            f->scale *= x;
        } else if (inner && open_step(o, inner, f)) {
            if (!as_pass_add(m, inner))
                return false;
        } else { /* a tensor: stays, in front of those not looked at */
            if (f->n == MAX_FACTORS)
                return false;
            f->at[f->n++] = f->at[i];
            f->at[i++] = slot;
        }
    }
    return true;
}

/* Whether `slot` is x times `scale`. */
static bool is_scaled(const struct as_pass_graph *o, uint32_t slot, uint32_t x,
                      struct as_pass_match *m, double *scale)
{
    struct as_step *step = as_pass_inner(o, slot);
    struct product f;

    *scale = 1;
    if (slot == x)
        return true;
    if (!step || !take_apart(o, step, m, &f) || f.n != 1 || f.at[0] != x)
        return false;
    *scale = f.scale;
    return as_pass_add(m, step);
}

/* Whether `slot` is `scale` times x to the power of `times`. */
static bool is_power(const struct as_pass_graph *o, uint32_t slot, uint32_t x,
                     struct as_pass_match *m, unsigned times, double scale)
{
    struct as_step *step = as_pass_inner(o, slot);
    struct product f;

    if (!step || !take_apart(o, step, m, &f) || f.n != times || !as_pass_near(f.scale, scale))
        return false;
    for (unsigned i = 0; i < f.n; i++)
        if (f.at[i] != x)
            return false;
    return as_pass_add(m, step);
}

/* The slot that `slot` is the sum of, with the number `x`; AS_NONE: it is none. */
static uint32_t sum_with(const struct as_pass_graph *o, uint32_t slot, double x,
                         struct as_pass_match *m)
{
    struct as_step *add = as_pass_made_by(o, slot, AS_OP_Add);

    if (!add || add->n_in != 2)
        return AS_NONE;
    for (uint32_t i = 0; i < 2; i++)
        if (as_pass_is_number(o, add->in[i], x))
            return as_pass_add(m, add) ? add->in[1 - i] : AS_NONE;
    return AS_NONE;
}

static bool has_bounds(const struct as_pass_graph *o, const struct as_step *clip, double low,
                       double high)
{
    double a, b;

    return as_pass_clip_bounds(o, clip, &a, &b) && a == low && b == high;
}

/* ---- what the other factor may be, when x is one ---- */

static bool is_silu(const struct as_pass_graph *o, const struct as_step *other, double scale,
                    struct as_pass_match *m, struct found *found)
{
    double alpha;

    if (scale != 1 || !is_scaled(o, other->in[0], found->x, m, &alpha))
        return false;
    found->op = AS_OP_MS_QuickGelu;
    found->opset = 1;
    found->attrs[0] = as_pass_float_attr("alpha", alpha);
    found->n_attrs = 1;
    return true;
}

static bool is_hard_swish(const struct as_pass_graph *o, const struct as_step *other, double scale,
                          struct as_pass_match *m, struct found *found)
{
    const struct as_node *spec = other->spec;

    if (other->op == AS_OP_Clip) {
        if (!as_pass_near(scale, 1.0 / 6) || !has_bounds(o, other, 0, 6) ||
            sum_with(o, other->in[0], 3, m) != found->x)
            return false;
    } else if (scale != 1 || other->in[0] != found->x ||
               !as_pass_near(as_node_float(spec, "alpha", 0.2), 1.0 / 6) ||
               !as_pass_near(as_node_float(spec, "beta", 0.5), 0.5)) {
        return false;
    }
    found->op = AS_OP_HardSwish;
    found->opset = 14;
    return true;
}

static bool is_mish(const struct as_pass_graph *o, const struct as_step *other, double scale,
                    struct as_pass_match *m, struct found *found)
{
    struct as_step *softplus = as_pass_made_by(o, other->in[0], AS_OP_Softplus);

    if (scale != 1 || !softplus || softplus->in[0] != found->x || !as_pass_add(m, softplus))
        return false;
    found->op = AS_OP_Mish;
    found->opset = 18;
    return true;
}

/* sqrt(2/pi) * (x + 0.044715 * x^3), or with x taken out of the brackets. */
static bool is_gelu_cubic(const struct as_pass_graph *o, uint32_t slot, uint32_t x,
                          struct as_pass_match *m)
{
    struct as_step *step = as_pass_inner(o, slot), *add;
    struct product f;
    uint32_t sum;

    if (!step || !take_apart(o, step, m, &f) || !as_pass_add(m, step) ||
        !as_pass_near(f.scale, sqrt(2 / 3.14159265358979323846)))
        return false;
    if (f.n == 2 && (f.at[0] == x || f.at[1] == x)) {
        sum = sum_with(o, f.at[f.at[0] == x], 1, m);
        return sum != AS_NONE && is_power(o, sum, x, m, 2, 0.044715);
    }
    add = f.n == 1 ? as_pass_made_by(o, f.at[0], AS_OP_Add) : NULL;
    return add && as_pass_add(m, add) && as_pass_other(add, x) != AS_NONE &&
           is_power(o, as_pass_other(add, x), x, m, 3, 0.044715);
}

static bool is_gelu(const struct as_pass_graph *o, const struct as_step *other, double scale,
                    struct as_pass_match *m, struct found *found)
{
    uint32_t curve = sum_with(o, other->out[0], 1, m);
    struct as_step *step = as_pass_inner(o, curve);
    double inside;
    bool by_erf;

    if (!step || step->n_post_ops || !as_pass_near(scale, 0.5) || !as_pass_add(m, step))
        return false;
    by_erf = step->op == AS_OP_Erf;
    if (by_erf &&
        (!is_scaled(o, step->in[0], found->x, m, &inside) || !as_pass_near(inside, sqrt(0.5))))
        return false;
    if (!by_erf && (step->op != AS_OP_Tanh || !is_gelu_cubic(o, step->in[0], found->x, m)))
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
    bool (*is)(const struct as_pass_graph *o, const struct as_step *other, double scale,
               struct as_pass_match *m, struct found *found);
} curves[] = {
    {AS_OP_Sigmoid, is_silu}, {AS_OP_Clip, is_hard_swish}, {AS_OP_HardSigmoid, is_hard_swish},
    {AS_OP_Tanh, is_mish},    {AS_OP_Add, is_gelu},
};

static bool match_pair(const struct as_pass_graph *o, const struct product *f, unsigned x,
                       struct as_pass_match *m, struct found *found)
{
    struct as_step *other = as_pass_inner(o, f->at[1 - x]);

    *found = (struct found){.x = f->at[x]};
    if (!other || other->n_post_ops || !other->n_in || !as_pass_add(m, other))
        return false;
    for (size_t i = 0; i < AS_COUNT_OF(curves); i++)
        if (curves[i].op == other->op && curves[i].is(o, other, f->scale, m, found))
            return true;
    return false;
}

/* clip(x + 3, 0, 6) / 6 */
static bool match_hard_sigmoid(const struct as_pass_graph *o, const struct product *f,
                               struct as_pass_match *m, struct found *found)
{
    struct as_step *clip = f->n == 1 ? as_pass_inner(o, f->at[0]) : NULL;

    if (!clip || clip->op != AS_OP_Clip || clip->n_post_ops || !as_pass_near(f->scale, 1.0 / 6) ||
        !has_bounds(o, clip, 0, 6) || !as_pass_add(m, clip))
        return false;
    *found = (struct found){.op = AS_OP_HardSigmoid, .opset = 6, .n_attrs = 2};
    found->x = sum_with(o, clip->in[0], 3, m);
    found->attrs[0] = as_pass_float_attr("alpha", 1.0 / 6);
    found->attrs[1] = as_pass_float_attr("beta", 0.5);
    return found->x != AS_NONE;
}

static bool match(const struct as_pass_graph *o, const struct as_step *step,
                  struct as_pass_match *m, struct found *found)
{
    struct as_pass_match start = {.n = 0};
    struct product f;

    if (!take_apart(o, step, &start, &f))
        return false;
    *m = start;
    if (f.n == 1)
        return match_hard_sigmoid(o, &f, m, found);
    for (unsigned x = 0; f.n == 2 && x < 2; x++) {
        *m = start;
        if (match_pair(o, &f, x, m, found))
            return true;
    }
    return false;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    struct as_pass_match m;
    struct found found;
    int rc;

    if ((step->op != AS_OP_Mul && step->op != AS_OP_Div) || !as_pass_is_float(o, step->out[0]))
        return ASSAY_OK;
    if (!match(o, step, &m, &found) || !as_pass_closed(o, &m, step) ||
        !as_pass_same_type(o, found.x, step->out[0]) || !o->p->kernels[found.op])
        return ASSAY_OK;
    rc = as_pass_take(o, step, &m);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, &found.x, 1);
    if (rc == ASSAY_OK)
        rc = as_pass_become(o, step, found.op, found.opset, found.attrs, found.n_attrs);
    return rc;
}

const struct as_pass as_pass_activation = {.visit = visit};
