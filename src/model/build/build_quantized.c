/* model/build/build_quantized.c - numbers of few bits for the builder: to them, back, and a dense
 * layer whose weight is stored so. A scale is one number, or one for each slice of an axis. */
#include "model/build/build_ops.h"

#include <math.h>
#include <stdio.h>

#include "model/build/build_layers.h"

/* Until opset 18 scales are f32 and there are 8 bits only (and 32 to come back from). */
static bool check_dtypes(struct as_builder *b, const char *name, unsigned narrow, unsigned scale)
{
    static const uint8_t narrows[] = {AS_DTYPE_I8,     AS_DTYPE_U8,         AS_DTYPE_I16,
                                      AS_DTYPE_U16,    AS_DTYPE_I32,        AS_DTYPE_I4,
                                      AS_DTYPE_U4,     AS_DTYPE_F8E4M3FN,   AS_DTYPE_F8E4M3FNUZ,
                                      AS_DTYPE_F8E5M2, AS_DTYPE_F8E5M2FNUZ, AS_DTYPE_UNKNOWN};
    bool known = false;

    if (!as_build_ok(b))
        return false;
    for (size_t i = 0; i < sizeof narrows; i++)
        known = known || narrows[i] == narrow;
    if (!known)
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' cannot quantize to %s", name,
                      as_dtype_name(narrow));
    else if (scale != AS_DTYPE_F32 && scale != AS_DTYPE_F16 && scale != AS_DTYPE_BF16)
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs a scale of f32, f16 or bf16, not %s", name,
                      as_dtype_name(scale));
    if (narrow == AS_DTYPE_I16 || narrow == AS_DTYPE_U16)
        as_build_need_opset(b, AS_OPSET_4BIT);
    if (scale != AS_DTYPE_F32)
        as_build_need_opset(b, AS_OPSET_F8);
    as_build_need_dtype(b, narrow);
    return as_build_ok(b);
}

/* One scale, or as many as the axis is long; a zero point is shaped as its scale. */
static bool check_shapes(struct as_builder *b, const char *name, uint32_t x,
                         const struct as_build_scale *by)
{
    struct as_dims dx, ds, dz;
    bool known = as_build_dims(b, x, &dx), list = as_build_dims(b, by->scale, &ds) && ds.rank == 1;
    int64_t axis = by->axis < 0 ? by->axis + dx.rank : by->axis;

    if (ds.rank > 1)
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs one scale or a list of them", name);
    else if (list && ds.at[0] != 1 && known && (axis < 0 || axis >= dx.rank))
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' has no axis %lld", name, (long long)by->axis);
    else if (list && ds.at[0] != 1 && known && dx.at[axis] >= 0 && dx.at[axis] != ds.at[0])
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' gets %lld scales for %lld slices", name,
                      (long long)ds.at[0], (long long)dx.at[axis]);
    else if (by->zero_point != AS_NONE && as_build_dims(b, by->zero_point, &dz) &&
             (dz.rank != ds.rank || (list && dz.at[0] != ds.at[0])))
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs as many zero points as scales", name);
    return as_build_ok(b);
}

static uint32_t scaled(struct as_builder *b, const char *op, const char *name, uint32_t x,
                       const struct as_build_scale *by)
{
    const uint32_t inputs[] = {x, by->scale, by->zero_point};
    struct as_build_node node = {.op = op,
                                 .name = name,
                                 .inputs = inputs,
                                 .n_inputs = by->zero_point == AS_NONE ? 2 : 3,
                                 AS_BUILD_ATTR(as_attr_of_int("axis", by->axis))};
    struct as_dims dims, scales;
    bool known = as_build_dims(b, x, &dims);

    if (as_build_dims(b, by->scale, &scales) && scales.rank == 0)
        node.n_attrs = 0; /* one scale for all has no axis */
    return as_build_one(b, &node, known ? &dims : NULL);
}

static uint32_t retype(struct as_builder *b, uint32_t y, unsigned dtype)
{
    struct as_dims dims;
    bool known = as_build_dims(b, y, &dims);

    as_build_set_type(b, y, dtype, known ? &dims : NULL);
    return as_build_ok(b) ? y : AS_NONE;
}

uint32_t as_build_quantize(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_scale *by)
{
    unsigned to = by->zero_point == AS_NONE ? AS_DTYPE_U8 : as_build_dtype(b, by->zero_point);

    name = name ? name : "quantize";
    if (!check_dtypes(b, name, to, as_build_dtype(b, by->scale)) || !check_shapes(b, name, x, by))
        return AS_NONE;
    return retype(b, scaled(b, "QuantizeLinear", name, x, by), to);
}

uint32_t as_build_dequantize(struct as_builder *b, const char *name, uint32_t x,
                             const struct as_build_scale *by)
{
    unsigned from = as_build_dtype(b, x), to = as_build_dtype(b, by->scale);

    name = name ? name : "dequantize";
    if (by->zero_point != AS_NONE && from != AS_DTYPE_UNKNOWN &&
        as_build_dtype(b, by->zero_point) != from)
        return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs a zero point of %s", name,
                             as_dtype_name(from));
    if (!check_dtypes(b, name, from, to) || !check_shapes(b, name, x, by))
        return AS_NONE;
    return retype(b, scaled(b, "DequantizeLinear", name, x, by), to);
}

uint32_t as_build_linear_quantized(struct as_builder *b, const char *name, uint32_t x, int64_t out,
                                   int bits, bool bias)
{
    unsigned dtype = bits == 4 ? AS_DTYPE_I4 : AS_DTYPE_I8;
    float top = bits == 4 ? 7 : 127;
    struct as_seeded steps = {AS_SEEDED_UNIFORM, 0, top};
    struct as_build_linear_parts parts;
    struct as_build_scale by = {.zero_point = AS_NONE};
    struct as_seeded size;
    struct as_dims each = {1, {out}};
    char text[256];
    double one;

    name = name ? name : "linear";
    if (bits != 8 && bits != 4)
        return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' can have 8 or 4 bits, not %d", name,
                             bits);
    if (!as_build_linear_begin(b, name, x, out, &parts))
        return AS_NONE;
    (void)snprintf(text, sizeof text, "%.200s.weight", name);
    parts.weight = as_build_param_of(b, text, dtype, &parts.shape, &steps);
    one = sqrt(3.0 / (double)parts.in) / (double)top; /* what as_build_linear() gives, in steps */
    size = (struct as_seeded){AS_SEEDED_UNIFORM, (float)one, (float)(one / 4)};
    (void)snprintf(text, sizeof text, "%.200s.weight_scale", name);
    by.scale = as_build_param(b, text, &each, &size);
    by.axis = parts.out_axis;
    (void)snprintf(text, sizeof text, "%.200s.dequantize", name);
    parts.weight = as_build_dequantize(b, text, parts.weight, &by);
    return as_build_linear_end(b, name, x, &parts, bias);
}
