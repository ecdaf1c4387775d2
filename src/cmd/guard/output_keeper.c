/* cmd/guard/output_keeper.c - a process that keeps the right to put the outputs of a confined
 * command in place. */
#include "cmd/guard/output_keeper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/file/prepared.h"
#include "base/output.h"
#include "base/units.h"
#include "trace/run/run_path.h"

enum { MOST_FOLDERS = 16, RUN_STEPS = 1000 /* requests from here on are about the run */ };

/* A folder that was made, and how much of its path was there before. */
struct made {
    char path[PATH_MAX];
    size_t there;
};

struct answer {
    int rc;
    struct assay_error err;
};

static struct {
    struct made made[MOST_FOLDERS];
    size_t n_made;
    char temporary[AS_TEMPORARY_PATH];
    bool has_run;
    volatile pid_t pid, owner;
    volatile int fd; /* to it */
} keeper = {.fd = -1};

/* ---- before ---- */

/* The folder of `path` in the list, if a part of it is missing. */
static void remember_folder(const char *path)
{
    struct made *m = &keeper.made[keeper.n_made];
    size_t size = strlen(path);

    if (keeper.n_made == MOST_FOLDERS || size == 0 || size >= sizeof m->path)
        return;
    memcpy(m->path, path, size + 1);
    while (size > 0 && access(m->path, F_OK) != 0) {
        while (size > 0 && m->path[size - 1] == '/')
            size--;
        while (size > 0 && m->path[size - 1] != '/')
            size--;
        m->path[size] = '\0';
    }
    m->there = size;
    memcpy(m->path, path, strlen(path) + 1);
    keeper.n_made += size < strlen(path);
}

bool as_output_keep(const char *path)
{
    return as_prepared_add(path);
}

bool as_output_keep_run(const char *path, const char **temp)
{
    keeper.has_run = as_run_path_prepare(path, temp);
    return keeper.has_run;
}

void as_output_keep_folder(const char *path, mode_t mode)
{
    remember_folder(path);
    (void)!as_folder_make(path, mode, NULL); /* the command tries again, and says why not */
}

void as_output_keep_temporary(const char *path)
{
    (void)snprintf(keeper.temporary, sizeof keeper.temporary, "%s", path);
}

/* ---- the process ---- */

static bool receive(int fd, void *to, size_t size)
{
    return recv(fd, to, size, MSG_WAITALL) == (ssize_t)size;
}

static bool put(int fd, const void *from, size_t size)
{
    return send(fd, from, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void remove_empty(const struct made *m)
{
    char path[PATH_MAX];
    size_t size = strlen(m->path);

    memcpy(path, m->path, size + 1);
    while (size > m->there && rmdir(path) == 0) {
        while (size > m->there && path[size - 1] == '/')
            size--;
        while (size > m->there && path[size - 1] != '/')
            size--;
        path[size] = '\0';
    }
}

static int do_step(uint32_t i, struct assay_error *err)
{
    if (i < RUN_STEPS)
        return as_prepared_publish(i, err);
    return keeper.has_run ? as_run_path_step(i == RUN_STEPS ? AS_RUN_PUBLISH : AS_RUN_UNDO, err)
                          : as_fail(err, ASSAY_ERR_STATE, "there is no such output");
}

static void drop(void)
{
    as_prepared_drop();
    if (keeper.has_run)
        (void)!as_run_path_step(AS_RUN_DROP, NULL);
}

/* Whatever ends the command must not end us before it has. */
static void keep(int fd)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU};
    uint32_t i;

    for (size_t k = 0; k < AS_COUNT_OF(ending); k++)
        (void)signal(ending[k], SIG_IGN);
    (void)prctl(PR_SET_NAME, "assay-outputs");
    while (receive(fd, &i, sizeof i)) {
        struct answer answer = {0};

        answer.rc = do_step(i, &answer.err);
        if (!put(fd, &answer, sizeof answer))
            break;
    }
    drop();
    if (keeper.temporary[0])
        as_temporary_folder_clean(keeper.temporary);
    for (size_t k = keeper.n_made; k > 0; k--)
        remove_empty(&keeper.made[k - 1]);
    _exit(0);
}

static int ask(size_t i, struct assay_error *err)
{
    uint32_t number = (uint32_t)i;
    struct answer answer;

    if (!put(keeper.fd, &number, sizeof number) || !receive(keeper.fd, &answer, sizeof answer))
        return as_fail(err, ASSAY_ERR_IO,
                       "cannot put an output in place: the process that does "
                       "it has ended");
    if (err && answer.rc < 0)
        *err = answer.err;
    return answer.rc;
}

static int ask_run(enum as_run_step step, struct assay_error *err)
{
    return ask(RUN_STEPS + (size_t)step, err);
}

bool as_output_keeper_start(void)
{
    int fd[2];
    pid_t pid;

    if (as_prepared_count() + keeper.n_made == 0 && !keeper.temporary[0] && !keeper.has_run)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return false;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)close(fd[0]);
        keep(fd[1]);
    }
    (void)close(fd[1]);
    if (pid < 0) {
        (void)close(fd[0]);
        drop();
        keeper.has_run = false;
        return false;
    }
    keeper.fd = fd[0];
    keeper.pid = pid;
    keeper.owner = getpid();
    as_prepared_use(ask);
    if (keeper.has_run)
        as_run_path_use(ask_run);
    return true;
}

void as_output_keeper_end(void)
{
    int saved = errno;

    if (keeper.pid > 0 && keeper.owner == getpid()) {
        (void)close(keeper.fd);
        keeper.fd = -1;
        while (waitpid(keeper.pid, NULL, 0) < 0 && errno == EINTR)
            ;
        keeper.pid = 0;
    }
    errno = saved;
}
