/* trace/timebase.h - turns ticks into nanoseconds since the run began, by the anchors kept with it.
 * Piecewise linear: a clock that was slewed or stopped shows up as data, not as an error. */
#ifndef AS_TRACE_TIMEBASE_H
#define AS_TRACE_TIMEBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct as_timebase {
    struct as_clock_anchor *anchor; /* borrowed; sorted and thinned by as_timebase_init() */
    size_t n_anchors;
    size_t segment;        /* the one last used */
    double rate;           /* ns a tick in that segment */
    double mean_rate;      /* over the whole run */
    uint64_t from, to;     /* its ticks */
    uint64_t origin_ns;    /* CLOCK_MONOTONIC at the start */
    uint64_t real_ns;      /* CLOCK_REALTIME at the start */
    bool known;            /* false: the anchors do not tell how long a tick is */
};

/* Takes `n` anchors in any order and reorders them in place. `ticks_are_ns` for the system's clock. */
void as_timebase_init(struct as_timebase *t, struct as_clock_anchor *anchor, size_t n, bool ticks_are_ns);

void as_timebase_seek(struct as_timebase *t, uint64_t ticks);

/* Budget: 3 ns. Times before the first anchor are 0. */
static inline uint64_t as_timebase_ns(struct as_timebase *t, uint64_t ticks)
{
    const struct as_clock_anchor *a;

    if (__builtin_expect(ticks < t->from || ticks >= t->to, 0))
        as_timebase_seek(t, ticks);
    a = &t->anchor[t->segment];
    if (ticks < a->ticks)
        return 0;
    return a->mono_ns - t->origin_ns + (uint64_t)((double)(ticks - a->ticks) * t->rate + 0.5);
}

#endif
