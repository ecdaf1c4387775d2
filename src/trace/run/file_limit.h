/* trace/run/file_limit.h - writes of our own that reach RLIMIT_FSIZE fail like any other write. The
 * kernel also sends SIGXFSZ to the thread, which ends a program that knows nothing of our file. */
#ifndef AS_TRACE_RUN_FILE_LIMIT_H
#define AS_TRACE_RUN_FILE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct as_file_limit {
    sigset_t saved;
    bool was_pending; /* a signal of the program's own: it is left to the program */
};

/* Holds SIGXFSZ back on the calling thread. */
void as_file_limit_enter(struct as_file_limit *limit);

/* Takes back what our own writes caused since. Keeps errno. */
void as_file_limit_leave(const struct as_file_limit *limit);

#endif
