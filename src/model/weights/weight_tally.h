/* model/weights/weight_tally.h - sums, counts and percentiles of numbers that come in slices.
 * Keeps either every number or a histogram of them, as the caller gives it room. */
#ifndef AS_MODEL_WEIGHTS_WEIGHT_TALLY_H
#define AS_MODEL_WEIGHTS_WEIGHT_TALLY_H

#include "model/weights/weight_stats.h"

#define AS_WEIGHT_BUCKETS 65536 /* sign-less top 16 bits of an f32: 8 of the fraction */
#define AS_WEIGHT_SLICE   8192  /* numbers; whole blocks of every dtype */

struct as_weight_tally {
    struct as_weight_stats stats; /* counts, min and max as they go */
    double sum, lost;             /* Neumaier's sum and what it lost */
    double m2;                    /* squared distances from the mean, by Chan's formula */
    uint64_t *buckets;            /* AS_WEIGHT_BUCKETS of them, or NULL */
    double *kept;                 /* room for every number, or NULL */
    size_t n_kept;
};

/* Adds numbers without sign, whose array is used as scratch. */
void as_weight_tally_add(struct as_weight_tally *tally, double *numbers, size_t n);

/* As if `into` had seen the numbers of `from` too; buckets are added unless they are shared,
 * kept numbers are not. */
void as_weight_tally_merge(struct as_weight_tally *into, const struct as_weight_tally *from);

/* The figures that need the whole. Percentiles from the kept numbers, which change their order, or
 * else from the buckets. */
void as_weight_tally_finish(struct as_weight_tally *tally);

#endif
