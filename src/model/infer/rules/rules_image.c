/* model/infer/rules/rules_image.c - shape rules of operators on images: resizing, sampling,
 * regions. Scales are floats of 32 bits, and lengths follow from them in that precision. */
#include "model/infer/infer_rules.h"

#include <math.h>

#define LENGTH_MAX 4611686018427387904.0 /* 2^62 */

static int64_t whole(double length)
{
    return length >= 0 && length < LENGTH_MAX ? (int64_t)length : AS_DIM_UNKNOWN;
}

/* What Resize is given, one number for each of `n` axes. */
struct resizing {
    struct as_dims x;
    int axis[AS_MAX_RANK]; /* which of x each number is for */
    int n;
    bool crop; /* of the region of interest */
    double share[AS_MAX_RANK];
};

static int resize_axes(struct as_infer *ctx, struct resizing *r)
{
    struct as_ints axes;
    uint32_t seen = 0;

    r->n = r->x.rank;
    for (int i = 0; i < r->n; i++)
        r->axis[i] = i;
    if (!as_node_ints(ctx->node, "axes", &axes) || ctx->opset < 18)
        return ASSAY_OK;
    if (axes.n > (size_t)r->x.rank)
        return as_conflict(ctx, "axes has %zu numbers for %d dimensions", axes.n, r->x.rank);
    r->n = (int)axes.n;
    for (int i = 0; i < r->n; i++) {
        if (!as_axis(axes.at[i], r->x.rank, &r->axis[i]))
            return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions",
                               (long long)axes.at[i], r->x.rank);
        if (seen >> r->axis[i] & 1)
            return as_conflict(ctx, "axis %d is named twice", r->axis[i]);
        seen |= (uint32_t)1 << r->axis[i];
    }
    return ASSAY_OK;
}

/* With tf_crop_and_resize only the share of each axis inside the region is scaled. False: the
 * region is not known. */
static bool read_region(const struct as_infer *ctx, struct resizing *r)
{
    const struct as_data *roi;

    r->crop = as_node_text_is(ctx->node, "coordinate_transformation_mode", "tf_crop_and_resize");
    if (!r->crop)
        return true;
    roi = as_in_data(ctx, 1);
    if (!roi || roi->dtype == AS_DTYPE_STRING || roi->n != 2 * (uint64_t)r->n)
        return false;
    for (int i = 0; i < r->n; i++)
        r->share[i] =
            as_data_f64(roi, (uint64_t)r->n + (uint64_t)i) - as_data_f64(roi, (uint64_t)i);
    return true;
}

/* The product in 32 bits, as every runtime takes it: 0.7 of 10 is 7. */
static int64_t scaled(const struct resizing *r, int i, double scale)
{
    int64_t in = r->x.at[r->axis[i]];
    float length;

    if (in == AS_DIM_UNKNOWN || !(scale > 0))
        return AS_DIM_UNKNOWN;
    length = (float)in;
    if (r->crop)
        length *= (float)r->share[i];
    return whole(floor((double)(length * (float)scale)));
}

static int by_scales(struct as_infer *ctx, struct resizing *r, const struct as_data *scales)
{
    if (scales->n != (uint64_t)r->n)
        return as_conflict(ctx, "there are %llu scales for %d axes", (unsigned long long)scales->n,
                           r->n);
    for (int i = 0; i < r->n; i++) {
        double scale = as_data_f64(scales, (uint64_t)i);

        if (!(scale > 0))
            return as_conflict(ctx, "the scale of axis %d is not positive", r->axis[i]);
        r->x.at[r->axis[i]] = scaled(r, i, scale);
    }
    return ASSAY_OK;
}

/* Keeps the ratio of the axes: all take the smallest (or largest) scale any of them asks for. */
static void keep_ratio(struct resizing *r, int64_t *sizes, bool smallest)
{
    double scale = 0;

    for (int i = 0; i < r->n; i++) {
        int64_t in = r->x.at[r->axis[i]];
        double one;

        if (in <= 0 || sizes[i] < 0) {
            for (int k = 0; k < r->n; k++)
                sizes[k] = AS_DIM_UNKNOWN;
            return;
        }
        one = (double)sizes[i] / (double)in;
        if (i == 0 || (smallest ? one < scale : one > scale))
            scale = one;
    }
    for (int i = 0; i < r->n; i++)
        sizes[i] = whole(floor(scale * (double)r->x.at[r->axis[i]] + 0.5));
}

static int by_sizes(struct as_infer *ctx, struct resizing *r, size_t in)
{
    struct as_ints given;
    int64_t sizes[AS_MAX_RANK];
    bool not_larger = as_node_text_is(ctx->node, "keep_aspect_ratio_policy", "not_larger");

    if (!as_in_ints(ctx, in, &given)) {
        for (int i = 0; i < r->n; i++)
            r->x.at[r->axis[i]] = AS_DIM_UNKNOWN;
        return as_unknown(ctx, "its sizes are not a constant");
    }
    if (given.n != (size_t)r->n)
        return as_conflict(ctx, "there are %zu sizes for %d axes", given.n, r->n);
    for (int i = 0; i < r->n; i++) {
        sizes[i] = given.at[i];
        if (sizes[i] < 0 && sizes[i] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "the size of axis %d is %lld", r->axis[i], (long long)sizes[i]);
    }
    if (not_larger || as_node_text_is(ctx->node, "keep_aspect_ratio_policy", "not_smaller"))
        keep_ratio(r, sizes, not_larger);
    for (int i = 0; i < r->n; i++)
        r->x.at[r->axis[i]] = sizes[i];
    return ASSAY_OK;
}

