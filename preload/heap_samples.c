/* preload/heap_samples.c - stacks of allocations, one for so many bytes on average.
 * The distance is drawn anew each time, so that no pattern of sizes hides from it. */
#include "heap_samples.h"

#include <errno.h>
#include <string.h>

#include "stack_walk.h"

#define HALVINGS 12 /* of the argument, until a short series is exact enough */

static __thread bool within; /* unwinding may come back here */

/* The natural logarithm of 0 < x < 1, to 1e-9: here is no libm. */
static double ln(double x)
{
    int power = 0;
    double y, y2;

    while (x < 0.75) {
        x *= 2;
        power++;
    }
    y = (x - 1) / (x + 1);
    y2 = y * y;
    return 2 * y * (1 + y2 * (1.0 / 3 + y2 * (1.0 / 5 + y2 * (1.0 / 7 + y2 / 9)))) -
           power * 0.69314718055994530942;
}

/* 1 - exp(-x) for x >= 0. */
static double chance(double x)
{
    double q;

    if (x > 40)
        return 1;
    x /= 1 << HALVINGS;
    q = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));
    for (int i = 0; i < HALVINGS; i++)
        q = q * (2 - q); /* 1 - (1 - q)^2 */
    return q;
}

uint64_t as_heap_sample_distance(struct as_heap_thread *self)
{
    uint64_t r = self->random;

    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    self->random = r;
    return (uint64_t)(-ln(((double)(r >> 12) + 0.5) / 4503599627370496.0) * AS_HEAP_SAMPLE_BYTES);
}

/* How many blocks of that size one sample stands for, in AS_HEAP_WEIGHT_ONE. */
static uint64_t weight(uint64_t size_bytes)
{
    double seen = chance((double)(size_bytes ? size_bytes : 1) / AS_HEAP_SAMPLE_BYTES);

    return (uint64_t)(AS_HEAP_WEIGHT_ONE / seen + 0.5);
}

static uint64_t weighed_bytes(uint64_t size_bytes)
{
    uint64_t bytes;

    return __builtin_mul_overflow(weight(size_bytes), size_bytes, &bytes) ? UINT64_MAX / 2 : bytes;
}

/* Where this library's code lies, so that stacks hold the program's own calls alone. */
extern const char etext[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* What cannot be walked safely ends the stack there: the compiler's unwinder would read whatever a
 * damaged or foreign stack points to. */
static inline __attribute__((always_inline)) void walk(struct as_unwound *w, const void *frame)
{
    if (!as_unwind(frame, (uintptr_t)__ehdr_start, (uintptr_t)etext, w))
        w->cut = true;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b << 40) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 29;
}

void *as_unwind_memory(void)
{
    return as_heap_table_map(AS_UNWIND_CACHE_BYTES);
}

void as_unwind_count(uint64_t bytes)
{
    as_heap_table_count(bytes);
}

/* ---- frames ---- */

/* The index is large and most programs that end at once need none: it is there from the first stack
 * on. Whoever comes while it is being made goes without. */
static bool have_nodes(struct as_heap_shm *heap)
{
    const size_t bytes = (size_t)AS_HEAP_NODE_SLOTS * sizeof(uint32_t);
    uint32_t state = atomic_load_explicit(&heap->nodes_state, memory_order_acquire);
    bool made;

    if (state != AS_HEAP_NODES_NONE ||
        !atomic_compare_exchange_strong(&heap->nodes_state, &state, AS_HEAP_NODES_BUSY))
        return state == AS_HEAP_NODES_READY;
    made = as_heap_touch(as_heap_at(heap, AS_HEAP_NODE_INDEX_AT), bytes);
    if (made && as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes, bytes);
    atomic_store(&heap->nodes_state, made ? AS_HEAP_NODES_READY : AS_HEAP_NODES_REFUSED);
    return made;
}

/* Pages of the table are touched one by one, as far as somebody did not before. */
static bool touch_node(struct as_heap_shm *heap, struct as_heap_node *node, uint32_t number)
{
    uint32_t page = number / (AS_HEAP_PAGE / (uint32_t)sizeof *node) + 1;

    if (page <= atomic_load_explicit(&heap->node_pages, memory_order_relaxed))
        return true;
    if (!as_heap_touch(node, sizeof *node))
        return false;
    atomic_store_explicit(&heap->node_pages, page, memory_order_relaxed);
    return true;
}

static uint32_t claim_node(struct as_heap_shm *heap, uint64_t address, uint32_t caller)
{
    struct as_heap_node *node = as_heap_at(heap, AS_HEAP_NODES_AT);
    uint32_t number = atomic_load_explicit(&heap->n_nodes, memory_order_relaxed);

    do {
        if (number >= AS_HEAP_NODES)
            return 0;
    } while (!atomic_compare_exchange_weak(&heap->n_nodes, &number, number + 1));
    if (!touch_node(heap, &node[number], number))
        return 0;
    node[number].address = address;
    node[number].caller = caller;
    return number;
}

