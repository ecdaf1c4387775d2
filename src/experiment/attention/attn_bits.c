/* experiment/attention/attn_bits.c - rows of a mask as words of 64 bits, read from and put into the
 * one long row of bits a caller has. */
#include "experiment/attention/attn_gate.h"

#include <endian.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "probe/system/isa_cap.h"

/* Up to 64 bits from bit `at` on; touches no byte beyond them. */
static uint64_t take(const uint8_t *mask, uint64_t at, unsigned n)
{
    const uint8_t *from = mask + at / 8;
    unsigned skip = (unsigned)(at % 8), n_bytes = (skip + n + 7) / 8;
    uint64_t bits = 0;

    if (n_bytes >= 8) {
        memcpy(&bits, from, sizeof bits);
        bits = le64toh(bits);
    } else {
        for (unsigned i = 0; i < n_bytes; i++)
            bits |= (uint64_t)from[i] << 8 * i;
    }
    bits >>= skip;
    if (n_bytes == 9)
        bits |= (uint64_t)from[8] << (64 - skip);
    return n < 64 ? bits & (((uint64_t)1 << n) - 1) : bits;
}

void as_attn_bits_get(const uint8_t *mask, uint64_t at, size_t n, uint64_t *words)
{
    for (size_t i = 0; i < as_attn_words(n); i++) {
        size_t left = n - i * 64;

        words[i] = take(mask, at + i * 64, left < 64 ? (unsigned)left : 64);
    }
}

void as_attn_bits_put(uint8_t *mask, uint64_t at, size_t n, const uint64_t *words)
{
    for (size_t i = 0; i < as_attn_words(n); i++) {
        size_t left = n - i * 64;
        unsigned skip = (unsigned)((at + i * 64) % 8), size = left < 64 ? (unsigned)left : 64;
        unsigned n_bytes = (skip + size + 7) / 8;
        uint8_t *to = mask + (at + i * 64) / 8;
        uint64_t bits = words[i] << skip;

        for (unsigned b = 0; b < n_bytes && b < 8; b++)
            to[b] |= (uint8_t)(bits >> 8 * b);
        if (n_bytes == 9)
            to[8] |= (uint8_t)(words[i] >> (64 - skip));
    }
}

void as_attn_bits_trim(uint64_t *words, size_t n_words, size_t n)
{
    size_t i = n / 64;

    if (i < n_words && n % 64 > 0)
        words[i++] &= ((uint64_t)1 << n % 64) - 1;
    for (; i < n_words; i++)
        words[i] = 0;
}

static uint64_t squeeze_plain(uint64_t from, uint64_t keep)
{
    uint64_t to = 0;

    for (unsigned n = 0; keep; n++, keep &= keep - 1)
        to |= (from >> __builtin_ctzll(keep) & 1) << n;
    return to;
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) static uint64_t squeeze_bmi2(uint64_t from, uint64_t keep)
{
    return _pext_u64(from, keep);
}
#endif

void as_attn_bits_squeeze(const uint64_t *from, const uint64_t *keep, size_t n_words, uint64_t *to)
{
    uint64_t (*squeeze)(uint64_t, uint64_t) = squeeze_plain;
    size_t at = 0;

#if defined(__x86_64__)
    if (as_isa_get() >= AS_ISA_AVX2) /* x86-64-v3 has BMI2 */
        squeeze = squeeze_bmi2;
#endif
    memset(to, 0, n_words * sizeof *to);
    for (size_t i = 0; i < n_words; i++) {
        uint64_t bits;

        if (!keep[i])
            continue;
        bits = squeeze(from[i], keep[i]);
        to[at / 64] |= bits << at % 64;
        if (at % 64 > 0 && at / 64 + 1 < n_words)
            to[at / 64 + 1] |= bits >> (64 - at % 64);
        at += (size_t)__builtin_popcountll(keep[i]);
    }
}

uint64_t as_attn_bits_count(const uint64_t *words, size_t n_words)
{
    uint64_t n = 0;

    for (size_t i = 0; i < n_words; i++)
        n += (uint64_t)__builtin_popcountll(words[i]);
    return n;
}
