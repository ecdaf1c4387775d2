/* trace/run/span_walk.c - replays a thread's events as nested spans, in nanoseconds since the run
 * began. */
#include "trace/run/span_walk.h"

#include <string.h>

#include "base/alloc.h"
#include "trace/run/thread_events.h"

/* An end that has no begin is looked for on the whole stack. A file of such ends under a deep stack
 * would cost their product: past this many frames, and some for every event, only the innermost are
 * looked at. */
#define AS_FREE_SEARCHES ((uint64_t)1 << 20)

struct frame {
    uint64_t start_ns, child_ns;
    uint32_t site, n_notes;
    bool by_switch;
    struct as_span_note note[AS_SPAN_MAX_NOTES];
};

struct as_span_walker {
    struct as_run *run;
    struct as_thread_events events;
    bool begun, finished;
    const struct as_run_thread *thread;
    const struct as_span_visitor *v;
    struct as_walk_counts counts;
    struct frame *stack;
    uint32_t depth, capacity;
    uint64_t skipped; /* levels opened below the limit and not yet closed */
    bool after_loss;  /* an end without a begin may have lost it */
    bool no_memory;
    struct as_iteration iteration;
    bool in_iteration;
    struct as_iteration ended; /* waits for that reading */
    bool has_ended;
    uint64_t cpu_start;
    uint32_t channel;
    uint64_t mark_ns;   /* of the last sample, loss or wait mark */
    uint32_t mark_kind; /* that mark, until its second half came */
    uint64_t fruitless; /* frames looked at for ends that had no begin */
    uint64_t lost_low;
    uint64_t event_ns;     /* of the last begin, end or iteration */
    struct as_point point; /* waits for its data */
    bool has_point;
    char text[ASSAY_MESSAGE_MAX + 1];
    uint32_t text_size;
    struct as_lock_span lock[AS_LOCKS_HELD]; /* by slot; `thread` is NULL in a free one */
    uint32_t n_locks;                        /* slots that may be in use */
};

static void close_top(struct as_span_walker *w, uint64_t ns, enum as_span_state state)
{
    struct frame *f = &w->stack[--w->depth];
    struct as_span span;

    w->counts.spans++;
    if (w->depth)
        w->stack[w->depth - 1].child_ns += ns - f->start_ns;
    if (!w->v->end)
        return;
    span.thread = w->thread;
    span.start_ns = f->start_ns;
    span.end_ns = ns;
    span.child_ns = f->child_ns;
    span.site = f->site;
    span.depth = w->depth;
    span.state = state;
    span.n_notes = f->n_notes;
    if (f->n_notes)
        memcpy(span.note, f->note, f->n_notes * sizeof *span.note);
    w->v->end(w->v->user, &span);
}

static void open_span(struct as_span_walker *w, uint32_t site, uint64_t ns, bool by_switch)
{
    struct frame *f;

    if (w->depth == w->capacity) {
        uint32_t capacity = w->capacity ? 2 * w->capacity : 64;
        struct frame *grown =
            w->capacity < AS_RUN_MAX_DEPTH ? as_realloc(w->stack, capacity, sizeof *grown) : NULL;

        if (!grown) {
            w->no_memory |= w->capacity < AS_RUN_MAX_DEPTH;
            w->counts.too_deep++;
            w->skipped++;
            return;
        }
        w->stack = grown;
        w->capacity = capacity;
    }
    f = &w->stack[w->depth];
    f->start_ns = ns;
    f->child_ns = 0;
    f->site = site;
    f->n_notes = 0;
    f->by_switch = by_switch;
    if (w->v->begin)
        w->v->begin(w->v->user, site, w->depth, ns);
    w->depth++;
}

static void count_stray(struct as_span_walker *w)
{
    if (w->after_loss)
        w->counts.stray_after_loss++;
    else
        w->counts.stray_ends++;
}

static void end_span(struct as_span_walker *w, uint32_t site, uint64_t ns, enum as_span_state state)
{
    uint32_t at = w->depth, least;

    if (w->skipped) {
        w->skipped--;
        return;
    }
    if (at && w->stack[at - 1].site == site) { /* nearly always */
        close_top(w, ns, state);
        return;
    }
    least = w->fruitless > AS_FREE_SEARCHES + 16 * w->counts.events && at > 16 ? at - 16 : 0;
    while (at > least && w->stack[at - 1].site != site)
        at--;
    if (at == least) {
        w->fruitless += w->depth - least;
        count_stray(w);
        return;
    }
    while (
        w->depth >
        at) /* a sequence of switches ends with the scope around it; anything else lacks its end */
        close_top(w, ns, w->stack[w->depth - 1].by_switch ? AS_SPAN_OK : AS_SPAN_UNCLOSED);
    close_top(w, ns, state);
}

