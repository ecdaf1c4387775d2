/* preload/heap_cells.c - the cells that sites are counted in, and who owned the peak.
 * Tables only grow; whoever comes second to an entry finds the first one's. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "heap_count.h"
#include "heap_layers.h"

#define PAGE_SLOTS           (AS_HEAP_PAGE / 4) /* of the index, on a page */
#define FIRST_PROBES         8u
#define SNAPSHOT_LEAST_BYTES AS_HEAP_KEEP_BYTES
#define SNAPSHOT_PART        50       /* a fiftieth more: 2 % */
#define SNAPSHOT_FREE_NS     5000000u /* of time spent on it at any rate */
#define SNAPSHOT_TIME_PART   100      /* and beyond that a hundredth of all time */

static uint64_t mix(uint64_t site, uint32_t cell_key)
{
    uint64_t h = (site ^ (uint64_t)cell_key << 48 ^ cell_key) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 29;
}

static bool is_cell(const struct as_heap_cell *cell, uint64_t site, uint32_t cell_key)
{
    return cell->address == site && cell->layer == cell_key >> 2 && cell->kind == (cell_key & 3);
}

/* Pages of the table are asked for one by one, as far as somebody did not before. */
static _Atomic uint32_t cell_pages;

static bool have_cell(const struct as_heap_cell *cell, uint32_t number)
{
    uint32_t page = number / (AS_HEAP_PAGE / (uint32_t)sizeof *cell) + 1;

    if (page <= atomic_load_explicit(&cell_pages, memory_order_relaxed))
        return true;
    if (!as_heap_touch(cell, sizeof *cell))
        return false;
    atomic_store_explicit(&cell_pages, page, memory_order_relaxed);
    return true;
}

/* A number of its own, filled, not yet in the index; 0: none left. */
static uint32_t claim_cell(struct as_heap_shm *heap, uint64_t site, uint32_t cell_key)
{
    struct as_heap_cell *cells = as_heap_at(heap, AS_HEAP_CELLS_AT);
    uint32_t number = atomic_load_explicit(&heap->n_cells, memory_order_relaxed);

    do {
        if (number >= AS_HEAP_CELLS)
            return 0;
    } while (!atomic_compare_exchange_weak(&heap->n_cells, &number, number + 1));
    if (!have_cell(&cells[number], number))
        return 0;
    cells[number].address = site;
    cells[number].layer = cell_key >> 2;
    cells[number].kind = cell_key & 3;
    return number;
}

/* Pages of the index that were asked for: a program with few sites needs one of them. */
static _Atomic uint32_t index_pages[AS_HEAP_CELL_SLOTS / PAGE_SLOTS / 32];

/* How much of each half of the tables of the peak was asked for: one at a time looks. */
static uint32_t peak_cells[2], peak_stacks[2];

void as_heap_cells_begin(void)
{
    atomic_store(&cell_pages, 0);
    memset(peak_cells, 0, sizeof peak_cells);
    memset(peak_stacks, 0, sizeof peak_stacks);
    for (size_t i = 0; i < sizeof index_pages / sizeof *index_pages; i++)
        atomic_store(&index_pages[i], 0);
}

static bool is_there(const _Atomic uint32_t *at, uint32_t slot)
{
    uint32_t page = slot / PAGE_SLOTS, bit = 1u << page % 32;

    if (atomic_load_explicit(&index_pages[page / 32], memory_order_relaxed) & bit)
        return true;
    if (!as_heap_touch(at, sizeof *at))
        return false;
    if (!(atomic_fetch_or(&index_pages[page / 32], bit) & bit) && as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes, AS_HEAP_PAGE);
    return true;
}

/* The first sites share a page: they are looked for there, then all over the index. */
static uint32_t slot_of(uint64_t hash, uint32_t i)
{
    if (i < FIRST_PROBES)
        return (uint32_t)((hash + i) % PAGE_SLOTS);
    return (uint32_t)((hash + i) % AS_HEAP_CELL_SLOTS);
}

uint32_t as_heap_cell_find(struct as_heap_shm *heap, uint64_t site, uint32_t cell_key)
{
    struct as_heap_cell *cells = as_heap_at(heap, AS_HEAP_CELLS_AT);
    _Atomic uint32_t *index = as_heap_at(heap, AS_HEAP_CELL_INDEX_AT);
    uint64_t hash = mix(site, cell_key);
    uint32_t own = 0;

    for (uint32_t i = 0; i < AS_HEAP_CELL_SLOTS; i++) {
        _Atomic uint32_t *at = &index[slot_of(hash, i)];
        uint32_t found;

        if (!is_there(at, slot_of(hash, i))) {
            if (own)
                cells[own].kind = AS_HEAP_CELL_VOID; /* nobody would find it */
            return 0;
        }
        found = atomic_load_explicit(at, memory_order_acquire);
        if (!found) {
            own = own ? own : claim_cell(heap, site, cell_key);
            if (!own || atomic_compare_exchange_strong(at, &found, own))
                return own;
        }
        if (is_cell(&cells[found], site, cell_key)) {
            if (own)
                cells[own].kind = AS_HEAP_CELL_VOID; /* somebody was quicker */
            return found;
        }
    }
    return 0;
}

