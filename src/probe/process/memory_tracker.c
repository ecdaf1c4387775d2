/* probe/process/memory_tracker.c - samples of memory over time: some kept, all of them counted.
 * Its thread and its owner share it under one lock; each reads through files of its own. */
#include <assay/memory.h>

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "probe/process/memory_probe.h"
#include "probe/process/memory_sampler.h"
#include "stats/describe/histogram.h"

#define UNKNOWN       ASSAY_UNKNOWN
#define DEFAULT_KEPT  100000
#define SERIES_BITS   7 /* p95 is within 0.4 % */
#define SERIES_COUNTS AS_HISTOGRAM_BUCKETS(SERIES_BITS)

enum { RSS, KV_CACHE, ACTIVATION, TEMP_BUFFER, SERIES_COUNT };

/* One component, every snapshot of it. */
struct series {
    struct as_histogram values;
    uint64_t last_bytes;
    uint64_t from_ns;       /* when `last_bytes` was read */
    bool follows;           /* the snapshot before this one knew it */
    double area, passed_ns; /* of the trapezoids between neighbors */
};

struct assay_memory_tracker {
    char *label;
    struct as_tracker_lock lock; /* of what follows */
    struct as_kept_samples kept;
    uint64_t n_snapshots, failed;
    uint64_t peak_kernel;
    bool reads; /* it took a reading itself, so the kernel can be asked once more */
    struct series series[SERIES_COUNT];
    uint64_t *counts; /* the buckets of all series */

    struct as_memory_sampler sampler;
    struct as_memory_reader owner_files, sampler_files;
};

/* ---- one component ---- */

static void series_add(struct series *s, uint64_t bytes, uint64_t at_ns)
{
    if (bytes == UNKNOWN) {
        s->follows = false;
        return;
    }
    if (s->follows && at_ns > s->from_ns) { /* recorded data may go backwards */
        double ns = (double)(at_ns - s->from_ns);

        s->area += ns * ((double)s->last_bytes + (double)bytes) / 2;
        s->passed_ns += ns;
    }
    as_histogram_record(&s->values, bytes);
    s->last_bytes = bytes;
    s->from_ns = at_ns;
    s->follows = true;
}

static struct assay_memory_series series_told(const struct series *s)
{
    const struct as_total *total = &s->values.total;
    struct assay_memory_series out = {
        .n = total->n,
        .min_bytes = UNKNOWN,
        .max_bytes = UNKNOWN,
        .p95_bytes = UNKNOWN,
        .last_bytes = UNKNOWN,
        .mean_bytes = as_total_mean(total),
        .time_weighted_mean_bytes = as_total_mean(total),
    };

    if (total->n == 0)
        return out;
    out.min_bytes = total->min;
    out.max_bytes = total->max;
    out.last_bytes = s->last_bytes;
    (void)as_histogram_quantile(&s->values, 95, &out.p95_bytes);
    if (s->passed_ns > 0)
        out.time_weighted_mean_bytes = s->area / s->passed_ns;
    return out;
}

static uint64_t series_sum(const struct series *s)
{
    uint64_t sum;

    (void)as_total_sum(&s->values.total, &sum); /* too large: unknown */
    return s->values.total.n ? sum : UNKNOWN;
}

/* Rounded down. Past 64 bits a double is as near as anybody needs, held below the greatest value:
 * rounded up, it might not fit. */
static uint64_t series_whole_mean(const struct series *s)
{
    const struct as_total *total = &s->values.total;
    double mean = as_total_mean(total);

    if (total->n == 0)
        return UNKNOWN;
    if (total->sum_high == 0)
        return total->sum_low / total->n;
    return mean < (double)total->max ? (uint64_t)mean : total->max;
}

/* ---- the tracker ---- */

static bool fill_new(struct assay_memory_tracker *t, const char *label)
{
    bool fine;

    t->label = as_strdup(label ? label : "");
    t->counts = as_alloc_zero(SERIES_COUNT * SERIES_COUNTS, sizeof *t->counts);
    fine = t->label && t->counts;
    for (int i = 0; fine && i < SERIES_COUNT; i++)
        fine = as_histogram_init(&t->series[i].values, SERIES_BITS,
                                 t->counts + (size_t)i * SERIES_COUNTS, NULL) == ASSAY_OK;
    return fine && as_tracker_lock_init(&t->lock);
}

