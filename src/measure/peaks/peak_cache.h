/* measure/peaks/peak_cache.h - peaks measured before, kept in a file for the host they were
 * measured on. A cache that is damaged, of another host or of another version is as good as none.
 */
#ifndef AS_MEASURE_PEAKS_PEAK_CACHE_H
#define AS_MEASURE_PEAKS_PEAK_CACHE_H

#include "measure/peaks/peaks.h"

/* What became of a look into the cache. */
enum as_peak_cache_state {
    AS_PEAK_CACHE_FOUND,
    AS_PEAK_CACHE_ABSENT,    /* no file */
    AS_PEAK_CACHE_DAMAGED,   /* a file that is not such a cache, or a value that cannot be */
    AS_PEAK_CACHE_FOREIGN,   /* of another host, or of another version of the measurement */
    AS_PEAK_CACHE_UNREADABLE /* the system does not let us */
};

/* A word for people: "of another machine or version". */
const char *as_peak_cache_state_text(enum as_peak_cache_state state);

/* Reads `path` into `out`, which is only touched when the peaks of `fingerprint` were found. */
enum as_peak_cache_state as_peak_cache_load(struct as_peaks *out, const char *path,
                                            const char *fingerprint);

/* The same from memory. */
enum as_peak_cache_state as_peak_cache_parse(struct as_peaks *out, const void *data, size_t size,
                                             const char *fingerprint);

/* The whole file appears under `path`, or nothing changes. Makes no folder. */
AS_MUST_USE int as_peak_cache_save(const struct as_peaks *peaks, const char *path,
                                   const char *fingerprint, struct assay_error *err);

#endif
