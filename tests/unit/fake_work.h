/* tests/unit/fake_work.h - work that takes as long as a test says, on a clock of the test's own.
 * Nothing here waits, so that what is measured is the same on every machine. */
#ifndef AS_TESTS_FAKE_WORK_H
#define AS_TESTS_FAKE_WORK_H

#include "stats_near.h"

#include <string.h>

#include "measure/latency/latency_run.h"

struct fake_work {
    uint64_t now_ns;     /* the clock */
    uint64_t clock_ns;   /* what looking at it costs */
    double call_ns;      /* of one call, once warm */
    double cold_ns;      /* more, in the first call; halved in each one after */
    double noise;        /* share of a call, uniform on both sides */
    double memory;       /* of noise: how much of it the next call keeps */
    double kept;         /* that noise */
    double drift;        /* share of a call, added with each one */
    uint64_t slow_every; /* every so many calls one takes ten times as long; 0: none */
    bool slow_is_switch; /* ... and it is interrupted */
    uint64_t switches, faults, ticks;
    uint64_t fails_at; /* number of the call that fails; 0: none */
    int fails_with;
    const char *fails_why; /* its sentence; NULL: none */
    uint64_t calls;
    double left_ns; /* of what is not whole nanoseconds */
    struct as_rng rng;
    double frequency[2];
    int n_frequency;
};

static inline uint64_t fake_now(void *user)
{
    struct fake_work *w = user;

    w->now_ns += w->clock_ns;
    return w->now_ns;
}

static inline void fake_events(void *user, struct as_interference_counts *out)
{
    struct fake_work *w = user;

    out->known[AS_CAUSE_INVOLUNTARY] = out->known[AS_CAUSE_MINOR_FAULT] = true;
    out->of[AS_CAUSE_INVOLUNTARY] = w->switches;
    out->of[AS_CAUSE_MINOR_FAULT] = w->faults;
}

static inline void fake_steal(void *user, struct as_interference_counts *out)
{
    struct fake_work *w = user;

    out->known[AS_CAUSE_STEAL] = true;
    out->of[AS_CAUSE_STEAL] = w->ticks;
}

static inline double fake_frequency(void *user)
{
    struct fake_work *w = user;

    return w->frequency[w->n_frequency++ % 2];
}

static inline int fake_call(void *user, struct assay_error *err)
{
    struct fake_work *w = user;
    double ns = w->call_ns;

    w->calls++;
    if (w->fails_at && w->calls == w->fails_at) {
        if (w->fails_why)
            return as_fail(err, w->fails_with, "%s", w->fails_why);
        return w->fails_with;
    }
    if (w->calls < 60)
        ns += ldexp(w->cold_ns, 1 - (int)w->calls);
    if (w->memory > 0)
        w->kept = w->memory * w->kept + 0.01 * as_rng_normal(&w->rng);
    ns *= 1 + w->kept + w->noise * (2 * as_rng_unit(&w->rng) - 1) + w->drift * (double)w->calls;
    w->faults++; /* every call has one: no cause of anything */
    if (w->slow_every && w->calls % w->slow_every == 0) {
        ns *= 10;
        w->switches += w->slow_is_switch;
    }
    w->left_ns += ns;
    w->now_ns += (uint64_t)w->left_ns;
    w->left_ns -= floor(w->left_ns);
    return 0;
}

static inline struct as_interference_source fake_source(struct fake_work *w)
{
    as_rng_seed(&w->rng, 3);
    return (struct as_interference_source){
        .user = w, .now_ns = fake_now, .events = fake_events, .steal = fake_steal};
}

#endif
