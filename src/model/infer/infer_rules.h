/* model/infer/infer_rules.h - the shape rules of all operators, one table a family.
 * A new operator is one line in a family's table; infer.c puts them together. */
#ifndef AS_MODEL_INFER_INFER_RULES_H
#define AS_MODEL_INFER_INFER_RULES_H

#include "model/infer/infer_context.h"

struct as_op_rule {
    enum as_op op;       /* AS_OP_UNKNOWN ends a table */
    as_infer_rule infer; /* sets the types of the outputs */
    as_infer_rule
        fold; /* sets their numbers when those of the inputs are known; or NULL. Runs
                 after  `infer`, and only when an output is small and has no numbers yet */
};

/* Every family, in the file rules_<name>.c. */
#define AS_RULE_FAMILIES(X)                                                                        \
    X(math)      /* one element in, one out: arithmetic, activations, comparisons, casts */        \
    X(reduce)    /* along axes: Reduce*, ArgMax, Softmax, CumSum, TopK */                          \
    X(shape)     /* Reshape, Transpose, Concat, Split, Slice, Pad, Expand, Tile */                 \
    X(gather)    /* Gather*, Scatter*, OneHot, Where's kin by index */                             \
    X(make)      /* Constant, ConstantOfShape, Range, Shape, Size, Random*, windows */             \
    X(matmul)    /* MatMul, Gemm, Einsum, Det */                                                   \
    X(conv)      /* convolutions and pools */                                                      \
    X(norm)      /* normalizations, losses */                                                      \
    X(image)     /* Resize, GridSample, RoiAlign, DepthToSpace */                                  \
    X(rnn)       /* LSTM, GRU, RNN */                                                              \
    X(quant)     /* QuantizeLinear and the integer operators */                                    \
    X(signal)    /* DFT, STFT, MelWeightMatrix */                                                  \
    X(select)    /* outputs as long as the data says: NonZero, Unique, NonMaxSuppression */        \
    X(sequence)  /* Sequence*, Optional*, strings */                                               \
    X(control)   /* If, Scan, SequenceMap */                                                       \
    X(loop)      /* Loop */                                                                        \
    X(attention) /* com.microsoft's attentions */                                                  \
    X(microsoft) /* the rest of com.microsoft */                                                   \
    X(ml)        /* ai.onnx.ml and training */                                                     \
    X(tflite)    /* layers, elements, control */                                                   \
    X(tflite_shape)                                                                                \
    X(tflite_gather)

#define X(name) extern const struct as_op_rule as_rules_##name[];
AS_RULE_FAMILIES(X)
#undef X

/* All rules by operator; rule.infer is NULL for those nobody has written. */
void as_rules_collect(struct as_op_rule rules[AS_OP_COUNT]);

#endif
