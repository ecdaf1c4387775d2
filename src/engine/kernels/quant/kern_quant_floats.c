/* engine/kernels/quant/kern_quant_floats.c - runs kernels that know only floats on quantized
 * tensors, as TensorFlow Lite has them: integers become the numbers they stand for and results are
 * rounded back, half away from zero. */
#include "engine/kernels/quant/kern_quant.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/exec.h"
#include "engine/half.h"

static bool is_quantized(const struct as_value *value, const struct as_val *val)
{
    return value && value->quant && val->kind == AS_VALUE_TENSOR &&
           as_dtype_is_quantized(val->dtype);
}

/* Elements that share one scale, one after the other. */
static uint64_t run_of(const struct as_quant *q, const struct as_val *val)
{
    uint64_t n = 1;

    if (q->n == 1)
        return val->n ? val->n : 1;
    for (int i = q->axis + 1; i < val->rank; i++)
        n *= (uint64_t)val->dims[i];
    return n ? n : 1;
}

#define WIDEN(T)                                                                                   \
    for (uint64_t i = 0; i < n; i++)                                                               \
        to[i] = (float)((int32_t)((const T *)val->data)[from + i] - zero) * scale;                 \
    break

AS_VECTOR(static, widen,
          (const struct as_val *val, uint64_t from, uint64_t n, int32_t zero, float scale,
           float *to),
          (val, from, n, zero, scale, to))
{
    switch (val->dtype) {
    case AS_DTYPE_I8:
        WIDEN(int8_t);
    case AS_DTYPE_U8:
        WIDEN(uint8_t);
    case AS_DTYPE_I16:
        WIDEN(int16_t);
    default:
        for (uint64_t i = 0; i < n; i++)
            to[i] =
                (float)((double)(((const int32_t *)val->data)[from + i]) - (double)zero) * scale;
    }
}

static int32_t zero_at(const struct as_quant *q, uint64_t i)
{
    int64_t zero = q->zero_points[i];

    return zero < INT16_MIN ? INT16_MIN : zero > UINT16_MAX ? UINT16_MAX : (int32_t)zero;
}

/* What a float value in place of a quantized one is filled with: nothing yet, the numbers it stands
 * for, or those in steps of its scale, which are whole. */
enum filling { EMPTY, NUMBERS, STEPS };

static int make_real(struct as_kernel_ctx *k, const struct as_quant *q, const struct as_val *val,
                     enum filling filling, struct as_val *real)
{
    uint64_t run = run_of(q, val);

    *real = *val;
    real->hold = NULL;
    real->dtype = AS_DTYPE_F32;
    real->bytes = val->n * sizeof(float);
    real->data = as_kernel_work(k, val->n, sizeof(float));
    if (!real->data)
        return ASSAY_ERR_NOMEM;
    if (q->n != 1 && (!q->n || q->axis >= val->rank || val->dims[q->axis] != (int64_t)q->n))
        return as_kernel_fail(k, "%u scales for a tensor of another shape", q->n);
    for (uint64_t i = 0; filling != EMPTY && i < val->n; i += run) {
        uint64_t s = q->n == 1 ? 0 : i / run % q->n;

        widen(val, i, run, zero_at(q, s), filling == STEPS ? 1 : q->scales[s],
              (float *)real->data + i);
    }
    return ASSAY_OK;
}

struct range {
    float least, most;
};

static struct range range_of(unsigned dtype)
{
    switch (dtype) {
    case AS_DTYPE_I8:
        return (struct range){-128, 127};
    case AS_DTYPE_U8:
        return (struct range){0, 255};
    case AS_DTYPE_I16:
        return (struct range){-32768, 32767};
    default:
        return (struct range){-2147483648.0f, 2147483520.0f};
    }
}

/* Half away from zero; what is no number becomes 0. */
static inline float narrow(float x, float scale, float zero, const struct range *r)
{
    float y = x / scale;

    y = truncf(y + (y < 0 ? -0.5f : 0.5f)) + zero;
    y = y < r->least ? r->least : y > r->most ? r->most : y;
    return y == y ? y : 0;
}

#define NARROW(T)                                                                                  \
    for (uint64_t i = 0; i < n; i++)                                                               \
        ((T *)val->data)[from + i] = (T)narrow(x[i], scale, zero, &r);                             \
    break

AS_VECTOR(static, put_back,
          (struct as_val * val, uint64_t from, uint64_t n, float zero, float scale, const float *x),
          (val, from, n, zero, scale, x))
{
    struct range r = range_of(val->dtype);

    switch (val->dtype) {
    case AS_DTYPE_I8:
        NARROW(int8_t);
    case AS_DTYPE_U8:
        NARROW(uint8_t);
    case AS_DTYPE_I16:
        NARROW(int16_t);
    default:
        NARROW(int32_t);
    }
}

static void quantize(const struct as_quant *q, const struct as_val *real, struct as_val *val)
{
    uint64_t run = run_of(q, val);

    for (uint64_t i = 0; i < val->n; i += run) {
        uint64_t s = q->n == 1 ? 0 : i / run % q->n;

        put_back(val, i, run, (float)zero_at(q, s), q->scales[s], (const float *)real->data + i);
    }
}

