/* watch/watch_run.h - watches a program from outside until it ends, and records what was seen.
 * The program is a child of the caller; a session must be open. */
#ifndef AS_WATCH_WATCH_RUN_H
#define AS_WATCH_WATCH_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/process/process_tree.h"

#define AS_WATCH_MAX_LEFT 4 /* processes named that outlive the command */

struct as_watch_options {
    const char *const *argv; /* as recorded */
    size_t n_args;
    bool without_args;        /* of no process: names of programs alone are recorded */
    const char *folder;       /* where it was started; NULL: unknown */
    const char *share_folder; /* of the library put into it; NULL: there is none */
    bool heap, gemm;          /* what that watches */
    const char *heap_why;     /* why the heap cannot be watched; NULL: it can */
    uint64_t interval_ns;
    uint64_t started_ns; /* as_clock_mono_ns() just before it was started */
};

/* How it ended. */
struct as_watch_end {
    int exit_status; /* as the shell would see it: 128 + n for signal n */
    int signal;      /* 0: none */
    bool dumped;
    bool heap_watched;
    bool heap_lost; /* it became another program by exec, whose heap was not watched */
    size_t n_left;  /* processes of the tree that are still there */
    int64_t left_pid[AS_WATCH_MAX_LEFT];
    char left_name[AS_WATCH_MAX_LEFT][64];
    size_t heaps_left_out;    /* shares beyond the limit */
    struct assay_error wrong; /* what could not be recorded; code ASSAY_OK: nothing */
};

/* Blocks the signals that as_watch_run() passes on to the program, so that none is lost and
 * none ends us before it: call it before anything that must be tidied up. `saved` is the mask the
 * program is to be started with. SIGCHLD must not be ignored. */
void as_watch_signals_block(sigset_t *saved);

/* Forgets those that have come meanwhile and restores the mask. */
void as_watch_signals_restore(const sigset_t *saved);

/* Waits for the child `pid`, reading the tree beneath it again and again, passing signals on. Fails
 * only when it cannot wait at all; `end` is filled then too, as far as known. */
AS_MUST_USE int as_watch_run(struct as_watch_end *end, pid_t pid,
                             const struct as_watch_options *options, struct assay_error *err);

/* ---- watch_limits.c ---- */

struct as_watch_limits {
    double address_bytes; /* of a process (RLIMIT_AS, RLIMIT_DATA); NaN: none */
    double group_cpus;    /* that control groups leave it, at least 1; infinite: no limit */
    double group_bytes;   /* of its control group, all processes together; NaN: none known */
};

/* `root` stands before "/proc" and "/sys" ("" usually). */
void as_watch_limits_read(struct as_watch_limits *out, const char *root);

/* Whether they leave an injected library no room for its counters; `why` then says so. */
bool as_watch_limits_forbid(char *why, size_t capacity);

/* The widest vectors that the CPU has: "avx512", "avx2", "avx", "sse"; NULL: not known. */
const char *as_watch_cpu_vectors(const char *root);

/* ---- watch_signals.c ---- */

/* A descriptor that becomes readable when a signal came; -1: none to be had. */
int as_watch_signals_open(void);

/* Takes what came and passes it on to the child `pid`. `tree` may be NULL: what the program's own
 * processes send to our group is not theirs twice. */
void as_watch_signals_pass(int fd, pid_t pid, const struct as_process_tree *tree);

/* When job control has stopped the child, we stop as well, and the shell sees it. */
void as_watch_signals_mirror_stop(pid_t pid);

#endif
