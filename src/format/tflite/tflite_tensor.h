/* format/tflite/tflite_tensor.h - the tensors of a TensorFlow Lite file: types, quantization,
 * constants. Shared by the two halves of the reader. */
#ifndef AS_FORMAT_TFLITE_TFLITE_TENSOR_H
#define AS_FORMAT_TFLITE_TFLITE_TENSOR_H

#include "format/mapped_file.h"
#include "format/tflite/flatbuffer.h"
#include "format/tflite/tflite_lower.h"
#include "model/graph/graph.h"

/* What one TensorFlow Lite file may have. */
enum {
    AS_TFLITE_MAX_TENSORS = 200000, /* of all subgraphs, each as often as it is used */
    AS_TFLITE_MAX_BODIES = 4096,    /* subgraphs, each as often as it is used */
    AS_TFLITE_MAX_CODES = 65536,
};

struct as_tflite {
    struct as_model *model;
    struct as_flat flat;
    struct as_flat_vector buffers, subgraphs, codes;
    struct as_tflite_code *ops; /* one for each of `codes` */
    uint8_t *busy, *used;       /* for each subgraph: being read now, read at all */
    uint32_t n_bodies, n_tensors;
    uint64_t n_nodes;
};

struct as_tflite_code {
    const char *name;
    const struct as_tflite_row *row; /* how it is lowered; NULL: it stays `op` */
    enum as_op op;
};

/* The bytes of a buffer; size 0 when it is empty. */
AS_MUST_USE int as_tflite_buffer(struct as_tflite *r, uint64_t index, uint64_t *at, uint64_t *size);

/* Adds tensor `t` to the graph as a value of its own. */
AS_MUST_USE int as_tflite_tensor(struct as_tflite *r, struct as_graph *graph,
                                 const struct as_flat_table *t);

/* After nodes and inputs are known: a tensor nobody makes may be a variable, which begins as zeros,
 * or be empty. `t` is the tensor of value `id`. */
AS_MUST_USE int as_tflite_settle(struct as_tflite *r, const struct as_flat_table *t, uint32_t id);

/* Gives the unknown dimensions of an input names that the user can set. */
AS_MUST_USE int as_tflite_symbols(struct as_tflite *r, uint32_t id);

#endif
