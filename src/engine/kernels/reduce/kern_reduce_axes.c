/* engine/kernels/reduce/kern_reduce_axes.c - reduces any set of axes to sums, products, extremes
 * and norms. Where the last axis goes, rows are summed up; where it stays, whole rows are added
 * together. */
#include <math.h>
#include <string.h>

#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_typed.h"
#include "engine/kernels/reduce/kern_reduce.h"

/* Rows are summed in this many lanes, whatever the processor: a loop long enough to be vector
 * code for every formula. */
enum { LANES = 64, COLUMNS = 2048 };

/* `shift` is taken off before the exponential; one number for a row, one each for columns. */
typedef void (*step_fn)(void *sum, const void *in, const void *shift, uint64_t n);

/* In formulas x is the number, s its shift, v its value, t the sum so far. */
#define STEP(name, tag, type, start, value, joined)                                                \
    static inline __attribute__((always_inline)) void join_##name##_##tag(                         \
        type sum[], const type *in, const type *shift, uint64_t n, int64_t step)                   \
    {                                                                                              \
        AS_IVDEP for (uint64_t i = 0; i < n; i++)                                                  \
        {                                                                                          \
            type x = in[i], s = shift[(int64_t)i * step], t = sum[i], v = (type)(value);           \
                                                                                                   \
            (void)x, (void)s;                                                                      \
            sum[i] = (type)(joined);                                                               \
        }                                                                                          \
    }                                                                                              \
    AS_VECTOR(static, columns_##name##_##tag,                                                      \
              (void *sum, const void *in, const void *shift, uint64_t n), (sum, in, shift, n))     \
    {                                                                                              \
        join_##name##_##tag(sum, in, shift, n, 1);                                                 \
    }                                                                                              \
    AS_VECTOR(static, row_##name##_##tag,                                                          \
              (void *sum, const void *in, const void *shift, uint64_t n), (sum, in, shift, n))     \
    {                                                                                              \
        type lane[LANES], *total = sum;                                                            \
        const type *from = in;                                                                     \
        uint64_t i = 0;                                                                            \
                                                                                                   \
        for (int l = 0; l < LANES; l++)                                                            \
            lane[l] = (type)(start);                                                               \
        for (; n - i >= LANES; i += LANES)                                                         \
            join_##name##_##tag(lane, from + i, shift, LANES, 0);                                  \
        join_##name##_##tag(lane, from + i, shift, n - i, 0);                                      \
        for (int half = LANES / 2; half > 0; half /= 2)                                            \
            for (int l = 0; l < half; l++) {                                                       \
                type t = lane[l], v = lane[l + half];                                              \
                                                                                                   \
                lane[l] = (type)(joined);                                                          \
            }                                                                                      \
        {                                                                                          \
            type t = *total, v = lane[0];                                                          \
                                                                                                   \
            *total = (type)(joined);                                                               \
        }                                                                                          \
    }

#define FLOAT_STEPS(tag, type)                                                                     \
    STEP(sum, tag, type, 0, x, t + v)                                                              \
    STEP(squares, tag, type, 0, x *x, t + v)                                                       \
    STEP(sizes, tag, type, 0, x < 0 ? -x : x, t + v)                                               \
    STEP(prod, tag, type, 1, x, t *v)                                                              \
    STEP(max, tag, type, -INFINITY, x, v > t || v != v ? v : t)                                    \
    STEP(min, tag, type, INFINITY, x, v < t || v != v ? v : t)                                     \
    STEP(exps, tag, type, 0, AS_EXP(x - s), t + v)
FLOAT_STEPS(f32, float)
FLOAT_STEPS(f64, double)

#define WHOLE_STEPS(tag, type, lowest, highest, size)                                              \
    STEP(sum, tag, type, 0, x, (uint64_t)t + (uint64_t)v)                                          \
    STEP(squares, tag, type, 0, (uint64_t)x *(uint64_t)x, (uint64_t)t + (uint64_t)v)               \
    STEP(sizes, tag, type, 0, size, (uint64_t)t + (uint64_t)v)                                     \
    STEP(prod, tag, type, 1, x, (uint64_t)t *(uint64_t)v)                                          \
    STEP(max, tag, type, lowest, x, v > t ? v : t)                                                 \
    STEP(min, tag, type, highest, x, v < t ? v : t)
