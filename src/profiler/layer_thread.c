/* profiler/layer_thread.c - what one thread knows of its layers, and whose it is.
 * A thread that ended leaves its figures to the next one that begins in its place. */
#include "profiler/layer_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"

#define FIRST_CELLS   16u
#define MANY_THREADS  64u /* from here on the dead are looked for */
#define SYSTEM_OTHERS "(other)"

__thread struct as_layer_now_in as_layer_now_in;

static _Atomic uint64_t threads_seen;

void as_layer_thread_wait(struct as_layer_thread *t)
{
    const struct timespec nap = {0, 20000};

    do {
        nanosleep(&nap, NULL);
    } while (atomic_exchange_explicit(&t->busy, true, memory_order_acquire));
}

void as_layer_thread_free(struct as_layer_thread *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++) {
        as_free(t->cell[i]->sample);
        as_free(t->cell[i]->own);
        as_free(t->cell[i]->bucket);
        as_free(t->cell[i]);
    }
    as_free(t->cell);
    as_free(t->frame);
    as_hash_map_fini(&t->by_name);
    as_layer_ring_fini(NULL, &t->ring);
    as_free(t);
}

void as_layer_thread_reset(struct as_layer_profile *p, struct as_layer_thread *t)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        struct as_layer_cell *cell = t->cell[i];

        as_layer_history_give(p,
                              (cell->own ? 2 : 1) * (size_t)cell->capacity * sizeof *cell->sample);
        if (cell->bucket)
            as_layer_history_give(p, AS_LAYER_BUCKETS * sizeof *cell->bucket);
        as_free(cell->sample);
        as_free(cell->own);
        as_free(cell->bucket);
        cell->sample = cell->own = cell->bucket = NULL;
        cell->n_samples = cell->capacity = cell->at = 0;
        cell->newest_only = cell->own_lost = false;
        cell->times = (struct as_layer_times){.min = UINT64_MAX};
        cell->self_ns = cell->failed = cell->failed_ns = 0;
    }
    as_layer_ring_fini(p, &t->ring);
    t->calls = t->unnamed = t->too_deep = t->metadata_dropped = t->abandoned = 0;
    t->all_ns = t->all_self_ns = 0;
}

static bool is_gone(const struct as_layer_thread *t)
{
    return syscall(SYS_tgkill, getpid(), t->tid, 0) != 0 && errno == ESRCH;
}

/* The part of a thread that stood at the same place in memory is ours, or was a dead one's. */
static struct as_layer_thread *find_place(struct as_layer_profile *p)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        if (p->thread[i]->key == &as_layer_now_in)
            return p->thread[i];
    }
    for (size_t i = 0; p->n_threads >= MANY_THREADS && i < p->n_threads; i++) {
        if (is_gone(p->thread[i]))
            return p->thread[i];
    }
    return NULL;
}

static struct as_layer_thread *add_place(struct as_layer_profile *p)
{
    struct as_layer_thread *t;

    if (p->n_threads == AS_LAYER_MAX_THREAD)
        return NULL;
    if (!as_vec_reserve(&p->thread, p->n_threads, &p->thread_capacity, sizeof(void *)))
        return NULL;
    t = as_alloc_zero(1, sizeof *t);
    if (!t)
        return NULL;
    p->thread[p->n_threads++] = t;
    return t;
}

/* What the last owner left open will never end. */
static void take_over(struct as_layer_profile *p, struct as_layer_thread *t)
{
    as_layer_thread_lock(t); /* what the last owner stored is ours to see */
    if (t->owner && atomic_load_explicit(&t->session, memory_order_relaxed) ==
                        atomic_load_explicit(&p->session, memory_order_relaxed))
        t->abandoned += atomic_load_explicit(&t->depth, memory_order_relaxed);
    atomic_store_explicit(&t->depth, 0, memory_order_relaxed);
    t->forgotten = t->serial;
    t->number = p->next_number++;
    t->key = &as_layer_now_in;
    t->owner = as_layer_now_in.self;
    t->tid = (pid_t)syscall(SYS_gettid);
    as_layer_thread_unlock(t);
}

