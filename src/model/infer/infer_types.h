/* model/infer/infer_types.h - types of sequences and optionals, and what two types have in common.
 * What differs becomes unknown, so that a merged type holds for both. */
#ifndef AS_MODEL_INFER_INFER_TYPES_H
#define AS_MODEL_INFER_INFER_TYPES_H

#include "model/infer/infer_context.h"

/* Above this many elements a sequence keeps one common type only. */
#define AS_SEQUENCE_MAX 1024

/* True while one inference may copy `n` more elements: each copy is whole, so that many of them
 * would be quadratic. */
bool as_type_may_copy(const struct as_infer *ctx, int64_t n);

/* The type that holds for both. False: no memory. */
AS_MUST_USE bool as_type_merge(struct as_arena *arena, const struct as_type *a,
                               const struct as_type *b, struct as_type *out);

/* What all elements of a sequence have in common; unknown when nothing is. */
AS_MUST_USE bool as_type_common(struct as_arena *arena, const struct as_type *sequence,
                                struct as_type *out);

/* A sequence or optional of `n` elements copied into the arena. Those that cannot be held, and
 * copies past what one inference may make, leave a common type or none. False: no memory. */
AS_MUST_USE bool as_type_list(struct as_infer *ctx, enum as_value_kind kind,
                              const struct as_type *elems, size_t n, struct as_type *out);
/* A sequence of an unknown number of elements that are all like `elem`. */
AS_MUST_USE bool as_type_many(struct as_arena *arena, const struct as_type *elem,
                              struct as_type *out);

/* The same tensor with one more axis of length `dim` at `axis`, or with that axis taken away; of
 * unknown rank when it cannot be. */
AS_MUST_USE bool as_type_with_axis(struct as_arena *arena, const struct as_type *type, int axis,
                                   int64_t dim, struct as_type *out);
AS_MUST_USE bool as_type_without_axis(struct as_arena *arena, const struct as_type *type, int axis,
                                      struct as_type *out);

#endif
