/* engine/passes/fuse_norm.c - normalizations along the last axis that exporters spell out: mean,
 * difference, square, mean, root, quotient. Scale and shift join what was found so far. */
#include "engine/passes/passes.h"

/* What is known while a normalization is matched. */
struct norm {
    uint32_t x;
    uint32_t mean; /* AS_NONE: of the root mean square alone */
    double eps;
};

static bool reduces_last(const struct as_pass_graph *o, const struct as_step *step)
{
    int64_t rank = o->p->slots[step->in[0]].type.rank;
    struct as_dims list;
    struct as_ints axes;

    if (as_pass_in(step, 1) != AS_NONE) {
        if (!as_pass_list(o, step->in[1], &list))
            return false;
        axes = (struct as_ints){(size_t)list.rank, list.at};
    } else if (!as_node_ints(step->spec, "axes", &axes)) {
        return false;
    }
    return rank > 0 && axes.n == 1 && (axes.at[0] == -1 || axes.at[0] == rank - 1) &&
           as_node_int(step->spec, "keepdims", 1) == 1;
}

/* What `slot` is the mean of along its last axis; AS_NONE: it is none. */
static uint32_t mean_of(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m)
{
    struct as_step *step = as_pass_made_by(o, slot, AS_OP_ReduceMean);

    if (!step || !reduces_last(o, step) || !as_pass_add(m, step))
        return AS_NONE;
    return step->in[0];
}

static uint32_t square_of(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m)
{
    struct as_step *step = as_pass_maker(o, slot);

    if (!step || step->n_in != 2 || step->n_post_ops || !as_pass_add(m, step))
        return AS_NONE;
    if (step->op == AS_OP_Mul && step->in[0] == step->in[1])
        return step->in[0];
    return step->op == AS_OP_Pow && as_pass_is_number(o, step->in[1], 2) ? step->in[0] : AS_NONE;
}

/* Whether `slot` is x less its mean; fills both. */
static bool is_difference(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m,
                          struct norm *norm)
{
    struct as_step *step = as_pass_made_by(o, slot, AS_OP_Sub);

    if (!step || step->n_in != 2 || mean_of(o, step->in[1], m) != step->in[0])
        return false;
    norm->x = step->in[0];
    norm->mean = step->in[1];
    return as_pass_add(m, step);
}

/* Whether `slot` is sqrt(mean(square) + eps), of x or of its difference from the mean. */
static bool is_deviation(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m,
                         struct norm *norm)
{
    struct as_step *root = as_pass_made_by(o, slot, AS_OP_Sqrt);
    struct as_step *add = root ? as_pass_made_by(o, root->in[0], AS_OP_Add) : NULL;
    uint32_t variance = AS_NONE, squared;

    if (!add || add->n_in != 2 || !as_pass_add(m, root) || !as_pass_add(m, add))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (as_pass_scalar(o, add->in[i], &norm->eps))
            variance = add->in[1 - i];
    squared = square_of(o, mean_of(o, variance, m), m);
    if (squared == AS_NONE || norm->eps < 0)
        return false;
    if (!is_difference(o, squared, m, norm)) {
        norm->x = squared;
        norm->mean = AS_NONE;
    }
    return true;
}

/* Whether `slot` is one over such a deviation. */
static bool is_inverse(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m,
                       struct norm *norm)
{
    struct as_step *step = as_pass_maker(o, slot);

    if (!step || step->n_post_ops || !as_pass_add(m, step))
        return false;
    if (step->op == AS_OP_Reciprocal)
        return is_deviation(o, step->in[0], m, norm);
    return step->op == AS_OP_Div && step->n_in == 2 && as_pass_is_number(o, step->in[0], 1) &&
           is_deviation(o, step->in[1], m, norm);
}

/* What is divided must be x less its mean, or x itself without. */
static bool is_numerator(const struct as_pass_graph *o, uint32_t slot, struct as_pass_match *m,
                         const struct norm *norm)
{
    struct norm other;

    if (norm->mean == AS_NONE)
        return slot == norm->x;
    return is_difference(o, slot, m, &other) && other.x == norm->x;
}

static bool match_quotient(const struct as_pass_graph *o, const struct as_step *step,
                           struct as_pass_match *m, struct norm *norm)
{
    if (step->n_in != 2 || step->n_post_ops)
        return false;
    if (step->op == AS_OP_Div) {
        m->n = 0;
        return is_deviation(o, step->in[1], m, norm) && is_numerator(o, step->in[0], m, norm);
    }
    for (uint32_t i = 0; step->op == AS_OP_Mul && i < 2; i++) {
        m->n = 0;
        if (is_inverse(o, step->in[i], m, norm) && is_numerator(o, step->in[1 - i], m, norm))
            return true;
    }
    return false;
}

/* A vector as long as the last dimension of `like`, of the same dtype. */
static bool is_vector_for(const struct as_pass_graph *o, uint32_t slot, uint32_t like)
{
    const struct as_type *type = slot < o->p->n_slots ? &o->p->slots[slot].type : NULL;

    return type && as_pass_is_static(o, slot) && type->rank == 1 &&
           type->dims[0] == as_pass_last_dim(o, like) &&
           type->dtype == o->p->slots[like].type.dtype;
}

