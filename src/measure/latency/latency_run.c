/* measure/latency/latency_run.c - how long one run of anything takes: warm-up until steady, then
 * samples until the median is known well enough. A run that fails is a failure, never a number. */
#include "measure/latency/latency_run.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/sorted.h"
#include "stats/inference/welch.h"

enum { TIMER_TRIES = 256, FIRST_CAPACITY = 256, FEWEST = 3, RECENT = 256 };

#define BATCH_NS         20000.0   /* the least length of a sample, ... */
#define BATCH_TIMERS     100.0     /* ... and in costs of the timer */
#define MIN_TIME_SHARE   (1.0 / 3) /* of time_s, before a narrow interval is believed */
#define HARD_FACTOR      10        /* of time_s: then a few runs are enough */
#define NEXT_CHECK       1.25
#define FREQUENCY_CHANGE 0.05

static const char *const stop_name[] = {
    [AS_STOP_WIDTH] = "width",     [AS_STOP_TIME] = "time",         [AS_STOP_RUNS] = "runs",
    [AS_STOP_SAMPLES] = "samples", [AS_STOP_ASKED] = "interrupted",
};
_Static_assert(AS_COUNT_OF(stop_name) == AS_STOP_COUNT, "name every end");

const char *as_latency_stop_name(enum as_latency_stop stop)
{
    return (unsigned)stop < AS_STOP_COUNT ? stop_name[stop] : "unknown";
}

static struct as_latency_options with_defaults(const struct as_latency_options *given)
{
    struct as_latency_options o = given ? *given : (struct as_latency_options){0};

    if (o.warmup_runs == 0)
        o.warmup_runs = AS_LATENCY_WARMUP_RUNS;
    if (!(o.time_s > 0))
        o.time_s = AS_LATENCY_TIME_S;
    if (!(o.warmup_s > 0))
        o.warmup_s = o.time_s / 3;
    if (!(o.target > 0))
        o.target = AS_LATENCY_TARGET;
    if (!(o.level > 0))
        o.level = AS_LATENCY_LEVEL;
    if (!o.source)
        o.source = as_interference_machine(o.whole_process);
    return o;
}

/* ---- the timer ---- */

static void calibrate(struct as_latency_run *out, const struct as_interference_source *source)
{
    double cost[TIMER_TRIES], scratch[TIMER_TRIES];
    struct as_sorted sorted = as_sorted_f64(cost, TIMER_TRIES);
    uint64_t before = source->now_ns(source->user);

    out->timer_resolution_ns = AS_UNKNOWN;
    for (int i = 0; i < TIMER_TRIES; i++) {
        uint64_t now = source->now_ns(source->user);

        cost[i] = (double)(now - before);
        before = now;
        if (cost[i] > 0 && !(cost[i] >= out->timer_resolution_ns))
            out->timer_resolution_ns = cost[i];
    }
    as_sort_f64(cost, TIMER_TRIES, scratch);
    out->timer_cost_ns = as_sorted_median(&sorted);
}

/* ---- the samples ---- */

struct timing {
    as_measured fn;
    void *user;
    const struct as_latency_options *options;
    struct as_latency_run *out;
    struct as_interference watch;
    size_t capacity;
    size_t next_check;
    uint64_t runs; /* calls, for messages */
    uint64_t start_ns;
};

static int reserve(struct timing *t, struct assay_error *err)
{
    struct as_latency_run *out = t->out;
    size_t capacity = t->capacity ? 2 * t->capacity : FIRST_CAPACITY;
    double *samples;
    uint8_t *seen;

    if (out->n < t->capacity)
        return ASSAY_OK;
    samples = as_realloc(out->samples_ns, capacity, sizeof *samples);
    if (!samples)
        return as_fail_nomem(err);
    out->samples_ns = samples;
    seen = as_realloc(out->seen, capacity, sizeof *seen);
    if (!seen)
        return as_fail_nomem(err);
    out->seen = seen;
    memset(seen + t->capacity, 0, capacity - t->capacity);
    t->capacity = capacity;
    return ASSAY_OK;
}

static double elapsed_s(const struct timing *t)
{
    const struct as_interference_source *source = t->options->source;

    return (double)(source->now_ns(source->user) - t->start_ns) / 1e9;
}

static int sample(struct timing *t, struct assay_error *err)
{
    const struct as_interference_source *source = t->options->source;
    struct as_latency_run *out = t->out;
    uint64_t took = 0;
    int rc = reserve(t, err);

    if (rc == ASSAY_OK)
        rc = as_measured_calls(t->fn, t->user, out->batch, &t->runs, source, &took, err);
    if (rc < 0)
        return rc;
    out->samples_ns[out->n++] = fmax((double)took - out->timer_cost_ns, 0) / (double)out->batch;
    as_interference_sample(&t->watch, out->n, source->now_ns(source->user), out->seen);
    return ASSAY_OK;
}

