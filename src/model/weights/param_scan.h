/* model/weights/param_scan.h - what parameters and costs both ask of the constants of a model.
 * Arrays are by value and belong to the caller. */
#ifndef AS_MODEL_WEIGHTS_PARAM_SCAN_H
#define AS_MODEL_WEIGHTS_PARAM_SCAN_H

#include "model/weights/parameters.h"

/* The constant behind a value and what lies between. */
struct as_behind {
    uint32_t value; /* or AS_NONE */
    bool dequantised;
};

/* as_constant_behind() for all values at once; `behind` has model->n_values entries. */
void as_behind_all(const struct as_model *model, struct as_behind *behind);

/* True when the node hands its input `i` on as it is, only moved, cast or scaled back. */
bool as_node_passes(const struct as_node *node, size_t i);

/* True for a constant that stands in the file, or that a node makes to serve as a weight. */
bool as_value_is_stored(const struct as_model *model, uint32_t value);

/* What a node's input says about a constant in it; `behind` says how it got there. */
enum as_role as_role_in(const struct as_model *model, const struct as_graph *graph,
                        const struct as_node *node, size_t i, const struct as_behind *behind);
/* The same from the name and type alone, where there is no graph. */
enum as_role as_role_by_name(const struct as_value *value);

/* Elements the constant stands for in a node that packs several in a byte; 0: as its type says. */
uint64_t as_packed_elems(const struct as_node *node, size_t i);

/* Finds params that hold the same numbers and sets tied_to; the earlier one keeps them. Where too
 * many differ and look alike to compare them all, ties_cut says so. */
AS_MUST_USE int as_params_tie(struct as_params *params, const struct as_model *model,
                              bool compare_bytes, struct assay_error *err);

#endif
