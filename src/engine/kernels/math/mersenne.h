/* engine/kernels/math/mersenne.h - the Mersenne Twister of 32 bits, seeded with one number.
 * For seeds that models carry: NumPy and others draw the same numbers from them. */
#ifndef AS_ENGINE_KERNELS_MATH_MERSENNE_H
#define AS_ENGINE_KERNELS_MATH_MERSENNE_H

#include <stdint.h>

enum { AS_MERSENNE_WORDS = 624 };

struct as_mersenne {
    uint32_t word[AS_MERSENNE_WORDS];
    unsigned at;
};

void as_mersenne_seed(struct as_mersenne *m, uint32_t seed);
uint32_t as_mersenne_next(struct as_mersenne *m);
/* In [0, 1), of 53 bits. */
double as_mersenne_unit(struct as_mersenne *m);

#endif
