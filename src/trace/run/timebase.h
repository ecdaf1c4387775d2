/* trace/run/timebase.h - turns ticks into nanoseconds since the run began, by the anchors kept with
 * it. Piecewise linear: a clock that was slewed or stopped shows up as data, not as an error. */
#ifndef AS_TRACE_RUN_TIMEBASE_H
#define AS_TRACE_RUN_TIMEBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* 146 years: what hostile anchors can make of a time. */
#define AS_TIME_MAX_NS ((uint64_t)1 << 62)

struct as_timebase {
    struct as_clock_anchor *anchor; /* borrowed; sorted and thinned by as_timebase_init() */
    size_t n_anchors;
    double mean_rate; /* ns a tick over the whole run */
    /* The segment last used: its ticks, where its line begins, and how far it may rise. */
    uint64_t from, to;
    uint64_t base_ticks, base_ns, rise_ns;
    double rate;
    uint64_t origin_ns; /* CLOCK_MONOTONIC at the start */
    uint64_t real_ns;   /* CLOCK_REALTIME at the start */
    bool known;         /* false: the anchors do not show how long a tick is */
};

/* Takes `n` anchors in any order and reorders them in place. `ticks_are_ns` for the system's clock.
 */
void as_timebase_init(struct as_timebase *t, struct as_clock_anchor *anchor, size_t n,
                      bool ticks_are_ns);

void as_timebase_seek(struct as_timebase *t, uint64_t ticks);

/* Budget: 3 ns. Times before the first anchor are 0, as are all of a run without anchors. Never
 * falls as ticks rise, and never passes AS_TIME_MAX_NS, whatever the anchors say. */
static inline uint64_t as_timebase_ns(struct as_timebase *t, uint64_t ticks)
{
    double rise;

    if (__builtin_expect(ticks < t->from || ticks >= t->to, 0))
        as_timebase_seek(t, ticks);
    if (ticks < t->base_ticks)
        return 0;
    rise = (double)(ticks - t->base_ticks) * t->rate + 0.5;
    return t->base_ns + (rise < (double)t->rise_ns ? (uint64_t)rise : t->rise_ns);
}

#endif