/* Whether the interval is narrow enough. Looks seldom, since looking often finds a narrow one by
 * chance; and runs once afterwards, since looking leaves the caches cold. */
static int look(struct timing *t, bool *narrow, struct assay_error *err)
{
    const struct as_latency_options *o = t->options;
    struct as_series_interval interval;
    uint64_t took = 0;
    double median;
    int rc = as_latency_interval(&interval, t->out->samples_ns, t->out->n, o->level, &median, err);

    if (rc < 0)
        return rc;
    *narrow = interval.interval.reached &&
              interval.interval.high - interval.interval.low <= o->target * median;
    t->next_check = (size_t)((double)t->out->n * NEXT_CHECK) + 1;
    return *narrow
               ? ASSAY_OK
               : as_measured_calls(t->fn, t->user, t->out->batch, &t->runs, o->source, &took, err);
}

/* 1: enough, with out->stop saying why. 0: go on. */
static int enough(struct timing *t, struct assay_error *err)
{
    const struct as_latency_options *o = t->options;
    struct as_latency_run *out = t->out;
    size_t min_runs = o->min_runs ? o->min_runs : AS_LATENCY_MIN_RUNS;
    double s = elapsed_s(t);
    bool narrow = false;
    int rc;

    out->seconds = s;
    out->stop = AS_STOP_ASKED;
    if (as_stop_asked(o->stop))
        return 1;
    out->stop = AS_STOP_RUNS;
    if (o->runs)
        return out->n >= o->runs;
    out->stop = AS_STOP_SAMPLES;
    if (out->n >= AS_LATENCY_MAX_SAMPLES)
        return 1;
    out->stop = AS_STOP_TIME;
    if ((s >= o->time_s && out->n >= min_runs) ||
        (s >= HARD_FACTOR * o->time_s && out->n >= FEWEST))
        return 1;
    if (out->n < t->next_check || s < MIN_TIME_SHARE * o->time_s)
        return 0;
    rc = look(t, &narrow, err);
    out->stop = AS_STOP_WIDTH;
    return rc < 0 ? rc : narrow;
}

static double recent_median(const struct as_latency_run *run)
{
    double last[RECENT], scratch[RECENT];
    size_t n = run->n < RECENT ? run->n : RECENT;
    struct as_sorted sorted = as_sorted_f64(last, n);

    if (n == 0)
        return AS_UNKNOWN;
    memcpy(last, run->samples_ns + run->n - n, n * sizeof *last);
    as_sort_f64(last, n, scratch);
    return as_sorted_median(&sorted);
}

static void tell(const struct timing *t)
{
    const struct as_latency_options *o = t->options;
    const struct as_latency_run *out = t->out;
    struct as_latency_progress now = {.phase = AS_LATENCY_TIMING,
                                      .share = out->seconds / o->time_s,
                                      .median_ns = recent_median(out),
                                      .calls = out->n * out->batch,
                                      .left_s = fmax(o->time_s - out->seconds, 0)};

    if (!o->progress)
        return;
    if (o->runs) {
        now.share = (double)out->n / (double)o->runs;
        now.left_s = out->seconds / (double)out->n * (double)(o->runs - out->n);
    }
    now.share = fmin(now.share, 1);
    o->progress(o->progress_user, &now);
}

static int take_samples(struct timing *t, struct assay_error *err)
{
    const struct as_latency_options *o = t->options;
    double told_s = 0;
    int rc = 0;

    t->next_check = o->min_runs ? o->min_runs : AS_LATENCY_WANTED_RUNS;
    as_interference_begin(&t->watch, o->source, t->out->warm_up.call_ns * (double)t->out->batch);
    t->start_ns = o->source->now_ns(o->source->user);
    while (rc == 0) {
        rc = sample(t, err);
        if (rc == 0)
            rc = enough(t, err);
        if (rc == 0 && t->out->seconds - told_s >= 0.1) {
            told_s = t->out->seconds;
            tell(t);
        }
    }
    if (rc < 0)
        return rc;
    as_interference_end(&t->watch, t->out->n, t->out->seen);
    return ASSAY_OK;
}

/* ---- what they say ---- */

