/* engine/kernels/norm/kern_norm.c - the table of normalizations and losses; layer, instance and
 * group norms. All of these normalize rows that lie together and differ in what a row is. */
#include "engine/kernels/norm/kern_norm.h"

#include <math.h>

#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"

struct rows {
    const struct as_norm_loops *loops;
    const char *in;
    char *out;
    size_t bytes;
    uint64_t n; /* elements of a row */
    double epsilon;
    bool root_only;           /* no mean is taken off */
    const void *times, *plus; /* one number for each element of a row; NULL: none */
    uint64_t per_row;         /* 0: the same for every row; else rows have their own */
    struct as_val *means, *inverses;
    /* Of channels: how many a row has, how many there are, and numbers for each. */
    uint64_t channels, n_channels;
    const double *channel_times, *channel_plus;
};

static void row_moments(const struct rows *r, const char *in, double *mean, double *inverse)
{
    double n = (double)r->n;

    *mean = r->root_only ? 0 : r->loops->sum(in, r->n) / n;
    *inverse = 1 / sqrt(r->loops->deviation(in, r->n, *mean) / n + r->epsilon);
}

static void layer_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct rows *r = arg;

    for (uint64_t row = from; row < to; row++) {
        uint64_t at = row * r->n * r->bytes, own = row * r->per_row * r->bytes;
        double mean, inverse;

        row_moments(r, r->in + at, &mean, &inverse);
        r->loops->scale(r->in + at, r->out + at, r->n, mean, inverse,
                        r->times ? (const char *)r->times + own : NULL,
                        r->plus ? (const char *)r->plus + own : NULL);
        if (r->means)
            as_val_put_f64(r->means, row, mean);
        if (r->inverses)
            as_val_put_f64(r->inverses, row, inverse);
    }
}

/* The weights as one row, or as large as the input where they are not the same for every row. */
static int layer_weights(struct as_kernel_ctx *k, size_t i, struct rows *r, struct as_val *own,
                         int axis)
{
    const struct as_val *x = k->in[0];
    struct as_dims dims;
    struct as_val typed = {0};
    bool front = true;
    int rc;

    if (!as_has_in(k, i))
        return ASSAY_OK;
    rc = as_cast_to(k, k->in[i], x->dtype, &typed);
    if (rc < 0)
        return rc;
    as_val_dims(x, &dims);
    for (int d = 0; d < typed.rank - (x->rank - axis); d++)
        front &= typed.dims[d] == 1;
    if (front && typed.n == r->n) {
        *own = typed;
        return ASSAY_OK;
    }
    for (int d = 0; d < axis && front; d++)
        dims.at[d] = 1;
    if (!front)
        r->per_row = r->n;
    return as_broadcast_to(k, &typed, &dims, own);
}

static struct as_val *extra_out(struct as_kernel_ctx *k, size_t i, uint64_t n)
{
    return as_has_out(k, i) && k->out[i]->n == n ? k->out[i] : NULL;
}

int as_run_layer_norm(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    bool simple = k->node->op == AS_OP_SimplifiedLayerNormalization;
    struct rows r = {.in = x->data,
                     .out = k->out[0]->data,
                     .bytes = as_elem_bytes(x->dtype),
                     .epsilon = as_node_float(k->node, "epsilon", 1e-5),
                     .root_only = simple,
                     .loops = as_norm_loops(k, x->dtype)};
    struct as_val times = {0}, plus = {0};
    struct as_around a;
    int axis, rc = as_kernel_axis(k, as_node_int(k->node, "axis", -1), x->rank, &axis);

    if (rc < 0 || !r.loops)
        return rc < 0 ? rc : ASSAY_ERR_UNSUPPORTED;
    a = as_around_axes(x, axis, x->rank);
    r.n = a.n;
    rc = layer_weights(k, 1, &r, &times, axis);
    if (rc == ASSAY_OK && !simple)
        rc = layer_weights(k, 2, &r, &plus, axis);
    if (rc == ASSAY_OK && r.per_row > 0 &&
        ((times.data && times.n != x->n) || (plus.data && plus.n != x->n)))
        rc = as_kernel_cannot(k, "scale and bias are of different kinds");
    if (rc == ASSAY_OK)
        rc = as_kernel_same_size(k, x, k->out[0], "the output");
    if (rc < 0)
        return rc;
    r.times = times.data;
    r.plus = plus.data;
    r.means = simple ? NULL : extra_out(k, 1, a.outer);
    r.inverses = extra_out(k, simple ? 1 : 2, a.outer);
    as_kernel_parallel(k, a.outer, as_grain_of(r.n), layer_rows, &r);
    return ASSAY_OK;
}

