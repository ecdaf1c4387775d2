/* format/tflite/tflite_options.h - the options of TensorFlow Lite's operators, as attributes of
 * nodes. Attributes have the names of the schema; a field the file leaves out has the schema's
 * default. */
#ifndef AS_FORMAT_TFLITE_TFLITE_OPTIONS_H
#define AS_FORMAT_TFLITE_TFLITE_OPTIONS_H

#include "format/tflite/flatbuffer.h"
#include "model/graph/graph.h"

/* Subgraphs that an operator runs; filled by as_tflite_options(). */
struct as_tflite_bodies {
    uint32_t n;
    struct {
        const char *name;     /* of the attribute: "then", "else", "cond", "body", ... */
        int32_t subgraph;     /* as in the file, not checked */
        struct as_attr *attr; /* of the node, to be given the graph */
    } at[2];
};

/* The attributes of an operator table, in the arena. Whole numbers, truth values: AS_ATTR_INT;
 * padding "SAME" or "VALID", activations "NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH",
 * "SIGN_BIT", element types by our names ("f32"): AS_ATTR_TEXT. Attributes of `bodies` have no
 * graph yet. */
AS_MUST_USE int as_tflite_options(struct as_flat *flat, struct as_arena *arena,
                                  const struct as_flat_table *op, struct as_node *node,
                                  struct as_tflite_bodies *bodies);

/* The element type of a number in the file; false: there is none of that number. Resources and
 * variants are AS_DTYPE_UNKNOWN. */
bool as_tflite_dtype(uint64_t code, unsigned *dtype);

/* "CONV_2D"; NULL past the last we know. */
const char *as_tflite_op_name(uint64_t code);

#endif