/* ---- running ---- */

/* The node's values with floats in place of what is quantized. */
struct reals {
    const struct as_val **ins;
    struct as_val **outs;
    struct as_val *reals;
};

static int make_reals(struct as_kernel_ctx *k, struct reals *r)
{
    int rc = ASSAY_OK;

    r->ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(struct as_val *));
    r->outs = as_arena_zero(k->scratch, k->n_out + 1, sizeof(struct as_val *));
    r->reals = as_arena_zero(k->scratch, k->n_in + k->n_out + 1, sizeof *r->reals);
    if (!r->ins || !r->outs || !r->reals)
        return as_fail_nomem(k->err);
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_in; i++) {
        const struct as_value *value = as_node_input(k->graph, k->node, i);

        r->ins[i] = k->in[i];
        if (!k->in[i] || !is_quantized(value, k->in[i]))
            continue;
        rc = make_real(k, value->quant, k->in[i], NUMBERS, &r->reals[i]);
        r->ins[i] = &r->reals[i];
    }
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_out; i++) {
        const struct as_value *value = as_node_output(k->graph, k->node, i);

        r->outs[i] = k->out[i];
        if (!k->out[i] || !is_quantized(value, k->out[i]))
            continue;
        rc = make_real(k, value->quant, k->out[i], EMPTY, &r->reals[k->n_in + i]);
        r->outs[i] = &r->reals[k->n_in + i];
    }
    return rc;
}

/* The shape rules went by the types of the file. The kernel sees floats in place of some of them:
 * it must make of those what its outputs are. */
static int check_types(struct as_kernel_ctx *k, struct as_step *step)
{
    struct as_type *types = as_arena_zero(k->scratch, k->n_out + 1, sizeof *types);
    int rc;

    if (!types)
        return as_fail_nomem(k->err);
    step->knows_types |= step->spec->op == AS_OP_Cast; /* makes of its input what the output is */
    rc = step->knows_types ? ASSAY_OK : as_exec_types(k->exec, step, k->in, types);
    for (size_t i = 0; rc == ASSAY_OK && !step->knows_types && i < k->n_out; i++)
        if (k->out[i] && types[i].dtype != k->out[i]->dtype)
            return as_kernel_cannot(k, "output %zu of quantized inputs is %s, not %s", i,
                                    as_dtype_name(types[i].dtype), as_dtype_name(k->out[i]->dtype));
    step->knows_types = rc == ASSAY_OK;
    return rc;
}

/* ---- in whole steps ---- */

/* Sums of products of small whole numbers are exact in floats as long as they stay below 2^24, so
 * that layers that are such sums are only rounded where they are quantized again. */
struct whole {
    const struct as_quant *x, *w, *out; /* w: NULL when there are no weights */
    double least, most;                 /* the activation, in steps of the output */
};

static bool is_small(const struct as_kernel_ctx *k, size_t i)
{
    return k->in[i]->dtype == AS_DTYPE_I8 || k->in[i]->dtype == AS_DTYPE_U8;
}

static bool has_weights(enum as_op op)
{
    return op == AS_OP_Conv || op == AS_OP_Gemm;
}

static bool read_bounds(const struct as_step *step, struct whole *w)
{
    double size = (double)w->out->scales[0];

    w->least = -HUGE_VAL;
    w->most = HUGE_VAL;
    if (step->n_post_ops == 0)
        return true;
    w->least = (double)step->post_ops[0].alpha / size;
    if (step->post_ops[0].op == AS_OP_Clip)
        w->most = (double)step->post_ops[0].beta / size;
    return step->n_post_ops == 1 &&
           (step->post_ops[0].op == AS_OP_Clip || step->post_ops[0].op == AS_OP_Relu);
}

/* Whether the node is a layer to be run so, and how. */
static bool is_whole(const struct as_kernel_ctx *k, const struct as_step *step, struct whole *w)
{
    static const enum as_op linear[] = {AS_OP_AveragePool, AS_OP_MaxPool, AS_OP_ReduceMean,
                                        AS_OP_Resize};
    const struct as_value *in = as_node_input(k->graph, k->node, 0);
    const struct as_value *weights = as_node_input(k->graph, k->node, 1);
    const struct as_value *out = as_node_output(k->graph, k->node, 0);
    bool known = has_weights(k->node->op);

    *w = (struct whole){0};
    for (size_t i = 0; i < AS_COUNT_OF(linear); i++)
        known |= linear[i] == k->node->op;
    if (!known || !as_has_in(k, 0) || !is_quantized(in, k->in[0]) || !is_small(k, 0) ||
        in->quant->n != 1 || !is_quantized(out, k->out[0]) || out->quant->n != 1 ||
        !(out->quant->scales[0] > 0))
        return false;
    w->x = in->quant;
    w->out = out->quant;
    if (has_weights(k->node->op)) {
        if (!as_has_in(k, 1) || !is_quantized(weights, k->in[1]) || !is_small(k, 1) ||
            (as_has_in(k, 2) && k->in[2]->dtype != AS_DTYPE_I32))
            return false;
        w->w = weights->quant;
        if (w->w->n > 1 &&
            (k->out[0]->rank < 1 || k->out[0]->dims[k->out[0]->rank - 1] != (int64_t)w->w->n))
            return false;
    }
    return read_bounds(step, w);
}

