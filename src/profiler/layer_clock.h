/* profiler/layer_clock.h - time inside a measured program: one read of the counter, one product.
 * Nanoseconds are counted by a rate found once; the wall clock is compared with it when read. */
#ifndef AS_PROFILER_LAYER_CLOCK_H
#define AS_PROFILER_LAYER_CLOCK_H

#include <stdint.h>

#include <assay/scope.h>

#include "base/clock.h"

struct as_layer_clock {
    enum as_clock_kind kind;
    double ns_a_tick;
    struct as_clock_anchor start; /* where nanoseconds count from */
};

/* Takes 2 ms where a counter is used: its rate is measured. */
void as_layer_clock_init(struct as_layer_clock *clock);

/* Nanoseconds between two samples; 0 when the later one is not later. */
static inline uint64_t as_layer_clock_ns(const struct as_layer_clock *clock, uint64_t from,
                                         uint64_t to)
{
    return to > from ? (uint64_t)((double)(to - from) * clock->ns_a_tick + 0.5) : 0;
}

static inline uint64_t as_layer_clock_ticks(const struct as_layer_clock *clock)
{
    return clock->kind == AS_CLOCK_MONOTONIC ? as_clock_mono_ns() : assay_ticks_();
}

/* How to turn ticks into UNIX seconds: a line through the start and now, so that neither a rate
 * that is a little off nor a clock that was set right bends the day. */
struct as_layer_day {
    uint64_t from_ticks;
    double start_seconds, seconds_a_tick;
};
struct as_layer_day as_layer_clock_day(const struct as_layer_clock *clock);

static inline double as_layer_day_seconds(const struct as_layer_day *day, uint64_t ticks)
{
    return day->start_seconds + (ticks >= day->from_ticks
                                     ? (double)(ticks - day->from_ticks) * day->seconds_a_tick
                                     : -(double)(day->from_ticks - ticks) * day->seconds_a_tick);
}

#endif
