/* engine/kernels/image/kern_resize_plan.c - which points of the input each point of a resized axis
 * is made of. Every option of Resize ends here, as places and weights along one axis. */
#include <math.h>

#include "engine/kernels/image/kern_image.h"
#include "model/infer/infer_context.h"

/* ---- its options ---- */

static int pick(struct as_kernel_ctx *k, const char *name, const char *const *words, int n,
                int *which)
{
    struct as_text said;

    if (!as_node_text(k->node, name, &said))
        return ASSAY_OK;
    for (int i = 0; i < n; i++)
        if (as_node_text_is(k->node, name, words[i])) {
            *which = i;
            return ASSAY_OK;
        }
    return as_kernel_cannot(k, "%s '%.*s' is not known", name,
                            (int)(said.size < 40 ? said.size : 40), said.at);
}

static int read_words(struct as_kernel_ctx *k, struct as_resize *r)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const places[AS_PLACES_COUNT] = {
        [AS_PLACES_HALF_PIXEL] = "half_pixel",
        [AS_PLACES_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
        [AS_PLACES_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
        [AS_PLACES_ALIGN_CORNERS] = "align_corners",
        [AS_PLACES_ASYMMETRIC] = "asymmetric",
        [AS_PLACES_TF_HALF_PIXEL_FOR_NN] = "tf_half_pixel_for_nn",
        [AS_PLACES_TF_CROP_AND_RESIZE] = "tf_crop_and_resize",
    };
    static const char *const nearest[AS_NEAREST_COUNT] = {
        [AS_NEAREST_PREFER_FLOOR] = "round_prefer_floor",
        [AS_NEAREST_PREFER_CEIL] = "round_prefer_ceil",
        [AS_NEAREST_FLOOR] = "floor",
        [AS_NEAREST_CEIL] = "ceil",
    };
    bool old = k->node->op == AS_OP_Upsample || k->opset < 11;
    int mode = 0, place = old ? AS_PLACES_ASYMMETRIC : AS_PLACES_HALF_PIXEL;
    int round = old ? AS_NEAREST_FLOOR : AS_NEAREST_PREFER_FLOOR;
    int rc = pick(k, "mode", modes, 4, &mode);

    if (rc == ASSAY_OK && !old)
        rc = pick(k, "coordinate_transformation_mode", places, AS_PLACES_COUNT, &place);
    if (rc == ASSAY_OK && !old)
        rc = pick(k, "nearest_mode", nearest, AS_NEAREST_COUNT, &round);
    r->mode = mode == 3 ? AS_RESIZE_LINEAR : (enum as_resize_mode)mode;
    r->places = (enum as_resize_places)place;
    r->nearest = (enum as_resize_nearest)round;
    return rc;
}

/* True for an input that is there and not the empty one some exporters put for none. */
static bool is_given(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) && k->in[i]->n > 0;
}

/* One scale for all axes that are resized, when their ratio is kept. */
static bool common_scale(const struct as_kernel_ctx *k, const int *axes, int n, double *scale)
{
    bool not_larger = as_node_text_is(k->node, "keep_aspect_ratio_policy", "not_larger");

    if (!not_larger && !as_node_text_is(k->node, "keep_aspect_ratio_policy", "not_smaller"))
        return false;
    for (int i = 0; i < n; i++) {
        int64_t in = k->in[0]->dims[axes[i]];
        double one = in > 0 ? (double)as_val_i64(k->in[3], (uint64_t)i) / (double)in : 1;

        if (i == 0 || (not_larger ? one < *scale : one > *scale))
            *scale = one;
    }
    return n > 0;
}

