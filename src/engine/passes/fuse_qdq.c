/* engine/passes/fuse_qdq.c - between DequantizeLinear and QuantizeLinear, the integer operator that
 * means the same. Weights that were dequantized already are found again where they came from. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/passes/passes.h"

enum { MAX_IN = 64, MAX_EXPLAINED = 256 };

/* A tensor of integers with what they mean; per channel along `axis` when there are several. */
struct quant {
    uint32_t q, scale, zero;
    int64_t axis;
    unsigned dtype;
};

/* One operator between the two, while its integer kin is put together. */
struct island {
    struct as_step *mid, *last;
    struct quant y;
    struct as_pass_match parts;
    enum as_op op;
    uint32_t in[MAX_IN], n_in;
};

static bool is_dequantize(const struct as_step *step)
{
    return (step->op == AS_OP_DequantizeLinear || step->op == AS_OP_MS_DequantizeLinear) &&
           step->n_in >= 2 && step->in[0] != AS_NONE && step->in[1] != AS_NONE &&
           as_node_int(step->spec, "block_size", 0) == 0;
}

static bool is_quantize(const struct as_step *step)
{
    return (step->op == AS_OP_QuantizeLinear || step->op == AS_OP_MS_QuantizeLinear) &&
           step->n_in >= 2 && step->in[0] != AS_NONE && step->in[1] != AS_NONE &&
           as_node_int(step->spec, "block_size", 0) == 0;
}

static bool is_byte(unsigned dtype)
{
    return dtype == AS_DTYPE_I8 || dtype == AS_DTYPE_U8;
}

/* Where `slot` was dequantized from, now or when constants were folded. */
static bool see_quant(const struct as_pass_graph *o, uint32_t slot, struct quant *out)
{
    const struct as_step *step = slot < o->n_slots ? o->maker[slot] : NULL;

    if (!step || !is_dequantize(step))
        return false;
    if (step->dead ? !as_slot_is_const(o->p, slot) : o->plan_of[slot] != o->plan)
        return false;
    *out = (struct quant){.q = step->in[0],
                          .scale = step->in[1],
                          .zero = as_pass_in(step, 2),
                          .axis = as_node_int(step->spec, "axis", 1),
                          .dtype = o->p->slots[step->in[0]].type.dtype};
    return is_byte(out->dtype) && as_slot_is_const(o->p, out->scale) &&
           as_pass_is_static(o, out->q) &&
           (out->zero == AS_NONE || as_slot_is_const(o->p, out->zero));
}

static uint64_t n_scales(const struct as_pass_graph *o, const struct quant *x)
{
    uint64_t n = 0;

    return as_type_elems(&o->p->slots[x->scale].type, &n) ? n : 0;
}

/* The same with one scale for all, and no part of what is read twice. */
static bool see_plain(struct as_pass_graph *o, struct island *w, uint32_t slot, struct quant *out)
{
    struct as_step *step = as_pass_inner(o, slot);

    if (!see_quant(o, slot, out) || n_scales(o, out) != 1)
        return false;
    return !step || as_pass_add(&w->parts, step);
}

static bool add_in(struct island *w, uint32_t slot)
{
    if (w->n_in == MAX_IN)
        return false;
    w->in[w->n_in++] = slot;
    return true;
}

/* Scale and zero point; a zero point that was left out is made. */
static bool add_scale(struct as_pass_graph *o, struct island *w, const struct quant *x)
{
    uint32_t zero = x->zero;
    struct as_dims dims;

    if (zero == AS_NONE && as_type_dims(&o->p->slots[x->scale].type, &dims))
        zero = as_pass_fill(o, "zero point", x->dtype, &dims, 0);
    return zero != AS_NONE && add_in(w, x->scale) && add_in(w, zero);
}

static bool add_tensor(struct as_pass_graph *o, struct island *w, const struct quant *x)
{
    return add_in(w, x->q) && add_scale(o, w, x);
}

/* ---- products ---- */

