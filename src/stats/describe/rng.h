/* stats/describe/rng.h - random numbers that are the same for the same seed.
 * The generator is xoshiro256**, seeded through splitmix64: bits are the same on every machine. */
#ifndef AS_STATS_DESCRIBE_RNG_H
#define AS_STATS_DESCRIBE_RNG_H

#include <stdint.h>

struct as_rng {
    uint64_t s[4]; /* never all zero */
};

/* Any seed will do, 0 too. */
void as_rng_seed(struct as_rng *rng, uint64_t seed);

/* 64 random bits. */
uint64_t as_rng_next(struct as_rng *rng);

/* Below `bound`, all equally likely; 0 when bound is 0. */
uint64_t as_rng_below(struct as_rng *rng, uint64_t bound);

/* In [0, 1), a multiple of 2^-53. */
double as_rng_unit(struct as_rng *rng);

/* Mean 0, standard deviation 1. */
double as_rng_normal(struct as_rng *rng);

#endif
