/* base/text/text.c - numbers to text and back, the same in every locale, and forms for people to
 * read. Every writer ends its text with NUL, returns the length and fits in its AS_TEXT_ size. */
#include "base/text/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define AS_TEXT_PARSE_BYTES 128 /* the longest number as_parse_f64() takes */
#define AS_TEXT_WORD_BYTES  64  /* the longest word as_text_nearest() compares */

static const uint64_t power_of_ten[] = {
    1ull,
    10ull,
    100ull,
    1000ull,
    10000ull,
    100000ull,
    1000000ull,
    10000000ull,
    100000000ull,
    1000000000ull,
    10000000000ull,
    100000000000ull,
    1000000000000ull,
    10000000000000ull,
    100000000000000ull,
    1000000000000000ull,
    10000000000000000ull,
    100000000000000000ull,
    1000000000000000000ull,
    10000000000000000000ull,
};

static size_t count_digits(uint64_t value)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned guess = bits * 1233 >> 12; /* 1233 / 4096 is a little more than log10(2) */

    return guess + (value >= power_of_ten[guess]) + (value == 0);
}

/* The eight digits of a number below 1e8, the first in the lowest byte: halves, pairs and digits
 * are parted side by side in one word. */
static inline uint64_t eight_digits(uint32_t value)
{
    uint64_t halves = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007f0000007f;
    uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
    uint64_t tens = (pairs * 103 >> 10) & 0x000f000f000f000f;

    return (tens | (pairs - 10 * tens) << 8) + 0x3030303030303030;
}

/* The lowest byte first, whatever the machine's order. */
static inline void put_eight(char *out, uint64_t digits)
{
    out[0] = (char)(digits & 0xff);
    out[1] = (char)(digits >> 8 & 0xff);
    out[2] = (char)(digits >> 16 & 0xff);
    out[3] = (char)(digits >> 24 & 0xff);
    out[4] = (char)(digits >> 32 & 0xff);
    out[5] = (char)(digits >> 40 & 0xff);
    out[6] = (char)(digits >> 48 & 0xff);
    out[7] = (char)(digits >> 56 & 0xff);
}

/* Writes exactly `n` digits, at most 24, with zeros in front when there are too few. There is room
 * for eight bytes, however few they are: what the first ones write too much, the next ones mend. */
static void put_digits(char *out, uint64_t value, size_t n)
{
    size_t eights = n / 8, first = n % 8;
    unsigned skip = 4 * (unsigned)(8 - first); /* in two steps: it may be all of the word */
    uint32_t part[3];

    for (size_t i = eights; i > 0; i--) {
        part[i - 1] = (uint32_t)(value % 100000000);
        value /= 100000000;
    }
    put_eight(out, eight_digits((uint32_t)(value % 100000000)) >> skip >> skip);
    for (size_t i = 0; i < eights; i++)
        put_eight(out + first + 8 * i, eight_digits(part[i]));
}

/* There is room for nine bytes, however short the number. */
static inline size_t put_u64(char *out, uint64_t value)
{
    size_t n = count_digits(value);

    if (value < 100000000)
        put_eight(out, eight_digits((uint32_t)value) >> 8 * (8 - n));
    else
        put_digits(out, value, n);
    out[n] = '\0';
    return n;
}

size_t as_text_u64(char out[AS_TEXT_INT], uint64_t value)
{
    return put_u64(out, value);
}

size_t as_text_i64(char out[AS_TEXT_INT], int64_t value)
{
    if (value >= 0)
        return put_u64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + put_u64(out + 1, 0 - (uint64_t)value);
}

static size_t put_decimal(char *out, uint64_t value, unsigned decimals)
{
    size_t n;

    if (decimals == 0)
        return put_u64(out, value);
    if (decimals > 18)
        decimals = 18;
    n = put_u64(out, value / power_of_ten[decimals]);
    out[n++] = '.';
    put_digits(out + n, value % power_of_ten[decimals], decimals);
    n += decimals;
    out[n] = '\0';
    return n;
}

size_t as_text_decimal(char out[AS_TEXT_FLOAT], uint64_t value, unsigned decimals)
{
    return put_decimal(out, value, decimals);
}

/* A locale may write its own decimal point, even of several bytes; whatever is no part of a number
 * is it. */
