/* analyze/model/sweep.c - how a model scales: fitted exponents, the knee, the best setting under a
 * limit. */
#include "analyze/model/sweep.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"

struct as_power_law as_power_law_fit(const double *x, const double *y, size_t n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, m, left;
    struct as_power_law law = {.exponent = AS_UNKNOWN, .error = AS_UNKNOWN, .r2 = AS_UNKNOWN};

    for (size_t i = 0; i < n; i++) {
        double lx = log(x[i]), ly = log(y[i]);

        if (!isfinite(lx) || !isfinite(ly))
            continue;
        law.n++;
        sx += lx;
        sy += ly;
        sxx += lx * lx;
        sxy += lx * ly;
        syy += ly * ly;
    }
    m = (double)law.n;
    if (law.n < 2 || !(m * sxx - sx * sx > 1e-12 * m * sxx))
        return law;
    law.known = true;
    law.exponent = (m * sxy - sx * sy) / (m * sxx - sx * sx);
    left = syy - sy * sy / m - law.exponent * (sxy - sx * sy / m);
    law.r2 = syy - sy * sy / m > 0 ? 1 - left / (syy - sy * sy / m) : 1;
    if (law.n > 2)
        law.error = sqrt(fmax(left, 0) / (m - 2) / (sxx - sx * sx / m));
    return law;
}

static void make_row(struct as_sweep_row *row, const struct as_sweep_point *point,
                     const struct as_peaks *peaks)
{
    double seconds = point->figures.summary.median / 1e9;
    struct as_roof_work work = {.type = AS_PEAK_F32,
                                .flops = (double)point->executed_flops,
                                .streamed_bytes = 0,
                                .local_bytes = (double)point->bytes,
                                .footprint_bytes = point->peak_bytes,
                                .seconds = seconds,
                                .threads = point->threads};

    *row = (struct as_sweep_row){.point = point,
                                 .samples_per_second = AS_UNKNOWN,
                                 .samples_per_second_mb = AS_UNKNOWN,
                                 .gflops_per_second = AS_UNKNOWN,
                                 .memory_mb = AS_UNKNOWN,
                                 .speedup = AS_UNKNOWN,
                                 .drift = AS_UNKNOWN};
    if (point->rc < 0)
        return;
    row->samples_per_second = (double)point->batch / seconds;
    row->memory_mb = (double)point->peak_bytes / 0x1p20;
    row->samples_per_second_mb = row->samples_per_second / fmax(row->memory_mb, 0.001);
    row->gflops_per_second = (double)point->executed_flops / seconds / 1e9;
    row->drift = fabs(point->way_ns[0] - point->way_ns[1]) / point->figures.summary.median;
    if (peaks) {
        /* All of a run's bytes pass through whatever holds the whole model. */
        work.streamed_bytes = work.local_bytes;
        work.local_bytes = 0;
        as_roof_find(&row->roof, peaks, &work);
    }
    if (!point->counted)
        row->roof.bound = AS_BOUND_UNKNOWN;
}

/* Rows along the first axis, the others at their first value. */
static size_t along_first(const struct as_sweep *s, size_t *rows)
{
    size_t n = 0;

    for (size_t r = 0; r < s->n_rows; r++) {
        bool first = s->rows[r].point->rc == ASSAY_OK;

        for (size_t i = 1; i < s->run->options->n_axes; i++)
            first = first && s->rows[r].point->place[i] == 0;
        if (first)
            rows[n++] = r;
    }
    return n;
}

static double x_of(const struct as_sweep *s, size_t row)
{
    const struct as_sweep_axis *axis = &s->run->options->axes[0];

    return (double)axis->values[s->rows[row].point->place[0]];
}

/* From one row to another throughput rises by less than AS_SWEEP_KNEE_GAIN a doubling. */
static bool gains_little(const struct as_sweep *s, size_t from, size_t to)
{
    double doublings = log2(x_of(s, to) / x_of(s, from));
    double gain = s->rows[to].samples_per_second / s->rows[from].samples_per_second;

    return doublings > 0 && pow(gain, 1 / doublings) < 1 + AS_SWEEP_KNEE_GAIN;
}

/* The first row from which no later one gains more. Two rows have no curve that could bend. */
static size_t find_knee(const struct as_sweep *s, const size_t *rows, size_t n)
{
    if (n < AS_SWEEP_KNEE_ROWS || s->drift > AS_SWEEP_MAX_DRIFT)
        return SIZE_MAX;
    for (size_t i = 0; i + 1 < n; i++) {
        size_t k = i + 1;

        while (k < n && gains_little(s, rows[i], rows[k]))
            k++;
        if (k == n)
            return rows[i];
    }
    return SIZE_MAX;
}

static bool is_within(const struct as_sweep *s, const struct as_sweep_row *row)
{
    return !(row->point->figures.summary.median > s->max_latency_ns) &&
           !((double)row->point->peak_bytes > s->max_memory_bytes);
}

/* Batches and threads do the same work faster or slower; anything else makes the work larger, and
 * there the best is the most work within the limits. */
