/* preload/attach.h - puts the library into its program: the share, the environment, fork and exec.
 * The program must not notice: errno is kept, nothing is printed, no descriptor stays open. */
#ifndef AS_PRELOAD_ATTACH_H
#define AS_PRELOAD_ATTACH_H

#include <stdbool.h>

#include "trace/shm/target_shm.h"

/* The share, mapped, from the library's constructor on; NULL when there is none (no folder given,
 * no room, a privileged program): then everything is only passed on. Does not move, also in a
 * forked child, where it is another file's, or private memory that nobody reads. */
struct as_shm_header *as_attached(void);

/* Whether that was asked for and the share is there. */
bool as_watching(enum as_shm_watch watch);

/* What brought the library here, for a program that this process becomes. */
struct as_attached_how {
    const char *folder, *library; /* paths */
    char words[64];               /* what is to be watched */
    bool follows;                 /* the environment has it still */
    bool same_user;               /* as when it came */
};

/* False in a process that is not the one attached to. */
bool as_attached_how(struct as_attached_how *out);

/* From then on everything is only passed on, without a system call of ours: the program is about to
 * forbid some. The other: it did not, after all. Both keep errno. */
void as_go_quiet(void);
void as_go_on(void);

/* The program is about to lock all of its memory under a limit: as as_go_quiet(), for good, and our
 * memory is given back. No other thread may run. */
void as_let_go(void);
/* The filter is there: takes us out of the environment, for what the program becomes by exec. */
void as_stay_quiet(void);

/* The function of that name which the program would have called without us, seen from the code at
 * `caller`: behind us in the global order, or in the caller's own libraries when those were opened
 * privately. NULL when there is none. Not for use inside malloc. */
void *as_next_function(const char *name, const void *caller);

#endif
