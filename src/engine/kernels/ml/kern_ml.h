/* engine/kernels/ml/kern_ml.h - what the files of the family ml show each other: lists in
 * attributes, and what classifiers do with their scores. */
#ifndef AS_ENGINE_KERNELS_ML_KERN_ML_H
#define AS_ENGINE_KERNELS_ML_KERN_ML_H

#include "engine/kernels/math/kern_typed.h"

int as_run_adagrad(struct as_kernel_ctx *k);
int as_run_adam(struct as_kernel_ctx *k);
int as_run_momentum(struct as_kernel_ctx *k);
int as_run_label_encoder(struct as_kernel_ctx *k);
int as_run_linear_classifier(struct as_kernel_ctx *k);
int as_run_linear_regressor(struct as_kernel_ctx *k);
int as_run_tree_classifier(struct as_kernel_ctx *k);
int as_run_tree_regressor(struct as_kernel_ctx *k);

/* The attribute when it is such a list, else NULL. */
const struct as_attr *as_listed(const struct as_kernel_ctx *k, const char *name,
                                enum as_attr_kind kind);

/* Examples and features of input 0: a vector is one example. */
void as_examples(const struct as_val *x, uint64_t *n, uint64_t *features);

/* Element `i` of an output of strings becomes a copy of `text`. */
AS_MUST_USE int as_put_text(struct as_kernel_ctx *k, struct as_val *out, uint64_t i,
                            struct as_text text);

/* What becomes of the scores of one example. */
enum as_ml_transform {
    AS_POST_NONE,
    AS_POST_SOFTMAX,
    AS_POST_LOGISTIC,
    AS_POST_SOFTMAX_ZERO,
    AS_POST_PROBIT
};
enum as_ml_transform as_read_post(const struct as_kernel_ctx *k);
void as_ml_transform(enum as_ml_transform post, double *scores, uint64_t n);

/* Labels of a classifier: words, or else whole numbers. */
struct as_labels {
    const struct as_attr *words, *numbers;
    uint64_t n;
};
AS_MUST_USE int as_read_labels(struct as_kernel_ctx *k, const char *numbers,
                               struct as_labels *labels);

/* Writes the label and the scores of one example. When `n` is 1 and there are two labels, the one
 * score is that of the second, and the first's is made from it. */
AS_MUST_USE int as_classify(struct as_kernel_ctx *k, const struct as_labels *labels,
                            uint64_t example, double *scores, uint64_t n);

#endif
