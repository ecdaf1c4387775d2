/* engine/passes/fold_affine.c - what scales and shifts the channels of a product by constants
 * becomes part of its weights and bias: BatchNormalization, Mul, Div, Add, Sub, Neg. Numbers are
 * worked out in double and rounded once. */
#include <math.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/passes/passes.h"

/* Past this nobody has channels, and shared weights are not copied. */
#define MAX_CHANNELS     ((int64_t)1 << 24)
#define MAX_SHARED_BYTES ((uint64_t)4 << 20)

/* A product whose weights may take up a scale: where channel numbers are in its weights.
 * Channel of weight i: i / inner % mid + i / block * mid. */
struct product {
    struct as_step *step;
    int64_t channels;
    int axis; /* of the output; from the end when negative */
    uint64_t inner, mid, block;
    double bias_factor; /* what the bias is multiplied with: beta of a Gemm */
};

/* y = a[c] * x + b[c] */
struct affine {
    double *a, *b;
    bool scales; /* some a is not 1 */
};

/* ---- products ---- */

static const struct as_type *type_of(const struct as_pass_graph *o, uint32_t slot)
{
    return slot < o->p->n_slots ? &o->p->slots[slot].type : NULL;
}

static uint64_t elems_of(const struct as_type *type)
{
    uint64_t n = 0;

    return type && as_type_elems(type, &n) ? n : 0;
}

static bool see_conv(const struct as_pass_graph *o, struct product *c)
{
    const struct as_type *w = type_of(o, as_pass_in(c->step, 1));
    uint64_t n = elems_of(w);

    if (!n || w->rank < 3)
        return false;
    c->channels = w->dims[0];
    c->axis = 1;
    c->mid = (uint64_t)w->dims[0];
    c->inner = n / c->mid;
    c->block = n;
    return true;
}

static bool see_conv_transpose(const struct as_pass_graph *o, struct product *c)
{
    const struct as_type *w = type_of(o, as_pass_in(c->step, 1));
    int64_t group = as_node_int(c->step->spec, "group", 1);
    uint64_t n = elems_of(w);

    if (!n || w->rank < 3 || group < 1 || group > w->dims[0] || w->dims[0] % group != 0 ||
        w->dims[1] > MAX_CHANNELS / group)
        return false;
    c->channels = w->dims[1] * group;
    c->axis = 1;
    c->mid = (uint64_t)w->dims[1];
    c->inner = n / (uint64_t)w->dims[0] / c->mid;
    c->block = n / (uint64_t)group;
    return true;
}

static bool see_matrix(const struct as_pass_graph *o, struct product *c, bool turned)
{
    const struct as_type *w = type_of(o, as_pass_in(c->step, 1));
    uint64_t n = elems_of(w);

    if (!n || w->rank < 2 || (turned && w->rank != 2))
        return false;
    c->channels = w->dims[turned ? 0 : w->rank - 1];
    c->axis = -1;
    c->mid = (uint64_t)c->channels;
    c->inner = turned ? n / c->mid : 1;
    c->block = n;
    return true;
}

static bool see_gemm(const struct as_pass_graph *o, struct product *c)
{
    c->bias_factor = as_node_float(c->step->spec, "beta", 1);
    return c->bias_factor != 0 && see_matrix(o, c, as_node_int(c->step->spec, "transB", 0) != 0);
}

static bool see_matmul(const struct as_pass_graph *o, struct product *c)
{
    const struct as_type *x = type_of(o, as_pass_in(c->step, 0));

    return x && x->rank >= 2 && see_matrix(o, c, false);
}

static const struct {
    enum as_op op;
    bool (*see)(const struct as_pass_graph *o, struct product *c);
} products[] = {
    {AS_OP_Conv, see_conv},
    {AS_OP_ConvTranspose, see_conv_transpose},
    {AS_OP_Gemm, see_gemm},
    {AS_OP_MatMul, see_matmul},
};