/* `factor` is one for each of n channels. */
struct rescale {
    const double *factor;
    uint64_t n;
    double zero, least, most, low, high; /* of the activation; of the type */
};

static inline double rescaled(const struct rescale *r, float x, uint64_t channel)
{
    double y = (double)x * r->factor[channel];

    y = y < r->least ? r->least : y > r->most ? r->most : y;
    y = trunc(y + (y < 0 ? -0.5 : 0.5)) + r->zero;
    y = y < r->low ? r->low : y > r->high ? r->high : y;
    return y == y ? y : 0;
}

#define RESCALE(T)                                                                                 \
    for (uint64_t i = 0; i < out->n; i += r->n)                                                    \
        for (uint64_t c = 0; c < r->n; c++)                                                        \
            ((T *)out->data)[i + c] = (T)rescaled(r, x[i + c], c);                                 \
    break

AS_VECTOR(static, rescale, (const struct rescale *r, const float *x, struct as_val *out),
          (r, x, out))
{
    switch (out->dtype) {
    case AS_DTYPE_I8:
        RESCALE(int8_t);
    case AS_DTYPE_U8:
        RESCALE(uint8_t);
    case AS_DTYPE_I16:
        RESCALE(int16_t);
    default:
        RESCALE(int32_t);
    }
}

static int quantize_steps(struct as_kernel_ctx *k, const struct whole *w, const struct as_val *real,
                          struct as_val *out)
{
    struct range range = range_of(out->dtype);
    struct rescale r = {.n = w->w ? w->w->n : 1,
                        .zero = (double)zero_at(w->out, 0),
                        .least = w->least,
                        .most = w->most,
                        .low = (double)range.least,
                        .high = (double)range.most};
    double *factor = as_kernel_work(k, r.n, sizeof *factor);

    if (!factor)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < r.n; i++)
        factor[i] = (double)w->x->scales[0] / (double)w->out->scales[0] *
                    (w->w ? (double)w->w->scales[i] : 1);
    r.factor = factor;
    rescale(&r, real->data, out);
    return ASSAY_OK;
}

static int run_whole(struct as_kernel_ctx *k, struct as_step *step, const struct whole *w)
{
    static const float one = 1;
    static const int64_t zero = 0;
    static const struct as_quant plain = {1, 0, &one, &zero};
    const struct as_val **ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(struct as_val *));
    struct as_val *reals = as_arena_zero(k->scratch, 4, sizeof *reals), *outs[1];
    struct as_kernel_ctx inner = *k;
    int rc;

    if (!ins || !reals)
        return as_fail_nomem(k->err);
    memcpy(ins, k->in, k->n_in * sizeof(struct as_val *));
    outs[0] = &reals[3];
    rc = make_real(k, w->out, k->out[0], EMPTY, outs[0]);
    for (size_t i = 0; rc == ASSAY_OK && i < (w->w ? 3 : 1); i++) {
        if (!as_has_in(k, i))
            continue;
        rc = make_real(k, i == 0 ? w->x : i == 1 ? w->w : &plain, k->in[i], STEPS, &reals[i]);
        ins[i] = &reals[i];
    }
    if (rc < 0)
        return rc;
    inner.in = ins;
    inner.out = outs;
    inner.n_out = 1;
    rc = check_types(&inner, step);
    if (rc == ASSAY_OK)
        rc = as_half_run(&inner, step->kernel);
    return rc < 0 ? rc : quantize_steps(k, w, &reals[3], k->out[0]);
}

bool as_quant_applies(const struct as_kernel_ctx *k)
{
    for (size_t i = 0; i < k->n_in; i++)
        if (k->in[i] && is_quantized(as_node_input(k->graph, k->node, i), k->in[i]))
            return true;
    for (size_t i = 0; i < k->n_out; i++)
        if (k->out[i] && is_quantized(as_node_output(k->graph, k->node, i), k->out[i]))
            return true;
    return false;
}

int as_quant_run(struct as_kernel_ctx *k, struct as_step *step)
{
    struct as_kernel_ctx inner = *k;
    struct whole whole;
    struct reals r;
    int rc;

    if (step->kernel->flags & AS_KERNEL_MAKES_OUT || !as_has_out(k, 0))
        return as_kernel_cannot(k, "quantized tensors");
    if (is_whole(k, step, &whole))
        return run_whole(k, step, &whole);
    rc = make_reals(k, &r);
    if (rc < 0)
        return rc;
    inner.in = r.ins;
    inner.out = r.outs;
    rc = check_types(&inner, step);
    if (rc == ASSAY_OK)
        rc = as_half_run(&inner, step->kernel);
    if (rc == ASSAY_OK && as_step_has_post_ops(step))
        rc = as_post_ops_apply(&inner, step);
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_out; i++)
        if (r.outs[i] != k->out[i])
            quantize(as_node_output(k->graph, k->node, i)->quant, r.outs[i], k->out[i]);
    return rc;
}
