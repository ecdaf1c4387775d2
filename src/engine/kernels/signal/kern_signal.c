/* engine/kernels/signal/kern_signal.c - Fourier transforms and the weights of mel spectra.
 * Lengths that are no power of two go through one that is, so no length is slow. */
#include <math.h>
#include <string.h>

#include "engine/kernels/move/kern_move.h"

#define PI 3.14159265358979323846

struct complex_f64 {
    double re, im;
};

/* A transform of one length, with room to work in. */
struct transform {
    uint64_t n, capacity;               /* room: the power of two it is computed in */
    struct complex_f64 *line;           /* n in, n out; room of them */
    struct complex_f64 *chirp, *kernel; /* of lengths that are no power of two */
    bool inverse;
};

static struct complex_f64 turn(double share)
{
    return (struct complex_f64){cos(2 * PI * share), sin(2 * PI * share)};
}

static struct complex_f64 times(struct complex_f64 a, struct complex_f64 b)
{
    return (struct complex_f64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* In place, n a power of two, without a factor. */
static void transform_power(struct complex_f64 *x, uint64_t n, bool inverse)
{
    for (uint64_t i = 1, j = 0; i < n; i++) {
        uint64_t bit = n >> 1;

        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex_f64 swap = x[i];

            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (uint64_t half = 1; half < n; half *= 2)
        for (uint64_t k = 0; k < half; k++) {
            struct complex_f64 w = turn((inverse ? 1 : -1) * (double)k / (2 * (double)half));

            for (uint64_t i = k; i < n; i += 2 * half) {
                struct complex_f64 b = times(x[i + half], w), a = x[i];

                x[i] = (struct complex_f64){a.re + b.re, a.im + b.im};
                x[i + half] = (struct complex_f64){a.re - b.re, a.im - b.im};
            }
        }
}

static int transform_init(struct as_kernel_ctx *k, struct transform *t, uint64_t n, bool inverse)
{
    bool power = (n & (n - 1)) == 0;
    uint64_t square = 0; /* of i, less whole turns of 2n */

    *t = (struct transform){.n = n, .capacity = 1, .inverse = inverse};
    if (n > (uint64_t)1 << 40)
        return as_kernel_fail(k, "a transform of %llu", (unsigned long long)n);
    while (t->capacity < (power ? n : 2 * n - 1))
        t->capacity *= 2;
    t->line = as_kernel_work(k, t->capacity, sizeof *t->line);
    if (!t->line)
        return ASSAY_ERR_NOMEM;
    if (power)
        return ASSAY_OK;
    t->chirp = as_kernel_work(k, n, sizeof *t->chirp);
    t->kernel = as_kernel_work(k, t->capacity, sizeof *t->kernel);
    if (!t->chirp || !t->kernel)
        return ASSAY_ERR_NOMEM;
    memset(t->kernel, 0, t->capacity * sizeof *t->kernel);
    for (uint64_t i = 0; i < n; i++) {
        t->chirp[i] = turn((inverse ? 1 : -1) * (double)square / (2 * (double)n));
        square = (square + 2 * i + 1) % (2 * n);
        t->kernel[i] = (struct complex_f64){t->chirp[i].re, -t->chirp[i].im};
        if (i > 0)
            t->kernel[t->capacity - i] = t->kernel[i];
    }
    transform_power(t->kernel, t->capacity, false);
    return ASSAY_OK;
}

/* The n numbers of t->line become their transform. */
static void transform_run(struct transform *t)
{
    double scale = 1 / (double)t->capacity;

    if (!t->chirp) {
        transform_power(t->line, t->n, t->inverse);
    } else {
        for (uint64_t i = 0; i < t->n; i++)
            t->line[i] = times(t->line[i], t->chirp[i]);
        memset(t->line + t->n, 0, (t->capacity - t->n) * sizeof *t->line);
        transform_power(t->line, t->capacity, false);
        for (uint64_t i = 0; i < t->capacity; i++)
            t->line[i] = times(t->line[i], t->kernel[i]);
        transform_power(t->line, t->capacity, true);
        for (uint64_t i = 0; i < t->n; i++) {
            t->line[i] = times(t->line[i], t->chirp[i]);
            t->line[i].re *= scale;
            t->line[i].im *= scale;
        }
    }
    for (uint64_t i = 0; t->inverse && i < t->n; i++) {
        t->line[i].re /= (double)t->n;
        t->line[i].im /= (double)t->n;
    }
}

static struct complex_f64 read_at(const struct as_val *in, uint64_t i, bool is_complex)
{
    if (!is_complex)
        return (struct complex_f64){as_val_f64(in, i), 0};
    return (struct complex_f64){as_val_f64(in, 2 * i), as_val_f64(in, 2 * i + 1)};
}

static void write_at(struct as_val *out, uint64_t i, struct complex_f64 x)
{
    as_val_put_f64(out, 2 * i, x.re);
    as_val_put_f64(out, 2 * i + 1, x.im);
}

/* ---- DFT ---- */

static int dft_axis(struct as_kernel_ctx *k, int rank, int *axis)
{
    int64_t said = k->opset >= 20 ? -2 : as_node_int(k->node, "axis", 1);

    if (k->opset >= 20 && as_has_in(k, 2))
        said = as_val_i64(k->in[2], 0);
    if (said < -rank || said >= rank || said == -1 || said == rank - 1)
        return as_kernel_fail(k, "axis %lld is none of a signal of rank %d", (long long)said, rank);
    *axis = (int)(said < 0 ? said + rank : said);
    return ASSAY_OK;
}

static int dft(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    bool is_complex = in->rank > 0 && in->dims[in->rank - 1] == 2;
    uint64_t n, m, n_in, outer, inner;
    struct transform t;
    int axis = 0, rc = dft_axis(k, in->rank, &axis);

    if (rc < 0 || out->n == 0)
        return rc;
    if (out->rank != in->rank || (!is_complex && in->dims[in->rank - 1] != 1))
        return as_kernel_fail(k, "its last axis is neither 1 nor 2");
    n_in = (uint64_t)in->dims[axis];
    m = (uint64_t)out->dims[axis];
    n = as_has_in(k, 1) ? (uint64_t)as_val_i64(k->in[1], 0) : n_in;
    if (n < m)
        return as_kernel_fail(k, "a transform of %llu does not give %llu", (unsigned long long)n,
                              (unsigned long long)m);
    rc = transform_init(k, &t, n, as_node_int(k->node, "inverse", 0) != 0);
    if (rc < 0)
        return rc;
    outer = (uint64_t)as_move_product(in->dims, 0, axis);
    inner = (uint64_t)as_move_product(in->dims, axis + 1, in->rank - 1);
    for (uint64_t line = 0; line < outer * inner; line++) {
        uint64_t o = line / inner, i = line % inner;

        memset(t.line, 0, t.n * sizeof *t.line);
        for (uint64_t j = 0; j < n && j < n_in; j++)
            t.line[j] = read_at(in, (o * n_in + j) * inner + i, is_complex);
        transform_run(&t);
        for (uint64_t j = 0; j < m; j++)
            write_at(out, (o * m + j) * inner + i, t.line[j]);
    }
    return ASSAY_OK;
}

/* ---- STFT ---- */

static int stft(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *window = as_has_in(k, 2) ? k->in[2] : NULL;
    struct as_val *out = k->out[0];
    bool is_complex = in->rank == 3 && in->dims[2] == 2;
    int64_t step = as_has_in(k, 1) && k->in[1]->n == 1 ? as_val_i64(k->in[1], 0) : 0;
    uint64_t frame, frames, bins, length;
    struct transform t;
    int rc;

    if (out->n == 0)
        return ASSAY_OK;
    if (as_has_in(k, 3))
        frame = (uint64_t)as_val_i64(k->in[3], 0);
    else if (window)
        frame = window->n;
    else
        return as_kernel_fail(k, "neither a window nor a length of frames is given");
    frames = (uint64_t)out->dims[1];
    bins = (uint64_t)out->dims[2];
    length = (uint64_t)in->dims[1];
    if (step < 1 || frame < 1 || frame > length || bins > frame ||
        (frames - 1) > (length - frame) / (uint64_t)step || (window && window->n != frame))
        return as_kernel_fail(k, "frames of %llu do not fit into %llu", (unsigned long long)frame,
                              (unsigned long long)length);
    rc = transform_init(k, &t, frame, false);
    for (uint64_t f = 0; f < (uint64_t)out->dims[0] * frames && rc == ASSAY_OK; f++) {
        uint64_t begin = f / frames * length + f % frames * (uint64_t)step;

        for (uint64_t i = 0; i < frame; i++) {
            double weight = window ? as_val_f64(window, i) : 1;

            t.line[i] = read_at(in, begin + i, is_complex);
            t.line[i].re *= weight;
            t.line[i].im *= weight;
        }
        transform_run(&t);
        for (uint64_t i = 0; i < bins; i++)
            write_at(out, f * bins + i, t.line[i]);
    }
    return rc;
}

/* ---- MelWeightMatrix ---- */

/* The spectral bin that edge `i` of `n` lies in. */
static double mel_edge(double i, double n, double low, double high, double per_hertz)
{
    double mel = low + i * (high - low) / n;

    return floor(700 * (pow(10, mel / 2595) - 1) * per_hertz);
}

static int mel_weights(struct as_kernel_ctx *k)
{
    double length = as_in_number(k, 1, 0), rate = as_in_number(k, 2, 0);
    double low = 2595 * log10(1 + as_in_number(k, 3, 0) / 700);
    double high = 2595 * log10(1 + as_in_number(k, 4, 0) / 700);
    struct as_val *out = k->out[0];
    int64_t rows, columns;

    memset(out->data, 0, out->bytes);
    if (out->rank != 2 || !(rate > 0))
        return as_kernel_fail(k, "its sample rate is not positive");
    rows = out->dims[0];
    columns = out->dims[1];
    for (int64_t c = 0; c < columns; c++) {
        double edge[3];

        for (int i = 0; i < 3; i++)
            edge[i] =
                mel_edge((double)(c + i), (double)columns + 2, low, high, (length + 1) / rate);
        for (int64_t r = 0; r < rows; r++) {
            double x = (double)r, up = edge[1] - edge[0], down = edge[2] - edge[1];

            if (down > 0 && x >= edge[1] && x < edge[2])
                as_val_put_f64(out, (uint64_t)(r * columns + c), (edge[2] - x) / down);
            else if (up > 0 && x >= edge[0] && x <= edge[1])
                as_val_put_f64(out, (uint64_t)(r * columns + c), (x - edge[0]) / up);
            else if (!(up > 0) && fabs(x - edge[1]) < 0.5)
                as_val_put_f64(out, (uint64_t)(r * columns + c), 1);
        }
    }
    return ASSAY_OK;
}

const struct as_kernel as_kernels_signal[] = {
    {AS_OP_DFT, dft, AS_KERNEL_HALF},
    {AS_OP_STFT, stft, AS_KERNEL_HALF},
    {AS_OP_MelWeightMatrix, mel_weights, AS_KERNEL_HALF},
    {AS_OP_UNKNOWN, NULL, 0},
};