/* Where products are narrow, weights that are not are left as the floats they mean: computed so
 * they are right, and faster than integers in plain C. */
static bool are_usable(struct as_pass_graph *o, const struct quant *w)
{
    const struct as_val *val = as_exec_plan_constant(o->p, w->q, o->err), *zero = NULL;

    if (!val || !o->p->narrow_products || !o->p->has_library)
        return val != NULL;
    if (w->zero != AS_NONE)
        zero = as_exec_plan_constant(o->p, w->zero, o->err);
    return as_weights_are_narrow(val, zero && zero->n ? as_val_i64(zero, 0) : 0);
}

/* Weights of one scale, or one for each of `n` channels along `axis`. */
static bool see_weights(struct as_pass_graph *o, uint32_t slot, int64_t n, int64_t axis,
                        struct quant *out)
{
    uint64_t scales;

    if (!see_quant(o, slot, out) || !as_slot_is_const(o->p, out->q))
        return false;
    scales = n_scales(o, out);
    return (scales == 1 || (scales == (uint64_t)n && out->axis == axis)) && are_usable(o, out);
}

/* The bias in units of what the sums are in; false: it is no constant, or does not fit. */
static bool add_bias(struct as_pass_graph *o, struct island *w, uint32_t slot,
                     const struct quant *x, const struct quant *weights, int64_t n)
{
    struct as_dims dims = {.rank = 1, .at = {n}};
    const struct as_val *bias, *scales;
    struct as_val val = {0};
    double x_scale = 0;

    if (!as_slot_is_const(o->p, slot) || !as_pass_is_float(o, slot) ||
        !as_pass_scalar(o, x->scale, &x_scale))
        return false;
    bias = as_exec_plan_constant(o->p, slot, o->err);
    scales = as_exec_plan_constant(o->p, weights->scale, o->err);
    if (!bias || !scales || bias->n != (uint64_t)n || (scales->n != 1 && scales->n != bias->n) ||
        as_val_new(&val, &o->p->mem, AS_MEM_PARAMETERS, AS_DTYPE_I32, &dims, o->err) < 0)
        return false;
    for (uint64_t i = 0; i < val.n; i++) {
        double unit = x_scale * as_val_f64(scales, scales->n == 1 ? 0 : i);
        double in_units = rint(as_val_f64(bias, i) / unit);

        if (!(fabs(in_units) < 2147483648.0)) {
            as_val_drop(&val);
            return false;
        }
        as_val_put_i64(&val, i, (int64_t)in_units);
    }
    slot = as_exec_plan_constant_slot(o->p, "bias", &val);
    return slot != AS_NONE && add_in(w, slot);
}

static bool make_conv(struct as_pass_graph *o, struct island *w)
{
    const struct as_step *mid = w->mid;
    uint32_t bias = as_pass_in(mid, 2);
    struct quant x, weights;
    int64_t n;

    if (mid->n_in < 2 || mid->in[1] == AS_NONE || o->p->slots[mid->in[1]].type.rank < 3)
        return false;
    n = o->p->slots[mid->in[1]].type.dims[0];
    w->op = AS_OP_QLinearConv;
    return see_plain(o, w, mid->in[0], &x) && see_weights(o, mid->in[1], n, 0, &weights) &&
           add_tensor(o, w, &x) && add_tensor(o, w, &weights) && add_scale(o, w, &w->y) &&
           (bias == AS_NONE || add_bias(o, w, bias, &x, &weights, n));
}

static bool make_gemm(struct as_pass_graph *o, struct island *w)
{
    const struct as_step *mid = w->mid;
    bool turned = as_node_int(mid->spec, "transB", 0) != 0;
    uint32_t bias = as_pass_in(mid, 2);
    struct quant x, weights;
    int64_t n;

    if (mid->n_in < 2 || mid->in[1] == AS_NONE || o->p->slots[mid->in[1]].type.rank != 2 ||
        as_node_float(mid->spec, "alpha", 1) != 1 || as_node_float(mid->spec, "beta", 1) != 1 ||
        as_node_int(mid->spec, "transA", 0))
        return false;
    n = o->p->slots[mid->in[1]].type.dims[turned ? 0 : 1];
    w->op = AS_OP_MS_QGemm;
    if (!see_plain(o, w, mid->in[0], &x) || !see_weights(o, mid->in[1], n, !turned, &weights) ||
        !add_tensor(o, w, &x) || !add_tensor(o, w, &weights))
        return false;
    if (bias == AS_NONE ? !add_in(w, AS_NONE) : !add_bias(o, w, bias, &x, &weights, n))
        return false;
    return add_scale(o, w, &w->y);
}

