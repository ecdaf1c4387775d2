/* preload/exec_environment.c - the environment for the program that this process becomes by exec,
 * so that the library goes along. Only where it can: a program without a loader would keep it. */
#include "exec_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "base/file/executable.h"
#include "clean_environment.h"

#define PRELOAD    "LD_PRELOAD"
#define OWN_PATH   "/proc/self/exe"
#define USUAL_PATH "/bin:/usr/bin"

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp() looks for it; by this process's own PATH. */
static bool search_path(const char *name, char out[PATH_MAX])
{
    const char *at = as_environment_value(environ, "PATH");

    at = at ? at : USUAL_PATH;
    for (;;) {
        size_t size = strcspn(at, ":");

        if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)size, at, size ? "/" : "", name) < PATH_MAX &&
            is_program(out))
            return true;
        at += size;
        if (!*at++)
            return false;
    }
}

static const char *why_not(const char *file, bool search)
{
    char found[PATH_MAX];

    if (search && !strchr(file, '/')) {
        if (!search_path(file, found))
            return "the program's file was not found";
        file = found;
    }
    return as_executable_why_not(file, OWN_PATH);
}

static bool is_variable(const char *entry, const char *name)
{
    size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

/* A text at the end of what was mapped. */
static char *put(char **to, char *end, const char *name, const char *value, const char *more)
{
    char *text = *to;
    int n = snprintf(text, (size_t)(end - text), "%s=%s%s%s", name, value, more ? ":" : "",
                     more ? more : "");

    *to += n + 1;
    return text;
}

/* Every variable stays where it was. */
static void fill(struct as_exec_environment *out, char *const env[], size_t n,
                 const struct as_attached_how *how)
{
    char **list = out->mapped, *text = (char *)(list + n + 5), *end = (char *)list + out->bytes;
    const char *before = as_environment_value(env, PRELOAD);
    char *ours = put(&text, end, PRELOAD, how->library, before);
    size_t to = 0;
    bool placed = false;

    for (size_t i = 0; i < n; i++) {
        bool preload = is_variable(env[i], PRELOAD);

        if (is_variable(env[i], AS_SHM_ENV_FOLDER) || is_variable(env[i], AS_SHM_ENV_OPTIONS) ||
            is_variable(env[i], AS_SHM_ENV_PAD) || (preload && placed))
            continue;
        memcpy(&list[to++], preload ? (char *const *)&ours : &env[i], sizeof *list);
        placed |= preload;
    }
    if (!placed) {
        list[to++] = ours;
        list[to++] = put(&text, end, AS_SHM_ENV_PAD, "", NULL);
    }
    list[to++] = put(&text, end, AS_SHM_ENV_FOLDER, how->folder, NULL);
    list[to++] = put(&text, end, AS_SHM_ENV_OPTIONS, how->words, NULL);
    list[to] = NULL;
    out->env = list;
}

void as_exec_environment_make(struct as_exec_environment *out, const char *file, int search,
                              char *const env[])
{
    static char *const nothing[] = {NULL};
    struct as_attached_how how;
    int kept = errno;
    size_t n = 0;

    *out = (struct as_exec_environment){.env = env};
    if (!file || !as_attached_how(&how) || how.follows)
        return;
    /* Of another user, or in another root, the loader would complain, and the share is not there.
     */
    if (!how.same_user || faccessat(AT_FDCWD, how.library, R_OK, AT_EACCESS) != 0)
        out->why = "it runs as another user, or the library cannot be read from there";
    else
        out->why = why_not(file, search);
    if (out->why)
        goto out;
    env = env ? env : nothing;
    while (env[n])
        n++;
    out->bytes = (n + 5) * sizeof *env + (size_t)4 * PATH_MAX;
    if (as_environment_value(env, PRELOAD))
        out->bytes += strlen(as_environment_value(env, PRELOAD));
    out->mapped =
        mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->mapped == MAP_FAILED) {
        out->mapped = NULL;
        out->why = "there was no memory for its environment";
        goto out;
    }
    fill(out, env, n, &how);
out:
    errno = kept;
}

void as_exec_environment_free(struct as_exec_environment *e)
{
    int kept = errno;

    if (e->mapped)
        (void)munmap(e->mapped, e->bytes);
    e->mapped = NULL;
    errno = kept;
}
