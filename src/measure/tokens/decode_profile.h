/* measure/tokens/decode_profile.h - the second phase of a text model with a cache: one new token
 * after a text of a given length, measured as any model is, in a model of its own. */
#ifndef AS_MEASURE_TOKENS_DECODE_PROFILE_H
#define AS_MEASURE_TOKENS_DECODE_PROFILE_H

#include "measure/latency/profile_run.h"
#include "measure/tokens/token_inputs.h"

/* Which tokens one inference takes, and how many are in its cache. */
struct as_token_phase {
    bool has_cache;      /* a cache that grows, and tokens that go in */
    int64_t batch;       /* samples */
    int64_t tokens;      /* new ones of each sample */
    int64_t past;        /* in the cache */
    int64_t fixed_batch; /* the file has it so; else 0 */
    bool one_by_one;     /* the file takes a single token in every inference */
};

/* Of a model as it was inferred. */
AS_MUST_USE int as_token_phase_find(struct as_token_phase *phase, const struct as_model *model,
                                    const struct as_state_pairs *pairs, struct assay_error *err);

/* Infers `model` for one new token of each of `batch` samples with `past` in the cache. `infer` is
 * as the user gave it; what it says of tokens and of the cache does not hold. The states found
 * along the way stay in `in`, which the caller has made of `model` and empties. */
AS_MUST_USE int as_decode_infer(struct as_token_inputs *in, struct as_model *model,
                                const struct as_token_place *at, struct as_infer_options *infer,
                                struct assay_error *err);

struct as_decode_profile {
    struct as_model *model; /* borrowed */
    struct as_token_place at;
    struct as_state_pairs pairs;
    struct as_token_inputs in;
    struct as_profile_run *run;
};

/* `options` are those of the profile of the prompt. `model`: of the same file, not used for
 * anything else. FORMAT when the model does not take such a context. */
AS_MUST_USE int as_decode_profile_init(struct as_decode_profile *decode, struct as_model *model,
                                       const struct as_token_place *at,
                                       const struct as_profile_options *options,
                                       struct assay_error *err);
void as_decode_profile_fini(struct as_decode_profile *decode);

#endif
