/* experiment/bench/sample_clock.c - how long a sample took, and how much of a processor it used. */
#include "experiment/bench/bench_sample.h"

#include <time.h>

#include "base/clock.h"

enum { TRIES = 64 };

static uint64_t cpu_ns(const struct as_sample_clock *clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock->all_threads ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID,
                        &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The wall clock, which is quick, stands innermost. */
void as_sample_clock_start(struct as_sample_clock *clock)
{
    clock->cpu_ns = cpu_ns(clock);
    clock->wall_ns = as_clock_mono_ns();
}

void as_sample_clock_stop(const struct as_sample_clock *clock, uint64_t *wall_ns, uint64_t *cpu)
{
    uint64_t wall = as_clock_mono_ns(), used = cpu_ns(clock) - clock->cpu_ns;

    *wall_ns = wall - clock->wall_ns;
    *cpu = used > clock->own_ns ? used - clock->own_ns : 0;
}

void as_sample_clock_init(struct as_sample_clock *clock, unsigned threads)
{
    uint64_t least = UINT64_MAX;

    *clock = (struct as_sample_clock){.all_threads = threads != 1};
    for (int i = 0; i < TRIES; i++) {
        uint64_t wall, cpu;

        as_sample_clock_start(clock);
        as_sample_clock_stop(clock, &wall, &cpu);
        least = cpu < least ? cpu : least;
    }
    clock->own_ns = least;
}
