/* model/dtype.c - the kinds of numbers a tensor can hold, down to 4 bits and quantised blocks.
 * Sizes go by blocks: `block_elems` elements are stored in `block_bytes` bytes. */
#include "model/dtype.h"

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

double as_dtype_bits(unsigned dtype)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);

    return 8.0 * info->block_bytes / info->block_elems;
}
