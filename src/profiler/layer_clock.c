/* profiler/layer_clock.c - time inside a measured program: one read of the counter, one product. */
#include "profiler/layer_clock.h"

#define CALIBRATE_NS 2000000u /* the anchors are some 20 ns wide: right to 1 in 100,000 */
#define LONG_NS      1000000000u

void as_layer_clock_init(struct as_layer_clock *clock)
{
    struct as_clock_anchor later;

    clock->kind = as_clock_choose(true).kind;
    clock->start = as_clock_read_anchor(clock->kind);
    clock->ns_a_tick = 1.0;
    if (clock->kind == AS_CLOCK_MONOTONIC)
        return;
    do {
        later = as_clock_read_anchor(clock->kind);
    } while (later.mono_ns - clock->start.mono_ns < CALIBRATE_NS);
    if (later.ticks > clock->start.ticks)
        clock->ns_a_tick = (double)(later.mono_ns - clock->start.mono_ns) /
                           (double)(later.ticks - clock->start.ticks);
}

struct as_layer_day as_layer_clock_day(const struct as_layer_clock *clock)
{
    struct as_clock_anchor now = as_clock_read_anchor(clock->kind);
    struct as_layer_day day = {.from_ticks = clock->start.ticks,
                               .start_seconds = (double)clock->start.real_ns / 1e9,
                               .seconds_a_tick = clock->ns_a_tick / 1e9};

    /* Over a second the anchors tell the rate better than the calibration did. */
    if (now.mono_ns - clock->start.mono_ns > LONG_NS && now.ticks > clock->start.ticks)
        day.seconds_a_tick = (double)(now.mono_ns - clock->start.mono_ns) / 1e9 /
                             (double)(now.ticks - clock->start.ticks);
    return day;
}
