/* report/graph/graph_picture.h - the graph of a model as a picture: a box for each operator that
 * computes with those that follow it, colored by its share of the MACs, repeated blocks once. */
#ifndef AS_REPORT_GRAPH_GRAPH_PICTURE_H
#define AS_REPORT_GRAPH_GRAPH_PICTURE_H

#include "base/output.h"
#include "model/cost/cost.h"

enum { AS_PICTURE_BOXES = 400, AS_PICTURE_OPS = 80, AS_PICTURE_PERIOD = 256 };

struct as_picture_box {
    const char *name; /* of the operator that computes, or of the first one; the model's */
    char ops[AS_PICTURE_OPS];
    size_t n_nodes; /* of one copy */
    size_t copies;  /* it stands for so many; 1: it is not repeated */
    uint64_t macs;  /* of all copies */
    double share;   /* of the model's MACs, of all copies; NaN: there are none */
};

/* Boxes from `first` on, `n` of them, that stand for `times` copies of themselves. */
struct as_picture_block {
    size_t first, n, times;
    double share; /* of the model's MACs, of all copies; NaN: there are none */
};

struct as_picture_edge {
    size_t from, to; /* boxes; from < to */
};

struct as_picture {
    const char *title;
    struct as_picture_box *boxes;
    size_t n_boxes;
    size_t n_left_out; /* boxes behind AS_PICTURE_BOXES */
    struct as_picture_block *blocks;
    size_t n_blocks;
    struct as_picture_edge *edges;
    size_t n_edges;
    struct as_arena arena;
};

/* `costs` are of `model`, whose names the picture borrows; so is `title`. Freed with
 * as_picture_fini(), also after a failure. */
AS_MUST_USE int as_picture_init(struct as_picture *picture, const struct as_model *model,
                                const struct as_costs *costs, const char *title,
                                struct assay_error *err);
void as_picture_fini(struct as_picture *picture);

/* "12.3 % of MACs", or the number of nodes where nothing is computed; "all 4: 12.3 % of MACs" of a
 * box that stands for its copies. */
void as_picture_text(const struct as_picture_box *box, char out[64]);

/* "12 × this block, 83.0 % of MACs together". */
void as_picture_block_text(const struct as_picture_block *block, char out[80]);

/* "#rrggbb": the darker, the larger its share is beside the largest one. */
void as_picture_color(const struct as_picture *picture, const struct as_picture_box *box,
                      char out[8]);

void as_picture_svg(const struct as_picture *picture, struct as_out *out);
/* For Graphviz. */
void as_picture_dot(const struct as_picture *picture, struct as_out *out);

#endif
