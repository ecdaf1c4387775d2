/* engine/kernels/contrib/kern_contrib.c - com.microsoft without attention: what is an operator of
 * ONNX with something fused to it, or the same under another name. */
#include "engine/kernels/contrib/kern_contrib.h"

#include <string.h>

#include "engine/kernels/control/kern_control.h"
#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/gemm/kern_gemm.h"
#include "engine/kernels/rnn/kern_rnn.h"

/* ---- with an activation ---- */

/* The activation named by the node, with up to two parameters from a list or by name. */
static int read_act(struct as_kernel_ctx *k, struct as_act *act)
{
    const struct as_attr *params = as_node_attr(k->node, "activation_params");
    struct as_text name;
    int n_params;

    *act = (struct as_act){AS_ACT_NONE, 0, 0};
    if (!as_node_text(k->node, "activation", &name) || name.size == 0)
        return ASSAY_OK;
    if (!as_act_find(name, act, &n_params))
        return as_kernel_cannot(k, "the activation '%.*s'", (int)(name.size & 63), name.at);
    if (params && params->kind == AS_ATTR_FLOATS) {
        if (n_params > 0 && params->n > 0)
            act->alpha = params->floats[0];
        if (n_params > 1 && params->n > 1)
            act->beta = params->floats[1];
    }
    act->alpha = (float)as_node_float(k->node, "activation_alpha", (double)act->alpha);
    act->beta = (float)as_node_float(k->node, "activation_beta", (double)act->beta);
    return ASSAY_OK;
}

static int fused_conv(struct as_kernel_ctx *k)
{
    struct as_conv conv;
    struct as_act act;
    float *out;
    int rc = read_act(k, &act);

    if (rc < 0)
        return rc;
    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0))
        return as_kernel_fail(k, "the input or the weights are missing");
    conv = (struct as_conv){k->in[0], k->in[1], as_has_in(k, 2) ? k->in[2] : NULL, k->out[0]};
    rc = as_kernel_conv(k, &conv);
    if (rc < 0)
        return rc;
    out = k->out[0]->data;
    if (as_has_in(k, 3)) {
        if (k->in[3]->n != k->out[0]->n || k->in[3]->dtype != AS_DTYPE_F32)
            return as_kernel_fail(k, "what is to be added does not fit");
        for (uint64_t i = 0; i < k->out[0]->n; i++)
            out[i] += ((const float *)k->in[3]->data)[i];
    }
    as_act_run(&act, out, k->out[0]->n);
    return ASSAY_OK;
}

static int fused_gemm(struct as_kernel_ctx *k)
{
    struct as_act act;
    int rc = read_act(k, &act);

    if (rc == ASSAY_OK && as_has_out(k, 0) && k->out[0]->dtype != AS_DTYPE_F32)
        rc = as_kernel_cannot(k, "a product of %s", as_dtype_name(k->out[0]->dtype));
    if (rc == ASSAY_OK)
        rc = as_kernel_gemm(k);
    if (rc == ASSAY_OK)
        as_act_run(&act, k->out[0]->data, k->out[0]->n);
    return rc;
}

static int fused_matmul(struct as_kernel_ctx *k)
{
    struct as_product p = {.alpha = as_node_float(k->node, "alpha", 1)};

    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0))
        return as_kernel_fail(k, "a factor is missing");
    p.a = k->in[0];
    p.b = k->in[1];
    p.out = k->out[0];
    p.turn_a = (struct as_turn){as_node_int(k->node, "transBatchA", 0) != 0,
                                as_node_int(k->node, "transA", 0) != 0};
    p.turn_b = (struct as_turn){as_node_int(k->node, "transBatchB", 0) != 0,
                                as_node_int(k->node, "transB", 0) != 0};
    return as_kernel_product(k, &p);
}

/* ---- channels last ---- */

/* Weights [M, C, k...] to [M, k..., C]. */
static float *turn_weights(struct as_kernel_ctx *k, const struct as_val *w, int64_t taps)
{
    float *to = as_kernel_work(k, w->n, sizeof *to);
    int64_t m = w->dims[0], c = w->dims[1];

    for (int64_t i = 0; to && i < m * c * taps; i++)
        to[(i / taps / c * taps + i % taps) * c + i / taps % c] = ((const float *)w->data)[i];
    return to;
}

