/* base/base64.c - bytes as text of RFC 4648, with padding and without line ends.
 * Reading is strict: one text for the same bytes, so that a changed character is always noticed. */
#include "base/base64.h"

#include <stdint.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four characters for one to three bytes. */
static void group(char text[4], const uint8_t *bytes, size_t n)
{
    uint32_t bits = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0) |
                    (n > 2 ? (uint32_t)bytes[2] : 0);

    text[0] = letters[bits >> 18];
    text[1] = letters[bits >> 12 & 63];
    text[2] = '=';
    text[3] = '=';
    if (n > 1)
        text[2] = letters[bits >> 6 & 63];
    if (n > 2)
        text[3] = letters[bits & 63];
}

void as_base64_put(struct as_out *out, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    char text[1024];
    size_t used = 0;

    for (size_t i = 0; i < size; i += 3) {
        group(text + used, bytes + i, size - i < 3 ? size - i : 3);
        used += 4;
        if (used == sizeof text) {
            as_out_put(out, text, used);
            used = 0;
        }
    }
    as_out_put(out, text, used);
}

bool as_base64_bytes(const char *text, size_t size, size_t *bytes)
{
    size_t pads = 0;

    if (size % 4 != 0)
        return false;
    while (pads < 2 && pads < size && text[size - 1 - pads] == '=')
        pads++;
    *bytes = size / 4 * 3 - pads;
    return true;
}

/* 1 to 64 for a letter, so that what the table does not name is 0. */
static const uint8_t place[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

/* Four letters that are three bytes; false when one is no letter. */
static bool whole_group(const uint8_t *in, uint8_t *to)
{
    uint32_t a = place[in[0]], b = place[in[1]], c = place[in[2]], d = place[in[3]];
    uint32_t bits = ((a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1)) & 0xffffff;

    to[0] = (uint8_t)(bits >> 16);
    to[1] = (uint8_t)(bits >> 8);
    to[2] = (uint8_t)bits;
    return a && b && c && d;
}

bool as_base64_read(const char *text, size_t size, void *out)
{
    const uint8_t *in = (const uint8_t *)text;
    uint8_t *to = out;
    size_t bytes, done = 0;

    if (!as_base64_bytes(text, size, &bytes))
        return false;
    for (size_t i = 0; i < size; i += 4) {
        size_t n = bytes - done < 3 ? bytes - done : 3;
        uint32_t bits = 0;

        if (n == 3) {
            if (!whole_group(in + i, to + done))
                return false;
            done += 3;
            continue;
        }
        for (size_t k = 0; k < 4; k++) {
            if (k <= n && place[in[i + k]] == 0)
                return false;
            bits = bits << 6 | (k <= n ? place[in[i + k]] - 1u : 0);
        }
        if (n == 0 || (bits & (n == 1 ? 0xffff : 0xff)))
            return false;
        for (size_t k = 0; k < n; k++)
            to[done++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    return true;
}
