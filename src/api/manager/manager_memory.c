/* api/manager/manager_memory.c - memory, leaks and anomalies of a manager as C structs: what its
 * report holds under memory_profiling, memory_leaks and anomalies. */
#include <string.h>

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/units.h"

/* The copy and everything it points to. */
struct picture {
    struct assay_memory_profile seen; /* first: what the caller frees */
    struct as_arena arena;
};

static double seconds_of(uint64_t ns)
{
    return ns == ASSAY_UNKNOWN ? AS_UNKNOWN : (double)ns / 1e9;
}

/* True without a text. */
static bool copy_text(struct as_arena *arena, const char **to, const char *text)
{
    *to = text ? as_arena_text(arena, text, strlen(text)) : NULL;
    return *to || !text;
}

static bool copy_snapshots(struct picture *to, const struct as_memory_report *from)
{
    struct assay_memory_reading *out =
        as_arena_zero(&to->arena, from->n_snapshots + 1, sizeof *out);

    for (size_t i = 0; out && i < from->n_snapshots; i++) {
        const struct as_memory_layer_reading *r = &from->snapshot[i];

        out[i] = (struct assay_memory_reading){
            .timestamp_seconds = r->timestamp,
            .cpu_memory_mb = r->cpu_memory_mb,
            .memory_delta_mb = r->memory_delta_mb,
            .cpu_memory_percent = r->cpu_memory_percent,
            .memory_growth_mb = r->growth_mb,
            .rss_before_bytes = r->rss_before_bytes,
            .rss_after_bytes = r->rss_after_bytes,
            .rss_peak_bytes = r->rss_peak_bytes,
            .rss_samples = r->rss_samples,
            .before_age_seconds = seconds_of(r->before_age_ns),
            .after_age_seconds = seconds_of(r->after_age_ns),
            .minor_faults = r->minor_faults,
            .major_faults = r->major_faults,
            .counted_before_bytes = r->counted_before_bytes,
            .counted_after_bytes = r->counted_after_bytes,
            .counted_peak_bytes = r->counted_peak_bytes,
            .counted_net_bytes = r->counted_known ? r->counted_net_bytes : 0,
            .counted_known = r->counted_known,
            .reason = r->why,
        };
        if (!copy_text(&to->arena, &out[i].layer, r->layer) ||
            !copy_text(&to->arena, &out[i].metadata, r->metadata))
            return false;
    }
    to->seen.snapshots = out;
    to->seen.n_snapshots = from->n_snapshots;
    return out != NULL;
}

static bool copy_layers(struct picture *to, const struct as_memory_report *from)
{
    struct assay_layer_memory *out = as_arena_zero(&to->arena, from->n_layers + 1, sizeof *out);

    for (size_t i = 0; out && i < from->n_layers; i++) {
        const struct as_memory_layer_row *r = &from->layer[i];

        out[i] = (struct assay_layer_memory){
            .call_count = r->call_count,
            .n_known = r->n_known,
            .mean_memory_mb = r->mean_memory_mb,
            .std_memory_mb = r->std_memory_mb,
            .min_memory_mb = r->min_memory_mb,
            .max_memory_mb = r->max_memory_mb,
            .min_memory_bytes = r->min_bytes,
            .max_memory_bytes = r->max_bytes,
            .counted_peak_bytes = r->counted_peak_bytes,
            .rss_rise_bytes = r->rss_rise_bytes,
            .minor_faults = r->minor_faults,
            .major_faults = r->major_faults,
        };
        if (!copy_text(&to->arena, &out[i].layer, r->layer))
            return false;
    }
    to->seen.layers = out;
    to->seen.n_layers = from->n_layers;
    return out != NULL;
}

static void copy_summary(struct assay_memory_profile *to,
                         const struct as_memory_profile_summary *from, const char *why)
{
    to->started = from->started;
    to->reason = why ? why : from->why;
    to->baseline_memory_mb = from->baseline_memory_mb;
    to->peak_memory_mb = from->peak_memory_mb;
    to->baseline_memory_bytes = from->baseline_bytes;
    to->peak_memory_bytes = from->peak_bytes;
    to->memory_growth_mb = from->memory_growth_mb;
    to->peak_rss_kernel_bytes = from->peak_rss_kernel_bytes;
    to->memory_total_bytes = from->memory_total_bytes;
    to->total_snapshots = from->total_snapshots;
    to->snapshots_dropped = from->snapshots_dropped;
    to->metadata_dropped = from->metadata_dropped;
    to->calls_joined = from->layers_joined;
    to->sampler_samples = from->samples;
    to->sampler_cpu_seconds = seconds_of(from->sampler_cpu_ns);
    to->sampler_seconds = seconds_of(from->sampler_wall_ns);
    to->categories = from->counts;
    to->categories.size = sizeof to->categories;
}

