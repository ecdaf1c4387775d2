/* model/weights/weight_elements.c - the numbers of a weight as doubles, whatever they are stored
 * as. Signs are not kept everywhere: only sizes are promised. */
#include "model/weights/weight_stats.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/units.h"

/* More scales than this are not read whole. */
#define MAX_SCALES (1u << 20)

/* Operators that name the scale of a weight: which input is the weight, which its scale and zero
 * point, and the axis when the scales are several. */
static const struct {
    enum as_op op;
    uint8_t weight, scale, zero;
    int axis;
    bool axis_attr;
} sources[] = {
    {AS_OP_DequantizeLinear, 0, 1, 2, 1, true}, {AS_OP_MS_DequantizeLinear, 0, 1, 2, 1, true},
    {AS_OP_QLinearConv, 3, 4, 5, 0, false},     {AS_OP_MS_QLinearConv, 3, 4, 5, 0, false},
    {AS_OP_QLinearMatMul, 3, 4, 5, -1, false},
};

static uint32_t input_at(const struct as_node *node, uint32_t i)
{
    return i < node->n_inputs ? node->inputs[i] : AS_NONE;
}

static void note_node(struct as_weight_quant *quants, const struct as_node *node)
{
    for (size_t s = 0; s < AS_COUNT_OF(sources); s++) {
        uint32_t weight = input_at(node, sources[s].weight);
        int64_t axis = sources[s].axis;

        if (sources[s].op != node->op || weight == AS_NONE || as_node_int(node, "block_size", 0))
            continue;
        if (sources[s].axis_attr)
            axis = as_node_int(node, "axis", axis);
        if (axis < -AS_MAX_RANK || axis >= AS_MAX_RANK)
            continue;
        quants[weight] = (struct as_weight_quant){input_at(node, sources[s].scale),
                                                  input_at(node, sources[s].zero), (int)axis};
    }
}

/* Depth is limited when a graph is made, so this may call itself. */
static void note_graph(struct as_weight_quant *quants, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        note_node(quants, &graph->nodes[i]);
        for (uint32_t k = 0; k < graph->nodes[i].n_attrs; k++)
            if (graph->nodes[i].attrs[k].kind == AS_ATTR_GRAPH)
                note_graph(quants, graph->nodes[i].attrs[k].graph);
    }
}

struct as_weight_quant *as_weight_quants_new(const struct as_model *model)
{
    struct as_weight_quant *quants = as_alloc_zero((size_t)model->n_values + 1, sizeof *quants);

    for (uint32_t i = 0; quants && i < model->n_values; i++)
        quants[i] = (struct as_weight_quant){AS_NONE, AS_NONE, 0};
    if (quants && model->main)
        note_graph(quants, model->main);
    return quants;
}

/* A constant of `n` numbers into `out`, one repeated. False: there is no such constant. */
static int read_few(const struct as_model *model, uint32_t value, double *out, uint64_t n,
                    struct assay_error *err)
{
    const struct as_data *data = value == AS_NONE ? NULL : model->values[value].data;
    struct as_data loaded;
    uint8_t *bytes;
    int rc;

    if (!data || data->partial || (data->n != n && data->n != 1) || n > MAX_SCALES ||
        (!as_dtype_is_float(data->dtype) && !as_dtype_is_integer(data->dtype)))
        return 0;
    bytes = as_alloc(data->size_bytes);
    if (!bytes)
        return as_fail_nomem(err);
    rc = as_data_read(data, 0, data->n, bytes, err);
    loaded = *data;
    loaded.bytes = bytes;
    for (uint64_t i = 0; rc == ASSAY_OK && i < n; i++)
        out[i] = as_data_f64(&loaded, data->n == 1 ? 0 : i);
    as_free(bytes);
    return rc == ASSAY_ERR_UNSUPPORTED ? 0 : rc < 0 ? rc : 1;
}

static int init_scales(struct as_weight_numbers *numbers, const struct as_model *model,
                       const struct as_type *type, const struct as_weight_quant *quant,
                       struct assay_error *err)
{
    const struct as_data *scale = quant->scale == AS_NONE ? NULL : model->values[quant->scale].data;
    int axis = quant->axis < 0 ? quant->axis + type->rank : quant->axis;
    int rc;

