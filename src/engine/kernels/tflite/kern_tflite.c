/* engine/kernels/tflite/kern_tflite.c - TensorFlow Lite: finds the kernel of an operator, and
 * around it turns quantised integers into the numbers they stand for and back, rounding half away
 * from zero. */
#include "engine/kernels/tflite/kern_tflite.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/kernels/rnn/kern_rnn_act.h"

static const struct as_tfl_kernel *find_tfl(enum as_op op)
{
    static const struct as_tfl_kernel *const tables[] = {as_tfl_layers, as_tfl_math, as_tfl_shapes};

    for (size_t t = 0; t < AS_COUNT_OF(tables); t++)
        for (const struct as_tfl_kernel *row = tables[t]; row->op != AS_OP_UNKNOWN; row++)
            if (row->op == op)
                return row;
    return NULL;
}

int as_tfl_activate(struct as_kernel_ctx *k)
{
    static const struct {
        const char *name;
        struct as_act act;
    } acts[] = {
        {"RELU", {AS_ACT_RELU, 0, 0}},
        {"RELU_N1_TO_1", {AS_ACT_CLIP, -1, 1}},
        {"RELU6", {AS_ACT_CLIP, 0, 6}},
        {"TANH", {AS_ACT_TANH, 0, 0}},
    };
    struct as_text name;

    if (!as_node_text(k->node, "fused_activation_function", &name) || name.size == 0 ||
        as_node_text_is(k->node, "fused_activation_function", "NONE"))
        return ASSAY_OK;
    if (k->out[0]->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "an activation of %s", as_dtype_name(k->out[0]->dtype));
    for (size_t i = 0; i < AS_COUNT_OF(acts); i++)
        if (as_node_text_is(k->node, "fused_activation_function", acts[i].name)) {
            as_act_run(&acts[i].act, k->out[0]->data, k->out[0]->n);
            return ASSAY_OK;
        }
    return as_kernel_cannot(k, "the activation %.*s", (int)(name.size & 63), name.at);
}

/* Kernels of ONNX rely on types that its shape rules have checked; here a file can say anything. */
static int check_same(struct as_kernel_ctx *k, enum as_op as)
{
    const struct as_val *out = k->out[0];
    bool choice = as == AS_OP_Where;
    unsigned dtype = as_has_in(k, choice) ? k->in[choice]->dtype : (unsigned)AS_DTYPE_UNKNOWN;
    int64_t steps[AS_MAX_RANK];
    struct as_dims dims;

    as_val_dims(out, &dims);
    for (size_t i = 0; i < k->n_in; i++) {
        if (!as_has_in(k, i) || !as_strides_broadcast(k->in[i], &dims, steps))
            return as_kernel_fail(k, "input %zu does not fit the output", i);
        if (k->in[i]->dtype != (choice && i == 0 ? (unsigned)AS_DTYPE_BOOL : dtype))
            return as_kernel_cannot(k, "%s together with %s", as_dtype_name(dtype),
                                    as_dtype_name(k->in[i]->dtype));
    }
    if (k->n_in == 1 && out->n != k->in[0]->n)
        return as_kernel_fail(k, "its input does not fit its output");
    if (out->dtype != dtype && out->dtype != AS_DTYPE_BOOL && as != AS_OP_Cast)
        return as_kernel_cannot(k, "%s becomes %s", as_dtype_name(dtype),
                                as_dtype_name(out->dtype));
    return ASSAY_OK;
}

static int delegate(struct as_kernel_ctx *k, enum as_op as)
{
    return as_kernel_delegate(
        k, &(struct as_delegate){.op = as, .attrs = k->node->attrs, .n_attrs = k->node->n_attrs});
}

int as_tfl_moved(struct as_kernel_ctx *k)
{
    const struct as_tfl_kernel *row = find_tfl(k->node->op);

    return delegate(k, row ? row->as : AS_OP_UNKNOWN);
}

int as_tfl_same(struct as_kernel_ctx *k)
{
    const struct as_tfl_kernel *row = find_tfl(k->node->op);
    int rc = check_same(k, row ? row->as : AS_OP_UNKNOWN);

    return rc < 0 || !row ? rc : delegate(k, row->as);
}

