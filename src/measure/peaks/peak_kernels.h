/* measure/peaks/peak_kernels.h - the loops that reach the peaks, one for each type, access and
 * instruction set. Written with intrinsics and chosen at run time, so that one build serves all
 * machines. */
#ifndef AS_MEASURE_PEAKS_PEAK_KERNELS_H
#define AS_MEASURE_PEAKS_PEAK_KERNELS_H

#include <stddef.h>

#include "measure/peaks/peaks.h"
#include "probe/system/isa_cap.h"

/* Every reason why a figure may be missing, so that a cache can name it. */
#define AS_PEAK_REASONS(X)                                                                         \
    X(NO_BF16, "the CPU has no AVX512_BF16")                                                       \
    X(CAPPED_BF16, "instruction sets are capped below AVX512_BF16")                                \
    X(NO_I8, "the CPU has no int8 dot-product instructions known here")                            \
    X(NO_CACHE, "the machine has no cache of this level, or does not report its size")             \
    X(NO_MEMORY, "too little memory is left to leave the caches")                                  \
    X(SLOW_MEMORY, "the system hands out memory too slowly to leave the caches")                   \
    X(NO_KERNEL, "not implemented for this CPU")                                                   \
    X(INTERRUPTED, "the measurement was interrupted")

enum as_peak_reason {
#define X(name, text) AS_PEAK_##name,
    AS_PEAK_REASONS(X)
#undef X
        AS_PEAK_REASON_COUNT
};

const char *as_peak_reason_text(enum as_peak_reason reason);

/* Room that a kernel reads its start values from and leaves its result in, at a multiple of 64. */
#define AS_PEAK_SCRATCH_BYTES 2048

/* Does `rounds` rounds on what `scratch` holds; the result depends on all of it. */
typedef void (*as_compute_fn)(uint64_t rounds, void *scratch);

struct as_compute_kernel {
    enum as_peak_type type;
    const char *isa;
    enum as_isa isa_level;
    as_compute_fn run;
    double ops;     /* of one round */
    unsigned lanes; /* numbers of a vector */
};

/* Walks `passes` times over `size` bytes, a multiple of AS_PEAK_CHUNK at a multiple of 64. */
typedef void (*as_memory_fn)(char *data, size_t size, uint64_t passes);

#define AS_PEAK_CHUNK 3072 /* 3 arrays of 16 vectors of 64 bytes */

struct as_memory_kernel {
    enum as_peak_access access;
    const char *isa;
    enum as_isa isa_level;
    as_memory_fn run;
};

/* The best kernel this processor can run below the cap on instruction sets; NULL, with the reason
 * in `why`, when there is none. */
const struct as_compute_kernel *as_compute_kernel_find(enum as_peak_type type, const char **why);
const struct as_memory_kernel *as_memory_kernel_find(enum as_peak_access access);

/* The i-th of all, those this processor cannot run too, from 0; NULL past the last. */
const struct as_compute_kernel *as_compute_kernel_at(size_t i);
const struct as_memory_kernel *as_memory_kernel_at(size_t i);

/* Fills the scratch with numbers that stay finite, small and different however long it runs. */
void as_compute_scratch(enum as_peak_type type, char scratch[AS_PEAK_SCRATCH_BYTES]);

/* Whether kernels of a level may run: the processor has it, and no cap is below it. */
bool as_peak_isa_has(enum as_isa level);

/* ---- peak_team.c ---- */

/* What one thread does in a trial; `member` counts from 0. */
typedef void (*as_team_fn)(void *user, unsigned member);

struct as_team_job {
    const struct as_topology *topology; /* whose processors the threads are bound to */
    unsigned n_threads;                 /* 1 to AS_PEAK_MAX_THREADS */
    unsigned max_trials;                /* at most AS_TEAM_MAX_TRIALS */
    unsigned min_trials;
    uint64_t budget_ns; /* no trial begins after this, once min_trials are done */
    as_team_fn prepare; /* once before the trials, by each thread; may be NULL */
    as_team_fn trial;
    void *user;
};

#define AS_TEAM_MAX_TRIALS 256

struct as_team_result {
    unsigned n_trials;
    double best_ns, median_ns; /* from the first to begin to the last to end */
};

/* Fails when threads cannot be started or memory is short. */
AS_MUST_USE int as_team_run(struct as_team_result *out, const struct as_team_job *job,
                            struct assay_error *err);

#endif
