/* measure/latency/profile_run.h - the whole protocol for one model: opened, filled, warmed up,
 * timed, profiled, its memory counted. Everything raw is kept; analyses make figures of it. */
#ifndef AS_MEASURE_LATENCY_PROFILE_RUN_H
#define AS_MEASURE_LATENCY_PROFILE_RUN_H

#include "measure/inputs/model_inputs.h"
#include "measure/latency/latency_run.h"
#include "measure/latency/profile_pass.h"
#include "probe/process/process_memory.h"

/* The phases in their order: name, words for a line of progress. */
#define AS_PROFILE_PHASES(X)                                                                       \
    X(PREPARE, "preparing the model")                                                              \
    X(WARM_UP, "warming up")                                                                       \
    X(TIMING, "measuring")                                                                         \
    X(PROFILING, "measuring layers")                                                               \
    X(MEMORY, "counting memory")

enum as_profile_phase {
#define X(name, text) AS_PHASE_##name,
    AS_PROFILE_PHASES(X)
#undef X
        AS_PHASE_COUNT
};

const char *as_profile_phase_text(enum as_profile_phase phase);

struct as_profile_options {
    struct as_engine_options engine; /* sizes, threads, loops; of a decoder: of the prompt */
    struct as_input_options inputs;
    struct as_latency_options latency;     /* its progress is ours */
    unsigned profile_runs;                 /* 0: by time */
    double profile_s;                      /* 0: half of the time for timing */
    bool no_timing, no_profile, no_memory; /* passes to leave out */
    bool memory_may_fail; /* figures of memory are then not known, and the rest stays */
    bool reset_peak_rss;  /* the process is ours: its greatest memory may be counted anew */
    const char *record;   /* where profiled runs are recorded; NULL: nowhere */
    uint64_t load_ns;     /* that reading the file took the caller; told as it is */
    /* Called after the inputs were filled; may change them. May be NULL. */
    int (*fill)(void *user, struct as_engine *engine, struct assay_error *err);
    void *fill_user;
    void (*progress)(void *user, enum as_profile_phase phase,
                     const struct as_latency_progress *now);
    void *user;
};

/* What memory was read; of the process: as the system counts it. */
struct as_memory_pass {
    struct as_mem counted;           /* by what it is for, of a run that gives back at once */
    struct as_engine_plan plan;      /* what was planned, to be held against it */
    uint64_t *live_bytes;            /* by step */
    struct as_process_memory before; /* before the engine was opened */
    struct as_process_memory ready;  /* after */
    struct as_process_memory timed;  /* after timing, as the model is used */
    struct as_process_memory ran;    /* after timing and profiling; memory is counted later */
    bool peak_is_fresh;              /* the peak counts from `before` on, not from the beginning */
    struct as_process_memory after;  /* after all */
};

struct as_profile_run {
    struct as_profile_options options; /* as given; what it points to is the caller's */
    struct as_engine *engine;
    struct as_model_inputs inputs; /* with what was chosen for each */
    struct as_latency_run latency; /* empty with no_timing, but for its warm-up */
    bool profiled, memory_counted; /* which of the two below are there */
    bool recorded;                 /* there is a run at options.record */
    struct assay_error no_memory;  /* why memory was not counted, with memory_may_fail */
    struct as_profile_pass profile;
    struct as_memory_pass memory;
    unsigned threads;
    uint64_t load_ns, prepare_ns;
    double cold_ns; /* the very first run */
};

/* Runs it all. The first thing that fails is the result, but for memory_may_fail. The model is
 * inferred, borrowed and must live on; so must what the options point to. */
AS_MUST_USE int as_profile_run_new(struct as_profile_run **run, struct as_model *model,
                                   const struct as_profile_options *options,
                                   struct assay_error *err);
void as_profile_run_free(struct as_profile_run *run);

#endif
