/* model/graph/dtype.h - the kinds of numbers a tensor can hold, down to 4 bits and quantized
 * blocks. Sizes go by blocks: `block_elems` elements are stored in `block_bytes` bytes. */
#ifndef AS_MODEL_GRAPH_DTYPE_H
#define AS_MODEL_GRAPH_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

enum as_dtype_class {
    AS_CLASS_NONE,
    AS_CLASS_FLOAT,
    AS_CLASS_INT, /* signed */
    AS_CLASS_UINT,
    AS_CLASS_BOOL,
    AS_CLASS_TEXT,
    AS_CLASS_COMPLEX,
    AS_CLASS_BLOCK, /* quantized in blocks that carry their scales */
    AS_CLASS_COUNT
};

/* name, word, class, elements in a block, bytes of a block */
#define AS_DTYPES(X)                                                                               \
    X(UNKNOWN, "unknown", NONE, 1, 0)                                                              \
    X(F32, "f32", FLOAT, 1, 4)                                                                     \
    X(F64, "f64", FLOAT, 1, 8)                                                                     \
    X(F16, "f16", FLOAT, 1, 2)                                                                     \
    X(BF16, "bf16", FLOAT, 1, 2)                                                                   \
    X(F8E4M3FN, "f8e4m3fn", FLOAT, 1, 1)                                                           \
    X(F8E4M3FNUZ, "f8e4m3fnuz", FLOAT, 1, 1)                                                       \
    X(F8E5M2, "f8e5m2", FLOAT, 1, 1)                                                               \
    X(F8E5M2FNUZ, "f8e5m2fnuz", FLOAT, 1, 1)                                                       \
    X(F4E2M1, "f4e2m1", FLOAT, 2, 1)                                                               \
    X(I64, "i64", INT, 1, 8)                                                                       \
    X(I32, "i32", INT, 1, 4)                                                                       \
    X(I16, "i16", INT, 1, 2)                                                                       \
    X(I8, "i8", INT, 1, 1)                                                                         \
    X(I4, "i4", INT, 2, 1)                                                                         \
    X(U64, "u64", UINT, 1, 8)                                                                      \
    X(U32, "u32", UINT, 1, 4)                                                                      \
    X(U16, "u16", UINT, 1, 2)                                                                      \
    X(U8, "u8", UINT, 1, 1)                                                                        \
    X(U4, "u4", UINT, 2, 1)                                                                        \
    X(BOOL, "bool", BOOL, 1, 1)                                                                    \
    X(STRING, "string", TEXT, 1, 0)                                                                \
    X(C64, "c64", COMPLEX, 1, 8)                                                                   \
    X(C128, "c128", COMPLEX, 1, 16)                                                                \
    X(Q4_0, "q4_0", BLOCK, 32, 18)                                                                 \
    X(Q4_1, "q4_1", BLOCK, 32, 20)                                                                 \
    X(Q5_0, "q5_0", BLOCK, 32, 22)                                                                 \
    X(Q5_1, "q5_1", BLOCK, 32, 24)                                                                 \
    X(Q8_0, "q8_0", BLOCK, 32, 34)                                                                 \
    X(Q8_1, "q8_1", BLOCK, 32, 36)                                                                 \
    X(Q2_K, "q2_k", BLOCK, 256, 84)                                                                \
    X(Q3_K, "q3_k", BLOCK, 256, 110)                                                               \
    X(Q4_K, "q4_k", BLOCK, 256, 144)                                                               \
    X(Q5_K, "q5_k", BLOCK, 256, 176)                                                               \
    X(Q6_K, "q6_k", BLOCK, 256, 210)                                                               \
    X(Q8_K, "q8_k", BLOCK, 256, 292)                                                               \
    X(IQ2_XXS, "iq2_xxs", BLOCK, 256, 66)                                                          \
    X(IQ2_XS, "iq2_xs", BLOCK, 256, 74)                                                            \
    X(IQ2_S, "iq2_s", BLOCK, 256, 82)                                                              \
    X(IQ3_XXS, "iq3_xxs", BLOCK, 256, 98)                                                          \
    X(IQ3_S, "iq3_s", BLOCK, 256, 110)                                                             \
    X(IQ1_S, "iq1_s", BLOCK, 256, 50)                                                              \
    X(IQ1_M, "iq1_m", BLOCK, 256, 56)                                                              \
    X(IQ4_NL, "iq4_nl", BLOCK, 32, 18)                                                             \
    X(IQ4_XS, "iq4_xs", BLOCK, 256, 136)                                                           \
    X(TQ1_0, "tq1_0", BLOCK, 256, 54)                                                              \
    X(TQ2_0, "tq2_0", BLOCK, 256, 66)                                                              \
    X(MXFP4, "mxfp4", BLOCK, 32, 17)                                                               \
    X(NVFP4, "nvfp4", BLOCK, 64, 36)                                                               \
    X(Q1_0, "q1_0", BLOCK, 128, 18)                                                                \
    X(Q2_0, "q2_0", BLOCK, 64, 18)

enum as_dtype {
#define X(name, word, kind, elems, bytes) AS_DTYPE_##name,
    AS_DTYPES(X)
#undef X
        AS_DTYPE_COUNT
};

struct as_dtype_info {
    const char *name;
    enum as_dtype_class kind;
    uint32_t block_elems, block_bytes; /* block_bytes 0: the size is not known from the count */
};

/* Never NULL; a number out of range gives AS_DTYPE_UNKNOWN's. */
const struct as_dtype_info *as_dtype_at(unsigned dtype);

static inline const char *as_dtype_name(unsigned dtype)
{
    return as_dtype_at(dtype)->name;
}

bool as_dtype_is_float(unsigned dtype);   /* f64 down to 4 bits, not blocks */
bool as_dtype_is_integer(unsigned dtype); /* signed or unsigned */

/* Bytes of `n` elements, the last block rounded up. False when they do not fit in 64 bits. */
bool as_dtype_bytes(unsigned dtype, uint64_t n, uint64_t *bytes);

/* The number ONNX gives a dtype in files and attributes; AS_DTYPE_UNKNOWN for one it does not. */
unsigned as_dtype_of_onnx(int64_t number);

/* Bits an element takes on average, with the scales of its block: 4.5 for q4_0. */
double as_dtype_bits(unsigned dtype);

#endif
