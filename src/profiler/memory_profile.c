/* profiler/memory_profile.c - what memory a session's layers leave behind and need while they run.
 * Snapshots are a ring of the newest; what is told of layers is over all of them. */
#include "profiler/memory_profile.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "probe/process/memory_probe.h"
#include "probe/process/memory_sampler.h"
#include "probe/process/process_memory.h"

#define UNKNOWN ASSAY_UNKNOWN

struct as_memory_profile {
    struct as_memory_profile_options options;
    char *root;
    struct as_memory_reader files, sampler_files;
    struct as_memory_sampler sampler;
    struct as_rss_peaks peaks; /* what the sampler saw; has a lock of its own */

    struct as_memory_moment baseline, newest;
    bool started;
    uint64_t sample_mark;             /* readings of the sampler that were forgotten */
    uint64_t first_bytes, last_bytes; /* rss of the first and of the last snapshot that knew it */
    uint64_t peak_bytes;

    struct as_memory_layer_reading *ring; /* of options.max_snapshots */
    size_t n_kept, oldest;
    uint64_t taken, metadata_dropped;
    struct as_memory_layers layers;
};

static double to_mib(uint64_t bytes)
{
    return bytes == UNKNOWN ? AS_UNKNOWN : (double)bytes / AS_MIB;
}

static double mib_between(uint64_t from, uint64_t to)
{
    return from == UNKNOWN || to == UNKNOWN ? AS_UNKNOWN : ((double)to - (double)from) / AS_MIB;
}

static uint64_t later(uint64_t from, uint64_t to)
{
    return from == UNKNOWN || to == UNKNOWN || to < from ? UNKNOWN : to - from;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    if (a == UNKNOWN || b == UNKNOWN)
        return a == UNKNOWN ? b : a;
    return a > b ? a : b;
}

/* ---- what the kernel says ---- */

static uint64_t fact_or_unknown(struct as_fact fact)
{
    return fact.why ? UNKNOWN : fact.value;
}

static struct as_memory_moment read_moment(struct as_memory_profile *p)
{
    struct as_process_events events;
    struct as_memory_moment now;

    as_process_events_read(&events, false);
    now.minor_faults = fact_or_unknown(events.minor_faults);
    now.major_faults = fact_or_unknown(events.major_faults);
    now.rss_bytes = as_memory_read_rss(&p->files);
    now.monotonic_ns = as_clock_mono_ns();
    p->peak_bytes = greater(p->peak_bytes, now.rss_bytes);
    return now;
}

/* A new reading, or the last one while it is young enough. */
static struct as_memory_moment moment(struct as_memory_profile *p, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - p->newest.monotonic_ns;

    if (p->newest.monotonic_ns == 0 || age_ns / 1000 >= p->options.interval_us)
        p->newest = read_moment(p);
    return p->newest;
}

/* What fails in the thread is seen by the readings at the ends of layers, too. */
static void sample(void *user)
{
    struct as_memory_profile *p = user;
    uint64_t rss = as_memory_read_rss(&p->sampler_files);

    if (rss != UNKNOWN)
        as_rss_peaks_add(&p->peaks, rss);
}

/* ---- life ---- */

int as_memory_profile_new(struct as_memory_profile **out,
                          const struct as_memory_profile_options *options, struct assay_error *err)
{
    struct as_memory_profile *p = as_alloc_zero(1, sizeof *p);

    *out = NULL;
    if (!p)
        return as_fail_nomem(err);
    if (options)
        p->options = *options;
    if (p->options.max_snapshots == 0)
        p->options.max_snapshots = AS_MEMORY_PROFILE_SNAPSHOTS;
    p->root = as_strdup(p->options.root ? p->options.root : "");
    p->ring = as_alloc_zero(p->options.max_snapshots, sizeof *p->ring);
    if (!p->root || !p->ring || !as_rss_peaks_init(&p->peaks)) {
        as_free(p->root);
        as_free(p->ring);
        as_free(p);
        return as_fail_nomem(err);
    }
    as_touch(p->ring, 0, p->options.max_snapshots * sizeof *p->ring);
    as_memory_reader_init(&p->files, p->root);
    as_memory_reader_init(&p->sampler_files, p->root);
    as_memory_profile_reset(p);
    *out = p;
    return ASSAY_OK;
}

