/* format/onnx/onnx_reader.h - what the files that read ONNX share; nobody else includes it.
 * The messages and their field numbers are in the comment at the top of each file. */
#ifndef AS_FORMAT_ONNX_ONNX_READER_H
#define AS_FORMAT_ONNX_ONNX_READER_H

#include "base/hash_map.h"
#include "base/proto/protobuf_reader.h"
#include "format/mapped_file.h"
#include "model/graph/graph.h"

/* What every ONNX file keeps to, beside the limits of model/graph/graph.h. */
enum {
    AS_ONNX_MAX_CALLS_DEEP = 32, /* functions that call functions */
    AS_ONNX_MAX_FILES = 4096,    /* of external data */
    AS_ONNX_NEWEST_IR = 10,
    AS_ONNX_MAX_OPSETS = 256,
    AS_ONNX_MAX_META = 100000,
    AS_ONNX_MAX_WORDS = 8192, /* kept to be shared; past these each is kept for itself */
    AS_ONNX_OLDEST_OPSET = 7,
    AS_ONNX_NEWEST_OPSET = 21,
};

struct as_onnx_file { /* of external data; a list, given to the model */
    struct as_mapped_file file;
    struct as_onnx_file *next;
};

struct as_onnx_function {
    struct as_text name, domain, overload;
    struct as_proto message;
    uint64_t offset;
    bool told; /* that its opset is another than the model's */
};

struct as_onnx {
    struct as_model *model;
    const struct as_mapped_file *file; /* path NULL: from memory, without external data */
    struct as_proto_input input;
    struct as_hash_map words; /* operators, domains, attributes: kept once each */
    struct as_hash_map ops;   /* of the default domain -> enum as_op */
    struct as_hash_map files; /* of external data -> struct as_onnx_file * */
    struct as_onnx_file *first_file;
    struct as_hash_map function_names; /* domain, NUL, name, NUL, overload -> index */
    struct as_hash_map prefixes;       /* of the calls put in place */
    struct as_onnx_function *functions;
    size_t n_functions;
    uint64_t n_nodes;  /* of all graphs, with the calls of functions */
    uint64_t n_loose;  /* nodes that are not where their graph will have them */
    size_t maps_bytes; /* of the tables of names that are open */
    unsigned call_depth;
    const uint8_t *let_go;   /* where in the file the pages behind us were last given back */
    struct assay_error *err; /* never NULL */
};

/* A call of a function that is being put in place. */
struct as_onnx_call {
    const struct as_onnx_function *function;
    const struct as_attr *attrs; /* of the call, then the defaults of the function */
    size_t n_attrs;
    const struct as_onnx_call *outer;
};

/* Nodes of a graph while it is read. */
struct as_onnx_nodes {
    struct as_node *at;
    uint32_t n, capacity;
    bool fixed; /* already where the graph has them, and no more than room */
};

/* The names one graph or one call of a function can see. */
struct as_onnx_scope {
    struct as_onnx_scope *parent; /* around it; NULL: the main graph or a function */
    struct as_graph *graph;       /* whose values and nodes these are */
    struct as_hash_map names;     /* -> value in the low half, order in the high one */
    uint32_t current;             /* order of the node that is read: 1 for the first */
    struct as_onnx_nodes *nodes;
    const char *prefix; /* of the names made in a call: "call/" */
    size_t prefix_size;
    const struct as_onnx_call *call; /* NULL: not in a function */
};

/* Orders of what is no node's output. */
#define AS_ONNX_BEFORE  0U         /* inputs and initializers */
#define AS_ONNX_PENDING UINT32_MAX /* an output of a function that no node has made yet */
/* Set in the order of what a Constant makes: exporters write some of them twice. */
#define AS_ONNX_CONSTANT 0x40000000U

/* A node as it lies in the file. */
struct as_onnx_node {
    struct as_text name, op, domain, overload;
    uint32_t n_inputs, n_outputs, n_attrs;
    struct as_proto message;
    uint64_t offset;
};

/* onnx_reader.c */

/* Memory ran out, or the limit that goes with the size of the file was passed. */
int as_onnx_no_memory(const struct as_onnx *r);
/* Checks what was taken so far, beside the arena too, and `more` bytes. */
AS_MUST_USE int as_onnx_check_capacity(const struct as_onnx *r, size_t more);
/* A text that is a name: UTF-8, without NUL, not too long. `what` is for the message. */
AS_MUST_USE int as_onnx_check_name(const struct as_onnx *r, struct as_text name, const char *what);
/* A copy that ends with NUL, the same pointer for the same text; NULL with r->err. */
const char *as_onnx_word(struct as_onnx *r, struct as_text text);
/* Walking a file maps the pages around all we look at, weights among them: gives them back from
 * time to time. `p` is a message with large fields. */
void as_onnx_let_go(struct as_onnx *r, const struct as_proto *p);
/* Where in the file a text is. */
uint64_t as_onnx_offset(const struct as_onnx *r, const void *at);

/* onnx_graph.c: a GraphProto as a graph inside `outer` (NULL: the main one). */
AS_MUST_USE int as_onnx_read_graph(struct as_onnx *r, const struct as_proto *message,
                                   struct as_onnx_scope *outer, struct as_graph **out);

