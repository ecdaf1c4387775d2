/* measure/overhead/overhead_run.h - what measuring costs by itself: each probe in nanoseconds, and
 * each pass of the engine against the same run without it. */
#ifndef AS_MEASURE_OVERHEAD_OVERHEAD_RUN_H
#define AS_MEASURE_OVERHEAD_OVERHEAD_RUN_H

#include "measure/latency/interleaved_run.h"

/* One call of each: name, key, words for people, whether a session must be open. */
#define AS_PROBES(X)                                                                               \
    X(TICKS, "clock_counter", "reading the counter", false)                                        \
    X(CLOCK, "clock_system", "reading the system's clock", false)                                  \
    X(CPU_CLOCK, "clock_thread_cpu", "reading the thread's CPU time", false)                       \
    X(SCOPE_OFF, "scope_no_session", "a scope, no session open", false)                            \
    X(SCOPE, "scope_recorded", "a scope, recorded", true)                                          \
    X(SWITCH, "switch_recorded", "a switch of layers, recorded", true)                             \
    X(ITERATION, "iteration_mark", "an iteration mark", true)                                      \
    X(SAMPLE, "sample", "a sample of a channel", true)

enum as_probe {
#define X(name, key, text, session) AS_PROBE_##name,
    AS_PROBES(X)
#undef X
        AS_PROBE_COUNT
};

const char *as_probe_key(enum as_probe probe);
const char *as_probe_text(enum as_probe probe);

struct as_probe_cost {
    bool known;
    double ns;                /* median of the trials, without the loop around it */
    double low_ns, high_ns;   /* its interval */
    double least_ns;          /* the best trial */
    size_t n_trials, n_calls; /* calls in a trial */
};

/* What is enabled around or inside a run: name, key, words for people. */
#define AS_OVERHEADS(X)                                                                            \
    X(MEASURED, "latency_each", "100x100 copy, each call timed")                                   \
    X(BATCHED, "latency_batched", "100x100 copy, timed in batches")                                \
    X(PROFILE_TINY, "profile_tiny_steps", "profile, many tiny steps")                              \
    X(PROFILE_LARGE, "profile_large_steps", "profile, few large steps")                            \
    X(RECORD_TINY, "record_tiny_steps", "recorded profile, tiny steps")                            \
    X(MEMORY_TINY, "memory_tiny_steps", "memory pass, many tiny steps")                            \
    X(MEMORY_LARGE, "memory_large_steps", "memory pass, few large steps")

enum as_overhead_kind {
#define X(name, key, text) AS_OVERHEAD_##name,
    AS_OVERHEADS(X)
#undef X
        AS_OVERHEAD_COUNT
};

const char *as_overhead_key(enum as_overhead_kind kind);
const char *as_overhead_text(enum as_overhead_kind kind);

struct as_overhead_pair {
    bool known;
    size_t n_steps; /* that are measured in a run; 1 of a function */
    size_t n_pairs;
    double plain_ns, with_ns; /* medians of one run */
    double factor;            /* with / plain; that of neighbors */
    double factor_low, factor_high;
};

/* 0 means the default everywhere. */
struct as_overhead_options {
    const char *record; /* where a session may be recorded for the while; NULL: no such probe */
    unsigned rounds;    /* trials of a probe; default 40 */
    double pair_s;      /* for each pair; default 0.4 */
    void (*progress)(void *user, const char *what, double share);
    void *user;
};

struct as_overhead_run {
    struct as_probe_cost probes[AS_PROBE_COUNT];
    struct as_overhead_pair pairs[AS_OVERHEAD_COUNT];
    const char *clock;     /* which counter it is: "tsc" */
    uint64_t lost_events;  /* of the recorded probes; these cost another time */
    char session_why[240]; /* why nothing was recorded; "" when it was */
};

/* As a run keeps it: measure/overhead/overhead_fields.c. */
extern const struct as_json_shape as_overhead_run_shape;

/* On the calling thread. No session may be open in the process; the file of `record` is the
 * caller's to remove. */
AS_MUST_USE int as_overhead_run(struct as_overhead_run *out,
                                const struct as_overhead_options *options, struct assay_error *err);

#endif