/* The caller's constant is ours: we made the copy. */
static void free_metadata(struct as_memory_layer_reading *r)
{
    char *copy;

    memcpy(&copy, &r->metadata, sizeof copy);
    as_free(copy);
    r->metadata = NULL;
}

static void forget_snapshots(struct as_memory_profile *p)
{
    for (size_t i = 0; i < p->n_kept; i++)
        free_metadata(&p->ring[i]);
    p->n_kept = p->oldest = 0;
    p->taken = p->metadata_dropped = 0;
}

void as_memory_profile_reset(struct as_memory_profile *profile)
{
    forget_snapshots(profile);
    as_memory_layers_fini(&profile->layers);
    profile->sample_mark = as_rss_peaks_mark(&profile->peaks);
    profile->started = false;
    profile->baseline = profile->newest = (struct as_memory_moment){.rss_bytes = UNKNOWN};
    profile->first_bytes = profile->last_bytes = profile->peak_bytes = UNKNOWN;
}

void as_memory_profile_free(struct as_memory_profile *profile)
{
    if (!profile)
        return;
    as_memory_sampler_stop(&profile->sampler);
    forget_snapshots(profile);
    as_memory_layers_fini(&profile->layers);
    as_memory_reader_fini(&profile->files);
    as_memory_reader_fini(&profile->sampler_files);
    as_rss_peaks_fini(&profile->peaks);
    as_free(profile->ring);
    as_free(profile->root);
    as_free(profile);
}

static int take_baseline(struct as_memory_profile *p, struct assay_error *err)
{
    p->baseline = p->newest = read_moment(p);
    p->started = true;
    if (p->baseline.rss_bytes != UNKNOWN)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                   "the memory of this process cannot be read: is %s/proc mounted?", p->root);
}

int as_memory_profile_start(struct as_memory_profile *profile, struct assay_error *err)
{
    int rc;

    as_alloc_tidy();
    rc = take_baseline(profile, err);
    if (rc < 0 || profile->options.sample_us == 0 || as_memory_sampler_runs(&profile->sampler))
        return rc;
    return as_memory_sampler_start(&profile->sampler, profile->options.sample_us, sample, profile,
                                   err);
}

void as_memory_profile_stop(struct as_memory_profile *profile)
{
    as_memory_sampler_stop(&profile->sampler);
}

/* ---- layers ---- */

int as_memory_profile_begin_layer(struct as_memory_profile *profile, struct as_memory_span *span,
                                  struct assay_error *err)
{
    int rc = profile->started ? ASSAY_OK : take_baseline(profile, err);

    span->begin_ns = as_clock_mono_ns();
    span->before = moment(profile, span->begin_ns);
    span->sample_mark = as_rss_peaks_mark(&profile->peaks);
    if (!as_memory_counted_total(&span->counted_before_bytes))
        span->counted_before_bytes = UNKNOWN;
    as_memory_span_begin(&span->thread); /* last: what we do ourselves is not the layer's */
    return rc;
}

void as_memory_profile_cancel_layer(struct as_memory_profile *profile, struct as_memory_span *span)
{
    struct as_memory_thread_use use;

    (void)profile;
    as_memory_span_end(&span->thread, &use);
}

static uint64_t age_at(const struct as_memory_moment *m, uint64_t at_ns)
{
    return at_ns > m->monotonic_ns ? at_ns - m->monotonic_ns : 0;
}

