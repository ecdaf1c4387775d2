/* engine/kernel.h - what a kernel sees, and the one table of kernels in plain C.
 * A kernel reads inputs, writes outputs that are there already, and returns 0; nothing in a model
 * may make it read or write outside of them. */
#ifndef AS_ENGINE_KERNEL_H
#define AS_ENGINE_KERNEL_H

#include "engine/val.h"
#include "model/graph/graph.h"
#include "probe/system/isa_cap.h"

struct as_exec;

struct as_kernel_ctx {
    const struct as_graph *graph;
    const struct as_node *node; /* attributes: as_node_int(k->node, ...) and friends */
    int64_t opset;              /* of the node's domain; never 0 for the default domain */
    size_t n_in, n_out;
    const struct as_val *const *in; /* plain; NULL where one is left out */
    struct as_val *const *out;      /* NULL where one is left out. Tensors of their final type, with
                                       memory that holds rubbish, unless the kernel makes its own */
    struct as_exec *exec;
    struct as_arena *scratch; /* small things; emptied after the node */
    struct as_mem *mem;       /* for as_kernel_work() and outputs made by the kernel */
    unsigned threads;
    struct assay_error *err;
};

typedef int (*as_kernel_run)(struct as_kernel_ctx *k);

enum as_kernel_flag {
    AS_KERNEL_MAKES_OUT = 1, /* sizes depend on the data: it calls as_kernel_out() for each output
                                itself. Needed for sequences and optionals too */
    AS_KERNEL_HALF = 2,      /* takes f16 and bf16 as they are; for others the engine hands over f32
                                copies and rounds what comes out */
    AS_KERNEL_RANDOM = 4,    /* gives other numbers at each run: never folded */
    AS_KERNEL_VIEW = 8,      /* output 0 is input 0 with another shape: needs no `run` */
    AS_KERNEL_TEXT = 16,     /* may have strings in or out; those without are never given any */
    AS_KERNEL_LISTS = 32,    /* may have sequences and optionals in; likewise */
};

struct as_kernel {
    enum as_op op; /* AS_OP_UNKNOWN ends a table */
    as_kernel_run run;
    unsigned flags;
};

/* Every family, in the file kern_<name>.c. */
#define AS_KERNEL_FAMILIES(X)                                                                      \
    X(math)      /* one element in, one out: arithmetic, activations, comparisons, casts */        \
    X(reduce)    /* along axes: Reduce*, ArgMax, Softmax, CumSum, TopK */                          \
    X(shape)     /* Reshape, Transpose, Concat, Split, Slice, Pad, Expand, Tile */                 \
    X(gather)    /* Gather*, Scatter*, OneHot */                                                   \
    X(make)      /* Constant, ConstantOfShape, Range, Shape, Size, Random*, windows */             \
    X(matmul)    /* MatMul, Gemm, Einsum, Det */                                                   \
    X(conv)      /* convolutions */                                                                \
    X(pool)      /* pools */                                                                       \
    X(norm)      /* normalizations, losses */                                                      \
    X(image)     /* Resize, GridSample, RoiAlign, DepthToSpace */                                  \
    X(rnn)       /* LSTM, GRU, RNN */                                                              \
    X(quant)     /* QuantizeLinear and the integer operators */                                    \
    X(signal)    /* DFT, STFT, MelWeightMatrix */                                                  \
    X(select)    /* NonZero, Unique, Compress, NonMaxSuppression */                                \
    X(sequence)  /* Sequence*, Optional* */                                                        \
    X(text)      /* strings */                                                                     \
    X(control)   /* If, Loop, Scan, SequenceMap */                                                 \
    X(attention) /* com.microsoft's attentions */                                                  \
    X(microsoft) /* the rest of com.microsoft */                                                   \
    X(ms_quant)  /* its quantized operators */                                                     \
    X(ml)        /* ai.onnx.ml and training */                                                     \
    X(tflite)

#define X(name) extern const struct as_kernel as_kernels_##name[];
AS_KERNEL_FAMILIES(X)
#undef X

/* NULL: there is none for this operator. */
const struct as_kernel *as_kernel_find(enum as_op op);

/* ---- for kernels ---- */

/* Makes output `i` of a kernel that makes its own; nothing for one that is left out. */
AS_MUST_USE int as_kernel_out(struct as_kernel_ctx *k, size_t i, unsigned dtype,
                              const struct as_dims *dims);
/* Output `i` becomes another reference to `from` (same numbers, no copy). */
AS_MUST_USE int as_kernel_pass(struct as_kernel_ctx *k, size_t i, const struct as_val *from);

/* Working memory, counted as workspace and given back after the node; NULL with an error set. */
void *as_kernel_work(struct as_kernel_ctx *k, uint64_t count, uint64_t size);

/* Fills k->err with a sentence that names node, operator and opset. */
AS_PRINTF(3, 4) void as_kernel_tell(struct as_kernel_ctx *k, int code, const char *fmt, ...);
/* The two below are macros, so that an analyzer of one file sees that they are never zero.
 * The numbers cannot work: is ASSAY_ERR_FORMAT. */
