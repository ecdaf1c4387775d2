/* engine/kernels/image/kern_image.c - the table of kernels of images, and the two old ones that
 * need no file. Resize is in kern_resize.c, grids in kern_grid.c, regions in kern_roi.c. */
#include "engine/kernels/image/kern_image.h"

#include "engine/kernels/move/kern_move.h"

/* Borders left, top, right, bottom; the output has the size already. */
static int crop(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    const struct as_val *out = k->out[0];
    struct as_ints border;
    int64_t strides[AS_MAX_RANK];

    if (in->rank != 4 || !as_node_ints(k->node, "border", &border) || border.n != 4)
        return as_kernel_fail(k, "border is not four numbers for an image");
    for (int i = 0; i < 2; i++) {
        int64_t first = border.at[1 - i];

        if (first < 0 || first > in->dims[2 + i] || out->dims[2 + i] > in->dims[2 + i] - first)
            return as_kernel_fail(k, "a border of %lld does not fit into %lld", (long long)first,
                                  (long long)in->dims[2 + i]);
    }
    as_strides(in, strides);
    return as_move_view(k, k->out[0], in, border.at[1] * strides[2] + border.at[0], strides);
}

static int image_scaler(struct as_kernel_ctx *k)
{
    const struct as_attr *bias = as_node_attr(k->node, "bias");
    float scale = (float)as_node_float(k->node, "scale", 1);
    const struct as_val *in = k->in[0];
    const float *from = in->data;
    float *to = k->out[0]->data;
    uint64_t plane;

    if (in->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "images of %s", as_dtype_name(in->dtype));
    if (in->rank != 4 || (bias && (bias->kind != AS_ATTR_FLOATS || bias->n != in->dims[1])))
        return as_kernel_fail(k, "its bias is not one number for each channel");
    if (in->n == 0)
        return ASSAY_OK;
    plane = (uint64_t)(in->dims[2] * in->dims[3]);
    for (uint64_t i = 0; i < in->n; i++)
        to[i] = from[i] * scale + (bias ? bias->floats[i / plane % bias->n] : 0);
    return ASSAY_OK;
}

const struct as_kernel as_kernels_image[] = {
    {AS_OP_Resize, as_kern_resize, 0},
    {AS_OP_Upsample, as_kern_resize, 0},
    {AS_OP_GridSample, as_kern_grid_sample, 0},
    {AS_OP_AffineGrid, as_kern_affine_grid, 0},
    {AS_OP_RoiAlign, as_kern_roi_align, 0},
    {AS_OP_MaxRoiPool, as_kern_max_roi_pool, 0},
    {AS_OP_Crop, crop, AS_KERNEL_HALF},
    {AS_OP_ImageScaler, image_scaler, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
