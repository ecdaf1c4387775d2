/* base/clock.h - what time it is: the processor's counter where it can be trusted, the system's
 * clock elsewhere. The choice is made once, from facts, and is reported with a reason so that a run
 * can record it. */
#ifndef AS_BASE_CLOCK_H
#define AS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum as_clock_kind { AS_CLOCK_TSC = 1, AS_CLOCK_MONOTONIC = 2, AS_CLOCK_COUNTER = 3 };

struct as_clock_choice {
    enum as_clock_kind kind;
    const char *reason; /* a static sentence */
};

/* One reading of counter and clocks as close together as 64 tries got them. */
struct as_clock_anchor {
    uint64_t ticks;   /* middle of the bracket */
    uint64_t width;   /* ticks between the two counter readings around it */
    uint64_t mono_ns; /* CLOCK_MONOTONIC */
    uint64_t real_ns; /* CLOCK_REALTIME */
};

/* The counter needs the processor's word that it is invariant and the kernel's that it trusts it.
 */
struct as_clock_choice as_clock_choose(bool allow_counter);

/* The name written into runs: "tsc", "monotonic", "counter". */
const char *as_clock_name(enum as_clock_kind kind);

/* Now, in ticks of that clock. */
uint64_t as_clock_ticks(enum as_clock_kind kind);

uint64_t as_clock_mono_ns(void);

/* UNIX seconds by the wall clock, which may be set at any time. */
double as_clock_unix_seconds(void);

/* CPU nanoseconds of the calling thread; false where the system does not report it. */
bool as_clock_thread_cpu_ns(uint64_t *out);

struct as_clock_anchor as_clock_read_anchor(enum as_clock_kind kind);

#endif
