/* engine/onednn/onednn.h - what the files of the oneDNN provider share: the library, layouts, and
 * how one step becomes a few calls of primitives. Belongs to onednn*.c. */
#ifndef AS_ENGINE_ONEDNN_ONEDNN_H
#define AS_ENGINE_ONEDNN_ONEDNN_H

#include "engine/exec_plan.h"
#include "engine/onednn/onednn_api.h"

struct as_onednn_layout; /* private to onednn_layout.c */

/* The library, opened for one program. */
struct as_onednn {
    struct as_onednn_api api;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    void (*set_threads)(int threads); /* OpenMP's; NULL: the library has no threads */
    /* OpenMP's parallel region, as compilers call it; NULL: the library has no threads of it. */
    void (*parallel)(void (*work)(void *data), void *data, unsigned threads, unsigned flags);
    unsigned threads;                 /* set last, by this plan and in this run */
    struct as_arena *arena;           /* the program's, for layouts */
    struct as_onednn_layout *layouts; /* each only once */
};

/* ---- onednn_library.c ---- */
AS_MUST_USE int as_onednn_open(struct as_exec_plan *p, struct assay_error *err);
void as_onednn_close(struct as_exec_plan *p);
/* A primitive keeps the number of threads that it was made for, and needs as many when it runs. 0:
 * as many as the plan has. */
void as_onednn_threads(const struct as_exec_plan *p, unsigned threads);
void as_onednn_hand_over(struct as_exec_plan *p);

/* ---- onednn_layout.c ---- */
/* Row by row; false for what oneDNN cannot hold: too many axes, none of an axis, a strange dtype.
 */
bool as_dnn_plain(const struct as_onednn *lib, unsigned dtype, int rank, const int64_t *dims,
                  dnnl_memory_desc_t *desc);
/* Channels, which are axis 1, as the fastest axis. */
bool as_dnn_channels_last(const struct as_onednn *lib, const dnnl_memory_desc_t *plain,
                          dnnl_memory_desc_t *desc);
/* Left to the library. */
void as_dnn_any(dnnl_memory_desc_t *desc);
/* Whether every number of a tensor is at the same place in both. */
bool as_dnn_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);
bool as_dnn_is_plain(const dnnl_memory_desc_t *desc);
/* The layout of `desc`; NULL in `*out` when it is plain. False: no memory. */
bool as_dnn_layout(struct as_onednn *lib, const dnnl_memory_desc_t *desc,
                   const struct as_layout **out);
bool as_dnn_same_layout(const struct as_layout *a, const struct as_layout *b);

/* ---- onednn_calls.c ---- */
struct as_dnn;
/* Keeps the first failure in d->rc; false. */
bool as_dnn_fail(struct as_dnn *d, int rc);

enum as_dnn_place {
    AS_DNN_IN,   /* input `index` of the step */
    AS_DNN_OUT,  /* output `index` */
    AS_DNN_WORK, /* workspace from `offset` on */
    AS_DNN_KEPT  /* `kept` */
};

/* Where a tensor of a call is, and how it lies there. */
struct as_dnn_ref {
    enum as_dnn_place place;
    uint32_t index;
    uint64_t offset;
    void *kept;
    dnnl_memory_desc_t desc;
};

struct as_dnn_arg {
    struct as_dnn_ref at;
    void *last; /* what the memory was given before */
};

struct as_dnn_call {
    dnnl_primitive_t primitive;
    struct as_dnn_arg *args;
    dnnl_exec_arg_t *exec;
    int n_args, capacity;
};

struct as_dnn_kept {
    void *block;
    uint64_t bytes;
};

enum { AS_DNN_MAX_CALLS = 12, AS_DNN_MAX_KEPT = 8, AS_DNN_MAX_USES = 6 };

/* What a step was made ready for, when that is known only while running. */
enum { AS_DNN_KEY_INPUTS = 4, AS_DNN_KEY_RANK = 6 };
struct as_dnn_shapes {
    int8_t rank[AS_DNN_KEY_INPUTS]; /* and one */
    uint8_t dtype[AS_DNN_KEY_INPUTS];
    int64_t dims[AS_DNN_KEY_INPUTS][AS_DNN_KEY_RANK];
};

/* A step made ready: its calls, in order. */
struct as_dnn_state {
    struct as_dnn_state *next; /* for other shapes */
    unsigned threads;          /* its primitives were made for */
    struct as_dnn_shapes shapes;
    bool tried; /* for those: whether there is a kernel is known */
    struct as_onednn *lib;
    struct as_mem *mem;
    struct as_dnn_call calls[AS_DNN_MAX_CALLS];
    int n_calls;
    struct as_dnn_kept kept[AS_DNN_MAX_KEPT];
    int n_kept;
    uint64_t work_bytes;
    char impl[64];
};

/* A tensor of the step as it lies now. */
struct as_dnn_tensor {
    uint32_t index; /* among the inputs */
    bool is_const;
    bool
        viewed; /* `desc` has other axes than the slot: what differs is copied inside of the step */
    unsigned dtype;
    dnnl_memory_desc_t desc;
};

