/* base/text/float_text.c - the one text of a float that hashes rely on: the fewest digits that read
 * back as the same number, always with a point or an exponent. Pinned: it never changes. */
#include "base/text/float_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 17

/* A number as 0.DIGITS times ten to the power of `point`. */
struct decimal {
    char digits[MAX_DIGITS + 2];
    int n, point;
};

/* Both kinds are printed from a double, which holds a float exactly; they differ in what reads back
 * as the same number, in how many digits are ever needed and where exponents begin. */
struct kind {
    bool is_f32;
    int most_digits, plain_digits;
};

static const struct kind f64 = {false, 17, 16}, f32 = {true, 9, 13};

/* Without the locale's point: digits and an exponent alone. */
static bool reads_back(const struct decimal *d, double value, const struct kind *kind)
{
    char text[AS_FLOAT_TEXT + 8];

    (void)snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->point - d->n);
    return kind->is_f32 ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* The `n` digits nearest to `value`, which is above 0. */
static void round_to(struct decimal *d, double value, int n)
{
    char text[AS_FLOAT_TEXT];

    (void)snprintf(text, sizeof text, "%.*e", n - 1, value);
    d->n = n;
    d->digits[0] = text[0];
    if (n > 1)
        memcpy(d->digits + 1, text + 2, (size_t)n - 1); /* past the locale's point, one byte */
    d->digits[n] = '\0';
    d->point = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
}

/* The next number of as many digits. */
static void step_up(struct decimal *d)
{
    int i = d->n - 1;

    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1';
    d->point++;
}

/* Below a power of two the floats lie twice as dense as above it: there the nearest decimal may
 * read back as another number while the next one above does not. */
static void shortest(struct decimal *d, double value, const struct kind *kind)
{
    for (int n = 1; n <= kind->most_digits; n++) {
        round_to(d, value, n);
        if (reads_back(d, value, kind))
            break;
        step_up(d);
        if (reads_back(d, value, kind))
            break;
    }
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->digits[--d->n] = '\0';
}

static size_t lay_out(char *out, const struct decimal *d, const struct kind *kind)
{
    int n;

    if (d->point > kind->plain_digits || d->point <= -5)
        n = snprintf(out, AS_FLOAT_TEXT, "%.1s%s%se%d", d->digits, d->n > 1 ? "." : "",
                     d->digits + 1, d->point - 1);
    else if (d->point <= 0)
        n = snprintf(out, AS_FLOAT_TEXT, "0.%.*s%s", -d->point, "00000", d->digits);
    else if (d->n <= d->point)
        n = snprintf(out, AS_FLOAT_TEXT, "%s%.*s.0", d->digits, d->point - d->n,
                     "0000000000000000");
    else
        n = snprintf(out, AS_FLOAT_TEXT, "%.*s.%s", d->point, d->digits, d->digits + d->point);
    return (size_t)n;
}

static size_t put(char *out, double value, const struct kind *kind)
{
    struct decimal d;
    size_t sign = signbit(value) ? 1 : 0;

    out[0] = '\0';
    if (!isfinite(value))
        return 0;
    if (sign)
        out[0] = '-';
    if (value == 0) {
        memcpy(out + sign, "0.0", 4);
        return sign + 3;
    }
    shortest(&d, fabs(value), kind);
    return sign + lay_out(out + sign, &d, kind);
}

size_t as_float_text64(char out[AS_FLOAT_TEXT], double value)
{
    return put(out, value, &f64);
}

size_t as_float_text32(char out[AS_FLOAT_TEXT], float value)
{
    return put(out, (double)value, &f32);
}
