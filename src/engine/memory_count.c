/* engine/memory_count.c - memory taken while a network runs, counted to the byte by what it is for.
 * Blocks are rounded up to whole cache lines; the counts are of what was asked for. */
#include "engine/memory_count.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/units.h"

static const char *const kind_name[] = {
#define X(name, word) [AS_MEM_##name] = (word),
    AS_MEM_KINDS(X)
#undef X
};
_Static_assert(AS_COUNT_OF(kind_name) == AS_MEM_KIND_COUNT, "name every kind");

const char *as_mem_kind_name(enum as_mem_kind kind)
{
    return (unsigned)kind < AS_MEM_KIND_COUNT ? kind_name[kind] : "unknown";
}

static void grow(struct as_mem_total *total, uint64_t size)
{
    total->current_bytes += size;
    total->n_allocations++;
    if (total->current_bytes > total->peak_bytes)
        total->peak_bytes = total->current_bytes;
}

void as_mem_add(struct as_mem *mem, enum as_mem_kind kind, uint64_t size)
{
    grow(&mem->of[kind], size);
    grow(&mem->all, size);
}

void as_mem_sub(struct as_mem *mem, enum as_mem_kind kind, uint64_t size)
{
    mem->of[kind].current_bytes -= size;
    mem->all.current_bytes -= size;
}

/* Weights stay while the engine lives, and copies of them go while it is prepared: taken from the
 * heap, these would leave holes that are never given back. A sanitizer sees only the heap. */
static bool wants_pages(enum as_mem_kind kind, uint64_t size)
{
#if defined(__SANITIZE_ADDRESS__) || defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
    (void)kind, (void)size;
    return false;
#else
    return kind == AS_MEM_PARAMETERS && size >= UINT64_C(128) * 1024;
#endif
}

/* A block is rounded up to whole lines; AddressSanitizer is told where the tensor in it ends. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#define HAS_ASAN __has_feature(address_sanitizer)
#else
#define HAS_ASAN 0
#endif
#if HAS_ASAN
#include <sanitizer/asan_interface.h>
#define END_BLOCK(block, size, whole)                                                              \
    ASAN_POISON_MEMORY_REGION((char *)(block) + (size), (whole) - (size))
#else
#define END_BLOCK(block, size, whole) (void)(block)
#endif

/* Every small page would be a miss in the translation of addresses. Only whole huge pages are asked
 * for, so nothing is wasted. */
void *as_mem_block(uint64_t size)
{
    const size_t huge = (size_t)2 << 20;
    size_t whole = (size_t)size / AS_MEM_ALIGN * AS_MEM_ALIGN + AS_MEM_ALIGN;
    void *block;

    if (size > SIZE_MAX / 2)
        return NULL;
    if (size < huge) {
        block = as_alloc_aligned(AS_MEM_ALIGN, whole);
        if (block)
            END_BLOCK(block, (size_t)size, whole);
        return block;
    }
    block = as_alloc_aligned(huge, (whole + huge - 1) / huge * huge);
    if (block)
        (void)madvise(block, (size_t)size / huge * huge, MADV_HUGEPAGE); /* a wish */
    return block;
}

uint64_t as_mem_left(const struct as_mem *mem)
{
    uint64_t used;

    if (mem->limit_bytes == 0)
        return UINT64_MAX;
    if (!as_add_u64(mem->all.current_bytes, mem->beside_bytes, &used) || used >= mem->limit_bytes)
        return 0;
    return mem->limit_bytes - used;
}

bool as_mem_beside(struct as_mem *mem, uint64_t size)
{
    if (size > as_mem_left(mem))
        return false;
    mem->beside_bytes += size;
    return true;
}

void as_mem_beside_sub(struct as_mem *mem, uint64_t size)
{
    mem->beside_bytes -= size;
}

void *as_mem_alloc(struct as_mem *mem, enum as_mem_kind kind, uint64_t size)
{
    uint64_t whole;
    void *block;

    if (!as_add_u64(size, AS_MEM_ALIGN, &whole) || whole > SIZE_MAX / 2 || size > as_mem_left(mem))
        return NULL;
    block = wants_pages(kind, size) ? as_alloc_pages((size_t)whole) : as_mem_block(size);
    if (block)
        as_mem_add(mem, kind, size);
    return block;
}

void as_mem_give_back(void *from, uint64_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    uint64_t skip;

    if (page <= 0)
        return;
    skip = ((uint64_t)page - (uintptr_t)from % (uint64_t)page) % (uint64_t)page;
    if (size > skip)
        (void)madvise((char *)from + skip, (size_t)((size - skip) / (uint64_t)page) * (size_t)page,
                      MADV_DONTNEED);
}

void as_mem_free(struct as_mem *mem, enum as_mem_kind kind, void *block, uint64_t size)
{
    if (!block)
        return;
    as_mem_sub(mem, kind, size);
    if (wants_pages(kind, size))
        as_free_pages(block, (size_t)size + AS_MEM_ALIGN);
    else
        as_free(block);
}

void as_mem_reset_peaks(struct as_mem *mem)
{
    for (int i = 0; i < AS_MEM_KIND_COUNT; i++)
        mem->of[i].peak_bytes = mem->of[i].current_bytes;
    mem->all.peak_bytes = mem->all.current_bytes;
}
