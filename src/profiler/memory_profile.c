/* profiler/memory_profile.c - what memory a session's layers leave behind and need while they run.
 * Snapshots are a ring of the newest; what is told of layers is over all of them. */
#include "profiler/memory_profile.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
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
    struct as_rss_peaks peaks;          /* what the sampler saw; has a lock of its own */
    const struct as_own_faults *own[2]; /* NULL: none */
    _Atomic bool unread;                /* a reading on a layer's thread failed */

    uint64_t baseline_bytes;
    uint64_t total_bytes; /* of the machine or the container */
    bool started, total_read;
    uint64_t sample_mark;             /* samples of the sampler that were forgotten */
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

/* Faults of our own may be left out a moment after they were counted. */
static uint64_t later(uint64_t from, uint64_t to)
{
    return from == UNKNOWN || to == UNKNOWN ? UNKNOWN : to > from ? to - from : 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    if (a == UNKNOWN || b == UNKNOWN)
        return a == UNKNOWN ? b : a;
    return a > b ? a : b;
}

/* ---- what the kernel says ---- */

static uint64_t without(struct as_fact all, uint64_t ours)
{
    return all.why ? UNKNOWN : all.value > ours ? all.value - ours : 0;
}

static struct as_memory_moment read_moment(struct as_memory_profile *p)
{
    struct as_process_events events;
    struct as_memory_moment now;
    uint64_t minor = 0, major = 0;

    as_process_events_read(&events, false);
    for (int i = 0; i < 2; i++) {
        minor += p->own[i] ? atomic_load_explicit(&p->own[i]->minor, memory_order_relaxed) : 0;
        major += p->own[i] ? atomic_load_explicit(&p->own[i]->major, memory_order_relaxed) : 0;
    }
    now.minor_faults = without(events.minor_faults, minor);
    now.major_faults = without(events.major_faults, major);
    now.rss_bytes = as_memory_peek_rss(&p->files);
    if (now.rss_bytes == UNKNOWN)
        atomic_store_explicit(&p->unread, true, memory_order_relaxed);
    now.monotonic_ns = p->options.interval_us ? as_clock_mono_ns() : 0; /* for its age alone */
    return now;
}

/* A new reading, or the last one while it is young enough. */
static struct as_memory_moment moment(struct as_memory_profile *p, struct as_memory_moment *newest,
                                      uint64_t now_ns)
{
    const uint64_t age_ns = now_ns - newest->monotonic_ns;

    if (newest->monotonic_ns == 0 || age_ns / 1000 >= p->options.interval_us)
        *newest = read_moment(p);
    return *newest;
}

/* What fails in the thread is seen by the samples at the ends of layers, too. */
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
    atomic_store_explicit(&p->unread, true, memory_order_relaxed);
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
    profile->baseline_bytes = UNKNOWN;
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

static uint64_t total_of(struct as_memory_profile *p)
{
    if (!p->total_read) {
        p->total_bytes = as_memory_read_total(&p->files);
        p->total_read = true;
    }
    return p->total_bytes;
}

/* Opens all there is to open: a thread of ours that did so later would, for a moment, have a number
 * that the program counts on. */