static int read_scales(struct as_kernel_ctx *k, struct as_resize *r, const int *axes, int n)
{
    const struct as_attr *attr = as_node_attr(k->node, "scales");
    size_t at = k->node->op == AS_OP_Upsample || (k->opset < 11 && k->n_in == 2) ? 1 : 2;
    bool sized = at == 2 && is_given(k, 3);
    double all = 1;

    if (sized && k->in[3]->n != (uint64_t)n)
        return as_kernel_fail(k, "there are not as many sizes as axes");
    if (!sized && !attr && (!is_given(k, at) || k->in[at]->n != (uint64_t)n))
        return as_kernel_fail(k, "there are not as many scales as axes");
    if (!sized && attr && (attr->kind != AS_ATTR_FLOATS || attr->n != (uint32_t)n))
        return as_kernel_fail(k, "there are not as many scales as axes");
    if (sized && common_scale(k, axes, n, &all))
        for (int i = 0; i < n; i++)
            r->scale[axes[i]] = all;
    else
        for (int i = 0; i < n; i++) {
            const struct as_val *in = k->in[0], *out = k->out[0];
            int axis = axes[i];

            if (sized)
                r->scale[axis] = (double)out->dims[axis] / (double)in->dims[axis];
            else
                r->scale[axis] =
                    attr ? (double)attr->floats[i] : as_val_f64(k->in[at], (uint64_t)i);
        }
    for (int i = 0; i < n; i++)
        if (!(r->scale[axes[i]] > 0) && k->out[0]->n > 0)
            return as_kernel_fail(k, "the scale of axis %d is not positive", axes[i]);
    return ASSAY_OK;
}

static int read_region(struct as_kernel_ctx *k, struct as_resize *r, const int *axes, int n)
{
    if (r->places != AS_PLACES_TF_CROP_AND_RESIZE)
        return ASSAY_OK;
    if (!is_given(k, 1) || k->in[1]->n != 2 * (uint64_t)n)
        return as_kernel_fail(k, "its region is not two numbers for each axis");
    for (int i = 0; i < n; i++) {
        r->begin[axes[i]] = as_val_f64(k->in[1], (uint64_t)i);
        r->end[axes[i]] = as_val_f64(k->in[1], (uint64_t)n + (uint64_t)i);
    }
    return ASSAY_OK;
}

int as_resize_read(struct as_kernel_ctx *k, struct as_resize *r)
{
    int axes[AS_MAX_RANK], rank = k->in[0]->rank, n = rank, rc;
    struct as_ints given;

    *r = (struct as_resize){.cubic_a = as_node_float(k->node, "cubic_coeff_a", -0.75),
                            .outside = as_node_float(k->node, "extrapolation_value", 0),
                            .exclude_outside = as_node_int(k->node, "exclude_outside", 0) != 0,
                            .antialias = as_node_int(k->node, "antialias", 0) != 0};
    rc = read_words(k, r);
    if (rc < 0)
        return rc;
    if (k->out[0]->rank != rank)
        return as_kernel_fail(k, "rank %d becomes %d", rank, k->out[0]->rank);
    for (int i = 0; i < rank; i++) {
        axes[i] = i;
        r->scale[i] = r->end[i] = 1;
    }
    if (k->opset >= 18 && as_node_ints(k->node, "axes", &given)) {
        n = (int)given.n;
        if (given.n > (size_t)rank)
            return as_kernel_fail(k, "it has %zu axes for rank %d", given.n, rank);
        for (int i = 0; i < n; i++)
            if (!as_axis(given.at[i], rank, &axes[i]))
                return as_kernel_fail(k, "axis %lld is outside of rank %d", (long long)given.at[i],
                                      rank);
    }
    rc = read_scales(k, r, axes, n);
    return rc < 0 ? rc : read_region(k, r, axes, n);
}

/* ---- places ---- */

static double place_of(const struct as_resize *r, int axis, double x, double n_in, double n_out)
{
    double scale = r->scale[axis], exact = scale * n_in; /* of which n_out is the whole part */

    switch (r->places) {
    case AS_PLACES_HALF_PIXEL_SYMMETRIC:
        return n_in / 2 * (1 - n_out / exact) + (x + 0.5) / scale - 0.5;
    case AS_PLACES_PYTORCH_HALF_PIXEL:
        return n_out > 1 ? (x + 0.5) / scale - 0.5 : 0;
    case AS_PLACES_ALIGN_CORNERS:
        return exact > 1 && n_out > 1 ? x * (n_in - 1) / (exact - 1) : 0;
    case AS_PLACES_ASYMMETRIC:
        return x / scale;
    case AS_PLACES_TF_HALF_PIXEL_FOR_NN:
        return (x + 0.5) / scale;
    case AS_PLACES_TF_CROP_AND_RESIZE:
        if (n_out > 1)
            return r->begin[axis] * (n_in - 1) +
                   x * (r->end[axis] - r->begin[axis]) * (n_in - 1) / (n_out - 1);
        return 0.5 * (r->begin[axis] + r->end[axis]) * (n_in - 1);
    default:
        return (x + 0.5) / scale - 0.5;
    }
}

