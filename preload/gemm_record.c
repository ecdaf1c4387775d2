/* preload/gemm_record.c - the time of one product, from its call to its return, into the share.
 * A shape's line is found through an index; nothing is locked, nothing is taken from the heap. */
#include "gemm_record.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "attach.h"
#include "gemm_core.h"
#include "shm_file.h"

#define PROBES 256u

_Static_assert(sizeof(struct as_gemm_key) == 192, "keys are compared whole, so without holes");

static _Thread_local uintptr_t outer_frame; /* of the product that this thread is in, or 0 */

uint64_t as_gemm_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct as_gemm_shm *share_of(struct as_shm_header *header)
{
    return (struct as_gemm_shm *)(void *)((char *)header + AS_SHM_GEMM_AT);
}

bool as_gemm_enter(const void *frame)
{
    uintptr_t here = (uintptr_t)frame;

    if (!as_watching(AS_WATCH_GEMM) || (outer_frame && here < outer_frame))
        return false;
    outer_frame = here;
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct as_gemm_key *key)
{
    uint64_t head[2], hash;

    memcpy(head, key, sizeof head);
    hash = mix(mix(0, head[0]), head[1]);
    hash = mix(mix(mix(mix(hash, key->m), key->n), key->k), key->batch);
    for (int t = 0; t < AS_GEMM_TENSOR_COUNT; t++)
        for (unsigned i = 0; i < key->n_dims[t] && i < AS_GEMM_MAX_DIMS; i++)
            hash = mix(hash, key->dims[t][i]);
    return hash;
}

static void add_own(struct as_shm_header *header, uint64_t bytes)
{
    atomic_fetch_add_explicit(&header->own_bytes, bytes, memory_order_relaxed);
}

/* How much of the part there is. The file is sparse, and a page that a full disk does not give
 * would end the program: what is going to be written is asked for before. */
enum part { NOT_ASKED, NOTHING, HEADER_ONLY, READY };

static _Atomic int part;
static _Atomic bool forks_told; /* to begin_anew() */

static size_t part_bytes(enum part is)
{
    return is == READY         ? offsetof(struct as_gemm_shm, entry)
           : is == HEADER_ONLY ? offsetof(struct as_gemm_shm, slot)
                               : 0;
}

/* In a forked child, whose share is new: nothing was asked for there. */
static void begin_anew(void)
{
    outer_frame = 0;
    atomic_store_explicit(&part, NOT_ASKED, memory_order_relaxed);
}

static enum part ask_for_part(struct as_shm_header *header)
{
    const struct as_gemm_shm *shm = share_of(header);
    enum part got = !as_shm_file_touch(shm, part_bytes(HEADER_ONLY)) ? NOTHING
                    : !as_shm_file_touch(shm, part_bytes(READY))     ? HEADER_ONLY
                                                                     : READY;
    int before = NOT_ASKED;

    if (!atomic_compare_exchange_strong_explicit(&part, &before, (int)got, memory_order_acq_rel,
                                                 memory_order_acquire))
        return (enum part)before;
    add_own(header, part_bytes(got));
    if (!atomic_exchange(&forks_told, true))
        (void)pthread_atfork(NULL, NULL, begin_anew);
    return got;
}

static enum part part_of(struct as_shm_header *header)
{
    enum part is = (enum part)atomic_load_explicit(&part, memory_order_acquire);

    return is == NOT_ASKED ? ask_for_part(header) : is;
}

