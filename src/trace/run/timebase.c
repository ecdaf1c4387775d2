/* trace/run/timebase.c - turns ticks into nanoseconds since the run began, by the anchors kept with
 * it. Piecewise linear: a clock that was slewed or stopped shows up as data, not as an error. */
#include "trace/run/timebase.h"

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

void as_timebase_init(struct as_timebase *t, struct as_clock_anchor *anchor, size_t n,
                      bool ticks_are_ns)
{
    *t = (struct as_timebase){.anchor = anchor};
    if (n == 0)
        return;
    qsort(anchor, n, sizeof *anchor, by_ticks);
    t->n_anchors =
        ticks_are_ns ? 1
                     : thin(anchor, n); /* two readings of one clock would only add their jitter */
    t->origin_ns = anchor[0].mono_ns;
    t->real_ns = anchor[0].real_ns;
    t->known = t->n_anchors > 1 || ticks_are_ns;
    t->mean_rate = 1;
    if (t->n_anchors > 1) {
        const struct as_clock_anchor *last = &anchor[t->n_anchors - 1];

        t->mean_rate =
            (double)(last->mono_ns - anchor[0].mono_ns) / (double)(last->ticks - anchor[0].ticks);
    }
    as_timebase_seek(t, anchor[0].ticks);
}

/* Nanoseconds from the first anchor to that one. */
static uint64_t ns_at(const struct as_timebase *t, size_t i)
{
    uint64_t ns = t->anchor[i].mono_ns - t->origin_ns;

    return ns < AS_TIME_MAX_NS ? ns : AS_TIME_MAX_NS;
}

void as_timebase_seek(struct as_timebase *t, uint64_t ticks)
{
    const struct as_clock_anchor *a = t->anchor;
    size_t low = 0, high = t->n_anchors - 1;

    if (t->n_anchors == 0) { /* nothing is known: every time is 0 */
        t->to = UINT64_MAX;
        return;
    }
    while (low < high) {
        size_t middle = (low + high + 1) / 2;

        if (a[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    t->from = low == 0 ? 0 : a[low].ticks;
    t->base_ticks = a[low].ticks;
    t->base_ns = ns_at(t, low);
    if (low + 1 < t->n_anchors) {
        t->to = a[low + 1].ticks;
        t->rise_ns = ns_at(t, low + 1) - t->base_ns;
        t->rate = (double)(a[low + 1].mono_ns - a[low].mono_ns) /
                  (double)(a[low + 1].ticks - a[low].ticks);
    } else { /* past the last anchor: a program that was killed */
        t->to = UINT64_MAX;
        t->rise_ns = AS_TIME_MAX_NS - t->base_ns;
        t->rate = t->mean_rate;
    }
}
