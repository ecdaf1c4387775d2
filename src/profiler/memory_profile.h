/* profiler/memory_profile.h - what memory a session's layers leave behind and need while they run.
 * begin_layer and end_layer read, on the thread of the layer, and may be called in a signal
 * handler; of all others one at a time: the owner holds its own lock. */
#ifndef AS_PROFILER_MEMORY_PROFILE_H
#define AS_PROFILER_MEMORY_PROFILE_H

#include <assay/memory.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "probe/process/memory_probe.h"

struct as_memory_profile;

#define AS_MEMORY_PROFILE_SNAPSHOTS 10000
#define AS_MEMORY_PROFILE_LAYERS    4096 /* apart; further ones share a row of their own */
#define AS_MEMORY_PROFILE_METADATA  4096 /* bytes kept with one snapshot */

/* {0} is the default. */
struct as_memory_profile_options {
    uint64_t interval_us; /* a reading of the kernel's may be this old; 0: always a new one */
    uint64_t sample_us;   /* a thread looks for peaks of rss within layers this often; 0: none */
    size_t max_snapshots; /* the newest that are kept; 0: AS_MEMORY_PROFILE_SNAPSHOTS */
    const char *root;     /* "" or NULL: the machine itself; copied */
};

/* What the kernel says of the process at one time; ASSAY_UNKNOWN where it does not. */
struct as_memory_moment {
    uint64_t rss_bytes;
    uint64_t minor_faults, major_faults; /* of the whole process */
    uint64_t monotonic_ns;               /* when it was read */
};

/* A layer that runs. The caller holds it from begin to end and looks not inside. */
struct as_memory_span {
    struct as_memory_moment before;
    uint64_t begin_ns;
    uint64_t sample_mark; /* samples of the sampler before it */
    uint64_t counted_before_bytes;
    struct as_memory_thread_span thread;
};

/* What changed while it ran: words alone, so that it can travel as such. ASSAY_UNKNOWN where
 * something cannot be had. */
struct as_memory_change {
    uint64_t rss_before_bytes, rss_after_bytes, rss_peak_bytes, rss_samples;
    uint64_t before_age_ns, after_age_ns;
    uint64_t minor_faults, major_faults;
    uint64_t counted_before_bytes, counted_after_bytes, counted_peak_bytes;
    uint64_t counted_net_bytes; /* signed */
    uint64_t counted_why;       /* address of a static sentence; 0: the two above are known */
};

/* One snapshot, made at the end of a layer. Bytes are ASSAY_UNKNOWN and MiB are NaN where
 * they cannot be had. */
struct as_memory_layer_reading {
    const char *layer;         /* borrowed until reset or free */
    double timestamp;          /* UNIX seconds */
    double cpu_memory_mb;      /* rss after the layer, MiB */
    double memory_delta_mb;    /* the same less the baseline */
    double cpu_memory_percent; /* of the machine's or the container's memory */
    uint64_t rss_before_bytes, rss_after_bytes;
    uint64_t rss_peak_bytes; /* greatest seen within, both ends included */
    uint64_t rss_samples;    /* samples of the sampler within: 0, only the ends are known */
    uint64_t before_age_ns, after_age_ns; /* how old the samples were at begin and at end */
    uint64_t minor_faults, major_faults;  /* within, of the whole process */
    /* The program's own account; unknown when it counts nothing. */
    uint64_t counted_before_bytes, counted_after_bytes; /* of all threads */
    uint64_t counted_peak_bytes; /* how far this thread rose above where it stood at begin; exact */
    int64_t counted_net_bytes;   /* what this thread took less what it gave back */
    bool counted_known;          /* the two above mean something */
    double growth_mb;            /* against the first snapshot of all; in a report only */
    const char *metadata;        /* one JSON value or NULL; borrowed like the layer */
    const char *why;             /* a static sentence for what is unknown above; NULL: nothing is */
};

/* Over all calls of one layer, dropped snapshots included; NaN where no call was known. */
struct as_memory_layer_row {
    const char *layer;
    uint64_t call_count;
    uint64_t n_known; /* calls whose rss was known: what the figures are over */
    double mean_memory_mb, std_memory_mb, min_memory_mb, max_memory_mb; /* std: population */
    uint64_t min_bytes, max_bytes;
    uint64_t counted_peak_bytes; /* greatest within one call */
    uint64_t rss_rise_bytes;     /* greatest rss peak above the rss at begin, within one call */
    uint64_t minor_faults, major_faults; /* over all calls */
};

struct as_memory_growth {
    const char *layer;
    double timestamp;
    double memory_growth_mb; /* against the first snapshot of all */
};

struct as_memory_profile_summary {
    bool started;
    double baseline_memory_mb,
        peak_memory_mb; /* peak: greatest of all snapshots and of the sampler */
    uint64_t baseline_bytes, peak_bytes;
    uint64_t peak_rss_kernel_bytes; /* since the process began (VmHWM) */
    uint64_t memory_total_bytes;
    uint64_t total_snapshots; /* taken */
    uint64_t snapshots_kept, snapshots_dropped, metadata_dropped;
    double memory_growth_mb;          /* the last snapshot less the first */
    uint64_t n_layers, layers_joined; /* calls of layers beyond AS_MEMORY_PROFILE_LAYERS */
    uint64_t samples, sampler_cpu_ns, sampler_wall_ns; /* unknown without a sampler */
    struct assay_memory_counts counts;                 /* now */
    const char *why;                                   /* why something above is unknown */
};

