/* preload/heap_table.c - the blocks that are live, by address: what does not happen at each call.
 * Memory is the kernel's own; where there is none, a block is not counted and nobody fails. */
#include "heap_table.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"
#include "own_memory.h"

#define FIRST_BYTES   (256u << 10)
#define GROWTH_BITS   2u /* each table is four times the one before */
#define MAX_TABLES    8u /* the last has 4 GiB: 2^28 slots */
#define PAGE          4096u
#define BUCKET_BYTES  (AS_TABLE_BUCKET * sizeof(struct as_heap_table_slot))
#define GROW_PROBES   8u       /* a block that came so far tells that the table is full enough */
#define MAX_TRIES     1000000u /* a signal may have come to the thread that makes a table */
#define RETRY_CALLS   1024u    /* without memory it is asked for again that much later */
#define DETAILS       4096u    /* to a chunk */
#define DETAIL_CHUNKS 1024u
#define NOTE_PAGES    64u /* after so many more of them the share is written to */

_Static_assert(sizeof(struct as_heap_table_slot) == 16, "a bucket is a cache line");
_Static_assert(AS_TABLE_SIZE_BITS + 26 < 64, "size and call leave a bit");

/* What does not fit into a value. */
struct detail {
    _Atomic uint64_t size_bytes; /* of a free one: the number of the next */
    uint32_t stack, call;
};

const struct as_heap_table *_Atomic as_heap_table_newest;

static struct as_heap_table table[MAX_TABLES];
static _Atomic uint32_t n_tables, refused; /* calls since memory was refused; 0: it was not */
static _Atomic uint64_t used_bytes;
static _Atomic bool growing;
static bool keep_from_children;

static _Atomic bool thorough;

static AS_FAR struct detail *_Atomic chunk[DETAIL_CHUNKS];
static _Atomic uint64_t free_details; /* number of the first; the high half counts */
static _Atomic uint32_t n_details = 1;

/* ---- memory ---- */

static void *map(size_t bytes)
{
    int before = errno;
    long at = -1;

    if (as_own_memory_may_map(bytes))
        at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != -1) {
        as_own_memory_mapped(bytes);
        (void)syscall(SYS_madvise, at, bytes, MADV_DONTDUMP);
        (void)syscall(SYS_madvise, at, bytes, MADV_NOHUGEPAGE); /* pages are counted one by one */
        if (keep_from_children)
            (void)syscall(SYS_madvise, at, bytes, MADV_DONTFORK);
    }
    errno = before;
    return at == -1 ? NULL : (void *)at;
}

static void count_used(uint64_t bytes)
{
    uint64_t now = atomic_fetch_add(&used_bytes, bytes) + bytes;

    if (as_life.shm && (bytes > PAGE || now / PAGE % NOTE_PAGES == 0))
        as_own_memory_note(as_life.shm);
}

void *as_heap_table_map(size_t bytes)
{
    return map(bytes);
}

void as_heap_table_count(uint64_t bytes)
{
    count_used(bytes);
}

static bool add_table(void)
{
    uint32_t n = atomic_load(&n_tables);
    size_t slots = (size_t)FIRST_BYTES << GROWTH_BITS * n, buckets = slots / BUCKET_BYTES;
    size_t others =
        (buckets / 8 + (buckets >> AS_TABLE_USED_BITS) + PAGE - 1) & ~(size_t)(PAGE - 1);
    struct as_heap_table *t;
    char *at;

    if (n == MAX_TABLES)
        return false;
    at = map(slots + others);
    if (!at)
        return false;
    t = &table[n];
    t->slot = (void *)at;
    t->passed = (void *)(at + slots);
    t->used = (void *)(at + slots + buckets / 8);
    t->shift = 64u + AS_TABLE_REGION_BITS - (uint32_t)__builtin_ctzll(buckets);
    t->bytes = slots + others;
    t->older = n ? &table[n - 1] : NULL;
    atomic_store(&n_tables, n + 1);
    atomic_store_explicit(&as_heap_table_newest, t, memory_order_release);
    count_used(others);
    return true;
}

/* The page is about to be written to for the first time: at once, instead of being read first. */
static __attribute__((noinline)) void begin_page(const struct as_heap_table *t, size_t bucket)
{
    if (atomic_exchange(&t->used[bucket >> AS_TABLE_USED_BITS], true))
        return;
    (void)atomic_fetch_or(&t->slot[bucket * AS_TABLE_BUCKET].value, 0);
    count_used(PAGE);
}

/* A newer table than `seen`; when another thread is about to make it and `wait` is set, its. */
static bool grow(const struct as_heap_table *seen, bool wait)
{
    bool made = false;

    if (atomic_load(&refused) && atomic_fetch_add(&refused, 1) % RETRY_CALLS)
        return false;
    if (!atomic_exchange(&growing, true)) {
        made = atomic_load(&as_heap_table_newest) != seen || add_table();
        atomic_store(&refused, !made);
        atomic_store(&growing, false);
        return made;
    }
    for (uint32_t i = 0; wait && i < MAX_TRIES && atomic_load(&growing); i++)
        if (i % 64 == 63)
            (void)syscall(SYS_sched_yield);
    return atomic_load(&as_heap_table_newest) != seen;
}

