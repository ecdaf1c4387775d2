/* analyze/run/run_events.c - what a run has beside layers: messages, instant events, spans across
 * threads, flows and locks. */
#include "analyze/run/run_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

struct as_link_point {
    uint64_t ns, id, thread;
    uint32_t site;
    uint8_t role; /* enum as_point_role */
    bool is_flow;
};

static uint32_t known(const struct as_event_collector *c, uint32_t site)
{
    return site <= c->run->n_sites ? site : 0;
}

/* ---- messages ---- */

static int by_time(const void *a, const void *b)
{
    const struct as_message *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Keeps the last ones. Threads come one after another, so the order of time is made here. */
static void trim_messages(struct as_event_collector *c)
{
    if (c->n_messages == 0)
        return;
    qsort(c->message, c->n_messages, sizeof *c->message, by_time);
    if (c->n_messages <= AS_MESSAGES_KEPT)
        return;
    memmove(c->message, c->message + (c->n_messages - AS_MESSAGES_KEPT),
            AS_MESSAGES_KEPT * sizeof *c->message);
    c->n_messages = AS_MESSAGES_KEPT;
}

static void add_message(struct as_event_collector *c, const struct as_point *p)
{
    struct as_message *m;

    c->messages++;
    if (!c->message)
        c->message = as_alloc_zero((size_t)2 * AS_MESSAGES_KEPT, sizeof *c->message);
    if (!c->message) {
        c->no_memory = true;
        return;
    }
    if (c->n_messages == (size_t)2 * AS_MESSAGES_KEPT)
        trim_messages(c);
    m = &c->message[c->n_messages++];
    m->ns = p->ns;
    m->thread = p->thread->index;
    memcpy(m->text, p->text, strlen(p->text) + 1);
}

/* ---- instant events ---- */

static void add_instant(struct as_event_collector *c, const struct as_point *p)
{
    uint32_t site = known(c, p->site);
    struct as_instant *i;

    if (!c->instant)
        c->instant = as_alloc_zero((size_t)c->run->n_sites + 1, sizeof *c->instant);
    if (!c->instant) {
        c->no_memory = true;
        return;
    }
    i = &c->instant[site];
    if (i->count++ == 0)
        *i = (struct as_instant){site, as_run_site_at(c->run, site), 1, p->ns, p->ns};
    i->first_ns = p->ns < i->first_ns ? p->ns : i->first_ns;
    i->last_ns = p->ns > i->last_ns ? p->ns : i->last_ns;
}

void as_events_on_point(struct as_event_collector *c, const struct as_point *p)
{
    if (c->no_memory)
        return;
    if (p->role == AS_POINT_MESSAGE) {
        add_message(c, p);
        return;
    }
    if (p->role == AS_POINT_INSTANT) {
        add_instant(c, p);
        return;
    }
    if (c->n_points >= AS_MAX_LINK_POINTS) {
        c->unfollowed++;
        return;
    }
    if (!AS_VEC_RESERVE(c->point, c->n_points, c->capacity)) {
        c->no_memory = true;
        return;
    }
    c->point[c->n_points++] = (struct as_link_point){.ns = p->ns,
                                                     .id = p->id,
                                                     .thread = p->thread->index,
                                                     .site = known(c, p->site),
                                                     .role = (uint8_t)p->role,
                                                     .is_flow = p->role >= AS_POINT_FLOW_BEGIN};
}

/* ---- locks ---- */

static bool make_locks(struct as_event_collector *c)
{
    size_t n = (size_t)c->run->n_sites + 1;

    if (!c->lock)
        c->lock = as_alloc_zero(n, sizeof *c->lock);
    if (!c->lock_thread)
        c->lock_thread = as_alloc_zero(n, sizeof *c->lock_thread);
    c->no_memory |= !c->lock || !c->lock_thread;
    return !c->no_memory;
}

void as_events_on_lock(struct as_event_collector *c, const struct as_lock_span *span)
{
    uint32_t site = known(c, span->site);
    uint64_t wait_ns = span->held_ns - span->wait_ns, held_ns = span->freed_ns - span->held_ns;
    struct as_lock *l;

    if (c->no_memory || !make_locks(c))
        return;
    l = &c->lock[site];
    l->site = site;
    l->info = as_run_site_at(c->run, site);
    if (c->lock_thread[site] != c->thread) {
        c->lock_thread[site] = c->thread;
        l->n_threads++;
    }
    if (span->state == AS_LOCK_GIVEN_UP) {
        l->given_up++;
        return;
    }
    if (span->state != AS_LOCK_FREED) {
        l->open++;
        return;
    }
    l->acquisitions++;
    l->contended += span->contended;
    l->wait_ns += wait_ns;
    l->held_ns += held_ns;
    l->max_wait_ns = wait_ns > l->max_wait_ns ? wait_ns : l->max_wait_ns;
    l->max_held_ns = held_ns > l->max_held_ns ? held_ns : l->max_held_ns;
}

/* ---- async spans and flows ---- */

/* Of two at the same moment a begin comes first: a span may have no length. */
static int by_link(const void *a, const void *b)
{
    const struct as_link_point *x = a, *y = b;

    if (x->is_flow != y->is_flow)
        return x->is_flow ? 1 : -1;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->role < y->role ? -1 : x->role > y->role;
}

static bool is_begin(const struct as_link_point *p)
{
    return p->role == AS_POINT_ASYNC_BEGIN || p->role == AS_POINT_FLOW_BEGIN;
}

static bool is_end(const struct as_link_point *p)
{
    return p->role == AS_POINT_ASYNC_END || p->role == AS_POINT_FLOW_END;
}

/* The points of one name and id, in the order of time. Durations go to `sample`; returns how many.
 */
static size_t follow(struct as_link *link, const struct as_link_point *p, size_t n,
                     uint64_t *sample)
{
    const struct as_link_point *open = NULL;
    size_t n_samples = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_begin(&p[i])) {
            link->begun_again += open != NULL;
            open = &p[i];
        } else if (!open) {
            link->stray++;
        } else if (is_end(&p[i])) {
            sample[n_samples++] = p[i].ns - open->ns;
            link->crossed += p[i].thread != open->thread;
            open = NULL;
        } else {
            link->steps++;
        }
    }
    link->open += open != NULL;
    return n_samples;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static void take_times(struct as_link *link, uint64_t *sample, size_t n)
{
    struct as_sorted sorted;

    link->n = n;
    link->mean_ns = link->min_ns = link->p50_ns = link->p95_ns = link->max_ns = AS_UNKNOWN;
    if (n == 0)
        return;
    qsort(sample, n, sizeof *sample, compare_u64);
    sorted = as_sorted_u64(sample, n);
    for (size_t i = 0; i < n; i++)
        link->total_ns += (double)sample[i];
    link->mean_ns = link->total_ns / (double)n;
    link->min_ns = (double)sample[0];
    link->max_ns = (double)sample[n - 1];
    link->p50_ns = as_quantile_at(&sorted, 50, AS_QUANTILE_LINEAR);
    link->p95_ns = as_quantile_at(&sorted, 95, AS_QUANTILE_LINEAR);
    link->p95_supported = as_quantile_supported(n, 95);
}

