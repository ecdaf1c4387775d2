/* stats/describe/rng.c - random numbers that are the same for the same seed. */
#include "stats/describe/rng.h"

#include <math.h>

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Four outputs of splitmix64, which are never all zero. */
void as_rng_seed(struct as_rng *rng, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        rng->s[i] = z ^ z >> 31;
    }
}

uint64_t as_rng_next(struct as_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t out = rotate(s[1] * 5, 7) * 9, carry = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= carry;
    s[3] = rotate(s[3], 45);
    return out;
}

/* Draws just enough bits, and again while the value is too great: twice on average at worst. */
uint64_t as_rng_below(struct as_rng *rng, uint64_t bound)
{
    unsigned drop;
    uint64_t value;

    if (bound <= 1)
        return 0;
    drop = (unsigned)__builtin_clzll(bound - 1);
    do
        value = as_rng_next(rng) >> drop;
    while (value >= bound);
    return value;
}

double as_rng_unit(struct as_rng *rng)
{
    return (double)(as_rng_next(rng) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method: a point in the unit disc gives two normal numbers; one is enough. */
double as_rng_normal(struct as_rng *rng)
{
    double a, r;

    do {
        double b;

        a = 2 * as_rng_unit(rng) - 1;
        b = 2 * as_rng_unit(rng) - 1;
        r = a * a + b * b;
    } while (r >= 1 || r == 0);
    return a * sqrt(-2 * log(r) / r);
}
