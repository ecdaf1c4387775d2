/* stats/inference/welch.c - whether two means differ, and by which factor, when their deviations
 * may differ. Samples must not depend on each other. */
#include "stats/inference/welch.h"

#include <math.h>

#include "base/units.h"

void as_mean_estimate_add(struct as_mean_estimate *sum, double weight, double mean,
                          double std_population, uint64_t n)
{
    /* That of the samples over n - 1 is that of the population over n; of a mean, n times less. */
    double variance =
        n < 2 ? AS_UNKNOWN : weight * weight * std_population * std_population / (double)(n - 1);

    sum->value += weight * mean;
    sum->variance += variance;
    sum->spread += variance * variance / (double)(n - 1);
}

void as_welch_ratio(struct as_ratio_test *out, const struct as_mean_estimate *above,
                    const struct as_mean_estimate *below, double level)
{
    const double unknown = AS_UNKNOWN;
    double a = above->variance / (above->value * above->value);
    double b = below->variance / (below->value * below->value);
    double error = sqrt(a + b), far, shift;

    *out = (struct as_ratio_test){unknown, unknown, unknown, unknown, unknown};
    if (!(above->value > 0 && below->value > 0) || isnan(error))
        return;
    out->ratio = above->value / below->value;
    shift = log(out->ratio);
    out->degrees = (a + b) * (a + b) /
                   (above->spread / pow(above->value, 4) + below->spread / pow(below->value, 4));
    if (error <= 0 || isnan(out->degrees)) {
        out->degrees = (double)INFINITY;
        out->low = out->high = out->ratio;
        out->p = shift < 0 || shift > 0 ? 0 : 1;
        return;
    }
    far = as_student_point(level, out->degrees) * error;
    out->low = exp(shift - far);
    out->high = exp(shift + far);
    out->p = as_student_two_sided(shift / error, out->degrees);
}
