/* experiment/bench/workload_attention.h - soft-max attention and attention gated by minimum cuts as
 * a workload, and the witness of what the gates decided. */
#ifndef AS_EXPERIMENT_BENCH_WORKLOAD_ATTENTION_H
#define AS_EXPERIMENT_BENCH_WORKLOAD_ATTENTION_H

#include <assay/witness.h>

#include "experiment/attention/attention_plan.h"

struct as_load_attention; /* the worker, the data of one sample, the reference output */

/* `bench` has the plan's settings; plan and bench are the caller's and live on. */
AS_MUST_USE int as_load_attention_new(struct as_load_attention **load,
                                      const struct as_attention_plan *plan,
                                      const struct as_bench *bench, unsigned threads,
                                      struct assay_error *err);
void as_load_attention_free(struct as_load_attention *load);

/* The hash of each setting's configuration, as its witness has it. Borrowed. */
const char (*as_load_attention_hashes(const struct as_load_attention *load))[65];

/* Writes a witness for every gated setting into `folder`, which is there: <setting>.jsonl. Goes on
 * behind the samples that the bench has already. */
AS_MUST_USE int as_load_attention_witness(struct as_load_attention *load, const char *folder,
                                          enum assay_witness_mask how, struct assay_error *err);
/* Seals them. */
AS_MUST_USE int as_load_attention_seal(struct as_load_attention *load, struct assay_error *err);

/* A sample is timed as a whole, all its steps: deciding, and computing what is kept. Data, quality
 * and witness are outside. Memory is counted: keys, values, the queries and outputs of a step, the
 * mask and its history, and the most working memory held at once. */
struct as_bench_load as_load_attention_table(struct as_load_attention *load);

/* The path of a setting's witness. */
AS_MUST_USE int as_witness_path(const char *folder, const struct as_bench_setting *setting,
                                char *out, size_t capacity, struct assay_error *err);

/* ---- computing it again ---- */

struct as_attention_again {
    uint64_t entries;   /* in the file */
    uint64_t checked;   /* computed again */
    bool same;          /* all of them came out the same */
    char sentence[240]; /* what did not, with the sample; "" otherwise */
};

/* Holds the witness of one setting against what the plan gives here: every entry when `most` is 0,
 * else at most so many, spread over the file. The file itself must be whole. */
AS_MUST_USE int as_attention_replay(const struct as_attention_plan *plan,
                                    const struct as_bench_setting *setting, const char *path,
                                    unsigned threads, uint64_t most, struct as_attention_again *out,
                                    struct assay_error *err);

/* The same for what a bundle keeps of a witness: a chain of `entries`, each with the hash of its
 * line. */
AS_MUST_USE int as_attention_replay_chain(const struct as_attention_plan *plan,
                                          const struct as_bench_setting *setting,
                                          const uint8_t *chain, uint64_t entries, unsigned threads,
                                          struct as_attention_again *out, struct assay_error *err);

#endif
