/* analyze/watch/target_stacks.c - estimates of sampled stacks, held against what was counted
 * exactly. A sample stands for 512 KiB on average: of a small heap that is more than there ever
 * was. */
#include "analyze/watch/target_read.h"

#include <math.h>
#include <string.h>

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

void as_target_bound_stacks(struct as_target *target)
{
    const struct bounds all = bounds_of_all(target);
    /* Only where every allocation stands with its site, a site's count is a bound. */
    bool by_site = target->heap.unplaced == 0 && target->places_left_out == 0 &&
                   target->n_places <= MAX_COMPARISONS / (target->n_traces + 1);

    if (!target->heap_known)
        return;
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