bool as_heap_table_start(bool children_need_it)
{
    keep_from_children = !children_need_it;
    return atomic_load(&as_heap_table_newest) || grow(NULL, true);
}

void as_heap_table_forked(void)
{
    atomic_store(&growing, false);
}

uint64_t as_heap_table_used_bytes(void)
{
    return atomic_load(&used_bytes);
}

void as_heap_table_let_go(void)
{
    atomic_store(&as_heap_table_newest, NULL);
    for (uint32_t i = 0; i < atomic_load(&n_tables); i++)
        (void)syscall(SYS_munmap, table[i].slot, table[i].bytes);
    for (uint32_t i = 0; i < DETAIL_CHUNKS; i++) {
        struct detail *at = atomic_exchange(&chunk[i], NULL);

        if (at)
            (void)syscall(SYS_munmap, at, DETAILS * sizeof *at);
    }
}

/* ---- details ---- */

static struct detail *detail_at(uint32_t number)
{
    return atomic_load_explicit(&chunk[number / DETAILS], memory_order_acquire) + number % DETAILS;
}

static bool have_chunk(uint32_t i)
{
    struct detail *none = NULL, *made;

    if (atomic_load(&chunk[i]))
        return true;
    made = map(DETAILS * sizeof *made);
    if (made && !atomic_compare_exchange_strong(&chunk[i], &none, made))
        (void)syscall(SYS_munmap, made, DETAILS * sizeof *made);
    else if (made)
        count_used(DETAILS * sizeof *made);
    return made != NULL;
}

bool as_heap_table_reserve(uint32_t *detail)
{
    uint64_t head = atomic_load(&free_details), put;
    uint32_t number;

    while ((uint32_t)head) {
        uint64_t next = atomic_load(&detail_at((uint32_t)head)->size_bytes);

        *detail = (uint32_t)head;
        put = ((head >> 32) + 1) << 32 | (uint32_t)next;
        if (atomic_compare_exchange_weak(&free_details, &head, put))
            return true;
    }
    number = atomic_load(&n_details);
    do {
        if (number / DETAILS >= DETAIL_CHUNKS || !have_chunk(number / DETAILS))
            return false;
    } while (!atomic_compare_exchange_weak(&n_details, &number, number + 1));
    *detail = number;
    return true;
}

static void give_back(uint32_t number)
{
    uint64_t head = atomic_load(&free_details), put;

    do {
        atomic_store(&detail_at(number)->size_bytes, (uint32_t)head);
        put = ((head >> 32) + 1) << 32 | number;
    } while (!atomic_compare_exchange_weak(&free_details, &head, put));
}

static uint64_t detailed(uint32_t number, const struct as_block *b)
{
    struct detail *d = detail_at(number);

    atomic_store(&d->size_bytes, b->size_bytes);
    d->stack = b->stack;
    d->call = b->call;
    return AS_TABLE_MORE | number;
}

/* False: no memory for its details. */
static bool value_of(const struct as_block *b, uint64_t *value)
{
    uint32_t number;

    *value = b->size_bytes | (uint64_t)b->call << AS_TABLE_SIZE_BITS;
    if (b->size_bytes >> AS_TABLE_SIZE_BITS == 0 && !b->stack)
        return true;
    if (!as_heap_table_reserve(&number))
        return false;
    *value = detailed(number, b);
    return true;
}

static void open_slot(const struct as_heap_table_slot *slot, uint64_t key, struct as_block *b)
{
    uint64_t value = atomic_load_explicit(&slot->value, memory_order_relaxed);

    *b = (struct as_block){.cell = (uint32_t)(key & ((1u << AS_TABLE_CELL_BITS) - 1))};
    if (value & AS_TABLE_MORE) {
        const struct detail *d = detail_at((uint32_t)value);

        b->size_bytes = atomic_load(&d->size_bytes);
        b->stack = d->stack;
        b->call = d->call;
        give_back((uint32_t)value);
    } else {
        b->size_bytes = value & ((UINT64_C(1) << AS_TABLE_SIZE_BITS) - 1);
        b->call = (uint32_t)(value >> AS_TABLE_SIZE_BITS) & AS_TABLE_CALL_MAX;
    }
}

/* ---- places ---- */

