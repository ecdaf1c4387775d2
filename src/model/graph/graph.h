/* model/graph/graph.h - a network in memory: values, nodes, graphs and the graphs inside nodes.
 * One arena holds all of it; readers and builders fill it, as_model_link() checks it, and after
 * that only inference changes types and constants. */
#ifndef AS_MODEL_GRAPH_GRAPH_H
#define AS_MODEL_GRAPH_GRAPH_H

#include "model/graph/op.h"
#include "model/graph/tensor.h"

#define AS_NONE UINT32_MAX /* no value, no node */

/* What every format keeps to; a file past one of these is refused with a sentence. */
enum {
    AS_MAX_NODES = 400000, /* after functions were put in place of their calls */
    AS_MAX_VALUES = 1600000,
    AS_MAX_GRAPH_DEPTH = 32,
    AS_MAX_NAME_BYTES = 4096,
    AS_MAX_FINDINGS = 1000,
    AS_FINDING_CHAINS = 512,
};

/* How the integers of a tensor stand for numbers: (q - zero point) * scale, with one pair for all
 * of them or one for each place along `axis`. */
struct as_quant {
    uint32_t n;
    int axis;
    const float *scales;
    const int64_t *zero_points;
};

/* One tensor that flows through the network. Subgraphs use the values of the graphs around them by
 * the same numbers. */
#define AS_DATA_BATCH "DATA_BATCH" /* as in ONNX's dimension denotation */

struct as_value {
    const char *name;        /* "" when it has none; safe to print through the writers' escapers */
    struct as_type type;     /* as declared, then as inferred */
    struct as_type declared; /* what the file says, kept by the first inference */
    struct as_data *data;    /* of a constant, else NULL */
    uint32_t producer;       /* node in `graph`, or AS_NONE */
    struct as_graph *graph;  /* where it is made or declared */
    bool is_input;           /* of its graph, without a constant of the same name */
    bool is_initializer;     /* a constant of the file, not made by a node */
    bool is_output;          /* of its graph */
    bool varies; /* of a body: its type, or how often it is made, is not the same in every round */
    const char *const *symbols; /* of an input: the symbol of each dimension, AS_DATA_BATCH of one
                                   that is declared to count samples, or NULL; NULL: none */
    /* Of a quantized tensor in TensorFlow Lite or GGUF, where the format keeps it with the tensor:
     */
    uint32_t n_scales;
    const struct as_quant *quant; /* in TensorFlow Lite, where it fits the tensor; else NULL */
};

enum as_attr_kind {
    AS_ATTR_INT,
    AS_ATTR_FLOAT,
    AS_ATTR_TEXT,
    AS_ATTR_TENSOR,
    AS_ATTR_GRAPH,
    AS_ATTR_INTS,
    AS_ATTR_FLOATS,
    AS_ATTR_TEXTS,
    AS_ATTR_TYPE,
    AS_ATTR_OTHER, /* kept by name only */
    AS_ATTR_COUNT
};

struct as_attr {
    const char *name;
    enum as_attr_kind kind;
    uint32_t n; /* of the lists */
    union {
        int64_t i;
        double f;
        struct as_text text;
        const int64_t *ints;
        const float *floats;
        const struct as_text *texts;
        struct as_graph *graph;
        struct as_type type;
    };
    struct as_data *data; /* of a tensor, whose type is `type` */
};

struct as_node {
    const char *name;        /* "" when it has none */
    const char *label;       /* of a node in a body whose name others have too, else NULL */
    const char *op_name;     /* as in the file */
    const char *domain_name; /* as in the file; "" for the default one */
    enum as_op op;
    uint32_t n_inputs, n_outputs, n_attrs;
    const uint32_t *inputs;  /* values; AS_NONE where one is left out */
    const uint32_t *outputs; /* the same */
    const struct as_attr *attrs;
    uint64_t offset; /* of the node in the file, for messages */
};