/* ---- rows of whole channels ---- */

static void channel_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct rows *r = arg;

    for (uint64_t row = from; row < to; row++) {
        uint64_t each = r->n / r->channels, at = row * r->n * r->bytes;
        double mean, inverse;

        row_moments(r, r->in + at, &mean, &inverse);
        for (uint64_t c = 0; c < r->channels; c++, at += each * r->bytes) {
            uint64_t channel = (row * r->channels + c) % r->n_channels;
            double times = inverse * r->channel_times[channel];

            r->loops->line(r->in + at, r->out + at, each, times,
                           r->channel_plus[channel] - mean * times);
        }
    }
}

/* A number for each channel from input `i`, which may have one for each group instead. */
static int channel_numbers(struct as_kernel_ctx *k, size_t i, uint64_t n, const double **out)
{
    const struct as_val *in = as_has_in(k, i) ? k->in[i] : NULL;
    double *numbers;

    if (!in || in->n == 0 || in->n > n || n % in->n != 0)
        return as_kernel_fail(k, "input %zu is not one number for each of %llu channels", i,
                              (unsigned long long)n);
    numbers = as_kernel_work(k, n, sizeof *numbers);
    if (!numbers)
        return ASSAY_ERR_NOMEM;
    for (uint64_t c = 0; c < n; c++)
        numbers[c] = as_val_f64(in, c / (n / in->n));
    *out = numbers;
    return ASSAY_OK;
}

static int run_channels(struct as_kernel_ctx *k, int64_t groups)
{
    const struct as_val *x = k->in[0];
    struct rows r = {.in = x->data,
                     .out = k->out[0]->data,
                     .bytes = as_elem_bytes(x->dtype),
                     .epsilon = as_node_float(k->node, "epsilon", 1e-5),
                     .loops = as_norm_loops(k, x->dtype)};
    struct as_around a;
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (rc < 0 || !r.loops)
        return rc < 0 ? rc : ASSAY_ERR_UNSUPPORTED;
    if (x->rank < 2)
        return as_kernel_fail(k, "an input of rank %d has no channels", x->rank);
    if (x->n == 0)
        return ASSAY_OK;
    a = as_around_axes(x, 1, 2);
    if (groups == 0)
        groups = (int64_t)a.n;
    if (groups < 1 || a.n % (uint64_t)groups != 0)
        return as_kernel_fail(k, "%llu channels cannot be split into %lld groups",
                              (unsigned long long)a.n, (long long)groups);
    r.n_channels = a.n;
    r.channels = a.n / (uint64_t)groups;
    r.n = r.channels * a.inner;
    rc = channel_numbers(k, 1, a.n, &r.channel_times);
    if (rc == ASSAY_OK)
        rc = channel_numbers(k, 2, a.n, &r.channel_plus);
    if (rc == ASSAY_OK)
        as_kernel_parallel(k, a.outer * (uint64_t)groups, as_grain_of(r.n), channel_rows, &r);
    return rc;
}

int as_run_instance_norm(struct as_kernel_ctx *k)
{
    return run_channels(k, 0);
}

int as_run_group_norm(struct as_kernel_ctx *k)
{
    int64_t groups = as_node_int(k->node, "num_groups", 0);

    if (groups < 1)
        return as_kernel_fail(k, "num_groups is %lld", (long long)groups);
    return run_channels(k, groups);
}

const struct as_kernel as_kernels_norm[] = {
    {AS_OP_BatchNormalization, as_run_batch_norm, 0},
    {AS_OP_InstanceNormalization, as_run_instance_norm, 0},
    {AS_OP_GroupNormalization, as_run_group_norm, 0},
    {AS_OP_LayerNormalization, as_run_layer_norm, 0},
    {AS_OP_SimplifiedLayerNormalization, as_run_layer_norm, 0},
    {AS_OP_LRN, as_run_lrn, 0},
    {AS_OP_LpNormalization, as_run_lp_norm, 0},
    {AS_OP_MeanVarianceNormalization, as_run_mean_variance, 0},
    {AS_OP_NegativeLogLikelihoodLoss, as_run_loss, 0},
    {AS_OP_SoftmaxCrossEntropyLoss, as_run_loss, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