static void switch_span(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    if (w->depth && w->stack[w->depth - 1].by_switch)
        close_top(w, ns, AS_SPAN_OK);
    else if (!site)
        count_stray(w);
    if (site)
        open_span(w, site, ns, true);
}

/* ---- iterations ---- */

static void tell_iteration(struct as_span_walker *w, struct as_iteration *it)
{
    if (w->v->iteration)
        w->v->iteration(w->v->user, it);
}

static void tell_ended(struct as_span_walker *w)
{
    if (w->has_ended)
        tell_iteration(w, &w->ended);
    w->has_ended = false;
}

/* The iteration now running ends; its CPU time follows in the next event, when there is one. */
static void end_iteration(struct as_span_walker *w, uint64_t ns, bool cut)
{
    tell_ended(w);
    if (!w->in_iteration)
        return;
    w->iteration.end_ns = ns;
    w->iteration.cut = cut;
    w->in_iteration = false;
    if (cut) {
        w->iteration.has_cpu = false;
        tell_iteration(w, &w->iteration);
        return;
    }
    w->ended = w->iteration;
    w->has_ended = true;
}

static void begin_iteration(struct as_span_walker *w, uint64_t ns)
{
    end_iteration(w, ns, false);
    w->iteration = (struct as_iteration){.thread = w->thread, .start_ns = ns};
    w->in_iteration = true;
}

static void take_cpu(struct as_span_walker *w, uint64_t cpu_ns)
{
    if (w->has_ended) {
        if (w->ended.has_cpu && cpu_ns >= w->cpu_start)
            w->ended.cpu_ns = cpu_ns - w->cpu_start;
        else
            w->ended.has_cpu = false;
        tell_ended(w);
    }
    if (w->in_iteration) {
        w->iteration.has_cpu = true;
        w->cpu_start = cpu_ns;
    }
}

/* ---- points ---- */

static void tell_point(struct as_span_walker *w)
{
    if (!w->has_point)
        return;
    w->has_point = false;
    w->text[w->text_size] = '\0';
    w->point.text = w->text;
    if (w->v->point)
        w->v->point(w->v->user, &w->point);
}

static void begin_point(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    w->point = (struct as_point){.thread = w->thread, .ns = ns, .site = site};
    w->text_size = 0;
    w->has_point = true;
}

static void take_text(struct as_span_walker *w, uint64_t bits)
{
    if (!w->has_point)
        return;
    w->point.role = AS_POINT_MESSAGE;
    for (unsigned i = 0; i < 8 && w->text_size < ASSAY_MESSAGE_MAX; i++) {
        char c = (char)(bits >> 8 * i & 0xff);

        if (!c)
            break;
        w->text[w->text_size++] = c;
    }
}

/* A role that this version does not know leaves an instant event. */
static void take_id(struct as_span_walker *w, uint32_t role, uint64_t id)
{
    if (!w->has_point || w->point.role != AS_POINT_INSTANT || role >= AS_POINT_MESSAGE)
        return;
    w->point.role = (enum as_point_role)role;
    w->point.id = id;
}

/* ---- locks ---- */

/* The lock of that site taken or waited for last; NULL when there is none. */
static struct as_lock_span *find_lock(struct as_span_walker *w, uint32_t site, bool taken)
{
    struct as_lock_span *found = NULL;

    for (uint32_t i = 0; i < w->n_locks; i++) {
        struct as_lock_span *l = &w->lock[i];

        if (l->thread && l->site == site && l->taken == taken &&
            (!found || l->wait_ns >= found->wait_ns))
            found = l;
    }
    return found;
}

static struct as_lock_span *add_lock(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    uint32_t slot = 0;

    while (slot < w->n_locks && w->lock[slot].thread)
        slot++;
    if (slot == AS_LOCKS_HELD) {
        w->counts.stray_locks++;
        return NULL;
    }
    w->n_locks = slot == w->n_locks ? slot + 1 : w->n_locks;
    w->lock[slot] = (struct as_lock_span){
        .thread = w->thread, .site = site, .slot = slot, .wait_ns = ns, .held_ns = ns};
    return &w->lock[slot];
}

static void end_lock(struct as_span_walker *w, struct as_lock_span *l, uint64_t ns,
                     enum as_lock_state state)
{
    if (!l->taken)
        l->held_ns = ns;
    l->freed_ns = ns;
    l->state = state;
    if (w->v->lock)
        w->v->lock(w->v->user, l);
    l->thread = NULL;
    while (w->n_locks && !w->lock[w->n_locks - 1].thread)
        w->n_locks--;
}

