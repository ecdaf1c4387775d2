/* model/build/build_opset.h - which opset a described model needs, and what changes when it needs
 * more. Models are described in AS_BUILD_OPSET; only types and operators that it lacks raise it. */
#ifndef AS_MODEL_BUILD_BUILD_OPSET_H
#define AS_MODEL_BUILD_BUILD_OPSET_H

#include "model/build/builder.h"

enum { AS_OPSET_F8 = 19, AS_OPSET_4BIT = 21 };

/* The model is in `opset` or a later one. */
void as_build_need_opset(struct as_builder *b, int64_t opset);

/* The same for tensors of this dtype, wherever they are. */
void as_build_need_dtype(struct as_builder *b, unsigned dtype);

/* Says the nodes as the opset needed has them: from 18 on the axes of reductions are an input and
 * Split says into how many parts. */
void as_build_raise_nodes(struct as_builder *b);

#endif
