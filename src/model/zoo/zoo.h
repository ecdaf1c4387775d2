/* model/zoo/zoo.h - well-known architectures built in code, with seeded weights made when asked
 * for. Parameters and MACs are those of the published networks, to the last digit. */
#ifndef AS_MODEL_ZOO_ZOO_H
#define AS_MODEL_ZOO_ZOO_H

#include "model/graph/graph.h"

/* One key of a model, as in zoo:llama:layers=4. */
struct as_zoo_key {
    const char *name, *help;
    int64_t fallback, min, max;
    const char *const
        *words; /* of a key whose value is a word: min is 0, max the last; else NULL */
};

struct as_builder;

/* Every model also has batch (0: left open) and seed. */
extern const struct as_zoo_key as_zoo_common_keys[];

struct as_zoo_entry {
    const char *name;              /* "resnet50" */
    const char *summary, *detail;  /* at most 30 columns, for a list; a whole line */
    const struct as_zoo_key *keys; /* ended by a NULL name; NULL: none of its own */
    /* Fills an empty model from the values of its keys, in their order. */
    void (*build)(struct as_builder *b, const int64_t *values, int64_t batch);
};

enum { AS_ZOO_VALUES = 16 }; /* of one model's keys, at most */

/* The i-th; NULL after the last. */
const struct as_zoo_entry *as_zoo_at(size_t i);

/* "zoo:NAME[:key=value[,key=value]]" or without "zoo:"; the caller frees the model. USAGE errors
 * name the nearest model or the keys there are. */
AS_MUST_USE int as_zoo_open(struct as_model **model, const char *spec, struct assay_error *err);

/* The weights of a llama alone, named and shaped as a GGUF file has them (blk.0.attn_q.weight of
 * [out, in]), with model->decoder filled. USAGE for any other model. */
AS_MUST_USE int as_zoo_llama_gguf(struct as_model **model, const char *spec,
                                  struct assay_error *err);

/* The first half of it: which model, and the value of each of its keys, then batch and seed. */
AS_MUST_USE int as_zoo_parse(const char *spec, const struct as_zoo_entry **entry, int64_t *values,
                             struct assay_error *err);

#endif
