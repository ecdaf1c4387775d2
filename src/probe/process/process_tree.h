/* probe/process/process_tree.h - every process beneath one: what each holds and does, read again
 * and again. Cheap enough for a hundred samples a second: the files of /proc stay open between
 * them. */
#ifndef AS_PROBE_PROCESS_PROCESS_TREE_H
#define AS_PROBE_PROCESS_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fact.h"

#define AS_TREE_MAX_PROCESSES 4096
#define AS_TREE_NAME_BYTES    192

struct as_process_tree;

/* A process as it was last seen. Its own figures, without those of its children. */
struct as_tree_process {
    int64_t pid, parent_pid;       /* the parent that made it */
    char name[AS_TREE_NAME_BYTES]; /* its command line, or what it calls itself */
    uint64_t first_ns, last_ns;    /* of the samples that saw it */
    uint64_t memory_ns;            /* of the last reading that saw it hold memory; 0: none */
    uint64_t caught_ns;            /* of the last that saw it have a handler for SIGINT; 0: none */
    uint64_t ignored_ns;           /* of the first behind that without one; 0: none */
    bool ended;
    uint32_t cpus;       /* that its first thread may run on, as last seen; 0: unknown */
    const char *runtime; /* AS_RUNTIME_...; NULL: none known */
    bool had_children;   /* that it waited for, whether or not they were seen */
    uint64_t rss_bytes;  /* at the last reading */
    uint64_t anon_bytes; /* of those, what belongs to no file and no shared memory */
    uint64_t cpu_ns;
    struct as_fact cpu_user_ns, cpu_system_ns; /* the sum is exact, its parts are by ticks */
    struct as_fact peak_rss_bytes, minor_faults, major_faults;
    struct as_fact switches_voluntary, switches_involuntary;
    struct as_fact read_bytes, written_bytes; /* from and to storage */
    struct as_fact io_wait_ns;
    struct as_fact run_delay_ns; /* ready to run, without a CPU; of several threads: at least */
    struct as_fact threads_most;
    struct as_fact descriptors_most; /* files it had open at one time */
};

/* The tree as a whole, at one reading. */
struct as_tree_now {
    size_t n_alive;
    uint64_t rss_bytes;  /* pages that processes share count in each */
    uint64_t anon_bytes; /* 0: not known of any */
    uint64_t cpu_ns;     /* of every process seen so far, also those that have ended */
    /* Files open and threads: those of the first process, and what the others have of them more
     * than when they were first seen, so that processes that come and go change nothing. */
    uint64_t descriptors, threads;
    bool descriptors_known;
};

/* `root` stands before "/proc" ("" usually). */
AS_MUST_USE int as_process_tree_new(struct as_process_tree **out, const char *root, int64_t pid,
                                    uint64_t now_ns, struct assay_error *err);
/* A name is that of the program alone, also of those that were read before. */
void as_process_tree_drop_args(struct as_process_tree *tree);
void as_process_tree_free(struct as_process_tree *tree);

/* Looks at all of them and for new ones. A thorough reading takes in what changes slowly or costs
 * more: peaks, switches, storage, names, children of other threads than the first. */
void as_process_tree_read(struct as_process_tree *tree, uint64_t now_ns, bool thorough,
                          struct as_tree_now *now);

/* What all of them hold together, shared pages once (PSS): the kernel walks all of their pages for
 * it, so it costs milliseconds a gigabyte. False when one of them cannot be read. */
bool as_process_tree_pss(struct as_process_tree *tree, uint64_t *bytes);

/* In the order they were seen; borrowed until the next reading. NULL after the last. */
const struct as_tree_process *as_process_tree_at(const struct as_process_tree *tree, size_t i);

/* Whether a process of that pid was alive at the last reading. */
bool as_process_tree_has(const struct as_process_tree *tree, int64_t pid);

/* How many were there for which the list had no room: at least. */
uint64_t as_process_tree_left_out(const struct as_process_tree *tree);

#endif
