/* base/file/file_read.c - reading that goes on after a signal and after a piece that was too short,
 * and knows an error from the end of a file. */
#include "base/file/file_read.h"

#include <errno.h>
#include <unistd.h>

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

int as_pread_all(int fd, void *to, size_t size, uint64_t at, const char *path,
                 struct assay_error *err)
{
    ssize_t n = as_pread_some(fd, to, size, at);

    if (n < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", path);
    if ((size_t)n < size)
        return as_fail(err, ASSAY_ERR_IO,
                       "%s was cut short while it was read: it ends at byte %llu", path,
                       (unsigned long long)(at + (uint64_t)n));
    return ASSAY_OK;
}
