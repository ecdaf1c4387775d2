/* analyze/watch/target_growth.c - when a series that grew stopped growing.
 * It did when it then rested far longer than ever before: growth in steps rests between them. */
#include "analyze/watch/target_growth.h"

#include <math.h>

#include "base/units.h"

#define STEP      0.02 /* of the whole rise: by that much it must have risen to go on growing */
#define LONG_REST 0.1  /* of the time */
#define FAR       2    /* times the longest rest before */

double as_growth_stop(const double *seconds, const double *value, size_t n)
{
    double least, low, level, next, stop = AS_UNKNOWN, rest = 0, longest = 0;

    if (n < 2)
        return AS_UNKNOWN;
    least = low = level = value[n - 1];
    for (size_t i = 0; i < n; i++)
        least = fmin(least, value[i]);
    if (!(level > least))
        return AS_UNKNOWN;
    next = level - STEP * (level - least);
    /* Backwards, what stays: peaks that come and go are no growth. */
    for (size_t i = n - 1; i-- > 0;) {
        low = fmin(low, value[i]);
        if (low > next)
            continue;
        if (isnan(stop))
            stop = seconds[i + 1];
        else
            longest = fmax(longest, rest - seconds[i + 1]);
        rest = seconds[i + 1];
        next = low - STEP * (level - least);
    }
    rest = seconds[n - 1] - stop;
    return rest > LONG_REST * (seconds[n - 1] - seconds[0]) && rest > FAR * longest ? stop
                                                                                    : AS_UNKNOWN;
}
