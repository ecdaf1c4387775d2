/* measure/latency/sample_interference.h - what the system did to us while samples were taken.
 * Readings stand between samples, never inside one, and only as often as they cost next to nothing.
 */
#ifndef AS_MEASURE_LATENCY_SAMPLE_INTERFERENCE_H
#define AS_MEASURE_LATENCY_SAMPLE_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may have made a sample long: name, word for reports, what happened. */
#define AS_CAUSES(X)                                                                               \
    X(INVOLUNTARY, "involuntary_switch", "an involuntary context switch")                          \
    X(VOLUNTARY, "voluntary_switch", "a voluntary context switch")                                 \
    X(MINOR_FAULT, "minor_fault", "a minor page fault")                                            \
    X(MAJOR_FAULT, "major_fault", "a major page fault")                                            \
    X(STEAL, "steal", "time stolen by the hypervisor")

enum as_cause {
#define X(name, word, text) AS_CAUSE_##name,
    AS_CAUSES(X)
#undef X
        AS_CAUSE_COUNT
};

const char *as_cause_name(enum as_cause cause); /* "involuntary_switch" */
const char *as_cause_text(enum as_cause cause); /* "an involuntary context switch" */

/* Counted since the thread or process began. */
struct as_interference_counts {
    uint64_t of[AS_CAUSE_COUNT]; /* that of AS_CAUSE_STEAL in ticks */
    bool known[AS_CAUSE_COUNT];
};

/* Where times and counts come from; tests bring their own. */
struct as_interference_source {
    void *user;
    uint64_t (*now_ns)(void *user);
    /* Switches and faults; may be NULL. */
    void (*events)(void *user, struct as_interference_counts *out);
    /* Stolen ticks; may be NULL. */
    void (*steal)(void *user, struct as_interference_counts *out);
    /* Cycles a second of the core we are on; may be NULL. NaN: not to be had. */
    double (*frequency_hz)(void *user);
};

/* The machine itself: the calling thread's events, or those of the whole process. */
const struct as_interference_source *as_interference_machine(bool whole_process);

struct as_interference {
    const struct as_interference_source *source;
    struct as_interference_counts first, last; /* since the watch began, and at the last reading */
    size_t group;                              /* samples between two readings of events */
    size_t n_before;                           /* samples the last reading of events has seen */
    size_t n_before_steal;
    uint64_t steal_ns; /* when it was last read */
};

/* `sample_ns` is about how long one sample takes. */
void as_interference_begin(struct as_interference *w, const struct as_interference_source *source,
                           double sample_ns);

/* After sample number `n` (from 1) ended at `now_ns`: marks in `seen`, which has a byte for each
 * sample, those during which something may have happened: bit i is enum as_cause i. */
void as_interference_sample(struct as_interference *w, size_t n, uint64_t now_ns, uint8_t *seen);

/* The last reading, for samples that are not marked yet. */
void as_interference_end(struct as_interference *w, size_t n, uint8_t *seen);

/* How often it happened from begin to the last reading. */
uint64_t as_interference_count(const struct as_interference *w, enum as_cause cause);
bool as_interference_known(const struct as_interference *w, enum as_cause cause);

#endif
