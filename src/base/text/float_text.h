/* base/text/float_text.h - the one text of a float that hashes rely on: the fewest digits that read
 * back as the same number, always with a point or an exponent. Pinned: it never changes. */
#ifndef AS_BASE_TEXT_FLOAT_TEXT_H
#define AS_BASE_TEXT_FLOAT_TEXT_H

#include <stddef.h>

#define AS_FLOAT_TEXT 32 /* with the closing NUL */

/* "0.5", "1.0", "-12.25", "0.00001", "1e-6", "1.5e20": plain from 1e-5 to below 1e16 (f32: 1e13),
 * with an exponent elsewhere; among texts of equal length the one nearest to the number. Zero keeps
 * its sign. Returns the length; a number that is not finite gives "" and 0. Needs no locale. */
size_t as_float_text64(char out[AS_FLOAT_TEXT], double value);
size_t as_float_text32(char out[AS_FLOAT_TEXT], float value);

#endif
