/* analyze/watch/target_callers.c - who allocates at each site, past functions that only pass the
 * call on. Where the site's own address shows it, it is exact; within xmalloc() and the like the
 * sampled stacks tell, by which counts of the site are divided: an estimate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/target_read.h"
#include "base/alloc.h"
#include "base/units.h"

#define STILL_THERE 0.9 /* of what a site held at the peak */
#define MAX_CALLERS 64u /* of one site; what others allocated is the site's own */

/* A stack as it is looked for: by the frame its site begins with. */
struct reference {
    uint32_t heap, frame_id;
    const struct as_heap_trace *trace;
};

static int by_frame(const void *a, const void *b)
{
    const struct reference *x = a, *y = b;

    if (x->heap != y->heap)
        return x->heap < y->heap ? -1 : 1;
    return (x->frame_id > y->frame_id) - (x->frame_id < y->frame_id);
}

/* Whoever comes first on the way out and is not a wrapper; NULL: nobody. */
static const struct as_heap_frame *first_caller(const struct as_heap_frame *const *frame,
                                                uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!frame[i]->wrapper)
            return frame[i];
    return NULL;
}

static const struct as_heap_frame *exact_caller(const struct as_target_site *place)
{
    for (uint32_t i = 0; i < place->n_frames; i++)
        if (!place->frame[i].wrapper)
            return &place->frame[i];
    return NULL;
}

