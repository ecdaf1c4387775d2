/* trace/shm/gemm_shm.h - the matrix products' part of a target's share: a line for each shape.
 * Written without locks by all threads of the target; whoever reads it trusts nothing in it.
 *
 *   header, an index of AS_GEMM_SLOTS words, AS_GEMM_ENTRIES entries filled from the first on.
 *   A word of the index is 0 or (hash >> 48) << 16 | number of the entry + 1. */
#ifndef AS_TRACE_SHM_GEMM_SHM_H
#define AS_TRACE_SHM_GEMM_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#include "trace/shm/gemm_names.h"
#include "trace/shm/target_shm.h"

#define AS_GEMM_SLOTS      32768u
#define AS_GEMM_ENTRIES    15360u
#define AS_GEMM_MAX_DIMS   6u
#define AS_GEMM_CORE_BYTES 32u
#define AS_GEMM_DIM_LATE   UINT64_MAX /* a dimension that is only known when the primitive runs */

enum as_gemm_function {
#define X(id, name, form, scalar, dtype, bits) AS_GEMM_##id,
    AS_GEMM_BLAS(X)
#undef X
#define X(id, name, form, dtype, bits) AS_GEMM_##id,
        AS_GEMM_LAPACK(X)
#undef X
            AS_GEMM_DNNL_SGEMM,
    AS_GEMM_DNNL_PRIMITIVE,
    AS_GEMM_FUNCTION_COUNT
};

/* What oneDNN 2 calls its primitives; 0 is one of a library whose version we do not know. */
#define AS_GEMM_PRIMITIVES(X)                                                                      \
    X(0, "primitive")                                                                              \
    X(1, "reorder")                                                                                \
    X(2, "shuffle")                                                                                \
    X(3, "concat")                                                                                 \
    X(4, "sum")                                                                                    \
    X(5, "convolution")                                                                            \
    X(6, "deconvolution")                                                                          \
    X(7, "eltwise")                                                                                \
    X(8, "softmax")                                                                                \
    X(9, "pooling")                                                                                \
    X(10, "lrn")                                                                                   \
    X(11, "batch normalization")                                                                   \
    X(12, "layer normalization")                                                                   \
    X(13, "inner product")                                                                         \
    X(14, "rnn")                                                                                   \
    X(15, "gemm")                                                                                  \
    X(16, "binary")                                                                                \
    X(17, "logsoftmax")                                                                            \
    X(18, "matmul")                                                                                \
    X(19, "resampling")                                                                            \
    X(20, "pooling v2")                                                                            \
    X(21, "reduction")                                                                             \
    X(22, "prelu")                                                                                 \
    X(23, "softmax v2")
#define AS_GEMM_KIND_COUNT         24u
#define AS_GEMM_KIND_UNKNOWN       0u
#define AS_GEMM_KIND_CONVOLUTION   5u
#define AS_GEMM_KIND_DECONVOLUTION 6u
#define AS_GEMM_KIND_INNER_PRODUCT 13u
#define AS_GEMM_KIND_MATMUL        18u

enum as_gemm_pass {
    AS_GEMM_FORWARD = 0,
    AS_GEMM_BACKWARD = 1,
    AS_GEMM_BACKWARD_DATA = 2,
    AS_GEMM_BACKWARD_WEIGHTS = 3,
    AS_GEMM_PASS_COUNT
};

/* Types of the elements: of a primitive's first source; a function of a BLAS has but one. */
enum as_gemm_dtype {
    AS_GEMM_UNTYPED = 0,
    AS_GEMM_F16 = 1,
    AS_GEMM_BF16 = 2,
    AS_GEMM_F32 = 3,
    AS_GEMM_S32 = 4,
    AS_GEMM_S8 = 5,
    AS_GEMM_U8 = 6,
    AS_GEMM_F64 = 7,
    AS_GEMM_C64 = 8,  /* two f32 */
    AS_GEMM_C128 = 9, /* two f64 */
    AS_GEMM_DTYPE_COUNT
};

enum as_gemm_tensor { AS_GEMM_SRC, AS_GEMM_WEIGHTS, AS_GEMM_DST, AS_GEMM_TENSOR_COUNT };

#define AS_GEMM_A_TRANSPOSED 1u
#define AS_GEMM_B_TRANSPOSED 2u

/* Of a LAPACK driver: nothing but values was asked for, no vectors. */
#define AS_GEMM_VALUES_ONLY 4u

/* What makes two calls the same. Products have m, n, k and batch; primitives have dimensions; of
 * LAPACK's functions m and n are those of the matrix, and k is the number of right sides. */
struct as_gemm_key {
    uint16_t function;  /* enum as_gemm_function */
    uint16_t kind;      /* AS_GEMM_PRIMITIVES */
    uint16_t dtype;     /* enum as_gemm_dtype */
    uint8_t pass;       /* enum as_gemm_pass */
    uint8_t transposed; /* bits of AS_GEMM_A_TRANSPOSED, AS_GEMM_VALUES_ONLY */
    uint8_t n_dims[3];  /* by enum as_gemm_tensor; more than AS_GEMM_MAX_DIMS: not written down */
    uint8_t unused[5];  /* 0: keys are compared whole */
    uint64_t m, n, k, batch;
    uint64_t dims[AS_GEMM_TENSOR_COUNT][AS_GEMM_MAX_DIMS];
};

/* 256 bytes, so that an entry lies within whole cache lines and within one page. */
struct as_gemm_entry {
    struct as_gemm_key key;
    _Atomic uint64_t calls; /* 0: nobody has used the entry */
    _Atomic uint64_t time_ns, min_ns, max_ns;
    uint64_t unused[4];
};

struct as_gemm_header {
    _Atomic uint64_t n_entries; /* handed out; may pass AS_GEMM_ENTRIES */
    _Atomic uint64_t unplaced;  /* calls for whose shape there was no room */
    _Atomic uint64_t unplaced_ns;
    char core[AS_GEMM_CORE_BYTES]; /* what an OpenBLAS has kernels for; "": not known */
    uint64_t unused;
};

struct as_gemm_shm {
    struct as_gemm_header header;
    _Alignas(4096) _Atomic uint32_t slot[AS_GEMM_SLOTS];
    _Alignas(4096) struct as_gemm_entry entry[AS_GEMM_ENTRIES];
};

_Static_assert(sizeof(struct as_gemm_entry) == 256, "an entry is four cache lines");
_Static_assert(sizeof(struct as_gemm_shm) <= AS_SHM_GEMM_BYTES, "the part has room for it");
_Static_assert(AS_GEMM_ENTRIES < 65535u, "the number of an entry fits into half a word");

#endif
