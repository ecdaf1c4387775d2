/* model/memory/optimizer_state.h - what an optimizer remembers of every weight.
 * States are f32 whatever the weights are, but for the 8-bit ones. */
#ifndef AS_MODEL_MEMORY_OPTIMIZER_STATE_H
#define AS_MODEL_MEMORY_OPTIMIZER_STATE_H

#include "model/weights/parameters.h"

/* name, word, f32 state tensors of a parameter's size */
#define AS_OPTIMIZERS(X)                                                                           \
    X(SGD, "sgd", 0)                                                                               \
    X(SGD_MOMENTUM, "sgd-momentum", 1)                                                             \
    X(NESTEROV, "nesterov", 1)                                                                     \
    X(RMSPROP, "rmsprop", 1)                                                                       \
    X(ADAGRAD, "adagrad", 1)                                                                       \
    X(ADAM, "adam", 2)                                                                             \
    X(ADAMW, "adamw", 2)                                                                           \
    X(NADAM, "nadam", 2)                                                                           \
    X(AMSGRAD, "amsgrad", 3)                                                                       \
    X(LION, "lion", 1)                                                                             \
    X(ADAFACTOR, "adafactor", 0) /* rows + columns of each matrix instead */                       \
    X(ADAM8, "adam8bit", 0)      /* two states of one byte, and a scale a block of 2048 */         \
    X(LION8, "lion8bit", 0)

enum as_optimizer {
#define X(name, word, states) AS_OPTIMIZER_##name,
    AS_OPTIMIZERS(X)
#undef X
        AS_OPTIMIZER_COUNT
};

const char *as_optimizer_name(enum as_optimizer optimizer);

/* "?" for a number that is none. */
const char *as_optimizer_name(enum as_optimizer optimizer);

/* True for what a gradient is computed of: parameters of a float dtype, each number once. */
bool as_param_is_trained(const struct as_model *model, const struct as_param *param);

/* The optimizer's state for `params` in bytes, before sharding. Exact by tensor; UINT64_MAX when
 * that is passed. Adafactor keeps, of each tensor of two dimensions or more, one row and one column
 * of every matrix its last two dimensions make, and a vector whole; no first moment. */
uint64_t as_optimizer_bytes(const struct as_params *params, const struct as_model *model,
                            enum as_optimizer optimizer);

#endif
