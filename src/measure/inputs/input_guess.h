/* measure/inputs/input_guess.h - numbers for an input that nobody gave: such that the model runs on
 * them and does the work it would do. By what the input is used for first, by its name second. */
#ifndef AS_MEASURE_INPUTS_INPUT_GUESS_H
#define AS_MEASURE_INPUTS_INPUT_GUESS_H

#include "measure/inputs/model_inputs.h"

struct as_input_guess {
    const struct as_model *model;
    uint32_t value; /* the input */
    enum as_input_fill fill;
    uint64_t seed; /* of this input */
    bool is_state; /* goes from run to run */
};

/* Fills `val`, a tensor with memory, and says how. */
AS_MUST_USE int as_input_guess_fill(const struct as_input_guess *guess, struct as_val *val,
                                    char *how, size_t capacity, struct assay_error *err);

#endif