static int become_norm(struct as_pass_graph *o, struct as_step *step, const struct as_pass_match *m,
                       const struct norm *norm, uint32_t scale, uint32_t shift)
{
    bool centered = norm->mean != AS_NONE;
    enum as_op op = centered ? AS_OP_LayerNormalization : AS_OP_SimplifiedLayerNormalization;
    struct as_attr attrs[] = {as_pass_int_attr("axis", -1),
                              as_pass_float_attr("epsilon", norm->eps)};
    int rc;

    if (!as_pass_closed(o, m, step) || !as_pass_same_type(o, norm->x, step->out[0]) ||
        !as_pass_is_float(o, norm->x) || !o->p->kernels[op])
        return ASSAY_OK;
    rc = as_pass_take(o, step, m);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, (uint32_t[]){norm->x, scale, shift}, shift == AS_NONE ? 2 : 3);
    if (rc == ASSAY_OK)
        rc = as_pass_become(o, step, op, centered ? 17 : 1, attrs, 2);
    return rc;
}

/* TensorFlow's way: x * k + (shift - mean * k), with k = scale / deviation. */
static int match_batchnorm_form(struct as_pass_graph *o, struct as_step *step)
{
    struct as_pass_match m = {.n = 0};
    struct norm norm = {.eps = -1};

    for (uint32_t i = 0; i < 2; i++) {
        struct as_step *main = as_pass_made_by(o, step->in[i], AS_OP_Mul);
        struct as_step *rest = as_pass_made_by(o, step->in[1 - i], AS_OP_Sub);
        struct as_step *less = rest ? as_pass_made_by(o, rest->in[1], AS_OP_Mul) : NULL;

        for (uint32_t j = 0; main && less && main->n_in == 2 && j < 2; j++) {
            uint32_t x = main->in[j], k = main->in[1 - j];
            struct as_step *factor = as_pass_made_by(o, k, AS_OP_Mul);

            m.n = 0;
            if (!factor || factor->n_in != 2 || !as_pass_add(&m, main) || !as_pass_add(&m, rest) ||
                !as_pass_add(&m, less) || !as_pass_add(&m, factor))
                continue;
            for (uint32_t s = 0; s < 2; s++) {
                struct as_pass_match all = m;

                if (is_inverse(o, factor->in[1 - s], &all, &norm) && norm.x == x &&
                    norm.mean != AS_NONE && as_pass_other(less, k) == norm.mean &&
                    is_vector_for(o, factor->in[s], x) && is_vector_for(o, rest->in[0], x))
                    return become_norm(o, step, &all, &norm, factor->in[s], rest->in[0]);
            }
        }
    }
    return ASSAY_OK;
}

static bool is_norm(const struct as_step *step)
{
    return step->op == AS_OP_LayerNormalization || step->op == AS_OP_SimplifiedLayerNormalization;
}

/* A scale for one that has none yet, a shift for one that has a scale. */
static int join(struct as_pass_graph *o, struct as_step *step)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct as_step *norm = as_pass_inner(o, step->in[i]);
        uint32_t vector = step->in[1 - i], in[3];
        bool scale = step->op == AS_OP_Mul;
        int rc;

        if (!norm || !is_norm(norm) || norm->spec == norm->node || norm->n_in < 2 ||
            !is_vector_for(o, vector, norm->in[0]) || scale != (norm->in[1] == AS_NONE))
            continue;
        if (!scale && (norm->op != AS_OP_LayerNormalization || as_pass_in(norm, 2) != AS_NONE))
            continue;
        in[0] = norm->in[0];
        in[1] = scale ? vector : norm->in[1];
        in[2] = vector;
        rc = as_pass_absorb(o, norm, step);
        return rc < 0 ? rc : as_pass_inputs(o, step, in, scale ? 2 : 3);
    }
    return ASSAY_OK;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    struct as_pass_match m = {.n = 0};
    struct norm norm = {.eps = -1};
    int rc = ASSAY_OK;

    if (step->n_in != 2 || step->n_post_ops || !as_pass_is_static(o, step->out[0]))
        return ASSAY_OK;
    if ((step->op == AS_OP_Div || step->op == AS_OP_Mul) && match_quotient(o, step, &m, &norm))
        return become_norm(o, step, &m, &norm, AS_NONE, AS_NONE);
    if (step->op == AS_OP_Add || step->op == AS_OP_Mul)
        rc = join(o, step);
    if (rc == ASSAY_OK && step->op == AS_OP_Add)
        rc = match_batchnorm_form(o, step);
    return rc;
}

/* A scale is no choice: those without get one of ones. */
static int fill_scales(struct as_pass_graph *o)
{
    for (uint32_t i = 0; i < o->p->n_plans; i++)
        for (uint32_t j = 0; j < o->p->plans[i].n_steps; j++) {
            struct as_step *step = &o->p->plans[i].steps[j];
            struct as_dims dims = {.rank = 1};

            if (step->dead || !is_norm(step) || step->n_in < 2 || step->in[1] != AS_NONE)
                continue;
            dims.at[0] = as_pass_last_dim(o, step->in[0]);
            step->in[1] = as_pass_fill(o, "ones", o->p->slots[step->in[0]].type.dtype, &dims, 1);
            if (step->in[1] == AS_NONE)
                return as_fail_nomem(o->err);
        }
    return ASSAY_OK;
}

const struct as_pass as_pass_norm = {.visit = visit, .finish = fill_scales};
