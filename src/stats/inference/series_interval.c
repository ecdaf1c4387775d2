/* stats/inference/series_interval.c - how well samples taken one after the other pin down their
 * median. Noise of a machine comes in bursts: neighbors are alike, and count as fewer than they
 * are. */
#include "stats/inference/interval.h"

#include <math.h>

#include "base/alloc.h"

enum {
    MIN_BLOCKS = 10,
    MAX_LEVELS = 48,
    GROWTH_LEVELS = 3, /* doublings over which the growth of the inflation is judged */
};

/* Fewer blocks than infinitely many: Student's 97.5 % point of 9 degrees over the normal one. */
#define STUDENT (2.262 / 1.960)
/* Growth for each doubling that chance alone shows often. */
#define GROWTH_BY_CHANCE 0.15
#define MAX_CORRELATION  0.99

/* Only the side of the median matters to the median, however far away a sample is. */
static double side(double x, double median)
{
    return x > median ? 1 : x < median ? -1 : 0;
}

struct series {
    const double *at;
    size_t n;
    double median;
    double spread; /* mean square of the sides: 1, or less with ties at the median */
};

static double spread_of(const struct series *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->at[i] != s->median;
    return (double)n / (double)s->n;
}

/* From one sample to the next: exact for noise that forgets at a constant rate. */
static double inflation_by_neighbors(const struct series *s)
{
    double sum = 0, r;

    for (size_t i = 1; i < s->n; i++)
        sum += side(s->at[i], s->median) * side(s->at[i - 1], s->median);
    r = sum / (double)(s->n - 1) / s->spread;
    r += (1 + 3 * r) / (double)s->n; /* short series show less than there is */
    r = fmin(r, MAX_CORRELATION);
    return r > 0 ? (1 + r) / (1 - r) : 1;
}

/* How much more the means of blocks of `size` vary than those of independent samples would. */
static double inflation_by_blocks(const struct series *s, size_t size)
{
    size_t n_blocks = s->n / size, from = s->n - n_blocks * size;
    double sum = 0, squares = 0, n = (double)n_blocks;

    for (size_t b = 0; b < n_blocks; b++) {
        double mean = 0;

        for (size_t i = 0; i < size; i++)
            mean += side(s->at[from + b * size + i], s->median);
        mean /= (double)size;
        sum += mean;
        squares += mean * mean;
    }
    return (double)size * fmax(squares - sum * sum / n, 0) / (n - 1) / s->spread;
}

static double inflation_of(const struct series *s)
{
    double by_blocks[MAX_LEVELS], most = 1, growth;
    size_t n = 0;

    if (s->n < 3 || !(s->spread > 0))
        return 1;
    for (size_t size = 1; s->n / size >= MIN_BLOCKS && n < MAX_LEVELS; size *= 2) {
        by_blocks[n] = inflation_by_blocks(s, size);
        most = fmax(most, by_blocks[n++]);
    }
    most = fmax(most, inflation_by_neighbors(s));
    if (n > GROWTH_LEVELS) {
        double last = fmax(by_blocks[n - 1], 1);

        growth = log2(fmax(by_blocks[n - 1], 1e-3) / fmax(by_blocks[n - 1 - GROWTH_LEVELS], 1e-3)) /
                 GROWTH_LEVELS;
        growth = fmin(fmax(growth - GROWTH_BY_CHANCE, 0), 1);
        most = fmax(most, last * pow(MIN_BLOCKS, growth));
    }
    return most;
}

static size_t effective(size_t n, double inflation)
{
    double few;

    if (!(inflation > 1))
        return n;
    few = (double)n / (inflation * STUDENT * STUDENT);
    return few < 1 ? 1 : (size_t)few;
}

/* As many of the sorted samples as there are independent ones, evenly spread over the ranks. */
static void thin(double *out, size_t n_out, const struct as_sorted *sorted)
{
    double step = (double)sorted->n / (double)n_out;

    for (size_t i = 0; i < n_out; i++) {
        size_t at = (size_t)(((double)i + 0.5) * step);

        out[i] = as_sorted_at(sorted, at < sorted->n ? at : sorted->n - 1);
    }
}

int as_series_interval(struct as_series_interval *out, const double *samples,
                       const struct as_sorted *sorted, double level, struct assay_error *err)
{
    struct series s = {.at = samples, .n = sorted->n, .median = as_sorted_median(sorted)};
    struct as_sorted fewer = *sorted;
    double *thinned = NULL;
    int rc;

    *out = (struct as_series_interval){.n = s.n, .n_effective = s.n, .inflation = 1};
    if (s.n > 0)
        s.spread = spread_of(&s);
    out->inflation = inflation_of(&s);
    out->n_effective = effective(s.n, out->inflation);
    if (out->n_effective < s.n) {
        thinned = as_alloc_zero(out->n_effective, sizeof *thinned);
        if (!thinned)
            return as_fail_nomem(err);
        thin(thinned, out->n_effective, sorted);
        fewer = as_sorted_f64(thinned, out->n_effective);
    }
    rc = as_interval_median(&out->interval, &fewer, level, err);
    if (rc == ASSAY_OK && !out->interval.reached) {
        out->interval.low = as_sorted_at(sorted, 0);
        out->interval.high = as_sorted_at(sorted, s.n - 1);
    }
    as_free(thinned);
    return rc;
}
