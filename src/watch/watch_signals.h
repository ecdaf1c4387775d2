/* watch/watch_signals.h - lets a program behave towards signals as if nobody stood before it.
 * The terminal reaches the program by itself; what is sent to us alone is passed on. */
#ifndef AS_WATCH_WATCH_SIGNALS_H
#define AS_WATCH_WATCH_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/process/process_tree.h"

/* A descriptor that becomes readable when a signal came; -1: none to be had. */
int as_watch_signals_open(void);

/* Takes what came and passes it on to the child `pid`. `tree` may be NULL: what the program's own
 * processes send to our group is not theirs twice. */
void as_watch_signals_pass(int fd, pid_t pid, const struct as_process_tree *tree);

/* When job control has stopped the child, we stop as well, and the shell sees it. */
void as_watch_signals_mirror_stop(pid_t pid);

#endif
