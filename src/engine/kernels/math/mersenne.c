/* engine/kernels/math/mersenne.c - the Mersenne Twister of 32 bits, seeded with one number.
 * For seeds that models carry: NumPy and others draw the same numbers from them. */
#include "engine/kernels/math/kern_math.h"

enum { MIDDLE = 397 };

void as_mersenne_seed(struct as_mersenne *m, uint32_t seed)
{
    m->word[0] = seed;
    for (uint32_t i = 1; i < AS_MERSENNE_WORDS; i++)
        m->word[i] = 1812433253u * (m->word[i - 1] ^ m->word[i - 1] >> 30) + i;
    m->at = AS_MERSENNE_WORDS;
}

static void turn(struct as_mersenne *m)
{
    for (unsigned i = 0; i < AS_MERSENNE_WORDS; i++) {
        uint32_t next = m->word[(i + 1) % AS_MERSENNE_WORDS];
        uint32_t y = (m->word[i] & 0x80000000u) | (next & 0x7fffffffu);

        m->word[i] = m->word[(i + MIDDLE) % AS_MERSENNE_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    m->at = 0;
}

uint32_t as_mersenne_next(struct as_mersenne *m)
{
    uint32_t y;

    if (m->at >= AS_MERSENNE_WORDS)
        turn(m);
    y = m->word[m->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double as_mersenne_unit(struct as_mersenne *m)
{
    uint32_t high = as_mersenne_next(m) >> 5, low = as_mersenne_next(m) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}
