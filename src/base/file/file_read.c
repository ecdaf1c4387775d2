/* base/file/file_read.c - reading that goes on after a signal and after a piece that was too short,
 * and knows an error from the end of a file. */
#include "base/file/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/file/new_file.h"

ssize_t as_read_some(int fd, void *to, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, (char *)to + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t as_pread_some(int fd, void *to, size_t size, uint64_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Root may keep files for us. */
static bool is_ours(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    errno = S_ISREG(st.st_mode) ? EPERM : EINVAL;
    return S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) &&
           (st.st_uid == geteuid() || st.st_uid == 0);
}

ssize_t as_read_kept(const char *path, void *to, size_t size)
{
    /* Not waiting: somebody may have put a pipe there. */
    int fd = as_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    ssize_t n = -1;
    int saved;

    if (fd < 0) {
        errno = errno == ELOOP ? EPERM : errno;
        return -1;
    }
    if (is_ours(fd))
        n = as_read_some(fd, to, size);
    saved = errno;
    (void)close(fd);
    errno = saved;
    return n;
}

int as_pread_all(int fd, void *to, size_t size, uint64_t at, const char *path,
                 struct assay_error *err)
{
    ssize_t n = as_pread_some(fd, to, size, at);

    if (n < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", path);
    if ((size_t)n < size)
        return as_fail(err, ASSAY_ERR_IO,
                       "%s was cut short while it was read: it ends at byte %llu", path,
                       (unsigned long long)at + (unsigned long long)n);
    return ASSAY_OK;
}
