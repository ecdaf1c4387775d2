/* model/weights/weight_elements.h - the numbers of a weight as doubles, whatever they are stored
 * as. Signs are not kept everywhere: only sizes are promised. */
#ifndef AS_MODEL_WEIGHTS_WEIGHT_ELEMENTS_H
#define AS_MODEL_WEIGHTS_WEIGHT_ELEMENTS_H

#include "model/graph/graph.h"

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

#endif