/* The points of one name, sorted: all of its ids. */
static void make_link(struct as_event_collector *c, struct as_link *link,
                      const struct as_link_point *p, size_t n, uint64_t *sample)
{
    size_t n_samples = 0, from = 0;

    *link = (struct as_link){.site = p->site, .info = as_run_site_at(c->run, p->site)};
    for (size_t i = 1; i <= n; i++) {
        if (i < n && p[i].id == p[from].id)
            continue;
        n_samples += follow(link, p + from, i - from, sample + n_samples);
        from = i;
    }
    take_times(link, sample, n_samples);
}

static bool same_name(const struct as_link_point *a, const struct as_link_point *b)
{
    return a->is_flow == b->is_flow && a->site == b->site;
}

static int make_links(struct as_event_collector *c, struct as_arena *arena,
                      struct as_run_events *out, struct assay_error *err)
{
    size_t n_names = 0, from = 0, at = 0;
    struct as_link *link;
    uint64_t *sample;

    if (c->n_points == 0)
        return ASSAY_OK;
    qsort(c->point, c->n_points, sizeof *c->point, by_link);
    for (size_t i = 0; i < c->n_points; i++)
        n_names += i == 0 || !same_name(&c->point[i], &c->point[i - 1]);
    link = as_arena_zero(arena, n_names, sizeof *link);
    sample = as_alloc_zero(c->n_points, sizeof *sample);
    if (!link || !sample) {
        as_free(sample);
        return as_fail_nomem(err);
    }
    for (size_t i = 1; i <= c->n_points; i++) {
        if (i < c->n_points && same_name(&c->point[i], &c->point[from]))
            continue;
        make_link(c, &link[at++], c->point + from, i - from, sample);
        *(c->point[from].is_flow ? &out->n_flows : &out->n_async) += 1;
        from = i;
    }
    as_free(sample);
    out->async = link;
    out->flow = link + out->n_async;
    return ASSAY_OK;
}

/* ---- the whole ---- */

static int make_lists(struct as_event_collector *c, struct as_arena *arena,
                      struct as_run_events *out, struct assay_error *err)
{
    size_t n = (size_t)c->run->n_sites + 1;

    for (size_t i = 0; i < n; i++) {
        out->n_instants += c->instant && c->instant[i].count;
        out->n_locks += c->lock && c->lock[i].info;
    }
    out->instant = as_arena_zero(arena, out->n_instants + 1, sizeof *out->instant);
    out->lock = as_arena_zero(arena, out->n_locks + 1, sizeof *out->lock);
    out->message = as_arena_zero(arena, c->n_messages + 1, sizeof *out->message);
    if (!out->instant || !out->lock || !out->message)
        return as_fail_nomem(err);
    out->n_instants = out->n_locks = 0;
    for (size_t i = 0; i < n; i++) {
        if (c->instant && c->instant[i].count)
            out->instant[out->n_instants++] = c->instant[i];
        if (c->lock && c->lock[i].info)
            out->lock[out->n_locks++] = c->lock[i];
    }
    if (c->n_messages)
        memcpy(out->message, c->message, c->n_messages * sizeof *c->message);
    out->n_messages = c->n_messages;
    return ASSAY_OK;
}

int as_events_finish(struct as_event_collector *c, struct as_arena *arena,
                     struct as_run_events *out, struct assay_error *err)
{
    int rc;

    if (c->no_memory)
        return as_fail_nomem(err);
    trim_messages(c);
    out->messages = c->messages;
    out->unfollowed = c->unfollowed;
    rc = make_lists(c, arena, out, err);
    return rc < 0 ? rc : make_links(c, arena, out, err);
}

void as_event_collector_fini(struct as_event_collector *c)
{
    as_free(c->message);
    as_free(c->instant);
    as_free(c->lock);
    as_free(c->lock_thread);
    as_free(c->point);
    *c = (struct as_event_collector){0};
}
