/* experiment/bench/sample_clock.h - how long a sample took, and how much of a processor it used.
 * Reading the processor's clock is a call of the system: what that costs is measured beforehand and
 * is no part of either figure. */
#ifndef AS_EXPERIMENT_BENCH_SAMPLE_CLOCK_H
#define AS_EXPERIMENT_BENCH_SAMPLE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct as_sample_clock {
    bool all_threads; /* of the process; else of the thread that calls */
    uint64_t own_ns;  /* processor time of an empty sample */
    uint64_t cpu_ns, wall_ns;
};

void as_sample_clock_init(struct as_sample_clock *clock, unsigned threads);

void as_sample_clock_start(struct as_sample_clock *clock);
void as_sample_clock_stop(const struct as_sample_clock *clock, uint64_t *wall_ns, uint64_t *cpu_ns);

#endif
