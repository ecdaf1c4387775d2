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

static bool copy_snapshots(struct picture *to, const struct as_memory_report *from)
{
    struct assay_memory_reading *out =
        as_arena_zero(&to->arena, from->n_snapshots + 1, sizeof *out);

    for (size_t i = 0; out && i < from->n_snapshots; i++) {
        const struct as_memory_layer_reading *r = &from->snapshot[i];

        out[i] = (struct assay_memory_reading){
            .layer = as_arena_text(&to->arena, r->layer, strlen(r->layer)),
            .timestamp_seconds = r->timestamp,
            .cpu_memory_mb = r->cpu_memory_mb,
            .memory_delta_mb = r->memory_delta_mb,
            .cpu_memory_percent = r->cpu_memory_percent,
            .rss_before_bytes = r->rss_before_bytes,
            .rss_after_bytes = r->rss_after_bytes,
            .rss_peak_bytes = r->rss_peak_bytes,
            .minor_faults = r->minor_faults,
            .major_faults = r->major_faults,
        };
        if (!out[i].layer)
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
            .layer = as_arena_text(&to->arena, r->layer, strlen(r->layer)),
            .call_count = r->call_count,
            .n_known = r->n_known,
            .mean_memory_mb = r->mean_memory_mb,
            .std_memory_mb = r->std_memory_mb,
            .min_memory_mb = r->min_memory_mb,
            .max_memory_mb = r->max_memory_mb,
            .counted_peak_bytes = r->counted_peak_bytes,
            .rss_rise_bytes = r->rss_rise_bytes,
            .minor_faults = r->minor_faults,
            .major_faults = r->major_faults,
        };
        if (!out[i].layer)
            return false;
    }
    to->seen.layers = out;
    to->seen.n_layers = from->n_layers;
    return out != NULL;
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
    as_manager_unlock(m);
    as_arena_fini(&arena);
    to->seen.started = report.summary.started;
    to->seen.baseline_memory_mb = report.summary.baseline_memory_mb;
    to->seen.peak_memory_mb = report.summary.peak_memory_mb;
    to->seen.memory_growth_mb = report.summary.memory_growth_mb;
    to->seen.peak_rss_kernel_bytes = report.summary.peak_rss_kernel_bytes;
    to->seen.memory_total_bytes = report.summary.memory_total_bytes;
    to->seen.total_snapshots = report.summary.total_snapshots;
    to->seen.snapshots_dropped = report.summary.snapshots_dropped;
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