static void end_locks(struct as_span_walker *w, uint64_t ns, enum as_lock_state state)
{
    for (uint32_t i = w->n_locks; i-- > 0;) {
        if (w->lock[i].thread)
            end_lock(w, &w->lock[i], ns > w->lock[i].held_ns ? ns : w->lock[i].held_ns, state);
    }
}

static void wait_for_lock(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    struct as_lock_span *l = find_lock(w, site, false);

    if (l)
        end_lock(w, l, ns, AS_LOCK_GIVEN_UP);
    l = add_lock(w, site, ns);
    if (l)
        l->contended = true;
}

static void hold_lock(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    struct as_lock_span *l = find_lock(w, site, false);

    if (!l)
        l = add_lock(w, site, ns);
    if (!l)
        return;
    l->held_ns = ns;
    l->taken = true;
}

static void free_lock(struct as_span_walker *w, uint32_t site, uint64_t ns)
{
    struct as_lock_span *l = find_lock(w, site, true);

    if (l)
        end_lock(w, l, ns, AS_LOCK_FREED);
    else if (!w->after_loss)
        w->counts.stray_locks++;
}

/* ---- losses ---- */

static void lose(struct as_span_walker *w, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    if (from_ns < w->event_ns) /* a file may say so; what was read cannot have been lost */
        from_ns = w->event_ns;
    if (to_ns < from_ns)
        to_ns = from_ns;
    while (w->depth)
        close_top(w,
                  from_ns > w->stack[w->depth - 1].start_ns ? from_ns
                                                            : w->stack[w->depth - 1].start_ns,
                  AS_SPAN_CUT);
    w->skipped = 0;
    end_iteration(w, from_ns, true);
    end_locks(w, from_ns, AS_LOCK_CUT);
    w->after_loss = true;
    if (w->v->loss)
        w->v->loss(w->v->user, from_ns, to_ns, n_events);
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_note(struct as_span_walker *w, uint32_t key, double value)
{
    struct frame *f = w->depth ? &w->stack[w->depth - 1] : NULL;

    if (f && f->n_notes < AS_SPAN_MAX_NOTES)
        f->note[f->n_notes++] = (struct as_span_note){key, value};
}

static void take_data(struct as_span_walker *w, const struct as_event *e)
{
    switch (e->kind) {
    case AS_RECORD_VALUE:
        if (w->channel && w->v->sample)
            w->v->sample(w->v->user, w->channel, w->mark_ns, double_of(e->time));
        w->channel = 0;
        break;
    case AS_RECORD_NUMBER:
        w->iteration.number = e->time;
        break;
    case AS_RECORD_CPU:
        take_cpu(w, e->time);
        break;
    case AS_RECORD_LENGTH:
        w->iteration.length = e->time;
        w->iteration.has_length = true;
        break;
    case AS_RECORD_NOTE:
        add_note(w, e->site, double_of(e->time));
        break;
    case AS_RECORD_TEXT:
        take_text(w, e->time);
        break;
    case AS_RECORD_ID:
        take_id(w, e->site, e->time);
        break;
    default:
        break;
    }
}

static void set_mark(struct as_span_walker *w, uint32_t kind, uint64_t ns)
{
    w->mark_kind = kind;
    w->mark_ns = ns;
}

static void take_event(struct as_span_walker *w, const struct as_event *e)
{
    uint64_t ns;

    if (!as_kind_is_timed(e->kind)) {
        take_data(w, e);
        return;
    }
    if (__builtin_expect(w->has_point, 0))
        tell_point(w);
    ns = as_timebase_ns(&w->run->time, e->time);
    if (ns < w->counts.last_ns)
        ns = w->counts.last_ns;
    w->counts.last_ns = ns;
    if (e->kind <= AS_RECORD_ITER_END || e->kind >= AS_RECORD_POINT)
        w->event_ns = ns;
    switch (e->kind) {
    case AS_RECORD_BEGIN:
        open_span(w, e->site, ns, false);
        break;
    case AS_RECORD_END:
        end_span(w, e->site, ns, AS_SPAN_OK);
        break;
    case AS_RECORD_FAIL:
        end_span(w, e->site, ns, AS_SPAN_FAILED);
        break;
    case AS_RECORD_SWITCH:
        switch_span(w, e->site, ns);
        break;
    case AS_RECORD_ITER:
        begin_iteration(w, ns);
        break;
    case AS_RECORD_ITER_END:
        end_iteration(w, ns, false);
        break;
    case AS_RECORD_SAMPLE:
        w->channel = e->site;
        set_mark(w, e->kind, ns);
        break;
    case AS_RECORD_LOST_FROM:
        w->lost_low = e->site;
        set_mark(w, e->kind, ns);
        break;
    case AS_RECORD_LOST_TO:
        if (w->mark_kind == AS_RECORD_LOST_FROM)
            lose(w, w->mark_ns, ns, (uint64_t)e->site << 32 | w->lost_low);
        else
            lose(w, ns, ns, 0);
        w->mark_kind = AS_RECORD_NONE;
        break;
    case AS_RECORD_WAIT_FROM:
        set_mark(w, e->kind, ns);
        break;
    case AS_RECORD_WAIT_TO:
        if (w->mark_kind == AS_RECORD_WAIT_FROM && w->v->wait)
            w->v->wait(w->v->user, w->mark_ns, ns);
        w->mark_kind = AS_RECORD_NONE;
        break;
    case AS_RECORD_POINT:
        begin_point(w, e->site, ns);
        break;
    case AS_RECORD_LOCK_WAIT:
        wait_for_lock(w, e->site, ns);
        break;
    case AS_RECORD_LOCK_HELD:
        hold_lock(w, e->site, ns);
        break;
    case AS_RECORD_LOCK_FREE:
        free_lock(w, e->site, ns);
        break;
    default:
        break;
    }
}

static void finish(struct as_span_walker *w)
{
    const struct as_run_thread *t = w->thread;

    tell_point(w);
    if (t->pending_lost) {
        uint64_t from_ns = as_timebase_ns(&w->run->time, t->pending_from);
        uint64_t to_ns = as_timebase_ns(&w->run->time, t->pending_to);

        from_ns = from_ns > w->counts.last_ns ? from_ns : w->counts.last_ns;
        lose(w, from_ns, to_ns > from_ns ? to_ns : from_ns, t->pending_lost);
    }
    while (w->depth)
        close_top(w, w->counts.last_ns,
                  w->stack[w->depth - 1].by_switch ? AS_SPAN_UNCLOSED : AS_SPAN_OPEN);
    end_locks(w, w->counts.last_ns, AS_LOCK_OPEN);
    end_iteration(w, w->counts.last_ns, true);
    tell_ended(w);
}

struct as_span_walker *as_span_walker_new(struct as_run *run, const struct as_run_thread *thread,
                                          const struct as_span_visitor *visitor)
{
    struct as_span_walker *w = as_alloc_zero(1, sizeof *w);

    if (!w)
        return NULL;
    w->run = run;
    w->thread = thread;
    w->v = visitor;
    as_thread_events_init(&w->events, run, thread);
    return w;
}

void as_span_walker_free(struct as_span_walker *w)
{
    if (!w)
        return;
    as_thread_events_fini(&w->events);
    as_free(w->stack);
    as_free(w);
}

int as_span_walker_step(struct as_span_walker *w, struct assay_error *err)
{
    struct as_event_batch batch;
    int rc;

    if (w->finished)
        return 0;
    if (w->thread->n_chunks && !w->run->time.known)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "the clock samples of %s are corrupt: its times are unknown", w->run->path);
    rc = as_thread_events_next(&w->events, &batch, err);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        finish(w);
        w->finished = true;
        return 0;
    }
    for (size_t i = 0; i < batch.n_events && !w->begun; i++) {
        if (as_kind_is_timed(batch.event[i].kind)) {
            w->counts.first_ns = w->counts.last_ns =
                as_timebase_ns(&w->run->time, batch.event[i].time);
            w->begun = true;
        }
    }
    if (batch.after_gap) {
        tell_point(w);
        lose(w, w->counts.last_ns, w->counts.last_ns, 0);
    }
    for (size_t i = 0; i < batch.n_events; i++)
        take_event(w, &batch.event[i]);
    w->counts.events += batch.n_events;
    return w->no_memory ? as_fail_nomem(err) : 1;
}

void as_span_walker_counts(const struct as_span_walker *w, struct as_walk_counts *out)
{
    *out = w->counts;
    out->displaced = w->events.n_displaced;
    out->backwards = w->events.n_backwards;
    out->bad = w->events.n_bad;
}

int as_span_walk(struct as_run *run, const struct as_run_thread *thread,
                 const struct as_span_visitor *visitor, struct as_walk_counts *counts,
                 struct assay_error *err)
{
    struct as_span_walker *w = as_span_walker_new(run, thread, visitor);
    int rc;

    if (!w)
        return as_fail_nomem(err);
    while ((rc = as_span_walker_step(w, err)) > 0)
        ;
    if (counts)
        as_span_walker_counts(w, counts);
    as_span_walker_free(w);
    return rc;
}
