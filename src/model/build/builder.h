/* model/build/builder.h - describes a network call by call; shapes are followed while it grows.
 * The first failure is kept and makes every later call do nothing, so one check at the end is
 * enough: as_builder_finish(). A value that could not be made is AS_NONE. */
#ifndef AS_MODEL_BUILD_BUILDER_H
#define AS_MODEL_BUILD_BUILDER_H

#include "base/hash_map.h"
#include "model/graph/graph.h"
#include "model/weights/seeded_data.h"

enum { AS_BUILD_OPSET = 17, AS_BUILD_IR = 8, AS_BUILD_SCOPES = 64 };

struct as_build_name; /* a name in use */

struct as_builder {
    struct as_model *model; /* borrowed */
    struct as_graph *graph;
    unsigned dtype; /* of parameters and of activations: AS_DTYPE_F32 unless changed */
    uint64_t seed;
    struct as_node *nodes;
    size_t n_nodes, capacity_nodes;
    uint32_t *inputs, *outputs;
    size_t n_inputs, n_outputs;
    struct as_build_name *names;
    size_t n_names, capacity_names;
    struct as_hash_map name_map; /* to places in `names` */
    char scope[AS_MAX_NAME_BYTES];
    size_t scope_size;
    uint16_t scope_sizes[AS_BUILD_SCOPES]; /* bytes each open scope added */
    unsigned n_scopes;
    uint32_t causal_mask;   /* the last one made for callers that share it, or AS_NONE, ... */
    int64_t causal_length;  /* ... and for which length */
    struct assay_error err; /* the first failure; code 0 while there is none */
};

/* Fills an empty model, which stays the caller's. A failure to begin is kept as any other. */
void as_builder_init(struct as_builder *b, struct as_model *model, uint64_t seed);
void as_builder_fini(struct as_builder *b);

/* Hands over nodes, inputs and outputs and links the model; or tells the first failure. Types of
 * what lies between inputs and outputs are left to inference. */
AS_MUST_USE int as_builder_finish(struct as_builder *b, struct assay_error *err);

static inline bool as_build_ok(const struct as_builder *b)
{
    return b->err.code == 0;
}

/* Keeps the failure when it is the first; always AS_NONE. */
AS_PRINTF(3, 4) uint32_t as_build_fail(struct as_builder *b, int code, const char *fmt, ...);

/* Names given from here on begin with the scope's and a dot. Scopes nest. */
AS_PRINTF(2, 3) void as_build_scope(struct as_builder *b, const char *fmt, ...);
void as_build_scope_end(struct as_builder *b);

/* ---- values ---- */

/* `symbols` (NULL: none) names the dimensions that are AS_DIM_UNKNOWN. Inputs are not in a scope.
 */
uint32_t as_build_input(struct as_builder *b, const char *name, unsigned dtype,
                        const struct as_dims *dims, const char *const *symbols);

/* A trained tensor of the builder's dtype with seeded numbers, named in the scope. */
uint32_t as_build_param(struct as_builder *b, const char *name, const struct as_dims *dims,
                        const struct as_seeded *how);

/* The same of another dtype that as_seeded_data() can make. */
uint32_t as_build_param_of(struct as_builder *b, const char *name, unsigned dtype,
                           const struct as_dims *dims, const struct as_seeded *how);

/* A constant with the bytes given, which are copied. */
uint32_t as_build_const(struct as_builder *b, const char *name, unsigned dtype,
                        const struct as_dims *dims, const void *bytes);

/* A list of i64, a single i64, a single number of the builder's dtype: made once, however often
 * they are asked for. */
uint32_t as_build_ints(struct as_builder *b, const int64_t *at, size_t n);
uint32_t as_build_int(struct as_builder *b, int64_t value);
uint32_t as_build_number(struct as_builder *b, double value);

/* Gives a value out, as `name` when it is not NULL. */
void as_build_output(struct as_builder *b, uint32_t value, const char *name);

/* What is known of the value's dimensions; false (and out->rank 0) when the rank is not. */
bool as_build_dims(const struct as_builder *b, uint32_t value, struct as_dims *out);
unsigned as_build_dtype(const struct as_builder *b, uint32_t value);
void as_build_set_type(struct as_builder *b, uint32_t value, unsigned dtype,
                       const struct as_dims *dims);

/* ---- nodes ---- */

struct as_build_node {
    const char *op, *domain; /* domain NULL: the default one */
    const char *name;        /* in the scope; NULL: the operator's */
    const uint32_t *inputs;  /* AS_NONE where one is left out */
    size_t n_inputs;
    const struct as_attr *attrs; /* copied with their lists; lists and numbers only */
    size_t n_attrs;
};

#define AS_BUILD_IN(...)                                                                           \
    .inputs = (const uint32_t[]){__VA_ARGS__},                                                     \
    .n_inputs = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define AS_BUILD_ATTR(...)                                                                         \
    .attrs = (const struct as_attr[]){__VA_ARGS__},                                                \
    .n_attrs = sizeof((const struct as_attr[]){__VA_ARGS__}) / sizeof(struct as_attr)

static inline struct as_attr as_attr_of_int(const char *name, int64_t value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = value};
}

static inline struct as_attr as_attr_of_float(const char *name, double value)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = value};
}

static inline struct as_attr as_attr_of_ints(const char *name, const int64_t *at, uint32_t n)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INTS, .n = n, .ints = at};
}

static inline struct as_attr as_attr_of_text(const char *name, const char *text, size_t size)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_TEXT, .text = {text, size}};
}

/* Adds the node with as many outputs, of unknown type; `outputs` gets them. False: it failed, and
 * they are AS_NONE. */
bool as_build_add(struct as_builder *b, const struct as_build_node *node, uint32_t n_outputs,
                  uint32_t *outputs);

/* The same with one output, of the first input's dtype and these dimensions (NULL: not known). */
uint32_t as_build_one(struct as_builder *b, const struct as_build_node *node,
                      const struct as_dims *dims);

#endif
