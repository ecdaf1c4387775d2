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

#endif
