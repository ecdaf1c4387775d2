/* report/bottleneck/memory_profile_json.c - the memory of a session's layers as JSON, bytes and
 * MiB. What is unknown is null, and `reason` says why. */
#include "report/bottleneck/bottleneck_report.h"

#include <stdio.h>

#include "base/units.h"

#define UNKNOWN ASSAY_MEMORY_UNKNOWN

static void kv_bytes(struct as_json_writer *w, const char *key, uint64_t bytes)
{
    as_json_key(w, key);
    if (bytes == UNKNOWN)
        as_json_null(w);
    else
        as_json_u64(w, bytes);
}

/* Both units: `stem`_bytes and `stem`_mb. */
static void kv_both(struct as_json_writer *w, const char *stem, uint64_t bytes)
{
    char key[64];

    (void)snprintf(key, sizeof key, "%s_bytes", stem);
    kv_bytes(w, key, bytes);
    (void)snprintf(key, sizeof key, "%s_mb", stem);
    as_json_key(w, key);
    if (bytes == UNKNOWN)
        as_json_null(w);
    else
        as_json_f64(w, (double)bytes / AS_MIB);
}

/* Devices have counters of their own; a session of a processor has none to read. */
static void no_device(struct as_json_writer *w, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        as_json_kv_null(w, keys[i]);
    as_json_kv_text(w, "gpu_reason", "no GPU is measured in this session");
}

static void snapshot(struct as_json_writer *w, const struct as_memory_layer_reading *r)
{
    static const char *const device[] = {"gpu_memory_mb", "gpu_reserved_mb", "gpu_peak_mb"};

    as_json_object(w);
    AS_JSON_FIELDS(w, r, layer, timestamp, cpu_memory_mb);
    kv_bytes(w, "cpu_memory_bytes", r->rss_after_bytes);
    as_json_kv_f64(w, "memory_delta_mb", r->memory_delta_mb);
    as_json_kv_f64(w, "cpu_memory_percent", r->cpu_memory_percent);
    kv_both(w, "cpu_memory_before", r->rss_before_bytes);
    kv_both(w, "cpu_memory_peak", r->rss_peak_bytes);
    kv_bytes(w, "peak_samples", r->rss_samples);
    as_json_kv_u64(w, "before_age_ns", r->before_age_ns);
    as_json_kv_u64(w, "after_age_ns", r->after_age_ns);
    kv_both(w, "counted_before", r->counted_before_bytes);
    kv_both(w, "counted_after", r->counted_after_bytes);
    kv_both(w, "counted_peak_within", r->counted_peak_bytes);
    as_json_key(w, "counted_net_bytes");
    if (r->counted_known)
        as_json_i64(w, r->counted_net_bytes);
    else
        as_json_null(w);
    kv_bytes(w, "minor_faults", r->minor_faults);
    kv_bytes(w, "major_faults", r->major_faults);
    no_device(w, device, AS_COUNT_OF(device));
    if (r->metadata) {
        as_json_key(w, "metadata");
        as_json_raw(w, r->metadata, strlen(r->metadata));
    }
    as_json_kv_text(w, "reason", r->why);
    as_json_object_end(w);
}

void as_memory_profile_json_snapshots(struct as_json_writer *w,
                                      const struct as_memory_profile *profile)
{
    const struct as_memory_layer_reading *r;

    as_json_array(w);
    for (size_t i = 0; (r = as_memory_profile_at(profile, i)); i++)
        snapshot(w, r);
    as_json_array_end(w);
}

