/* cmd/common/cached_peaks.h - the machine's peaks from the user's cache, measured when they are not
 * there. A cache that cannot be written is a note, never a failure. */
#ifndef AS_CMD_COMMON_CACHED_PEAKS_H
#define AS_CMD_COMMON_CACHED_PEAKS_H

#include <limits.h>

#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "measure/peaks/peaks.h"

struct as_peaks_wanted {
    const struct as_topology *topology;
    bool fresh;           /* whatever is cached */
    bool quick;           /* shorter; not kept */
    unsigned max_threads; /* 0: all; others are not kept */
};

struct as_peaks_cached {
    struct as_peaks peaks;
    char fingerprint[65];
    char path[PATH_MAX]; /* of the cache; "": not kept */
    bool from_cache;
    bool interrupted;    /* some are unknown, because of that; such peaks are not kept */
    unsigned n_measured; /* steps of the measurement that were done */
};

/* Only what is there: true when the cache holds the peaks of this machine. Measures nothing, says
 * nothing. */
bool as_peaks_find(struct as_peaks_cached *out, const struct as_topology *topology);

AS_MUST_USE int as_peaks_get(struct as_peaks_cached *out, const struct as_peaks_wanted *wanted,
                             const struct as_cmd_line *line, struct assay_error *err);

/* From the cache alone: nothing is measured. False when they are not there. */
bool as_peaks_if_cached(struct as_peaks_cached *out);

#endif
