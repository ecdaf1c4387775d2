/* model/weights/weight_stats.h - how the weights of a model are distributed, read in one streaming
 * pass. Everything is on absolute values; exact but for the percentiles, whose error is stated. */
#ifndef AS_MODEL_WEIGHTS_WEIGHT_STATS_H
#define AS_MODEL_WEIGHTS_WEIGHT_STATS_H

#include "model/graph/graph.h"
#include "model/graph/tensor.h"
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

/* ---- weight_elements.c ---- */

/* Which constants stand for the scale and the zero point of an integer weight. */
struct as_weight_quant {
    uint32_t scale, zero; /* values; AS_NONE: none */
    int axis;             /* of the weight, along which scales lie; may be negative */
};

struct as_weight_numbers {
    const struct as_data *data;
    double *scales, *zeros; /* of integers: n_scales each */
    uint64_t n_scales, inner;
};

/* Where each value gets its scale, for every value of the model, by the nodes that use it;
 * as_free() it. NULL: no memory. */
struct as_weight_quant *as_weight_quants_new(const struct as_model *model);

/* 1: ready to be read; 0: of a kind that cannot be. `quants` may be NULL. */
AS_MUST_USE int as_weight_numbers_init(struct as_weight_numbers *numbers,
                                       const struct as_model *model, uint32_t value,
                                       const struct as_weight_quant *quants,
                                       struct assay_error *err);
void as_weight_numbers_fini(struct as_weight_numbers *numbers);

/* |w| of elements from `first` on, where a block begins; at most AS_WEIGHT_SLICE. `raw` has room
 * for 16 bytes each. NaN stays NaN. */
AS_MUST_USE int as_weight_numbers_read(const struct as_weight_numbers *numbers, uint64_t first,
                                       size_t n, double *out, void *raw, struct assay_error *err);

/* ---- weight_tally.c ---- */

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

/* ---- dequant.c ---- */

enum { AS_DEQUANT_MAX = 256 }; /* elements of a block, at most */

/* Whether blocks of this dtype can be read. */
bool as_dequant_can(unsigned dtype);

/* `n` elements from the beginning of a block on; the last block may be cut. The dtype is one that
 * can be read, and there are as many bytes as as_dtype_bytes() says. */
void as_dequant(unsigned dtype, const uint8_t *blocks, uint64_t n, float *out);

/* `n` numbers of a constant of blocks, f16 or bf16; `first` is at the start of a block. FORMAT when
 * the constant is not of whole blocks, UNSUPPORTED for a dtype that cannot be read. */
AS_MUST_USE int as_dequant_data(const struct as_data *data, uint64_t first, uint64_t n, float *out,
                                struct assay_error *err);

#endif
