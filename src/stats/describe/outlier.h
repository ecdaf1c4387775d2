/* stats/describe/outlier.h - names samples that do not belong to the rest, and removes none.
 * Scores are distances from the median in units of the MAD; fences are Tukey's. */
#ifndef AS_STATS_DESCRIBE_OUTLIER_H
#define AS_STATS_DESCRIBE_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/describe/sorted.h"

/* Ten standard deviations, if the samples were normal: 1.4826 MADs make one. */
#define AS_OUTLIER_THRESHOLD 14.826

/* The first sample is tested only against this many others or more. */
#define AS_OUTLIER_MIN_REST 3

struct as_outlier_scale {
    double median;
    double unit;    /* what a score counts: the MAD, or what stands for it; 0 when all are equal */
    bool from_mean; /* MAD was 0, over half the samples being equal: the mean deviation stands in */
};

struct as_outliers {
    struct as_outlier_scale scale;
    double threshold;
    size_t n_low, n_high; /* beyond the threshold on either side */
};

struct as_fences {
    double q1, q3;                  /* linear quartiles */
    double mild_low, mild_high;     /* 1.5 interquartile ranges beyond the quartiles */
    double severe_low, severe_high; /* 3 of them */
    size_t n_mild_low, n_mild_high; /* beyond a mild fence but not a severe one */
    size_t n_severe_low, n_severe_high;
};

struct as_first_run {
    bool tested;  /* there were enough others */
    bool outlier; /* the first is beyond the threshold, seen from the others alone */
    double score; /* of the first; NaN when not tested */
};

/* Needs n >= 1. The mean deviation is scaled so that both agree on normal samples. */
void as_outlier_scale(struct as_outlier_scale *out, const struct as_sorted *s);

/* The modified z-score: 0 at the median, infinite off it when the unit is 0. */
double as_outlier_score(const struct as_outlier_scale *scale, double x);

/* Counts what lies beyond `threshold` units; nothing does when all samples are equal or absent. */
void as_outlier_count(struct as_outliers *out, const struct as_sorted *s, double threshold);

/* Tukey's fences and what lies beyond them; NaN and 0 without samples. */
void as_outlier_fences(struct as_fences *out, const struct as_sorted *s);

/* Samples in the order they were taken, untouched; `scratch` has room for twice n. */
void as_outlier_first_u64(struct as_first_run *out, const uint64_t *samples, size_t n,
                          double threshold, uint64_t *scratch);

#endif
