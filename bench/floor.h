/* bench/floor.h - times loops fairly: thread CPU time, pinned, variants interleaved round by round.
 * A round is many short bursts with a pause after each, so that whoever drains the events keeps up. */
#ifndef AS_BENCH_FLOOR_H
#define AS_BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_PAIRS  8000
#define BENCH_BURSTS 40   /* in a round */
#define BENCH_ROUNDS 9

typedef void (*bench_loop)(unsigned pairs);

struct bench_variant {
    const char *name;
    bench_loop loop;
    void (*before)(void), (*after)(void); /* around a round; may be NULL */
    double ns[BENCH_ROUNDS];              /* a pair, one figure a round */
    double median_ns;
};

/* The calling thread stays on this CPU from here on. */
void bench_pin(int cpu);

/* Runs every round of every variant, interleaved, and fills in the figures. */
void bench_run(struct bench_variant *variant, size_t n);

/* One round of one variant on the calling thread: nanoseconds of CPU a pair, the median of its bursts. */
double bench_round(bench_loop loop);

/* The median over rounds of the ratio of two variants measured in the same round. */
double bench_ratio(const struct bench_variant *a, const struct bench_variant *b);

double bench_median(double *value, size_t n);

/* Two reads of the time-stamp counter, and of the system's clock. */
void bench_loop_rdtsc(unsigned pairs);
void bench_loop_clock(unsigned pairs);

/* `name value unit bound ok|miss`; `most` tells whether the bound is an upper one. */
void bench_line(const char *name, double value, const char *unit, double bound, int most);

/* The same without a bound: "-". */
void bench_fact(const char *name, double value, const char *unit);

#endif
