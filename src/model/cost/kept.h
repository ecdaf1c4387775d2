/* model/cost/kept.h - what a training step keeps of each node until its backward pass, and in whose
 * memory: as PyTorch's autograd does when it executes the nodes one by one. */
#ifndef AS_MODEL_COST_KEPT_H
#define AS_MODEL_COST_KEPT_H

#include "model/cost/cost_rules.h"

/* Where a node stands in a pattern that is one operator to autograd. */
enum as_kept_part {
    AS_KEPT_ITSELF, /* in none: keeps what the table of costs says */
    AS_KEPT_INSIDE, /* keeps nothing: the end of the pattern does */
    AS_KEPT_END,    /* keeps what goes into the pattern */
};

/* What single nodes keep besides, or instead. */
struct as_kept_extra {
    uint32_t x;         /* AS_KEPT_END: what goes into the pattern */
    uint64_t floats;    /* mean and deviation of each row */
    uint64_t copies[2]; /* elements of a copy of input 0 or 1 that is kept instead of it; 0: none */
};

/* By value; a node stands under its first output. */
struct as_kept {
    uint8_t *part;      /* enum as_kept_part */
    uint32_t *extra_of; /* number of its extra; 0: it has none */
    struct as_kept_extra *extras;
    uint32_t n_extras;
    /* The value whose memory it is in: itself, or through what only renames, turns or cuts. A
     * reshape of what was turned is a copy where no strides lead through it. */
    uint32_t *storage;
};

/* In `arena`. Types are inferred; limits on hostile models are those of the graph. */
AS_MUST_USE int as_kept_find(struct as_kept *kept, struct as_arena *arena,
                             const struct as_model *model, struct assay_error *err);

/* What the node keeps: input i, its first output, and the value that went into the pattern it ends
 * (AS_NONE: it ends none). `others`: gradients are computed of other inputs. `kept` may be NULL:
 * then nothing is known but the table. */
bool as_keeps_input(const struct as_kept *kept, const struct as_node *node, uint32_t i,
                    bool others);
bool as_keeps_output(const struct as_kept *kept, const struct as_node *node);
uint32_t as_keeps_origin(const struct as_kept *kept, const struct as_node *node);
/* Never NULL. */
const struct as_kept_extra *as_kept_extra_of(const struct as_kept *kept,
                                             const struct as_node *node);

/* A Dropout of ratio 0: nothing is dropped, in training either. */
bool as_drops_nothing(const struct as_model *model, const struct as_node *node);

/* To be filled; for nodes that count_extras() of kept.c makes place for. */
struct as_kept_extra *as_kept_extra_at(struct as_kept *kept, uint32_t out);

/* ---- kept_storage.c ---- */

/* Fills kept->storage, and the copies of GEMM calls. */
AS_MUST_USE int as_kept_storage_find(struct as_kept *kept, struct as_arena *arena,
                                     const struct as_model *model, struct assay_error *err);

#endif
