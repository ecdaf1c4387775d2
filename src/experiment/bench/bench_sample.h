/* experiment/bench/bench_sample.h - what one sample of one setting gave, and the table of its
 * fields, from which the journal is written and read. Unknown is unknown, never 0. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_SAMPLE_H
#define AS_EXPERIMENT_BENCH_BENCH_SAMPLE_H

#include <assay/power.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json_fields.h"
#include "base/json/json_tree.h"
#include "base/json/json_writer.h"

#define AS_BENCH_UNKNOWN UINT64_MAX

struct as_bench_sample {
    uint64_t setting, sample_id;
    uint64_t seq_len; /* UNKNOWN where inputs have no length */
    uint64_t wall_ns;
    uint64_t kernel_ns;          /* computing: CPU time of all threads that worked on it */
    uint64_t user_ns, system_ns; /* CPU time of a command and the children it waited for */
    uint64_t decide_ns;          /* of wall_ns: deciding what to leave out */
    uint64_t peak_mem_bytes;
    double energy_j; /* NaN: unknown, as every double below */
    double coherence_delta;
    double l2, max_abs;
    double path_length_change;
    uint64_t decision_flips;
    uint64_t passes;      /* 1: good enough beside the baseline's output */
    uint64_t contradicts; /* 1: points the other way */
    uint64_t positions_kept, positions_total;
    uint64_t edges_kept, edges_total;
    double cut_cost;          /* of the last decision */
    uint64_t decisions, cuts; /* in the sample; those whose cut took an edge away */
    uint64_t status;          /* of a command; 0 is success */
    char output_hash[65];
};

/* As a row of a run: bench_sample.c. */
extern const struct as_json_shape as_bench_sample_shape;

/* Everything unknown. */
void as_bench_sample_init(struct as_bench_sample *sample);

/* As members of an open object; unknown ones are left out. */
void as_bench_sample_write(const struct as_bench_sample *sample, struct as_json_writer *w);

/* Fields that are not there stay unknown; one of another type is a FORMAT error. */
AS_MUST_USE int as_bench_sample_read(struct as_bench_sample *sample,
                                     const struct as_json_value *object, struct assay_error *err);

/* ---- sample_clock.c ---- */

struct as_sample_clock {
    bool all_threads; /* of the process; else of the thread that calls */
    uint64_t own_ns;  /* processor time of an empty sample */
    uint64_t cpu_ns, wall_ns;
};

void as_sample_clock_init(struct as_sample_clock *clock, unsigned threads);

void as_sample_clock_start(struct as_sample_clock *clock);
void as_sample_clock_stop(const struct as_sample_clock *clock, uint64_t *wall_ns, uint64_t *cpu_ns);

#endif
