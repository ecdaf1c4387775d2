/* engine/op_needs.h - the inputs an operator cannot do without.
 * Kernels count on them: what lacks one is refused before anything runs. */
#ifndef AS_ENGINE_OP_NEEDS_H
#define AS_ENGINE_OP_NEEDS_H

#include <stddef.h>

#include "model/graph/op.h"

/* Bit i of an operator's entry: input i must be given. */
void as_op_needs(uint16_t inputs[AS_OP_COUNT]);

#endif
