/* cmd/common/cached_peaks.c - the machine's peaks from the user's cache, measured when they are not
 * there. */
#include "cmd/common/cached_peaks.h"

#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/common/cache_folder.h"
#include "cmd/common/console.h"
#include "cmd/common/interrupt.h"
#include "measure/peaks/peak_cache.h"

/* A peak belongs to its instruction set: those below a cap have a file of their own, so that the
 * others stay. */
static void find_cache(char folder[PATH_MAX], char path[PATH_MAX], const struct as_isa_choice *isa)
{
    path[0] = 0;
    if (as_cache_folder(folder) &&
        snprintf(path, PATH_MAX, "%s/machine%s%s.json", folder, isa->capped_by ? "-" : "",
                 isa->capped_by ? as_isa_name(isa->effective) : "") >= PATH_MAX)
        folder[0] = path[0] = 0;
}

bool as_peaks_find(struct as_peaks_cached *out, const struct as_topology *topology)
{
    char folder[PATH_MAX];

    find_cache(folder, out->path, &topology->isa);
    out->from_cache =
        out->path[0] &&
        as_topology_fingerprint(topology, AS_PEAKS_VERSION, out->fingerprint, NULL) == ASSAY_OK &&
        as_peak_cache_load(&out->peaks, out->path, out->fingerprint) == AS_PEAK_CACHE_FOUND;
    return out->from_cache;
}

static void keep(struct as_peaks_cached *out, const char *folder, const struct as_cmd_line *line)
{
    struct assay_error why = {0};
    int rc;

    if (!out->path[0]) {
        as_console_note(
            line,
            "note: the peaks are not kept: XDG_CACHE_HOME is not set and HOME names no folder");
        return;
    }
    rc = as_folder_make(folder, 0700, &why);
    if (rc == ASSAY_OK)
        rc = as_peak_cache_save(&out->peaks, out->path, out->fingerprint, &why);
    if (rc < 0) {
        as_console_note(line, "note: the peaks are not kept: %s", why.msg);
        out->path[0] = 0;
    }
}

#define ONCE "measuring this machine's peaks (once, about 5 s; kept for later)"

static void tell_once(void *user, const char *what, unsigned done, unsigned total)
{
    (void)what;
    as_progress_show(user, ONCE, total ? (double)done / total : AS_UNKNOWN);
}

static void tell(void *user, const char *what, unsigned done, unsigned total)
{
    (void)what;
    as_progress_show(user, "measuring this machine's peaks",
                     total ? (double)done / total : AS_UNKNOWN);
}

/* From the cache when it holds what is wanted, otherwise measured, and kept unless that would lose
 * something: a quick measurement, or one of other thread counts. */
int as_peaks_get(struct as_peaks_cached *out, const struct as_peaks_wanted *wanted,
                 const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_progress progress = {.wanted = as_progress_wanted(line)};
    struct as_peaks_options options = {
        .topology = wanted->topology,
        .max_threads = wanted->max_threads,
        .quick = wanted->quick,
        .user = &progress,
        .stop = as_interrupt_flag(),
        .n_measured = &out->n_measured,
    };
    bool usual = !wanted->quick && !wanted->max_threads;
    enum as_peak_cache_state state = AS_PEAK_CACHE_ABSENT;
    char folder[PATH_MAX];
    int rc;

    find_cache(folder, out->path, &wanted->topology->isa);
    out->from_cache = out->interrupted = false;
    out->n_measured = 0;
    rc = as_topology_fingerprint(wanted->topology, AS_PEAKS_VERSION, out->fingerprint, err);
    if (rc < 0)
        return rc;
    if (usual && !wanted->fresh && out->path[0])
        state = as_peak_cache_load(&out->peaks, out->path, out->fingerprint);
    out->from_cache = state == AS_PEAK_CACHE_FOUND;
    if (out->from_cache)
        return ASSAY_OK;
    if (state != AS_PEAK_CACHE_ABSENT)
        as_console_note(line, "note: %s is %s: measuring again", out->path,
                        as_peak_cache_state_text(state));
    options.progress = usual && out->path[0] ? tell_once : tell;
    rc = as_peaks_measure(&out->peaks, &options, err);
    as_progress_end(&progress);
    out->interrupted = as_interrupted();
    if (rc == ASSAY_OK && usual && !out->interrupted)
        keep(out, folder, line);
    else
        out->path[0] = 0;
    return rc;
}

bool as_peaks_if_cached(struct as_peaks_cached *out)
{
    struct as_topology topology;

    if (as_topology_read(&topology, NULL, NULL) < 0)
        return false;
    /* A cap on this process says nothing of the program that was recorded. */
    topology.isa = (struct as_isa_choice){topology.isa.hardware, topology.isa.hardware, NULL};
    return as_peaks_find(out, &topology);
}
