/* preload/heap_threads.c - the blocks in which threads count, and their ends.
 * A block outlives its thread: the next one goes on counting where it stopped. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "heap_count.h"
#include "heap_layers.h"
#include "heap_samples.h"
#include "shm_file.h"

__thread struct as_heap_thread *as_heap_self;
static __thread uint32_t rounds; /* how often the thread's end was announced */
static __thread bool over;       /* it counts with the others from now on */
static pthread_key_t key;

bool as_heap_touch(const void *at, size_t bytes)
{
    return as_shm_file_touch(at, bytes);
}

/* The high half of the list's head changes with each step, so that a block that went and came back
 * is not taken for one that stayed. */
static void give_back(struct as_heap_shm *heap, struct as_heap_thread *t)
{
    uint64_t head = atomic_load(&heap->free_threads), put;

    do {
        atomic_store_explicit(&t->next_free, (uint32_t)head, memory_order_relaxed);
        put = ((head >> 32) + 1) << 32 | t->number;
    } while (!atomic_compare_exchange_weak(&heap->free_threads, &head, put));
}

static struct as_heap_thread *take_free(struct as_heap_shm *heap)
{
    uint64_t head = atomic_load(&heap->free_threads), put;
    struct as_heap_thread *t;

    do {
        if ((uint32_t)head == 0 || (uint32_t)head >= AS_HEAP_THREADS)
            return NULL;
        t = as_heap_thread_at(heap, (uint32_t)head);
        if (!t)
            return NULL;
        put = ((head >> 32) + 1) << 32 | atomic_load_explicit(&t->next_free, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(&heap->free_threads, &head, put));
    return t;
}

static struct as_heap_thread *new_block(struct as_heap_shm *heap)
{
    uint32_t number = atomic_load_explicit(&heap->n_threads, memory_order_relaxed), page;
    _Atomic uint32_t *pages = as_heap_at(heap, AS_HEAP_THREADS_AT);
    struct as_heap_thread *t;

    do {
        if (number >= AS_HEAP_THREADS)
            return NULL;
    } while (!atomic_compare_exchange_weak(&heap->n_threads, &number, number + 1));
    page = as_heap_pages(heap, AS_HEAP_THREAD_PAGES);
    if (!page || !as_heap_touch(&pages[number], sizeof *pages))
        return NULL; /* the number stays without a block */
    t = as_heap_page(page);
    t->number = number;
    atomic_store_explicit(&pages[number], page, memory_order_release);
    return t;
}

static void count_live(struct as_heap_shm *heap)
{
    uint32_t live = atomic_fetch_add(&heap->n_live_threads, 1) + 1;
    uint32_t most = atomic_load(&heap->max_live_threads);

    while (live > most && !atomic_compare_exchange_weak(&heap->max_live_threads, &most, live)) {
    }
}

static uint64_t seed(const struct as_heap_thread *t)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^
            t->number * UINT64_C(0x9e3779b97f4a7c15)) |
           1;
}

struct as_heap_thread *as_heap_thread_start(struct as_heap_shm *heap)
{
    int before = errno;
    struct as_heap_thread *t;

    if (over)
        return NULL;
    t = take_free(heap);
    if (!t)
        t = new_block(heap);
    if (!t) {
        over = true;
        return NULL;
    }
    t->last_block = 0;
    t->marks_seen = UINT64_MAX;
    t->iterations_seen = 0;
    t->random = seed(t);
    t->sample_at = UINT64_MAX;
    if (heap->sample_bytes)
        t->sample_at = atomic_load(&t->allocated_bytes) + as_heap_sample_distance(t);
    as_heap_flush(heap, t);
    count_live(heap);
    as_heap_self = t;
    rounds = 0;
    (void)pthread_setspecific(key, t);
    errno = before;
    return t;
}

/* Others may still free when it comes first: it asks to be called again until the last time. */
static void at_thread_end(void *block)
{
    struct as_heap_shm *heap = as_life.heap;
    struct as_heap_thread *t = block;
    int before = errno;

    if (heap && t == as_heap_self && ++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        (void)pthread_setspecific(key, t);
    } else if (heap && t == as_heap_self) {
        over = true;
        as_heap_layers_leave(heap, t);
        as_heap_flush(heap, t);
        as_heap_self = NULL;
        atomic_fetch_sub(&heap->n_live_threads, 1);
        give_back(heap, t);
    }
    errno = before;
}

bool as_heap_threads_prepare(void)
{
    return pthread_key_create(&key, at_thread_end) == 0;
}

void as_heap_threads_forked(void)
{
    as_heap_self = NULL;
    rounds = 0;
}
