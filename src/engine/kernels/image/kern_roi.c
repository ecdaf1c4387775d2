/* engine/kernels/image/kern_roi.c - regions of images brought to one size: RoiAlign and MaxRoiPool.
 */
#include <math.h>

#include "engine/kernels/image/kern_image.h"

static int need_floats(struct as_kernel_ctx *k, int64_t numbers)
{
    const struct as_val *in = k->in[0], *rois = k->in[1];

    if (in->dtype != AS_DTYPE_F32 || rois->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "images of %s", as_dtype_name(in->dtype));
    if (in->rank != 4 || rois->rank != 2 || rois->dims[1] != numbers ||
        k->out[0]->dims[0] != rois->dims[0])
        return as_kernel_fail(k, "its regions are not %lld numbers each", (long long)numbers);
    if (in->n == 0 && k->out[0]->n > 0)
        return as_kernel_fail(k, "the image is empty");
    return ASSAY_OK;
}

static int check_batch(struct as_kernel_ctx *k, int64_t index)
{
    if (index < 0 || index >= k->in[0]->dims[0])
        return as_kernel_fail(k, "index %lld is outside of a batch of %lld", (long long)index,
                              (long long)k->in[0]->dims[0]);
    return ASSAY_OK;
}

/* ---- RoiAlign ---- */

struct region {
    const float *image; /* of one channel */
    int64_t height, width;
    double y, x, bin_height, bin_width;
    int64_t rows, columns; /* samples in a bin */
    bool max;
};

/* The four points around a place, each times its weight; false: outside of the image. */
static bool sample(const struct region *r, double y, double x, double *four)
{
    int64_t y0, x0, y1, x1;
    double ly, lx;

    if (y < -1 || y > (double)r->height || x < -1 || x > (double)r->width || isnan(y) || isnan(x))
        return false;
    y = fmin(fmax(y, 0), (double)(r->height - 1));
    x = fmin(fmax(x, 0), (double)(r->width - 1));
    y0 = (int64_t)y;
    x0 = (int64_t)x;
    y1 = y0 + 1 < r->height ? y0 + 1 : y0;
    x1 = x0 + 1 < r->width ? x0 + 1 : x0;
    ly = y - (double)y0;
    lx = x - (double)x0;
    four[0] = (1 - ly) * (1 - lx) * (double)r->image[y0 * r->width + x0];
    four[1] = (1 - ly) * lx * (double)r->image[y0 * r->width + x1];
    four[2] = ly * (1 - lx) * (double)r->image[y1 * r->width + x0];
    four[3] = ly * lx * (double)r->image[y1 * r->width + x1];
    return true;
}

/* The largest is that of the weighted points, which is what ONNX defines. */
static double align_bin(const struct region *r, int64_t row, int64_t column)
{
    double sum = 0, most = -(double)INFINITY;

    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            double y = r->y + ((double)row + ((double)i + 0.5) / (double)r->rows) * r->bin_height;
            double x =
                r->x + ((double)column + ((double)j + 0.5) / (double)r->columns) * r->bin_width;
            double four[4] = {0};

            (void)sample(r, y, x, four);
            sum += four[0] + four[1] + four[2] + four[3];
            most = fmax(most, fmax(fmax(four[0], four[1]), fmax(four[2], four[3])));
        }
    if (r->max)
        return r->rows * r->columns > 0 ? most : 0;
    return r->rows * r->columns > 0 ? sum / (double)(r->rows * r->columns) : 0;
}

