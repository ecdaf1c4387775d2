/* model/graph/node_labels.h - names for nodes in subgraphs that other nodes have too: the bodies of
 * an If may use the same names, and each of them may use those of the graph around it. */
#ifndef AS_MODEL_GRAPH_NODE_LABELS_H
#define AS_MODEL_GRAPH_NODE_LABELS_H

#include "model/graph/graph.h"

/* Labels such as "If_0/then/conv" for nodes of bodies whose label is not unique in the model.
 * Owners of the bodies are set already. Paths of hostile length are not made: these nodes keep
 * their name.
 */
AS_MUST_USE int as_node_labels_make(struct as_model *model, struct assay_error *err);

#endif
