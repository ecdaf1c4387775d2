/* base/file/new_file.c - the one way by which a file comes to be. */
#include "base/file/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_guard.h"
#include "base/file/file_open.h"
#include "base/file/prepared.h"

enum { OWN_MODE = 0600, TRIES = 64 };

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

bool as_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            /* Somebody made the descriptor non-blocking: wait as if it were not. */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            poll(&ready, 1, -1);
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Linux has closed the descriptor even when a signal came. */
static bool close_well(int *fd)
{
    int rc = *fd >= 0 ? close(*fd) : 0;

    *fd = -1;
    return rc == 0 || errno == EINTR;
}

static int cannot(const struct as_new_file *file, struct assay_error *err)
{
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", file->path);
}

/* ---- names ---- */

/* Nobody else can know it: whoever may write in the folder can neither put a file in our way nor
 * take ours for theirs. */
static void choose_name(char name[40])
{
    uint64_t random = 0;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = (uint64_t)(uintptr_t)&random ^ ((uint64_t)getpid() << 32); /* O_EXCL still holds */
    (void)snprintf(name, 40, ".assay-%016llx.part", (unsigned long long)random);
}

/* Remembered before it is there, so that no signal falls in between. */
static void take_name(struct as_new_file *file)
{
    choose_name(file->part);
    file->temporary = as_temporary_add(file->folder, file->part);
}

static void leave_name(struct as_new_file *file)
{
    as_temporary_forget(file->temporary);
    file->temporary = NULL;
    file->part[0] = '\0';
}

/* ---- opening ---- */

