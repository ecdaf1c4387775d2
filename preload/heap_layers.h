/* preload/heap_layers.h - which layer a thread allocates in, when the program marks them.
 * A thread looks when it allocates or frees; layers in which it does neither are not seen. */
#ifndef AS_PRELOAD_HEAP_LAYERS_H
#define AS_PRELOAD_HEAP_LAYERS_H

#include "heap_count.h"
#include "trace/record/layer_now.h"

/* What the recorder gave; NULL: nothing, or it took it back. */
extern const struct as_layer_source *_Atomic as_heap_source;

/* Set with the first source: programs without layers pay one look. */
extern _Atomic bool as_heap_layers_seen;
static inline bool as_heap_layers_ever(void)
{
    return atomic_load_explicit(&as_heap_layers_seen, memory_order_relaxed);
}

/* All layers of the thread are over: it ends, or the session does. */
void as_heap_layers_leave(struct as_heap_shm *heap, struct as_heap_thread *self);

/* The layers changed since the thread last looked; `now` is what they are. */
void as_heap_layer_catch_up(struct as_heap_shm *heap, struct as_heap_thread *self,
                            const struct as_layer_source *source, const struct as_layer_now *now);

/* The number of the innermost layer the thread is in, 0: in none; self->call_tag tells the call. */
static inline uint32_t as_heap_layer_now(struct as_heap_shm *heap, struct as_heap_thread *self)
{
    const struct as_layer_source *source =
        atomic_load_explicit(&as_heap_source, memory_order_acquire);
    const struct as_layer_now *now;

    if (source) {
        now = source->now();
        if (AS_HEAP_UNLIKELY(now->marks != self->marks_seen))
            as_heap_layer_catch_up(heap, self, source, now);
    } else if (atomic_load_explicit(&self->n_open, memory_order_relaxed)) {
        as_heap_layers_leave(heap, self);
    }
    return self->layer;
}

/* The thread allocated within a layer. */
static inline void as_heap_layer_grew(struct as_heap_thread *self)
{
    uint32_t n = atomic_load_explicit(&self->n_open, memory_order_relaxed);
    int64_t live = as_heap_thread_live(self);

    if (n > 0 && n <= AS_HEAP_OPEN && live > self->open[n - 1].max_bytes)
        self->open[n - 1].max_bytes = live;
}

#endif
