/* tests/unit/stats_near.h - what the tests of src/stats share: cmocka, near equality, random
 * samples. Included first; every random array comes from a seed, so a failure repeats. */
#ifndef AS_TESTS_STATS_NEAR_H
#define AS_TESTS_STATS_NEAR_H

/* cmocka wants these before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "stats/describe/rng.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* Relative to the greater of 1 and the expected value. */
static inline void check_near(double got, double want, double tolerance, int line)
{
    if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want)))) {
        print_error("line %d: %.17g is not %.17g\n", line, got, want);
        fail();
    }
}
#define assert_near(got, want, tolerance) check_near(got, want, tolerance, __LINE__)

/* Latencies as they come: log-normal, with the shortest around 1 us. */
static inline void fill_durations(uint64_t *v, size_t n, uint64_t seed)
{
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    for (size_t i = 0; i < n; i++)
        v[i] = 1000 + (uint64_t)(20000 * exp(as_rng_normal(&rng)));
}

static inline void fill_normal(double *v, size_t n, uint64_t seed)
{
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    for (size_t i = 0; i < n; i++)
        v[i] = as_rng_normal(&rng);
}

static inline void shuffle_u64(uint64_t *v, size_t n, uint64_t seed)
{
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)as_rng_below(&rng, i);
        uint64_t swap = v[i - 1];

        v[i - 1] = v[j];
        v[j] = swap;
    }
}

#endif