static bool make_matmul(struct as_pass_graph *o, struct island *w)
{
    struct quant a, b;

    w->op = AS_OP_QLinearMatMul;
    return w->mid->n_in == 2 && see_plain(o, w, w->mid->in[0], &a) &&
           see_plain(o, w, w->mid->in[1], &b) &&
           (!as_slot_is_const(o->p, b.q) || are_usable(o, &b)) && add_tensor(o, w, &a) &&
           add_tensor(o, w, &b) && add_scale(o, w, &w->y);
}

/* ---- the rest ---- */

static bool make_binary(struct as_pass_graph *o, struct island *w)
{
    struct quant a, b;

    w->op = w->mid->op == AS_OP_Add ? AS_OP_MS_QLinearAdd : AS_OP_MS_QLinearMul;
    return w->mid->n_in == 2 && see_plain(o, w, w->mid->in[0], &a) &&
           see_plain(o, w, w->mid->in[1], &b) && a.dtype == b.dtype && a.dtype == w->y.dtype &&
           add_tensor(o, w, &a) && add_tensor(o, w, &b) && add_scale(o, w, &w->y);
}

static const struct {
    enum as_op op, integer;
} unary[] = {
    {AS_OP_GlobalAveragePool, AS_OP_MS_QLinearGlobalAveragePool},
    {AS_OP_AveragePool, AS_OP_MS_QLinearAveragePool},
    {AS_OP_Sigmoid, AS_OP_MS_QLinearSigmoid},
    {AS_OP_LeakyRelu, AS_OP_MS_QLinearLeakyRelu},
};

static bool make_unary(struct as_pass_graph *o, struct island *w)
{
    struct quant x;

    for (size_t i = 0; i < AS_COUNT_OF(unary); i++)
        if (unary[i].op == w->mid->op)
            w->op = unary[i].integer;
    return see_plain(o, w, w->mid->in[0], &x) && x.dtype == w->y.dtype && add_tensor(o, w, &x) &&
           add_scale(o, w, &w->y);
}

static bool make_concat(struct as_pass_graph *o, struct island *w)
{
    struct quant x;

    w->op = AS_OP_MS_QLinearConcat;
    if (!add_scale(o, w, &w->y))
        return false;
    for (uint32_t i = 0; i < w->mid->n_in; i++)
        if (!see_plain(o, w, w->mid->in[i], &x) || x.dtype != w->y.dtype || !add_tensor(o, w, &x))
            return false;
    return true;
}

static bool same_number(const struct as_pass_graph *o, uint32_t a, uint32_t b)
{
    double x = 0, y = 0;

    if (a == b)
        return true;
    return (a == AS_NONE || as_pass_scalar(o, a, &x)) &&
           (b == AS_NONE || as_pass_scalar(o, b, &y)) && x == y;
}

/* What only moves numbers, or takes the largest, does so with the integers. */
static bool make_mover(struct as_pass_graph *o, struct island *w)
{
    struct quant x;

    if (w->mid->op == AS_OP_Resize && !as_node_text_is(w->mid->spec, "mode", "nearest") &&
        as_node_attr(w->mid->spec, "mode"))
        return false;
    for (uint32_t i = 1; i < w->mid->n_out; i++)
        if (w->mid->out[i] != AS_NONE)
            return false;
    if (!see_plain(o, w, w->mid->in[0], &x) || x.dtype != w->y.dtype ||
        !same_number(o, x.scale, w->y.scale) || !same_number(o, x.zero, w->y.zero))
        return false;
    w->op = w->mid->op;
    if (!add_in(w, x.q))
        return false;
    for (uint32_t i = 1; i < w->mid->n_in; i++)
        if (!add_in(w, w->mid->in[i]))
            return false;
    return true;
}

