/* cmd/run/launch.c - finds a command as the shell would, and starts it as if nobody stood
 * before it. */
#include "cmd/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/executable.h"
#include "watch/watch_run.h"

/* The end of a child that nobody wants to hear of cannot be waited for; a run that cannot be
 * written to its end, or a summary that nobody reads, must not end us before the command. */
static const struct {
    int signal;
    bool ignored;
} own[AS_TARGET_SIGNALS] = {{SIGCHLD, false}, {SIGXFSZ, true}, {SIGPIPE, true}};

void as_launch_prepare(struct as_launch *target)
{
    struct sigaction action = {0};

    *target = (struct as_launch){0};
    /* Closed for the command it stays: what stands in for it is closed when it starts. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < AS_TARGET_SIGNALS; i++) {
        if (sigaction(own[i].signal, NULL, &action) != 0)
            continue;
        target->ignored[i] = action.sa_handler == SIG_IGN;
        target->changed[i] = target->ignored[i] != own[i].ignored;
        if (target->changed[i])
            (void)signal(own[i].signal, own[i].ignored ? SIG_IGN : SIG_DFL);
    }
    as_watch_signals_block(&target->mask);
}

/* ---- finding ---- */

enum found { FOUND, FOUND_NOTHING, FOUND_FOLDER, FOUND_NO_RIGHT, FOUND_UNKNOWN };

static enum found look_at(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        if (errno == EACCES)
            return FOUND_NO_RIGHT;
        return errno == EIO || errno == ENOMEM ? FOUND_UNKNOWN : FOUND_NOTHING;
    }
    if (S_ISDIR(st.st_mode))
        return FOUND_FOLDER;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0 && errno == EACCES)
        return FOUND_NO_RIGHT;
    return FOUND;
}

static int tell_found(enum found found, const char *name, struct assay_error *err)
{
    switch (found) {
    case FOUND:
    case FOUND_UNKNOWN: /* the exec reports why */
        return 0;
    case FOUND_FOLDER:
        (void)as_fail(err, ASSAY_ERR_USAGE, "%.160s is a folder, not a command", name);
        return AS_STATUS_NOT_EXECUTABLE;
    case FOUND_NO_RIGHT:
        (void)as_fail(err, ASSAY_ERR_USAGE, "%.160s cannot be executed: permission denied", name);
        return AS_STATUS_NOT_EXECUTABLE;
    case FOUND_NOTHING:
        break;
    }
    (void)as_fail(err, ASSAY_ERR_NOTFOUND, "command not found: %.160s", name);
    return AS_STATUS_NOT_FOUND;
}

/* The first that can be executed; the first that is there but cannot be counts for the sentence. */
static enum found search(struct as_launch *target, const char *name, const char *folders)
{
    enum found best = FOUND_NOTHING;

    for (const char *at = folders;;) {
        size_t size = strcspn(at, ":");
        int n = snprintf(target->path, sizeof target->path, "%.*s%s%s", (int)size, at,
                         size ? "/" : "", name);
        enum found found =
            n > 0 && n < (int)sizeof target->path ? look_at(target->path) : FOUND_NOTHING;

        if (found == FOUND)
            return FOUND;
        if (found == FOUND_NO_RIGHT && faccessat(AT_FDCWD, target->path, F_OK, 0) == 0)
            best = FOUND_NO_RIGHT;
        if (at[size] == '\0')
            return best;
        at += size + 1;
    }
}

int as_launch_find(struct as_launch *target, const char *name, struct assay_error *err)
{
    const char *folders = getenv("PATH");
    size_t size = strlen(name);

    if (size == 0)
        return tell_found(FOUND_NOTHING, "with an empty name", err);
    if (!strchr(name, '/'))
        return tell_found(search(target, name, folders ? folders : "/bin:/usr/bin"), name, err);
    if (size >= sizeof target->path)
        return tell_found(FOUND_NOTHING, name, err);
    memcpy(target->path, name, size + 1);
    return tell_found(look_at(name), name, err);
}

/* ---- starting ---- */

static char *const *writable(const char *const *list)
{
    return (char *const *)(uintptr_t)list; /* as exec wants it; it changes nothing */
}

/* The child has our memory until it executes: the failure comes back in it, and nothing else may be
 * touched. Fork handlers do not run. */
__attribute__((noinline)) static int start(const struct as_launch *target, const char *path,
                                           const char *const *argv, const char *const *envp,
                                           pid_t *out)
{
    volatile int failed = 0;
    pid_t pid = vfork(); /* NOLINT: fork would copy us, and count our memory as the command's */

    if (pid == 0) {
        /* NOLINTBEGIN(clang-analyzer-unix.Vfork): system calls on what is the child's own, its mask
         * and its list of signals, and a counter */
        for (size_t i = 0; i < AS_TARGET_SIGNALS; i++)
            if (target->changed[i])
                (void)signal(own[i].signal, target->ignored[i] ? SIG_IGN : SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &target->mask, NULL);
        /* NOLINTEND(clang-analyzer-unix.Vfork) */
        (void)execve(path, writable(argv), writable(envp));
        failed = errno;
        _exit(AS_STATUS_NOT_FOUND);
    }
    if (pid < 0)
        return errno;
    if (failed)
        (void)waitpid(pid, NULL, 0);
    *out = pid;
    return failed;
}

static bool is_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct as_executable program = {0};

    if (fd < 0)
        return false;
    as_executable_read(&program, fd);
    close(fd);
    return program.is_text;
}

/* A text without a first line that says what runs it is the shell's, as with execvp(). */
static int start_by_shell(const struct as_launch *target, const char *const *argv,
                          const char *const *envp, pid_t *pid)
{
    const char **list;
    size_t n = 0;
    int failed;

    while (argv[n])
        n++;
    list = as_alloc_zero(n + 2, sizeof *list);
    if (!list)
        return ENOMEM;
    list[0] = "/bin/sh";
    list[1] = target->path;
    for (size_t i = 1; i < n; i++)
        list[i + 1] = argv[i];
    failed = start(target, list[0], list, envp, pid);
    as_free((void *)(uintptr_t)list);
    return failed;
}

int as_launch_start(const struct as_launch *target, const char *const *argv,
                    const char *const *envp, pid_t *pid, struct assay_error *err)
{
    int failed = start(target, target->path, argv, envp, pid);

    if (failed == ENOEXEC && is_text(target->path))
        failed = start_by_shell(target, argv, envp, pid);
    if (!failed)
        return 0;
    errno = failed;
    if (failed == ENOEXEC)
        (void)as_fail(
            err, ASSAY_ERR_USAGE,
            "%.160s is not a program for this machine, nor a script that names its interpreter",
            target->path);
    else if (failed == ENOENT)
        (void)as_fail(err, ASSAY_ERR_USAGE,
                      "%.160s cannot be started: the interpreter or loader it names is not there",
                      target->path);
    else
        (void)as_fail_sys(err, ASSAY_ERR_IO, "%.160s cannot be started", target->path);
    return failed == ENOENT ? AS_STATUS_NOT_FOUND : AS_STATUS_NOT_EXECUTABLE;
}