static bool is_same_work(const struct as_sweep *s)
{
    for (size_t i = 0; i < s->run->options->n_axes; i++)
        if (s->run->options->axes[i].n > 1 && s->run->options->axes[i].kind != AS_SWEEP_BATCH &&
            s->run->options->axes[i].kind != AS_SWEEP_THREADS)
            return false;
    return true;
}

static void find_best(struct as_sweep *s)
{
    bool limited = isfinite(s->max_latency_ns) || isfinite(s->max_memory_bytes);

    s->same_work = is_same_work(s);
    for (size_t r = 0; r < s->n_rows; r++) {
        const struct as_sweep_row *row = &s->rows[r];
        double worth = s->same_work ? row->samples_per_second : (double)row->point->flops;
        double best = s->best == SIZE_MAX ? -1
                      : s->same_work      ? s->rows[s->best].samples_per_second
                                          : (double)s->rows[s->best].point->flops;

        if (row->point->rc < 0)
            continue;
        if (s->fastest == SIZE_MAX ||
            row->point->figures.summary.median < s->rows[s->fastest].point->figures.summary.median)
            s->fastest = r;
        if (is_within(s, row) && worth > best && (s->same_work || limited))
            s->best = r;
    }
}

/* Of the same work, rows whose CIs reach into that of the best one, and those that cannot be held
 * against it. */
static void count_equal(struct as_sweep *s)
{
    const struct as_sweep_row *best = s->best == SIZE_MAX ? NULL : &s->rows[s->best];
    const struct as_interval *of_best = best ? &best->point->figures.median.interval : NULL;

    for (size_t r = 0; best && s->same_work && r < s->n_rows; r++) {
        const struct as_sweep_row *row = &s->rows[r];
        const struct as_interval *ci = &row->point->figures.median.interval;
        double scale = (double)best->point->batch / (double)row->point->batch;

        if (row == best || row->point->rc < 0 || !is_within(s, row))
            continue;
        if (of_best->reached && ci->reached)
            s->n_equal += ci->low * scale <= of_best->high;
        else
            s->n_untested++;
    }
}

/* Throughput of two rows differs by more than AS_SWEEP_KNEE_GAIN, and so do the CIs of their p50.
 */
static bool is_better(const struct as_sweep_row *a, const struct as_sweep_row *b)
{
    const struct as_interval *of_a = &a->point->figures.median.interval;
    const struct as_interval *of_b = &b->point->figures.median.interval;
    double scale = (double)a->point->batch / (double)b->point->batch;

    return a->samples_per_second > (1 + AS_SWEEP_KNEE_GAIN) * b->samples_per_second &&
           of_a->reached && of_b->reached && of_a->high < of_b->low * scale;
}

/* What bounds the model, and what the table shows beside it. */
static const char *advise_bound(struct as_sweep *s, const size_t *rows, size_t n,
                                const char *advice)
{
    size_t best = n > 0 ? rows[0] : 0;
    char line[240];

    if (n < 2 || s->run->options->axes[0].kind != AS_SWEEP_BATCH)
        return advice;
    for (size_t i = 1; i < n; i++)
        if (s->rows[rows[i]].samples_per_second > s->rows[best].samples_per_second)
            best = rows[i];
    if (x_of(s, best) < x_of(s, rows[0]) || !is_better(&s->rows[best], &s->rows[rows[0]]))
        return advice;
    (void)snprintf(line, sizeof line, "%s; larger batches help too (batch %.0f: %.2fx)", advice,
                   x_of(s, best), s->rows[best].speedup);
    return as_arena_text(&s->arena, line, strlen(line));
}

/* Whether larger batches help an inefficient model is what the table shows. */
static const char *advise_inefficient(struct as_sweep *s, const size_t *rows, size_t n)
{
    size_t best = n > 0 ? rows[0] : 0;
    char line[200];

    if (n < 2 || s->run->options->axes[0].kind != AS_SWEEP_BATCH)
        return "inefficient: fewer, larger operators help";
    for (size_t i = 1; i < n; i++)
        if (s->rows[rows[i]].samples_per_second > s->rows[best].samples_per_second)
            best = rows[i];
    if (x_of(s, best) < x_of(s, rows[0]) || !is_better(&s->rows[best], &s->rows[rows[0]]))
        return "inefficient, and larger batches do not help here: fewer, larger operators would";
    (void)snprintf(line, sizeof line,
                   "inefficient: larger batches help (batch %.0f: %.2fx), as do fewer, larger "
                   "operators",
                   x_of(s, best), s->rows[best].speedup);
    return as_arena_text(&s->arena, line, strlen(line));
}

