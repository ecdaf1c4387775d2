/* engine/kernels/image/kern_grid.c - GridSample and AffineGrid: images read at places of which -1
 * and 1 are the ends of each axis. */
#include <string.h>

#include "engine/kernels/image/kern_image.h"
#include "engine/kernels/move/kern_move.h"

enum { MAX_AXES = 3, MAX_TAPS = 4 * 4 * 4 };

enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

struct grid {
    const float *image, *places;
    float *out;
    int n; /* axes of the image */
    int64_t channels, length[MAX_AXES], plane, points;
    int taps; /* of each axis: 1, 2 or 4 */
    bool corners;
    enum padding padding;
};

/* What one point is made of. */
struct taps {
    int n;
    int64_t at[MAX_TAPS];
    float weight[MAX_TAPS];
};

/* Folds `x` back between `low` and `high`. */
static double reflect(double x, double low, double high)
{
    double span = high - low, turns, rest;

    if (!(span > 0))
        return low;
    x = fabs(x - low);
    turns = floor(x / span);
    rest = x - turns * span;
    return fmod(turns, 2) < 0.5 ? low + rest : high - rest;
}

/* Where a place lies that may be outside; false: nowhere. */
static bool settle(const struct grid *g, double length, double *x)
{
    if (*x >= 0 && *x <= length - 1)
        return true;
    if (g->padding == PAD_ZEROS)
        return false;
    if (g->padding == PAD_REFLECTION)
        *x = g->corners ? reflect(*x, 0, length - 1) : reflect(*x, -0.5, length - 0.5);
    *x = fmin(fmax(*x, 0), length - 1);
    return true;
}

/* The taps of one axis. Those outside have no weight. */
static void axis_taps(const struct grid *g, int axis, double place, int64_t *at, double *weight)
{
    double length = (double)g->length[axis], x, low;

    x = g->corners ? (place + 1) / 2 * (length - 1) : ((place + 1) * length - 1) / 2;
    x = isfinite(x) ? fmin(fmax(x, -1e15), 1e15) : -1e15;
    if (g->padding != PAD_ZEROS && g->taps < 4)
        (void)settle(g, length, &x);
    if (g->taps == 1)
        x = nearbyint(x);
    low = floor(x);
    for (int t = 0; t < g->taps; t++) {
        double point = low + t - (g->taps == 4 ? 1 : 0), from = point - x;

        weight[t] = g->taps == 1 ? 1 : g->taps == 2 ? 1 - fabs(from) : as_image_cubic(from, -0.75);
        if (!settle(g, length, &point)) {
            weight[t] = 0;
            point = 0;
        }
        at[t] = (int64_t)nearbyint(point);
    }
}

static void point_taps(const struct grid *g, const float *place, struct taps *out)
{
    int64_t at[MAX_AXES][4] = {{0}};
    double weight[MAX_AXES][4] = {{0}};

    out->n = 1;
    for (int d = 0; d < g->n; d++) { /* a place names the last axis first */
        axis_taps(g, d, (double)place[g->n - 1 - d], at[d], weight[d]);
        out->n *= g->taps;
    }
    for (int i = 0; i < out->n; i++) {
        int64_t sum = 0;
        double w = 1;

        for (int d = 0, rest = i; d < g->n; d++, rest /= g->taps) {
            sum = sum * g->length[d] + at[d][rest % g->taps];
            w *= weight[d][rest % g->taps];
        }
        out->at[i] = sum;
        out->weight[i] = (float)w;
    }
}

static void sample_points(void *arg, uint64_t first, uint64_t end)
{
    const struct grid *g = arg;

    for (uint64_t i = first; i < end; i++) {
        int64_t batch = (int64_t)i / g->points, point = (int64_t)i % g->points;
        const float *image = g->image + batch * g->channels * g->plane;
        float *out = g->out + batch * g->channels * g->points + point;
        struct taps taps;

        point_taps(g, g->places + i * (uint64_t)g->n, &taps);
        for (int64_t c = 0; c < g->channels; c++, image += g->plane, out += g->points) {
            float sum = 0;

            for (int t = 0; t < taps.n; t++)
                sum += image[taps.at[t]] * taps.weight[t];
            *out = sum;
        }
    }
}

int as_kern_grid_sample(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *places = k->in[1];
    struct grid g = {.n = in->rank - 2, .taps = 2};

    if (in->dtype != AS_DTYPE_F32 || places->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "images of %s", as_dtype_name(in->dtype));
    if (g.n < 1 || g.n > MAX_AXES)
        return as_kernel_cannot(k, "images with %d axes", g.n);
    if (places->rank != in->rank || places->dims[0] != in->dims[0] ||
        places->dims[places->rank - 1] != g.n)
        return as_kernel_fail(k, "the grid does not fit the image");
    if (k->out[0]->n == 0)
        return ASSAY_OK;
    if (in->n == 0)
        return as_kernel_fail(k, "there is nothing to sample");
    if (as_node_text_is(k->node, "mode", "nearest"))
        g.taps = 1;
    else if (as_node_text_is(k->node, "mode", "bicubic") ||
             as_node_text_is(k->node, "mode", "cubic"))
        g.taps = 4;
    if (as_node_text_is(k->node, "padding_mode", "border"))
        g.padding = PAD_BORDER;
    else if (as_node_text_is(k->node, "padding_mode", "reflection"))
        g.padding = PAD_REFLECTION;
    g.corners = as_node_int(k->node, "align_corners", 0) != 0;
    g.image = in->data;
    g.places = places->data;
    g.out = k->out[0]->data;
    g.channels = in->dims[1];
    for (int d = 0; d < g.n; d++)
        g.length[d] = in->dims[2 + d];
    g.plane = as_move_product(in->dims, 2, in->rank);
    g.points = as_move_product(places->dims, 1, places->rank - 1);
    as_kernel_parallel(k, (uint64_t)(in->dims[0] * g.points),
                       as_move_grain((uint64_t)g.channels * sizeof(float)), sample_points, &g);
    return ASSAY_OK;
}

/* ---- AffineGrid ---- */

static double grid_place(int64_t i, int64_t n, bool corners)
{
    if (corners)
        return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0;
    return (2 * (double)i + 1) / (double)n - 1;
}

int as_kern_affine_grid(struct as_kernel_ctx *k)
{
    const struct as_val *theta = k->in[0];
    struct as_val *out = k->out[0];
    bool corners = as_node_int(k->node, "align_corners", 0) != 0;
    int n = out->rank - 2;
    int64_t at[AS_MAX_RANK] = {0};

    if (n < 2 || n > 3 || theta->rank != 3 || theta->dims[1] != n || theta->dims[2] != n + 1 ||
        theta->dims[0] != out->dims[0] || out->dims[out->rank - 1] != n)
        return as_kernel_fail(k, "theta is not one matrix per batch entry");
    for (uint64_t i = 0; i < out->n; i++) {
        uint64_t row = (uint64_t)((at[0] * n + at[out->rank - 1]) * (n + 1));
        double sum = as_val_f64(theta, row + (uint64_t)n);

        for (int d = 0; d < n; d++) /* x is the last axis */
            sum += as_val_f64(theta, row + (uint64_t)d) *
                   grid_place(at[n - d], out->dims[n - d], corners);
        as_val_put_f64(out, i, sum);
        (void)as_move_step(at, out->dims, out->rank);
    }
    return ASSAY_OK;
}
