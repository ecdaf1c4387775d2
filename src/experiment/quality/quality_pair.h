/* experiment/quality/quality_pair.h - the sums over two vectors that every comparison is made of.
 */
#ifndef AS_EXPERIMENT_QUALITY_QUALITY_PAIR_H
#define AS_EXPERIMENT_QUALITY_QUALITY_PAIR_H

#include <assay/experiment/quality.h>

#include "base/error.h"

struct as_quality_sums {
    double aa, bb, ab;
    double apart; /* of the squares of differences */
    double most;  /* the greatest difference */
    uint64_t flips;
};

/* Refuses different lengths and what is not finite. */
AS_MUST_USE int as_quality_pair(const struct assay_vector *a, const struct assay_vector *b,
                                struct as_quality_sums *sums, struct assay_error *err);

double as_quality_cosine(const struct as_quality_sums *sums);

#endif