int assay_memory_tracker_new(struct assay_memory_tracker **out,
                             const struct assay_memory_tracker_options *options,
                             struct assay_error *err)
{
    struct assay_memory_tracker_options o;
    struct assay_memory_tracker *t;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new tracker is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a memory tracker", err);
    if (rc < 0)
        return rc;
    t = as_alloc_zero(1, sizeof *t);
    if (!t)
        return as_fail_nomem(err);
    t->kept = (struct as_kept_samples){.most = o.max_snapshots ? o.max_snapshots : DEFAULT_KEPT,
                                       .stride = 1,
                                       .bytes = sizeof(struct assay_memory_snapshot)};
    t->peak_kernel = UNKNOWN;
    as_memory_reader_init(&t->owner_files, "");
    as_memory_reader_init(&t->sampler_files, "");
    if (fill_new(t, o.label)) {
        *out = t;
        return ASSAY_OK;
    }
    as_free(t->label);
    as_free(t->counts);
    as_free(t);
    return as_fail_nomem(err);
}

void assay_memory_tracker_free(struct assay_memory_tracker *tracker)
{
    if (!tracker)
        return;
    as_memory_sampler_stop(&tracker->sampler);
    as_tracker_lock_fini(&tracker->lock);
    as_memory_reader_fini(&tracker->owner_files);
    as_memory_reader_fini(&tracker->sampler_files);
    as_free(tracker->label);
    as_free(tracker->counts);
    as_free(tracker->kept.at);
    as_free(tracker);
}

static int add(struct assay_memory_tracker *t, const struct assay_memory_snapshot *s,
               struct assay_error *err)
{
    const uint64_t value[SERIES_COUNT] = {
        [RSS] = s->rss_bytes,
        [KV_CACHE] = s->kv_cache_bytes,
        [ACTIVATION] = s->activation_bytes,
        [TEMP_BUFFER] = s->temp_buffer_bytes,
    };
    uint64_t at_ns = s->monotonic_ns ? s->monotonic_ns : s->timestamp_us * 1000;
    bool kept = as_kept_samples_offer(&t->kept, t->n_snapshots, s);

    for (int i = 0; i < SERIES_COUNT; i++)
        series_add(&t->series[i], value[i], at_ns);
    if (s->peak_rss_bytes != UNKNOWN &&
        (t->peak_kernel == UNKNOWN || s->peak_rss_bytes > t->peak_kernel))
        t->peak_kernel = s->peak_rss_bytes;
    t->n_snapshots++;
    return kept ? ASSAY_OK : as_fail_nomem(err);
}

/* Under the lock: what became of a reading. */
static int note(struct assay_memory_tracker *t, const struct assay_memory_snapshot *s, int rc,
                struct assay_error *err)
{
    if (rc < 0) {
        t->failed++;
        return rc;
    }
    t->reads = true;
    return add(t, s, err);
}

int assay_memory_tracker_snapshot(struct assay_memory_tracker *tracker, struct assay_error *err)
{
    struct assay_memory_snapshot s;
    int rc;

    if (!tracker)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no tracker to take a snapshot with");
    rc = as_memory_read(&tracker->owner_files, &s, ASSAY_CAPTURE_USUAL, err);
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    rc = note(tracker, &s, rc, err);
    as_tracker_leave(&tracker->lock);
    return rc;
}

int assay_memory_tracker_add(struct assay_memory_tracker *tracker,
                             const struct assay_memory_snapshot *snapshot, struct assay_error *err)
{
    int rc;

    if (!tracker || !snapshot)
        return as_fail(err, ASSAY_ERR_USAGE, "a tracker and a snapshot to keep are needed");
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    rc = add(tracker, snapshot, err);
    as_tracker_leave(&tracker->lock);
    return rc;
}

/* What fails is counted; the owner sees it in the report. No child has this thread, so the lock is
 * sane. */
static void sample(void *user)
{
    struct assay_memory_tracker *t = user;
    struct assay_memory_snapshot s;
    int rc = as_memory_read(&t->sampler_files, &s, ASSAY_CAPTURE_USUAL, NULL);

    pthread_mutex_lock(&t->lock.mutex);
    (void)note(t, &s, rc, NULL);
    as_tracker_leave(&t->lock);
}