static int nhwc_conv(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    const struct as_val *w = as_has_in(k, 1) ? k->in[1] : NULL;
    const struct as_val *bias = as_has_in(k, 2) ? k->in[2] : NULL;
    struct as_slide_rule rule = {.in = x, .out = k->out[0], .first = 1};
    struct as_conv_last v = {.group = as_node_int(k->node, "group", 1)};
    int rc;

    if (!x || !w || !as_has_out(k, 0) || x->dtype != AS_DTYPE_F32 || w->dtype != AS_DTYPE_F32 ||
        x->rank < 3 || w->rank != x->rank || k->out[0]->rank != x->rank ||
        k->out[0]->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "input or weights of this type");
    if (v.group < 1 || w->dims[0] % v.group != 0 || x->dims[x->rank - 1] % v.group != 0 ||
        x->dims[x->rank - 1] / v.group != w->dims[1] || k->out[0]->dims[0] != x->dims[0] ||
        k->out[0]->dims[x->rank - 1] != w->dims[0] ||
        (bias && (bias->dtype != AS_DTYPE_F32 || bias->n != (uint64_t)w->dims[0])))
        return as_kernel_fail(k, "the channels do not fit");
    rule.kernel = w->dims + 2;
    rule.n = x->rank - 2;
    rc = as_slide_read(k, &rule, &v.slide);
    if (rc < 0)
        return rc;
    v.batch = x->dims[0];
    v.channels = w->dims[1];
    v.m = w->dims[0] / v.group;
    v.x = x->data;
    v.w = turn_weights(k, w, v.slide.n_kernel);
    v.bias = bias ? bias->data : NULL;
    v.out = k->out[0]->data;
    return v.w ? as_kernel_conv_last(k, &v) : (int)ASSAY_ERR_NOMEM;
}

/* ---- recurrent ---- */

/* Rows of bytes as floats, each column with its own scale and zero point. */
AS_VECTOR(static, widen_rows,
          (const struct as_val *w, uint64_t first, uint64_t rows, const float *scale,
           const float *zero, float *to),
          (w, first, rows, scale, zero, to))
{
    uint64_t n = (uint64_t)w->dims[2];

    for (uint64_t r = 0; r < rows; r++, to += n) {
        const int8_t *i8 = (const int8_t *)w->data + (first + r) * n;
        const uint8_t *u8 = (const uint8_t *)w->data + (first + r) * n;

        if (w->dtype == AS_DTYPE_I8)
            for (uint64_t i = 0; i < n; i++)
                to[i] = ((float)i8[i] - zero[i]) * scale[i];
        else
            for (uint64_t i = 0; i < n; i++)
                to[i] = ((float)u8[i] - zero[i]) * scale[i];
    }
}

/* Weights of bytes as floats; scales and zero points are one for each direction, or for each of
 * its columns too. */
static int widen(struct as_kernel_ctx *k, size_t weights, size_t scales, size_t zeros, float **to)
{
    const struct as_val *w = as_has_in(k, weights) ? k->in[weights] : NULL;
    const struct as_val *scale = as_has_in(k, scales) ? k->in[scales] : NULL;
    const struct as_val *zero = as_has_in(k, zeros) ? k->in[zeros] : NULL;
    uint64_t columns, dirs, rows;
    float *all;

    if (!w || w->rank != 3 || (w->dtype != AS_DTYPE_I8 && w->dtype != AS_DTYPE_U8) || !scale ||
        !zero || scale->dtype != AS_DTYPE_F32 || !as_dtype_is_integer(zero->dtype) ||
        zero->n != scale->n)
        return as_kernel_fail(k, "weights, scales or zero points are missing");
    dirs = (uint64_t)w->dims[0];
    rows = (uint64_t)w->dims[1];
    columns = (uint64_t)w->dims[2];
    if (scale->n == 0 || (scale->n != 1 && scale->n != dirs && scale->n != dirs * columns))
        return as_kernel_fail(k, "%llu scales for weights of %llu directions",
                              (unsigned long long)scale->n, (unsigned long long)dirs);
    *to = as_kernel_work(k, w->n, sizeof **to);
    all = as_kernel_work(k, 2 * columns, sizeof *all);
    if (!*to || !all)
        return ASSAY_ERR_NOMEM;
    for (uint64_t d = 0; d < dirs; d++) {
        for (uint64_t i = 0; i < columns; i++) {
            uint64_t at = scale->n == 1 ? 0 : scale->n == dirs ? d : d * columns + i;

            all[i] = ((const float *)scale->data)[at];
            all[columns + i] = (float)as_val_i64(zero, at);
        }
        widen_rows(w, d * rows, rows, all, all + columns, *to + d * rows * columns);
    }
    return ASSAY_OK;
}