bool as_heap_counters_add(struct as_heap_shm *heap, struct as_heap_thread *self, uint32_t cell)
{
    _Atomic uint32_t *at = &self->page[cell / AS_HEAP_PAGE_COUNTERS];
    uint32_t page = as_heap_pages(heap, 1), none = 0;

    /* Two may add to the block that all share: the second one's page is lost. */
    return page && (atomic_compare_exchange_strong(at, &none, page) || none);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_live(const struct as_heap_thread *t, uint64_t *live, uint32_t n_cells)
{
    for (uint32_t cell = 0; cell < n_cells; cell++) {
        const struct as_heap_counter *c = as_heap_counter_at(t, cell);

        if (!c) {
            cell |= AS_HEAP_PAGE_COUNTERS - 1; /* none on the whole page */
            continue;
        }
        live[cell] += atomic_load_explicit(&c->allocated_bytes, memory_order_relaxed) -
                      atomic_load_explicit(&c->freed_bytes, memory_order_relaxed);
    }
}

static bool have_peak(uint32_t *there, const uint64_t *live, uint32_t n)
{
    if (n > *there && as_heap_touch(live, n * sizeof *live))
        *there = n;
    return n <= *there;
}

static bool note_cells(struct as_heap_shm *heap, uint64_t half)
{
    uint32_t n_cells = atomic_load(&heap->n_cells), n_threads = atomic_load(&heap->n_threads);
    uint64_t *live = as_heap_at(heap, AS_HEAP_PEAK_AT + half * AS_HEAP_CELLS * sizeof *live);

    if (n_cells > AS_HEAP_CELLS)
        n_cells = AS_HEAP_CELLS;
    if (!have_peak(&peak_cells[half], live, n_cells))
        return false;
    memset(live, 0, n_cells * sizeof *live);
    for (uint32_t i = 0; i < n_threads && i < AS_HEAP_THREADS; i++) {
        const struct as_heap_thread *t = as_heap_thread_at(heap, i);

        if (t)
            add_live(t, live, n_cells);
    }
    atomic_store(&heap->snapshot_cells[half], n_cells);
    return true;
}

/* Samples of stacks that are live now, in AS_HEAP_WEIGHT_ONE. */
static void note_stacks(struct as_heap_shm *heap, uint64_t half)
{
    const struct as_heap_stack_entry *entry = as_heap_at(heap, AS_HEAP_STACKS_AT);
    uint64_t *live = as_heap_at(heap, AS_HEAP_STACK_PEAK_AT + half * AS_HEAP_STACKS * sizeof *live);
    uint32_t n = atomic_load(&heap->n_stacks);

    if (n > AS_HEAP_STACKS)
        n = AS_HEAP_STACKS;
    if (n <= 1 || !have_peak(&peak_stacks[half], live, n))
        n = 0;
    for (uint32_t i = 1; i < n; i++)
        live[i] = atomic_load_explicit(&entry[i].allocated_bytes, memory_order_relaxed) -
                  atomic_load_explicit(&entry[i].freed_bytes, memory_order_relaxed);
    atomic_store(&heap->snapshot_stacks[half], n);
}

/* Who owns what is live now, into the half of the tables that is not the last one. */
static void note_owners(struct as_heap_shm *heap, int64_t total)
{
    uint64_t number = atomic_load(&heap->n_snapshots);

    if (!note_cells(heap, number % 2))
        return;
    note_stacks(heap, number % 2);
    atomic_store(&heap->snapshot_bytes, total);
    atomic_store(&heap->n_snapshots, number + 1);
}

static void snapshot(struct as_heap_shm *heap, int64_t total)
{
    uint64_t spent = atomic_load(&heap->snapshot_spent_ns);
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t age = as_life.shm ? clock_ns(CLOCK_MONOTONIC) - as_life.shm->attached_mono_ns : 0;

    if (spent > SNAPSHOT_FREE_NS + age / SNAPSHOT_TIME_PART ||
        atomic_exchange(&heap->snapshot_busy, 1))
        return;
    note_owners(heap, total);
    atomic_store(&heap->snapshot_spent_ns, spent + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
    atomic_store(&heap->snapshot_busy, 0);
}

void as_heap_peak(struct as_heap_shm *heap, int64_t total, int64_t most)
{
    int64_t peak = atomic_load_explicit(&heap->peak_bytes, memory_order_relaxed);
    int64_t noted = atomic_load_explicit(&heap->snapshot_bytes, memory_order_relaxed);

    if (most <= peak)
        return;
    while (most > peak && !atomic_compare_exchange_weak(&heap->peak_bytes, &peak, most)) {
    }
    atomic_store_explicit(&heap->peak_mono_ns, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
    if (total > noted + SNAPSHOT_LEAST_BYTES && total > noted + noted / SNAPSHOT_PART)
        snapshot(heap, total);
}

void as_heap_flush(struct as_heap_shm *heap, struct as_heap_thread *self)
{
    int64_t live = as_heap_thread_live(self);
    int64_t told = atomic_load_explicit(&self->told_bytes, memory_order_relaxed);
    int64_t most = atomic_load_explicit(&self->most_bytes, memory_order_relaxed) - told;
    int64_t before =
        atomic_fetch_add_explicit(&heap->live_bytes, live - told, memory_order_relaxed);
    int keep = errno;

    atomic_store_explicit(&self->told_bytes, live, memory_order_relaxed);
    atomic_store_explicit(&self->most_bytes, live, memory_order_relaxed);
    self->tell_above_bytes = live + as_heap_keep_bytes(self->number);
    self->tell_below_bytes = live - as_heap_keep_bytes(self->number);
    as_heap_peak(heap, before + (live - told), before + most);
    errno = keep;
}
