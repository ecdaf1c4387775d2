/* measure/tokens/carried_state.h - which outputs of a model are inputs of its next run: caches of
 * keys and values, states of recurrent networks. Found by name and type; what is ambiguous is left
 * alone. */
#ifndef AS_MEASURE_TOKENS_CARRIED_STATE_H
#define AS_MEASURE_TOKENS_CARRIED_STATE_H

#include "engine/engine.h"

struct as_state_pair {
    const char *output, *input; /* borrowed from the model */
    uint32_t output_value, input_value;
    bool given;   /* by the user, not found by name */
    bool growing; /* shapes are fixed, and the output is longer along one axis: a cache that cannot
                     go in again */
};

struct as_state_pairs {
    struct as_state_pair *at; /* in the order of inputs */
    size_t n;
    struct as_loop_pair *loops; /* those that can go in again, for the engine's options */
    size_t n_loops;
};

/* `given` are n texts "OUTPUT=INPUT" that come before what names say. Looks at types as the file
 * declares them. USAGE for a text that names nothing, twice the same, or types that do not fit. */
AS_MUST_USE int as_state_pairs_find(struct as_state_pairs *pairs, const struct as_model *model,
                                    const char *const *given, size_t n_given,
                                    struct assay_error *err);
void as_state_pairs_fini(struct as_state_pairs *pairs);

/* The type as the file has it, whatever was inferred since. */
static inline const struct as_type *as_declared_type(const struct as_value *value)
{
    return value->declared.dtype != AS_DTYPE_UNKNOWN ? &value->declared : &value->type;
}

/* Whether the names alone say so: past_key_values.0.key and present.0.key, state and stateN. */
bool as_state_names_match(const char *input, const char *output);

#endif
