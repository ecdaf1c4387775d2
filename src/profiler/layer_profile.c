/* profiler/layer_profile.c - begins and ends layers: the part that runs inside the program.
 * Budget: 100 ns for a begin and its end, two readings of the clock among them. */
#include "profiler/layer_profile.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "profiler/layer_thread.h"

#define FIRST_FRAMES 16u

static _Atomic uint64_t profiles_made;

int as_layer_profile_new(struct as_layer_profile **out, const struct as_layer_limits *limits,
                         struct assay_error *err)
{
    struct as_layer_profile *p = as_alloc_zero(1, sizeof *p);

    *out = NULL;
    if (!p)
        return as_fail_nomem(err);
    if (pthread_mutex_init(&p->lock, NULL) != 0 || pthread_mutex_init(&p->names_lock, NULL) != 0) {
        as_free(p);
        return as_fail_nomem(err);
    }
    p->id = atomic_fetch_add_explicit(&profiles_made, 1, memory_order_relaxed) + 1;
    p->limits = *limits;
    as_layer_clock_init(&p->clock);
    *out = p;
    return ASSAY_OK;
}

void as_layer_profile_free(struct as_layer_profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_threads; i++)
        as_layer_thread_free(p->thread[i]);
    as_free(p->thread);
    as_free(p->name);
    as_hash_map_fini(&p->by_name);
    as_arena_fini(&p->arena);
    pthread_mutex_destroy(&p->names_lock);
    pthread_mutex_destroy(&p->lock);
    as_free(p);
}

const struct as_layer_clock *as_layer_profile_clock(const struct as_layer_profile *p)
{
    return &p->clock;
}

static inline bool same_text(const struct as_layer_cell *cell, const char *text)
{
    for (unsigned i = 0; i < AS_LAYER_HEAD; i++) {
        if (cell->head[i] != text[i])
            return false;
        if (text[i] == '\0')
            return true;
    }
    return strcmp(cell->name->text, text) == 0;
}

/* Literals keep their place: where the pointer was seen before, one comparison settles it. */
static inline struct as_layer_cell *cell_of(struct as_layer_profile *p, struct as_layer_thread *t,
                                            const char *text)
{
    uintptr_t at = (uintptr_t)text;
    size_t slot = (at ^ at >> 6) % AS_LAYER_CACHE;
    struct as_layer_cell *cell = t->cache[slot].cell;

    if (t->cache[slot].text == text && same_text(cell, text))
        return cell;
    cell = as_layer_cell_find(p, t, text);
    if (cell) {
        t->cache[slot].text = text;
        t->cache[slot].cell = cell;
    }
    return cell;
}

/* Frames are aligned, which realloc does not do. */
static bool grow_frames(struct as_layer_thread *t, uint32_t depth)
{
    uint32_t capacity = t->frame_capacity ? 2 * t->frame_capacity : FIRST_FRAMES;
    struct as_layer_frame *more, *old = t->frame;

    if (depth == AS_LAYER_MAX_DEPTH)
        return false;
    more = as_alloc_aligned(_Alignof(struct as_layer_frame), capacity * sizeof *more);
    if (!more)
        return false;
    if (depth)
        memcpy(more, old, depth * sizeof *more);
    as_layer_thread_lock(t);
    t->frame = more;
    t->frame_capacity = capacity;
    as_layer_thread_unlock(t);
    as_free(old);
    return true;
}

/* All layers were forgotten since this thread last looked. */
static inline void follow_session(struct as_layer_profile *p, struct as_layer_thread *t)
{
    uint64_t session = atomic_load_explicit(&p->session, memory_order_relaxed);

    if (__builtin_expect(atomic_load_explicit(&t->session, memory_order_relaxed) == session, 1))
        return;
    atomic_store_explicit(&t->depth, 0, memory_order_relaxed);
    t->forgotten = t->serial;
    atomic_store_explicit(&t->session, session, memory_order_release);
}

static void count_too_deep(struct as_layer_thread *t)
{
    as_layer_thread_lock(t);
    t->too_deep++;
    as_layer_thread_unlock(t);
}

struct assay_manager_span as_layer_profile_begin(struct as_layer_profile *p, const char *name,
                                                 struct as_layer_opened *opened)
{
    struct as_layer_thread *t = as_layer_thread_find(p);
    struct as_layer_cell *cell;
    struct as_layer_frame *frame;
    uint32_t depth;