WHOLE_STEPS(i64, int64_t, INT64_MIN, INT64_MAX, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
WHOLE_STEPS(u64, uint64_t, 0, UINT64_MAX, x)

enum step { SUM, SQUARES, SIZES, PROD, MAX, MIN, EXPS, N_STEPS };

struct steps {
    unsigned dtype;
    step_fn row[N_STEPS], columns[N_STEPS];
};

#define WHOLE_ROW(kind, tag)                                                                       \
    kind##_sum_##tag, kind##_squares_##tag, kind##_sizes_##tag, kind##_prod_##tag,                 \
        kind##_max_##tag, kind##_min_##tag

static const struct steps all_steps[] = {
    {AS_DTYPE_F32,
     {WHOLE_ROW(row, f32), row_exps_f32},
     {WHOLE_ROW(columns, f32), columns_exps_f32}},
    {AS_DTYPE_F64,
     {WHOLE_ROW(row, f64), row_exps_f64},
     {WHOLE_ROW(columns, f64), columns_exps_f64}},
    {AS_DTYPE_I64, {WHOLE_ROW(row, i64), NULL}, {WHOLE_ROW(columns, i64), NULL}},
    {AS_DTYPE_U64, {WHOLE_ROW(row, u64), NULL}, {WHOLE_ROW(columns, u64), NULL}},
};

/* ---- the walk ---- */

struct axis {
    uint64_t n, stride;
    bool gone;
};

struct walk {
    step_fn step;
    bool by_rows;
    uint64_t inner, chunks; /* length of a row; pieces that columns are cut into */
    struct axis kept[AS_MAX_RANK], gone[AS_MAX_RANK];
    int n_kept, n_gone; /* without the innermost */
    uint64_t n_rows;    /* combinations of `gone` */
    size_t bytes;
    const char *in, *shift; /* shift NULL: there is none, and any number will do */
    char *out;
};

static int join_axes(const struct as_val *in, const bool *marked, struct axis *axes)
{
    uint64_t stride = 1;
    int n = 0;

    for (int i = in->rank; i-- > 0;) {
        uint64_t dim = (uint64_t)in->dims[i];

        if (dim != 1 && n > 0 && axes[n - 1].gone == marked[i])
            axes[n - 1].n *= dim;
        else if (dim != 1)
            axes[n++] = (struct axis){dim, stride, marked[i]};
        stride *= dim;
    }
    return n;
}

static void plan_walk(struct walk *w, const struct as_val *in, const bool *marked)
{
    struct axis axes[AS_MAX_RANK];
    int n = join_axes(in, marked, axes);

    w->by_rows = n == 0 || axes[0].gone;
    w->inner = n == 0 ? 1 : axes[0].n;
    w->n_rows = 1;
    for (int i = n == 0 ? 0 : 1; i < n; i++) {
        if (axes[i].gone) {
            w->gone[w->n_gone++] = axes[i];
            w->n_rows *= axes[i].n;
        } else {
            w->kept[w->n_kept++] = axes[i];
        }
    }
    w->chunks = w->by_rows ? 1 : (w->inner + COLUMNS - 1) / COLUMNS;
}

/* Where in the input combination `index` of the axes begins. */
static uint64_t place(const struct axis *axes, int n, uint64_t index)
{
    uint64_t at = 0;

    for (int i = 0; i < n; i++) {
        at += index % axes[i].n * axes[i].stride;
        index /= axes[i].n;
    }
    return at;
}

static void walk_piece(void *arg, uint64_t from, uint64_t to)
{
    const struct walk *w = arg;

    for (uint64_t item = from; item < to; item++) {
        uint64_t chunk = item % w->chunks, first = chunk * COLUMNS;
        uint64_t at = place(w->kept, w->n_kept, item / w->chunks), n = w->inner, result = item;

        if (!w->by_rows) {
            result = item / w->chunks * w->inner + first;
            at += first;
            n = n - first < COLUMNS ? n - first : COLUMNS;
        }
        for (uint64_t r = 0; r < w->n_rows; r++)
            w->step(w->out + result * w->bytes,
                    w->in + (at + place(w->gone, w->n_gone, r)) * w->bytes,
                    (w->shift ? w->shift : w->out) + result * w->bytes, n);
    }
}

static void run_walk(struct as_kernel_ctx *k, struct walk *w, uint64_t n_out)
{
    uint64_t items = w->by_rows || !w->inner ? n_out : n_out / w->inner * w->chunks;
    uint64_t work = w->n_rows * (w->by_rows || w->inner < COLUMNS ? w->inner : COLUMNS);

    as_kernel_parallel(k, items, as_grain_of(work), walk_piece, w);
}

/* ---- before and after ---- */

static const struct {
    enum step step;
    double start_float;
    bool whole; /* has an answer in whole numbers */
} reductions[AS_REDUCTIONS] = {
    [AS_REDUCE_SUM] = {SUM, 0, true},
    [AS_REDUCE_MEAN] = {SUM, 0, true},
    [AS_REDUCE_PROD] = {PROD, 1, true},
    [AS_REDUCE_MAX] = {MAX, -(double)INFINITY, true},
    [AS_REDUCE_MIN] = {MIN, (double)INFINITY, true},
    [AS_REDUCE_L1] = {SIZES, 0, true},
    [AS_REDUCE_L2] = {SQUARES, 0, false},
    [AS_REDUCE_SQUARES] = {SQUARES, 0, true},
    [AS_REDUCE_LOG_SUM] = {SUM, 0, false},
    [AS_REDUCE_LOG_SUM_EXP] = {EXPS, 0, false},
};

static void fill(struct as_val *out, enum as_reduction how)
{
    double start = reductions[how].start_float;
    uint64_t whole = start == 1 ? 1 : 0;

    if (isinf(start)) {
        if (out->dtype == AS_DTYPE_U64)
            whole = start < 0 ? 0 : UINT64_MAX;
        else
            whole = (uint64_t)(start < 0 ? INT64_MIN : INT64_MAX);
    }
    for (uint64_t i = 0; i < out->n; i++) {
        if (as_dtype_is_float(out->dtype))
            as_val_put_f64(out, i, start);
        else
            ((uint64_t *)out->data)[i] = whole;
    }
}

static double finished(enum as_reduction how, double x, double count)
{
    switch (how) {
    case AS_REDUCE_MEAN:
        return x / count;
    case AS_REDUCE_L2:
        return sqrt(x);
    case AS_REDUCE_LOG_SUM:
    case AS_REDUCE_LOG_SUM_EXP:
        return log(x);
    default:
        return x;
    }
}

static void finish(struct as_val *out, enum as_reduction how, uint64_t count, const void *shift)
{
    const float *narrow = shift;
    const double *wide = shift;

    if (finished(how, 4, 4) == 4 && how != AS_REDUCE_MEAN)
        return;
    for (uint64_t i = 0; i < out->n; i++) {
        if (out->dtype == AS_DTYPE_F32) {
            double x = finished(how, (double)((float *)out->data)[i], (double)count);

            ((float *)out->data)[i] = (float)(x + (narrow ? (double)narrow[i] : 0));
        } else if (out->dtype == AS_DTYPE_F64) {
            double x = finished(how, ((double *)out->data)[i], (double)count);

            ((double *)out->data)[i] = x + (wide ? wide[i] : 0);
        } else if (out->dtype == AS_DTYPE_I64 && count > 0 && count <= INT64_MAX) {
            ((int64_t *)out->data)[i] /= (int64_t)count;
        } else if (count > 0) {
            ((uint64_t *)out->data)[i] /= count;
        }
    }
}

/* The largest of each, or 0 where that is no number to take off. */
static int find_shift(struct as_kernel_ctx *k, const struct as_val *in, const bool *marked,
                      const struct as_val *out, struct as_val *shift)
{
    int rc;

    *shift = *out;
    shift->data = as_kernel_work(k, out->n, as_elem_bytes(out->dtype));
    if (!shift->data)
        return ASSAY_ERR_NOMEM;
    rc = as_reduce(k, AS_REDUCE_MAX, in, marked, shift);
    for (uint64_t i = 0; i < out->n && rc == ASSAY_OK; i++)
        if (!isfinite(as_val_f64(shift, i)))
            as_val_put_f64(shift, i, 0);
    return rc;
}

static int reduce_typed(struct as_kernel_ctx *k, enum as_reduction how, const struct as_val *in,
                        const bool *marked, struct as_val *out)
{
    const struct steps *steps = all_steps;
    struct walk w = {.bytes = as_elem_bytes(in->dtype), .in = in->data, .out = out->data};
    struct as_val shift = {0};
    uint64_t n_kept = 1, count = 1;
    int rc = ASSAY_OK;

    while (steps->dtype != in->dtype)
        steps++;
    for (int i = 0; i < in->rank; i++)
        *(marked[i] ? &count : &n_kept) *= (uint64_t)in->dims[i];
    if (n_kept != out->n)
        return as_kernel_fail(k, "its output has %llu elements where %llu are needed",
                              (unsigned long long)out->n, (unsigned long long)n_kept);
    if (how == AS_REDUCE_LOG_SUM_EXP && in->n > 0)
        rc = find_shift(k, in, marked, out, &shift);
    if (rc < 0)
        return rc;
    fill(out, how);
    if (in->n > 0) {
        plan_walk(&w, in, marked);
        w.shift = shift.data;
        w.step = (w.by_rows ? steps->row : steps->columns)[reductions[how].step];
        run_walk(k, &w, out->n);
    }
    finish(out, how, count, shift.data);
    return ASSAY_OK;
}

int as_reduce(struct as_kernel_ctx *k, enum as_reduction how, const struct as_val *in,
              const bool *marked, struct as_val *out)
{
    unsigned dtype = in->dtype;
    struct as_val wide_in = {0}, wide_out = {0};
    int rc;

    if (dtype == AS_DTYPE_F32 || dtype == AS_DTYPE_F64)
        return reduce_typed(k, how, in, marked, out);
    dtype = !reductions[how].whole      ? (unsigned)AS_DTYPE_F64
            : in->dtype == AS_DTYPE_U64 ? (unsigned)AS_DTYPE_U64
                                        : (unsigned)AS_DTYPE_I64;
    if (dtype == in->dtype)
        return reduce_typed(k, how, in, marked, out);
    rc = as_cast_to(k, in, dtype, &wide_in);
    if (rc == ASSAY_OK)
        rc = as_cast_to(k, out, dtype, &wide_out); /* for its memory alone */
    if (rc == ASSAY_OK)
        rc = reduce_typed(k, how, &wide_in, marked, &wide_out);
    if (rc == ASSAY_OK)
        as_cast_piece(&wide_out, out, true, 0, out->n);
    return rc;
}