/* A constant that goes into kept memory in another layout. */
struct as_dnn_packing {
    uint32_t index;                /* among the inputs */
    dnnl_memory_desc_t desc, want; /* as it lies, and as it shall */
    void *to;
};

/* One step while it is made ready. */
struct as_dnn {
    struct as_exec_plan *p;
    struct as_plan *plan;
    struct as_step *step;
    struct as_kernel_ctx *k; /* of a step whose shapes are known only now, else NULL */
    struct as_onednn *lib;
    struct as_dnn_state *state;
    const struct as_node *spec; /* whose attributes count */
    struct assay_error *err;
    int rc;       /* the first failure */
    uint32_t *in; /* slots that are read instead */
    bool *packed; /* inputs whose plain numbers are needed no more */
    struct as_dnn_packing packings[AS_DNN_MAX_KEPT]; /* to be done when the step is taken */
    int n_packings;
    const struct as_layout *out_layout; /* of output 0 */
    uint64_t out_bytes;
    struct as_dnn_ref out, out_plain; /* of a step of now: what is put in order at the end */
};

/* Input `i`; false when it is left out or nothing for the library. */
bool as_dnn_in(const struct as_dnn *d, uint32_t i, struct as_dnn_tensor *out);
bool as_dnn_out(const struct as_dnn *d, uint32_t i, struct as_dnn_tensor *out);
/* The numbers of a constant input in f64; false: it is none, or has more than `max`. */
bool as_dnn_numbers(struct as_dnn *d, uint32_t i, double *out, uint64_t max, uint64_t *n);
/* The value of a constant input; NULL: it is none or failed. */
const struct as_val *as_dnn_const(struct as_dnn *d, uint32_t i);

/* Input `t` laid out as `want`: a constant is packed, others are reordered by a step of their own.
 * A `want` with other axes than those of `t` must be plain. False: failed, d->rc says how. */
bool as_dnn_source(struct as_dnn *d, const struct as_dnn_tensor *t, const dnnl_memory_desc_t *want,
                   struct as_dnn_ref *ref);
/* Output 0 is laid out so. */
bool as_dnn_result(struct as_dnn *d, const dnnl_memory_desc_t *desc, struct as_dnn_ref *ref);
/* Kept memory for numbers that are worked out now; freed with the state. NULL: failed. */
void *as_dnn_keep(struct as_dnn *d, uint64_t bytes);
/* Working memory of the step. */
bool as_dnn_work(struct as_dnn *d, const dnnl_memory_desc_t *desc, struct as_dnn_ref *ref);

/* How good an implementation is by its name; 0: slower than plain C. */
int as_dnn_grade(const char *impl);
/* The first implementation that is graded above 0, or the one at that place among those; NULL:
 * none. The caller destroys it. */
dnnl_primitive_desc_t as_dnn_choose(const struct as_onednn *lib, const void *op_desc,
                                    dnnl_primitive_attr_t attr, int skip);
/* The first of those without attributes. */
dnnl_primitive_desc_t as_dnn_find(const struct as_onednn *lib, const void *op_desc);
const char *as_dnn_impl(const struct as_onednn *lib, dnnl_primitive_desc_t pd);
const dnnl_memory_desc_t *as_dnn_md(const struct as_onednn *lib, dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int index);
/* Attributes with the scratchpad given by us. NULL: no memory. */
dnnl_primitive_attr_t as_dnn_attr(const struct as_onednn *lib);

/* A call of the primitive with its scratchpad; NULL: failed. The first one names the state. */
struct as_dnn_call *as_dnn_call(struct as_dnn *d, dnnl_primitive_desc_t pd);
bool as_dnn_arg(struct as_dnn *d, struct as_dnn_call *call, int arg, const struct as_dnn_ref *ref);
/* A call that copies from one layout to another. */
bool as_dnn_copy(struct as_dnn *d, const struct as_dnn_ref *from, const struct as_dnn_ref *to);

/* A tensor of a call: input `t` or, when that is NULL, output 0; laid out as `desc`. */
struct as_dnn_use {
    int arg;
    const struct as_dnn_tensor *t;
    const dnnl_memory_desc_t *desc;
};
/* One call, and those of the post-ops from `post` on behind it; destroys `pd`. NULL for `pd` is
 * false, as when a post does not fit. */
bool as_dnn_emit(struct as_dnn *d, dnnl_primitive_desc_t pd, const struct as_dnn_use *uses, int n,
                 uint32_t post);

struct as_dnn_state *as_dnn_state_new(struct as_onednn *lib, struct as_mem *mem);
void as_dnn_state_free(struct as_dnn_state *state);

/* Where the inputs and outputs are, for one run. */
struct as_dnn_data {
    void *const *in;
    void *const *out;
    uint8_t *work;
};
AS_MUST_USE int as_dnn_run(struct as_dnn_state *state, const struct as_dnn_data *data,
                           struct assay_error *err);

