/* base/text/text.h - numbers to text and back, the same in every locale, and forms for people to
 * read. Every writer ends its text with NUL, returns the length and fits in its AS_TEXT_ size. */
#ifndef AS_BASE_TEXT_TEXT_H
#define AS_BASE_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_TEXT_INT   21 /* 20 digits or a sign and 19, and NUL */
#define AS_TEXT_FLOAT 40
#define AS_TEXT_HUMAN 48

size_t as_text_u64(char out[AS_TEXT_INT], uint64_t value);
size_t as_text_i64(char out[AS_TEXT_INT], int64_t value);

/* `value` divided by ten to the power of `decimals` (at most 18), exactly: 1234567 with 3 is
 * "1234.567". */
size_t as_text_decimal(char out[AS_TEXT_FLOAT], uint64_t value, unsigned decimals);

/* The first of 15, 16 or 17 significant digits that reads back as the same number; whole numbers
 * below 1e15 have neither point nor exponent. A number that is not finite gives "" and 0, so that
 * callers write null. */
size_t as_text_f64(char out[AS_TEXT_FLOAT], double value);

/* Always `decimals` (at most 9) digits after the point and never "-0.00"; from 1e15 on as
 * as_text_f64(). A number that is not finite gives "" and 0. */
size_t as_text_fixed(char out[AS_TEXT_FLOAT], double value, unsigned decimals);

enum as_time_unit { AS_TIME_AUTO, AS_TIME_NS, AS_TIME_US, AS_TIME_MS, AS_TIME_S, AS_TIME_COUNT };

/* The largest unit in which a time is at least 1, for a column that shall use one unit. */
enum as_time_unit as_time_unit_for(double ns);

/* "ns", "us", "ms", "s"; "" for AS_TIME_AUTO. */
const char *as_time_unit_name(enum as_time_unit unit);

/* "16.42 ms": four digits in the unit that fits. In a unit the caller chose: three decimals, so
 * that a column lines up, and more where a time would otherwise read as zero. Not finite: "-". */
size_t as_text_ns(char out[AS_TEXT_HUMAN], double ns, enum as_time_unit unit);

/* "1.50 MiB", "512 B". Not finite: "-". */
size_t as_text_bytes(char out[AS_TEXT_HUMAN], double bytes);

/* "1,234,567". */
size_t as_text_count(char out[AS_TEXT_HUMAN], uint64_t value);

/* "25.6 M", or with the unit "FLOP/s" "25.6 MFLOP/s". `unit` may be NULL and has at most 16 bytes.
 * Not finite: "-". */
size_t as_text_si(char out[AS_TEXT_HUMAN], double value, const char *unit);

/* The share 0.1234 as "12.3 %". Not finite: "-". */
size_t as_text_percent(char out[AS_TEXT_HUMAN], double share);

/* The whole of `text` must be the number, in decimal, without spaces; false when it is not or does
 * not fit. A sign: '-' in i64 and f64 only. Floats may have a fraction and an exponent; "inf",
 * "nan" and hex are refused. */
bool as_parse_u64(const char *text, size_t size, uint64_t *out);
bool as_parse_i64(const char *text, size_t size, int64_t *out);
bool as_parse_f64(const char *text, size_t size, double *out);

/* The candidate a mistyped `word` most likely meant, borrowed, or NULL when none is near. */
const char *as_text_nearest(const char *word, const char *const *candidates, size_t n_candidates);

#endif