    if (!scale || scale->n == 0 || scale->n > MAX_SCALES)
        return 0;
    numbers->n_scales = scale->n;
    numbers->inner = 1;
    if (scale->n > 1) {
        if (!as_type_is_static(type) || axis < 0 || axis >= type->rank ||
            (uint64_t)type->dims[axis] != scale->n)
            return 0;
        for (int i = axis + 1; i < type->rank; i++)
            if (!as_mul_u64(numbers->inner, (uint64_t)type->dims[i], &numbers->inner))
                return 0;
        if (numbers->inner == 0)
            return 0;
    }
    numbers->scales = as_alloc_zero(scale->n, sizeof *numbers->scales);
    numbers->zeros = as_alloc_zero(scale->n, sizeof *numbers->zeros);
    if (!numbers->scales || !numbers->zeros)
        return as_fail_nomem(err);
    rc = read_few(model, quant->scale, numbers->scales, scale->n, err);
    if (rc > 0 && quant->zero != AS_NONE)
        rc = read_few(model, quant->zero, numbers->zeros, scale->n, err);
    return rc;
}

/* ---- blocks ---- */

static void read_blocks(const struct as_weight_numbers *numbers, size_t n, double *out,
                        const uint8_t *raw)
{
    const struct as_dtype_info *info = as_dtype_at(numbers->data->dtype);
    float block[AS_DEQUANT_MAX];

    for (size_t i = 0; i < n; i += info->block_elems) {
        size_t here = n - i < info->block_elems ? n - i : info->block_elems;

        as_dequant(numbers->data->dtype, raw + i / info->block_elems * info->block_bytes, here,
                   block);
        for (size_t k = 0; k < here; k++)
            out[i + k] = fabs((double)block[k]);
    }
}

/* ---- floats ---- */

static void read_f32(size_t n, double *out, const uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        float x;

        memcpy(&x, raw + i * 4, sizeof x);
        out[i] = fabs((double)x);
    }
}

static void read_bf16(size_t n, double *out, const uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)((raw[i * 2] | raw[i * 2 + 1] << 8) & 0x7fff) << 16;
        float x;

        memcpy(&x, &bits, sizeof x);
        out[i] = (double)x;
    }
}

/* The bits moved to where an f32 has them are 2^112 too small, also of denormal ones. */
static void read_f16(size_t n, double *out, const uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t half = (uint32_t)(raw[i * 2] | raw[i * 2 + 1] << 8) & 0x7fff, bits = half << 13;
        float x;

        memcpy(&x, &bits, sizeof x);
        out[i] = (double)x * 0x1p112;
        if (half >= 0x7c00)
            out[i] = half > 0x7c00 ? AS_UNKNOWN : (double)INFINITY;
    }
}

/* Any other dtype by the way that constants are read. */
static void read_any(const struct as_weight_numbers *numbers, uint64_t first, size_t n, double *out,
                     const uint8_t *raw)
{
    struct as_data slice = *numbers->data;

    slice.bytes = raw;
    for (size_t i = 0; i < n; i++)
        out[i] = fabs(as_data_f64(&slice, i));
    for (size_t i = 0; numbers->scales && i < n; i++) {
        uint64_t s = numbers->n_scales > 1 ? (first + i) / numbers->inner % numbers->n_scales : 0;

        out[i] = fabs((as_data_f64(&slice, i) - numbers->zeros[s]) * numbers->scales[s]);
    }
}

int as_weight_numbers_read(const struct as_weight_numbers *numbers, uint64_t first, size_t n,
                           double *out, void *raw, struct assay_error *err)
{
    unsigned dtype = numbers->data->dtype;
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int rc = as_data_read(numbers->data, first, n, raw, err);

    if (rc < 0)
        return rc;
    if (dtype == AS_DTYPE_F32 && little)
        read_f32(n, out, raw);
    else if (dtype == AS_DTYPE_BF16)
        read_bf16(n, out, raw);
    else if (dtype == AS_DTYPE_F16)
        read_f16(n, out, raw);
    else if (as_dequant_can(dtype))
        read_blocks(numbers, n, out, raw);
    else
        read_any(numbers, first, n, out, raw);
    return ASSAY_OK;
}

int as_weight_numbers_init(struct as_weight_numbers *numbers, const struct as_model *model,
                           uint32_t value, const struct as_weight_quant *quants,
                           struct assay_error *err)
{
    const struct as_data *data = value < model->n_values ? model->values[value].data : NULL;
    int rc;

    *numbers = (struct as_weight_numbers){.data = data};
    if (!data || data->dtype >= AS_DTYPE_COUNT || (!data->bytes && !data->make))
        return 0;
    if (as_dtype_is_float(data->dtype) || as_dequant_can(data->dtype))
        return 1;
    if (!quants || !as_dtype_is_integer(data->dtype))
        return 0;
    rc = init_scales(numbers, model, &model->values[value].type, &quants[value], err);
    if (rc <= 0)
        as_weight_numbers_fini(numbers);
    return rc;
}

void as_weight_numbers_fini(struct as_weight_numbers *numbers)
{
    as_free(numbers->zeros);
    as_free(numbers->scales);
    numbers->zeros = numbers->scales = NULL;
}
