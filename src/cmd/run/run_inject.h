/* cmd/run/run_inject.h - what puts the library into a command: its file, a folder for what it
 * tells, and the environment that the command begins with. */
#ifndef AS_CMD_RUN_RUN_INJECT_H
#define AS_CMD_RUN_RUN_INJECT_H

#include <limits.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct as_inject {
    char library[PATH_MAX];
    char folder[PATH_MAX]; /* ours alone; "": none was made */
    int lock_fd;           /* of the folder, locked while we live: one without a lock is nobody's */
    const char *why;       /* static: why the library cannot be used; NULL: it can */
    const char *const *envp;
    struct as_arena arena;
};

/* `program` is the command's file, `words` what shall be watched, "heap,gemm" for instance; NULL or
 * "": nothing. Only running out of memory fails: all else is a `why`, and the environment is then
 * the one we have. End with as_inject_fini(), which removes the folder. */
AS_MUST_USE int as_inject_init(struct as_inject *inject, const char *program, const char *words,
                               struct assay_error *err);
void as_inject_fini(struct as_inject *inject);

#endif
