/* base/units.h - small constants that every folder needs: units of memory, the length of an array,
 * the value of a number that is not known. */
#ifndef AS_BASE_UNITS_H
#define AS_BASE_UNITS_H

#include <assay/error.h>
#include <math.h>

#define AS_MIB 1048576.0

/* The number of elements of an array, not of a pointer. */
#define AS_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A number that is not known: null in JSON, empty in CSV, a dash on a screen. Test with isnan(). */
#define AS_UNKNOWN ((double)NAN)

/* An optional number that a program filled in: 0 is what an empty struct holds, and is not known.
 */
static inline double as_known_input(double value)
{
    if (value == 0)
        return AS_UNKNOWN;
    return value == ASSAY_MEASURED_ZERO ? 0 : value;
}

#endif
