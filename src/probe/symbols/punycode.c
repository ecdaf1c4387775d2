/* probe/symbols/punycode.c - names whose letters are not ASCII, as Rust writes them: RFC 3492 with
 * an underscore for the dash. */
#include <string.h>

#include "probe/symbols/demangle_rust.h"

/* How far apart the next letter is, and what that says about the one after it (RFC 3492). */
static size_t adapt(size_t delta, size_t points, bool first)
{
    size_t k = 0;

    delta /= first ? 700 : 2;
    delta += delta / points;
    for (; delta > (36 - 1) * 26 / 2; k += 36)
        delta /= 36 - 1;
    return k + (36 - 1 + 1) * delta / (delta + 38);
}

/* One generalized number of variable length; false where the text is none. */
static bool take_delta(const char **at, const char *end, size_t bias, size_t *out)
{
    size_t value = 0, weight = 1;

    for (size_t k = 36;; k += 36) {
        size_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit, part;
        char c;

        if (*at == end)
            return false;
        c = *(*at)++;
        digit = c >= 'a' && c <= 'z'   ? (size_t)(c - 'a')
                : c >= '0' && c <= '9' ? (size_t)(c - '0') + 26
                                       : 36;
        if (digit == 36 || __builtin_mul_overflow(digit, weight, &part) ||
            __builtin_add_overflow(value, part, &value))
            return false;
        if (digit < least) {
            *out = value;
            return true;
        }
        if (__builtin_mul_overflow(weight, 36 - least, &weight))
            return false;
    }
}

size_t as_punycode_decode(const char *text, size_t size, uint32_t letter[AS_PUNYCODE_MAX])
{
    const char *end = text + size, *at = text;
    const char *last = memrchr(text, '_', size);
    size_t n = 0, code = 128, bias = 72, place = 0, delta;

    for (; last && at < last && n < AS_PUNYCODE_MAX; at++)
        letter[n++] = (unsigned char)*at;
    at = last ? last + 1 : at;
    for (bool first = true; at < end; first = false) {
        if (n == AS_PUNYCODE_MAX || !take_delta(&at, end, bias, &delta) ||
            __builtin_add_overflow(place, delta, &place))
            return 0;
        n++;
        if (place / n > 0x10ffff - code)
            return 0;
        code += place / n;
        place %= n;
        memmove(&letter[place + 1], &letter[place], (n - 1 - place) * sizeof *letter);
        letter[place++] = (uint32_t)code;
        bias = adapt(delta, n, first);
    }
    return n;
}
