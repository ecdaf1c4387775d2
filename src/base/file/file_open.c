/* base/file/file_open.c - descriptors of files, whatever signals come. */
#include "base/file/file_open.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int as_fd_above_standard(int fd)
{
    int above, saved;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    saved = errno;
    (void)close(fd);
    errno = saved;
    return above;
}

int as_open_new_at(int folder, const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(folder, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return as_fd_above_standard(fd);
}

int as_open_at(int folder, const char *path, int flags)
{
    return as_open_new_at(folder, path, flags, 0);
}

int as_open(const char *path, int flags)
{
    return as_open_new_at(AT_FDCWD, path, flags, 0);
}

int as_lock_file(int fd, int how)
{
    int rc;

    do
        rc = flock(fd, how);
    while (rc != 0 && errno == EINTR);
    return rc;
}

int as_truncate_fd(int fd, off_t size)
{
    int rc;

    do
        rc = ftruncate(fd, size);
    while (rc != 0 && errno == EINTR);
    return rc;
}

int as_sync_fd(int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc;
}

const struct dirent *as_next_entry(DIR *dir, const char *path, int *rc, struct assay_error *err)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    if (!entry && errno)
        *rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot read the folder %.300s", path);
    return entry;
}
