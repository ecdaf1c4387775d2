/* engine/memory_count.h - memory taken while a network runs, counted to the byte by what it is for.
 * Every large block of the engine comes from here, so that sums and peaks are exact. */
#ifndef AS_ENGINE_MEMORY_COUNT_H
#define AS_ENGINE_MEMORY_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_MEM_ALIGN 64

/* What memory is for: name in reports. */
#define AS_MEM_KINDS(X)                                                                            \
    X(PARAMETERS, "parameters")                                                                    \
    X(ACTIVATIONS, "activations")                                                                  \
    X(KV_CACHE, "kv_cache")                                                                        \
    X(GRADIENTS, "gradients")                                                                      \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(WORKSPACE, "workspace")

enum as_mem_kind {
#define X(name, word) AS_MEM_##name,
    AS_MEM_KINDS(X)
#undef X
        AS_MEM_KIND_COUNT
};

struct as_mem_total {
    uint64_t current_bytes, peak_bytes; /* as asked for, without rounding */
    uint64_t n_allocations;
};

/* {0} is empty and without a limit. */
struct as_mem {
    struct as_mem_total of[AS_MEM_KIND_COUNT];
    struct as_mem_total all; /* its peak is that of the sum, not the sum of peaks */
    uint64_t limit_bytes;    /* of the sum and what is kept beside it; 0: none */
    uint64_t beside_bytes;   /* what keeps the blocks, and texts: in no sum, but limited */
};

const char *as_mem_kind_name(enum as_mem_kind kind);

/* `size` bytes aligned to AS_MEM_ALIGN with as many readable bytes behind them as complete the last
 * AS_MEM_ALIGN; not cleared. Of 0 bytes: a block all the same. NULL: no memory, or past the limit.
 */
void *as_mem_alloc(struct as_mem *mem, enum as_mem_kind kind, uint64_t size);

/* The same without being counted, freed by as_free(). Large ones are in huge pages where the system
 * has them. */
void *as_mem_block(uint64_t size);

/* Gives the pages back that lie wholly within [from, from + size) of a block; their numbers are
 * lost, and the count stays what was asked for until the block is freed. */
void as_mem_give_back(void *from, uint64_t size);

/* `size` as it was asked for. Accepts NULL. */
void as_mem_free(struct as_mem *mem, enum as_mem_kind kind, void *block, uint64_t size);

/* Counts memory that is not taken here, for instance a planned piece of an arena coming alive. */
void as_mem_add(struct as_mem *mem, enum as_mem_kind kind, uint64_t size);
void as_mem_sub(struct as_mem *mem, enum as_mem_kind kind, uint64_t size);

/* Memory that belongs to no kind, as the lists of sequences and what texts are made of: not in the
 * sums, yet limited with them. False: past the limit. */
bool as_mem_beside(struct as_mem *mem, uint64_t size) __attribute__((warn_unused_result));
void as_mem_beside_sub(struct as_mem *mem, uint64_t size);
/* What the limit leaves; UINT64_MAX without one. */
uint64_t as_mem_left(const struct as_mem *mem);

/* Peaks begin again at what is held now. */
void as_mem_reset_peaks(struct as_mem *mem);

#endif
