/* engine/kernels/norm/kern_norm_batch.c - BatchNormalization, when used and when trained, of every
 * opset. Used, it is one line for each channel; trained, the line comes from the batch itself. */
#include <math.h>

#include "engine/kernels/norm/kern_norm.h"

struct batch {
    const struct as_norm_loops *loops;
    const struct as_val *x;
    char *out;
    size_t bytes;
    struct as_around a;      /* of the channels */
    double *mean, *variance; /* of each channel */
    double *times, *plus;
    void *typed_times, *typed_plus; /* the same in the input's type, when channels come last */
};

static void batch_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct batch *b = arg;

    for (uint64_t row = from; row < to; row++) {
        uint64_t at = row * b->a.inner * b->bytes, c = row % b->a.n;

        b->loops->line((const char *)b->x->data + at, b->out + at, b->a.inner, b->times[c],
                       b->plus[c]);
    }
}

static void batch_last(void *arg, uint64_t from, uint64_t to)
{
    const struct batch *b = arg;

    for (uint64_t row = from; row < to; row++) {
        uint64_t at = row * b->a.n * b->bytes;

        b->loops->lines((const char *)b->x->data + at, b->out + at, b->a.n, b->typed_times,
                        b->typed_plus);
    }
}

static void channel_moments(void *arg, uint64_t from, uint64_t to)
{
    const struct batch *b = arg;
    double n = (double)(b->a.outer * b->a.inner);

    for (uint64_t c = from; c < to; c++) {
        const char *first = (const char *)b->x->data + c * b->a.inner * b->bytes;
        uint64_t step = b->a.n * b->a.inner * b->bytes;
        double sum = 0, squares = 0;

        for (uint64_t o = 0; o < b->a.outer; o++)
            sum += b->loops->sum(first + o * step, b->a.inner);
        for (uint64_t o = 0; o < b->a.outer; o++)
            squares += b->loops->deviation(first + o * step, b->a.inner, sum / n);
        b->mean[c] = sum / n;
        b->variance[c] = squares / n;
    }
}

static bool trains(const struct as_kernel_ctx *k)
{
    if (k->opset >= 14)
        return as_node_int(k->node, "training_mode", 0) != 0;
    if (k->opset < 7 && as_node_int(k->node, "is_test", 0) != 0)
        return false;
    return as_has_out(k, 1) || as_has_out(k, 2) || as_has_out(k, 3) || as_has_out(k, 4);
}

/* Running mean and variance move towards those of the batch; older opsets also save the latter. */
static void put_statistics(struct as_kernel_ctx *k, const struct batch *b)
{
    double keep = as_node_float(k->node, "momentum", 0.9);

    for (size_t i = 1; i < 5; i++) {
        const double *own = i % 2 ? b->mean : b->variance;

        for (uint64_t c = 0; as_has_out(k, i) && c < k->out[i]->n && c < b->a.n; c++)
            as_val_put_f64(k->out[i], c,
                           i > 2 ? own[c]
                                 : as_val_f64(k->in[2 + i], c) * keep + own[c] * (1 - keep));
    }
}

static int check_inputs(struct as_kernel_ctx *k, struct batch *b)
{
    static const char *const names[] = {"", "scale", "bias", "mean", "variance"};
    const struct as_val *x = k->in[0];
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (rc < 0)
        return rc;
    if (x->rank < 1)
        return as_kernel_fail(k, "an input of rank %d has no channels", x->rank);
    b->a = as_around_axes(x, x->rank > 1 ? 1 : 0, x->rank > 1 ? 2 : 1);
    if (k->opset < 9 && as_node_int(k->node, "spatial", 1) == 0)
        b->a = as_around_axes(x, 1, x->rank); /* one line for each place */
    for (size_t i = 1; i < 5; i++)
        if (!as_has_in(k, i) || k->in[i]->n != b->a.n)
            return as_kernel_fail(k, "its %s is not one number for each of %llu channels", names[i],
                                  (unsigned long long)b->a.n);
    return ASSAY_OK;
}

static int make_lines(struct as_kernel_ctx *k, struct batch *b, bool train)
{
    double epsilon = as_node_float(k->node, "epsilon", 1e-5);
    double *numbers = as_kernel_work(k, b->a.n, 4 * sizeof *numbers);
    struct as_val times = *k->in[1], plus = *k->in[1];

    b->typed_times = as_kernel_work(k, b->a.n, 8);
    b->typed_plus = as_kernel_work(k, b->a.n, 8);
    if (!numbers || !b->typed_times || !b->typed_plus)
        return ASSAY_ERR_NOMEM;
    b->times = numbers;
    b->plus = numbers + b->a.n;
    b->mean = numbers + 2 * b->a.n;
    b->variance = numbers + 3 * b->a.n;
    if (train)
        as_kernel_parallel(k, b->a.n, as_grain_of(b->a.outer * b->a.inner), channel_moments, b);
    times.dtype = plus.dtype = b->x->dtype;
    times.data = b->typed_times;
    plus.data = b->typed_plus;
    for (uint64_t c = 0; c < b->a.n; c++) {
        double mean = train ? b->mean[c] : as_val_f64(k->in[3], c);
        double variance = train ? b->variance[c] : as_val_f64(k->in[4], c);

        b->times[c] = as_val_f64(k->in[1], c) / sqrt(variance + epsilon);
        b->plus[c] = as_val_f64(k->in[2], c) - mean * b->times[c];
        as_val_put_f64(&times, c, b->times[c]);
        as_val_put_f64(&plus, c, b->plus[c]);
    }
    return ASSAY_OK;
}

int as_run_batch_norm(struct as_kernel_ctx *k)
{
    struct batch b = {
        .x = k->in[0], .out = k->out[0]->data, .bytes = as_elem_bytes(k->in[0]->dtype)};
    bool train = trains(k);
    int rc;

    b.loops = as_norm_loops(k, k->in[0]->dtype);
    if (!b.loops)
        return ASSAY_ERR_UNSUPPORTED;
    rc = check_inputs(k, &b);
    if (rc == ASSAY_OK)
        rc = make_lines(k, &b, train);
    if (rc < 0)
        return rc;
    if (b.a.inner == 1)
        as_kernel_parallel(k, b.a.outer, as_grain_of(b.a.n), batch_last, &b);
    else
        as_kernel_parallel(k, b.a.outer * b.a.n, as_grain_of(b.a.inner), batch_rows, &b);
    if (train)
        put_statistics(k, &b);
    return ASSAY_OK;
}