/* onnx_node.c */

/* Reads the nodes in the fields `field` of a message into scope->nodes. */
AS_MUST_USE int as_onnx_read_nodes(struct as_onnx *r, struct as_onnx_scope *scope,
                                   const struct as_proto *message, uint32_t field);
/* Room for one more node; NULL with r->err. */
struct as_node *as_onnx_add_node(struct as_onnx *r, struct as_onnx_nodes *nodes);

/* onnx_scope.c */

/* A new value that the scope knows by `name`. */
AS_MUST_USE int as_onnx_declare(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                                uint32_t order, uint32_t *id);
/* The same for an output of node number `order`, which a function may have named before. */
AS_MUST_USE int as_onnx_declare_output(struct as_onnx *r, struct as_onnx_scope *scope,
                                       struct as_text name, uint32_t order);
/* Binds a name of the scope to a value that exists; an error when it is taken. */
AS_MUST_USE int as_onnx_bind(struct as_onnx *r, struct as_onnx_scope *scope, struct as_text name,
                             uint32_t order, uint32_t id);
/* The value of a name; the error names the node that needs it, or the graph when it is NULL. */
AS_MUST_USE int as_onnx_resolve(struct as_onnx *r, const struct as_onnx_scope *scope,
                                const struct as_onnx_node *node, struct as_text name, uint32_t *id);
void as_onnx_scope_fini(struct as_onnx *r, struct as_onnx_scope *scope);

/* The order in an entry of scope->names. */
static inline uint32_t as_onnx_order_of(uint64_t number)
{
    uint32_t order = (uint32_t)(number >> 32);

    return order == AS_ONNX_PENDING ? order : order & ~AS_ONNX_CONSTANT;
}

static inline bool as_onnx_is_constant(uint64_t number)
{
    uint32_t order = (uint32_t)(number >> 32);

    return order != AS_ONNX_PENDING && (order & AS_ONNX_CONSTANT);
}

/* onnx_function.c */

/* Indexes the functions in the fields 25 of the model. */
AS_MUST_USE int as_onnx_index_functions(struct as_onnx *r, const struct as_proto *model);
/* The function a node calls; NULL: none. */
struct as_onnx_function *as_onnx_find_function(const struct as_onnx *r,
                                               const struct as_onnx_node *node);
/* Puts the nodes of a function in place of `node`, whose inputs, outputs and attributes are read.
 */
AS_MUST_USE int as_onnx_expand(struct as_onnx *r, struct as_onnx_scope *scope,
                               struct as_onnx_function *function, const struct as_node *node,
                               uint64_t offset);

/* onnx_attr.c: true in *kept when the attribute is there, after references were followed. */
AS_MUST_USE int as_onnx_read_attr(struct as_onnx *r, struct as_onnx_scope *scope,
                                  const struct as_proto *message, struct as_attr *attr, bool *kept);

/* onnx_type.c */
AS_MUST_USE int as_onnx_read_type(struct as_onnx *r, const struct as_proto *message,
                                  struct as_type *type, const char *const **symbols);

/* A ValueInfoProto: its name, and its type where it has one. */
struct as_onnx_info {
    struct as_text name;
    struct as_type type;
    const char *const *symbols;
    bool typed;
};
AS_MUST_USE int as_onnx_read_info(struct as_onnx *r, const struct as_proto *message,
                                  struct as_onnx_info *info);

/* onnx_tensor.c */
struct as_onnx_tensor {
    struct as_text name;
    struct as_type type;
    struct as_data *data;
};
AS_MUST_USE int as_onnx_read_tensor(struct as_onnx *r, const struct as_proto *message,
                                    struct as_onnx_tensor *tensor);
/* The element type of a number in a file; AS_DTYPE_UNKNOWN when it is none. */
unsigned as_onnx_dtype(uint64_t number);
/* The reverse; 0 when ONNX has no such type. */
unsigned as_onnx_dtype_number(unsigned dtype);

/* onnx_sparse.c: a SparseTensorProto, as dense data that is made when asked for. */
AS_MUST_USE int as_onnx_read_sparse(struct as_onnx *r, const struct as_proto *message,
                                    struct as_onnx_tensor *tensor);

/* onnx_external.c: the bytes that the fields 13 of a tensor point to; `need` of them. */
AS_MUST_USE int as_onnx_external(struct as_onnx *r, const struct as_proto *message,
                                 struct as_text name, uint64_t need, const uint8_t **bytes);
/* For as_model's drop and let_go. */
void as_onnx_drop_files(void *first_file);
void as_onnx_let_go_files(void *first_file, const uint8_t *at, uint64_t size);

/* For "%.*s" of a text in a message. */
#define AS_ONNX_SHOWN(text) (int)((text).size < 60 ? (text).size : 60), (text).at ? (text).at : ""

/* Makes `rc` negative fall through a sequence of steps: the first failure stays. */
#define AS_ONNX_STEP(rc, call)                                                                     \
    do {                                                                                           \
        if ((rc) >= 0)                                                                             \
            (rc) = (call);                                                                         \
    } while (0)

#endif
