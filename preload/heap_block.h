/* preload/heap_block.h - the 16 bytes before each block that say where it was allocated.
 * What bears no such mark is not ours, and goes to whom it came from.
 *
 *   p - 16   size 48 bits | log2 of the bytes before p, less 4: 6 | call of the layer, high 10
 *   p - 8    mark 16 | cell 17 | stack 15 | call of the layer, low 16
 *
 * glibc keeps the size of a chunk at p - 8, which never has the upper 16 bits set. */
#ifndef AS_PRELOAD_HEAP_BLOCK_H
#define AS_PRELOAD_HEAP_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define AS_BLOCK_HEADER   16u
#define AS_BLOCK_LOG2     4u /* of the header */
#define AS_BLOCK_MARK     0xa55au
#define AS_BLOCK_FREED    0xa55b /* freed through us: a second time is glibc's to complain about */
#define AS_BLOCK_MAX      ((UINT64_C(1) << 47) - 1)
#define AS_BLOCK_EARLY    0x1ffffu /* beyond all cells: of blocks from before the share was there */
#define AS_BLOCK_CALL_MAX ((1u << 26) - 1)

struct as_block {
    uint64_t size_bytes;
    uint32_t log2_before, cell, stack, call;
};

static inline void as_block_mark(void *p, const struct as_block *b)
{
    uint64_t *word = p;

    word[-2] = b->size_bytes | (uint64_t)(b->log2_before - AS_BLOCK_LOG2) << 48 |
               (uint64_t)(b->call >> 16) << 54;
    word[-1] = (uint64_t)AS_BLOCK_MARK << 48 | (uint64_t)b->cell << 31 | (uint64_t)b->stack << 16 |
               (b->call & 0xffffu);
}

/* Neither aligned nor sampled, outside of layers: most are. */
static inline void as_block_mark_plain(void *p, uint64_t size_bytes, uint32_t cell)
{
    uint64_t *word = p;

    word[-2] = size_bytes;
    word[-1] = (uint64_t)AS_BLOCK_MARK << 48 | (uint64_t)cell << 31;
}

/* Whether the two words are such a block's, and it is counted; the first is its size then. */
static inline bool as_block_is_plain(uint64_t size_word, uint64_t mark_word)
{
    return size_word >> 48 == 0 && mark_word >> 47 == (uint64_t)AS_BLOCK_MARK << 1 &&
           (mark_word & 0x7fffffffu) == 0;
}

static inline uint32_t as_block_cell(uint64_t mark_word)
{
    return (uint32_t)(mark_word >> 31) & 0x1ffffu;
}

static inline uint64_t as_block_mark_of(const void *p)
{
    return ((const uint64_t *)p)[-1] >> 48;
}

static inline struct as_block as_block_of(const void *p)
{
    const uint64_t *word = p;

    return (struct as_block){
        .size_bytes = word[-2] & ((UINT64_C(1) << 48) - 1),
        .log2_before = ((uint32_t)(word[-2] >> 48) & 63u) + AS_BLOCK_LOG2,
        .cell = as_block_cell(word[-1]),
        .stack = (uint32_t)(word[-1] >> 16) & 0x7fffu,
        .call = (uint32_t)(word[-2] >> 54) << 16 | (uint32_t)(word[-1] & 0xffffu),
    };
}

static inline void as_block_unmark(void *p)
{
    ((uint64_t *)p)[-1] = (uint64_t)AS_BLOCK_FREED << 48;
}

/* What was asked of glibc. */
static inline void *as_block_start(void *p, const struct as_block *b)
{
    return (char *)p - (UINT64_C(1) << b->log2_before);
}

#endif