/* A bias of one number a channel, or none; of a Gemm also one number for all. */
static bool bias_fits(const struct as_pass_graph *o, const struct product *c)
{
    uint32_t bias = as_pass_in(c->step, 2);
    const struct as_type *type = type_of(o, bias);
    uint64_t n = elems_of(type);

    if (bias == AS_NONE)
        return true;
    if (!as_slot_is_const(o->p, bias) || !as_pass_is_float(o, bias))
        return false;
    return (n == (uint64_t)c->channels && type->rank > 0 &&
            type->dims[type->rank - 1] == c->channels) ||
           n == 1;
}

static bool see_product(const struct as_pass_graph *o, struct as_step *step, struct product *c)
{
    const struct as_type *w = type_of(o, as_pass_in(step, 1));

    *c = (struct product){.step = step, .bias_factor = 1};
    if (step->n_post_ops || !w || (w->dtype != AS_DTYPE_F32 && w->dtype != AS_DTYPE_F64))
        return false;
    for (size_t i = 0; i < AS_COUNT_OF(products); i++)
        if (products[i].op == step->op)
            return products[i].see(o, c) && c->channels <= MAX_CHANNELS && bias_fits(o, c);
    return false;
}

/* ---- what is done to the channels ---- */

/* A constant with one number for each channel along the axis, or one for all. */
static const struct as_val *channel_numbers(struct as_pass_graph *o, uint32_t slot, int rank,
                                            const struct product *c)
{
    const struct as_type *type = type_of(o, slot);
    int axis = c->axis < 0 ? rank + c->axis : c->axis;
    int skip = type ? rank - type->rank : -1;

    if (skip < 0 || axis < 0 || !as_slot_is_const(o->p, slot) || !as_pass_is_float(o, slot))
        return NULL;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] != 1 && (i + skip != axis || type->dims[i] != c->channels))
            return NULL;
    return as_exec_plan_constant(o->p, slot, o->err);
}

static double number_at(const struct as_val *val, int64_t i)
{
    return as_val_f64(val, val->n == 1 ? 0 : (uint64_t)i);
}

static bool read_batch_norm(struct as_pass_graph *o, const struct as_step *step, uint32_t x,
                            int rank, const struct product *c, struct affine *f)
{
    double eps = as_node_float(step->spec, "epsilon", 1e-5);
    const struct as_val *val[4];

    (void)rank;
    if (step->n_in != 5 || step->in[0] != x || as_node_int(step->spec, "training_mode", 0) ||
        !as_node_int(step->spec, "spatial", 1) || c->axis != 1)
        return false;
    for (uint32_t i = 1; i < step->n_out; i++)
        if (step->out[i] != AS_NONE)
            return false;
    for (uint32_t i = 0; i < 4; i++) {
        if (!as_slot_is_const(o->p, step->in[i + 1]) || !as_pass_is_float(o, step->in[i + 1]))
            return false;
        val[i] = as_exec_plan_constant(o->p, step->in[i + 1], o->err);
        if (!val[i] || val[i]->n != (uint64_t)c->channels)
            return false;
    }
    for (int64_t i = 0; i < c->channels; i++) {
        f->a[i] = number_at(val[0], i) / sqrt(number_at(val[3], i) + eps);
        f->b[i] = number_at(val[1], i) - number_at(val[2], i) * f->a[i];
    }
    return true;
}

static bool read_binary(struct as_pass_graph *o, const struct as_step *step, uint32_t x, int rank,
                        const struct product *c, struct affine *f)
{
    bool first = step->n_in == 2 && step->in[0] == x;
    const struct as_val *val =
        step->n_in == 2 ? channel_numbers(o, as_pass_other(step, x), rank, c) : NULL;

    if (!val || (step->op == AS_OP_Div && !first))
        return false;
    for (int64_t i = 0; i < c->channels; i++) {
        double y = number_at(val, i);

        f->a[i] = 1;
        f->b[i] = 0;
        if (step->op == AS_OP_Mul)
            f->a[i] = y;
        else if (step->op == AS_OP_Div)
            f->a[i] = 1 / y;
        else
            f->b[i] = step->op == AS_OP_Sub && first ? -y : y;
        if (step->op == AS_OP_Sub && !first)
            f->a[i] = -1;
    }
    return true;
}

