/* model/cost/attention.h - finds attention in a graph: softmax(QK')V made of plain operators, or
 * single operators that are one. */
#ifndef AS_MODEL_COST_ATTENTION_H
#define AS_MODEL_COST_ATTENTION_H

#include "model/cost/cost.h"

/* Fills costs->attentions and the rows that belong to them. `row_of` gives for each value the row
 * that makes it, or AS_NONE. */
AS_MUST_USE int as_attentions_find(struct as_costs *costs, const struct as_model *model,
                                   const uint32_t *row_of, struct assay_error *err);

/* True when the mask `value` is made of a lower triangle: a constant, a Trilu, a comparison of
 * positions. */
bool as_mask_is_causal(const struct as_model *model, uint32_t value);

#endif