/* True for an input that is there and not the empty tensor some exporters put for none. */
static bool is_given(const struct as_infer *ctx, size_t i)
{
    struct as_dims dims;

    if (!as_in_type(ctx, i))
        return false;
    return !as_in_dims(ctx, i, &dims) || dims.rank != 1 || dims.at[0] != 0;
}

static int scales_unknown(struct as_infer *ctx, struct resizing *r, const char *what)
{
    for (int i = 0; i < r->n; i++)
        r->x.at[r->axis[i]] = AS_DIM_UNKNOWN;
    return as_unknown(ctx, "%s", what);
}

static int infer_resize(struct as_infer *ctx)
{
    size_t at = ctx->opset < 11 && ctx->node->n_inputs == 2 ? 1 : 2;
    unsigned dtype = as_in_dtype(ctx, 0);
    struct resizing r = {0};
    const struct as_data *scales;
    int rc;

    if (!as_in_dims(ctx, 0, &r.x))
        return as_out_tensor(ctx, 0, dtype, NULL);
    rc = resize_axes(ctx, &r);
    if (rc < 0)
        return rc;
    if (at == 2 && is_given(ctx, 3)) {
        rc = by_sizes(ctx, &r, 3);
    } else if (!is_given(ctx, at)) {
        return as_conflict(ctx, "neither scales nor sizes are given");
    } else {
        scales = as_in_data(ctx, at);
        if (!scales || scales->dtype == AS_DTYPE_STRING)
            rc = scales_unknown(ctx, &r, "its scales are not a constant");
        else if (!read_region(ctx, &r))
            rc = scales_unknown(ctx, &r, "its region of interest is not a constant");
        else
            rc = by_scales(ctx, &r, scales);
    }
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &r.x) : rc;
}

/* Opset 7 has its scales in an attribute, 9 in the second input. */
static int infer_upsample(struct as_infer *ctx)
{
    const struct as_attr *attr = as_node_attr(ctx->node, "scales");
    unsigned dtype = as_in_dtype(ctx, 0);
    struct resizing r = {0};
    const struct as_data *scales;
    int rc = ASSAY_OK;

    if (!as_in_dims(ctx, 0, &r.x))
        return as_out_tensor(ctx, 0, dtype, NULL);
    r.n = r.x.rank;
    for (int i = 0; i < r.n; i++)
        r.axis[i] = i;
    if (attr && attr->kind == AS_ATTR_FLOATS) {
        if (attr->n != (uint32_t)r.n)
            return as_conflict(ctx, "there are %u scales for %d axes", attr->n, r.n);
        for (int i = 0; i < r.n; i++)
            r.x.at[i] = scaled(&r, i, (double)attr->floats[i]);
        return as_out_tensor(ctx, 0, dtype, &r.x);
    }
    scales = as_in_data(ctx, 1);
    if (scales && scales->dtype != AS_DTYPE_STRING)
        rc = by_scales(ctx, &r, scales);
    else
        rc = scales_unknown(ctx, &r, "its scales are not a constant");
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &r.x) : rc;
}

