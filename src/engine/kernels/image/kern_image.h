/* engine/kernels/image/kern_image.h - kernels of images, and the filter they share. */
#ifndef AS_ENGINE_KERNELS_IMAGE_KERN_IMAGE_H
#define AS_ENGINE_KERNELS_IMAGE_KERN_IMAGE_H

#include <math.h>

#include "engine/kernel.h"

/* The weight of a point at distance `x` under Keys' cubic filter. */
static inline double as_image_cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

int as_kern_resize(struct as_kernel_ctx *k);       /* kern_resize.c; Upsample too */
int as_kern_grid_sample(struct as_kernel_ctx *k);  /* kern_grid.c */
int as_kern_affine_grid(struct as_kernel_ctx *k);  /* kern_grid.c */
int as_kern_roi_align(struct as_kernel_ctx *k);    /* kern_roi.c */
int as_kern_max_roi_pool(struct as_kernel_ctx *k); /* kern_roi.c */

/* ---- kern_resize.c ---- */

enum as_resize_mode { AS_RESIZE_NEAREST, AS_RESIZE_LINEAR, AS_RESIZE_CUBIC };

/* How the places of the output lie in the input. */
enum as_resize_places {
    AS_PLACES_HALF_PIXEL,
    AS_PLACES_HALF_PIXEL_SYMMETRIC,
    AS_PLACES_PYTORCH_HALF_PIXEL,
    AS_PLACES_ALIGN_CORNERS,
    AS_PLACES_ASYMMETRIC,
    AS_PLACES_TF_HALF_PIXEL_FOR_NN,
    AS_PLACES_TF_CROP_AND_RESIZE,
    AS_PLACES_COUNT
};

enum as_resize_nearest {
    AS_NEAREST_PREFER_FLOOR,
    AS_NEAREST_PREFER_CEIL,
    AS_NEAREST_FLOOR,
    AS_NEAREST_CEIL,
    AS_NEAREST_COUNT
};

struct as_resize {
    enum as_resize_mode mode;
    enum as_resize_places places;
    enum as_resize_nearest nearest;
    bool exclude_outside, antialias;
    double cubic_a, outside; /* outside: what a place beyond the region is */
    double scale[AS_MAX_RANK];
    double begin[AS_MAX_RANK], end[AS_MAX_RANK]; /* of the region, as shares of the axis */
};

/* One axis: point i of the output is the sum of its taps. */
struct as_resize_axis {
    int64_t n_in, n_out;
    int64_t taps;
    int64_t *at;   /* n_out * taps places of the input, inside of it */
    float *weight; /* as many; NULL: one tap that counts whole */
    bool *beyond;  /* n_out: the place is outside of the region; NULL: none is */
};

/* Attributes and small inputs of Resize (all opsets) and Upsample. */
AS_MUST_USE int as_resize_read(struct as_kernel_ctx *k, struct as_resize *r);
/* The taps of one axis, in working memory. */
AS_MUST_USE int as_resize_plan(struct as_kernel_ctx *k, const struct as_resize *r, int axis,
                               struct as_resize_axis *out);

#endif