static size_t fix_point(char *text)
{
    size_t n = 0;
    bool in_point = false;

    for (const char *p = text; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';

        if (plain)
            text[n++] = *p;
        else if (!in_point)
            text[n++] = '.';
        in_point = !plain;
    }
    text[n] = '\0';
    return n;
}

/* Most measured numbers have three decimals or fewer; for them the exact integer is quicker than
 * printf. Both k and 1000 are exact, so k / 1000 is the double nearest to that text: it reads back
 * the same. */
static size_t try_thousandths(char *out, double value)
{
    double size = fabs(value);
    uint64_t k;
    size_t n;

    if (size >= 1e11 || size < 1e-3)
        return 0;
    k = (uint64_t)(size * 1000 + 0.5);
    if ((double)k / 1000 != size)
        return 0;
    out[0] = '-';
    n = value < 0;
    n += put_decimal(out + n, k, 3);
    while (out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return n;
}

/* In this range a number times the power of ten that makes 17 digits whole fits into 128 bits. */
#define EXACT_FROM   1e-4
#define EXACT_BELOW  1e15
#define MANTISSA_ONE (1ull << 52)

__extension__ typedef unsigned __int128 wide;

static wide wide_power(unsigned exponent)
{
    return exponent <= 19 ? power_of_ten[exponent] : (wide)power_of_ten[19] * 10;
}

/* A number as 17 digits before the point: `digits` and what they leave of 2^`shift`. */
struct exact {
    uint64_t digits, mantissa;
    unsigned shift;
    wide rest, power; /* ten to the number of decimals */
};

/* The number to a multiple of `step`, ties to even. False when that reads back as another number:
 * it is further off than half the way to the next one, which below a power of two is half as far.
 * In units of 1 / 2^shift / power half the way is power / 2. */
static inline bool round_exactly(const struct exact *x, uint64_t step, uint64_t *out)
{
    uint64_t q = x->digits / step;
    wide below = ((wide)(x->digits - q * step) << x->shift) + x->rest;
    wide whole = (wide)step << x->shift;
    bool up = 2 * below > whole || (2 * below == whole && q % 2 == 1);
    wide off = up ? whole - below : below;

    *out = q + up;
    if (x->mantissa == MANTISSA_ONE)
        return (up ? 2 : 4) * off <= x->power;
    return 2 * off < x->power || (2 * off == x->power && x->mantissa % 2 == 0);
}

/* Decimals that leave 15 significant digits. */
static unsigned decimals_of_15(double size)
{
    static const double limit[] = {1, 0.1, 0.01, 0.001};
    unsigned n = 0;

    if (size >= 1)
        return 15 - (unsigned)count_digits((uint64_t)size);
    while (n < 4 && size < limit[n])
        n++;
    return 14 + n;
}

/* For numbers that are not whole: what printf and reading back would find, by integers alone. */
static size_t put_exactly(char *out, double value)
{
    double size = fabs(value);
    unsigned decimals = decimals_of_15(size) + 2;
    struct exact x = {.power = wide_power(decimals)};
    uint64_t bits, digits;
    wide scaled;
    size_t n = value < 0;

    memcpy(&bits, &size, sizeof bits);
    x.shift = 1075 - (unsigned)(bits >> 52);
    x.mantissa = bits % MANTISSA_ONE + MANTISSA_ONE;
    scaled = x.mantissa * x.power;
    x.digits = (uint64_t)(scaled >> x.shift);
    x.rest = scaled - ((wide)x.digits << x.shift);
    if (round_exactly(&x, 100, &digits))
        decimals -= 2;
    else if (round_exactly(&x, 10, &digits))
        decimals -= 1;
    else
        (void)round_exactly(&x, 1, &digits);
    out[0] = '-';
    if (size >= 1) {
        n += put_decimal(out + n, digits, decimals);
    } else {
        memcpy(out + n, "0.", 2);
        put_digits(out + n + 2, digits, decimals);
        n += 2 + decimals;
    }
    while (out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return n;
}

size_t as_text_f64(char out[AS_TEXT_FLOAT], double value)
{
    size_t n = 0;

    out[0] = '\0';
    if (!isfinite(value))
        return 0;
    if (value == 0 && signbit(value)) {
        memcpy(out, "-0", 3);
        return 2;
    }
    if (fabs(value) < 1e15 && (double)(int64_t)value == value)
        return as_text_i64(out, (int64_t)value);
    n = try_thousandths(out, value);
    if (n == 0 && fabs(value) >= EXACT_FROM && fabs(value) < EXACT_BELOW)
        n = put_exactly(out, value);
    for (int digits = 15; n == 0 && digits <= 17; digits++) {
        double back = 0;

        snprintf(out, AS_TEXT_FLOAT, "%.*g", digits, value);
        n = fix_point(out);
        if (digits < 17 && !(as_parse_f64(out, n, &back) && back == value))
            n = 0;
    }
    return n;
}

size_t as_text_fixed(char out[AS_TEXT_FLOAT], double value, unsigned decimals)
{
    size_t n;

    if (!isfinite(value) || fabs(value) >= 1e15)
        return as_text_f64(out, value);
    snprintf(out, AS_TEXT_FLOAT, "%.*f", decimals > 9 ? 9 : (int)decimals, value);
    n = fix_point(out);
    if (out[0] == '-' && strspn(out + 1, "0.") == n - 1)
        memmove(out, out + 1, n--);
    return n;
}

/* Decimals that give `digits` significant ones, looking at the number as it will be rounded. */
static unsigned decimals_for(double size, unsigned digits)
{
    unsigned whole = 1, decimals = digits - 1;
    double limit = 0.1;

    while (decimals > 0 &&
           size >= (double)power_of_ten[whole] - 0.5 / (double)power_of_ten[decimals]) {
        whole++;
        decimals--;
    }
    while (size > 0 && size < limit && decimals < 9) {
        limit /= 10;
        decimals++;
    }
    return decimals;
}

/* "value unit"; what is too small for decimals gets an exponent. */
static size_t put_human(char *out, double value, unsigned decimals, const char *unit)
{
    char number[AS_TEXT_FLOAT];

    if (value != 0 && fabs(value) < 1e-6) {
        snprintf(number, sizeof number, "%.3g", value);
        fix_point(number);
    } else {
        as_text_fixed(number, value, decimals);
    }
    return (size_t)snprintf(out, AS_TEXT_HUMAN, "%s%s%.18s", number, *unit ? " " : "", unit);
}

static size_t put_unknown(char *out)
{
    memcpy(out, "-", 2);
    return 1;
}

/* Divides by `base` until the number, as rounded, is below it; returns how often. */
static unsigned scale(double *value, double base, unsigned most, unsigned digits)
{
    unsigned n = 0;

    while (n < most) {
        double size = fabs(*value);
        bool exact = n == 0 && size < base && (double)(int64_t)size == size;

        if (exact || size < base - 0.5 / (double)power_of_ten[decimals_for(size, digits)])
            break;
        *value /= base;
        n++;
    }
    return n;
}

static bool is_whole(double value)
{
    return fabs(value) < 1e15 && (double)(int64_t)value == value;
}

static const struct {
    const char *name;
    double ns;
} time_unit[] = {
    [AS_TIME_AUTO] = {"", 1},   [AS_TIME_NS] = {"ns", 1}, [AS_TIME_US] = {"us", 1e3},
    [AS_TIME_MS] = {"ms", 1e6}, [AS_TIME_S] = {"s", 1e9},
};
_Static_assert(AS_COUNT_OF(time_unit) == AS_TIME_COUNT, "name every unit");

enum as_time_unit as_time_unit_for(double ns)
{
    if (!isfinite(ns))
        return AS_TIME_NS;
    return (enum as_time_unit)(AS_TIME_NS + scale(&ns, 1000, AS_TIME_S - AS_TIME_NS, 4));
}

const char *as_time_unit_name(enum as_time_unit unit)
{
    return (unsigned)unit < AS_TIME_COUNT ? time_unit[unit].name : "";
}

size_t as_text_ns(char out[AS_TEXT_HUMAN], double ns, enum as_time_unit unit)
{
    bool chosen = unit > AS_TIME_AUTO && unit < AS_TIME_COUNT;
    unsigned decimals = 3;
    double value;

    if (!isfinite(ns))
        return put_unknown(out);
    if (!chosen)
        unit = as_time_unit_for(ns);
    value = ns / time_unit[unit].ns;
    if (unit == AS_TIME_NS && is_whole(value))
        decimals = 0;
    else if (!chosen || (value != 0 && fabs(value) < 0.001))
        decimals = decimals_for(fabs(value), 4);
    return put_human(out, value, decimals, time_unit[unit].name);
}

size_t as_text_bytes(char out[AS_TEXT_HUMAN], double bytes)
{
    static const char *const name[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit;

    if (!isfinite(bytes))
        return put_unknown(out);
    unit = scale(&bytes, 1024, AS_COUNT_OF(name) - 1, 3);
    return put_human(out, bytes, unit == 0 && is_whole(bytes) ? 0 : decimals_for(fabs(bytes), 3),
                     name[unit]);
}

size_t as_text_count(char out[AS_TEXT_HUMAN], uint64_t value)
{
    char digits[AS_TEXT_INT];
    size_t n_digits = as_text_u64(digits, value);
    size_t n = 0;

    for (size_t i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0)
            out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = '\0';
    return n;
}

size_t as_text_si(char out[AS_TEXT_HUMAN], double value, const char *unit)
{
    static const char prefix[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
    char name[24];
    unsigned step;

    if (!isfinite(value))
        return put_unknown(out);
    step = scale(&value, 1000, sizeof prefix - 1, 3);
    snprintf(name, sizeof name, "%.*s%.16s", step > 0, &prefix[step], unit ? unit : "");
    return put_human(out, value, step == 0 && is_whole(value) ? 0 : decimals_for(fabs(value), 3),
                     name);
}

size_t as_text_percent(char out[AS_TEXT_HUMAN], double share)
{
    if (!isfinite(share))
        return put_unknown(out);
    return put_human(out, share * 100, 1, "%");
}

bool as_parse_u64(const char *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;

    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool as_parse_i64(const char *text, size_t size, int64_t *out)
{
    bool negative = size > 0 && text[0] == '-';
    uint64_t value;

    if (!as_parse_u64(text + negative, size - negative, &value) ||
        value > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static size_t skip_digits(const char *text, size_t size, size_t at)
{
    while (at < size && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* strtod takes more than we do: spaces, hex, "inf", "nan". */
static bool looks_like_float(const char *text, size_t size)
{
    size_t at = size > 0 && text[0] == '-';
    size_t end = skip_digits(text, size, at);
    size_t n_digits = end - at;

    if (end < size && text[end] == '.') {
        at = end + 1;
        end = skip_digits(text, size, at);
        n_digits += end - at;
    }
    if (n_digits == 0)
        return false;
    if (end < size && (text[end] == 'e' || text[end] == 'E')) {
        at = end + 1;
        at += at < size && (text[at] == '-' || text[at] == '+');
        end = skip_digits(text, size, at);
        if (end == at)
            return false;
    }
    return end == size;
}

bool as_parse_f64(const char *text, size_t size, double *out)
{
    char copy[AS_TEXT_PARSE_BYTES];
    locale_t c_locale;
    double value;

    if (size >= sizeof copy || !looks_like_float(text, size))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc gives a static one: no memory */
    if (!c_locale)
        return false;
    value = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

static char lower(char c)
{
    if (c < 'A' || c > 'Z')
        return c;
    return (char)(c + ('a' - 'A'));
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to insert, drop, replace or swap with a neighbor until `a` is `b`. */
static unsigned edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[3][AS_TEXT_WORD_BYTES + 1];

    for (unsigned j = 0; j <= b_size; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *now = row[i % 3];
        const unsigned *above = row[(i + 2) % 3], *two_above = row[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);

            now[j] = least(above[j - 1] + !same, least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = least(now[j], two_above[j - 2] + 1);
        }
    }
    return row[a_size % 3][b_size];
}

const char *as_text_nearest(const char *word, const char *const *candidates, size_t n_candidates)
{
    size_t size = strlen(word);
    unsigned limit = size < 6 ? 1 : (unsigned)(size / 3);
    const char *best = NULL;

    if (size == 0 || size > AS_TEXT_WORD_BYTES)
        return NULL;
    for (size_t i = 0; i < n_candidates; i++) {
        size_t other = strlen(candidates[i]);
        unsigned distance;

        if (other > AS_TEXT_WORD_BYTES)
            continue;
        distance = edit_distance(word, size, candidates[i], other);
        if (size >= 2 && strncmp(word, candidates[i], size) == 0)
            distance = least(distance, 1); /* the beginning of a word is near to it */
        if (distance <= limit) {
            best = candidates[i];
            if (distance == 0)
                break;
            limit = distance - 1;
        }
    }
    return best;
}