static int open_region(struct as_kernel_ctx *k, const float *roi, struct region *r)
{
    bool half = k->opset >= 16 &&
                !as_node_text_is(k->node, "coordinate_transformation_mode", "output_half_pixel");
    double scale = as_node_float(k->node, "spatial_scale", 1), offset = half ? 0.5 : 0;
    int64_t ratio = as_node_int(k->node, "sampling_ratio", 0);
    double width, height;

    r->x = (double)roi[0] * scale - offset;
    r->y = (double)roi[1] * scale - offset;
    width = (double)roi[2] * scale - offset - r->x;
    height = (double)roi[3] * scale - offset - r->y;
    if (!half) { /* no region is smaller than a pixel */
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    r->bin_height = height / (double)k->out[0]->dims[2];
    r->bin_width = width / (double)k->out[0]->dims[3];
    if (!(fabs(r->bin_height) < 1e6) || !(fabs(r->bin_width) < 1e6) || ratio < 0 || ratio > 4096)
        return as_kernel_fail(k, "a region of %g by %g cannot be", height, width);
    r->rows = ratio > 0 ? ratio : (int64_t)ceil(r->bin_height);
    r->columns = ratio > 0 ? ratio : (int64_t)ceil(r->bin_width);
    r->max = as_node_text_is(k->node, "mode", "max");
    if (r->rows > 0 && r->columns > (int64_t)(1 << 24) / r->rows)
        return as_kernel_fail(k, "a region of %g by %g has too many samples", height, width);
    return ASSAY_OK;
}

int as_kern_roi_align(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    float *to = k->out[0]->data;
    int rc = need_floats(k, 4);

    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    if (!as_has_in(k, 2) || k->in[2]->n != (uint64_t)k->in[1]->dims[0])
        return as_kernel_fail(k, "there is not one batch index for each region");
    for (int64_t i = 0; i < k->in[1]->dims[0] && rc == ASSAY_OK; i++) {
        int64_t batch = as_val_i64(k->in[2], (uint64_t)i);
        struct region r = {.height = in->dims[2], .width = in->dims[3]};

        rc = check_batch(k, batch);
        if (rc == ASSAY_OK)
            rc = open_region(k, (const float *)k->in[1]->data + i * 4, &r);
        for (int64_t c = 0; c < in->dims[1] && rc == ASSAY_OK; c++) {
            r.image = (const float *)in->data + (batch * in->dims[1] + c) * r.height * r.width;
            for (int64_t row = 0; row < k->out[0]->dims[2]; row++)
                for (int64_t column = 0; column < k->out[0]->dims[3]; column++)
                    *to++ = (float)align_bin(&r, row, column);
        }
    }
    return rc;
}

/* ---- MaxRoiPool ---- */

/* Bin `i` of `bins` over `length` pixels from `begin` on, inside of [0, limit). */
static void bin_edges(int64_t begin, double length, int64_t bins, int64_t i, int64_t limit,
                      int64_t *edge)
{
    double each = length / (double)bins;

    edge[0] = begin + (int64_t)floor((double)i * each);
    edge[1] = begin + (int64_t)ceil((double)(i + 1) * each);
    for (int e = 0; e < 2; e++)
        edge[e] = edge[e] < 0 ? 0 : edge[e] > limit ? limit : edge[e];
}

static float pool_bin(const float *image, int64_t width, const int64_t *y, const int64_t *x)
{
    float most = y[0] < y[1] && x[0] < x[1] ? image[y[0] * width + x[0]] : 0;

    for (int64_t i = y[0]; i < y[1]; i++)
        for (int64_t j = x[0]; j < x[1]; j++)
            most = fmaxf(most, image[i * width + j]);
    return most;
}

int as_kern_max_roi_pool(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *out = k->out[0];
    double scale = as_node_float(k->node, "spatial_scale", 1);
    const float *roi = k->in[1]->data;
    float *to = out->data;
    int rc = need_floats(k, 5);

    for (int64_t i = 0; rc == ASSAY_OK && out->n > 0 && i < out->dims[0]; i++, roi += 5) {
        int64_t batch = fabsf(roi[0]) < 1e9f ? (int64_t)roi[0] : -1, at[4], y[2], x[2];

        rc = check_batch(k, batch);
        for (int j = 0; j < 4; j++) {
            double place = round((double)roi[1 + j] * scale);

            if (!(fabs(place) < 1e9))
                return as_kernel_fail(k, "region %lld cannot be", (long long)i);
            at[j] = (int64_t)place;
        }
        for (int64_t c = 0; c < in->dims[1] && rc == ASSAY_OK; c++) {
            const float *image =
                (const float *)in->data + (batch * in->dims[1] + c) * in->dims[2] * in->dims[3];

            for (int64_t row = 0; row < out->dims[2]; row++)
                for (int64_t column = 0; column < out->dims[3]; column++) {
                    bin_edges(at[1], fmax((double)(at[3] - at[1] + 1), 1), out->dims[2], row,
                              in->dims[2], y);
                    bin_edges(at[0], fmax((double)(at[2] - at[0] + 1), 1), out->dims[3], column,
                              in->dims[3], x);
                    *to++ = pool_bin(image, in->dims[3], y, x);
                }
        }
    }
    return rc;
}
