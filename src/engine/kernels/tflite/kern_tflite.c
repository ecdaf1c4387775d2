/* engine/kernels/tflite/kern_tflite.c - operators of TensorFlow Lite that none of ONNX stands for,
 * on plain numbers: quantized tensors come as floats (engine/kernels/quant/kern_quant_floats.h),
 * and activations fused to them are applied by the engine. */
#include "engine/kernels/tflite/kern_tflite.h"

#include <math.h>

#include "engine/kernels/control/kern_control.h"
#include "engine/kernels/gemm/kern_gemm.h"

static const struct as_val *in_at(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

static bool is_f32(const struct as_val *val, int rank)
{
    return val && val->dtype == AS_DTYPE_F32 && (rank < 0 || val->rank == rank);
}

/* ---- elements ---- */

static int rsqrt(struct as_kernel_ctx *k)
{
    const float *x = k->in[0]->data;
    float *out = k->out[0]->data;

    if (!is_f32(k->in[0], -1) || !is_f32(k->out[0], -1) || k->in[0]->n != k->out[0]->n)
        return as_kernel_cannot(k, "from %s to %s", as_dtype_name(k->in[0]->dtype),
                                as_dtype_name(k->out[0]->dtype));
    for (uint64_t i = 0; i < k->out[0]->n; i++)
        out[i] = 1 / sqrtf(x[i]);
    return ASSAY_OK;
}

static int squared_difference(struct as_kernel_ctx *k)
{
    int rc = as_kernel_delegate(k, &(struct as_delegate){.op = AS_OP_Sub});

    if (rc < 0)
        return rc;
    if (!is_f32(k->out[0], -1))
        return as_kernel_cannot(k, "a difference of %s", as_dtype_name(k->out[0]->dtype));
    for (uint64_t i = 0; i < k->out[0]->n; i++)
        ((float *)k->out[0]->data)[i] *= ((float *)k->out[0]->data)[i];
    return ASSAY_OK;
}

/* ---- TRANSPOSE_CONV ---- */

struct spread {
    int64_t in[2], out[2], kernel[2], stride[2], before[2], channels;
};

static void add_back(const struct spread *s, const float *columns, float *out)
{
    for (int64_t h = 0; h < s->in[0]; h++)
        for (int64_t w = 0; w < s->in[1]; w++)
            for (int64_t c = 0; c < s->channels; c++)
                for (int64_t kh = 0; kh < s->kernel[0]; kh++)
                    for (int64_t kw = 0; kw < s->kernel[1]; kw++, columns++) {
                        int64_t y = h * s->stride[0] + kh - s->before[0];
                        int64_t x = w * s->stride[1] + kw - s->before[1];

                        if (y >= 0 && y < s->out[0] && x >= 0 && x < s->out[1])
                            out[(y * s->out[1] + x) * s->channels + c] += *columns;
                    }
}

static int read_spread(struct as_kernel_ctx *k, const struct as_val *x, const struct as_val *w,
                       struct spread *s)
{
    static const char *const strides[] = {"stride_h", "stride_w"};

    for (int i = 0; i < 2; i++) {
        int64_t total;

        s->in[i] = x->dims[1 + i];
        s->out[i] = k->out[0]->dims[1 + i];
        s->kernel[i] = w->dims[1 + i];
        s->stride[i] = as_node_int(k->node, strides[i], 1);
        if (s->stride[i] < 1 || s->stride[i] > 1 << 20 || s->in[i] > (int64_t)1 << 32)
            return as_kernel_fail(k, "a stride of %lld", (long long)s->stride[i]);
        total = (s->in[i] - 1) * s->stride[i] + s->kernel[i] - s->out[i];
        if (total > 0 && as_node_text_is(k->node, "padding", "SAME"))
            s->before[i] = total / 2;
    }
    s->channels = w->dims[0];
    return ASSAY_OK;
}

/* Weights [out, h, w, in]; one product for each sample, then its rows are summed into the image. */
static int transpose_conv(struct as_kernel_ctx *k)
{
    const struct as_val *w = in_at(k, 1), *x = in_at(k, 2), *bias = in_at(k, 3);
    struct as_gemm_scratch scratch = {0};
    struct spread s = {0};
    uint64_t taps, places;
    float *columns, *out;
    int rc;

    if (!is_f32(x, 4) || !is_f32(w, 4) || !is_f32(k->out[0], 4))
        return as_kernel_cannot(k, "input or weights of this type");
    if (w->dims[3] != x->dims[3] || k->out[0]->dims[0] != x->dims[0] ||
        k->out[0]->dims[3] != w->dims[0] ||
        (bias && (!is_f32(bias, -1) || bias->n != (uint64_t)w->dims[0])))
        return as_kernel_fail(k, "the channels do not fit");
    rc = read_spread(k, x, w, &s);
    taps = (uint64_t)(w->dims[0] * w->dims[1] * w->dims[2]);
    places = (uint64_t)(x->dims[1] * x->dims[2]);
    columns = rc == ASSAY_OK ? as_kernel_work(k, places * taps, sizeof *columns) : NULL;
    if (!columns)
        return rc < 0 ? rc : (int)ASSAY_ERR_NOMEM;
    out = k->out[0]->data;
    for (uint64_t i = 0; i < k->out[0]->n; i++)
        out[i] = bias ? ((const float *)bias->data)[i % bias->n] : 0;
    for (int64_t b = 0; rc == ASSAY_OK && b < x->dims[0]; b++) {
        struct as_gemm g = as_gemm_plain(places, taps, (uint64_t)x->dims[3],
                                         (const float *)x->data + b * (int64_t)places * x->dims[3],
                                         w->data, true, columns);

        g.scratch = &scratch;
        rc = as_gemm_run(k, &g);
        if (rc == ASSAY_OK)
            add_back(&s, columns, out + b * s.out[0] * s.out[1] * s.channels);
    }
    return rc;
}

#define RUN(name, run)                                                                             \
    {                                                                                              \
        AS_OP_TFL_##name, run, 0                                                                   \
    }

const struct as_kernel as_kernels_tflite[] = {
    {AS_OP_TFL_RESHAPE, NULL, AS_KERNEL_VIEW},
    RUN(TRANSPOSE_CONV, transpose_conv),
    RUN(SQUARED_DIFFERENCE, squared_difference),
    RUN(RSQRT, rsqrt),
    RUN(PACK, as_tfl_pack),
    RUN(UNPACK, as_tfl_unpack),
    RUN(SLICE, as_tfl_slice),
    RUN(STRIDED_SLICE, as_tfl_strided_slice),
    RUN(FILL, as_tfl_fill),
    RUN(ZEROS_LIKE, as_tfl_zeros_like),
    RUN(DEPTH_TO_SPACE, as_tfl_blocks),
    RUN(SPACE_TO_DEPTH, as_tfl_blocks),
    RUN(SPACE_TO_BATCH_ND, as_tfl_batches),
    RUN(BATCH_TO_SPACE_ND, as_tfl_batches),
    {AS_OP_UNKNOWN, NULL, 0},
};
