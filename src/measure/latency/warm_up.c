/* measure/latency/warm_up.c - runs a function until its times are steady, which is tested, not
 * assumed. On the way it finds how many calls make a sample that the clock can measure. */
#include "measure/latency/latency_run.h"

#include <math.h>
#include <string.h>

#include "stats/describe/sorted.h"
#include "stats/inference/trend.h"

enum {
    MIN_WINDOW = 5, /* samples: two windows are enough for a test of trend */
    MAX_WINDOW = 256,
};

#define WINDOW_NS   1e7 /* a window of short samples still lasts as long as a change of frequency */
#define MIN_NS      5e7 /* of all: cores take tens of milliseconds to reach their speed */
#define MAX_BATCH   (1u << 30)
#define SAME_SHARE  0.01 /* medians that differ less are the same */
#define TREND_P     0.05
#define HARD_FACTOR 10 /* of max_s: then even runs that are asked for are left out */

int as_measured_calls(as_measured fn, void *user, uint64_t times, uint64_t *done,
                      const struct as_interference_source *source, uint64_t *took_ns,
                      struct assay_error *err)
{
    struct assay_error own = {0};
    uint64_t from = source->now_ns(source->user), i = 0;
    int rc = 0;

    while (i < times && rc == 0) {
        rc = fn(user, &own);
        i++;
    }
    *took_ns = source->now_ns(source->user) - from;
    *done += i;
    if (rc == 0)
        return ASSAY_OK;
    if (own.msg[0] == '\0')
        return as_fail(err, rc < 0 ? rc : ASSAY_ERR_STATE,
                       "the measured code failed with %d in iteration %llu", rc,
                       (unsigned long long)*done);
    if (err)
        *err = own;
    return rc < 0 ? rc : ASSAY_ERR_STATE;
}

struct warming {
    as_measured fn;
    void *user;
    const struct as_warm_up_options *options;
    struct as_warm_up *out;
    uint64_t start_ns;
    double before[MAX_WINDOW], now[MAX_WINDOW]; /* two windows of samples, per call */
    size_t n_before, n_now;
};

static int sample(struct warming *w, double *call_ns, struct assay_error *err)
{
    const struct as_interference_source *source = w->options->source;
    uint64_t took = 0;
    int rc = as_measured_calls(w->fn, w->user, w->out->batch, &w->out->runs, source, &took, err);

    *call_ns = (double)took / (double)w->out->batch;
    w->out->seconds = (double)(source->now_ns(source->user) - w->start_ns) / 1e9;
    return rc;
}

/* Enough calls for a sample of the least length, going by what one call takes. */
static bool widen(struct warming *w, double call_ns)
{
    double least = w->options->min_batch_ns, calls;

    if (call_ns * (double)w->out->batch >= least || w->out->batch >= MAX_BATCH)
        return false;
    calls = call_ns > 0 ? ceil(least * 1.2 / call_ns) : 10 * (double)w->out->batch;
    calls = fmin(calls, 10 * (double)w->out->batch); /* the first calls may be cold */
    w->out->batch = calls < MAX_BATCH ? (uint64_t)calls : MAX_BATCH;
    return true;
}

static int find_batch(struct warming *w, struct assay_error *err)
{
    double call_ns = 0;
    int rc;

    do {
        rc = sample(w, &call_ns, err);
        as_stop_watched(w->options->stop);
    } while (rc == ASSAY_OK && widen(w, call_ns) && !as_stop_asked(w->options->stop));
    w->out->call_ns = call_ns;
    return rc;
}

static double median_of(const double *v, size_t n)
{
    double sorted[MAX_WINDOW], scratch[MAX_WINDOW];
    struct as_sorted s = as_sorted_f64(sorted, n);

    memcpy(sorted, v, n * sizeof *v);
    as_sort_f64(sorted, n, scratch);
    return as_sorted_median(&s);
}

static double noise_of(const double *v, size_t n, double median)
{
    double off[MAX_WINDOW] = {0}; /* gcc cannot see that n is never 0 */

    for (size_t i = 0; i < n; i++)
        off[i] = fabs(v[i] - median);
    /* 1.4826 MADs are a standard deviation, 1.2533 of these over root n that of a median. */
    return 1.4826 * 1.2533 * median_of(off, n) / sqrt((double)n);
}

/* Both windows have the same median but for noise, and together they do not rise or fall. */
static bool windows_agree(const struct warming *w)
{
    double both[2 * MAX_WINDOW], m1, m2, noise;
    struct as_trend_test trend;

    if (w->n_before < MIN_WINDOW || w->n_now < MIN_WINDOW)
        return false;
    m1 = median_of(w->before, w->n_before);
    m2 = median_of(w->now, w->n_now);
    noise = hypot(noise_of(w->before, w->n_before, m1), noise_of(w->now, w->n_now, m2));
    if (fabs(m2 - m1) > fmax(2 * noise, SAME_SHARE * m1))
        return false;
    memcpy(both, w->before, w->n_before * sizeof *both);
    memcpy(both + w->n_before, w->now, w->n_now * sizeof *both);
    if (as_trend_test(&trend, both, w->n_before + w->n_now, NULL) < 0)
        return false;
    /* A trend too small to matter is none. */
    return trend.p > TREND_P || fabs(m2 - m1) <= SAME_SHARE / 4 * m1;
}

static bool time_is_up(const struct warming *w)
{
    double s = w->out->seconds, max_s = w->options->max_s;

    return as_stop_asked(w->options->stop) || s >= HARD_FACTOR * max_s ||
           (s >= max_s && w->out->runs >= w->options->min_runs);
}

static int take_window(struct warming *w, struct assay_error *err)
{
    double sample_ns = fmax(w->out->call_ns * (double)w->out->batch, 1);
    size_t capacity = (size_t)fmin(fmax(WINDOW_NS / sample_ns, MIN_WINDOW), MAX_WINDOW);
    int rc = ASSAY_OK;

    memcpy(w->before, w->now, w->n_now * sizeof *w->now);
    w->n_before = w->n_now;
    w->n_now = 0;
    while (rc == ASSAY_OK && w->n_now < capacity && !time_is_up(w)) {
        rc = sample(w, &w->now[w->n_now], err);
        w->n_now++;
    }
    return rc;
}

static int until_steady(struct warming *w, struct assay_error *err)
{
    int rc = ASSAY_OK;

    while (rc == ASSAY_OK && !w->out->steady && !time_is_up(w)) {
        rc = take_window(w, err);
        if (rc < 0 || w->n_now == 0)
            break;
        w->out->call_ns = median_of(w->now, w->n_now);
        if (widen(w, w->out->call_ns)) {
            w->n_now = 0; /* samples of another length do not compare */
            continue;
        }
        w->out->steady = w->out->runs >= w->options->min_runs && windows_agree(w) &&
                         w->out->seconds * 1e9 >= fmin(MIN_NS, w->options->max_s * 1e9);
    }
    return rc;
}

int as_warm_up(struct as_warm_up *out, as_measured fn, void *user,
               const struct as_warm_up_options *options, struct assay_error *err)
{
    struct warming w = {.fn = fn, .user = user, .options = options, .out = out};
    int rc;

    *out = (struct as_warm_up){.batch = 1};
    w.start_ns = options->source->now_ns(options->source->user);
    rc = sample(&w, &out->first_ns, err);
    out->call_ns = out->first_ns;
    if (rc == ASSAY_OK && options->min_runs > 0)
        rc = find_batch(&w, err);
    if (rc == ASSAY_OK && options->min_runs > 0)
        rc = until_steady(&w, err);
    return rc;
}
