/* preload/exec_environment.h - the environment for the program that this process becomes by exec,
 * so that the library goes along. That program's own takes it out again before anybody reads it. */
#ifndef AS_PRELOAD_EXEC_ENVIRONMENT_H
#define AS_PRELOAD_EXEC_ENVIRONMENT_H

#include <stddef.h>

struct as_exec_environment {
    char *const *env; /* with ours in it, or as it was given */
    void *mapped;     /* NULL: as it was given */
    size_t bytes;
    const char *why; /* static: why the library cannot go along; NULL: it can, or nobody asked */
};

/* `file` is a path, or with `search` a name for PATH. Keeps errno. */
void as_exec_environment_make(struct as_exec_environment *out, const char *file, int search,
                              char *const env[]);
void as_exec_environment_free(struct as_exec_environment *e);

#endif