static const struct {
    enum as_op op;
    bool (*make)(struct as_pass_graph *o, struct island *w);
} makers[] = {
    {AS_OP_Conv, make_conv},         {AS_OP_Gemm, make_gemm},
    {AS_OP_MatMul, make_matmul},     {AS_OP_Add, make_binary},
    {AS_OP_Mul, make_binary},        {AS_OP_GlobalAveragePool, make_unary},
    {AS_OP_AveragePool, make_unary}, {AS_OP_Sigmoid, make_unary},
    {AS_OP_LeakyRelu, make_unary},   {AS_OP_Concat, make_concat},
    {AS_OP_MaxPool, make_mover},     {AS_OP_Reshape, make_mover},
    {AS_OP_Flatten, make_mover},     {AS_OP_Squeeze, make_mover},
    {AS_OP_Unsqueeze, make_mover},   {AS_OP_Transpose, make_mover},
    {AS_OP_Slice, make_mover},       {AS_OP_Gather, make_mover},
    {AS_OP_Resize, make_mover},
};

/* ---- what lies between ---- */

/* Whether the range of the integers cuts at least as much as the activation does. */
static bool is_implied(const struct as_pass_graph *o, const struct as_step *step,
                       const struct quant *y)
{
    double scale, zero = 0, low = 0, high = (double)INFINITY;
    double least = y->dtype == AS_DTYPE_I8 ? -128 : 0, most = y->dtype == AS_DTYPE_I8 ? 127 : 255;

    if (step->op == AS_OP_Clip && !as_pass_clip_bounds(o, step, &low, &high))
        return false;
    if ((step->op != AS_OP_Relu && step->op != AS_OP_Clip) || low > high ||
        !as_pass_scalar(o, y->scale, &scale) || scale <= 0 ||
        (y->zero != AS_NONE && !as_pass_scalar(o, y->zero, &zero)))
        return false;
    return rint(low / scale) + zero <= least && rint(high / scale) + zero >= most;
}

static bool see_island(struct as_pass_graph *o, struct as_step *step, struct island *w)
{
    struct as_step *mid = as_pass_inner(o, step->in[0]);

    *w = (struct island){.last = step};
    w->y = (struct quant){.q = step->out[0],
                          .scale = step->in[1],
                          .zero = as_pass_in(step, 2),
                          .dtype = o->p->slots[step->out[0]].type.dtype};
    if (!is_byte(w->y.dtype) || !as_pass_is_static(o, step->out[0]) ||
        !as_slot_is_const(o->p, w->y.scale) || n_scales(o, &w->y) != 1 ||
        (w->y.zero != AS_NONE && !as_slot_is_const(o->p, w->y.zero)))
        return false;
    while (mid && is_implied(o, mid, &w->y)) {
        if (!as_pass_add(&w->parts, mid))
            return false;
        mid = as_pass_inner(o, mid->in[0]);
    }
    w->mid = mid;
    return mid && !mid->n_post_ops && mid->n_in > 0 && as_pass_add(&w->parts, mid);
}

static int settle(struct as_pass_graph *o, struct island *w)
{
    struct as_step *step = w->last;
    const struct as_node *spec = w->mid->spec;
    int64_t opset = w->op == w->mid->op                          ? w->mid->opset
                    : as_op_domain(w->op) == AS_DOMAIN_MICROSOFT ? 1
                                                                 : 10;
    int rc = as_pass_take(o, step, &w->parts);

    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, w->in, w->n_in);
    step->node = w->mid->node;
    step->graph = w->mid->graph;
    if (rc == ASSAY_OK)
        rc = as_pass_become(o, step, w->op, opset, spec->attrs, spec->n_attrs);
    return rc;
}

