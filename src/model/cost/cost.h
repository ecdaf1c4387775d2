/* model/cost/cost.h - what each node of a model costs: exact counts, in separate columns.
 * 1 MAC is one multiply and one add; FLOPs = 2 x MACs + elementwise + transcendental. */
#ifndef AS_MODEL_COST_COST_H
#define AS_MODEL_COST_COST_H

#include "model/graph/graph.h"

#define AS_COST_CONVENTION                                                                         \
    "1 MAC = 2 FLOPs; FLOPs = 2 x MACs + elementwise + transcendental; MACs are those of "         \
    "convolutions and GEMM calls only"

/* Counts of one execution. Sums that pass 2^64 stay at UINT64_MAX and are a finding. */
struct as_cost {
    uint64_t macs;           /* core: convolutions, matrix products, recurrent gates, attention */
    uint64_t elementwise;    /* add, multiply, compare, divide, bias ... one each */
    uint64_t transcendental; /* exp, log, tanh, erf, sqrt, pow ... one each */
    uint64_t padding_macs;   /* of macs: with the padding of a window, which kernels skip */
    uint64_t padding_ops;    /* of elementwise: the same of pools */
    uint64_t bytes_read;     /* every input once, weights too; of a lookup only the rows taken */
    uint64_t bytes_written;  /* every output once; 0 for one that only renames (Reshape ...) */
};

uint64_t as_cost_flops(const struct as_cost *cost);
/* Without those in the padding: what a kernel does at least. Rates are of these. */
uint64_t as_cost_executed_macs(const struct as_cost *cost);
uint64_t as_cost_executed_flops(const struct as_cost *cost);
void as_cost_add(struct as_cost *to, const struct as_cost *cost, uint64_t times);

enum as_cost_state {
    AS_COST_KNOWN,
    AS_COST_UNKNOWN_OP,    /* no rule for this operator */
    AS_COST_UNKNOWN_SHAPE, /* a dimension it depends on is not known */
    AS_COST_NOT_COUNTED,   /* in the branch of an If that is left out of the sums */
    AS_COST_COUNT
};

/* What a rule sees; it fills `forward` but for bytes, and `backward` likewise. Bytes are counted by
 * the caller from the types, unless the rule sets them and says so. */
struct as_cost_ctx {
    const struct as_model *model;
    const struct as_graph *graph;
    const struct as_node *node;
    int64_t opset;
    struct as_cost *forward, *backward;
    const bool *needs_gradient; /* by value: a trained parameter, or made from one; NULL: none */
    uint64_t kept_floats; /* by the rule: what it makes inside and keeps for its backward pass */
    bool bytes_set;       /* by the rule: bytes of `forward` are its own */
    bool unknown;         /* by the rule: a dimension it needs is missing */
};

typedef void (*as_cost_rule)(struct as_cost_ctx *ctx);

/* What a training step must keep of a node until its backward pass. */
enum as_saved {
    AS_SAVED_NONE,   /* Add, Reshape: the gradient needs nothing */
    AS_SAVED_INPUTS, /* MatMul, Conv: the inputs (activations, not weights) */
    AS_SAVED_OUTPUT, /* Relu, Softmax, Sigmoid, Tanh */
    AS_SAVED_BOTH,
    AS_SAVED_MASK,    /* Dropout: a byte an element; TopK: an index */
    AS_SAVED_INDICES, /* MaxPool: the inputs, and the index of each that was chosen */
    AS_SAVED_COUNT
};

struct as_op_cost {
    enum as_op op; /* AS_OP_UNKNOWN ends a table */
    as_cost_rule rule;
    enum as_saved saved;
    bool is_view; /* only renames: no bytes move and the output shares the input's memory */
};

/* NULL when the operator has none. */
const struct as_op_cost *as_op_cost_find(enum as_op op);

/* One node in the order of execution, bodies of If, Loop and Scan after their owner. */
struct as_cost_row {
    const struct as_graph *graph;
    const struct as_node *node;
    unsigned depth;   /* of its graph */
    uint64_t times;   /* executions in one run of the model; 0: in a branch not taken */
    bool times_known; /* as inferred, or as an engine reported; false: `times` counts an iteration
                         of unknown number as one, or both sides of an If, of which the one with
                         more FLOPs that are known is counted once, the other not */
    enum as_cost_state state;
    bool constant; /* made from constants alone, or worked out with the shapes: computed once, when
                      the model is loaded; `forward` is 0 */
    struct as_cost forward, backward; /* of one execution; a body's are not in its owner's */
    struct as_cost backward_total;    /* of all executions: the first rounds of a loop may need
                                         fewer gradients than `backward`, which is of a later one */
    uint64_t parameters;              /* elements of the parameters it is the first to use */
    uint64_t parameter_bytes;         /* as stored */
    bool shares_parameters;           /* uses some that an earlier row uses too */
    uint64_t output_bytes;            /* of all outputs; 0 for views */
    uint64_t saved_bytes;             /* kept for its backward pass and by no earlier row */
    uint64_t inner_bytes;  /* of these, what is no tensor of the graph: masks, gates ... */
    uint64_t inner_floats; /* 0, or how many floats inner_bytes are */
    uint32_t attention;    /* index of the attention block it belongs to, or AS_NONE */
};

/* A block of nodes, or one node, that is an attention: softmax(QK')V. */
struct as_attention {
    const char *name;  /* of the softmax or of the node */
    const char *scope; /* common part of its nodes' names, or "" */
    uint64_t batch, heads, kv_heads, head_dim, value_dim, queries, keys;
    bool causal;          /* a mask that keeps the lower triangle was found */
    bool cross;           /* keys come from another input than queries */
    uint64_t macs;        /* of QK' and of the product with V, as executed densely */
    uint64_t causal_macs; /* those that a causal mask leaves: what a kernel that skips computes */
    uint64_t projection_macs; /* of Q, K, V and output, when found */
};

/* heads == kv_heads: "MHA"; 1 < kv_heads < heads: "GQA"; kv_heads == 1 < heads: "MQA". */
const char *as_attention_kind(const struct as_attention *attention);

struct as_costs;
/* Of a decoder without a cache: tokens computed again for each new one. A causal block whose
 * queries are all of its keys does so; one that is fed from a cache has more keys than queries. */
uint64_t as_costs_recomputed(const struct as_costs *costs);

struct as_kept;

struct as_costs {
    struct as_cost_row *rows;
    size_t n_rows;
    struct as_cost forward, backward;       /* of one run: rows x times */
    uint64_t batch;                         /* samples per inference; 1 where that is not known */
    const char *batch_why;                  /* it is not known; NULL: it is */
    size_t n_unknown_ops, n_unknown_shapes; /* rows that run and are not counted */
    bool times_known;                       /* of every row */
    bool overflow;
    struct as_attention *attentions;
    size_t n_attentions;
    struct as_decoder decoder; /* the model's, completed from the attention found */
    struct as_kept *kept;      /* kept.h: by a training step, of which node; in `arena` */
    struct as_arena arena;
};

/* After as_infer_shapes(). The rows point into the model, which must outlive them. */
AS_MUST_USE int as_costs_new(struct as_costs **costs, struct as_model *model,
                             struct assay_error *err);
void as_costs_free(struct as_costs *costs);

/* Gives each parameter to the first row that uses it, itself or through constants; as_costs_new()
 * does so. The rows then sum up to params->parameters, but for those that go straight from the file
 * to an output. */
struct as_params;
AS_MUST_USE int as_costs_attribute(struct as_costs *costs, const struct as_model *model,
                                   const struct as_params *params, struct assay_error *err);

#endif