static int64_t clamp(double x, int64_t n)
{
    return !(x > 0) ? 0 : x > (double)(n - 1) ? n - 1 : (int64_t)x;
}

static double nearest_to(const struct as_resize *r, double x)
{
    switch (r->nearest) {
    case AS_NEAREST_PREFER_CEIL:
        return floor(x + 0.5);
    case AS_NEAREST_FLOOR:
        return floor(x);
    case AS_NEAREST_CEIL:
        return ceil(x);
    default:
        return ceil(x - 0.5);
    }
}

/* Half of the points a place is made of; wider for a smaller image when it is smoothed. */
static int64_t reach_of(const struct as_resize *r, double scale)
{
    double radius = r->mode == AS_RESIZE_LINEAR ? 1 : 2;

    return scale < 1 ? (int64_t)-floor(-radius / scale) : (int64_t)radius;
}

static void weigh(const struct as_resize *r, double scale, double x, struct as_resize_axis *a,
                  int64_t i)
{
    double sum = 0, low = floor(x);
    int64_t reach = a->taps / 2;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t t = 0; t < a->taps; t++) {
            double at = low + (double)(t - reach + 1), from = (at - x) * scale, w;

            w = r->mode == AS_RESIZE_LINEAR ? fmax(1 - fabs(from), 0)
                                            : as_image_cubic(from, r->cubic_a);
            if (r->exclude_outside && (at < 0 || at > (double)(a->n_in - 1)))
                w = 0;
            if (pass == 0)
                sum += w;
            a->at[i * a->taps + t] = clamp(at, a->n_in);
            a->weight[i * a->taps + t] = (float)(w / (fabs(sum) > 0 ? sum : 1));
        }
}

int as_resize_plan(struct as_kernel_ctx *k, const struct as_resize *r, int axis,
                   struct as_resize_axis *a)
{
    double scale = r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1;
    uint64_t n;

    *a = (struct as_resize_axis){
        .n_in = k->in[0]->dims[axis], .n_out = k->out[0]->dims[axis], .taps = 1};
    if (r->mode != AS_RESIZE_NEAREST) {
        if (scale < 1e-6)
            return as_kernel_cannot(k, "a scale of %g is smoothed", scale);
        a->taps = 2 * reach_of(r, scale);
    }
    if (__builtin_mul_overflow((uint64_t)a->n_out, (uint64_t)a->taps, &n))
        return as_kernel_fail(k, "axis %d is too long", axis);
    a->at = as_kernel_work(k, n, sizeof *a->at);
    a->beyond = as_kernel_work(k, (uint64_t)a->n_out, sizeof *a->beyond);
    if (a->taps > 1)
        a->weight = as_kernel_work(k, n, sizeof *a->weight);
    if (!a->at || !a->beyond || (a->taps > 1 && !a->weight))
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < a->n_out; i++) {
        double x = place_of(r, axis, (double)i, (double)a->n_in, (double)a->n_out);

        x = isfinite(x) ? fmin(fmax(x, -1e15), 1e15) : 0;
        a->beyond[i] = x < 0 || x > (double)(a->n_in - 1);
        if (a->taps == 1)
            a->at[i] = clamp(nearest_to(r, x), a->n_in);
        else
            weigh(r, scale, x, a, i);
    }
    if (r->places != AS_PLACES_TF_CROP_AND_RESIZE)
        a->beyond = NULL;
    return ASSAY_OK;
}
