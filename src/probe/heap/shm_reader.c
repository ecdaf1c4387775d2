/* probe/heap/shm_reader.c - opens the share of a watched process and reads pieces of it.
 * It is read, never mapped: a target that shortens its file must not stop whoever looks at it. */
#include "probe/heap/heap_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int as_shm_read(int fd, const char *path, uint64_t offset, void *out, size_t size,
                struct assay_error *err)
{
    char *at = out;

    if (offset > AS_SHM_BYTES || size > AS_SHM_BYTES - offset)
        return as_fail(err, ASSAY_ERR_LIMIT,
                       "%s: an address outside of the shared memory was requested", path);
    while (size > 0) {
        ssize_t got = pread(fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", path);
        if (got == 0)
            return as_fail_at(err, offset, "%s was truncated", path);
        at += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return ASSAY_OK;
}

static int check_share(int fd, const char *path, struct as_shm_header *header,
                       struct assay_error *err)
{
    struct stat info;
    int rc;

    if (fstat(fd, &info) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", path);
    if (!S_ISREG(info.st_mode))
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a regular file", path);
    rc = as_shm_read(fd, path, 0, header, sizeof *header, err);
    if (rc < 0)
        return rc;
    if (header->magic != AS_SHM_MAGIC || header->size_bytes != AS_SHM_BYTES)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "%s is not what a watched process of this version writes", path);
    header->program[sizeof header->program - 1] = '\0';
    return ASSAY_OK;
}

int as_shm_open(const char *path, int *fd, struct as_shm_header *header, struct assay_error *err)
{
    int rc;

    /* Without waiting for the other end of a pipe. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot open %s", path);
    rc = check_share(*fd, path, header, err);
    if (rc < 0) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}
