/* experiment/bench/workload.h - soft-max attention and attention gated by minimum cuts as
 * a workload, and the witness of what the gates decided. */
#ifndef AS_EXPERIMENT_BENCH_WORKLOAD_H
#define AS_EXPERIMENT_BENCH_WORKLOAD_H

#include <assay/experiment/witness.h>
#include <signal.h>

#include "experiment/attention/attention_plan.h"
#include "experiment/bench/bench.h"
#include "measure/inputs/model_inputs.h"

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

/* ---- workload_command.c ---- */

struct as_load_command {
    char ***argv;         /* by setting, each ending with NULL */
    const char **prepare; /* by setting: run by sh before each sample, untimed; NULL: none */
    size_t n_settings;
    char *const *environment;
    bool any_status;  /* a command that ends with another status than 0 did not fail */
    bool redact;      /* errors have no argument of a command, and nothing that it said */
    bool keep_output; /* its output is kept in memory while it runs, and hashed; else thrown away */
    int out_fd, err_fd;        /* what the last run wrote; -1: nothing */
    volatile sig_atomic_t pid; /* of the one that runs, for a handler of signals; 0: none */
    struct as_arena arena;
};

/* `pattern` has `n` words; every axis must be used in one of them. The environment is the
 * caller's. The caller has SIGCHLD at its default. */
AS_MUST_USE int as_load_command_init(struct as_load_command *load, struct as_grid *grid,
                                     const char *const *pattern, size_t n, char *const *environment,
                                     struct assay_error *err);
void as_load_command_fini(struct as_load_command *load);

/* Runs `command` by sh and waits for it; a status other than 0 is a failure, named by `what`, as in
 * "setup". */
AS_MUST_USE int as_load_command_hook(struct as_load_command *load, const char *what,
                                     const char *command, struct assay_error *err);

/* The functions of a workload whose user is an as_load_command. Wall time is from the start to the
 * end of the process; kernel time is its CPU time and that of the children it waited for; memory is
 * the most it had resident, unknown when that is less than ours, which it had before it began. */
struct as_bench_load as_load_command_table(struct as_load_command *load);

/* ---- workload_model.c ---- */

struct as_load_model; /* one engine a setting */

struct as_load_model_options {
    const char *spec;                /* of the model, as the user gave it */
    struct as_engine_options engine; /* what does not vary */
    struct as_input_options inputs;
};

#define AS_MODEL_AXIS "model" /* the axis whose values are models, in place of `spec` */

/* Axes: threads, batch, fuse (0 or 1), kernels (auto or reference), model; any other name is a key
 * of a built-in model, or a symbolic dimension of a file. A setting that cannot be opened fails
 * when it is run; USAGE for values that are none. */
AS_MUST_USE int as_load_model_new(struct as_load_model **load, const struct as_grid *grid,
                                  const struct as_load_model_options *options,
                                  struct assay_error *err);
void as_load_model_free(struct as_load_model *load);

/* Each sample is run twice, and the second is timed: the first makes the threads and the caches
 * those of this setting again. Memory is the engine's own exact count. */
struct as_bench_load as_load_model_table(struct as_load_model *load);

#endif
