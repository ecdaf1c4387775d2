/* model/weights/parameters.h - the constants of a model told apart: parameters, buffers, tables,
 * masks. A tensor used twice is counted once, and so are two names of one place of the file.
 * Tensors that only hold equal content are parameters of their own: found, and counted each. */
#ifndef AS_MODEL_WEIGHTS_PARAMETERS_H
#define AS_MODEL_WEIGHTS_PARAMETERS_H

#include "model/graph/graph.h"

#define AS_ROLES(X)                                                                                \
    X(PARAMETER, "parameter") /* looks trained: weights, biases, scales, embeddings */             \
    X(BUFFER, "buffer") /* kept but not trained: running mean and variance, tables of sines */     \
    X(QUANT, "quantization") /* scales and zero points */                                          \
    X(INDEX, "index")        /* shapes, axes, positions: integers that steer */                    \
    X(MASK, "mask")          /* true/false, or zeros and minus infinities */                       \
    X(CONSTANT, "constant")  /* single numbers and what else is no parameter */                    \
    X(UNUSED, "unused")      /* no node reads it */

enum as_role {
#define X(name, word) AS_ROLE_##name,
    AS_ROLES(X)
#undef X
        AS_ROLE_COUNT
};

const char *as_role_name(enum as_role role);

/* One constant tensor of the file (initializer, Constant node, inside a branch) or made by a node
 * from constants alone where it serves as a weight (ConstantOfShape). */
struct as_param {
    uint32_t value;
    enum as_role role;
    const char *layer; /* label of the first node that uses it, "" when none does */
    uint64_t elems;    /* 0 for another name of one already counted */
    uint64_t bytes;    /* of these in the file's dtype */
    uint64_t stored_elems, stored_bytes; /* in the file; also of another name of one place */
    uint32_t n_uses;
    uint32_t tied_to;  /* index of the param at the same place of the file, or AS_NONE */
    uint32_t equal_to; /* index of an earlier param elsewhere with equal content, or AS_NONE */
    uint32_t n_equal;  /* later params that are equal to this one */
    bool generated;    /* not stored: made when the model runs */
};

struct as_param_sum {
    uint64_t tensors, elems, bytes;
};

struct as_params {
    struct as_param *params; /* in the order of first use; then unused ones */
    size_t n_params;
    struct as_param_sum by_role[AS_ROLE_COUNT];   /* each number once */
    struct as_param_sum by_dtype[AS_DTYPE_COUNT]; /* parameters and buffers only */
    uint64_t parameters, parameter_bytes;         /* role PARAMETER, each once */
    uint64_t trainable;                           /* parameters of a float dtype */
    uint64_t frozen;               /* parameters of an integer or block dtype, and buffers */
    uint64_t stored, stored_bytes; /* all constants in the file, each place of it once */
    uint64_t tied_elems;           /* of other names of a place counted already */
    uint64_t equal_tensors;        /* parameters that hold the same content as another, and that */
    uint64_t equal_bytes;          /* what sharing them would save */
    bool ties_cut;                 /* too many tensors look alike: not all were compared */
    uint64_t shared_uses;          /* parameters that several nodes use */
    double compression; /* bytes as fp32 / bytes as stored, of the parameters; quantization
                           scales count as stored bytes; NaN: there are none */
    struct as_arena arena;
};

/* After as_infer_shapes(). `compare_bytes`: also look into the numbers to find tensors of equal
 * content (same dtype and bytes, or rows and columns exchanged; reads a few pages first and the
 * rest only of candidates). It changes no count: only tensors at the same place of the file are
 * tied. */
AS_MUST_USE int as_params_new(struct as_params **params, struct as_model *model, bool compare_bytes,
                              struct assay_error *err);
void as_params_free(struct as_params *params);

/* The constant behind a value, through Transpose, Reshape, Identity, Cast, Quantize and
 * DequantizeLinear and the like; AS_NONE when there is none. */
uint32_t as_constant_behind(const struct as_model *model, uint32_t value);

/* ---- param_scan ---- */

/* The constant behind a value and what lies between. */
struct as_behind {
    uint32_t value; /* or AS_NONE */
    bool dequantized;
};

/* as_constant_behind() for all values at once; `behind` has model->n_values entries. */
void as_behind_all(const struct as_model *model, struct as_behind *behind);

/* True when the node hands its input `i` on as it is, only moved, cast or scaled back. */
bool as_node_passes(const struct as_node *node, size_t i);

/* True for a constant that stands in the file, or that a node makes to serve as a weight. */
bool as_value_is_stored(const struct as_model *model, uint32_t value);

/* What a node's input says about a constant in it; `behind` says how it got there. */
enum as_role as_role_in(const struct as_model *model, const struct as_graph *graph,
                        const struct as_node *node, size_t i, const struct as_behind *behind);
/* The same from the name and type alone, where there is no graph. */
enum as_role as_role_by_name(const struct as_value *value);

/* Elements the constant stands for in a node that packs several in a byte; 0: as its type says. */
uint64_t as_packed_elems(const struct as_node *node, size_t i);

/* Finds params at the same place of the file and sets tied_to; the earlier one keeps the numbers.
 * Then, with `compare_bytes`, those of equal content, and sets equal_to. Where too many differ and
 * look alike to compare them all, ties_cut says so. */
AS_MUST_USE int as_params_tie(struct as_params *params, const struct as_model *model,
                              bool compare_bytes, struct assay_error *err);

#endif
