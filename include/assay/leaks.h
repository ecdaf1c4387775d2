/* assay/leaks.h - leaks: memory that grows and is not freed: the documented window test, and
 * beside it one that spikes, sawtooth and warm-up do not fool.
 *
 *     struct assay_leak_detector *d;
 *     struct assay_leak_summary s;
 *     assay_leak_detector_new(&d, NULL, &err);
 *     assay_leak_detector_sample(d, "conv1", bytes); // one sample after another
 *     if (assay_leak_detector_summary(d, &s, &err) == 0 && s.growing)
 *         printf("%zu places leak\n", s.n_incidents);
 *     assay_leak_detector_free(d);
 *
 * MB in this header is MiB, as the documented fields mean it. One thread at a time. */
#ifndef ASSAY_LEAKS_H
#define ASSAY_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_leak_detector;

/* A growth that the window test saw; windows overlap, so one growth may be seen several times. */
struct assay_leak {
    double start_memory_mb, end_memory_mb, increase_mb;
    double growth_rate_mb_per_step; /* least squares over the window */
    size_t window_size;
    const char *const *layers_involved; /* of the window's samples in order, each once */
    size_t n_layers_involved;
    double timestamp_seconds; /* UNIX seconds of the last sample of the window */
};

/* One growth, reported once: adjacent windows that rise are merged. */
struct assay_leak_incident {
    const char *layer;              /* whose series it is; NULL: the process, one sample per step */
    size_t first, last;             /* samples of that series, counted from 0, warm-up included */
    uint64_t first_step, last_step; /* ASSAY_UNKNOWN when no steps were given */
    double start_time_seconds, end_time_seconds; /* UNIX seconds */
    /* Of the line of Theil and Sen where it begins and ends, and how much higher it ends: its rate
     * times its length. */
    double start_memory_mb, end_memory_mb, net_growth_mb;
    double mb_per_step;   /* of that line */
    double mb_per_second; /* NaN when time did not pass */
    /* Mann and Kendall, two-sided, corrected for samples that depend on each other: of the surest
     * of the ranges of samples in which growth was found, and so below the option of this name. */
    double p_value;
    double tau;                   /* of the whole incident */
    double seconds_to_exhaustion; /* at this rate, of the headroom that was set; NaN: unknown */
};

/* Called in the thread that added the sample, once for each new incident and once for each window
 * above the threshold that does not overlap one already reported. */
typedef void (*assay_leak_alert)(void *user, const struct assay_leak *leak,
                                 const struct assay_leak_incident *incident);

/* Zero means the default. */
struct assay_leak_detector_options {
    size_t size;          /* sizeof(struct assay_leak_detector_options) */
    double threshold_mb;  /* of the window test: 10 */
    size_t window_size;   /* of both, in samples: 10; at least 3 */
    double warm_up;       /* share of a series left out at its beginning, found by itself: 0 means
                             found, otherwise 0 to 0.5 */
    double p_value;       /* a trend must be surer than this: 0.001 */
    double min_growth_mb; /* an incident must have grown by this: 1/16 */
    size_t max_readings;  /* kept per series; beyond, neighbors are joined by their medians: 4096 */
    assay_leak_alert alert; /* may be NULL */
    void *user;
    bool process_only; /* samples are of the process whichever layer ended: layers name windows and
                          have no series of their own */
};

/* USAGE for a threshold that is negative or not finite, a window under 3 or above 10,000, a share
 * above 0.5, a p-value of 1 or more, fewer than 300 samples or more than a million kept. */
ASSAY_API int assay_leak_detector_new(struct assay_leak_detector **out,
                                      const struct assay_leak_detector_options *options,
                                      struct assay_error *err);
ASSAY_API void assay_leak_detector_free(struct assay_leak_detector *detector);

/* One sample. `layer` may be NULL: then it is of the process itself. `step` is the iteration, or
 * ASSAY_UNKNOWN. `timestamp_seconds` in UNIX seconds; NaN: now. USAGE for memory that is
 * negative or not finite. */
ASSAY_API int assay_leak_detector_add(struct assay_leak_detector *detector, const char *layer,
                                      double memory_mb, uint64_t step, double timestamp_seconds,
                                      struct assay_error *err);

/* The same in short: `bytes` held now, at no step; without a sentence. */
ASSAY_API int assay_leak_detector_sample(struct assay_leak_detector *detector, const char *layer,
                                         uint64_t bytes);

/* Memory that is left until the process cannot have more, for seconds_to_exhaustion. */
ASSAY_API void assay_leak_detector_set_headroom(struct assay_leak_detector *detector,
                                                double headroom_mb);

/* What the window test saw; borrowed until the next call that changes the detector. */
ASSAY_API size_t assay_leak_detector_leaks(struct assay_leak_detector *detector,
                                           const struct assay_leak **out);
ASSAY_API bool assay_leak_detector_any(struct assay_leak_detector *detector);

/* The sound verdict, made now from all series; borrowed likewise. Returns how many or a negative
 * code. */
ASSAY_API int assay_leak_detector_incidents(struct assay_leak_detector *detector,
                                            const struct assay_leak_incident **out,
                                            struct assay_error *err);

struct assay_leak_summary {
    size_t size;    /* set by the library */
    bool has_leaks; /* by the window test */
    size_t leak_count;
    double total_memory_leaked_mb;     /* sum of the increases, overlaps included */
    double average_growth_mb_per_step; /* mean slope, MB a step */
    bool growing;                      /* by the sound one */
    size_t n_incidents, n_series;
    uint64_t n_readings;
    uint64_t leaks_dropped;  /* windows beyond the 10,000 kept */
    uint64_t layers_dropped; /* samples of layers beyond the first 2,048, which have no series of
                                their own */
};
ASSAY_API int assay_leak_detector_summary(struct assay_leak_detector *detector,
                                          struct assay_leak_summary *out, struct assay_error *err);

ASSAY_API void assay_leak_detector_reset(struct assay_leak_detector *detector);

#ifdef __cplusplus
}
#endif
#endif
