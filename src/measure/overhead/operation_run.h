/* measure/overhead/operation_run.h - single operations of networks, each timed through the engine.
 * In rounds that visit every operation, so that a bad moment of the machine hits all of them. */
#ifndef AS_MEASURE_OVERHEAD_OPERATION_RUN_H
#define AS_MEASURE_OVERHEAD_OPERATION_RUN_H

#include "measure/latency/latency_run.h"

enum { AS_OPERATION_SIZE = 256, AS_OPERATION_MAX_SIZE = 4096, AS_OPERATION_ROUNDS = 6 };

/* In the order of the report: name, key, words for people. */
#define AS_OPERATIONS(X)                                                                           \
    X(ELEMENTWISE, "elementwise", "Elementwise")                                                   \
    X(MATMUL, "matmul", "Matrix multiply")                                                         \
    X(REDUCTION, "reduction", "Reduction")                                                         \
    X(CONV, "conv3x3", "Convolution 3x3")                                                          \
    X(DEPTHWISE, "depthwise_conv3x3", "Depthwise 3x3")                                             \
    X(ATTENTION, "attention", "Attention")                                                         \
    X(LAYER_NORM, "layer_norm", "Layer norm")                                                      \
    X(SOFTMAX, "softmax", "Softmax")                                                               \
    X(EMBEDDING, "embedding", "Embedding")                                                         \
    X(TRANSPOSE, "transpose", "Transpose")                                                         \
    X(ACTIVATION, "activation", "Gelu")

enum as_operation {
#define X(name, key, text) AS_OPERATION_##name,
    AS_OPERATIONS(X)
#undef X
        AS_OPERATION_COUNT
};

const char *as_operation_key(enum as_operation operation);
const char *as_operation_text(enum as_operation operation);

/* 0 means the default everywhere. */
struct as_operation_options {
    int64_t size;         /* from 1 to AS_OPERATION_MAX_SIZE; default 256 */
    unsigned threads;     /* default 1 */
    unsigned rounds;      /* default 6 */
    double round_s;       /* for one operation in one round; default 0.05 */
    uint64_t limit_bytes; /* as of an engine */
    void (*progress)(void *user, double share);
    void *user;
};

struct as_operation_point {
    enum as_operation operation; /* AS_OPERATION_COUNT: the call alone */
    char shape[80];              /* of its inputs: "2 of 32x256" */
    char kernel[96];             /* of its steps, each once; "reorder" for changes of layout */
    size_t n_steps;              /* that run, views not counted */
    uint64_t macs;               /* of one run, as flops and bytes are */
    uint64_t flops;              /* from the costs of its nodes */
    uint64_t executed_flops;     /* without those in padding: the rate is of these */
    uint64_t bytes;      /* read and written; what fused steps keep to themselves is not in it */
    uint64_t held_bytes; /* that they lie in: not more than bytes, or than the engine has */
    double *samples_ns;  /* of all rounds */
    size_t n_samples;
    struct as_latency_metrics figures;
    double least_round_ns, most_round_ns; /* medians of single rounds */
};

struct as_operation_run {
    int64_t size;
    unsigned threads, rounds;
    struct as_operation_point points[AS_OPERATION_COUNT];
    struct as_operation_point call; /* one number is negated: what a run costs that does nothing */
};

/* As a run keeps it: measure/overhead/overhead_fields.c. */
extern const struct as_json_shape as_operation_run_shape;

/* The first operation that fails is the result; USAGE for a size that is out of range. */
AS_MUST_USE int as_operation_run_new(struct as_operation_run **run,
                                     const struct as_operation_options *options,
                                     struct assay_error *err);
void as_operation_run_free(struct as_operation_run *run);

#endif
