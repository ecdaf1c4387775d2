/* format/gguf/gguf_types.c - the numbers GGUF gives to tensor types and to kinds of metadata. */
#include "format/gguf/gguf_types.h"

#include <stddef.h>

#include "base/units.h"
#include "model/graph/dtype.h"

static const struct {
    const char *name;
    uint32_t bytes;
} kinds[] = {
    [AS_GGUF_U8] = {"u8", 1},        [AS_GGUF_I8] = {"i8", 1},     [AS_GGUF_U16] = {"u16", 2},
    [AS_GGUF_I16] = {"i16", 2},      [AS_GGUF_U32] = {"u32", 4},   [AS_GGUF_I32] = {"i32", 4},
    [AS_GGUF_F32] = {"f32", 4},      [AS_GGUF_BOOL] = {"bool", 1}, [AS_GGUF_STRING] = {"string", 8},
    [AS_GGUF_ARRAY] = {"array", 12}, [AS_GGUF_U64] = {"u64", 8},   [AS_GGUF_I64] = {"i64", 8},
    [AS_GGUF_F64] = {"f64", 8},
};
_Static_assert(AS_COUNT_OF(kinds) == AS_GGUF_KIND_COUNT, "describe every kind");

const char *as_gguf_kind_name(uint32_t kind)
{
    return kind < AS_GGUF_KIND_COUNT ? kinds[kind].name : "?";
}

uint32_t as_gguf_kind_bytes(uint32_t kind)
{
    return kind < AS_GGUF_KIND_COUNT ? kinds[kind].bytes : 0;
}

/* By the code in the file. */
static const struct {
    uint8_t dtype;
    const char *removed;
} types[] = {
    [0] = {AS_DTYPE_F32, NULL},
    [1] = {AS_DTYPE_F16, NULL},
    [2] = {AS_DTYPE_Q4_0, NULL},
    [3] = {AS_DTYPE_Q4_1, NULL},
    [4] = {0, "q4_2"},
    [5] = {0, "q4_3"},
    [6] = {AS_DTYPE_Q5_0, NULL},
    [7] = {AS_DTYPE_Q5_1, NULL},
    [8] = {AS_DTYPE_Q8_0, NULL},
    [9] = {AS_DTYPE_Q8_1, NULL},
    [10] = {AS_DTYPE_Q2_K, NULL},
    [11] = {AS_DTYPE_Q3_K, NULL},
    [12] = {AS_DTYPE_Q4_K, NULL},
    [13] = {AS_DTYPE_Q5_K, NULL},
    [14] = {AS_DTYPE_Q6_K, NULL},
    [15] = {AS_DTYPE_Q8_K, NULL},
    [16] = {AS_DTYPE_IQ2_XXS, NULL},
    [17] = {AS_DTYPE_IQ2_XS, NULL},
    [18] = {AS_DTYPE_IQ3_XXS, NULL},
    [19] = {AS_DTYPE_IQ1_S, NULL},
    [20] = {AS_DTYPE_IQ4_NL, NULL},
    [21] = {AS_DTYPE_IQ3_S, NULL},
    [22] = {AS_DTYPE_IQ2_S, NULL},
    [23] = {AS_DTYPE_IQ4_XS, NULL},
    [24] = {AS_DTYPE_I8, NULL},
    [25] = {AS_DTYPE_I16, NULL},
    [26] = {AS_DTYPE_I32, NULL},
    [27] = {AS_DTYPE_I64, NULL},
    [28] = {AS_DTYPE_F64, NULL},
    [29] = {AS_DTYPE_IQ1_M, NULL},
    [30] = {AS_DTYPE_BF16, NULL},
    [31] = {0, "q4_0_4_4"},
    [32] = {0, "q4_0_4_8"},
    [33] = {0, "q4_0_8_8"},
    [34] = {AS_DTYPE_TQ1_0, NULL},
    [35] = {AS_DTYPE_TQ2_0, NULL},
    [36] = {0, "iq4_nl_4_4"},
    [37] = {0, "iq4_nl_4_8"},
    [38] = {0, "iq4_nl_8_8"},
    [39] = {AS_DTYPE_MXFP4, NULL},
    [40] = {AS_DTYPE_NVFP4, NULL},
    [41] = {AS_DTYPE_Q1_0, NULL},
    [42] = {AS_DTYPE_Q2_0, NULL},
};

bool as_gguf_dtype(uint32_t code, unsigned *dtype, const char **removed)
{
    *removed = NULL;
    *dtype = AS_DTYPE_UNKNOWN;
    if (code >= AS_COUNT_OF(types))
        return false;
    *removed = types[code].removed;
    *dtype = types[code].dtype;
    return *dtype != AS_DTYPE_UNKNOWN;
}

bool as_gguf_code(unsigned dtype, uint32_t *code)
{
    for (uint32_t i = 0; i < AS_COUNT_OF(types); i++)
        if (dtype != AS_DTYPE_UNKNOWN && types[i].dtype == dtype) {
            *code = i;
            return true;
        }
    return false;
}