int as_tfl_same_activated(struct as_kernel_ctx *k)
{
    int rc = as_tfl_same(k);

    return rc < 0 ? rc : as_tfl_activate(k);
}

/* ---- quantisation ---- */

static bool is_quantised(const struct as_value *value, const struct as_val *val)
{
    if (!value || !value->quant || val->kind != AS_VALUE_TENSOR)
        return false;
    return val->dtype == AS_DTYPE_I8 || val->dtype == AS_DTYPE_U8 || val->dtype == AS_DTYPE_I16 ||
           val->dtype == AS_DTYPE_I32;
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

/* What a float value in place of a quantised one is filled with: nothing yet, the numbers it stands
 * for, or those in steps of its scale, which are whole. */
enum filling { ROOM, NUMBERS, STEPS };

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
    for (uint64_t i = 0; filling != ROOM && i < val->n; i += run) {
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

static void quantise(const struct as_quant *q, const struct as_val *real, struct as_val *val)
{
    uint64_t run = run_of(q, val);

    for (uint64_t i = 0; i < val->n; i += run) {
        uint64_t s = q->n == 1 ? 0 : i / run % q->n;

        put_back(val, i, run, (float)zero_at(q, s), q->scales[s], (const float *)real->data + i);
    }
}

/* ---- running ---- */

/* The node's values with floats in place of what is quantised. */
struct reals {
    const struct as_val **ins;
    struct as_val **outs;
    struct as_val *capacity;
};

static int make_reals(struct as_kernel_ctx *k, struct reals *r)
{
    int rc = ASSAY_OK;

    r->ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(struct as_val *));
    r->outs = as_arena_zero(k->scratch, k->n_out + 1, sizeof(struct as_val *));
    r->capacity = as_arena_zero(k->scratch, k->n_in + k->n_out + 1, sizeof *r->capacity);
    if (!r->ins || !r->outs || !r->capacity)
        return as_fail_nomem(k->err);
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_in; i++) {
        const struct as_value *value = as_node_input(k->graph, k->node, i);

        r->ins[i] = k->in[i];
        if (!k->in[i] || !is_quantised(value, k->in[i]))
            continue;
        rc = make_real(k, value->quant, k->in[i], NUMBERS, &r->capacity[i]);
        r->ins[i] = &r->capacity[i];
    }
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_out; i++) {
        const struct as_value *value = as_node_output(k->graph, k->node, i);

        r->outs[i] = k->out[i];
        if (!k->out[i] || !is_quantised(value, k->out[i]))
            continue;
        rc = make_real(k, value->quant, k->out[i], ROOM, &r->capacity[k->n_in + i]);
        r->outs[i] = &r->capacity[k->n_in + i];
    }
    return rc;
}

/* ---- in whole steps ---- */

/* Sums of products of small whole numbers are exact in floats as long as they stay below 2^24, so
 * that layers that are such sums are only rounded where they are quantised again. */
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
    return op == AS_OP_TFL_CONV_2D || op == AS_OP_TFL_DEPTHWISE_CONV_2D ||
           op == AS_OP_TFL_FULLY_CONNECTED;
}

static bool read_bounds(const struct as_node *node, double step, struct whole *w)
{
    const char *name = "fused_activation_function";
    struct as_text text;

    w->least = -HUGE_VAL;
    w->most = HUGE_VAL;
    if (!as_node_text(node, name, &text) || text.size == 0 || as_node_text_is(node, name, "NONE"))
        return true;
    w->least = as_node_text_is(node, name, "RELU_N1_TO_1") ? -1 / step : 0;
    if (as_node_text_is(node, name, "RELU_N1_TO_1"))
        w->most = 1 / step;
    else if (as_node_text_is(node, name, "RELU6"))
        w->most = 6 / step;
    else
        return as_node_text_is(node, name, "RELU");
    return true;
}

