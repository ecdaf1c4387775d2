/* experiment/attention/attn_bits.h - rows of a mask as words of 64 bits, read from and put into the
 * one long row of bits a caller has. A word's least significant bit comes first. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_BITS_H
#define AS_EXPERIMENT_ATTENTION_ATTN_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Words a row of `n` bits takes. */
static inline size_t as_attn_words(size_t n)
{
    return (n + 63) / 64;
}

/* The `n` bits from bit `at` of the mask on; the others of the last word are 0. */
void as_attn_bits_get(const uint8_t *mask, uint64_t at, size_t n, uint64_t *words);

/* Adds `n` bits to a mask that has none there yet. */
void as_attn_bits_put(uint8_t *mask, uint64_t at, size_t n, const uint64_t *words);

/* Keeps the first `n` bits and clears what follows in the words. */
void as_attn_bits_trim(uint64_t *words, size_t n_words, size_t n);

/* Moves the bits of `from` where `keep` has one next to each other; `to` has `n_words` too. */
void as_attn_bits_squeeze(const uint64_t *from, const uint64_t *keep, size_t n_words, uint64_t *to);

uint64_t as_attn_bits_count(const uint64_t *words, size_t n_words);

#endif
