/* model/zoo.h - well-known architectures built in code, with seeded weights made when asked for.
 * Parameters and MACs are those of the published networks, to the last digit. */
#ifndef AS_MODEL_ZOO_H
#define AS_MODEL_ZOO_H

#include "model/graph.h"

/* One key of a model, as in zoo:llama:layers=4. */
struct as_zoo_key {
    const char *name, *help;
    int64_t fallback, min, max;
};

struct as_zoo_entry {
    const char *name, *summary;    /* "resnet50", "residual CNN, 50 layers" */
    const char *input;             /* "1x3x224x224" */
    const struct as_zoo_key *keys; /* ended by a NULL name; every model also has batch and seed */
    int (*build)(struct as_model *model, const int64_t *values, struct assay_error *err);
};

/* The i-th; NULL after the last. */
const struct as_zoo_entry *as_zoo_at(size_t i);

/* "zoo:NAME[:key=value[,key=value]]" or without "zoo:"; the caller frees the model. USAGE errors
 * name the nearest model or the keys there are. */
AS_MUST_USE int as_zoo_open(struct as_model **model, const char *spec, struct assay_error *err);

#endif
