/* stats/inference/welch.h - whether two means differ, and by which factor, when their deviations
 * may differ. Samples must not depend on each other. */
#ifndef AS_STATS_INFERENCE_WELCH_H
#define AS_STATS_INFERENCE_WELCH_H

#include <stdint.h>

/* A mean, or a sum of weighted means, and how far it may be off. {0} is the empty sum. */
struct as_mean_estimate {
    double value;
    double variance; /* NaN: something of it is not known */
    double spread;   /* sum over the means of variance squared by degrees of freedom */
};

/* Adds `weight` times the mean of `n` samples with that population standard deviation. */
void as_mean_estimate_add(struct as_mean_estimate *sum, double weight, double mean,
                          double std_population, uint64_t n);

/* Of a ratio; all NaN when something is not known or a value is not above 0. */
struct as_ratio_test {
    double ratio;     /* above / below */
    double low, high; /* interval at the level asked for */
    double p;         /* two-sided, of a ratio of 1 */
    double degrees;   /* Welch and Satterthwaite; infinite when nothing varies */
};

/* On the logarithm of the ratio, whose variance is that of the relative errors. */
void as_welch_ratio(struct as_ratio_test *out, const struct as_mean_estimate *above,
                    const struct as_mean_estimate *below, double level);

/* ---- student.c ---- */

/* The chance of a value at least as far from 0 as `t`, on either side. NaN unless degrees > 0. */
double as_student_two_sided(double t, double degrees);

/* The value that a share `level` (0 to 1, without them) lies nearer to 0 than, on both sides: 2.262
 * for 0.95 and 9 degrees. NaN for anything else. */
double as_student_point(double level, double degrees);

#endif