#define as_kernel_fail(k, ...)                                                                     \
    (as_kernel_tell((k), ASSAY_ERR_FORMAT, __VA_ARGS__), (int)ASSAY_ERR_FORMAT)
/* Something ONNX allows and we have not: is ASSAY_ERR_UNSUPPORTED. */
#define as_kernel_cannot(k, ...)                                                                   \
    (as_kernel_tell((k), ASSAY_ERR_UNSUPPORTED, __VA_ARGS__), (int)ASSAY_ERR_UNSUPPORTED)

/* Whether input `i` is given; out likewise. */
static inline bool as_has_in(const struct as_kernel_ctx *k, size_t i)
{
    return i < k->n_in && k->in[i];
}

static inline bool as_has_out(const struct as_kernel_ctx *k, size_t i)
{
    return i < k->n_out && k->out[i];
}

/* A small input of integers as numbers (axes, shapes, pads); false: not given, not integers, or
 * more than AS_MAX_RANK. `out->rank` is how many. */
bool as_in_numbers(const struct as_kernel_ctx *k, size_t i, struct as_dims *out);
/* One number of a scalar or one-element input, or `fallback` when it is not given. */
double as_in_number(const struct as_kernel_ctx *k, size_t i, double fallback);

/* Axes from input `i` when given, else from attribute `name`; made positive, sorted, no doubles.
 * `n` 0 when neither says. ASSAY_ERR_FORMAT when one is outside of the rank. */
AS_MUST_USE int as_kernel_axes(struct as_kernel_ctx *k, size_t i, const char *name, int rank,
                               struct as_dims *axes);

/* Row-major strides in elements. */
void as_strides(const struct as_val *val, int64_t *strides);
/* Strides of `val` seen as broadcast to `dims`: 0 along what is repeated. False: it does not fit.
 */
bool as_strides_broadcast(const struct as_val *val, const struct as_dims *dims, int64_t *strides);

/* Does the work of items 0..n-1 in pieces of at least `grain`, on as many threads as the run has;
 * each call of `work` gets [from, to). Pieces do not depend on the number of threads. */
typedef void (*as_kernel_work_fn)(void *arg, uint64_t from, uint64_t to);
void as_kernel_parallel(struct as_kernel_ctx *k, uint64_t n, uint64_t grain, as_kernel_work_fn work,
                        void *arg);

/* Runs a body: its inputs are shared in, its outputs come out of `outs`, which the caller drops. */
AS_MUST_USE int as_kernel_body(struct as_kernel_ctx *k, const struct as_graph *body,
                               const struct as_val *const *ins, size_t n_ins, struct as_val *outs,
                               size_t n_outs);

/* Random bits of this node and run, from the engine's seed; for AS_KERNEL_RANDOM. */
uint64_t as_kernel_seed(const struct as_kernel_ctx *k);

/* Loops that are compiled once for every x86-64 level of the System V ABI, and chosen at each call
 * by the instruction set that kernels may use (probe/system/isa_cap.h):
 *
 *   AS_VECTOR(static, scale, (float *x, float by, uint64_t n), (x, by, n))
 *   {
 *       for (uint64_t i = 0; i < n; i++)
 *           x[i] *= by;
 *   }
 *
 * defines static void scale(float *x, float by, uint64_t n); AS_VECTOR_OF() takes the type that is
 * returned before the name. Sanitizers and analyzers see the same loops once. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang_analyzer__)
#define AS_VECTOR_ONCE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AS_VECTOR_ONCE 1
#endif
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(AS_VECTOR_ONCE)
#define AS_VECTOR_LEVELS(linkage, type, give, name, params, args)                                  \
    static inline __attribute__((always_inline)) type name##_loop params;                          \
    __attribute__((target("arch=x86-64-v4"))) static type name##_v4 params                         \
    {                                                                                              \
        give name##_loop args;                                                                     \
    }                                                                                              \
    __attribute__((target("arch=x86-64-v3"))) static type name##_v3 params                         \
    {                                                                                              \
        give name##_loop args;                                                                     \
    }                                                                                              \
    linkage type name params                                                                       \
    {                                                                                              \
        enum as_isa isa_now = as_isa_get();                                                        \
                                                                                                   \
        if (isa_now >= AS_ISA_AVX512_CORE)                                                         \
            give name##_v4 args;                                                                   \
        else if (isa_now >= AS_ISA_AVX2)                                                           \
            give name##_v3 args;                                                                   \
        else                                                                                       \
            give name##_loop args;                                                                 \
    }                                                                                              \
    static inline __attribute__((always_inline)) type name##_loop params
#else
#define AS_VECTOR_LEVELS(linkage, type, give, name, params, args) linkage type name params
#endif
#define AS_VECTOR(linkage, name, params, args) AS_VECTOR_LEVELS(linkage, void, , name, params, args)
#define AS_VECTOR_OF(linkage, type, name, params, args)                                            \
    AS_VECTOR_LEVELS(linkage, type, return, name, params, args)

#endif