static int quantized_lstm(struct as_kernel_ctx *k)
{
    struct as_rnn_weights weights = {.swapped = true};
    struct as_kernel_ctx inner = *k;
    float *w = NULL, *r = NULL;
    int64_t dirs = as_node_text_is(k->node, "direction", "bidirectional") ? 2 : 1;
    int rc = widen(k, 1, 8, 9, &w);

    if (rc == ASSAY_OK)
        rc = widen(k, 2, 10, 11, &r);
    if (rc < 0)
        return rc;
    weights.w = w;
    weights.r = r;
    weights.in = k->in[1]->dims[1];
    weights.hidden = k->in[2]->dims[1];
    if (k->in[1]->dims[0] != dirs || k->in[2]->dims[0] != dirs || weights.hidden < 1 ||
        k->in[1]->dims[2] != k->in[2]->dims[2] || k->in[1]->dims[2] % 4 != 0 ||
        k->in[1]->dims[2] / 4 != weights.hidden)
        return as_kernel_fail(k, "the weights do not fit each other");
    inner.n_in = inner.n_in < 8 ? inner.n_in : 8;
    return as_kernel_rnn(&inner, AS_CELL_LSTM, &weights);
}

/* ---- the same under another name ---- */

static int run_onnx_operator(struct as_kernel_ctx *k, enum as_op op)
{
    return as_kernel_delegate(
        k, &(struct as_delegate){.op = op, .attrs = k->node->attrs, .n_attrs = k->node->n_attrs});
}

static int pad(struct as_kernel_ctx *k)
{
    return run_onnx_operator(k, AS_OP_Pad);
}

static int trilu(struct as_kernel_ctx *k)
{
    return run_onnx_operator(k, AS_OP_Trilu);
}

/* The step may be left out. */
static int range(struct as_kernel_ctx *k)
{
    struct as_val one = {
        .dtype = k->out[0]->dtype, .n = 1, .kind = AS_VALUE_TENSOR, .present = true};
    const struct as_val *ins[3] = {NULL};
    uint64_t capacity[2] = {0};

    if (k->n_in < 2 || as_has_in(k, 2))
        return run_onnx_operator(k, AS_OP_Range);
    one.data = capacity;
    one.bytes = as_dtype_at(one.dtype)->block_bytes;
    as_val_put_i64(&one, 0, 1);
    ins[0] = k->in[0];
    ins[1] = k->in[1];
    ins[2] = &one;
    return as_kernel_delegate(k, &(struct as_delegate){.op = AS_OP_Range, .ins = ins, .n_ins = 3});
}

const struct as_kernel as_kernels_microsoft[] = {
    {AS_OP_MS_Gelu, as_ms_gelu, 0},
    {AS_OP_MS_FastGelu, as_ms_gelu, 0},
    {AS_OP_MS_QuickGelu, as_ms_gelu, 0},
    {AS_OP_MS_BiasGelu, as_ms_gelu, 0},
    {AS_OP_MS_BiasSplitGelu, as_ms_bias_split_gelu, 0},
    {AS_OP_MS_BiasSoftmax, as_ms_bias_softmax, 0},
    {AS_OP_MS_SkipLayerNormalization, as_ms_skip_norm, 0},
    {AS_OP_MS_SkipSimplifiedLayerNormalization, as_ms_skip_norm, 0},
    {AS_OP_MS_EmbedLayerNormalization, as_ms_embed_norm, 0},
    {AS_OP_MS_GroupNorm, as_ms_group_norm, 0},
    {AS_OP_MS_SkipGroupNorm, as_ms_group_norm, 0},
    {AS_OP_MS_MatMulNBits, as_ms_matmul_nbits, 0},
    {AS_OP_MS_GatherBlockQuantized, as_ms_gather_blocks, 0},
    {AS_OP_MS_FusedConv, fused_conv, 0},
    {AS_OP_MS_NhwcConv, nhwc_conv, 0},
    {AS_OP_MS_FusedGemm, fused_gemm, 0},
    {AS_OP_MS_FusedMatMul, fused_matmul, 0},
    {AS_OP_MS_TransposeMatMul, fused_matmul, 0},
    {AS_OP_MS_DynamicQuantizeLSTM, quantized_lstm, 0},
    {AS_OP_MS_Pad, pad, AS_KERNEL_HALF},
    {AS_OP_MS_Trilu, trilu, AS_KERNEL_HALF},
    {AS_OP_MS_Range, range, AS_KERNEL_HALF},
    {AS_OP_UNKNOWN, NULL, 0},
};