    if (!t) {
        atomic_fetch_add_explicit(&p->homeless, 1, memory_order_relaxed);
        return (struct assay_manager_span){0};
    }
    follow_session(p, t);
    depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    cell = cell_of(p, t, name && *name ? name : "(unnamed)");
    if (!cell || (depth == t->frame_capacity && !grow_frames(t, depth))) {
        count_too_deep(t);
        return (struct assay_manager_span){0};
    }
    frame = &t->frame[depth];
    __atomic_store_n(&frame->cell, cell, __ATOMIC_RELAXED); /* see close */
    frame->serial = ++t->serial;
    frame->inner_ns = frame->excused_ns = frame->before_ns = 0;
    frame->note.epoch = 0;
    frame->note.held_known = frame->note.memory_begun = false;
    frame->note.usage_known = frame->note.entered_known = false;
    frame->note.inner_bytes = 0;
    frame->note.unread_ns = 0;
    atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
    *opened = (struct as_layer_opened){.note = &frame->note,
                                       .name = cell->name,
                                       .start_ticks = &frame->start_ticks,
                                       .before_ns = &frame->before_ns,
                                       .cell = cell,
                                       .outer = depth ? &frame[-1].note : NULL};
    return (struct assay_manager_span){t, frame->serial, cell->name->text, depth + 1};
}

bool as_layer_profile_is_short(struct as_layer_profile *p, const struct as_layer_opened *opened,
                               double seconds)
{
    const struct as_layer_cell *cell = opened->cell;
    struct as_layer_thread *t = as_layer_thread_find(p);
    bool is_short;

    if (!t)
        return false;
    as_layer_thread_lock(t); /* a reset may be going on */
    is_short = (double)cell->times.sum / 1e9 < seconds * (double)cell->times.n;
    as_layer_thread_unlock(t);
    return is_short;
}

/* Why a span cannot end now. */
static int refuse(const struct as_layer_thread *t, uint32_t depth,
                  const struct assay_manager_span *span, struct assay_error *err)
{
    if (depth)
        return as_fail(err, ASSAY_ERR_STATE,
                       "the layer %.80s was ended before; the one open here is %.80s", span->layer,
                       t->frame[depth - 1].cell->name->text);
    return as_fail(err, ASSAY_ERR_STATE, "the layer %.80s was ended before; none is open here",
                   span->layer);
}

static inline void count_call(struct as_layer_profile *p, struct as_layer_thread *t,
                              const struct as_layer_end *how, const struct as_layer_call *call,
                              struct as_layer_cell *cell)
{
    struct as_layer_record record = {.end_ticks = how->ticks,
                                     .duration_ns = call->duration_ns,
                                     .self_ns = call->self_ns,
                                     .name = call->name,
                                     .thread = t->number,
                                     .depth = (uint16_t)call->depth,
                                     .failed = how->failed};

    if (__builtin_expect(how->n_metadata || how->reason, 0))
        record.extra = as_layer_extra_new(how, &t->metadata_dropped);
    if (__builtin_expect(how->failed, 0)) {
        cell->failed++;
        cell->failed_ns += call->duration_ns;
    } else {
        cell->self_ns += call->self_ns;
        as_layer_cell_add(p, cell, call->duration_ns, call->self_ns);
    }
    t->all_ns += call->duration_ns;
    t->all_self_ns += call->self_ns;
    as_layer_ring_push(p, &t->ring, &record);
}

/* A call that ended is told to the one around it: its time, and what passed of nobody's. */
static inline void tell_outer(struct as_layer_frame *outer, const struct as_layer_frame *frame,
                              uint64_t duration_ns)
{
    const uint64_t nobodys = frame->excused_ns + frame->before_ns;

    outer->inner_ns += duration_ns;
    outer->excused_ns += nobodys;
    if (!frame->note.entered_known)
        outer->note.unread_ns += duration_ns + nobodys;
}

struct as_layer_note *as_layer_profile_abandon(struct as_layer_profile *p,
                                               const struct assay_manager_span *span,
                                               uint64_t ticks)
{
    struct as_layer_thread *t = as_layer_thread_find(p);
    struct as_layer_frame *frame;
    uint32_t depth;

    if (!t || span->thread != t ||
        atomic_load_explicit(&t->session, memory_order_relaxed) !=
            atomic_load_explicit(&p->session, memory_order_relaxed))
        return NULL;
    depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    if (!span->depth || span->depth >= depth || t->frame[span->depth - 1].serial != span->serial)
        return NULL;
    frame = &t->frame[depth - 1];
    tell_outer(frame - 1, frame, as_layer_clock_ns(&p->clock, frame->start_ticks, ticks));
    as_layer_thread_lock(t);
    t->abandoned++;
    as_layer_thread_unlock(t);
    atomic_store_explicit(&t->depth, depth - 1, memory_order_release);
    return &frame->note;
}

