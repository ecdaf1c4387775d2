/* probe/process/process_stat.h - reads the text of /proc/PID/stat, status, io, schedstat and
 * children. Names in it are chosen by the process: any bytes, also such as look like the rest of
 * the line. */
#ifndef AS_PROBE_PROCESS_PROCESS_STAT_H
#define AS_PROBE_PROCESS_PROCESS_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"

#define AS_COMM_BYTES 64

/* Counts are of all threads of the process since it began. */
struct as_process_stat {
    char comm[AS_COMM_BYTES]; /* as it calls itself; cut */
    char state;               /* 'R', 'S', ... 'Z' once it has ended */
    uint64_t parent_pid;
    uint64_t minor_faults, major_faults;
    uint64_t child_minor_faults; /* of children that ended and were waited for */
    uint64_t user_ticks, system_ticks;
    uint64_t n_threads;
    uint64_t start_ticks; /* since boot: with its pid it names a process for good */
    uint64_t rss_pages;
    uint64_t block_wait_ticks; /* 0 when the kernel does not report it */
};

/* False when the line is not whole up to rss. `text` is NUL-terminated. */
bool as_process_stat_parse(struct as_process_stat *out, const char *text);

/* From /proc/PID/status. Switches are those of the first thread alone. */
struct as_process_status {
    struct as_fact rss_peak_bytes;
    struct as_fact switches_voluntary, switches_involuntary;
    bool catches_known, catches_interrupt; /* it has a handler for SIGINT */
};

void as_process_status_parse(struct as_process_status *out, const char *text);

/* From /proc/PID/io: what came from storage and what will go there. */
struct as_process_io {
    struct as_fact read_bytes, written_bytes;
};

void as_process_io_parse(struct as_process_io *out, const char *text);

/* From a schedstat file: how long the thread was ready to run and had no CPU. False when the line
 * is not whole. */
bool as_process_run_delay_parse(uint64_t *ns, const char *text);

/* From /proc/PID/statm: pages that are resident and belong to no file. False when the line is not
 * whole. */
bool as_process_anon_pages_parse(uint64_t *pages, const char *text);

/* The next pid of a children file; moves `at` behind it. False at the end or at a word that is no
 * pid. */
bool as_process_next_child(const char **at, int64_t *pid);

/* The arguments of a command line, which NULs end, as one line of text: blanks between them, other
 * control characters as '?'. "" when there are none. */
void as_process_command_text(char *out, size_t capacity, const char *cmdline, size_t size);

#endif
