/* trace/timebase.c - turns ticks into nanoseconds since the run began, by the anchors kept with it.
 * Piecewise linear: a clock that was slewed or stopped shows up as data, not as an error. */
#include "trace/timebase.h"

#include <stdlib.h>

/* Anchors nearer than this would trade drift for the jitter of reading a clock. */
#define AS_ANCHOR_GAP_NS 500000000u

static int by_ticks(const void *a, const void *b)
{
    const struct as_clock_anchor *x = a, *y = b;

    return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static bool follows(const struct as_clock_anchor *a, const struct as_clock_anchor *b)
{
    return b->ticks > a->ticks && b->mono_ns > a->mono_ns;
}

/* Keeps the first, the last, and between them those far enough apart. */
static size_t thin(struct as_clock_anchor *anchor, size_t n)
{
    size_t kept = 1;

    for (size_t i = 1; i < n; i++) {
        if (!follows(&anchor[kept - 1], &anchor[i]))
            continue;
        if (kept > 1 && anchor[kept - 1].mono_ns - anchor[kept - 2].mono_ns < AS_ANCHOR_GAP_NS)
            anchor[kept - 1] = anchor[i]; /* the one before was too near its own predecessor */
        else
            anchor[kept++] = anchor[i];
    }
    return kept;
}

void as_timebase_init(struct as_timebase *t, struct as_clock_anchor *anchor, size_t n, bool ticks_are_ns)
{
    *t = (struct as_timebase){.anchor = anchor};
    if (n == 0)
        return;
    qsort(anchor, n, sizeof *anchor, by_ticks);
    t->n_anchors = thin(anchor, n);
    t->origin_ns = anchor[0].mono_ns;
    t->real_ns = anchor[0].real_ns;
    t->known = t->n_anchors > 1 || ticks_are_ns;
    t->rate = t->mean_rate = 1;
    if (t->n_anchors > 1 && !ticks_are_ns) {
        const struct as_clock_anchor *last = &anchor[t->n_anchors - 1];

        t->mean_rate = (double)(last->mono_ns - anchor[0].mono_ns) / (double)(last->ticks - anchor[0].ticks);
    }
    as_timebase_seek(t, anchor[0].ticks);
}

void as_timebase_seek(struct as_timebase *t, uint64_t ticks)
{
    const struct as_clock_anchor *a = t->anchor;
    size_t low = 0, high = t->n_anchors - 1;

    while (low < high) {
        size_t middle = (low + high + 1) / 2;

        if (a[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    t->segment = low;
    t->from = low == 0 ? 0 : a[low].ticks;
    t->to = low + 1 < t->n_anchors ? a[low + 1].ticks : UINT64_MAX;
    if (low + 1 < t->n_anchors)
        t->rate = (double)(a[low + 1].mono_ns - a[low].mono_ns) / (double)(a[low + 1].ticks - a[low].ticks);
    else
        t->rate = t->mean_rate; /* past the last anchor: a program that was killed */
}
