/* engine/kernels/math/kern_math_misc.c - Dropout, and the operators of the first opsets.
 * A seed given in the model means the Mersenne Twister, whose numbers others know too. */
#include <math.h>
#include <string.h>

#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_typed.h"
#include "stats/describe/rng.h"

/* ---- chance ---- */

/* Numbers in [0, 1), the same ones for the same seed of the model. */
struct chance {
    bool seeded;
    struct as_mersenne twister;
    struct as_rng rng;
};

static void chance_init(struct chance *c, const struct as_kernel_ctx *k)
{
    const struct as_attr *seed = as_node_attr(k->node, "seed");

    c->seeded = seed != NULL;
    if (seed && seed->kind == AS_ATTR_INT)
        as_mersenne_seed(&c->twister, (uint32_t)(uint64_t)seed->i);
    else if (seed)
        as_mersenne_seed(&c->twister,
                         (uint32_t)(uint64_t)fabs(as_node_float(k->node, "seed", 0)) & UINT32_MAX);
    else
        as_rng_seed(&c->rng, as_kernel_seed(k));
}

static double chance_next(struct chance *c)
{
    return c->seeded ? as_mersenne_unit(&c->twister) : as_rng_unit(&c->rng);
}

/* Keeps what chance spares, larger by as much as was lost; the mask says which. */
static int drop_some(struct as_kernel_ctx *k, double ratio)
{
    struct chance *c = as_kernel_work(k, 1, sizeof *c);
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0], *mask = as_has_out(k, 1) ? k->out[1] : NULL;
    double scale = ratio < 1 ? 1 / (1 - ratio) : 0;

    if (!c)
        return ASSAY_ERR_NOMEM;
    chance_init(c, k);
    for (uint64_t i = 0; i < in->n; i++) {
        bool kept = chance_next(c) >= ratio;

        as_val_put_f64(out, i, kept ? as_val_f64(in, i) * scale : 0);
        if (mask)
            as_val_put_i64(mask, i, kept);
    }
    return ASSAY_OK;
}

static double drop_ratio(const struct as_kernel_ctx *k)
{
    return k->opset >= 12 ? as_in_number(k, 1, 0.5) : as_node_float(k->node, "ratio", 0.5);
}

/* From opset 12 an input says whether to train; before 7 an attribute says whether not to. */
static bool drop_trains(const struct as_kernel_ctx *k)
{
    if (k->opset >= 12)
        return as_in_number(k, 2, 0) != 0;
    return k->opset < 7 && as_node_int(k->node, "is_test", 0) == 0;
}

int as_run_dropout(struct as_kernel_ctx *k)
{
    unsigned mask = k->opset >= 10 ? (unsigned)AS_DTYPE_BOOL : k->in[0]->dtype;
    double ratio = drop_ratio(k);
    bool drops = drop_trains(k) && ratio > 0;
    struct as_dims dims;
    int rc;

    if (isnan(ratio) || ratio < 0 || ratio > 1)
        return as_kernel_fail(k, "a ratio of %g is not between 0 and 1", ratio);
    as_val_dims(k->in[0], &dims);
    rc = as_kernel_out(k, 1, mask, &dims);
    if (rc == ASSAY_OK && !drops) {
        for (uint64_t i = 0; as_has_out(k, 1) && i < k->in[0]->n; i++)
            as_val_put_i64(k->out[1], i, 1);
        return as_kernel_pass(k, 0, k->in[0]);
    }
    if (rc == ASSAY_OK)
        rc = as_kernel_out(k, 0, k->in[0]->dtype, &dims);
    return rc == ASSAY_OK && as_has_out(k, 0) ? drop_some(k, ratio) : rc;
}

/* ---- operators of the first opsets ---- */

int as_run_image_scaler(struct as_kernel_ctx *k)
{
    const struct as_attr *bias = as_node_attr(k->node, "bias");
    float scale = (float)as_node_float(k->node, "scale", 1);
    const struct as_val *in = k->in[0];
    const float *from = in->data;
    float *to = k->out[0]->data;
    struct as_around a;

    if (in->dtype != AS_DTYPE_F32 || in->rank < 2 || k->out[0]->n != in->n)
        return as_kernel_cannot(k, "it takes images of f32");
    a = as_around_axes(in, 1, 2);
    if (!bias || bias->kind != AS_ATTR_FLOATS || bias->n != a.n)
        return as_kernel_fail(k, "there is no bias for each of %llu channels",
                              (unsigned long long)a.n);
    for (uint64_t i = 0; i < in->n; i++)
        to[i] = from[i] * scale + bias->floats[i / (a.inner ? a.inner : 1) % a.n];
    return ASSAY_OK;
}

/* The border is [left, top, right, bottom]; with `scale` it is the size of what stays. */
int as_run_crop(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_ints border, scale;
    int64_t left, top, wide, high;
    size_t bytes = as_elem_bytes(in->dtype);
    struct as_dims dims;
    char *to;
    int rc;

    if (in->rank != 4 || bytes == 0)
        return as_kernel_fail(k, "it takes images of 4 dimensions");
    if (!as_node_ints(k->node, "border", &border) || border.n != 4)
        return as_kernel_fail(k, "its border is not four numbers");
    left = border.at[0];
    top = border.at[1];
    if (left < 0 || top < 0 || left > in->dims[3] || top > in->dims[2] || border.at[2] < 0 ||
        border.at[3] < 0)
        return as_kernel_fail(k, "its border is outside of the image");
    high = in->dims[2] - top - border.at[3];
    wide = in->dims[3] - left - border.at[2];
    if (as_node_ints(k->node, "scale", &scale) && scale.n == 2) {
        high = scale.at[0];
        wide = scale.at[1];
    }
    if (high < 0 || wide < 0 || high > in->dims[2] - top || wide > in->dims[3] - left)
        return as_kernel_fail(k, "its border is outside of the image");
    dims = (struct as_dims){4, {in->dims[0], in->dims[1], high, wide}};
    rc = as_kernel_out(k, 0, in->dtype, &dims);
    if (rc < 0 || !as_has_out(k, 0))
        return rc;
    to = k->out[0]->data;
    for (int64_t c = 0; c < in->dims[0] * in->dims[1]; c++)
        for (int64_t y = 0; y < high; y++, to += (uint64_t)wide * bytes)
            memcpy(to,
                   (const char *)in->data +
                       (uint64_t)((c * in->dims[2] + top + y) * in->dims[3] + left) * bytes,
                   (uint64_t)wide * bytes);
    return ASSAY_OK;
}
