/* engine/kernels/math/kern_typed.h - lists of the number types that loops are written for once and
 * made for each. X(DTYPE, tag, type, unsigned type to calculate in): whole numbers wrap around
 * instead of overflowing. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_TYPED_H
#define AS_ENGINE_KERNELS_MATH_KERN_TYPED_H

#include "engine/kernel.h"

#define AS_TYPES_FLOAT(X)                                                                          \
    X(F32, f32, float, float)                                                                      \
    X(F64, f64, double, double)

#define AS_TYPES_SIGNED(X)                                                                         \
    X(I8, i8, int8_t, uint32_t)                                                                    \
    X(I16, i16, int16_t, uint32_t)                                                                 \
    X(I32, i32, int32_t, uint32_t)                                                                 \
    X(I64, i64, int64_t, uint64_t)

#define AS_TYPES_UNSIGNED(X)                                                                       \
    X(U8, u8, uint8_t, uint32_t)                                                                   \
    X(U16, u16, uint16_t, uint32_t)                                                                \
    X(U32, u32, uint32_t, uint32_t)                                                                \
    X(U64, u64, uint64_t, uint64_t)

#define AS_TYPES_WHOLE(X)  AS_TYPES_SIGNED(X) AS_TYPES_UNSIGNED(X)
#define AS_TYPES_NUMBER(X) AS_TYPES_FLOAT(X) AS_TYPES_WHOLE(X)

/* Rows of a loop may be read and written at the same place, never at another one. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_IVDEP _Pragma("GCC ivdep")
#else
#define AS_IVDEP
#endif

/* Pieces of work below this many elements are not worth a thread. */
enum { AS_GRAIN = 16384 };

/* How many things of `work` elements each make a piece. */
static inline uint64_t as_grain_of(uint64_t work)
{
    return work >= AS_GRAIN ? 1 : AS_GRAIN / (work ? work : 1);
}

/* Bytes of one element; 0 for those that share a byte. */
static inline size_t as_elem_bytes(unsigned dtype)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);

    if (dtype == AS_DTYPE_STRING)
        return sizeof(struct as_text);
    return info->block_elems == 1 ? info->block_bytes : 0;
}

/* A tensor seen as [outer, n, inner] around one axis. */
struct as_around {
    uint64_t outer, n, inner;
};

static inline struct as_around as_around_axes(const struct as_val *val, int from, int to)
{
    struct as_around a = {1, 1, 1};

    for (int i = 0; i < val->rank; i++)
        *(i < from ? &a.outer : i < to ? &a.n : &a.inner) *= (uint64_t)val->dims[i];
    return a;
}

/* The axis attribute made positive; fails when it is outside of the rank. */
static inline int as_kernel_axis(struct as_kernel_ctx *k, int64_t said, int rank, int *axis)
{
    *axis = 0;
    if (said < -rank || said >= rank)
        return as_kernel_fail(k, "axis %lld is outside of rank %d", (long long)said, rank);
    *axis = (int)(said < 0 ? said + rank : said);
    return ASSAY_OK;
}

/* Tensors that must be alike; `what` names the second. */
static inline int as_kernel_same_size(struct as_kernel_ctx *k, const struct as_val *a,
                                      const struct as_val *b, const char *what)
{
    return a->n == b->n ? ASSAY_OK
                        : as_kernel_fail(k, "%s has %llu elements where %llu are needed", what,
                                         (unsigned long long)b->n, (unsigned long long)a->n);
}

#endif