static void fill_rss(struct as_memory_profile *p, const struct as_memory_span *span,
                     uint64_t end_ns, struct as_memory_layer_reading *out)
{
    struct as_memory_moment after = moment(p, end_ns);
    uint64_t total = as_memory_read_total(&p->files), sampled = UNKNOWN;

    out->rss_before_bytes = span->before.rss_bytes;
    out->rss_after_bytes = after.rss_bytes;
    out->before_age_ns = age_at(&span->before, span->begin_ns);
    out->after_age_ns = age_at(&after, end_ns);
    out->rss_samples = as_rss_peaks_since(&p->peaks, span->sample_mark, &sampled);
    out->rss_peak_bytes = greater(greater(span->before.rss_bytes, after.rss_bytes), sampled);
    out->minor_faults = later(span->before.minor_faults, after.minor_faults);
    out->major_faults = later(span->before.major_faults, after.major_faults);
    out->cpu_memory_mb = to_mib(after.rss_bytes);
    out->memory_delta_mb = mib_between(p->baseline.rss_bytes, after.rss_bytes);
    out->cpu_memory_percent = after.rss_bytes == UNKNOWN || total == UNKNOWN
                                  ? AS_UNKNOWN
                                  : 100 * (double)after.rss_bytes / (double)total;
    if (isnan(out->cpu_memory_percent))
        out->why = "the memory of the machine cannot be read";
    if (after.rss_bytes == UNKNOWN || span->before.rss_bytes == UNKNOWN)
        out->why = "the resident memory cannot be read";
}

static void fill_counted(const struct as_memory_span *span, const struct as_memory_thread_use *use,
                         struct as_memory_layer_reading *out)
{
    bool any = as_memory_counted_total(&out->counted_after_bytes);

    out->counted_before_bytes = span->counted_before_bytes;
    out->counted_known = any && !use->why;
    out->counted_peak_bytes = out->counted_known ? use->peak_bytes : UNKNOWN;
    out->counted_net_bytes = out->counted_known ? use->net_bytes : 0;
    if (any && span->counted_before_bytes == UNKNOWN)
        out->counted_before_bytes = 0; /* it began to count within */
    if (!any)
        out->counted_after_bytes = UNKNOWN;
    if (!out->why && !out->counted_known)
        out->why = any ? use->why : "the program does not count its memory by category";
}

static void copy_metadata(struct as_memory_profile *p, const char *metadata,
                          struct as_memory_layer_reading *out)
{
    bool fits = metadata && strlen(metadata) <= AS_MEMORY_PROFILE_METADATA;

    out->metadata = fits ? as_strdup(metadata) : NULL;
    if (metadata && !out->metadata)
        p->metadata_dropped++;
}

static void push(struct as_memory_profile *p, const struct as_memory_layer_reading *r)
{
    size_t most = p->options.max_snapshots, at = p->n_kept;

    if (p->n_kept == most) {
        at = p->oldest;
        free_metadata(&p->ring[at]);
        p->oldest = (at + 1) % most;
    } else {
        p->n_kept++;
    }
    p->ring[at] = *r;
    p->taken++;
    if (r->rss_after_bytes == UNKNOWN)
        return;
    if (p->first_bytes == UNKNOWN)
        p->first_bytes = r->rss_after_bytes;
    p->last_bytes = r->rss_after_bytes;
}

int as_memory_profile_end_layer(struct as_memory_profile *profile, struct as_memory_span *span,
                                const char *layer, double timestamp, const char *metadata,
                                struct as_memory_layer_reading *out, struct assay_error *err)
{
    struct as_memory_layer_reading r = {.timestamp = timestamp};
    struct as_memory_thread_use use;
    uint64_t end_ns, unix_us;

    as_memory_span_end(&span->thread, &use); /* first: what we do ourselves is not the layer's */
    as_memory_now(&end_ns, &unix_us);
    fill_rss(profile, span, end_ns, &r);
    fill_counted(span, &use, &r);
    if (isnan(timestamp))
        r.timestamp = (double)unix_us / 1e6;
    if (!as_memory_layers_add(&profile->layers, layer ? layer : "", &r))
        return as_fail_nomem(err);
    copy_metadata(profile, metadata, &r);
    push(profile, &r);
    profile->peak_bytes = greater(profile->peak_bytes, r.rss_peak_bytes);
    if (out)
        *out = r;
    return ASSAY_OK;
}

/* ---- telling ---- */

const struct as_memory_layer_reading *as_memory_profile_at(const struct as_memory_profile *profile,
                                                           size_t i)
{
    return i < profile->n_kept
               ? &profile->ring[(profile->oldest + i) % profile->options.max_snapshots]
               : NULL;
}

