/* model/weights/weight_stats.h - how the weights of a model are distributed, read in one streaming
 * pass. Everything is on absolute values; exact but for the percentiles, whose error is stated. */
#ifndef AS_MODEL_WEIGHTS_WEIGHT_STATS_H
#define AS_MODEL_WEIGHTS_WEIGHT_STATS_H

#include "model/weights/parameters.h"

enum { AS_WEIGHT_PERCENTILES = 5 };
extern const int as_weight_percentiles[AS_WEIGHT_PERCENTILES]; /* 10, 25, 50, 75, 90 */

/* Percentiles are exact up to so many weights; above, a weight is known by the first 8 bits of its
 * fraction. */
#define AS_WEIGHT_EXACT_MAX (4u << 20)

/* Without a finite weight the figures of them are NaN. */
struct as_weight_stats {
    uint64_t total_weights; /* finite ones */
    uint64_t n_zero;
    uint64_t n_nan, n_inf;                    /* in no other figure */
    double mean, std, min, max;               /* of |w|; std of the population */
    double percentile[AS_WEIGHT_PERCENTILES]; /* between the nearest ranks, linearly */
    double percentile_error; /* largest relative error of a percentile; 0: exact; 1: one of them
                                is outside the normal range of f32 and only its place is known */
    uint64_t below_0001, below_001, below_01; /* |w| < 0.001, 0.01, 0.1 */
    uint64_t skipped; /* weights of a kind whose numbers we cannot read: most blocks, integers whose
                         scale is not found, tensors that are not there */
    uint64_t bytes_read;
};

/* Of all parameters together; `per_param` (params->n_params of them, or NULL) of each alone, zero
 * for what is no parameter or another name of one. Integers count as what they stand for where a
 * DequantizeLinear or QLinear node gives their scale, blocks of q4_0, q4_1, q5_0, q5_1 and q8_0
 * too. ASSAY_ERR_NOTFOUND "the model has no weights" when there are none; `progress` may be NULL
 * and is told after every few MiB. */
AS_MUST_USE int as_weight_stats_read(struct as_weight_stats *all, struct as_weight_stats *per_param,
                                     const struct as_model *model, const struct as_params *params,
                                     void (*progress)(void *user, uint64_t done, uint64_t of),
                                     void *user, struct assay_error *err);

#endif
