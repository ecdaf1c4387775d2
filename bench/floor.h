/* bench/floor.h - times loops fairly: thread CPU time, pinned, variants interleaved burst by burst.
 * A burst fits into a ring and is followed by a pause, so that whoever drains the events keeps up.
 */
#ifndef AS_BENCH_FLOOR_H
#define AS_BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_WARM 2000 /* pairs before the clock is read: a thread just woken is slow */
#define BENCH_PAIRS                                                                                \
    10000 /* pairs timed; a millisecond of layers of 100 ns, and less than half a ring of 1 MiB */
#define BENCH_BURSTS 301 /* of each variant */

typedef void (*bench_loop)(unsigned pairs);

struct bench_variant {
    const char *name;
    bench_loop loop;
    unsigned scale; /* times as many pairs, where no ring limits them; 0: fills a ring */
    void (*before)(void), (*after)(void); /* around a burst; may be NULL */
    double ns[BENCH_BURSTS];              /* a pair, one figure a burst */
    double median_ns;
};

/* The calling thread stays on this CPU from here on. */
void bench_pin(int cpu);

/* Runs every burst of every variant, interleaved, and fills in the figures. */
void bench_run(struct bench_variant *variant, size_t n);

/* One burst on the calling thread: nanoseconds of CPU a pair. */
double bench_burst(bench_loop loop, unsigned scale);

/* The median over bursts of the ratio of two variants measured one after the other. */
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