bool as_memory_profile_growth(const struct as_memory_profile *profile, size_t i,
                              struct as_memory_growth *out)
{
    const struct as_memory_layer_reading *r = as_memory_profile_at(profile, i);

    if (!r)
        return false;
    *out = (struct as_memory_growth){r->layer, r->timestamp,
                                     mib_between(profile->first_bytes, r->rss_after_bytes)};
    return true;
}

bool as_memory_profile_layer_at(const struct as_memory_profile *profile, size_t i,
                                struct as_memory_layer_row *out)
{
    return as_memory_layers_row(&profile->layers, i, out);
}

bool as_memory_profile_layer(const struct as_memory_profile *profile, const char *layer,
                             struct as_memory_layer_row *out)
{
    return as_memory_layers_row(&profile->layers, as_memory_layers_find(&profile->layers, layer),
                                out);
}

static const char *summary_why(const struct as_memory_profile_summary *s)
{
    if (!s->started)
        return "no layer was profiled yet";
    if (s->baseline_bytes == UNKNOWN || s->peak_rss_kernel_bytes == UNKNOWN)
        return "/proc/self/status and /proc/self/statm do not tell the resident memory";
    return s->total_snapshots ? NULL : "no layer has ended yet";
}

void as_memory_profile_summary(struct as_memory_profile *profile,
                               struct as_memory_profile_summary *out)
{
    struct as_memory_profile *p = profile;
    struct assay_memory_snapshot now;
    uint64_t sampled = UNKNOWN;

    (void)as_memory_read(&p->files, &now, ASSAY_CAPTURE_USUAL, NULL); /* unknown when it cannot */
    *out = (struct as_memory_profile_summary){
        .started = p->started,
        .baseline_bytes = p->baseline.rss_bytes,
        .baseline_memory_mb = to_mib(p->baseline.rss_bytes),
        .peak_rss_kernel_bytes = now.peak_rss_bytes,
        .memory_total_bytes = now.memory_total_bytes,
        .total_snapshots = p->taken,
        .snapshots_kept = p->n_kept,
        .snapshots_dropped = p->taken - p->n_kept,
        .metadata_dropped = p->metadata_dropped,
        .memory_growth_mb = mib_between(p->first_bytes, p->last_bytes),
        .n_layers = p->layers.n,
        .layers_joined = p->layers.joined,
        .samples = as_rss_peaks_since(&p->peaks, p->sample_mark, &sampled),
        .sampler_cpu_ns = UNKNOWN,
        .sampler_wall_ns = UNKNOWN,
    };
    out->peak_bytes = greater(p->peak_bytes, sampled);
    out->peak_memory_mb = to_mib(out->peak_bytes);
    if (!as_memory_sampler_cost(&p->sampler, &out->sampler_cpu_ns, &out->sampler_wall_ns))
        out->samples = out->sampler_cpu_ns = out->sampler_wall_ns = UNKNOWN;
    assay_memory_read_counts(&out->counts);
    out->why = summary_why(out);
}

int as_memory_profile_report(struct as_memory_profile *profile, struct as_arena *arena,
                             struct as_memory_report *out, struct assay_error *err)
{
    struct as_memory_layer_reading *r = as_arena_zero(arena, profile->n_kept + 1, sizeof *r);
    struct as_memory_layer_row *row = as_arena_zero(arena, profile->layers.n + 1, sizeof *row);

    *out = (struct as_memory_report){.snapshot = r, .layer = row};
    if (!r || !row)
        return as_fail_nomem(err);
    as_memory_profile_summary(profile, &out->summary);
    for (; out->n_snapshots < profile->n_kept; out->n_snapshots++) {
        struct as_memory_layer_reading *to = &r[out->n_snapshots];

        *to = *as_memory_profile_at(profile, out->n_snapshots);
        to->growth_mb = mib_between(profile->first_bytes, to->rss_after_bytes);
    }
    while (as_memory_profile_layer_at(profile, out->n_layers, &row[out->n_layers]))
        out->n_layers++;
    return ASSAY_OK;
}
