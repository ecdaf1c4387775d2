/* cmd/run/run_inject.c - what puts the library into a command: its file, a folder for what it
 * tells, and the environment that the command begins with. */
#include "cmd/run/run_inject.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file/executable.h"
#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "base/units.h"
#include "trace/shm/target_shm.h"

#define LIBRARY "libassay-preload.so"
#define PRELOAD "LD_PRELOAD"

static const char own_program[] = "/proc/self/exe";

/* ---- the library ---- */

static bool take(struct as_inject *inject, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || access(path, R_OK) != 0 ||
        strlen(path) >= sizeof inject->library)
        return false;
    memcpy(inject->library, path, strlen(path) + 1);
    return true;
}

/* Beside the program as it is built, or where it is installed relative to it. */
static bool find_library(struct as_inject *inject)
{
    static const char *const place[] = {"/" LIBRARY, "/../lib*/assay/" LIBRARY,
                                        "/../lib/*/assay/" LIBRARY};
    char own[PATH_MAX], path[PATH_MAX];
    ssize_t n = readlink(own_program, own, sizeof own - 1);
    bool found = false;
    char *slash;

    if (n <= 0)
        return false;
    own[n] = '\0';
    slash = strrchr(own, '/');
    if (!slash || strpbrk(own, "*?[\\"))
        return false;
    *slash = '\0';
    for (size_t i = 0; !found && i < AS_COUNT_OF(place); i++) {
        glob_t list = {0};

        if (snprintf(path, sizeof path, "%s%s", own, place[i]) >= (int)sizeof path)
            continue;
        if (glob(path, 0, NULL, &list) == 0)
            for (size_t k = 0; !found && k < list.gl_pathc; k++)
                found = take(inject, list.gl_pathv[k]);
        globfree(&list);
    }
    return found;
}

static const char *why_not(struct as_inject *inject, const char *program)
{
    if (!find_library(inject))
        return "the library " LIBRARY " stands neither beside assay nor in its lib/assay";
    if (strpbrk(inject->library, " \t:")) /* between libraries in LD_PRELOAD */
        return "the path of the library contains a space or a colon";
    return as_executable_why_not(program, own_program);
}

/* ---- the folder ---- */

#define FOLDER "assay-run-"

enum { STALE_SECONDS = 60 };

/* Only what lies in it directly: nobody else could put anything there. */
static void empty_folder(int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (own >= 0)
        close(own);
}

static int open_folder(int at, const char *name)
{
    return as_open_at(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/* What an assay that was killed has left takes memory for good: we tidy up after it. A folder that
 * is just being made has no lock yet, so only old ones go. */
static void sweep(const char *place)
{
    DIR *dir = opendir(place);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        struct stat st;
        int fd;

        if (strncmp(entry->d_name, FOLDER, sizeof FOLDER - 1) != 0)
            continue;
        fd = open_folder(dirfd(dir), entry->d_name);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            time(NULL) - st.st_mtime > STALE_SECONDS && as_lock_file(fd, LOCK_EX | LOCK_NB) == 0) {
            empty_folder(fd);
            (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
        }
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
}

/* A place where nobody but us and root can take our folder away from its name. */
static bool is_safe(const char *place)
{
    struct stat st;

    return stat(place, &st) == 0 && S_ISDIR(st.st_mode) &&
           (st.st_uid == 0 || st.st_uid == geteuid()) &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

/* In memory where there is such a place: shares are large, sparse and short-lived. */
static bool make_folder(struct as_inject *inject)
{
    const char *const place[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp"};

    for (size_t i = 0; i < AS_COUNT_OF(place); i++) {
        if (!place[i] || place[i][0] != '/' || !is_safe(place[i]) ||
            snprintf(inject->folder, sizeof inject->folder, "%s/" FOLDER "XXXXXX", place[i]) >=
                (int)sizeof inject->folder)
            continue;
        sweep(place[i]);
        if (!mkdtemp(inject->folder))
            continue;
        inject->lock_fd = as_fd_above_standard(open_folder(AT_FDCWD, inject->folder));
        if (inject->lock_fd >= 0)
            (void)as_lock_file(inject->lock_fd, LOCK_EX | LOCK_NB);
        return true;
    }
    inject->folder[0] = '\0';
    return false;
}

/* ---- the environment ---- */

static const char *join(struct as_arena *arena, const char *name, const char *value,
                        const char *more)
{
    size_t size = strlen(name) + strlen(value) + strlen(more) + 3;
    char *text = as_arena_alloc(arena, size);

    if (text)
        (void)snprintf(text, size, "%s=%s%s%s", name, value, more[0] ? ":" : "", more);
    return text;
}

static bool is_variable(const char *entry, const char *name)
{
    size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

/* Every variable stays where it was: the library takes its own out again, and nothing has moved. */
static int make_environment(struct as_inject *inject, const char *words, struct assay_error *err)
{
    const char *before = getenv(PRELOAD);
    const char *ours = join(&inject->arena, PRELOAD, inject->library, before ? before : "");
    const char *folder = join(&inject->arena, AS_SHM_ENV_FOLDER, inject->folder, "");
    const char *watch = join(&inject->arena, AS_SHM_ENV_OPTIONS, words, "");
    const char **list;
    size_t n = 0, to = 0;
    bool placed = false;

    while (environ[n])
        n++;
    list = as_arena_zero(&inject->arena, n + 5, sizeof *list);
    if (!ours || !folder || !watch || !list)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (is_variable(environ[i], AS_SHM_ENV_FOLDER) ||
            is_variable(environ[i], AS_SHM_ENV_OPTIONS) || is_variable(environ[i], AS_SHM_ENV_PAD))
            continue;
        if (is_variable(environ[i], PRELOAD) && placed)
            continue;
        placed |= is_variable(environ[i], PRELOAD);
        list[to++] = is_variable(environ[i], PRELOAD) ? ours : environ[i];
    }
    if (!placed) {
        list[to++] = ours;
        if (!strstr(words, "follow")) /* it is taken out again */
            list[to++] = AS_SHM_ENV_PAD "=";
    }
    list[to++] = folder;
    list[to++] = watch;
    inject->envp = list;
    return ASSAY_OK;
}

int as_inject_init(struct as_inject *inject, const char *program, const char *words,
                   struct assay_error *err)
{
    *inject = (struct as_inject){.envp = (const char *const *)environ};
    if (!words || !words[0]) {
        inject->why = "it was not asked for";
        return ASSAY_OK;
    }
    inject->why = why_not(inject, program);
    if (!inject->why && !make_folder(inject))
        inject->why = "no folder for it could be created in XDG_RUNTIME_DIR, /dev/shm or /tmp";
    if (inject->why)
        return ASSAY_OK;
    return make_environment(inject, words, err);
}

void as_inject_fini(struct as_inject *inject)
{
    if (inject->folder[0]) {
        if (inject->lock_fd >= 0)
            empty_folder(inject->lock_fd);
        (void)rmdir(inject->folder);
        if (inject->lock_fd >= 0)
            close(inject->lock_fd);
    }
    inject->folder[0] = '\0';
    as_arena_fini(&inject->arena);
}
