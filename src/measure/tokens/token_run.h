/* measure/tokens/token_run.h - a decoder token by token while its context grows: the prompt in one
 * run, then one token a run, each beginning with the state that the one before left. Opens its own
 * engines. */
#ifndef AS_MEASURE_TOKENS_TOKEN_RUN_H
#define AS_MEASURE_TOKENS_TOKEN_RUN_H

#include "measure/tokens/token_inputs.h"

#define AS_TOKEN_PROMPT 16
#define AS_TOKEN_NEW    32

enum as_token_kind {
    AS_TOKENS_CACHED, /* a state goes from run to run */
    AS_TOKENS_FIXED,  /* it would, but shapes are fixed: one context alone */
    AS_TOKENS_WHOLE,  /* no state: every token means the whole text again */
    AS_TOKENS_STREAM, /* a state, but no tokens: pieces of a signal */
};

struct as_token_options {
    struct as_engine_options engine; /* its loops are not looked at */
    const struct as_state_pairs *pairs;
    int64_t batch;    /* 0: as declared, or 1 */
    int64_t prompt;   /* tokens; 0: 16, or fewer when the model takes no more */
    int64_t tokens;   /* new ones, or pieces of a stream; 0: 32, or fewer like that */
    unsigned repeats; /* runs of each step, of which the median is taken; 0: 1 */
    uint64_t seed;    /* of the tokens */
    /* Called once for each engine, when its inputs have been filled; may change those that do not
     * depend on the place in the text. May be NULL. */
    int (*fill)(void *user, struct as_engine *engine, struct assay_error *err);
    void *user;
};

/* One token for each sample, or one piece of a stream. */
struct as_token_step {
    int64_t context;      /* tokens it saw, itself among them; of a stream: which piece */
    double ns;            /* its run, and handing its state on */
    uint64_t cache_bytes; /* held for the next run, counted */
};

struct as_token_run {
    enum as_token_kind kind;
    int64_t batch, prompt;
    bool shortened;     /* fewer tokens than usual: with more it failed */
    double prompt_ns;   /* NaN: there was none */
    size_t prompt_runs; /* 1; or one for each token, when the file takes but one */
    double prompt_tokens_per_s;
    struct as_token_step *steps;
    size_t n_steps;
    double median_ns, p95_ns, first_ns, last_ns; /* NaN without steps */
    double slope_ns;        /* more, for each token of context; NaN with fewer than three */
    double tokens_per_s;    /* of all samples, from the median */
    double shapes_ns;       /* of the last step, spent on shapes alone; NaN: none were open */
    double profiled_ns;     /* the run that told so, as a whole */
    uint64_t formula_bytes; /* what the cache of the last context must be; 0: sizes are not known */
    uint64_t peak_bytes, peak_cache_bytes; /* of the last step: all memory of the engine */
    uint64_t parameter_bytes;
    uint64_t whole_macs;  /* to compute the text of the prompt's length as a whole; 0: not known */
    uint64_t cached_macs; /* of its last token alone */
};

/* The model is inferred and borrowed. USAGE when it has neither tokens nor a state. A model that
 * cannot be run with as many tokens as usual (its table of positions may be short) is tried with
 * half as many, down to one; what the options ask for stays as it is. */
AS_MUST_USE int as_token_run(struct as_token_run *out, struct as_model *model,
                             const struct as_token_options *options, struct assay_error *err);
void as_token_run_fini(struct as_token_run *run);

/* 2 x layers x kv_heads x head_dim x tokens x batch x bytes of an element; 0 when the decoder's
 * sizes are not known or the product passes 2^64. */
uint64_t as_token_cache_bytes(const struct as_decoder *decoder, int64_t tokens, int64_t batch,
                              unsigned dtype);

#endif
