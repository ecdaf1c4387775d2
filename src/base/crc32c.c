/* base/crc32c.c - CRC-32C (Castagnoli), by the processor's own instruction where it has one. */
#include "base/crc32c.h"

#include <string.h>

/* A CRC is linear, so the entry for a byte is the sum of the entries for its bits: eight numbers
 * make a table, and the compiler works out the rest. Table k is for a byte with k more bytes behind
 * it. */
#define BIT(i, b, v) ((i) >> (b)&1 ? (v) : 0u)
#define CELL(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                    \
    (BIT(i, 0, b0) ^ BIT(i, 1, b1) ^ BIT(i, 2, b2) ^ BIT(i, 3, b3) ^ BIT(i, 4, b4) ^               \
     BIT(i, 5, b5) ^ BIT(i, 6, b6) ^ BIT(i, 7, b7))
#define CELLS_4(i, ...)                                                                            \
    CELL((i), __VA_ARGS__), CELL((i) + 1, __VA_ARGS__), CELL((i) + 2, __VA_ARGS__),                \
        CELL((i) + 3, __VA_ARGS__)
#define CELLS_16(i, ...)                                                                           \
    CELLS_4((i), __VA_ARGS__), CELLS_4((i) + 4, __VA_ARGS__), CELLS_4((i) + 8, __VA_ARGS__),       \
        CELLS_4((i) + 12, __VA_ARGS__)
#define CELLS_64(i, ...)                                                                           \
    CELLS_16((i), __VA_ARGS__), CELLS_16((i) + 16, __VA_ARGS__), CELLS_16((i) + 32, __VA_ARGS__),  \
        CELLS_16((i) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        CELLS_64(0, __VA_ARGS__), CELLS_64(64, __VA_ARGS__), CELLS_64(128, __VA_ARGS__),           \
            CELLS_64(192, __VA_ARGS__)                                                             \
    }

static const uint32_t table[8][256] = {
    TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu,
          0x82f63b78u),
    TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u,
          0xfbc3faf9u),
    TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u,
          0x8b277743u),
    TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u,
          0x52a0c93fu),
    TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu,
          0x6ea2d55cu),
    TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu,
          0x1c08b7d6u),
    TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au,
          0xf56e0ef4u),
    TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u,
          0x34019664u),
};

static uint64_t load_u64le(const unsigned char *p)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

uint32_t as_crc32c_portable(uint32_t seed, const void *data, size_t size)
{
    const unsigned char *p = data;
    uint32_t crc = ~seed;

    while (size >= 8) {
        uint64_t word = load_u64le(p) ^ crc;

        crc = 0;
        for (unsigned i = 0; i < 8; i++)
            crc ^= table[7 - i][word >> (8 * i) & 0xff];
        p += 8;
        size -= 8;
    }
    while (size-- > 0)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t seed,
                                                                     const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t crc = ~seed;

    while (size >= 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        crc = __builtin_ia32_crc32di(crc, word);
        p += 8;
        size -= 8;
    }
    while (size-- > 0)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *p++);
    return ~(uint32_t)crc;
}

uint32_t as_crc32c(uint32_t seed, const void *data, size_t size)
{
    return __builtin_cpu_supports("sse4.2") ? crc_by_instruction(seed, data, size)
                                            : as_crc32c_portable(seed, data, size);
}
#else
uint32_t as_crc32c(uint32_t seed, const void *data, size_t size)
{
    return as_crc32c_portable(seed, data, size);
}
#endif