/* Whether the node is a layer to be run so, and how. */
static bool is_whole(const struct as_kernel_ctx *k, struct whole *w)
{
    static const enum as_op linear[] = {AS_OP_TFL_AVERAGE_POOL_2D, AS_OP_TFL_MAX_POOL_2D,
                                        AS_OP_TFL_MEAN, AS_OP_TFL_RESIZE_BILINEAR,
                                        AS_OP_TFL_RESIZE_NEAREST_NEIGHBOR};
    const struct as_value *in = as_node_input(k->graph, k->node, 0);
    const struct as_value *weights = as_node_input(k->graph, k->node, 1);
    const struct as_value *out = as_node_output(k->graph, k->node, 0);
    bool known = has_weights(k->node->op);

    *w = (struct whole){0};
    for (size_t i = 0; i < AS_COUNT_OF(linear); i++)
        known |= linear[i] == k->node->op;
    if (!known || !is_quantised(in, k->in[0]) || !is_small(k, 0) || in->quant->n != 1 ||
        !is_quantised(out, k->out[0]) || out->quant->n != 1 || !(out->quant->scales[0] > 0))
        return false;
    w->x = in->quant;
    w->out = out->quant;
    if (has_weights(k->node->op)) {
        if (!as_has_in(k, 1) || !is_quantised(weights, k->in[1]) || !is_small(k, 1) ||
            (as_has_in(k, 2) && k->in[2]->dtype != AS_DTYPE_I32))
            return false;
        w->w = weights->quant;
        if (w->w->n > 1 && k->out[0]->dims[k->out[0]->rank - 1] != (int64_t)w->w->n)
            return false;
    }
    return read_bounds(k->node, (double)w->out->scales[0], w);
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

static int quantise_steps(struct as_kernel_ctx *k, const struct whole *w, const struct as_val *real,
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

static int run_whole(struct as_kernel_ctx *k, const struct as_tfl_kernel *row,
                     const struct whole *w)
{
    static const float one = 1;
    static const int64_t zero = 0;
    static const struct as_quant plain = {1, 0, &one, &zero};
    struct as_attr *attrs = as_arena_zero(k->scratch, k->node->n_attrs + 1, sizeof *attrs);
    const struct as_val **ins = as_arena_zero(k->scratch, k->n_in + 1, sizeof(struct as_val *));
    struct as_val *capacity = as_arena_zero(k->scratch, 4, sizeof *capacity), *outs[1];
    struct as_kernel_ctx inner = *k;
    struct as_node node = *k->node;
    int rc;

    if (!attrs || !ins || !capacity)
        return as_fail_nomem(k->err);
    node.n_attrs = 0;
    for (uint32_t i = 0; i < k->node->n_attrs; i++)
        if (strcmp(k->node->attrs[i].name, "fused_activation_function") != 0)
            attrs[node.n_attrs++] = k->node->attrs[i];
    node.attrs = attrs;
    memcpy(ins, k->in, k->n_in * sizeof(struct as_val *));
    outs[0] = &capacity[3];
    rc = make_real(k, w->out, k->out[0], ROOM, outs[0]);
    for (size_t i = 0; rc == ASSAY_OK && i < (w->w ? 3 : 1); i++) {
        if (!as_has_in(k, i))
            continue;
        rc = make_real(k, i == 0 ? w->x : i == 1 ? w->w : &plain, k->in[i], STEPS, &capacity[i]);
        ins[i] = &capacity[i];
    }
    if (rc < 0)
        return rc;
    inner.node = &node;
    inner.in = ins;
    inner.out = outs;
    inner.n_out = 1;
    rc = row->run(&inner);
    return rc < 0 ? rc : quantise_steps(k, w, &capacity[3], k->out[0]);
}

static int run(struct as_kernel_ctx *k)
{
    const struct as_tfl_kernel *row = find_tfl(k->node->op);
    struct as_kernel_ctx inner = *k;
    struct whole whole;
    struct reals r;
    int rc;

    if (!row || !row->run || !as_has_in(k, 0) || !as_has_out(k, 0))
        return as_kernel_fail(k, "its input or output is missing");
    if (is_whole(k, &whole))
        return run_whole(k, row, &whole);
    rc = make_reals(k, &r);
    if (rc < 0)
        return rc;
    inner.in = r.ins;
    inner.out = r.outs;
    rc = row->run(&inner);
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_out; i++)
        if (r.outs[i] != k->out[i])
            quantise(as_node_output(k->graph, k->node, i)->quant, r.outs[i], k->out[i]);
    return rc;
}

#define RUN(name)                                                                                  \
    {                                                                                              \
        AS_OP_TFL_##name, run, 0                                                                   \
    }
#define VIEW(name)                                                                                 \
    {                                                                                              \
        AS_OP_TFL_##name, NULL, AS_KERNEL_VIEW                                                     \
    }

/* One row for each of kern_tfl_*.c. */
const struct as_kernel as_kernels_tflite[] = {
    VIEW(RESHAPE),
    VIEW(SQUEEZE),
    VIEW(EXPAND_DIMS),
    RUN(CONV_2D),
    RUN(DEPTHWISE_CONV_2D),
    RUN(TRANSPOSE_CONV),
    RUN(FULLY_CONNECTED),
    RUN(BATCH_MATMUL),
    RUN(AVERAGE_POOL_2D),
    RUN(MAX_POOL_2D),
    RUN(L2_POOL_2D),
    RUN(ADD),
    RUN(SUB),
    RUN(MUL),
    RUN(DIV),
    RUN(POW),
    RUN(MAXIMUM),
    RUN(MINIMUM),
    RUN(ADD_N),
    RUN(SQUARED_DIFFERENCE),
    RUN(SQUARE),
    RUN(RSQRT),
    RUN(LESS),
    RUN(LESS_EQUAL),
    RUN(GREATER),
    RUN(GREATER_EQUAL),
    RUN(EQUAL),
    RUN(LOGICAL_AND),
    RUN(LOGICAL_OR),
    RUN(LOGICAL_NOT),
    RUN(SELECT),
    RUN(SELECT_V2),
    RUN(RELU),
    RUN(RELU6),
    RUN(RELU_N1_TO_1),
    RUN(RELU_0_TO_1),
    RUN(LOGISTIC),
    RUN(TANH),
    RUN(EXP),
    RUN(LOG),
    RUN(SQRT),
    RUN(NEG),
    RUN(ABS),
    RUN(SIGN),
    RUN(SIN),
    RUN(COS),
    RUN(FLOOR),
    RUN(CEIL),
    RUN(ROUND),
    RUN(ELU),
    RUN(LEAKY_RELU),
    RUN(PRELU),
    RUN(HARD_SWISH),
    RUN(GELU),
    RUN(SOFTMAX),
    RUN(LOG_SOFTMAX),
    RUN(L2_NORMALIZATION),
    RUN(QUANTIZE),
    RUN(DEQUANTIZE),
    RUN(CAST),
    RUN(MEAN),
    RUN(SUM),
    RUN(REDUCE_MAX),
    RUN(REDUCE_MIN),
    RUN(REDUCE_PROD),
    RUN(ARG_MAX),
    RUN(ARG_MIN),
    RUN(CONCATENATION),
    RUN(PACK),
    RUN(UNPACK),
    RUN(SPLIT),
    RUN(SPLIT_V),
    RUN(SLICE),
    RUN(STRIDED_SLICE),
    RUN(TRANSPOSE),
    RUN(PAD),
    RUN(PADV2),
    RUN(MIRROR_PAD),
    RUN(GATHER),
    RUN(GATHER_ND),
    RUN(TILE),
    RUN(BROADCAST_TO),
    RUN(SHAPE),
    RUN(RANGE),
    RUN(FILL),
    RUN(ZEROS_LIKE),
    RUN(RESIZE_BILINEAR),
    RUN(RESIZE_NEAREST_NEIGHBOR),
    RUN(DEPTH_TO_SPACE),
    RUN(SPACE_TO_DEPTH),
    RUN(SPACE_TO_BATCH_ND),
    RUN(BATCH_TO_SPACE_ND),
    {AS_OP_UNKNOWN, NULL, 0},
};
