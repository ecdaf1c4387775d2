/* model/infer/infer_subgraph.h - the graphs inside If, Loop, Scan and SequenceMap while types are
 * inferred. A body may be inferred many times; how much of that one inference may do is limited
 * here. */
#ifndef AS_MODEL_INFER_INFER_SUBGRAPH_H
#define AS_MODEL_INFER_INFER_SUBGRAPH_H

#include "model/infer/infer_context.h"

/* Sets input `i` of a body. Where the type says nothing, what the body declares is kept. */
void as_body_set(struct as_graph *body, size_t i, const struct as_type *type, struct as_data *data);
/* Output `i` of a body; never NULL: one that is left out has an unknown type. */
const struct as_value *as_body_output(const struct as_graph *body, size_t i);

/* True while a body may be inferred `times` times more than once. */
bool as_body_may_repeat(const struct as_infer *ctx, const struct as_graph *body, int64_t times);

/* Infers a body whose inputs are set. `again`: not for the first time, so nothing is found twice
 * and the limits count. Past them *ran is false, and what the body held stays. */
AS_MUST_USE int as_body_run(struct as_infer *ctx, struct as_graph *body, bool again, bool *ran);

/* Compares the rounds of a body that is gone through one by one: what is not of the same type, or
 * is not made as often, in every round. Starts zeroed. */
struct as_rounds {
    uint64_t *prints; /* of every value in the body and in the bodies inside it */
    bool *varied;
    size_t n;
};
/* After each round. */
AS_MUST_USE int as_rounds_note(struct as_infer *ctx, const struct as_graph *body,
                               struct as_rounds *rounds);
/* After the last one: marks the values that varied, and says so. */
void as_rounds_tell(const struct as_infer *ctx, const struct as_graph *body,
                    const struct as_rounds *rounds);
void as_rounds_fini(struct as_rounds *rounds);

/* Infers a body until the types it carries from one round to the next hold for every round.
 * types[k] goes into input `first_in + k` and comes out of output `first_out + k`. */
struct as_carry {
    struct as_graph *body;
    size_t first_in, first_out, n;
    struct as_type *types; /* n of them: at the start, then those that hold */
    bool again;            /* the body was inferred before */
};
/* *settled false: it did not come to rest, or was not looked at; no type of it can be used. */
AS_MUST_USE int as_body_settle(struct as_infer *ctx, const struct as_carry *carry, bool *settled);

#endif