static bool read_neg(struct as_pass_graph *o, const struct as_step *step, uint32_t x, int rank,
                     const struct product *c, struct affine *f)
{
    (void)o, (void)step, (void)x, (void)rank;
    for (int64_t i = 0; i < c->channels; i++) {
        f->a[i] = -1;
        f->b[i] = 0;
    }
    return true;
}

static const struct reader {
    enum as_op op;
    bool (*read)(struct as_pass_graph *o, const struct as_step *step, uint32_t x, int rank,
                 const struct product *c, struct affine *f);
} readers[] = {
    {AS_OP_BatchNormalization, read_batch_norm},
    {AS_OP_Mul, read_binary},
    {AS_OP_Div, read_binary},
    {AS_OP_Add, read_binary},
    {AS_OP_Sub, read_binary},
    {AS_OP_Neg, read_neg},
};

static bool is_finite(const struct affine *f, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(f->a[i]) || !isfinite(f->b[i]))
            return false;
    return true;
}

/* ---- new weights ---- */

static bool may_scale(const struct as_pass_graph *o, const struct product *c)
{
    uint32_t w = c->step->in[1];

    return as_slot_is_const(o->p, w) &&
           (as_pass_uses(o, w) <= 1 || o->p->slots[w].bytes <= MAX_SHARED_BYTES);
}

static int scale_weights(struct as_pass_graph *o, const struct product *c, const struct affine *f,
                         uint32_t *made)
{
    const char *name = o->p->slots[c->step->in[1]].name;
    struct as_val val;
    int rc = as_exec_plan_copy(o->p, c->step->in[1], &val, o->err);

    if (rc < 0)
        return rc;
    for (uint64_t i = 0; i < val.n; i++) {
        double a = f->a[i / c->inner % c->mid + i / c->block * c->mid];

        if (val.dtype == AS_DTYPE_F32)
            ((float *)val.data)[i] = (float)((double)((const float *)val.data)[i] * a);
        else
            as_val_put_f64(&val, i, as_val_f64(&val, i) * a);
    }
    /* What the file holds can be had again; kept here, all weights would be in memory twice. */
    if (o->p->slots[c->step->in[1]].data)
        as_val_drop(&o->p->slots[c->step->in[1]].val);
    *made = as_exec_plan_constant_slot(o->p, name, &val);
    return *made == AS_NONE ? as_fail_nomem(o->err) : ASSAY_OK;
}

static int shift_bias(struct as_pass_graph *o, const struct product *c, const struct affine *f,
                      uint32_t *made)
{
    uint32_t bias = as_pass_in(c->step, 2);
    const struct as_val *old = bias == AS_NONE ? NULL : as_exec_plan_constant(o->p, bias, o->err);
    struct as_dims dims = {.rank = 1, .at = {c->channels}};
    struct as_val val = {0};
    int rc;

    if (bias != AS_NONE && !old)
        return o->err && o->err->code ? o->err->code : ASSAY_ERR_NOMEM;
    rc = as_val_new(&val, &o->p->mem, AS_MEM_PARAMETERS, o->p->slots[c->step->in[1]].type.dtype,
                    &dims, o->err);
    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < c->channels; i++)
        as_val_put_f64(&val, (uint64_t)i,
                       (old ? number_at(old, i) * f->a[i] : 0) + f->b[i] / c->bias_factor);
    *made = as_exec_plan_constant_slot(o->p, "bias", &val);
    return *made == AS_NONE ? as_fail_nomem(o->err) : ASSAY_OK;
}

