/* analyze/watch/target_stacks.c - estimates of sampled stacks, held against what was counted
 * exactly. A sample stands for 512 KiB on average: of a small heap that is more than there ever
 * was. */
#include "analyze/watch/target_read.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"

#define MAX_COMPARISONS ((size_t)4 << 20) /* of stacks with sites; beyond, all heaps must do */

struct bounds {
    double allocations, allocated_bytes, live_bytes, live_blocks, peak_live_bytes;
};

static struct bounds bounds_of_all(const struct as_target *target)
{
    return (struct bounds){(double)target->heap.allocations, (double)target->heap.allocated_bytes,
                           (double)target->heap.live_bytes, (double)target->heap.live_blocks,
                           (double)target->heap.peak_bytes};
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The function itself at the innermost address: what is inlined there comes before it. */
static const struct as_heap_frame *innermost(const struct as_heap_trace *trace)
{
    uint32_t i = 0;

    while (i + 1 < trace->n_frames && trace->frame[i]->inlined)
        i++;
    return trace->n_frames ? trace->frame[i] : NULL;
}

static bool is_site_of(const struct as_target_site *place, const struct as_heap_trace *trace,
                       const struct as_heap_frame *frame)
{
    if (place->pid != trace->pid || place->site.kind == AS_HEAP_MAPPING || !place->function)
        return false;
    return place->offset == frame->offset && same_text(place->function, frame->function) &&
           same_text(place->module, frame->module);
}

/* The sites that bear the name of the innermost frame, together. False when there is none. */
static bool bounds_of_site(const struct as_target *target, const struct as_heap_trace *trace,
                           struct bounds *out)
{
    const struct as_heap_frame *frame = innermost(trace);
    bool found = false;

    *out = (struct bounds){0};
    for (size_t i = 0; frame && i < target->n_places; i++) {
        const struct as_heap_site *site = &target->place[i].site;

        if (!is_site_of(&target->place[i], trace, frame))
            continue;
        found = true;
        out->allocations += (double)site->allocations;
        out->allocated_bytes += (double)site->allocated_bytes;
        out->live_bytes += (double)site->live_bytes;
        out->live_blocks += (double)site->live_blocks;
        out->peak_live_bytes += (double)site->peak_live_bytes;
    }
    return found;
}

/* What is not known (NaN) stays so. */
static void bound(double *estimate, double most)
{
    if (*estimate > most)
        *estimate = most;
}

/* What was counted exactly at one address, and what its samples stand for. */
struct fit {
    uint32_t heap, frame_id; /* the key */
    struct bounds exact, sampled;
};

static bool list_fits(const struct as_target *target, struct fit *fits, struct as_hash_map *index)
{
    size_t n = 0;

    for (size_t i = 0; i < target->n_places; i++) {
        const struct as_target_site *place = &target->place[i];
        struct fit *fit = &fits[n];
        const uint64_t *known;

        if (place->site.kind == AS_HEAP_MAPPING || !place->frame_id)
            continue;
        fit->heap = place->heap;
        fit->frame_id = place->frame_id;
        known = as_hash_map_find(index, &fit->heap, 2 * sizeof fit->heap);
        if (known)
            fit = &fits[*known];
        else if (as_hash_map_put(index, &fit->heap, 2 * sizeof fit->heap, n++) < 0)
            return false;
        fit->exact.allocations += (double)place->site.allocations;
        fit->exact.allocated_bytes += (double)place->site.allocated_bytes;
        fit->exact.live_bytes += (double)place->site.live_bytes;
        fit->exact.live_blocks += (double)place->site.live_blocks;
        fit->exact.peak_live_bytes += (double)place->site.peak_live_bytes;
    }
    return true;
}

static struct fit *fit_of(struct fit *fits, const struct as_hash_map *index,
                          const struct as_heap_trace *trace)
{
    const uint32_t key[2] = {trace->heap, trace->frame_id};
    const uint64_t *known = trace->frame_id ? as_hash_map_find(index, key, sizeof key) : NULL;

    return known ? &fits[*known] : NULL;
}

static void scale(double *estimate, double exact, double sampled)
{
    if (sampled > 0)
        *estimate *= exact / sampled;
}

/* The stacks of an address are parts of what was counted there: together they are all of it. */
static void fit_to_sites(struct as_target *target)
{
    struct fit *fits = as_alloc_zero(target->n_places + 1, sizeof *fits);
    struct as_hash_map index = {0};

    if (!fits || !list_fits(target, fits, &index))
        goto out; /* without memory the samples stay as they are */
    for (size_t i = 0; i < target->n_traces; i++) {
        const struct as_heap_stack *s = &target->trace[i].stack;
        struct fit *fit = fit_of(fits, &index, &target->trace[i]);

        if (!fit)
            continue;
        fit->sampled.allocations += s->allocations;
        fit->sampled.allocated_bytes += s->allocated_bytes;
        fit->sampled.live_bytes += s->live_bytes;
        fit->sampled.live_blocks += s->live_blocks;
        fit->sampled.peak_live_bytes += s->peak_live_bytes;
    }
    for (size_t i = 0; i < target->n_traces; i++) {
        struct as_heap_stack *s = &target->trace[i].stack;
        const struct fit *fit = fit_of(fits, &index, &target->trace[i]);

        if (!fit)
            continue;
        scale(&s->allocations, fit->exact.allocations, fit->sampled.allocations);
        scale(&s->allocated_bytes, fit->exact.allocated_bytes, fit->sampled.allocated_bytes);
        scale(&s->live_bytes, fit->exact.live_bytes, fit->sampled.live_bytes);
        scale(&s->live_blocks, fit->exact.live_blocks, fit->sampled.live_blocks);
        scale(&s->peak_live_bytes, fit->exact.peak_live_bytes, fit->sampled.peak_live_bytes);
        bound(&s->live_bytes, s->allocated_bytes);
        bound(&s->live_blocks, s->allocations);
        bound(&s->peak_live_bytes, s->allocated_bytes);
    }
out:
    as_hash_map_fini(&index);
    as_free(fits);
}

void as_target_bound_stacks(struct as_target *target)
{
    const struct bounds all = bounds_of_all(target);
    /* Only where every allocation stands with its site, a site's count is a bound. */
    bool by_site = target->heap.unplaced == 0 && target->places_left_out == 0 &&
                   target->n_places <= MAX_COMPARISONS / (target->n_traces + 1);

    if (!target->heap_known)
        return;
    if (target->heap.unplaced == 0 && target->places_left_out == 0)
        fit_to_sites(target);
    for (size_t i = 0; i < target->n_traces; i++) {
        struct as_heap_trace *trace = &target->trace[i];
        struct bounds most;

        if (!by_site || !bounds_of_site(target, trace, &most))
            most = all;
        bound(&trace->stack.allocations, fmin(most.allocations, all.allocations));
        bound(&trace->stack.allocated_bytes, fmin(most.allocated_bytes, all.allocated_bytes));
        bound(&trace->stack.live_bytes, fmin(most.live_bytes, all.live_bytes));
        bound(&trace->stack.live_blocks, fmin(most.live_blocks, all.live_blocks));
        bound(&trace->stack.peak_live_bytes, most.peak_live_bytes);
    }
}
