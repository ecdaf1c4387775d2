/* engine/kernels/norm/kern_norm.h - what the files of the family norm show each other: loops over
 * one row of f32 or f64. Sums are taken in lanes and added up in double. */
#ifndef AS_ENGINE_KERNELS_NORM_KERN_NORM_H
#define AS_ENGINE_KERNELS_NORM_KERN_NORM_H

#include "engine/kernels/math/kern_typed.h"

struct as_norm_loops {
    double (*sum)(const void *x, uint64_t n);
    double (*deviation)(const void *x, uint64_t n, double mean); /* sum of squares around it */
    /* (x - mean) * by, times and plus what is given for each element; either may be NULL. */
    void (*scale)(const void *x, void *out, uint64_t n, double mean, double by, const void *times,
                  const void *plus);
    void (*line)(const void *x, void *out, uint64_t n, double times, double plus);
    /* The same with one number for each element. */
    void (*lines)(const void *x, void *out, uint64_t n, const void *times, const void *plus);
};

/* NULL for other types, with an error set. */
const struct as_norm_loops *as_norm_loops(struct as_kernel_ctx *k, unsigned dtype);

int as_run_batch_norm(struct as_kernel_ctx *k);
int as_run_instance_norm(struct as_kernel_ctx *k);
int as_run_group_norm(struct as_kernel_ctx *k);
int as_run_layer_norm(struct as_kernel_ctx *k);
int as_run_lrn(struct as_kernel_ctx *k);
int as_run_lp_norm(struct as_kernel_ctx *k);
int as_run_mean_variance(struct as_kernel_ctx *k);
int as_run_loss(struct as_kernel_ctx *k);

#endif
