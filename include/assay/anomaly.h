/* assay/anomaly.h - whether a value of a layer does not belong to the ones just before it.
 *
 *     struct assay_anomaly_detector *a;
 *     const struct assay_anomaly *found;
 *     assay_anomaly_detector_new(&a, NULL, &err);
 *     if (assay_anomaly_detector_add(a, "conv1", "time", seconds, now, &found, &err) == 1)
 *         printf("%s: z %g\n", found->layer, found->z);
 *     assay_anomaly_detector_free(a);
 *
 * A value is compared with the last 50 of the same layer and metric, itself not among them, and
 * then joins them. Two tests, either suffices: the distance from their mean in standard deviations,
 * and Tukey's fences for metrics that are times. Where the values before have no spread at all, a
 * hundredth of their mean (median) stands for it; if that is 0 too, z is infinite for any other
 * value. One thread at a time. */
#ifndef ASSAY_ANOMALY_H
#define ASSAY_ANOMALY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_anomaly_detector;

/* Which test a value failed; bits, both may be set. */
enum assay_anomaly_test { ASSAY_ANOMALY_Z = 1, ASSAY_ANOMALY_IQR = 2 };
/* "z_score", "iqr", "z_score+iqr". */
ASSAY_API const char *assay_anomaly_test_name(unsigned tests);

struct assay_anomaly {
    const char *layer, *metric;      /* stay valid until reset or free */
    double value, timestamp_seconds; /* UNIX seconds */
    unsigned tests;                  /* bits of enum assay_anomaly_test */
    size_t n_window;                 /* values it was compared with */
    double mean, std, median;        /* of these; std of the population */
    double z;                        /* (value - mean) / std */
    double low, high;                /* the fences; NaN when the test was not made */
};

/* Called in the thread that added the value. */
typedef void (*assay_anomaly_alert)(void *user, const struct assay_anomaly *found);

/* Zero means the default.
 *
 * How the sensitivity s maps: both thresholds are the documented ones, 3 and 1.5, at 0.95, and
 * scale by the factor (1 - s) / 0.05 held to [0.2, 4]: 0.9 doubles them, 0.975 halves them. */
struct assay_anomaly_detector_options {
    size_t size;               /* sizeof(struct assay_anomaly_detector_options) */
    double sensitivity;        /* 0.95; above 0, below 1 */
    size_t window;             /* values kept of each metric: 50; 5 to 10,000 */
    double z_threshold;        /* at sensitivity 0.95: 3 */
    double iqr_factor;         /* at sensitivity 0.95: 1.5 */
    size_t min_z_samples;      /* 5 */
    size_t min_iqr_samples;    /* 10 */
    bool iqr_on_all;           /* fences for every metric, not only for times */
    size_t max_series;         /* layers x metrics: 10,000; values beyond are dropped and counted */
    size_t max_found;          /* the newest kept: 1000 */
    assay_anomaly_alert alert; /* may be NULL */
    void *user;
};

/* USAGE for a sensitivity outside (0, 1), a threshold that is negative or not finite, a window
 * outside its limits. */
ASSAY_API int assay_anomaly_detector_new(struct assay_anomaly_detector **out,
                                         const struct assay_anomaly_detector_options *options,
                                         struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_anomaly_detector_free(struct assay_anomaly_detector *detector);

/* 1: the value is anomalous and `*found` (when not NULL) describes it, valid until the next call
 * that changes the detector; 0: it is not, `*found` is NULL. A metric is a time when its name is
 * "time" or ends in "_time", "_ms", "_us", "_ns", "_s" or "_seconds". `timestamp_seconds` NaN: now.
 * USAGE without a layer or metric, or for a value that is not finite: it joins nothing. */
ASSAY_API int assay_anomaly_detector_add(struct assay_anomaly_detector *detector, const char *layer,
                                         const char *metric, double value, double timestamp_seconds,
                                         const struct assay_anomaly **found,
                                         struct assay_error *err);

/* The newest anomalies, `i` from 0, the oldest of them first; NULL past the end. */
ASSAY_API size_t assay_anomaly_detector_count(const struct assay_anomaly_detector *detector);
ASSAY_API const struct assay_anomaly *
assay_anomaly_detector_at(const struct assay_anomaly_detector *detector, size_t i);

struct assay_anomaly_layer {
    const char *layer;
    uint64_t n_values, n_anomalies; /* of all its metrics, exact */
};
/* In order of first appearance, borrowed until the next call that changes the detector. */
ASSAY_API size_t assay_anomaly_detector_layers(const struct assay_anomaly_detector *detector,
                                               const struct assay_anomaly_layer **out);

struct assay_anomaly_summary {
    size_t size;                    /* set by the library */
    uint64_t n_values, n_anomalies; /* all of them, exact */
    uint64_t n_forgotten;           /* anomalies older than the newest kept */
    uint64_t n_dropped;             /* values of layers and metrics beyond max_series */
    size_t n_series;
    double z_threshold, iqr_factor; /* as the sensitivity made them */
    double sensitivity;
    size_t window;
};
ASSAY_API void assay_anomaly_detector_summary(const struct assay_anomaly_detector *detector,
                                              struct assay_anomaly_summary *out);

/* Forgets values, counts and anomalies; options stay. */
ASSAY_API void assay_anomaly_detector_reset(struct assay_anomaly_detector *detector);

#ifdef __cplusplus
}
#endif
#endif