/* Weights of the engine's own that nobody reads any more go at once: chains may be long. */
static void drop_own(struct as_pass_graph *o, uint32_t slot)
{
    if (slot != AS_NONE && slot >= o->n_slots)
        as_val_drop(&o->p->slots[slot].val);
}

static int apply(struct as_pass_graph *o, const struct product *c, const struct affine *f)
{
    uint32_t old[3] = {c->step->in[0], c->step->in[1], as_pass_in(c->step, 2)};
    uint32_t in[3] = {old[0], old[1], old[2]};
    bool shifts = old[2] != AS_NONE && f->scales;
    int rc = ASSAY_OK;

    for (int64_t i = 0; i < c->channels; i++)
        shifts = shifts || f->b[i] != 0;
    if (f->scales)
        rc = scale_weights(o, c, f, &in[1]);
    if (rc == ASSAY_OK && shifts)
        rc = shift_bias(o, c, f, &in[2]);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, c->step, in, in[2] == AS_NONE ? 2 : 3);
    for (int i = 1; i < 3 && rc == ASSAY_OK; i++)
        if (in[i] != old[i])
            drop_own(o, old[i]);
    return rc;
}

/* ---- where it is ---- */

/* The product that makes `x`, or that makes what a view of the same last axis shows as `x`. */
static struct as_step *find_product(const struct as_pass_graph *o, uint32_t x,
                                    struct as_step **view)
{
    struct as_step *step = as_pass_inner(o, x), *before;

    *view = NULL;
    if (!step || step->kind != AS_STEP_VIEW)
        return step;
    before = as_pass_inner(o, step->in[0]);
    if (!before || (before->op != AS_OP_Gemm && before->op != AS_OP_MatMul) ||
        !as_pass_is_static(o, x) || !as_pass_is_static(o, step->in[0]) ||
        as_pass_last_dim(o, x) != as_pass_last_dim(o, step->in[0]))
        return NULL;
    *view = step;
    return before;
}

/* The product does it all; through a view it stays where it is and the view makes the output. */
static int join(struct as_pass_graph *o, struct as_step *step, const struct product *c,
                struct as_step *view, const struct affine *f)
{
    int rc = apply(o, c, f);

    if (rc < 0)
        return rc;
    if (!view)
        return as_pass_absorb(o, c->step, step);
    rc = as_pass_append(o, c->step, step);
    return rc < 0 ? rc : as_pass_absorb(o, view, step);
}

static int try_join(struct as_pass_graph *o, struct as_step *step, uint32_t x,
                    const struct reader *reader)
{
    struct as_step *view, *before = find_product(o, x, &view);
    struct affine f = {0};
    struct product c;
    int rank = o->p->slots[x].type.rank, rc = ASSAY_OK;

    if (!before || rank < 1 || !as_pass_same_type(o, x, step->out[0]) ||
        !see_product(o, before, &c))
        return 0;
    f.a = as_alloc_zero((size_t)c.channels, 2 * sizeof *f.a);
    if (!f.a)
        return as_fail_nomem(o->err);
    f.b = f.a + c.channels;
    if (reader->read(o, step, x, rank, &c, &f) && is_finite(&f, c.channels)) {
        for (int64_t i = 0; i < c.channels; i++)
            f.scales = f.scales || f.a[i] != 1;
        if (!f.scales || may_scale(o, &c)) {
            rc = join(o, step, &c, view, &f);
            rc = rc < 0 ? rc : 1;
        }
    }
    as_free(f.a);
    return rc;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    const struct reader *reader = NULL;
    int rc = 0;

    for (size_t i = 0; i < AS_COUNT_OF(readers) && !step->n_post_ops; i++)
        if (readers[i].op == step->op)
            reader = &readers[i];
    for (uint32_t i = 0; reader && rc == 0 && i < step->n_in && i < 2; i++)
        if (step->in[i] < o->n_slots)
            rc = try_join(o, step, step->in[i], reader);
    return rc < 0 ? rc : ASSAY_OK;
}

const struct as_pass as_pass_affine = {.visit = visit};
