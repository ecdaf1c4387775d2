/* measure/tokens/token_inputs.h - what the inputs of a decoder mean: tokens, their positions, a
 * mask over past and present, the state; and their numbers at any place of a text. */
#ifndef AS_MEASURE_TOKENS_TOKEN_INPUTS_H
#define AS_MEASURE_TOKENS_TOKEN_INPUTS_H

#include "engine/engine.h"

/* ---- carried_state.c ---- */

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

/* ---- token_inputs.c ---- */

enum as_token_role {
    AS_TOKEN_OTHER,
    AS_TOKEN_IDS,       /* which tokens: [batch, tokens] or [tokens] */
    AS_TOKEN_POSITIONS, /* where they stand */
    AS_TOKEN_MASK,      /* [batch, all] or [batch, 1, tokens, all]: what counts */
    AS_TOKEN_PAST,      /* how many came before */
    AS_TOKEN_LAST,      /* the last one's position, of each sample */
    AS_TOKEN_ALL,       /* how many there are with these */
    AS_TOKEN_USE_CACHE, /* false in a run without a past */
    AS_TOKEN_STATE
};

/* Part of a text: `n` tokens after `past` others, for each sample. */
struct as_token_place {
    int64_t batch, past, n;
};

struct as_token_inputs {
    const struct as_model *model;
    uint8_t *roles;             /* by input of the main graph: enum as_token_role */
    struct as_dims *states;     /* by input: of a state as it begins */
    struct as_dims *given_dims; /* by input: what `infer` points to */
    struct as_infer_input *infer;
    struct as_infer_input *released_inputs; /* what as_token_inputs_release() leaves */
    struct as_infer_dim *released_dims;
    uint32_t ids;        /* the input of tokens, or AS_NONE */
    int64_t fixed_n;     /* tokens in every run, when the file has it so; else 0 */
    int64_t fixed_batch; /* likewise */
    uint64_t seed;
};

/* Model and pairs are borrowed. */
AS_MUST_USE int as_token_inputs_init(struct as_token_inputs *in, const struct as_model *model,
                                     const struct as_state_pairs *pairs, struct assay_error *err);
void as_token_inputs_fini(struct as_token_inputs *in);

/* Takes out of `infer` what it says of tokens, positions, masks and states: their dimensions, the
 * symbols that stand for how many tokens there are, and the batch, which the place has. The result
 * borrows from both. */
AS_MUST_USE int as_token_inputs_release(struct as_token_inputs *in, struct as_infer_options *infer,
                                        struct assay_error *err);

/* Adds to `infer` the sizes of inputs at that place, with a past also those of states once these
 * were kept; `open_past`: those that grow with the past are left open. What `infer` has already
 * stays. The result borrows from both. */
AS_MUST_USE int as_token_inputs_sizes(struct as_token_inputs *in, const struct as_token_place *at,
                                      bool open_past, struct as_infer_options *infer,
                                      struct assay_error *err);

/* After inference: keeps the dimensions that states begin with. */
void as_token_inputs_keep_states(struct as_token_inputs *in);

/* The axis of a state along which it grows: it is empty at first. -1: none. */
int as_token_state_axis(const struct as_token_inputs *in, uint32_t input);

/* Gives every input but states its numbers for that place. `all`: also those that do not depend on
 * it. */
AS_MUST_USE int as_token_inputs_fill(const struct as_token_inputs *in, struct as_engine *engine,
                                     const struct as_token_place *at, bool all,
                                     struct assay_error *err);

/* Makes every state of the engine begin, with `past` tokens of zeros in it. */
AS_MUST_USE int as_token_inputs_begin(const struct as_token_inputs *in, struct as_engine *engine,
                                      int64_t past, struct assay_error *err);

#endif
