/* format/gguf/gguf_graph.h - the decoder that a GGUF file means: nodes over its tensors.
 * A file holds no graph, only the name of an architecture; for those we know it is built here. */
#ifndef AS_FORMAT_GGUF_GGUF_GRAPH_H
#define AS_FORMAT_GGUF_GGUF_GRAPH_H

#include "format/gguf/gguf_meta.h"

/* Fills model->main with one pass over "seq" new tokens of "batch" sequences and sets has_graph.
 * When the architecture is not known, or its tensors are not as it needs them, the graph stays
 * without nodes and a finding says why. Fails when memory runs out. */
AS_MUST_USE int as_gguf_build_graph(struct as_gguf *g);

#endif
