/* stats/inference/student.c - Student's distribution, for intervals and tests of means.
 * The tail is an incomplete beta function, by its continued fraction. */
#include "stats/inference/welch.h"

#include <math.h>

#include "base/units.h"

#define NEARLY_NORMAL 1e7 /* degrees from which on the normal distribution is as good */
#define MAX_STEPS     20000
#define MAX_HALVINGS  200

static double away_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function at x, by Lentz's steps; good for x below
 * (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;

    for (int i = 1; i < MAX_STEPS; i++) {
        double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        value *= c * d;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        step = c * d;
        value *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* The share of the beta distribution (a, b) below x, with 1 - x given apart for its digits. */
static double beta_below(double a, double b, double x, double rest)
{
    double front;

    if (x <= 0)
        return 0;
    if (rest <= 0)
        return 1;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, rest) / b;
}

double as_student_two_sided(double t, double degrees)
{
    double square = t * t;

    if (!(degrees > 0) || isnan(t))
        return AS_UNKNOWN;
    if (isinf(square))
        return 0;
    if (degrees > NEARLY_NORMAL)
        return erfc(fabs(t) / sqrt(2));
    return beta_below(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square));
}

double as_student_point(double level, double degrees)
{
    double low = 0, high = 1;

    if (!(level > 0 && level < 1) || !(degrees > 0))
        return AS_UNKNOWN;
    while (as_student_two_sided(high, degrees) > 1 - level && high < 1e300)
        high *= 2;
    for (int i = 0; i < MAX_HALVINGS; i++) {
        double middle = low + (high - low) / 2;

        if (middle <= low || middle >= high)
            break;
        if (as_student_two_sided(middle, degrees) > 1 - level)
            low = middle;
        else
            high = middle;
    }
    return high;
}
