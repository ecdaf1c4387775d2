/* profiler/mark_read.c - lanes of a manager's threads: reading what they hold, a unit at a time.
 * The readers take turns; threads go on making marks meanwhile. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profiler/mark_lane.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

/* A record that was claimed and is still not stored after so many looks, AS_MARK_HOLE_NS apart, is
 * passed over: its thread left it by longjmp() out of a handler. Time alone does not count: the
 * process may have been stopped. */
#define HOLE_LOOKS 50u
#define MOST_UNITS (1u << 20) /* at a time: threads may go on for ever */
#define HOLE_REACH 64u        /* records of the longest usual mark, and some */

/* Where a reader stands in a chunk. */
struct view {
    const struct as_chunk *chunk;
    uint32_t at;
};

/* A lane and its next unit. */
struct next {
    uint64_t time;
    struct as_mark_thread *t;
    struct view at;
    struct assay_record_ lead;
};

struct as_mark_scratch {
    const struct as_site_table *names; /* of the set being read */
    struct next heap[AS_MARK_MAX_THREADS];
    struct assay_metadata pair[AS_MARK_MAX_PAIRS];
    char key[AS_MARK_MAX_PAIRS][AS_MARK_MAX_TEXT + 1];
    char text[AS_MARK_MAX_PAIRS + 1][AS_MARK_MAX_TEXT + 1]; /* the last: of the reason */
};

struct as_mark_scratch *as_mark_scratch_new(void)
{
    return as_alloc_zero(1, sizeof(struct as_mark_scratch));
}

void as_mark_scratch_free(struct as_mark_scratch *scratch)
{
    as_free(scratch);
}

/* The record there; false when it is not stored yet, or there is none. */
static bool look(const struct view *v, uint32_t at, struct assay_record_ *out)
{
    const uint64_t tag = __atomic_load_n(&v->chunk->tag, __ATOMIC_RELAXED);

    if (at >= AS_CHUNK_CAPACITY)
        return false;
    out->word = __atomic_load_n(&v->chunk->slot[at].word, __ATOMIC_ACQUIRE);
    out->time = __atomic_load_n(&v->chunk->slot[at].time, __ATOMIC_RELAXED);
    return (out->word & AS_TAG_MASK) == tag;
}

static bool is_leading(uint32_t kind)
{
    return kind != AS_RECORD_PAD && kind <= AS_MARK_RESTART;
}

static void copy_key(const struct as_site_table *names, char *to, uint32_t site)
{
    uint32_t size = 0;
    const char *name = as_site_table_name(names, site, &size);

    size = size < AS_MARK_MAX_TEXT ? size : AS_MARK_MAX_TEXT;
    if (name)
        memcpy(to, name, size);
    to[name ? size : 0] = '\0';
}

/* The eight bytes of each record behind the one at v->at. */
static void take_text(struct view *v, char *to, uint64_t size)
{
    struct assay_record_ r;
    uint64_t done = 0;

    size = size < AS_MARK_MAX_TEXT ? size : AS_MARK_MAX_TEXT;
    while (done < size && look(v, v->at, &r) && as_word_kind(r.word) == AS_MARK_TEXT) {
        const uint64_t part = size - done < sizeof r.time ? size - done : sizeof r.time;

        memcpy(to + done, &r.time, part);
        done += part;
        v->at++;
    }
    to[done] = '\0';
}

static void take_pair(struct view *v, const struct assay_record_ *r, struct as_mark_scratch *s,
                      struct as_mark_unit *unit)
{
    const uint32_t site = as_word_site(r->word);
    const bool is_text = as_word_kind(r->word) == AS_MARK_WORDS;
    struct assay_metadata *pair = &s->pair[unit->n_pairs];
    char *text;

    if (is_text && site == 0) {
        text = s->text[AS_MARK_MAX_PAIRS];
        take_text(v, text, r->time);
        unit->reason = text;
        return;
    }
    if (unit->n_pairs == AS_MARK_MAX_PAIRS)
        return;
    text = s->text[unit->n_pairs];
    copy_key(s->names, s->key[unit->n_pairs], site);
    *pair = (struct assay_metadata){.key = s->key[unit->n_pairs]};
    if (is_text) {
        take_text(v, text, r->time);
        pair->text = text;
    } else {
        memcpy(&pair->number, &r->time, sizeof pair->number);
    }
    unit->n_pairs++;
}

/* The data behind a leading record, which is all there. */
static void take_data(struct view *v, struct as_mark_scratch *s, struct as_mark_unit *unit)
{
    struct assay_record_ r;

    while (look(v, v->at, &r) && !is_leading(as_word_kind(r.word))) {
        v->at++;
        if (as_word_kind(r.word) == AS_MARK_FIELD && as_word_site(r.word) < AS_MARK_FIELDS)
            as_mark_set_field(&unit->fields, as_word_site(r.word), r.time);
        else if (as_word_kind(r.word) == AS_MARK_PAIR || as_word_kind(r.word) == AS_MARK_WORDS)
            take_pair(v, &r, s, unit);
    }
}

/* Whether a record that is missing will not come any more. */
static bool is_given_up(struct as_mark_thread *t)
{
    const uint64_t now = as_clock_mono_ns();

    /* A thread that reads is in the middle of no mark; one that waits for us has left this one
     * behind, or will not come back to it before we go on. */
    if (t->owner == as_mark_now.self || atomic_load_explicit(&t->waits, memory_order_relaxed))
        return true;

    if (t->hole_looks == 0 || now - t->hole_look_ns >= AS_MARK_HOLE_NS) {
        t->hole_looks++;
        t->hole_look_ns = now;
    }
    return t->hole_looks > HOLE_LOOKS;
}