/* X [N, C, in...], grid [N, out..., axes]. */
static int infer_grid_sample(struct as_infer *ctx)
{
    struct as_dims x, grid, out;
    bool has_x = as_in_dims(ctx, 0, &x), has_grid = as_in_dims(ctx, 1, &grid);
    int rank = has_x ? x.rank : has_grid ? grid.rank : -1;

    if (rank < 0)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (rank < 3 || (has_x && has_grid && x.rank != grid.rank))
        return as_conflict(ctx, "the input and the grid do not have the same dimensions");
    if (has_grid && grid.at[rank - 1] != AS_DIM_UNKNOWN && grid.at[rank - 1] != rank - 2)
        return as_conflict(ctx, "the grid has %lld numbers for a place on %d axes",
                           (long long)grid.at[rank - 1], rank - 2);
    out.rank = rank;
    out.at[0] = has_x ? x.at[0] : grid.at[0];
    if (out.at[0] == AS_DIM_UNKNOWN && has_grid)
        out.at[0] = grid.at[0];
    out.at[1] = has_x ? x.at[1] : AS_DIM_UNKNOWN;
    for (int i = 2; i < rank; i++)
        out.at[i] = has_grid ? grid.at[i - 1] : AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

/* Sizes N, C, (D,) H, W give a grid [N, (D,) H, W, 2 or 3]. */
static int infer_affine_grid(struct as_infer *ctx)
{
    struct as_ints size;
    struct as_dims out;

    if (!as_in_ints(ctx, 1, &size)) {
        (void)as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
        return as_unknown(ctx, "its size is not a constant");
    }
    if (size.n != 4 && size.n != 5)
        return as_conflict(ctx, "size has %zu numbers instead of 4 or 5", size.n);
    out.rank = (int)size.n;
    out.at[0] = size.at[0];
    for (int i = 1; i < out.rank - 1; i++)
        out.at[i] = size.at[i + 1];
    out.at[out.rank - 1] = out.rank - 2;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int infer_roi_align(struct as_infer *ctx)
{
    struct as_dims x, rois, out = {4, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, 0, 0}};

    if (as_in_dims(ctx, 0, &x)) {
        if (x.rank != 4)
            return as_conflict(ctx, "the input has %d dimensions instead of 4", x.rank);
        out.at[1] = x.at[1];
    }
    if (as_in_dims(ctx, 2, &rois) && rois.rank == 1)
        out.at[0] = rois.at[0];
    if (as_in_dims(ctx, 1, &rois)) {
        if (rois.rank != 2)
            return as_conflict(ctx, "the regions have %d dimensions instead of 2", rois.rank);
        if (rois.at[0] != AS_DIM_UNKNOWN)
            out.at[0] = rois.at[0];
    }
    out.at[2] = as_node_int(ctx->node, "output_height", 1);
    out.at[3] = as_node_int(ctx->node, "output_width", 1);
    if (out.at[2] < 1 || out.at[3] < 1)
        return as_conflict(ctx, "regions of %lld by %lld", (long long)out.at[2],
                           (long long)out.at[3]);
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int divide(struct as_infer *ctx, int64_t *dim, int64_t by, const char *what)
{
    if (*dim == AS_DIM_UNKNOWN || by == AS_DIM_UNKNOWN) {
        *dim = AS_DIM_UNKNOWN;
        return ASSAY_OK;
    }
    if (*dim % by != 0)
        return as_conflict(ctx, "%s of %lld cannot be split by %lld", what, (long long)*dim,
                           (long long)by);
    *dim /= by;
    return ASSAY_OK;
}

static int infer_depth_to_space(struct as_infer *ctx)
{
    int64_t block = as_node_int(ctx->node, "blocksize", 0);
    struct as_dims x;
    int rc;

    if (block < 1)
        return as_conflict(ctx, "blocksize is %lld", (long long)block);
    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank != 4)
        return as_conflict(ctx, "the input has %d dimensions instead of 4", x.rank);
    if (ctx->node->op == AS_OP_DepthToSpace) {
        rc = divide(ctx, &x.at[1], as_dim_mul(block, block), "a depth");
        x.at[2] = as_dim_mul(x.at[2], block);
        x.at[3] = as_dim_mul(x.at[3], block);
    } else {
        rc = divide(ctx, &x.at[2], block, "a height");
        if (rc == ASSAY_OK)
            rc = divide(ctx, &x.at[3], block, "a width");
        x.at[1] = as_dim_mul(x.at[1], as_dim_mul(block, block));
    }
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x) : rc;
}

/* Height and width are in the encoded bytes. */
static int infer_image_decoder(struct as_infer *ctx)
{
    struct as_dims out = {3, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, 3}};
    int rc;

    if (as_node_text_is(ctx->node, "pixel_format", "Grayscale"))
        out.at[2] = 1;
    rc = as_out_tensor(ctx, 0, AS_DTYPE_U8, &out);
    return rc == ASSAY_OK ? as_unknown(ctx, "the size of the image is in its bytes") : rc;
}

/* The old experimental operator: borders left, top, right, bottom; or a given size. */
static int infer_crop(struct as_infer *ctx)
{
    struct as_ints border, scale;
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank != 4)
        return as_conflict(ctx, "the input has %d dimensions instead of 4", x.rank);
    if (!as_node_ints(ctx->node, "border", &border) || border.n != 4)
        return as_conflict(ctx, "border is not four numbers");
    if (as_node_ints(ctx->node, "scale", &scale) && scale.n == 2) {
        x.at[2] = scale.at[0];
        x.at[3] = scale.at[1];
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
    }
    for (int i = 0; i < 2; i++) {
        int64_t first = border.at[1 - i], last = border.at[3 - i], *dim = &x.at[2 + i];

        if (*dim == AS_DIM_UNKNOWN)
            continue;
        if (first < 0 || last < 0 || first > *dim || last > *dim - first)
            return as_conflict(ctx, "borders of %lld and %lld do not fit into %lld",
                               (long long)first, (long long)last, (long long)*dim);
        *dim -= first + last;
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}

const struct as_op_rule as_rules_image[] = {
    {AS_OP_Resize, infer_resize, NULL},
    {AS_OP_Upsample, infer_upsample, NULL},
    {AS_OP_GridSample, infer_grid_sample, NULL},
    {AS_OP_AffineGrid, infer_affine_grid, NULL},
    {AS_OP_RoiAlign, infer_roi_align, NULL},
    {AS_OP_DepthToSpace, infer_depth_to_space, NULL},
    {AS_OP_SpaceToDepth, infer_depth_to_space, NULL},
    {AS_OP_ImageDecoder, infer_image_decoder, NULL},
    {AS_OP_Crop, infer_crop, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