int assay_memory_tracker_start(struct assay_memory_tracker *tracker, uint64_t interval_us,
                               struct assay_error *err)
{
    if (!tracker)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no tracker to start");
    if (!as_memory_sampler_runs(&tracker->sampler))
        (void)as_memory_read_total(
            &tracker->sampler_files); /* many files, once: not in the thread */
    return as_memory_sampler_start(&tracker->sampler, interval_us, sample, tracker, err);
}

int assay_memory_tracker_stop(struct assay_memory_tracker *tracker, struct assay_error *err)
{
    if (!tracker)
        return as_fail(err, ASSAY_ERR_USAGE, "the memory tracker is NULL");
    if (!as_memory_sampler_runs(&tracker->sampler))
        return as_fail(err, ASSAY_ERR_STATE,
                       "memory is not being sampled: there is nothing to stop");
    as_memory_sampler_stop(&tracker->sampler);
    return ASSAY_OK;
}

uint64_t assay_memory_tracker_peak(struct assay_memory_tracker *tracker)
{
    const struct as_total *rss;
    uint64_t peak;

    if (!tracker)
        return UNKNOWN;
    rss = &tracker->series[RSS].values.total;
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    peak = rss->n ? rss->max : UNKNOWN;
    as_tracker_leave(&tracker->lock);
    return peak;
}

size_t assay_memory_tracker_snapshots(struct assay_memory_tracker *tracker,
                                      struct assay_memory_snapshot *out, size_t capacity)
{
    size_t n;

    if (!tracker)
        return 0;
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    n = as_kept_samples_copy(&tracker->kept, out, capacity);
    as_tracker_leave(&tracker->lock);
    return n;
}

/* The kernel's peak may have risen since the last snapshot. */
static uint64_t peak_now(struct assay_memory_tracker *t, uint64_t peak)
{
    struct assay_memory_snapshot now;

    if (as_memory_read(&t->owner_files, &now, ASSAY_CAPTURE_USUAL, NULL) < 0 ||
        now.peak_rss_bytes == UNKNOWN)
        return peak;
    return peak == UNKNOWN || now.peak_rss_bytes > peak ? now.peak_rss_bytes : peak;
}

static void fill_report(const struct assay_memory_tracker *t, struct assay_memory_report *out)
{
    const struct series *s = t->series;

    *out = (struct assay_memory_report){
        .size = sizeof(struct assay_memory_report),
        .label = t->label,
        .n_snapshots = t->n_snapshots,
        .n_kept = t->kept.n,
        .peak_rss_bytes = s[RSS].values.total.n ? s[RSS].values.total.max : UNKNOWN,
        .mean_rss_bytes = series_whole_mean(&s[RSS]),
        .kv_cache_total_bytes = series_sum(&s[KV_CACHE]),
        .activation_total_bytes = series_sum(&s[ACTIVATION]),
        .temp_buffer_total_bytes = series_sum(&s[TEMP_BUFFER]),
        .peak_rss_kernel_bytes = t->peak_kernel,
        .rss = series_told(&s[RSS]),
        .kv_cache = series_told(&s[KV_CACHE]),
        .activation = series_told(&s[ACTIVATION]),
        .temp_buffer = series_told(&s[TEMP_BUFFER]),
        .sampler_cpu_ns = UNKNOWN,
        .sampler_wall_ns = UNKNOWN,
        .failed = t->failed,
    };
}

int assay_memory_tracker_report(struct assay_memory_tracker *tracker,
                                struct assay_memory_report *out, struct assay_error *err)
{
    uint64_t cpu_ns, wall_ns;
    bool reads;

    if (!tracker || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "a tracker and room for its report are needed");
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    fill_report(tracker, out);
    reads = tracker->reads;
    as_tracker_leave(&tracker->lock);
    if (reads)
        out->peak_rss_kernel_bytes = peak_now(tracker, out->peak_rss_kernel_bytes);
    if (as_memory_sampler_cost(&tracker->sampler, &cpu_ns, &wall_ns)) {
        out->sampler_cpu_ns = cpu_ns;
        out->sampler_wall_ns = wall_ns;
    }
    return ASSAY_OK;
}