static void judge(struct as_sweep *s, const size_t *rows, size_t n)
{
    static const char *const advice[] = {
        [AS_BOUND_UNKNOWN] = "the bound is unknown",
        [AS_BOUND_COMPUTE] = "compute-bound: cheaper arithmetic (int8) and better kernels help",
        [AS_BOUND_MEMORY] =
            "memory-bound: data layout, cache reuse and fewer bytes per element help",
    };
    size_t votes[AS_BOUND_COUNT] = {0};

    for (size_t r = 0; r < s->n_rows; r++)
        if (s->rows[r].point->rc == ASSAY_OK)
            votes[s->rows[r].roof.bound]++;
    for (int b = 0; b < AS_BOUND_COUNT; b++)
        if (votes[b] > votes[s->verdict])
            s->verdict = (enum as_bound)b;
    if (s->drift > AS_SWEEP_MAX_DRIFT)
        return;
    s->advice = s->verdict == AS_BOUND_OVERHEAD ? advise_inefficient(s, rows, n)
                                                : advise_bound(s, rows, n, advice[s->verdict]);
}

static void fit(struct as_sweep *s, const size_t *rows, size_t n, double *scratch)
{
    double *x = scratch, *latency = scratch + n, *memory = latency + n, *work = memory + n,
           *throughput = work + n;

    for (size_t i = 0; i < n; i++) {
        const struct as_sweep_row *row = &s->rows[rows[i]];

        x[i] = x_of(s, rows[i]);
        latency[i] = row->point->figures.summary.median;
        memory[i] = (double)row->point->peak_bytes;
        work[i] = (double)row->point->flops;
        throughput[i] = row->samples_per_second;
    }
    s->latency = as_power_law_fit(x, latency, n);
    s->memory = as_power_law_fit(x, memory, n);
    s->work = as_power_law_fit(x, work, n);
    s->throughput = as_power_law_fit(x, throughput, n);
    if (n > 0) {
        const struct as_sweep_row *first = &s->rows[rows[0]], *last = &s->rows[rows[n - 1]];

        if (n > 1) {
            s->memory_growth = last->memory_mb / fmax(first->memory_mb, 0.001);
            s->compute_growth = last->gflops_per_second / first->gflops_per_second;
        }
        for (size_t r = 0; r < s->n_rows; r++)
            s->rows[r].speedup = s->rows[r].samples_per_second / first->samples_per_second;
    }
    if (s->run->options->axes[0].kind == AS_SWEEP_BATCH ||
        s->run->options->axes[0].kind == AS_SWEEP_THREADS)
        s->knee = find_knee(s, rows, n);
}

int as_sweep_new(struct as_sweep **out, const struct as_sweep_run *run,
                 const struct as_peaks *peaks, const struct as_sweep_limits *limits,
                 struct assay_error *err)
{
    struct as_sweep *s = as_alloc_zero(1, sizeof *s);
    size_t *rows, n;
    double *scratch;

    *out = NULL;
    if (!s)
        return as_fail_nomem(err);
    s->run = run;
    s->n_rows = run->n_points;
    s->rows = as_arena_zero(&s->arena, run->n_points + 1, sizeof *s->rows);
    rows = as_arena_zero(&s->arena, run->n_points + 1, sizeof *rows);
    scratch = as_arena_zero(&s->arena, 5 * run->n_points + 1, sizeof *scratch);
    if (!s->rows || !rows || !scratch) {
        as_sweep_free(s);
        return as_fail_nomem(err);
    }
    s->knee = s->best = s->fastest = SIZE_MAX;
    s->memory_growth = s->compute_growth = AS_UNKNOWN;
    s->max_latency_ns = limits->max_latency_ns > 0 ? limits->max_latency_ns : AS_UNKNOWN;
    s->max_memory_bytes = limits->max_memory_bytes > 0 ? limits->max_memory_bytes : AS_UNKNOWN;
    for (size_t p = 0; p < run->n_points; p++) {
        make_row(&s->rows[p], &run->points[p], peaks);
        s->rows[p].options = run->options;
        if (s->rows[p].drift > s->drift)
            s->drift = s->rows[p].drift;
    }
    n = along_first(s, rows);
    fit(s, rows, n, scratch);
    find_best(s);
    count_equal(s);
    judge(s, rows, n);
    *out = s;
    return ASSAY_OK;
}

void as_sweep_free(struct as_sweep *sweep)
{
    if (!sweep)
        return;
    as_arena_fini(&sweep->arena);
    as_free(sweep);
}

void as_sweep_setting_text(const struct as_sweep *sweep, size_t row, char *out, size_t capacity)
{
    const struct as_sweep_options *o = sweep->run->options;
    size_t size = 0;

    out[0] = 0;
    for (size_t i = 0; i < o->n_axes && size < capacity; i++) {
        const struct as_sweep_axis *axis = &o->axes[i];
        size_t at = sweep->rows[row].point->place[i];
        char shape[80];

        if (axis->kind == AS_SWEEP_SHAPE) {
            struct as_type type = {.kind = AS_VALUE_TENSOR,
                                   .rank = (int16_t)axis->shapes[at].rank,
                                   .dims = axis->shapes[at].at};

            as_type_text(shape, sizeof shape, &type);
        } else {
            (void)snprintf(shape, sizeof shape, "%lld", (long long)axis->values[at]);
        }
        size += (size_t)snprintf(out + size, capacity - size, "%s%.40s %s", size ? ", " : "",
                                 axis->name, shape);
    }
}