int as_layer_profile_end(struct as_layer_profile *p, const struct assay_manager_span *span,
                         const struct as_layer_end *how, struct as_layer_call *call,
                         struct assay_error *err)
{
    struct as_layer_thread *t = as_layer_thread_find(p);
    struct as_layer_frame *frame;
    uint64_t whole_ns, inner_ns;
    uint32_t depth;

    call->known = false;
    if (!t || span->thread != t)
        return as_fail(
            err, ASSAY_ERR_STATE,
            "the layer %.80s was begun on another thread or with another manager: end it "
            "there",
            span->layer);
    follow_session(p, t);
    if (span->serial <= t->forgotten)
        return ASSAY_OK;
    depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    if (depth == 0 || depth != span->depth || t->frame[depth - 1].serial != span->serial)
        return refuse(t, depth, span, err);
    frame = &t->frame[--depth];
    *call = (struct as_layer_call){.known = true,
                                   .name = frame->cell->name,
                                   .end_ticks = how->ticks,
                                   .depth = depth,
                                   .thread = t->number,
                                   .note = &frame->note,
                                   .outer = depth ? &frame[-1].note : NULL};
    whole_ns = as_layer_clock_ns(&p->clock, frame->start_ticks, how->ticks);
    inner_ns = frame->inner_ns + frame->excused_ns;
    call->self_ns = whole_ns > inner_ns ? whole_ns - inner_ns : 0;
    call->duration_ns = frame->inner_ns + call->self_ns;
    if (depth)
        tell_outer(&t->frame[depth - 1], frame, call->duration_ns);
    atomic_store_explicit(&t->depth, depth, memory_order_release);
    as_layer_thread_lock(t);
    t->calls++;
    if (how->keep)
        count_call(p, t, how, call, frame->cell);
    as_layer_thread_unlock(t);
    return ASSAY_OK;
}

void as_layer_profile_excuse(struct as_layer_profile *p, uint64_t ns)
{
    struct as_layer_thread *t = as_layer_thread_find(p);
    uint32_t depth = t ? atomic_load_explicit(&t->depth, memory_order_relaxed) : 0;

    if (depth)
        t->frame[depth - 1].excused_ns += ns;
}

uint64_t as_layer_profile_calls(struct as_layer_profile *p, uint32_t *n_threads)
{
    uint64_t n = 0;

    *n_threads = 0;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_threads; i++) {
        as_layer_thread_lock(p->thread[i]);
        n += p->thread[i]->calls;
        *n_threads += p->thread[i]->calls > 0;
        as_layer_thread_unlock(p->thread[i]);
    }
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* The owner may begin and end layers meanwhile: frames stay where they are while we are busy with
 * them, and every cell they ever named is there for good. */
static size_t note_open(struct as_layer_profile *p, struct as_layer_thread *t, uint64_t session)
{
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_acquire);

    if (atomic_load_explicit(&t->session, memory_order_acquire) != session)
        return 0;
    depth = depth < t->frame_capacity ? depth : t->frame_capacity;
    for (uint32_t d = 0; d < depth; d++) {
        if (p->n_open < AS_LAYER_MAX_OPEN)
            p->open[p->n_open++] = __atomic_load_n(&t->frame[d].cell, __ATOMIC_RELAXED)->name;
        else
            p->open_dropped++;
    }
    return depth;
}

size_t as_layer_profile_close(struct as_layer_profile *p)
{
    uint64_t session;
    size_t n = 0;

    pthread_mutex_lock(&p->lock);
    session = atomic_load_explicit(&p->session, memory_order_relaxed);
    for (size_t i = 0; i < p->n_threads; i++) {
        as_layer_thread_lock(p->thread[i]);
        n += note_open(p, p->thread[i], session);
        as_layer_thread_unlock(p->thread[i]);
    }
    atomic_store_explicit(&p->session, session + 1, memory_order_release);
    pthread_mutex_unlock(&p->lock);
    return n;
}

void as_layer_profile_reset(struct as_layer_profile *p)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_threads; i++) {
        as_layer_thread_lock(p->thread[i]);
        as_layer_thread_reset(p, p->thread[i]);
        as_layer_thread_unlock(p->thread[i]);
    }
    p->n_open = 0;
    p->open_dropped = 0;
    atomic_store_explicit(&p->homeless, 0, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
}