struct as_graph {
    const char *name;
    struct as_model *model;
    struct as_graph *parent;     /* NULL: the main graph */
    const struct as_node *owner; /* the node it is a body of */
    unsigned depth;              /* 0: the main graph */
    int64_t times; /* its owner runs it so often, by inference; AS_DIM_UNKNOWN: not known; of the
                      main graph: 1 */
    int64_t ran;   /* how often a run of the whole model ran it, when an engine reported it; else
                      AS_DIM_UNKNOWN */
    struct as_node *nodes; /* after as_model_link(): each after those it needs */
    uint32_t n_nodes;
    const uint32_t *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

enum as_model_format {
    AS_FORMAT_BUILT, /* by the builder or the zoo */
    AS_FORMAT_ONNX,
    AS_FORMAT_GGUF,
    AS_FORMAT_SAFETENSORS,
    AS_FORMAT_TFLITE,
    AS_FORMAT_COUNT
};

struct as_model_opset {
    const char *domain;
    int64_t version;
};

struct as_model_meta {
    const char *key, *value;
};

/* What a decoder is made of, read from its metadata or found in its graph. 0: not known. */
struct as_decoder {
    const char *architecture; /* "llama"; NULL: this is no decoder */
    uint64_t layers, heads, kv_heads, head_dim, value_dim, width, ffn_width, context, vocabulary;
    uint64_t rope_dim, experts, experts_used, window;
    double rope_base, norm_eps;
};

/* Something a user should know, found while reading or inferring. */
enum as_finding_kind {
    AS_FINDING_UNKNOWN_OP,    /* an operator we do not know */
    AS_FINDING_UNKNOWN_SHAPE, /* a dimension that depends on data, or a rule that gave up */
    AS_FINDING_DEFAULT,       /* a symbolic dimension that was given a value by us */
    AS_FINDING_BRANCH,        /* an If of which we do not know the side, a Loop of unknown count */
    AS_FINDING_CONFLICT, /* the file says one shape, the rules another; or a node cannot work */
    AS_FINDING_NOTE,     /* anything else */
    AS_FINDING_COUNT
};

struct as_finding {
    enum as_finding_kind kind;
    const char *node; /* its name or "", NULL when it is about the whole */
    const char *op;   /* or NULL */
    const char *text; /* one sentence without a full stop */
    uint64_t times;   /* how often the same was found */
    struct as_finding *next;
    struct as_finding *chain; /* private: the next with the same hash */
    uint32_t hash;            /* private */
};

struct as_bound_dim; /* an open dimension and its value; model/infer/infer.h */
struct as_mapping;   /* base of the file in memory; format/mapped_file.h */

/* Which dimension of which input counts samples. */
struct as_batch_place {
    uint32_t value; /* AS_NONE: not known */
    int axis;
    const char *why; /* it is not known; else NULL */
};

struct as_model {
    struct as_arena arena;
    struct as_arena inference; /* what inference made, until the next one */
    enum as_model_format format;
    const char *path; /* as given */
    const char *producer, *graph_name;
    uint64_t file_bytes; /* with external files; 0 for a built model */
    int64_t ir_version;
    int64_t opset; /* of the default domain; 0: the format has none */
    struct as_model_opset *opsets;
    size_t n_opsets;
    struct as_model_meta *meta;
    size_t n_meta;
    struct as_value *values;
    uint32_t n_values, capacity_values;
    uint64_t capacity_nodes; /* of all graphs */
    struct as_graph *main;
    struct as_decoder decoder;
    bool has_graph; /* false: weights only, as in safetensors */
    struct as_finding *findings, **findings_end;
    size_t n_findings;
    uint64_t findings_lost; /* past AS_MAX_FINDINGS, or without memory */
    struct as_finding *finding_chains[AS_FINDING_CHAINS];
    struct as_finding **read_end; /* where those of the reader end */
    size_t n_read;
    bool inferred;
    struct as_batch_place batch;      /* since the first inference */
    const struct as_bound_dim *bound; /* open dimensions of the inputs in the last inference */
    size_t n_bound;
    void (*drop)(void *held); /* unmaps files; called by as_model_free() */
    /* Pages of its files; NULL: it has none. */
    void (*let_go)(void *held, const uint8_t *at, uint64_t size);
    void *held;
};

/* An empty model whose arena is limited to `max_bytes` (0: no limit). */
AS_MUST_USE int as_model_new(struct as_model **model, size_t max_bytes, struct assay_error *err);
void as_model_free(struct as_model *model);

/* Numbers of a constant were read and are not needed soon: where they are in a mapped file its
 * pages are given back, and return when they are touched again. */
void as_model_let_go(const struct as_model *model, const struct as_data *data, uint64_t first,
                     uint64_t n);

/* A new value of unknown type, or AS_NONE with `err`. `name` is copied. */
uint32_t as_model_add_value(struct as_model *model, struct as_graph *graph, const char *name,
                            size_t name_size, struct assay_error *err);

/* An empty graph inside `parent` (NULL: the main one, which becomes model->main). */
struct as_graph *as_graph_new(struct as_model *model, struct as_graph *parent, const char *name,
                              struct assay_error *err);

/* Room for `n` nodes, zeroed, as graph->nodes; the caller fills them and may lower n_nodes. */
AS_MUST_USE int as_graph_reserve_nodes(struct as_graph *graph, uint32_t n, struct assay_error *err);

/* Checks the whole: indices, one producer each, depth, nothing used that nobody makes, no cycles;
 * sorts the nodes of every graph (the order of the file where it is one) and fills in producers,
 * owners and flags. The error names the node or value to blame. */
AS_MUST_USE int as_model_link(struct as_model *model, struct assay_error *err);

/* What to say when an arena of the model gave nothing: that the model is larger than its file
 * allows where the limit is near, else that memory is short. */
int as_model_no_memory(const struct as_model *model, struct assay_error *err);

/* The numbers of a constant of the file, loaded whole to stay; false: too large, or no memory. */
bool as_model_load(struct as_model *model, struct as_data *data, uint64_t max_bytes);

/* Forgets what an earlier inference made: types and numbers by it must not be used any more. What
 * it may take now is what the model has left. */
void as_model_drop_inference(struct as_model *model);

/* Keeps a finding; the same again only counts. What cannot be kept is counted too. */
AS_PRINTF(5, 6)
void as_model_find(struct as_model *model, enum as_finding_kind kind, const char *node,
                   const char *op, const char *fmt, ...);

/* NULL when the node has no such attribute. */
const struct as_attr *as_node_attr(const struct as_node *node, const char *name);
/* The attribute, or `fallback` when it is absent or of another kind. */
int64_t as_node_int(const struct as_node *node, const char *name, int64_t fallback);
double as_node_float(const struct as_node *node, const char *name, double fallback);
/* Absent: {0, NULL} and false. */
bool as_node_ints(const struct as_node *node, const char *name, struct as_ints *out);
bool as_node_text(const struct as_node *node, const char *name, struct as_text *out);
/* True when the attribute is a text equal to `word`. */
bool as_node_text_is(const struct as_node *node, const char *name, const char *word);
/* The body in attribute `name`, or NULL. */
struct as_graph *as_node_graph(const struct as_node *node, const char *name);

/* Attributes beyond ONNX's, which only nodes lowered from TensorFlow Lite have: in those of other
 * formats they mean nothing. NULL, or `fallback`, when absent. */
bool as_node_is_lowered(const struct as_node *node);
const struct as_attr *as_node_extra(const struct as_node *node, const char *name);
int64_t as_node_extra_int(const struct as_node *node, const char *name, int64_t fallback);

/* Integers that can stand for other numbers, and whether those of a value do; NULL: false. */
bool as_dtype_is_quantized(unsigned dtype);
bool as_value_is_quantized(const struct as_value *value);

/* The value of input or output `i`; NULL when left out or beyond the last. */
struct as_value *as_node_input(const struct as_graph *graph, const struct as_node *node, size_t i);
struct as_value *as_node_output(const struct as_graph *graph, const struct as_node *node, size_t i);

/* The version of the node's domain that the model asks for; 0: it does not say. */
int64_t as_model_opset_of(const struct as_model *model, const struct as_node *node);

/* What to call a node that may have no name: its own, else that of its first output, else its
 * operator; in a body, the path to it when others are called the same. */
const char *as_node_label(const struct as_graph *graph, const struct as_node *node);

#endif
