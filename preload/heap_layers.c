/* preload/heap_layers.c - which layer a thread allocates in, when the program marks them.
 * A thread looks when it allocates or frees; layers in which it does neither are not seen. */
#include "heap_layers.h"

#include <errno.h>
#include <string.h>

#define SUM_THREADS 64 /* more are not summed for each iteration */

const struct as_layer_source *_Atomic as_heap_source;
_Atomic bool as_heap_layers_seen;

__attribute__((visibility("default"))) void
assay_preload_bind_(const struct as_layer_source *source);

/* A number of its own, filled; 0: none left, or the site has no name. */
static uint32_t claim_layer(struct as_heap_shm *heap, const struct as_layer_source *source,
                            uint32_t site)
{
    struct as_heap_layer_entry *entry = as_heap_at(heap, AS_HEAP_LAYERS_AT);
    uint32_t number = atomic_load_explicit(&heap->n_layers, memory_order_relaxed), size = 0;
    const char *name = source->name(site, &size);

    if (!name)
        return 0;
    do {
        if (number >= AS_HEAP_LAYERS)
            return 0;
    } while (!atomic_compare_exchange_weak(&heap->n_layers, &number, number + 1));
    entry += number;
    if (!as_heap_touch(entry, sizeof *entry))
        return 0;
    entry->site = site;
    entry->name_size = size < AS_HEAP_LAYER_NAME ? size : AS_HEAP_LAYER_NAME;
    memcpy(entry->name, name, entry->name_size);
    return number;
}

static uint32_t find_layer(struct as_heap_shm *heap, const struct as_layer_source *source,
                           uint32_t site)
{
    struct as_heap_layer_entry *entry = as_heap_at(heap, AS_HEAP_LAYERS_AT);
    _Atomic uint32_t *index = as_heap_at(heap, AS_HEAP_LAYER_INDEX_AT);
    uint32_t slot = site * 0x9e3779b1u >> 8, own = 0;

    for (uint32_t i = 0; i < AS_HEAP_LAYER_SLOTS && as_heap_have_layers(heap); i++, slot++) {
        _Atomic uint32_t *at = &index[slot % AS_HEAP_LAYER_SLOTS];
        uint32_t found = atomic_load_explicit(at, memory_order_acquire);

        if (!found) {
            own = own ? own : claim_layer(heap, source, site);
            if (!own || atomic_compare_exchange_strong(at, &found, own))
                return own;
        }
        if (entry[found].site == site) {
            if (own)
                entry[own].name_size = 0; /* somebody was quicker */
            return found;
        }
    }
    return 0;
}

/* The innermost open layer is over: its figures go to the layer, its maximum to what is around it.
 */
static void pop(struct as_heap_shm *heap, struct as_heap_thread *self, uint32_t n)
{
    struct as_heap_layer_entry *entry = as_heap_at(heap, AS_HEAP_LAYERS_AT);
    struct as_heap_open *open = &self->open[n - 1];
    uint64_t grown = (uint64_t)(open->max_bytes - open->start_bytes), most;

    if (n > 1 && open->max_bytes > open[-1].max_bytes)
        open[-1].max_bytes = open->max_bytes;
    atomic_store_explicit(&self->n_open, n - 1, memory_order_relaxed);
    if (!open->layer)
        return;
    entry += open->layer;
    atomic_fetch_add(&entry->calls, 1);
    atomic_fetch_add(&entry->net_bytes, as_heap_thread_live(self) - open->start_bytes);
    most = atomic_load(&entry->peak_within_bytes);
    while (grown > most && !atomic_compare_exchange_weak(&entry->peak_within_bytes, &most, grown)) {
    }
}

void as_heap_layers_leave(struct as_heap_shm *heap, struct as_heap_thread *self)
{
    uint32_t n = atomic_load_explicit(&self->n_open, memory_order_relaxed);

    for (; n > 0 && n <= AS_HEAP_OPEN; n--)
        pop(heap, self, n);
    self->layer = 0;
    self->call_tag = 0;
    self->marks_seen = UINT64_MAX;
}

