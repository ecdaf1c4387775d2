/* engine/kernels/math/kern_random.c - noise: the same for the same seed, be it the node's own or
 * the run's. */
#include <math.h>
#include <string.h>

#include "engine/kernels/move/kern_move.h"
#include "stats/describe/rng.h"

/* A node that names its seed gives the same numbers at every run. */
static void seed_rng(const struct as_kernel_ctx *k, struct as_rng *rng)
{
    double said = as_node_float(k->node, "seed", 0);
    uint64_t seed = as_kernel_seed(k);

    if (as_node_attr(k->node, "seed"))
        memcpy(&seed, &said, sizeof seed);
    as_rng_seed(rng, seed);
}

int as_kern_random_normal(struct as_kernel_ctx *k)
{
    double mean = as_node_float(k->node, "mean", 0), scale = as_node_float(k->node, "scale", 1);
    struct as_val *out = k->out[0];
    struct as_rng rng;

    seed_rng(k, &rng);
    for (uint64_t i = 0; i < out->n; i++)
        as_val_put_f64(out, i, mean + scale * as_rng_normal(&rng));
    return ASSAY_OK;
}

int as_kern_random_uniform(struct as_kernel_ctx *k)
{
    double low = as_node_float(k->node, "low", 0), high = as_node_float(k->node, "high", 1);
    struct as_val *out = k->out[0];
    struct as_rng rng;

    seed_rng(k, &rng);
    for (uint64_t i = 0; i < out->n; i++)
        as_val_put_f64(out, i, low + (high - low) * as_rng_unit(&rng));
    return ASSAY_OK;
}

int as_kern_bernoulli(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];
    struct as_rng rng;

    if (k->in[0]->n != out->n)
        return as_kernel_fail(k, "the output is not as large as the input");
    seed_rng(k, &rng);
    for (uint64_t i = 0; i < out->n; i++)
        as_val_put_f64(out, i, as_rng_unit(&rng) < as_val_f64(k->in[0], i) ? 1 : 0);
    return ASSAY_OK;
}

/* The class a share of the row's whole falls on. `cdf` has running sums. */
static uint64_t draw(const double *cdf, uint64_t n, double share)
{
    uint64_t low = 0, high = n - 1;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (cdf[middle] > share * cdf[n - 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The input holds logarithms of shares that need not add up to one. */
int as_kern_multinomial(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    uint64_t classes, samples;
    struct as_rng rng;
    double *cdf;

    if (in->rank != 2 || out->rank != 2 || in->dims[0] != out->dims[0])
        return as_kernel_fail(k, "the input is not [batch, classes]");
    if (out->n == 0)
        return ASSAY_OK;
    classes = (uint64_t)in->dims[1];
    samples = (uint64_t)out->dims[1];
    if (classes == 0)
        return as_kernel_fail(k, "there is no class to draw");
    cdf = as_kernel_work(k, classes, sizeof *cdf);
    if (!cdf)
        return ASSAY_ERR_NOMEM;
    seed_rng(k, &rng);
    for (uint64_t row = 0; row < (uint64_t)in->dims[0]; row++) {
        double most = as_val_f64(in, row * classes), sum = 0;

        for (uint64_t i = 1; i < classes; i++)
            most = fmax(most, as_val_f64(in, row * classes + i));
        for (uint64_t i = 0; i < classes; i++)
            cdf[i] = sum += exp(as_val_f64(in, row * classes + i) - most);
        for (uint64_t i = 0; i < samples; i++)
            as_val_put_i64(out, row * samples + i, (int64_t)draw(cdf, classes, as_rng_unit(&rng)));
    }
    return ASSAY_OK;
}
