/* model/graph/model_handle.h - what the public struct assay_model is inside: a model, and the
 * builder while it is described. Calls that ask are in api/, for they need analyses. */
#ifndef AS_MODEL_GRAPH_MODEL_HANDLE_H
#define AS_MODEL_GRAPH_MODEL_HANDLE_H

#include <limits.h>

#include "model/build/builder.h"

struct as_handle_input {
    char *name;
    struct as_dims dims;
};

struct as_handle_dim {
    char *symbol;
    int64_t value;
};

struct assay_model {
    struct as_model *model;
    struct as_builder *builder;     /* NULL: from a file */
    bool sealed;                    /* linked: nothing can be added */
    struct assay_error refused;     /* the first attempt to add all the same; code 0: none */
    struct as_handle_input *inputs; /* sizes the user gave */
    size_t n_inputs;
    struct as_handle_dim *dims;
    size_t n_dims;
    int64_t batch;
    void *counted;                 /* what the last count found, ... */
    void (*forget)(void *counted); /* ... and how it is given up */
};

/* Links what was described; the first failure comes out here. May be called again. */
AS_MUST_USE int as_handle_seal(struct assay_model *model, struct assay_error *err);

/* The builder of a model that can still grow, or NULL. Growing a model that is linked is refused
 * and changes nothing: the model can still be counted and written. */
struct as_builder *as_handle_growing(struct assay_model *model);

/* Takes a struct of a program that describes the layer `name` and may be of another version; false,
 * and a failure, when it cannot be taken. */
bool as_handle_take(struct as_builder *b, void *to, size_t size, const void *from,
                    const char *name);

/* A tensor that a layer cannot do without; false, and a failure, when it is none. */
bool as_handle_given(struct as_builder *b, const char *name, int tensor);

/* Tensors are numbers outside, negative when there is none, and values inside. */
static inline uint32_t as_handle_in(int tensor)
{
    return tensor < 0 ? AS_NONE : (uint32_t)tensor;
}

/* The code of what went wrong, never 0. */
int as_handle_code(const struct assay_model *model);

static inline int as_handle_out(const struct assay_model *model, uint32_t value)
{
    return value > INT_MAX ? as_handle_code(model) : (int)value;
}

#endif