static uint32_t find_node(struct as_heap_shm *heap, uint64_t address, uint32_t caller)
{
    const struct as_heap_node *node = as_heap_at(heap, AS_HEAP_NODES_AT);
    _Atomic uint32_t *index = as_heap_at(heap, AS_HEAP_NODE_INDEX_AT);
    uint64_t slot = mix(address, caller);
    uint32_t own = 0;

    for (uint32_t i = 0; i < AS_HEAP_NODE_SLOTS; i++, slot++) {
        _Atomic uint32_t *at = &index[slot % AS_HEAP_NODE_SLOTS];
        uint32_t found = atomic_load_explicit(at, memory_order_acquire);

        if (!found) {
            own = own ? own : claim_node(heap, address, caller);
            if (!own || atomic_compare_exchange_strong(at, &found, own))
                return own;
        }
        if (node[found].address == address && node[found].caller == caller)
            return found; /* one of our own, if there is one, stays unused */
    }
    return 0;
}

/* The innermost frame of the stack; 0: the table is full. */
static uint32_t find_frames(struct as_heap_shm *heap, const struct as_unwound *w)
{
    uint32_t node = 0;

    if (!have_nodes(heap))
        return 0;
    for (uint32_t i = w->n; i > 0; i--) {
        node = find_node(heap, w->frame[i - 1], node);
        if (!node)
            return 0;
    }
    return node;
}

/* ---- stacks ---- */

static bool is_stack(const struct as_heap_stack_entry *e, uint32_t node, uint32_t layer)
{
    return e->node == node && e->layer == layer;
}

static uint32_t claim_stack(struct as_heap_shm *heap, uint32_t node, uint32_t layer, bool cut)
{
    struct as_heap_stack_entry *entry = as_heap_at(heap, AS_HEAP_STACKS_AT);
    uint32_t number = atomic_load_explicit(&heap->n_stacks, memory_order_relaxed);

    do {
        if (number >= AS_HEAP_STACKS)
            return 0;
    } while (!atomic_compare_exchange_weak(&heap->n_stacks, &number, number + 1));
    entry += number;
    if (!as_heap_touch(entry, sizeof *entry))
        return 0;
    entry->layer = layer;
    entry->cut = cut;
    entry->node = node;
    return number;
}

static uint32_t intern(struct as_heap_shm *heap, const struct as_unwound *w, uint32_t layer)
{
    struct as_heap_stack_entry *entry = as_heap_at(heap, AS_HEAP_STACKS_AT);
    _Atomic uint32_t *index = as_heap_at(heap, AS_HEAP_STACK_INDEX_AT);
    uint32_t own = 0, node = find_frames(heap, w);
    uint64_t slot = mix(node, layer);

    for (uint32_t i = 0; node && i < AS_HEAP_STACK_SLOTS; i++, slot++) {
        _Atomic uint32_t *at = &index[slot % AS_HEAP_STACK_SLOTS];
        uint32_t found = atomic_load_explicit(at, memory_order_acquire);

        if (!found) {
            own = own ? own : claim_stack(heap, node, layer, w->cut);
            if (!own || atomic_compare_exchange_strong(at, &found, own))
                return own;
        }
        if (is_stack(&entry[found], node, layer))
            return found; /* one of our own, if there is one, stays without samples */
    }
    return 0;
}

static struct as_heap_stack_entry *entry_at(struct as_heap_shm *heap, uint32_t stack)
{
    struct as_heap_stack_entry *entry = as_heap_at(heap, AS_HEAP_STACKS_AT);

    return stack > 0 && stack < AS_HEAP_STACKS ? entry + stack : NULL;
}

/* Too large for the stack of a small thread. */
static uint64_t *walk_frames(struct as_heap_shm *heap, struct as_heap_thread *self)
{
    if (!self->walk_page)
        self->walk_page = as_heap_pages(heap, 1);
    return self->walk_page ? as_heap_page(self->walk_page) : NULL;
}

uint32_t as_heap_sample(struct as_heap_shm *heap, struct as_heap_thread *self, uint32_t layer,
                        uint64_t size_bytes)
{
    struct as_heap_stack_entry *entry;
    struct as_unwound w = {.capacity = AS_HEAP_STACK_FRAMES};
    int before = errno;
    uint32_t stack = 0;

    /* From the end of this block on: what it went beyond does not count. */
    self->sample_at = atomic_load(&self->allocated_bytes) + as_heap_sample_distance(self);
    if (within)
        return 0;
    within = true;
    w.frame = walk_frames(heap, self);
    if (w.frame) {
        walk(&w, __builtin_frame_address(0));
        stack = intern(heap, &w, layer);
    }
    within = false;
    entry = entry_at(heap, stack);
    if (!entry)
        atomic_fetch_add(&heap->stacks_lost, 1);
    if (entry) {
        atomic_fetch_add(&entry->samples, 1);
        atomic_fetch_add(&entry->allocations, weight(size_bytes));
        atomic_fetch_add(&entry->allocated_bytes, weighed_bytes(size_bytes));
    }
    errno = before;
    return stack;
}

void as_heap_sample_freed(struct as_heap_shm *heap, const struct as_block *b)
{
    struct as_heap_stack_entry *entry = entry_at(heap, b->stack);

    if (!entry)
        return;
    atomic_fetch_add(&entry->frees, weight(b->size_bytes));
    atomic_fetch_add(&entry->freed_bytes, weighed_bytes(b->size_bytes));
}