static bool same_layer(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

struct callers {
    struct as_target_caller at[MAX_CALLERS];
    size_t n;
    double allocated, live, peak; /* of all stacks of the site; peak NaN: unknown */
};

/* Less than nothing is nothing; unknown (NaN) stays so. */
static double known_or_none(double bytes)
{
    return bytes < 0 ? 0 : bytes;
}

static void add_stack(struct callers *c, const struct as_heap_trace *trace)
{
    const struct as_heap_frame *frame = first_caller(trace->frame, trace->n_frames);
    size_t i = 0;

    c->allocated += trace->stack.allocated_bytes;
    c->live += trace->stack.live_bytes > 0 ? trace->stack.live_bytes : 0;
    c->peak += known_or_none(trace->stack.peak_live_bytes);
    if (!frame)
        return;
    while (i < c->n && c->at[i].frame != frame)
        i++;
    if (i == MAX_CALLERS)
        return;
    if (i == c->n)
        c->at[c->n++] = (struct as_target_caller){.frame = frame, .estimate = true};
    c->at[i].share += trace->stack.allocated_bytes;
    c->at[i].live_share += trace->stack.live_bytes > 0 ? trace->stack.live_bytes : 0;
    c->at[i].peak_share += known_or_none(trace->stack.peak_live_bytes);
    c->at[i].samples += trace->stack.samples;
}

static int most_first(const void *a, const void *b)
{
    const struct as_target_caller *x = a, *y = b;

    if (x->share < y->share || x->share > y->share)
        return x->share < y->share ? 1 : -1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Stacks of that site: the first at or behind where they would stand. */
static size_t find_first(const struct reference *ref, size_t n, const struct as_target_site *place)
{
    const struct reference wanted = {.heap = place->heap, .frame_id = place->frame_id};
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_frame(&ref[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void estimate(struct callers *c, const struct as_target_site *place,
                     const struct reference *ref, size_t n)
{
    /* Runs of older versions have no samples of the peak, and of a short one none may have been
     * live then: the same held the site's blocks as at the end if most of it stayed. */
    const bool still_there =
        (double)place->site.live_bytes >= STILL_THERE * (double)place->site.peak_live_bytes;

    *c = (struct callers){.n = 0};
    for (size_t i = find_first(ref, n, place);
         i < n && ref[i].heap == place->heap && ref[i].frame_id == place->frame_id; i++)
        if (same_layer(ref[i].trace->stack.layer, place->site.layer))
            add_stack(c, ref[i].trace);
    for (size_t i = 0; i < c->n; i++) {
        c->at[i].share = c->allocated > 0 ? c->at[i].share / c->allocated : 0;
        c->at[i].live_share = c->live > 0 ? c->at[i].live_share / c->live : 0;
        if (c->n == 1)
            c->at[i].peak_share = 1;
        else if (c->peak > 0)
            c->at[i].peak_share /= c->peak;
        else
            c->at[i].peak_share = still_there ? c->at[i].live_share : AS_UNKNOWN;
    }
    if (c->n)
        qsort(c->at, c->n, sizeof *c->at, most_first);
}

static int set_callers(struct as_target *target, struct as_target_site *place,
                       const struct reference *ref, size_t n, struct assay_error *err)
{
    const struct as_heap_frame *frame = exact_caller(place);
    struct as_target_caller *kept;
    struct callers c;

    if (frame) {
        c.at[0] =
            (struct as_target_caller){.frame = frame, .share = 1, .live_share = 1, .peak_share = 1};
        c.n = 1;
    } else if (place->n_frames && place->site.kind != AS_HEAP_MAPPING) {
        estimate(&c, place, ref, n);
    } else {
        c.n = 0;
    }
    kept = c.n ? as_arena_zero(&target->arena, c.n, sizeof *kept) : NULL;
    if (c.n && !kept)
        return as_fail_nomem(err);
    if (c.n)
        memcpy(kept, c.at, c.n * sizeof *kept);
    place->caller = kept;
    place->n_callers = c.n;
    return ASSAY_OK;
}

static struct reference *list_stacks(const struct as_target *target, size_t *n)
{
    struct reference *ref = as_alloc_zero(target->n_traces + 1, sizeof *ref);

    *n = 0;
    for (size_t i = 0; ref && i < target->n_traces; i++)
        if (target->trace[i].frame_id)
            ref[(*n)++] = (struct reference){target->trace[i].heap, target->trace[i].frame_id,
                                             &target->trace[i]};
    if (ref && *n)
        qsort(ref, *n, sizeof *ref, by_frame);
    return ref;
}

/* ---- rows ---- */

static int most_held_first(const void *a, const void *b)
{
    const struct as_target_row *x = a, *y = b;

    if (x->held_bytes < y->held_bytes || x->held_bytes > y->held_bytes)
        return x->held_bytes < y->held_bytes ? 1 : -1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->caller > y->caller) - (x->caller < y->caller);
}

static double held(const struct as_heap_site *s, const struct as_target_caller *caller)
{
    double live = (double)s->live_bytes * (caller ? caller->live_share : 1);
    double peak = (double)s->peak_live_bytes * (caller ? caller->peak_share : 1);

    return live > peak ? live : peak;
}

/* How many rows a site has: one for each of several that share it, where it is known who held what
 * at the peak; else one, for all of them. */
static size_t rows_of(const struct as_target_site *place)
{
    for (size_t i = 0; i < place->n_callers; i++)
        if (isnan(place->caller[i].peak_share))
            return 0;
    return place->n_callers;
}

/* A site that several share has a row for each of them. */
static int list_rows(struct as_target *target, struct assay_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < target->n_heap_places; i++)
        n += rows_of(&target->place[i]) ? rows_of(&target->place[i]) : 1;
    target->row = as_arena_zero(&target->arena, n + 1, sizeof *target->row);
    if (!target->row)
        return as_fail_nomem(err);
    for (size_t i = 0; i < target->n_heap_places; i++) {
        const struct as_target_site *place = &target->place[i];
        size_t k = 0, rows = rows_of(place);

        do {
            const struct as_target_caller *caller = rows ? &place->caller[k] : NULL;

            target->row[target->n_rows++] =
                (struct as_target_row){place, caller, held(&place->site, caller)};
        } while (++k < rows);
    }
    if (target->n_rows)
        qsort(target->row, target->n_rows, sizeof *target->row, most_held_first);
    return ASSAY_OK;
}

int as_target_find_callers(struct as_target *target, struct assay_error *err)
{
    size_t n;
    struct reference *ref = list_stacks(target, &n);
    int rc = ref ? ASSAY_OK : as_fail_nomem(err);

    for (size_t i = 0; rc == ASSAY_OK && i < target->n_places; i++)
        rc = set_callers(target, &target->place[i], ref, n, err);
    as_free(ref);
    return rc == ASSAY_OK ? list_rows(target, err) : rc;
}