static uint64_t next_hash(uint64_t hash)
{
    return (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool is_passed(const struct as_heap_table *t, size_t bucket)
{
    return atomic_load_explicit(&t->passed[bucket / 64], memory_order_relaxed) >> bucket % 64 & 1;
}

static void pass(const struct as_heap_table *t, size_t bucket)
{
    if (!is_passed(t, bucket))
        (void)atomic_fetch_or(&t->passed[bucket / 64], UINT64_C(1) << bucket % 64);
}

static struct as_heap_table_slot *find_in(const struct as_heap_table *t, uintptr_t at)
{
    uint64_t hash = as_heap_table_hash(at);

    for (uint32_t i = 0; i < AS_TABLE_PROBES; i++, hash = next_hash(hash)) {
        size_t bucket = as_heap_table_bucket(t, at, hash);
        struct as_heap_table_slot *s = &t->slot[bucket * AS_TABLE_BUCKET];

        for (uint32_t k = 0; as_heap_table_is_used(t, bucket) && k < AS_TABLE_BUCKET; k++)
            if (as_heap_table_is_at(atomic_load_explicit(&s[k].key, memory_order_relaxed), at))
                return &s[k];
        if (!is_passed(t, bucket))
            break;
    }
    return NULL;
}

static struct as_heap_table_slot *find(uintptr_t at)
{
    const struct as_heap_table *t =
        atomic_load_explicit(&as_heap_table_newest, memory_order_acquire);
    struct as_heap_table_slot *found = NULL;

    if ((uint64_t)at >> (64 - AS_TABLE_CELL_BITS))
        return NULL;
    for (; t && !found; t = t->older)
        found = find_in(t, at);
    return found;
}

bool as_heap_table_has(uintptr_t at)
{
    return find(at) != NULL;
}

bool as_heap_table_is_thorough(void)
{
    return atomic_load_explicit(&thorough, memory_order_relaxed);
}

/* Whoever claims the slot next must not write before its value was read. */
bool as_heap_table_take(uintptr_t at, struct as_block *b)
{
    struct as_heap_table_slot *s = find(at);

    if (!s)
        return false;
    open_slot(s, atomic_load_explicit(&s->key, memory_order_relaxed), b);
    atomic_store_explicit(&s->key, 0, memory_order_release);
    return true;
}

/* A slot of that bucket, with the key in it; NULL: it is full. One of the same address is emptied
 * first, and its block is in `old`. */
static struct as_heap_table_slot *claim(struct as_heap_table_slot *s, uint64_t key,
                                        struct as_block *old, bool *replaced)
{
    uintptr_t at = (uintptr_t)(key >> AS_TABLE_CELL_BITS);

    for (uint32_t k = 0; k < AS_TABLE_BUCKET; k++) {
        uint64_t there = atomic_load_explicit(&s[k].key, memory_order_relaxed);

        if (as_heap_table_is_at(there, at)) {
            open_slot(&s[k], there, old);
            atomic_store_explicit(&s[k].key, 0, memory_order_release);
            *replaced = true;
        }
    }
    for (uint32_t k = 0; k < AS_TABLE_BUCKET; k++) {
        uint64_t none = 0;

        if (atomic_compare_exchange_strong_explicit(&s[k].key, &none, key, memory_order_acquire,
                                                    memory_order_relaxed))
            return &s[k];
    }
    return NULL;
}

static struct as_heap_table_slot *place_in(const struct as_heap_table *t, uint64_t key,
                                           struct as_block *old, bool *replaced, uint32_t *probes)
{
    uintptr_t at = (uintptr_t)(key >> AS_TABLE_CELL_BITS);
    uint64_t hash = as_heap_table_hash(at);

    for (*probes = 1; *probes <= AS_TABLE_PROBES; ++*probes, hash = next_hash(hash)) {
        size_t bucket = as_heap_table_bucket(t, at, hash);
        struct as_heap_table_slot *s;

        if (!as_heap_table_is_used(t, bucket))
            begin_page(t, bucket);
        s = claim(&t->slot[bucket * AS_TABLE_BUCKET], key, old, replaced);
        if (s)
            return s;
        pass(t, bucket);
    }
    return NULL;
}

static struct as_heap_table_slot *place(uint64_t key, struct as_block *old, bool *replaced)
{
    for (;;) {
        const struct as_heap_table *t =
            atomic_load_explicit(&as_heap_table_newest, memory_order_acquire);
        uint32_t probes;
        struct as_heap_table_slot *s = place_in(t, key, old, replaced, &probes);

        if (s && probes > GROW_PROBES)
            (void)grow(t, false);
        if (s || !grow(t, true))
            return s;
    }
}

bool as_heap_table_put(uintptr_t at, const struct as_block *b, struct as_block *old, bool *replaced)
{
    struct as_heap_table_slot *s;
    uint64_t value;

    *replaced = false;
    if ((uint64_t)at >> (64 - AS_TABLE_CELL_BITS) || !value_of(b, &value))
        return false;
    if (as_heap_table_is_thorough())
        *replaced = as_heap_table_take(at, old);
    s = place(as_heap_table_key(at, b->cell), old, replaced);
    if (*replaced)
        atomic_store(&thorough, true);
    if (s)
        atomic_store_explicit(&s->value, value, memory_order_relaxed);
    else if (value & AS_TABLE_MORE)
        give_back((uint32_t)value);
    return s != NULL;
}

void as_heap_table_set_stack(uintptr_t at, uint32_t detail, const struct as_block *b)
{
    struct as_heap_table_slot *s = find(at);
    uint64_t before;

    if (!s) {
        give_back(detail);
        return;
    }
    before = atomic_load_explicit(&s->value, memory_order_relaxed);
    atomic_store_explicit(&s->value, detailed(detail, b), memory_order_relaxed);
    if (before & AS_TABLE_MORE)
        give_back((uint32_t)before);
}
