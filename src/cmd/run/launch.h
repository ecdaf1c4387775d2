/* cmd/run/launch.h - finds a command as the shell would, and starts it as if nobody stood
 * before it. What it inherits is what we inherited: descriptors, signal mask, ignored signals. */
#ifndef AS_CMD_RUN_LAUNCH_H
#define AS_CMD_RUN_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* What a shell ends with when it cannot start a command. */
enum { AS_STATUS_NOT_EXECUTABLE = 126, AS_STATUS_NOT_FOUND = 127 };

/* Signals that we treat otherwise than the command shall. */
#define AS_TARGET_SIGNALS 3

struct as_launch {
    char path[PATH_MAX];
    sigset_t mask;                                               /* for the command */
    bool ignored[AS_TARGET_SIGNALS], changed[AS_TARGET_SIGNALS]; /* so was it when we began */
};

/* Before any other: keeps what the command is to inherit, makes sure that its end is told to us,
 * and that nothing we open takes the place of a closed standard stream. */
void as_launch_prepare(struct as_launch *target);

/* The file of `name`, by PATH unless it has a slash. 0, or one of the above with `err` filled. */
AS_MUST_USE int as_launch_find(struct as_launch *target, const char *name, struct assay_error *err);

/* Starts it; `argv` and `envp` end with NULL. 0 with `pid` set, or one of the above with `err`
 * filled. */
AS_MUST_USE int as_launch_start(const struct as_launch *target, const char *const *argv,
                                const char *const *envp, pid_t *pid, struct assay_error *err);

#endif
