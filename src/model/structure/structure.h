/* model/structure/structure.h - nodes of a graph that cost time and compute nothing new, found by
 * reading it: Transposes that undo each other, chains of Casts, batch norms that were not folded.
 * Whether they matter is for those to say who know how long they take. */
#ifndef AS_MODEL_STRUCTURE_STRUCTURE_H
#define AS_MODEL_STRUCTURE_STRUCTURE_H

#include "base/arena.h"
#include "model/graph/graph.h"

/* Kind, id of the recommendation. */
#define AS_STRUCTURES(X)                                                                           \
    X(TRANSPOSE_PAIR, "transpose-pairs")                                                           \
    X(CAST_CHAIN, "cast-chains")                                                                   \
    X(BATCH_NORM, "unfused-batch-norm")

enum as_structure_kind {
#define X(name, rule) AS_STRUCTURE_##name,
    AS_STRUCTURES(X)
#undef X
        AS_STRUCTURE_COUNT
};

/* All places of one kind. */
struct as_structure {
    enum as_structure_kind kind;
    uint64_t n_places;
    const char *example; /* the first place: "turn0 and turn1" */
    const char **nodes;  /* labels of those that could go, without repeats */
    size_t n_nodes;
};

const char *as_structure_rule(enum as_structure_kind kind);

/* Fills `found`, one for each kind that occurs, in the order of the kinds. Names are those of the
 * model; lists are in `arena`. The model need not be inferred. */
AS_MUST_USE int as_structures_find(struct as_structure found[AS_STRUCTURE_COUNT], size_t *n_found,
                                   const struct as_model *model, struct as_arena *arena,
                                   struct assay_error *err);

#endif