/* All of it at once. */
struct as_memory_report {
    struct as_memory_profile_summary summary;
    const struct as_memory_layer_reading *snapshot; /* those kept, the oldest first */
    size_t n_snapshots;
    const struct as_memory_layer_row *layer; /* in the order of their first end */
    size_t n_layers;
};

/* `options` may be NULL. Reads nothing yet. */
AS_MUST_USE int as_memory_profile_new(struct as_memory_profile **out,
                                      const struct as_memory_profile_options *options,
                                      struct assay_error *err);
/* Stops its sampler. Accepts NULL. */
void as_memory_profile_free(struct as_memory_profile *profile);

/* Gives free memory back to the system, takes the baseline and starts the sampler. Again: a new
 * baseline; what was recorded stays. Fails (UNSUPPORTED) when the system tells nothing. */
AS_MUST_USE int as_memory_profile_start(struct as_memory_profile *profile, struct assay_error *err);

/* Ends the sampler; begin and end go on working. */
void as_memory_profile_stop(struct as_memory_profile *profile);

/* Forgets snapshots, layers and the baseline; the next begin takes a new one. */
void as_memory_profile_reset(struct as_memory_profile *profile);

/* `newest` is the caller's last reading, {0} at first: while it is younger than the interval it
 * serves again. */
void as_memory_profile_begin_layer(struct as_memory_profile *profile,
                                   struct as_memory_moment *newest, struct as_memory_span *span);

/* On the thread that began it, innermost first. */
void as_memory_profile_end_layer(struct as_memory_profile *profile, struct as_memory_moment *newest,
                                 struct as_memory_span *span, struct as_memory_change *out);

/* A layer that was begun and does not count: only the thread's account is put right. */
void as_memory_profile_cancel_layer(struct as_memory_span *span);

/* Takes a call of a layer. `layer` is copied; `timestamp` in UNIX seconds. `metadata` is NULL or
 * one valid JSON value, copied; longer than AS_MEMORY_PROFILE_METADATA, it is dropped and counted.
 * `out` may be NULL. Without a start before it, the first one is the baseline. Fails for want of
 * memory. */
AS_MUST_USE int as_memory_profile_add(struct as_memory_profile *profile,
                                      const struct as_memory_change *change, const char *layer,
                                      double timestamp, const char *metadata,
                                      struct as_memory_layer_reading *out, struct assay_error *err);

/* Opens what begin and end read, if it is not open any more. */
void as_memory_profile_refresh(struct as_memory_profile *profile);

/* Faults so far that are our own: they are in no layer's count. */
struct as_own_faults {
    _Atomic uint64_t minor, major;
};
/* Of the thread that takes calls, and of making lanes; borrowed, NULL: none. */
void as_memory_profile_own_faults(struct as_memory_profile *profile,
                                  const struct as_own_faults *drain,
                                  const struct as_own_faults *lanes);

/* The kept snapshots, [0] the oldest; NULL past the last. Borrowed until the next end or reset. */
const struct as_memory_layer_reading *as_memory_profile_at(const struct as_memory_profile *profile,
                                                           size_t i);

/* Of kept snapshot i; false past the last. */
bool as_memory_profile_growth(const struct as_memory_profile *profile, size_t i,
                              struct as_memory_growth *out);

/* Layers in the order of their first end; false past the last. */
bool as_memory_profile_layer_at(const struct as_memory_profile *profile, size_t i,
                                struct as_memory_layer_row *out);
/* By name; false when there is none. */
bool as_memory_profile_layer(const struct as_memory_profile *profile, const char *layer,
                             struct as_memory_layer_row *out);

void as_memory_profile_summary(struct as_memory_profile *profile,
                               struct as_memory_profile_summary *out);

/* In `arena`; names and metadata are borrowed as above. */
AS_MUST_USE int as_memory_profile_report(struct as_memory_profile *profile, struct as_arena *arena,
                                         struct as_memory_report *out, struct assay_error *err);

/* ---- memory_layers.c ---- */

struct as_memory_layer_sums;

struct as_memory_layers {
    struct as_memory_layer_sums *of; /* in the order of their first call */
    struct as_hash_map by_name;      /* indices of `of` */
    size_t n, capacity;
    uint64_t joined; /* calls that went to the row shared */
};

void as_memory_layers_fini(struct as_memory_layers *layers);

/* Sums the reading up under `name` and sets its `layer` to our copy of it. False: no memory. */
bool as_memory_layers_add(struct as_memory_layers *layers, const char *name,
                          struct as_memory_layer_reading *reading);

/* The number of its row; SIZE_MAX: there is none. */
size_t as_memory_layers_find(const struct as_memory_layers *layers, const char *name);

/* False when there is no such row. */
bool as_memory_layers_row(const struct as_memory_layers *layers, size_t i,
                          struct as_memory_layer_row *out);

#endif