/* Whether the record at v->at is missing, or nothing was recorded beyond. */
static bool is_hole(const struct view *v)
{
    struct assay_record_ r;

    for (uint32_t i = 1; i <= HOLE_REACH; i++) {
        if (look(v, v->at + i, &r))
            return true;
    }
    return false;
}

/* Gives the chunk that was read to its end back to its thread. */
static void free_chunk(struct as_mark_thread *t, uint32_t index)
{
    struct as_lane *lane = t->lane;

    t->next_slot = 0;
    atomic_store_explicit(&lane->head->state[index], AS_CHUNK_FREE, memory_order_release);
    atomic_fetch_add_explicit(&lane->drained, 1, memory_order_relaxed);
    atomic_fetch_add(&lane->freed, 1);
    as_futex_wake(&lane->freed);
}

/* Goes to the next leading record of a lane. False: there is none yet. */
static inline bool find_next(struct as_mark_thread *t, struct view *v, struct assay_record_ *r)
{
    struct as_lane *lane = t->lane;

    for (;;) {
        const uint64_t drained = atomic_load_explicit(&lane->drained, memory_order_relaxed);
        const uint32_t index = (uint32_t)drained % AS_MARK_CHUNKS;
        const uint32_t state =
            atomic_load_explicit(&lane->head->state[index], memory_order_acquire);

        if (state == AS_CHUNK_FREE)
            return false;
        if (t->next_slot >= AS_CHUNK_CAPACITY) {
            if (state != AS_CHUNK_FULL)
                return false;
            free_chunk(t, index);
            continue;
        }
        *v = (struct view){&lane->chunk[index], t->next_slot};
        if (look(v, v->at, r)) {
            t->hole_looks = 0;
            if (is_leading(as_word_kind(r->word)))
                return true;
        } else if (!(state == AS_CHUNK_FULL || is_hole(v)) || !is_given_up(t)) {
            return false;
        } else if (look(v, v->at, r)) {
            continue; /* it came while we looked: a handler's mark on this very thread */
        }
        t->next_slot++; /* nothing, or data of a unit that was given up */
    }
}

/* Lanes by the time of their next unit, the earliest first. */
static void sift_down(struct next *heap, size_t n, size_t i)
{
    for (;;) {
        size_t least = i, child = 2 * i + 1;

        for (size_t k = child; k < child + 2 && k < n; k++)
            least = heap[k].time < heap[least].time ? k : least;
        if (least == i)
            return;
        {
            const struct next moved = heap[i];

            heap[i] = heap[least];
            heap[least] = moved;
        }
        i = least;
    }
}

/* What has no time comes before what follows it. */
static bool peek(struct as_mark_thread *t, struct next *out)
{
    if (!find_next(t, &out->at, &out->lead))
        return false;
    out->time = as_word_kind(out->lead.word) < AS_MARK_DROP ? out->lead.time : 0;
    out->t = t;
    return true;
}

static void take_unit(const struct next *next, struct as_mark_scratch *s, as_mark_visit visit,
                      void *user)
{
    struct as_mark_unit unit;
    struct view v = next->at;

    v.at++;
    unit.kind = as_word_kind(next->lead.word);
    unit.site = as_word_site(next->lead.word);
    unit.time = next->lead.time;
    unit.fields.known = 0;
    unit.pair = s->pair;
    unit.n_pairs = 0;
    unit.reason = NULL;
    take_data(&v, s, &unit);
    next->t->next_slot = v.at;
    visit(user, next->t, &unit);
}

bool as_mark_is_urgent(const struct as_mark_set *set)
{
    const uint32_t n_threads = atomic_load_explicit(&set->n_threads, memory_order_acquire);
    bool urgent = false;

    for (uint32_t i = 0; !urgent && i < n_threads; i++) {
        const struct as_lane *lane = set->thread[i]->lane;
        uint32_t full = 0;

        for (uint32_t k = 0; k < lane->n_chunks; k++)
            full +=
                atomic_load_explicit(&lane->head->state[k], memory_order_relaxed) == AS_CHUNK_FULL;
        urgent = 2 * full >= lane->n_chunks;
    }
    return urgent;
}

size_t as_mark_take(struct as_mark_set *set, struct as_mark_scratch *scratch, uint64_t until,
                    as_mark_visit visit, void *user)
{
    const uint32_t n_threads = atomic_load_explicit(&set->n_threads, memory_order_acquire);
    struct next *heap = scratch->heap;
    size_t n_heap = 0, n = 0;

    scratch->names = &set->names;
    for (uint32_t i = 0; i < n_threads; i++)
        n_heap += peek(set->thread[i], &heap[n_heap]);
    for (size_t i = n_heap / 2; i-- > 0;)
        sift_down(heap, n_heap, i);
    while (n_heap && heap[0].time <= until && n < MOST_UNITS) {
        take_unit(&heap[0], scratch, visit, user);
        n++;
        if (!peek(heap[0].t, &heap[0]))
            heap[0] = heap[--n_heap];
        if (n_heap > 1)
            sift_down(heap, n_heap, 0);
    }
    set->has_hole = false;
    for (uint32_t i = 0; i < n_threads; i++)
        set->has_hole |= set->thread[i]->hole_looks > 0;
    return n;
}
