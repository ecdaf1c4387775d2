/* profiler/layer_profile.c - layers begin and end: their times, and whose they are. */
#include "profiler/layer_profile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "profiler/layer_cell.h"
#include "trace/record/site_table.h"

#define OTHERS "(other)"

int as_layer_profile_new(struct as_layer_profile **out, const struct as_layer_limits *limits,
                         struct assay_error *err)
{
    struct as_layer_profile *p = as_alloc_zero(1, sizeof *p);

    *out = p;
    if (!p)
        return as_fail_nomem(err);
    p->limits = *limits;
    as_layer_clock_init(&p->clock);
    return ASSAY_OK;
}

void as_layer_profile_free(struct as_layer_profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_cells; i++) {
        as_layer_cell_reset(p, p->cell[i]);
        as_free(p->cell[i]);
    }
    for (size_t i = 0; i < p->n_threads; i++) {
        as_free(p->thread[i]->frame);
        as_free(p->thread[i]);
    }
    as_layer_ring_reset(p);
    as_free(p->cell);
    as_free(p->by_site);
    as_free(p->thread);
    as_arena_fini(&p->arena);
    as_free(p);
}

const struct as_layer_clock *as_layer_profile_clock(const struct as_layer_profile *p)
{
    return &p->clock;
}

struct as_layer_thread *as_layer_profile_thread(struct as_layer_profile *p)
{
    struct as_layer_thread *t;

    if (!as_vec_reserve(&p->thread, p->n_threads, &p->thread_capacity, sizeof(void *)))
        return NULL;
    t = as_alloc_zero(1, sizeof *t);
    if (t)
        p->thread[p->n_threads++] = t;
    return t;
}

void as_layer_thread_restart(struct as_layer_profile *p, struct as_layer_thread *t, uint32_t number,
                             uint32_t tid)
{
    as_layer_profile_abandon(p, t, t->depth + (uint64_t)t->beyond);
    t->number = number;
    t->tid = tid;
    t->seen = 0;
}

/* ---- which layer ---- */

static struct as_layer_cell *add_cell(struct as_layer_profile *p, const char *text, size_t size)
{
    struct as_layer_cell *cell;
    struct as_layer_name *name;

    if (!as_vec_reserve(&p->cell, p->n_cells, &p->cell_capacity, sizeof(void *)))
        return NULL;
    name = as_arena_alloc(&p->arena, sizeof *name + size + 1);
    cell = as_alloc_zero(1, sizeof *cell);
    if (!name || !cell) {
        as_free(cell);
        return NULL;
    }
    *name = (struct as_layer_name){.id = (uint32_t)p->n_cells, .size = (uint32_t)size};
    memcpy(name->text, text, size);
    name->text[size] = '\0';
    cell->name = name;
    cell->times.min = UINT64_MAX;
    p->cell[p->n_cells++] = cell;
    return cell;
}

/* Where layers go for which there is no room: the last row. */
static struct as_layer_cell *other_cell(struct as_layer_profile *p)
{
    if (!p->other)
        p->other = add_cell(p, OTHERS, strlen(OTHERS));
    return p->other;
}

static bool reserve_site(struct as_layer_profile *p, uint32_t site)
{
    size_t n = p->n_sites ? p->n_sites : 256;
    struct as_layer_cell **more;

    if (site < p->n_sites)
        return true;
    while (n <= site)
        n *= 2;
    more = as_realloc(p->by_site, n, sizeof(struct as_layer_cell *));
    if (!more)
        return false;
    memset(more + p->n_sites, 0, (n - p->n_sites) * sizeof(struct as_layer_cell *));
    p->by_site = more;
    p->n_sites = n;
    return true;
}

/* NULL: no memory. */
static struct as_layer_cell *cell_of(struct as_layer_profile *p, uint32_t site)
{
    struct as_layer_cell *cell = site < p->n_sites ? p->by_site[site] : NULL;
    uint32_t size = 0;
    const char *text;

    if (!cell) {
        text = p->limits.names ? as_site_table_name(p->limits.names, site, &size)
                               : as_site_name(site, &size);
        if (!text || p->n_cells + (p->other ? 0 : 1) >= p->limits.max_layers) {
            cell = other_cell(p);
        } else {
            if (!reserve_site(p, site))
                return NULL;
            cell = p->by_site[site] = add_cell(p, text, size);
        }
    }
    p->unnamed += cell && cell == p->other;
    return cell;
}

/* ---- calls ---- */

static bool grow_frames(struct as_layer_thread *t)
{
    size_t capacity = t->capacity;

    if (!AS_VEC_RESERVE(t->frame, (size_t)t->depth, capacity))
        return false;
    t->capacity = (uint32_t)capacity;
    return true;
}

void as_layer_profile_begin(struct as_layer_profile *p, struct as_layer_thread *t, uint32_t site,
                            uint64_t ticks, uint64_t before_ns)
{
    struct as_layer_cell *cell = cell_of(p, site);
    struct as_layer_frame *frame;

    if (t->seen != p->n_resets + 1) {
        t->seen = p->n_resets + 1;
        p->n_seen++;
    }
    p->no_memory += !cell;
    if (t->beyond || (t->depth == t->capacity && !grow_frames(t))) {
        p->no_memory += cell != NULL;
        t->beyond++;
        return;
    }
    frame = &t->frame[t->depth++];
    frame->cell = cell;
    frame->start_ticks = ticks;
    frame->before_ns = before_ns;
    frame->inner_ns = frame->excused_ns = 0;
    frame->n_inner = 0;
}