static void push(struct as_heap_shm *heap, struct as_heap_thread *self,
                 const struct as_layer_source *source, const struct as_open_layer *layer,
                 uint32_t n)
{
    int64_t live = as_heap_thread_live(self);

    self->open[n] = (struct as_heap_open){
        .call = layer->call,
        .layer = find_layer(heap, source, layer->layer),
        .start_bytes = live,
        .max_bytes = live,
    };
    atomic_store_explicit(&self->n_open, n + 1, memory_order_release);
}

/* Live bytes of all threads, exact while they are few. */
static int64_t live_now(struct as_heap_shm *heap, const struct as_heap_thread *self)
{
    uint32_t n = atomic_load(&heap->n_threads);
    int64_t live = 0;

    if (n > SUM_THREADS)
        return atomic_load(&heap->live_bytes) + as_heap_thread_live(self) -
               atomic_load(&self->told_bytes);
    for (uint32_t i = 0; i < n; i++) {
        const struct as_heap_thread *t = as_heap_thread_at(heap, i);

        live += t ? as_heap_thread_live(t) : 0;
    }
    return live;
}

/* The marks since the thread last looked: nothing was allocated in between. */
static void note_marks(struct as_heap_shm *heap, struct as_heap_thread *self, uint64_t marks)
{
    uint64_t n = marks - self->iterations_seen, first = atomic_fetch_add(&heap->iterations, n);
    _Atomic uint64_t *live = as_heap_at(heap, AS_HEAP_MARKS_AT);
    int64_t now = live_now(heap, self);

    self->iterations_seen = marks;
    if (!as_heap_touch(live, AS_HEAP_MARKS * sizeof *live))
        return;
    for (uint64_t i = n > AS_HEAP_MARKS ? n - AS_HEAP_MARKS : 0; i < n; i++)
        atomic_store_explicit(&live[(first + i) % AS_HEAP_MARKS], now > 0 ? (uint64_t)now : 0,
                              memory_order_relaxed);
}

void as_heap_layer_catch_up(struct as_heap_shm *heap, struct as_heap_thread *self,
                            const struct as_layer_source *source, const struct as_layer_now *now)
{
    uint32_t depth = now->depth < AS_HEAP_OPEN ? now->depth : AS_HEAP_OPEN, same = 0;
    uint32_t n = atomic_load_explicit(&self->n_open, memory_order_relaxed);
    int before = errno;

    while (same < n && same < depth && self->open[same].call == now->open[same].call)
        same++;
    for (; n > same && n <= AS_HEAP_OPEN; n--)
        pop(heap, self, n);
    for (; n < depth; n++)
        push(heap, self, source, &now->open[n], n);
    if (now->iterations > self->iterations_seen)
        note_marks(heap, self, now->iterations);
    self->layer = depth ? self->open[depth - 1].layer : 0;
    self->call_tag = depth ? ((uint32_t)now->open[depth - 1].call + self->number * 0x9e3779b1u) &
                                 AS_TABLE_CALL_MAX
                           : 0;
    self->marks_seen = now->marks;
    errno = before;
}

void assay_preload_bind_(const struct as_layer_source *source)
{
    struct as_heap_shm *heap = as_life.heap;

    if (source && source->version != AS_LAYER_SOURCE_VERSION)
        return;
    if (!source && heap && as_heap_self)
        (void)as_heap_layer_now(heap, as_heap_self); /* marks since the last allocation */
    atomic_store_explicit(&as_heap_source, source, memory_order_release);
    atomic_store(&as_heap_layers_seen, true);
    __atomic_store_n(&as_life.quick, NULL, __ATOMIC_RELEASE);
    if (heap && source)
        atomic_store(&heap->layers_bound, 1);
    if (!source && heap && as_heap_self)
        as_heap_layers_leave(heap, as_heap_self);
}