static int open_folder(struct as_new_file *file, struct assay_error *err)
{
    size_t size = (size_t)(file->name - file->path);
    char *folder = as_alloc(size + 2);

    if (!folder)
        return as_fail_nomem(err);
    (void)snprintf(folder, size + 2, "%.*s", (int)(size ? size : 1), size ? file->path : ".");
    file->folder = as_open(folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    file->syncable = file->folder >= 0;
    if (file->folder < 0 && errno == EACCES) /* it can be written, only not listed */
        file->folder = as_open(folder, O_PATH | O_DIRECTORY);
    as_free(folder);
    return file->folder < 0 ? cannot(file, err) : ASSAY_OK;
}

/* Whoever made a pipe with a name reads what is written into it. One without is reached only
 * through a descriptor that was given to us. */
static bool is_ours_to_write(int fd, const struct stat *st)
{
    struct statfs system;

    if (S_ISCHR(st->st_mode))
        return true;
    return S_ISFIFO(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid() ||
                                     (fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC));
}

/* A device or pipe cannot be replaced, it is written as it stands: 1. What is opened is what was
 * looked at, whatever happens to the name meanwhile. 0: it is neither. */
static int open_stream(struct as_new_file *file, const struct stat *link, struct assay_error *err)
{
    bool trusted = !S_ISLNK(link->st_mode) || link->st_uid == 0 || link->st_uid == geteuid();
    int seen = trusted ? as_open(file->path, O_PATH) : -1;
    char again[64];
    struct stat st;
    int rc = 0;

    if (seen < 0)
        return 0;
    if (fstat(seen, &st) == 0 && is_ours_to_write(seen, &st)) {
        (void)snprintf(again, sizeof again, "/proc/self/fd/%d", seen);
        file->fd = as_open(again, O_WRONLY | O_NOCTTY);
        rc = file->fd < 0 ? cannot(file, err) : 1;
    }
    (void)close(seen);
    return rc;
}

/* What stands at the name, and whether it may be replaced: 1, or 0 when there is nothing. */
static int look_at(const struct as_new_file *file, struct stat *st, struct assay_error *err)
{
    int rc;

    if (fstatat(file->folder, file->name, st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cannot(file, err);
    if (S_ISDIR(st->st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is a directory", file->path);
    if (S_ISLNK(st->st_mode))
        return as_fail(err, ASSAY_ERR_IO,
                       "cannot write %s: it is a symbolic link; name the file itself", file->path);
    if (S_ISFIFO(st->st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is a pipe of another user",
                       file->path);
    if (!S_ISREG(st->st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is not a regular file", file->path);
    if (file->only_new)
        return as_fail(err, ASSAY_ERR_STATE, "%s is there already", file->path);
    rc = as_guard_check(file->folder, file->name, st, file->path, err);
    return rc < 0 ? rc : 1;
}

/* The file that is written: without a name where the file system can do that, so that nothing is
 * left even of a program that is killed. */
static int open_part(struct as_new_file *file, struct assay_error *err)
{
    char again[64];

    file->fd = as_open_new_at(file->folder, ".", O_TMPFILE | O_WRONLY, OWN_MODE);
    if (file->fd >= 0) {
        (void)snprintf(again, sizeof again, "/proc/self/fd/%d", file->fd);
        if (access(again, F_OK) == 0) /* without /proc it could not be given a name */
            return ASSAY_OK;
        (void)close_well(&file->fd);
    } else if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) {
        return cannot(file, err);
    }
    for (int i = 0; i < TRIES; i++) {
        take_name(file);
        file->fd = as_open_new_at(file->folder, file->part,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, OWN_MODE);
        if (file->fd >= 0)
            return ASSAY_OK;
        leave_name(file);
        if (errno != EEXIST)
            break;
    }
    return cannot(file, err);
}

static int open_file(struct as_new_file *file, struct assay_error *err)
{
    struct stat st;
    int rc = 0;

    if (lstat(file->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        rc = open_stream(file, &st, err);
    if (rc != 0)
        return rc < 0 ? rc : ASSAY_OK;
    rc = open_folder(file, err);
    if (rc == ASSAY_OK)
        rc = look_at(file, &st, err);
    return rc < 0 ? rc : open_part(file, err);
}

int as_new_file_open(struct as_new_file *file, const char *path, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    int rc;

    if (as_prepared_take(file, path))
        return ASSAY_OK;
    *file = (struct as_new_file){.fd = -1, .folder = -1};
    if (!path[0])
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the file to write is empty");
    if (slash && !slash[1])
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is a directory", path);
    file->path = as_strdup(path);
    if (!file->path)
        return as_fail_nomem(err);
    file->name = slash ? file->path + (slash - path) + 1 : file->path;
    rc = open_file(file, err);
    if (rc < 0)
        as_new_file_drop(file);
    return rc;
}

int as_new_file_create(const char *path, int flags, struct assay_error *err)
{
    int fd = as_open_new_at(AT_FDCWD, path, O_CREAT | O_EXCL | O_NOFOLLOW | flags, OWN_MODE);

    return fd < 0 ? as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path) : fd;
}

/* ---- publishing ---- */

/* As readable as the file it replaces, and no more: where its group cannot be kept, a right of the
 * group would be one of another group. A file of another user decides nothing: whoever put it there
 * would choose who reads ours. */
static bool keep_mode(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    if (st.st_uid != old->st_uid)
        return true;
    if (st.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0)
        mode &= ~(mode_t)070 | (mode & 7) << 3;
    return fchmod(fd, mode) == 0;
}

/* File systems that cannot do it say so; that is no failure of the disk. */
static bool put_on_disk(int fd)
{
    return as_sync_fd(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

static bool give_name(struct as_new_file *file)
{
    char from[64];

    (void)snprintf(from, sizeof from, "/proc/self/fd/%d", file->fd);
    for (int i = 0; i < TRIES && !file->part[0]; i++) {
        take_name(file);
        if (linkat(AT_FDCWD, from, file->folder, file->part, AT_SYMLINK_FOLLOW) == 0)
            return true;
        leave_name(file);
        if (errno != EEXIST)
            return false;
    }
    return file->part[0];
}

/* Into place. What has come there since we looked is looked at in turn. */
static int put_in_place(struct as_new_file *file, struct assay_error *err)
{
    struct stat st;

    for (int i = 0; i < TRIES; i++) {
        int there = look_at(file, &st, err);
        bool done;

        if (there < 0)
            return there;
        if (there > 0) {
            done = renameat(file->folder, file->part, file->folder, file->name) == 0;
        } else {
            done = syscall(SYS_renameat2, file->folder, file->part, file->folder, file->name,
                           RENAME_NOREPLACE) == 0;
            if (!done && (errno == EINVAL || errno == ENOSYS)) /* the file system cannot */
                done = renameat(file->folder, file->part, file->folder, file->name) == 0;
            else if (!done && errno == EEXIST)
                continue;
        }
        if (!done)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", file->path);
        leave_name(file);
        return ASSAY_OK;
    }
    return as_fail(err, ASSAY_ERR_IO, "cannot put %s in place: it comes and goes", file->path);
}

static int publish(struct as_new_file *file, struct assay_error *err)
{
    struct stat old;
    int there = look_at(file, &old, err), rc;

    if (there < 0)
        return there;
    as_guard_output(file->fd);
    if ((there > 0 && !keep_mode(file->fd, &old)) || !put_on_disk(file->fd) || !give_name(file) ||
        !close_well(&file->fd))
        return cannot(file, err);
    rc = put_in_place(file, err);
    if (rc < 0)
        return rc;
    if (file->syncable && !put_on_disk(file->folder))
        return as_fail_sys(err, ASSAY_ERR_IO,
                           "%s is written, but its folder could not be put on the disk",
                           file->path);
    return ASSAY_OK;
}

/* What has come there since is looked at here, where it is known what was read. */
static int publish_prepared(struct as_new_file *file, struct assay_error *err)
{
    struct stat old;
    int there = look_at(file, &old, err);

    if (there < 0)
        return there;
    as_guard_output(file->fd);
    return close_well(&file->fd) ? as_prepared_ask(file->prepared - 1, err) : cannot(file, err);
}

int as_new_file_publish(struct as_new_file *file, struct assay_error *err)
{
    int rc;

    if (file->prepared)
        rc = publish_prepared(file, err);
    else if (file->folder >= 0)
        rc = publish(file, err);
    else
        rc = close_well(&file->fd) ? ASSAY_OK : cannot(file, err);
    as_new_file_drop(file);
    return rc;
}

void as_new_file_drop(struct as_new_file *file)
{
    if (file->fd >= 0)
        (void)close_well(&file->fd);
    if (file->part[0] && !file->prepared)
        (void)unlinkat(file->folder, file->part, 0);
    leave_name(file);
    if (file->folder >= 0)
        (void)close_well(&file->folder);
    as_free(file->path);
    *file = (struct as_new_file){.fd = -1, .folder = -1};
}