void as_memory_profile_json_growth(struct as_json_writer *w,
                                   const struct as_memory_profile *profile)
{
    struct as_memory_growth g;

    as_json_array(w);
    for (size_t i = 0; as_memory_profile_growth(profile, i, &g); i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, &g, layer, timestamp, memory_growth_mb);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_memory_profile_json_layers(struct as_json_writer *w,
                                   const struct as_memory_profile *profile)
{
    static const char *const device[] = {"mean_gpu_memory_mb", "max_gpu_memory_mb"};
    struct as_memory_layer_row row;

    as_json_array(w);
    for (size_t i = 0; as_memory_profile_layer_at(profile, i, &row); i++) {
        as_json_object(w);
        as_json_kv_text(w, "layer", row.layer);
        as_json_kv_u64(w, "call_count", row.call_count);
        as_json_kv_u64(w, "calls_known", row.n_known);
        AS_JSON_FIELDS(w, &row, mean_memory_mb, std_memory_mb, min_memory_mb, max_memory_mb);
        kv_bytes(w, "min_memory_bytes", row.min_bytes);
        kv_bytes(w, "max_memory_bytes", row.max_bytes);
        kv_both(w, "counted_peak_within", row.counted_peak_bytes);
        kv_both(w, "cpu_memory_rise", row.rss_rise_bytes);
        kv_bytes(w, "minor_faults", row.minor_faults);
        kv_bytes(w, "major_faults", row.major_faults);
        no_device(w, device, AS_COUNT_OF(device));
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

/* Without a word from the program its counts say nothing: they are null then, not 0. */
static void category(struct as_json_writer *w, const struct assay_memory_counts *c, int kind)
{
    bool all = kind == ASSAY_MEMORY_KIND_COUNT;
    uint64_t current = all ? c->current_total : c->current[kind];
    uint64_t peak = all ? c->peak_total : c->peak[kind];

    as_json_kv_object(w, all ? "total" : assay_memory_kind_name((enum assay_memory_kind)kind));
    kv_both(w, "current", c->any ? current : UNKNOWN);
    kv_both(w, "peak", c->any ? peak : UNKNOWN);
    if (!all)
        kv_bytes(w, "allocations", c->any ? c->added[kind] : UNKNOWN);
    as_json_object_end(w);
}

static void categories(struct as_json_writer *w, const struct assay_memory_counts *c)
{
    as_json_object(w);
    as_json_kv_text(w, "status", c->any ? "ok" : "unavailable");
    as_json_kv_text(w, "reason",
                    c->any ? NULL : "the program does not count its memory by category");
    for (int kind = 0; kind <= ASSAY_MEMORY_KIND_COUNT; kind++)
        category(w, c, kind);
    kv_bytes(w, "mistakes", c->any ? c->mistakes : UNKNOWN);
    as_json_object_end(w);
}

static void summary(struct as_json_writer *w, const struct as_memory_profile *profile,
                    const struct as_memory_profile_summary *s)
{
    static const char *const device[] = {"peak_gpu_memory_mb"};
    bool known = s->baseline_bytes != UNKNOWN;

    as_json_kv_text(w, "status", known ? "ok" : "unavailable");
    as_json_kv_text(w, "reason", s->why);
    as_json_kv_f64(w, "baseline_memory_mb", s->baseline_memory_mb);
    kv_bytes(w, "baseline_memory_bytes", s->baseline_bytes);
    as_json_kv_f64(w, "peak_memory_mb", s->peak_memory_mb);
    kv_bytes(w, "peak_memory_bytes", s->peak_bytes);
    kv_both(w, "peak_rss_kernel", s->peak_rss_kernel_bytes);
    kv_both(w, "memory_total", s->memory_total_bytes);
    AS_JSON_FIELDS(w, s, total_snapshots, snapshots_kept, snapshots_dropped, metadata_dropped);
    as_json_kv_u64(w, "layers", s->n_layers);
    as_json_kv_u64(w, "calls_of_layers_joined", s->layers_joined);
    kv_bytes(w, "sampler_readings", s->samples);
    kv_bytes(w, "sampler_cpu_ns", s->sampler_cpu_ns);
    kv_bytes(w, "sampler_wall_ns", s->sampler_wall_ns);
    no_device(w, device, AS_COUNT_OF(device));
    as_json_kv_f64(w, "memory_growth_mb", s->memory_growth_mb);
    as_json_key(w, "memory_growth");
    as_memory_profile_json_growth(w, profile);
}

void as_memory_profile_json_summary(struct as_json_writer *w, struct as_memory_profile *profile)
{
    struct as_memory_profile_summary s;

    as_memory_profile_summary(profile, &s);
    as_json_object(w);
    summary(w, profile, &s);
    as_json_object_end(w);
}

void as_memory_profile_json(struct as_json_writer *w, struct as_memory_profile *profile)
{
    struct as_memory_profile_summary s;

    as_memory_profile_summary(profile, &s);
    as_json_object(w);
    summary(w, profile, &s);
    as_json_key(w, "layer_stats");
    as_memory_profile_json_layers(w, profile);
    as_json_key(w, "categories");
    categories(w, &s.counts);
    as_json_key(w, "snapshots");
    as_memory_profile_json_snapshots(w, profile);
    as_json_object_end(w);
}