/* ---- onednn_pack.c ---- */
/* Numbers laid out as `desc` copied into kept memory laid out as `want`, now. */
bool as_dnn_pack(struct as_dnn *d, void *numbers, const dnnl_memory_desc_t *desc,
                 const dnnl_memory_desc_t *want, struct as_dnn_ref *ref);
/* Constant `t` laid out as `want` in kept memory, which is filled by as_dnn_pack_all(). */
bool as_dnn_pack_later(struct as_dnn *d, const struct as_dnn_tensor *t,
                       const dnnl_memory_desc_t *want, struct as_dnn_ref *ref);
/* When the step is taken: nothing goes back from here, since plain numbers may be given up. */
bool as_dnn_pack_all(struct as_dnn *d);

/* How numbers go from one layout into another in parts that are next to each other in the first. */
struct as_dnn_slices {
    int axis;        /* the slowest of the first layout */
    int64_t n, step; /* its length, and that of a slice */
    uint64_t row;    /* numbers of one step along it */
};
/* Slices of about `bytes`, but never less than a block of `want`. False: it goes at once or not at
 * all, since it is small or one of the layouts has no such parts. */
bool as_dnn_slices(const dnnl_memory_desc_t *desc, const dnnl_memory_desc_t *want, uint64_t bytes,
                   struct as_dnn_slices *out);

/* Where the numbers are: in memory, or in the model and read into `slice`. */
struct as_dnn_from {
    uint8_t *numbers; /* NULL: in the model */
    bool spent;       /* pages are given back once they were read: nobody else needs them */
    uint32_t slot;
    uint8_t *slice; /* for one slice */
};
/* Fills the packing slice by slice; the bytes are those of as_dnn_pack(). */
bool as_dnn_pack_slices(struct as_dnn *d, const struct as_dnn_packing *p,
                        const struct as_dnn_slices *s, struct as_dnn_from *from);

/* ---- onednn_post_ops.c ---- */
struct as_dnn_piece {
    dnnl_alg_kind_t alg;
    float alpha, beta;
};
enum { AS_DNN_PIECES = 2 };
/* An operator of one tensor as at most AS_DNN_PIECES functions; 0: it is none. */
int as_dnn_pieces(enum as_op op, float alpha, float beta, struct as_dnn_piece *pieces);
/* dnnl_alg_kind_undef: it is no operator of two tensors. */
dnnl_alg_kind_t as_dnn_binary(enum as_op op);

/* The tensor as the second operand of something laid out as `first`: repeated along axes, or in
 * the same layout. False: it cannot be. */
bool as_dnn_second(const struct as_dnn *d, const struct as_dnn_tensor *t,
                   const dnnl_memory_desc_t *first, dnnl_memory_desc_t *want);
/* Posts [from, to) of the step as attributes of a primitive whose output is laid out as `dst`. */
bool as_dnn_post_attr(const struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from,
                      uint32_t to, dnnl_primitive_attr_t attr);
/* The tensors of those post-ops, before the call; then as its arguments. */
bool as_dnn_post_sources(struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from,
                         uint32_t to, struct as_dnn_ref *refs);
bool as_dnn_post_args(struct as_dnn *d, struct as_dnn_call *call, uint32_t from, uint32_t to,
                      const struct as_dnn_ref *refs);
/* Whether the post-ops are all known and could follow an output laid out as `dst`. */
bool as_dnn_post_ops_fit(const struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from);
/* Posts from `from` on as calls of their own, in place. */
bool as_dnn_post_calls(struct as_dnn *d, const struct as_dnn_ref *dst, uint32_t from);
/* A function as a call of its own, in place. */
bool as_dnn_function(struct as_dnn *d, const struct as_dnn_ref *dst,
                     const struct as_dnn_piece *piece);
/* How many post-ops until the first that needs a second tensor. */
uint32_t as_dnn_post_ops_alone(const struct as_step *step);

/* ---- one function for each group of operators: 1 taken, 0 not ---- */
int as_dnn_conv(struct as_dnn *d);
int as_dnn_conv_transpose(struct as_dnn *d);
int as_dnn_matmul(struct as_dnn *d);
int as_dnn_gemm(struct as_dnn *d);
int as_dnn_pool(struct as_dnn *d);
int as_dnn_global_pool(struct as_dnn *d);
int as_dnn_reduce_mean(struct as_dnn *d);
int as_dnn_eltwise(struct as_dnn *d);
int as_dnn_two(struct as_dnn *d);
int as_dnn_prelu(struct as_dnn *d);
int as_dnn_softmax(struct as_dnn *d);
int as_dnn_batch_norm(struct as_dnn *d);
int as_dnn_layer_norm(struct as_dnn *d);
int as_dnn_lrn(struct as_dnn *d);
int as_dnn_concat(struct as_dnn *d);
int as_dnn_resize(struct as_dnn *d);
int as_dnn_quantize(struct as_dnn *d);
int as_dnn_qlinear_add(struct as_dnn *d);
int as_dnn_int_conv(struct as_dnn *d);
int as_dnn_int_matmul(struct as_dnn *d);

#endif