/* ---- what stays in floats, and why ---- */

static bool is_dense(const struct as_step *step)
{
    return step->op == AS_OP_Conv || step->op == AS_OP_Gemm || step->op == AS_OP_MatMul;
}

/* Of a GEMM or convolution that has quantized tensors before and behind. */
static const char *why_not_made(struct as_pass_graph *o, const struct island *w)
{
    const struct as_step *mid = w->mid;
    struct quant x, weights;

    if (mid->n_in < 2 || mid->in[1] == AS_NONE || !see_quant(o, mid->in[0], &x))
        return "its input is not dequantized from int8";
    if (n_scales(o, &x) != 1)
        return "its input has one scale per channel, not one per tensor";
    if (!see_quant(o, mid->in[1], &weights))
        return "its weights are not dequantized from int8";
    if (as_slot_is_const(o->p, weights.q) && !are_usable(o, &weights))
        return "its weights need more than the 7 bits that this CPU can add up exactly";
    if (mid->op == AS_OP_Gemm &&
        (as_node_float(mid->spec, "alpha", 1) != 1 || as_node_float(mid->spec, "beta", 1) != 1))
        return "its alpha or beta is not 1";
    if (as_pass_in(mid, 2) != AS_NONE && !as_slot_is_const(o->p, mid->in[2]))
        return "its bias is not a constant";
    return "other operators read what is between its DequantizeLinear and QuantizeLinear, or its "
           "scales do not fit";
}

/* Of one whose output goes elsewhere before it is quantized. */
static const char *why_no_island(const struct as_pass_graph *o, const struct as_step *step)
{
    const struct as_step *reader = NULL;

    if (as_pass_uses(o, step->out[0]) != 1)
        return "its output is read by several operators before it is quantized";
    for (uint32_t i = 0; i < o->p->plans[o->plan].n_steps && !reader; i++) {
        const struct as_step *other = &o->p->plans[o->plan].steps[i];

        for (uint32_t k = 0; k < other->n_in && !other->dead; k++)
            if (other->in[k] == step->out[0])
                reader = other;
    }
    if (reader && is_quantize(reader))
        return "its output is not quantized to int8 with one scale";
    if (reader && (reader->op == AS_OP_Relu || reader->op == AS_OP_Clip))
        return "the activation behind it is not what the range of its QuantizeLinear cuts: use an "
               "asymmetric uint8 output with zero point 0, or int8 with zero point -128";
    return "its output is not quantized before the next operator reads it";
}

static bool reads_quantized(const struct as_pass_graph *o, const struct as_step *step)
{
    struct quant x;

    return step->n_in > 0 && step->in[0] != AS_NONE && see_quant(o, step->in[0], &x);
}

/* Those that no QuantizeLinear was the end of: the first ones, since each looks at every step. */
static int explain(struct as_pass_graph *o)
{
    size_t n = 0;

    for (o->plan = 0; o->plan < o->p->n_plans; o->plan++)
        for (uint32_t i = 0; i < o->p->plans[o->plan].n_steps; i++) {
            struct as_step *step = &o->p->plans[o->plan].steps[i];

            if (n < MAX_EXPLAINED && !step->dead && !step->why && is_dense(step) &&
                reads_quantized(o, step)) {
                step->why = why_no_island(o, step);
                n++;
            }
        }
    o->plan = 0;
    return ASSAY_OK;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    struct island w;

    if (!is_quantize(step) || !see_island(o, step, &w))
        return ASSAY_OK;
    for (size_t i = 0; i < AS_COUNT_OF(makers); i++) {
        if (makers[i].op != w.mid->op)
            continue;
        if (makers[i].make(o, &w) && o->p->kernels[w.op] && as_pass_closed(o, &w.parts, step))
            return settle(o, &w);
        if (is_dense(w.mid))
            w.mid->why = why_not_made(o, &w);
    }
    return ASSAY_OK;
}

const struct as_pass as_pass_qdq = {.visit = visit, .finish = explain};
