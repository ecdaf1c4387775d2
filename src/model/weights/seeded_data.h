/* model/weights/seeded_data.h - weights that are computed instead of stored: each number follows
 * from the seed and its place alone, so any piece can be had at any time, in any order. */
#ifndef AS_MODEL_WEIGHTS_SEEDED_DATA_H
#define AS_MODEL_WEIGHTS_SEEDED_DATA_H

#include "model/graph/tensor.h"

enum as_seeded_kind {
    AS_SEEDED_UNIFORM, /* evenly in [mean - spread, mean + spread) */
    AS_SEEDED_NORMAL,  /* bell-shaped around mean with standard deviation spread, within 3.47 of it
                        */
    AS_SEEDED_COUNT
};

struct as_seeded {
    enum as_seeded_kind kind;
    float mean, spread;
};

/* A seed of its own for the tensor called `name`. */
uint64_t as_seeded_key(uint64_t seed, const char *name);

/* Data of `n` elements of f32, f16, bf16, f64, i8, u8, i4 or u4 that are made when asked for;
 * `generated` is set, and they count as stored. Integers are the nearest there are; those without a
 * sign lie around the middle of what they hold. NULL: no memory, too many, or another dtype. */
struct as_data *as_seeded_data(struct as_arena *arena, unsigned dtype, uint64_t n, uint64_t key,
                               const struct as_seeded *how);

/* The nearest half float, ties to even; too large becomes infinite. */
uint16_t as_f16_bits(float value);

#endif
