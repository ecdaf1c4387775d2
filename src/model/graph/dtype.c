/* model/graph/dtype.c - the kinds of numbers a tensor can hold, down to 4 bits and quantized
 * blocks. Sizes go by blocks: `block_elems` elements are stored in `block_bytes` bytes. */
#include "model/graph/dtype.h"

#include "base/cursor.h"

static const struct as_dtype_info infos[] = {
#define X(name, word, kind, elems, bytes) {word, AS_CLASS_##kind, elems, bytes},
    AS_DTYPES(X)
#undef X
};

const struct as_dtype_info *as_dtype_at(unsigned dtype)
{
    return &infos[dtype < AS_DTYPE_COUNT ? dtype : AS_DTYPE_UNKNOWN];
}

bool as_dtype_is_float(unsigned dtype)
{
    return as_dtype_at(dtype)->kind == AS_CLASS_FLOAT;
}

bool as_dtype_is_integer(unsigned dtype)
{
    enum as_dtype_class kind = as_dtype_at(dtype)->kind;

    return kind == AS_CLASS_INT || kind == AS_CLASS_UINT;
}

bool as_dtype_bytes(unsigned dtype, uint64_t n, uint64_t *bytes)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);
    uint64_t blocks = n / info->block_elems + (n % info->block_elems != 0);

    return as_mul_u64(blocks, info->block_bytes, bytes);
}

unsigned as_dtype_of_onnx(int64_t number)
{
    static const uint8_t known[] = {
        [1] = AS_DTYPE_F32,     [2] = AS_DTYPE_U8,          [3] = AS_DTYPE_I8,
        [4] = AS_DTYPE_U16,     [5] = AS_DTYPE_I16,         [6] = AS_DTYPE_I32,
        [7] = AS_DTYPE_I64,     [8] = AS_DTYPE_STRING,      [9] = AS_DTYPE_BOOL,
        [10] = AS_DTYPE_F16,    [11] = AS_DTYPE_F64,        [12] = AS_DTYPE_U32,
        [13] = AS_DTYPE_U64,    [14] = AS_DTYPE_C64,        [15] = AS_DTYPE_C128,
        [16] = AS_DTYPE_BF16,   [17] = AS_DTYPE_F8E4M3FN,   [18] = AS_DTYPE_F8E4M3FNUZ,
        [19] = AS_DTYPE_F8E5M2, [20] = AS_DTYPE_F8E5M2FNUZ, [21] = AS_DTYPE_U4,
        [22] = AS_DTYPE_I4,     [23] = AS_DTYPE_F4E2M1,
    };
    _Static_assert(AS_DTYPE_COUNT < 256, "a dtype fits in a byte");

    return number >= 0 && number < (int64_t)sizeof known ? known[number]
                                                         : (unsigned)AS_DTYPE_UNKNOWN;
}

double as_dtype_bits(unsigned dtype)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);

    return 8.0 * info->block_bytes / info->block_elems;
}
