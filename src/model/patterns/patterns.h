/* model/patterns/patterns.h - operators that exporters spell out as many nodes: LayerNorm, RMS
 * norm, Gelu, SiLU, HardSwish, Mish. One recognizer for whoever has a graph: the engine looks at
 * its steps, costs look at the nodes of the file. */
#ifndef AS_MODEL_PATTERNS_PATTERNS_H
#define AS_MODEL_PATTERNS_PATTERNS_H

#include "model/graph/graph.h"

/* The most operations that one pattern takes together. */
enum { AS_PATTERN_PARTS = 24 };

/* One operation of the graph looked at; values are numbers of its own. */
struct as_pattern_op {
    enum as_op op;
    int64_t opset;
    const struct as_node *spec; /* whose attributes count */
    const uint32_t *in;         /* AS_NONE where one is left out */
    uint32_t n_in, out;
    void *id; /* the caller's: tells operations apart */
};

/* What a pattern asks of a graph. Nothing here changes it. */
struct as_pattern_graph {
    const void *of; /* handed to each function */
    /* The operation that makes `value`, when it does that operator and nothing more. */
    bool (*maker)(const void *of, uint32_t value, struct as_pattern_op *op);
    /* Inputs that read it; UINT32_MAX when it is read from elsewhere too: an output of a graph. */
    uint32_t (*n_uses)(const void *of, uint32_t value);
    /* The number of a constant of one element; integers of a small list of them. */
    bool (*scalar)(const void *of, uint32_t value, double *out);
    bool (*list)(const void *of, uint32_t value, struct as_dims *out);
    /* A tensor whose dimensions are all known and stay the same; NULL: it is none. */
    const struct as_type *(*type)(const void *of, uint32_t value);
};

/* A pattern while it is matched: the operations found so far, without the last one, which stays. */
struct as_pattern_match {
    struct as_pattern_op parts[AS_PATTERN_PARTS];
    unsigned n;
};

/* ---- pattern_query.c ---- */

/* Equal but for the rounding of a decimal constant. */
bool as_pattern_near(double a, double b);
/* False: too many. An operation that is there already is not added again. */
bool as_pattern_add(struct as_pattern_match *m, const struct as_pattern_op *op);
/* Whether nobody but `last` and the parts reads what the parts make. */
bool as_pattern_closed(const struct as_pattern_graph *g, const struct as_pattern_match *m,
                       const struct as_pattern_op *last);
/* The maker when it does `wanted`. */
bool as_pattern_made_by(const struct as_pattern_graph *g, uint32_t value, enum as_op wanted,
                        struct as_pattern_op *op);
/* The maker when one single input reads the value. */
bool as_pattern_inner(const struct as_pattern_graph *g, uint32_t value, struct as_pattern_op *op);
bool as_pattern_is_number(const struct as_pattern_graph *g, uint32_t value, double wanted);
/* Of two inputs, the one that is not `value`; AS_NONE when neither is. */
uint32_t as_pattern_other(const struct as_pattern_op *op, uint32_t value);
/* The bounds of a Clip of any opset, infinite where there is none; false: they are not known. */
bool as_pattern_clip_bounds(const struct as_pattern_graph *g, const struct as_pattern_op *clip,
                            double *low, double *high);
/* Tensors of equal dimensions and dtype. */
bool as_pattern_same_type(const struct as_pattern_graph *g, uint32_t a, uint32_t b);
/* A vector as long as the last dimension of `like`, of the same dtype. */
bool as_pattern_is_vector(const struct as_pattern_graph *g, uint32_t value, uint32_t like);

/* ---- pattern_norm.c ---- */

/* (x - mean) / sqrt(variance + eps) along the last axis, or x over the root of its mean square. */
struct as_norm_pattern {
    uint32_t x;
    uint32_t mean; /* AS_NONE: of the root mean square alone */
    double eps;
    uint32_t scale, shift; /* AS_NONE: the pattern has none */
};

/* Whether `last`, a Div or Mul, ends one, without scale and shift; or, an Add, ends TensorFlow's
 * way with both. The parts are closed, and x has the type of what comes out. */
bool as_pattern_norm(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                     struct as_pattern_match *m, struct as_norm_pattern *norm);

/* ---- pattern_activation.c ---- */

/* The operator that does the same: Gelu, QuickGelu (SiLU), HardSwish, HardSigmoid or Mish. */
struct as_activation_pattern {
    enum as_op op;
    int64_t opset;
    uint32_t x;
    struct as_attr attrs[2];
    uint32_t n_attrs;
};

/* Whether `last`, a Mul or Div, ends one. The parts are closed, and x has the type of what comes
 * out. */
bool as_pattern_activation(const struct as_pattern_graph *g, const struct as_pattern_op *last,
                           struct as_pattern_match *m, struct as_activation_pattern *found);

#endif
