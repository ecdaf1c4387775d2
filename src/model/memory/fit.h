/* model/memory/fit.h - the largest batch, context or dimension that a given memory holds.
 * Infers the model again and again, so its shapes and findings change; at the end they are those of
 * the options given. */
#ifndef AS_MODEL_MEMORY_FIT_H
#define AS_MODEL_MEMORY_FIT_H

#include "model/infer/infer.h"
#include "model/memory/train_memory.h"

enum as_fit_what { AS_FIT_BATCH, AS_FIT_CONTEXT, AS_FIT_DIM };

struct as_fit_question {
    enum as_fit_what what;
    const char *symbol; /* of AS_FIT_DIM; of AS_FIT_CONTEXT: NULL to use the KV cache alone */
    uint64_t memory_bytes;
    uint64_t max; /* the largest value to try; 0: 2^20 */
    bool training;
    struct as_train_options train;
    unsigned kv_bits; /* 0: 16 */
};

/* Inference needs the constants in use as stored, the planned arena of the activations and, for a
 * context, the key and value cache of that many tokens of each sequence; training what
 * train_memory.h says. */
struct as_fit_answer {
    uint64_t value;        /* the largest that fits; 0: not even 1 does */
    uint64_t bytes;        /* needed by it; 0 when none fits */
    uint64_t bytes_at_one; /* needed by 1 */
    bool at_max;           /* more may fit: `max` was reached */
    bool at_context;       /* more may fit, but the decoder's context ends here */
    bool exact;            /* false: some sizes were not known, so it needs more than said here */
    unsigned probes;       /* how often the model was inferred to find it */
};

/* What a size needs is taken to grow with it; that the answer fits and the next size does not was
 * tried. A size at which the model cannot work counts as one that does not fit, and so does one at
 * which attention is longer than the decoder's context, where that is known; at 1 it is an error.
 * ASSAY_ERR_NOTFOUND when a context is asked for and no cache is known, ASSAY_ERR_USAGE when
 * anything else is asked of weights without a graph. */
AS_MUST_USE int as_fit(struct as_fit_answer *out, struct as_model *model,
                       const struct as_infer_options *base, const struct as_fit_question *question,
                       struct assay_error *err);

#endif