static void find_causes(struct as_latency_run *out, const struct as_interference *watch)
{
    size_t n_others;

    for (size_t i = 0; i < out->n; i++)
        out->n_outliers += out->samples_ns[i] > out->figures.fences.mild_high;
    n_others = out->n - out->n_outliers;
    for (unsigned c = 0; c < AS_CAUSE_COUNT; c++) {
        struct as_cause_tally *tally = &out->causes[c];
        double among, elsewhere;

        tally->known = as_interference_known(watch, (enum as_cause)c);
        tally->n = as_interference_count(watch, (enum as_cause)c);
        for (size_t i = 0; i < out->n; i++) {
            if (!(out->seen[i] >> c & 1))
                continue;
            if (out->samples_ns[i] > out->figures.fences.mild_high)
                tally->n_outliers++;
            else
                tally->n_others++;
        }
        among = out->n_outliers ? (double)tally->n_outliers / (double)out->n_outliers : 0;
        elsewhere = n_others ? (double)tally->n_others / (double)n_others : 0;
        tally->suspected = tally->n_outliers > 0 && among >= 2 * elsewhere;
    }
}

/* By a factor: times are never below 0. What is expected of one more run differs from the middle of
 * the others by its own spread and by what is not known of that middle. */
static void look_back(struct as_latency_run *out, const struct as_latency_options *o)
{
    double n = (double)o->n_earlier, factor, middle;

    if (o->n_earlier < 2 || !(o->earlier_spread >= 0) || !(o->earlier_median_ns > 0) ||
        !(o->earlier_degrees > 0) || !(out->figures.summary.median > 0))
        return;
    out->n_earlier = o->n_earlier;
    out->earlier_spread = o->earlier_spread;
    factor =
        exp(as_student_point(o->level, o->earlier_degrees) * o->earlier_spread * sqrt(1 + 1 / n));
    /* This run is one of n + 1. */
    middle = exp((n * log(o->earlier_median_ns) + log(out->figures.summary.median)) / (n + 1));
    out->between_low_ns = middle / factor;
    out->between_high_ns = middle * factor;
}

static double frequency(const struct as_interference_source *source)
{
    return source->frequency_hz ? source->frequency_hz(source->user) : AS_UNKNOWN;
}

static int warm(struct timing *t, struct assay_error *err)
{
    const struct as_latency_options *o = t->options;
    struct as_latency_run *out = t->out;
    struct as_warm_up_options options = {
        .min_runs = o->no_warmup ? 0 : o->warmup_runs,
        .max_s = o->warmup_s,
        .source = o->source,
        .stop = o->stop,
    };
    const struct as_latency_progress begin = {
        .phase = AS_LATENCY_WARMING, .median_ns = AS_UNKNOWN, .left_s = AS_UNKNOWN};
    int rc;

    if (!o->no_batch)
        options.min_batch_ns = fmax(BATCH_NS, BATCH_TIMERS * out->timer_cost_ns);
    if (o->progress)
        o->progress(o->progress_user, &begin);
    rc = as_warm_up(&out->warm_up, t->fn, t->user, &options, err);
    if (rc == ASSAY_OK && as_stop_asked(o->stop))
        rc = as_fail(err, ASSAY_ERR_STATE, AS_STOPPED_BEFORE_FIRST);
    out->batch = out->warm_up.batch;
    t->runs = out->warm_up.runs;
    return rc;
}

int as_latency_run(struct as_latency_run *out, as_measured fn, void *user,
                   const struct as_latency_options *options, struct assay_error *err)
{
    struct as_latency_options o = with_defaults(options);
    struct timing t = {.fn = fn, .user = user, .options = &o, .out = out};
    int rc;

    *out = (struct as_latency_run){.batch = 1,
                                   .earlier_spread = AS_UNKNOWN,
                                   .between_low_ns = AS_UNKNOWN,
                                   .between_high_ns = AS_UNKNOWN};
    if (!(o.level < 1))
        return as_fail(err, ASSAY_ERR_USAGE, "a confidence level lies between 0 and 1, not at %g",
                       o.level);
    as_alloc_tidy();
    calibrate(out, o.source);
    rc = warm(&t, err);
    if (rc < 0)
        goto out;
    out->frequency_before_hz = frequency(o.source);
    rc = take_samples(&t, err);
    if (rc < 0)
        goto out;
    out->frequency_after_hz = frequency(o.source);
    rc = as_latency_metrics(&out->figures, out->samples_ns, out->n, o.level, err);
    if (rc < 0)
        goto out;
    find_causes(out, &t.watch);
    look_back(out, &o);
    out->steady =
        (out->warm_up.steady || o.no_warmup) && !out->figures.drifted &&
        !(fabs(out->frequency_after_hz / out->frequency_before_hz - 1) > FREQUENCY_CHANGE);
out:
    if (rc < 0)
        as_latency_run_fini(out);
    return rc;
}

void as_latency_run_fini(struct as_latency_run *run)
{
    if (!run)
        return;
    as_free(run->samples_ns);
    as_free(run->seen);
    *run = (struct as_latency_run){0};
}

double as_latency_throughput(const struct as_latency_run *run, double items)
{
    double median_ns = run->figures.summary.median;

    return median_ns > 0 ? items * 1e9 / median_ns : AS_UNKNOWN;
}