/* The number of a new entry with that key, or AS_GEMM_ENTRIES when all are taken. */
static uint32_t new_entry(struct as_shm_header *header, struct as_gemm_shm *shm,
                          const struct as_gemm_key *key)
{
    uint64_t number;
    struct as_gemm_entry *entry;

    if (atomic_load_explicit(&shm->header.n_entries, memory_order_relaxed) >= AS_GEMM_ENTRIES)
        return AS_GEMM_ENTRIES;
    number = atomic_fetch_add_explicit(&shm->header.n_entries, 1, memory_order_relaxed);
    if (number >= AS_GEMM_ENTRIES || !as_shm_file_touch(&shm->entry[number], sizeof *entry))
        return AS_GEMM_ENTRIES;
    entry = &shm->entry[number];
    add_own(header, sizeof *entry);
    entry->key = *key;
    atomic_store_explicit(&entry->calls, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->time_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->max_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->min_ns, UINT64_MAX, memory_order_relaxed);
    return (uint32_t)number;
}

/* The entry that a word of the index names, when it is of that key. */
static struct as_gemm_entry *matching(struct as_gemm_shm *shm, uint32_t word, uint32_t tag,
                                      const struct as_gemm_key *key)
{
    uint32_t number = (word & 0xffff) - 1;
    struct as_gemm_entry *entry;

    if ((word & 0xffff0000u) != tag || number >= AS_GEMM_ENTRIES)
        return NULL;
    entry = &shm->entry[number];
    return memcmp(&entry->key, key, sizeof *key) == 0 ? entry : NULL;
}

/* Two threads that bring a new shape at once meet at the same word: one of them puts its entry
 * there, the other one uses it and leaves its own unused. */
static struct as_gemm_entry *find_entry(struct as_shm_header *header, struct as_gemm_shm *shm,
                                        const struct as_gemm_key *key)
{
    uint64_t hash = hash_of(key);
    uint32_t tag = (uint32_t)(hash >> 48) << 16;
    uint32_t mine = AS_GEMM_ENTRIES;

    for (unsigned i = 0; i < PROBES; i++) {
        unsigned slot = (unsigned)(hash + i) % AS_GEMM_SLOTS;
        uint32_t word = atomic_load_explicit(&shm->slot[slot], memory_order_acquire);
        struct as_gemm_entry *entry;

        if (word == 0) {
            if (mine == AS_GEMM_ENTRIES)
                mine = new_entry(header, shm, key);
            if (mine == AS_GEMM_ENTRIES)
                return NULL;
            if (atomic_compare_exchange_strong_explicit(&shm->slot[slot], &word, tag | (mine + 1),
                                                        memory_order_acq_rel, memory_order_acquire))
                return &shm->entry[mine];
        }
        entry = matching(shm, word, tag, key);
        if (entry)
            return entry;
    }
    return NULL;
}

static void add_call(struct as_gemm_entry *entry, uint64_t took_ns)
{
    uint64_t least = atomic_load_explicit(&entry->min_ns, memory_order_relaxed);
    uint64_t most = atomic_load_explicit(&entry->max_ns, memory_order_relaxed);

    while (took_ns < least &&
           !atomic_compare_exchange_weak_explicit(&entry->min_ns, &least, took_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    while (took_ns > most &&
           !atomic_compare_exchange_weak_explicit(&entry->max_ns, &most, took_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&entry->time_ns, took_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&entry->calls, 1, memory_order_release);
}

/* Budget: 200 ns a wrapped call, with the two readings of the clock. */
void as_gemm_leave(uint64_t start_ns, const struct as_gemm_key *key)
{
    uint64_t took_ns = as_gemm_now_ns() - start_ns;
    struct as_shm_header *header = as_attached();
    struct as_gemm_entry *entry = NULL;
    struct as_gemm_shm *shm;
    int kept = errno;
    enum part is;

    outer_frame = 0;
    is = header ? part_of(header) : NOTHING;
    if (is == NOTHING)
        goto out;
    shm = share_of(header);
    as_gemm_core_put(&shm->header);
    if (is == READY)
        entry = find_entry(header, shm, key);
    if (entry) {
        add_call(entry, took_ns);
    } else {
        atomic_fetch_add_explicit(&shm->header.unplaced, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&shm->header.unplaced_ns, took_ns, memory_order_relaxed);
    }
out:
    errno = kept;
}