static int copy_memory(struct assay_manager *m, struct picture *to, struct assay_error *err)
{
    struct as_memory_report report = {0};
    struct as_arena arena = {0};
    int rc;

    as_manager_lock(m);
    rc = as_memory_profile_report(m->memory, &arena, &report, err);
    if (rc == ASSAY_OK && (!copy_layers(to, &report) || !copy_snapshots(to, &report)))
        rc = as_fail_nomem(err);
    copy_summary(&to->seen, &report.summary, m->memory_why);
    as_manager_unlock(m);
    as_arena_fini(&arena);
    return rc;
}

int assay_manager_memory(struct assay_manager *manager, struct assay_memory_profile **out,
                         struct assay_error *err)
{
    int rc = as_manager_check(manager, err);
    struct picture *picture;

    if (out)
        *out = NULL;
    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the memory profile");
    picture = as_alloc_zero(1, sizeof *picture);
    if (!picture)
        return as_fail_nomem(err);
    picture->seen.size = sizeof picture->seen;
    rc = copy_memory(manager, picture, err);
    if (rc < 0)
        assay_memory_profile_free(&picture->seen);
    else
        *out = &picture->seen;
    return rc;
}

void assay_memory_profile_free(struct assay_memory_profile *profile)
{
    struct picture *picture = (struct picture *)(void *)profile;

    if (!picture)
        return;
    as_arena_fini(&picture->arena);
    as_free(picture);
}

/* ---- leaks ---- */

static int check_list(const struct assay_manager *m, const void *out, struct assay_error *err)
{
    int rc = as_manager_check(m, err);

    return rc == ASSAY_OK && !out ? as_fail(err, ASSAY_ERR_USAGE, "no place was given for the list")
                                  : rc;
}

int assay_manager_leaks(struct assay_manager *manager, const struct assay_leak **out,
                        struct assay_error *err)
{
    int rc = check_list(manager, out, err);

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    rc = (int)assay_leak_detector_leaks(manager->leak, out);
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_leak_incidents(struct assay_manager *manager,
                                 const struct assay_leak_incident **out, struct assay_error *err)
{
    int rc = check_list(manager, out, err);

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    rc = as_manager_held_tell(&manager->held, manager->leak, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_detector_incidents(manager->leak, out, err);
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_left_memory(struct assay_manager *manager, struct assay_left_memory *out,
                              struct assay_error *err)
{
    int rc = as_manager_check(manager, err);
    struct as_leak_report report;

    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the memory left behind");
    *out = (struct assay_left_memory){.size = sizeof *out};
    as_manager_lock(manager);
    rc = as_manager_held_read(&manager->held, manager->leak, &report, out, err);
    as_manager_unlock(manager);
    return rc;
}

/* ---- anomalies ---- */

int assay_manager_anomalies(struct assay_manager *manager, const struct assay_anomaly **out,
                            struct assay_error *err)
{
    int rc = check_list(manager, out, err);
    struct assay_anomaly *list;
    size_t n;

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    n = assay_anomaly_detector_count(manager->anomaly);
    list = as_realloc(manager->anomaly_list, n + 1, sizeof *list);
    if (list) {
        for (size_t i = 0; i < n; i++)
            list[i] = *assay_anomaly_detector_at(manager->anomaly, i);
        *out = manager->anomaly_list = list;
        rc = (int)n;
    } else {
        rc = as_fail_nomem(err);
    }
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_anomaly_layers(struct assay_manager *manager,
                                 const struct assay_anomaly_layer **out, struct assay_error *err)
{
    int rc = check_list(manager, out, err);
    const struct assay_anomaly_layer *from;
    struct assay_anomaly_layer *list;
    size_t n;

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    n = assay_anomaly_detector_layers(manager->anomaly, &from);
    list = as_realloc(manager->anomaly_layers, n + 1, sizeof *list);
    if (list) {
        if (n)
            memcpy(list, from, n * sizeof *list);
        *out = manager->anomaly_layers = list;
        rc = (int)n;
    } else {
        rc = as_fail_nomem(err);
    }
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_anomaly_summary(struct assay_manager *manager, struct assay_anomaly_summary *out,
                                  struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the summary of anomalies");
    as_manager_lock(manager);
    assay_anomaly_detector_summary(manager->anomaly, out);
    as_manager_unlock(manager);
    return ASSAY_OK;
}