static int take_baseline(struct as_memory_profile *p, struct assay_error *err)
{
    (void)total_of(p);
    if (!as_memory_sampler_runs(&p->sampler))
        (void)as_memory_read_rss(&p->sampler_files);
    p->baseline_bytes = as_memory_read_rss(&p->files);
    p->peak_bytes = greater(p->peak_bytes, p->baseline_bytes);
    p->started = true;
    if (p->baseline_bytes != UNKNOWN)
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

void as_memory_profile_begin_layer(struct as_memory_profile *profile,
                                   struct as_memory_moment *newest, struct as_memory_span *span)
{
    span->begin_ns = profile->options.interval_us ? as_clock_mono_ns() : 0;
    span->before = moment(profile, newest, span->begin_ns);
    span->sample_mark = as_rss_peaks_mark(&profile->peaks);
    if (!as_memory_counted_total(&span->counted_before_bytes))
        span->counted_before_bytes = UNKNOWN;
    as_memory_span_begin(&span->thread); /* last: what we do ourselves is not the layer's */
}

void as_memory_profile_cancel_layer(struct as_memory_span *span)
{
    struct as_memory_thread_use use;

    as_memory_span_end(&span->thread, &use);
}

static uint64_t age_at(const struct as_memory_moment *m, uint64_t at_ns)
{
    return at_ns > m->monotonic_ns ? at_ns - m->monotonic_ns : 0;
}

static void fill_counted(const struct as_memory_span *span, const struct as_memory_thread_use *use,
                         struct as_memory_change *out)
{
    static const char none[] = "the program does not count its memory by category";
    const bool any = as_memory_counted_total(&out->counted_after_bytes);
    const char *why = any ? use->why : none;

    out->counted_before_bytes = span->counted_before_bytes;
    out->counted_why = (uintptr_t)why;
    out->counted_peak_bytes = why ? UNKNOWN : use->peak_bytes;
    out->counted_net_bytes = why ? 0 : (uint64_t)use->net_bytes;
    if (any && span->counted_before_bytes == UNKNOWN)
        out->counted_before_bytes = 0; /* it began to count within */
    if (!any)
        out->counted_after_bytes = UNKNOWN;
}

void as_memory_profile_end_layer(struct as_memory_profile *profile, struct as_memory_moment *newest,
                                 struct as_memory_span *span, struct as_memory_change *out)
{
    struct as_memory_thread_use use;
    struct as_memory_moment after;
    uint64_t sampled = UNKNOWN, end_ns;

    as_memory_span_end(&span->thread, &use); /* first: what we do ourselves is not the layer's */
    end_ns = profile->options.interval_us ? as_clock_mono_ns() : 0;
    after = moment(profile, newest, end_ns);
    out->rss_before_bytes = span->before.rss_bytes;
    out->rss_after_bytes = after.rss_bytes;
    out->before_age_ns = age_at(&span->before, span->begin_ns);
    out->after_age_ns = age_at(&after, end_ns);
    out->rss_samples = as_rss_peaks_since(&profile->peaks, span->sample_mark, &sampled);
    out->rss_peak_bytes = greater(greater(span->before.rss_bytes, after.rss_bytes), sampled);
    out->minor_faults = later(span->before.minor_faults, after.minor_faults);
    out->major_faults = later(span->before.major_faults, after.major_faults);
    fill_counted(span, &use, out);
}

void as_memory_profile_refresh(struct as_memory_profile *profile)
{
    if (atomic_exchange_explicit(&profile->unread, false, memory_order_relaxed))
        (void)as_memory_read_rss(&profile->files);
}

void as_memory_profile_own_faults(struct as_memory_profile *profile,
                                  const struct as_own_faults *drain,
                                  const struct as_own_faults *lanes)
{
    profile->own[0] = drain;
    profile->own[1] = lanes;
}

/* ---- calls that ended ---- */

/* The sentence whose address travelled as a word. */
static const char *sentence(uint64_t address)
{
    const char *text;
    uintptr_t at = (uintptr_t)address;

    memcpy(&text, &at, sizeof text);
    return text;
}

static void fill_reading(struct as_memory_profile *p, const struct as_memory_change *from,
                         struct as_memory_layer_reading *out)
{
    const uint64_t total = total_of(p), after = from->rss_after_bytes;

    out->rss_before_bytes = from->rss_before_bytes;
    out->rss_after_bytes = after;
    out->rss_peak_bytes = from->rss_peak_bytes;
    out->rss_samples = from->rss_samples;
    out->before_age_ns = from->before_age_ns;
    out->after_age_ns = from->after_age_ns;
    out->minor_faults = from->minor_faults;
    out->major_faults = from->major_faults;
    out->counted_before_bytes = from->counted_before_bytes;
    out->counted_after_bytes = from->counted_after_bytes;
    out->counted_peak_bytes = from->counted_peak_bytes;
    out->counted_net_bytes = (int64_t)from->counted_net_bytes;
    out->counted_known = !from->counted_why;
    out->cpu_memory_mb = to_mib(after);
    out->memory_delta_mb = mib_between(p->baseline_bytes, after);
    out->cpu_memory_percent =
        after == UNKNOWN || total == UNKNOWN ? AS_UNKNOWN : 100 * (double)after / (double)total;
    if (after == UNKNOWN || from->rss_before_bytes == UNKNOWN)
        out->why = "the resident memory cannot be read";
    else if (isnan(out->cpu_memory_percent))
        out->why = "the memory of the machine cannot be read";
    else
        out->why = sentence(from->counted_why);
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

int as_memory_profile_add(struct as_memory_profile *profile, const struct as_memory_change *change,
                          const char *layer, double timestamp, const char *metadata,
                          struct as_memory_layer_reading *out, struct assay_error *err)
{
    struct as_memory_layer_reading r = {.timestamp = timestamp};

    if (!profile->started) {
        profile->baseline_bytes = change->rss_before_bytes;
        profile->started = true;
    }
    fill_reading(profile, change, &r);
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
        return "/proc/self/status and /proc/self/statm do not report the resident memory";
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
        .baseline_bytes = p->baseline_bytes,
        .baseline_memory_mb = to_mib(p->baseline_bytes),
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
