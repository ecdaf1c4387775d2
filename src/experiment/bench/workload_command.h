/* experiment/bench/workload_command.h - a command as a workload: each sample runs it once, with the
 * values of its setting filled in. No shell stands between; its output is kept only as a hash. */
#ifndef AS_EXPERIMENT_BENCH_WORKLOAD_COMMAND_H
#define AS_EXPERIMENT_BENCH_WORKLOAD_COMMAND_H

#include <signal.h>

#include "experiment/bench/bench.h"

struct as_load_command {
    char ***argv; /* by setting, each ending with NULL */
    size_t n_settings;
    char *const *environment;
    bool any_status;  /* a command that ends with another status than 0 did not fail */
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

/* The functions of a workload whose user is an as_load_command. Wall time is from the start to the
 * end of the process; kernel time is its CPU time and that of the children it waited for; memory is
 * the most it had resident, unknown when that is less than ours, which it had before it began. */
struct as_bench_load as_load_command_table(struct as_load_command *load);

#endif
