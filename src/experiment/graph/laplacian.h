/* experiment/graph/laplacian.h - the Laplacian of a weighted graph, row by row, and what is solved
 * with it. Edges count in both directions; those of a node with itself and those of weight 0 do
 * not. */
#ifndef AS_EXPERIMENT_GRAPH_LAPLACIAN_H
#define AS_EXPERIMENT_GRAPH_LAPLACIAN_H

#include <assay/experiment/attention.h>

#include "base/error.h"

enum { AS_LAPLACIAN_MAX_NODES = 1 << 24 };

/* {0} is empty. */
struct as_laplacian {
    size_t n;
    size_t *start; /* of each row, n + 1 */
    uint32_t *to;
    double *weight;
    double *degree;             /* sum of a node's weights */
    uint32_t *part;             /* which connected part it is in */
    double *r, *p, *ap;         /* what solving works in */
    size_t n_parts, n_unsolved; /* systems that did not come near enough */
};

AS_MUST_USE int as_laplacian_init(struct as_laplacian *l, const struct assay_attention_graph *graph,
                                  struct assay_error *err);
void as_laplacian_fini(struct as_laplacian *l);

/* y = L x */
void as_laplacian_apply(const struct as_laplacian *l, const double *x, double *y);

/* L y = b by conjugate gradients, where b adds up to 0 in every part. Counts a failure to come
 * near. */
void as_laplacian_solve(struct as_laplacian *l, const double *b, double *y);

#endif
