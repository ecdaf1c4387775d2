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
#define HOLE_REACH 64u /* records of the longest usual mark, and some */

struct as_mark_scratch {
    const struct as_site_table *names; /* of the set being read */
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

/* Where a reader stands in a chunk. */
struct view {
    const struct as_chunk *chunk;
    uint32_t at;
};

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

/* Reads what a chunk holds from where the last reader stopped; returns how many units. */
static size_t take_chunk(struct as_mark_thread *t, const struct as_chunk *chunk, bool full,
                         struct as_mark_scratch *s, as_mark_visit visit, void *user)
{
    struct view v = {chunk, t->next_slot};
    struct assay_record_ r;
    size_t n = 0;

    while (v.at < AS_CHUNK_CAPACITY) {
        struct as_mark_unit unit;

        if (!look(&v, v.at, &r)) {
            if (!(full || is_hole(&v)) || !is_given_up(t))
                break;
            v.at++;
            continue;
        }
        t->hole_looks = 0;
        v.at++;
        unit.kind = as_word_kind(r.word);
        unit.site = as_word_site(r.word);
        unit.time = r.time;
        unit.fields.known = 0;
        unit.pair = s->pair;
        unit.n_pairs = 0;
        unit.reason = NULL;
        if (unit.kind != AS_RECORD_PAD) {
            take_data(&v, s, &unit);
            visit(user, t, &unit);
            n++;
        }
        t->next_slot = v.at;
    }
    t->next_slot = v.at;
    return n;
}

/* Units are whole or not there: a claim is stored with its leading record last. Data of a claim
 * that is on its way may be seen before that, and waits: see is_leading(). */
static size_t take_lane(struct as_mark_thread *t, struct as_mark_scratch *s, as_mark_visit visit,
                        void *user)
{
    struct as_lane *lane = t->lane;
    size_t n = 0;

    for (uint32_t i = 0; i < lane->n_chunks; i++) {
        const uint64_t drained = atomic_load_explicit(&lane->drained, memory_order_relaxed);
        const uint32_t index = (uint32_t)(drained % lane->n_chunks);
        const uint32_t state =
            atomic_load_explicit(&lane->head->state[index], memory_order_acquire);

        if (state == AS_CHUNK_FREE)
            break;
        n += take_chunk(t, &lane->chunk[index], state == AS_CHUNK_FULL, s, visit, user);
        if (state != AS_CHUNK_FULL || t->next_slot < AS_CHUNK_CAPACITY)
            break;
        t->next_slot = 0;
        atomic_store_explicit(&lane->head->state[index], AS_CHUNK_FREE, memory_order_release);
        atomic_store_explicit(&lane->drained, drained + 1, memory_order_relaxed);
        atomic_fetch_add(&lane->freed, 1);
        as_futex_wake(&lane->freed);
    }
    return n;
}

size_t as_mark_take(struct as_mark_set *set, struct as_mark_scratch *scratch, as_mark_visit visit,
                    void *user)
{
    const uint32_t n_threads = atomic_load_explicit(&set->n_threads, memory_order_acquire);
    size_t n = 0;

    scratch->names = &set->names;
    set->has_hole = false;
    for (uint32_t i = 0; i < n_threads; i++) {
        n += take_lane(set->thread[i], scratch, visit, user);
        set->has_hole |= set->thread[i]->hole_looks > 0;
    }
    return n;
}