struct as_layer_thread *as_layer_thread_find_slow(struct as_layer_profile *p)
{
    struct as_layer_thread *t;

    if (!as_layer_now_in.self)
        as_layer_now_in.self =
            atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed) + 1;
    pthread_mutex_lock(&p->lock);
    t = find_place(p);
    if (!t)
        t = add_place(p);
    if (t && t->owner != as_layer_now_in.self)
        take_over(p, t);
    pthread_mutex_unlock(&p->lock);
    as_layer_now_in.profile = t ? p->id : 0;
    as_layer_now_in.thread = t;
    return t;
}

/* The layer of that name for all threads; the last one there is room for takes all others. */
static struct as_layer_name *intern(struct as_layer_profile *p, const char *text, size_t size)
{
    const uint64_t *known = as_hash_map_find(&p->by_name, text, size);
    struct as_layer_name *name;

    if (known)
        return p->name[*known];
    if (p->n_names >= p->limits.max_layers && p->other)
        return p->other;
    if (p->n_names + 1 >= p->limits.max_layers) {
        text = SYSTEM_OTHERS;
        size = strlen(SYSTEM_OTHERS);
    }
    if (!as_vec_reserve(&p->name, p->n_names, &p->name_capacity, sizeof(void *)))
        return NULL;
    name = as_arena_alloc(&p->arena, sizeof *name + size + 1);
    if (!name)
        return NULL;
    *name = (struct as_layer_name){.id = (uint32_t)p->n_names, .size = (uint32_t)size};
    memcpy(name->text, text, size);
    name->text[size] = '\0';
    if (as_hash_map_put(&p->by_name, name->text, size, p->n_names) < 0)
        return NULL;
    p->name[p->n_names++] = name;
    if (p->n_names >= p->limits.max_layers)
        p->other = name;
    return name;
}

/* With busy set: a reader goes through the cells. */
static bool append_cell(struct as_layer_thread *t, struct as_layer_cell *cell)
{
    if (!as_vec_reserve(&t->cell, t->n_cells, &t->cell_capacity, sizeof(void *)))
        return false;
    t->cell[t->n_cells++] = cell;
    return true;
}

static struct as_layer_cell *add_cell(struct as_layer_thread *t, struct as_layer_name *name)
{
    struct as_layer_cell *cell = as_alloc_aligned(_Alignof(struct as_layer_cell), sizeof *cell);
    bool added;

    if (!cell)
        return NULL;
    *cell = (struct as_layer_cell){.name = name, .times.min = UINT64_MAX};
    memcpy(cell->head, name->text, name->size < AS_LAYER_HEAD ? name->size + 1 : AS_LAYER_HEAD);
    if (as_hash_map_put(&t->by_name, name->text, name->size, t->n_cells) < 0) {
        as_free(cell);
        return NULL;
    }
    as_layer_thread_lock(t);
    added = append_cell(t, cell);
    as_layer_thread_unlock(t);
    if (added)
        return cell;
    as_free(cell);
    return NULL;
}

struct as_layer_cell *as_layer_cell_find(struct as_layer_profile *p, struct as_layer_thread *t,
                                         const char *text)
{
    size_t size = strnlen(text, AS_LAYER_MAX_NAME);
    const uint64_t *known = as_hash_map_find(&t->by_name, text, size);
    struct as_layer_name *name;
    bool other;

    if (known && *known < t->n_cells)
        return t->cell[*known];
    pthread_mutex_lock(&p->names_lock);
    name = intern(p, text, size);
    other = name && name == p->other;
    pthread_mutex_unlock(&p->names_lock);
    if (!name)
        return NULL;
    if (other) {
        as_layer_thread_lock(t);
        t->unnamed++;
        as_layer_thread_unlock(t);
    }
    known = as_hash_map_find(&t->by_name, name->text, name->size);
    return known && *known < t->n_cells ? t->cell[*known] : add_cell(t, name);
}