/* The layer around it has this one inside, and what profiling it took. */
static void add_to_outer(struct as_layer_thread *t, const struct as_layer_frame *inner,
                         uint64_t duration_ns)
{
    struct as_layer_frame *outer = t->depth ? &t->frame[t->depth - 1] : NULL;

    if (!outer)
        return;
    outer->inner_ns += duration_ns;
    outer->excused_ns += inner->before_ns + inner->excused_ns;
    outer->last[outer->n_inner % AS_LAYER_LATE].start_ticks = inner->start_ticks;
    outer->last[outer->n_inner % AS_LAYER_LATE].ns = duration_ns;
    outer->last[outer->n_inner++ % AS_LAYER_LATE].excused_ns = inner->before_ns + inner->excused_ns;
}

/* Layers that began after this one ended are not inside it. */
static void leave_out_late(struct as_layer_frame *frame, uint64_t end_ticks)
{
    const uint32_t n = frame->n_inner < AS_LAYER_LATE ? frame->n_inner : AS_LAYER_LATE;

    for (uint32_t i = 0; i < n; i++) {
        if (frame->last[i].start_ticks < end_ticks)
            continue;
        frame->inner_ns -= frame->last[i].ns;
        frame->excused_ns -= frame->last[i].excused_ns;
    }
}

static void keep_call(struct as_layer_profile *p, const struct as_layer_thread *t,
                      const struct as_layer_frame *frame, const struct as_layer_end *how,
                      const struct as_layer_call *call)
{
    struct as_layer_record record = {.start_ticks = frame->start_ticks,
                                     .end_ticks = how->ticks,
                                     .duration_ns = call->duration_ns,
                                     .self_ns = call->self_ns,
                                     .name = frame->cell->name,
                                     .thread = call->thread,
                                     .tid = t->tid,
                                     .depth = (uint16_t)call->depth,
                                     .failed = how->failed};

    if (how->n_metadata || how->reason)
        record.extra = as_layer_extra_new(how, &p->metadata_dropped);
    if (how->failed) {
        frame->cell->failed++;
        frame->cell->failed_ns += call->duration_ns;
    } else {
        frame->cell->self_ns += call->self_ns;
        as_layer_cell_add(p, frame->cell, call->duration_ns, call->self_ns);
    }
    p->all_ns += call->duration_ns;
    p->all_self_ns += call->self_ns;
    as_layer_ring_push(p, &record);
}

bool as_layer_profile_end(struct as_layer_profile *p, struct as_layer_thread *t,
                          const struct as_layer_end *how, struct as_layer_call *call)
{
    struct as_layer_frame *frame;
    uint64_t whole_ns, inner_ns;

    if (t->beyond) {
        t->beyond--;
        return false;
    }
    if (!t->depth)
        return false;
    frame = &t->frame[--t->depth];
    leave_out_late(frame, how->ticks);
    whole_ns = as_layer_clock_ns(&p->clock, frame->start_ticks, how->ticks);
    inner_ns = frame->inner_ns + frame->excused_ns;
    *call = (struct as_layer_call){.self_ns = whole_ns > inner_ns ? whole_ns - inner_ns : 0,
                                   .end_ticks = how->ticks,
                                   .depth = t->depth,
                                   .thread = t->number};
    call->duration_ns = frame->inner_ns + call->self_ns;
    add_to_outer(t, frame, call->duration_ns);
    p->calls++;
    if (!frame->cell)
        return false;
    call->name = frame->cell->name;
    if (how->keep)
        keep_call(p, t, frame, how, call);
    return true;
}

void as_layer_profile_abandon(struct as_layer_profile *p, struct as_layer_thread *t, uint64_t n)
{
    for (; n && t->beyond; n--)
        t->beyond--;
    for (; n && t->depth; n--) {
        const struct as_layer_frame *frame = &t->frame[--t->depth];

        /* How long it lasted is not known; what is inside it counts. */
        add_to_outer(t, frame, frame->inner_ns);
        p->abandoned++;
    }
}

void as_layer_profile_excuse(struct as_layer_thread *t, uint64_t ns)
{
    if (t->depth)
        t->frame[t->depth - 1].excused_ns += ns;
}

uint64_t as_layer_profile_calls(const struct as_layer_profile *p)
{
    return p->calls;
}

size_t as_layer_profile_close(struct as_layer_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_threads; i++) {
        struct as_layer_thread *t = p->thread[i];

        n += t->depth + (size_t)t->beyond;
        p->open_dropped += t->beyond;
        for (uint32_t d = 0; d < t->depth; d++) {
            if (p->n_open < AS_LAYER_MAX_OPEN && t->frame[d].cell)
                p->open[p->n_open++] = t->frame[d].cell->name;
            else
                p->open_dropped++;
        }
        t->depth = t->beyond = 0;
    }
    return n;
}

void as_layer_profile_reset(struct as_layer_profile *p)
{
    for (size_t i = 0; i < p->n_cells; i++)
        as_layer_cell_reset(p, p->cell[i]);
    as_layer_ring_reset(p);
    p->calls = p->all_ns = p->all_self_ns = 0;
    p->unnamed = p->no_memory = p->metadata_dropped = p->abandoned = p->open_dropped = 0;
    p->n_open = 0;
    p->n_seen = 0;
    p->n_resets++;
}
