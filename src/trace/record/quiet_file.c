/* trace/record/quiet_file.c - files as the recorder uses them inside somebody else's program: bare
 * system calls. */
#include "trace/record/quiet_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define HIGH_NUMBER 960 /* select() knows 1024, and so does the usual limit */
#define FIRST_FREE  3   /* below are standard input, output and error, or where they will be */

static int open_once(int folder, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = (int)syscall(SYS_openat, folder, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* A program may have closed its first three descriptors. What stands there for a moment is the
 * number of a folder, which nothing can be written to or read from. */
int as_quiet_open(int folder, const char *name, int flags, mode_t mode)
{
    int low[FIRST_FREE], n_low = 0, fd;

    for (;;) {
        fd = open_once(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (fd < 0 || fd >= FIRST_FREE || n_low == FIRST_FREE)
            break;
        low[n_low++] = fd;
    }
    as_quiet_close(&fd);
    fd = open_once(folder, name, flags, mode);
    while (n_low > 0)
        as_quiet_close(&low[--n_low]);
    return fd;
}

void as_quiet_close(int *fd)
{
    int kept = errno;

    if (*fd >= 0)
        (void)syscall(SYS_close, *fd); /* after EINTR it is closed as well */
    *fd = -1;
    errno = kept;
}

static int high_number(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > HIGH_NUMBER + 64)
        return HIGH_NUMBER;
    return limit.rlim_cur > 128 ? (int)limit.rlim_cur - 64 : FIRST_FREE;
}

int as_quiet_raise(int fd, bool closes)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, high_number());

    if (high < 0)
        high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (closes)
        as_quiet_close(&fd);
    return high;
}

/* Where a long does not hold an offset, the kernel takes it in two halves. */
#define LOW(offset)  ((long)(offset))
#define HIGH(offset) ((long)((offset) >> 16 >> 16))

ssize_t as_quiet_read(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        struct iovec part = {(char *)to + done, size - done};
        uint64_t at = offset + done;
        ssize_t n = syscall(SYS_preadv, fd, &part, 1, LOW(at), HIGH(at));

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

ssize_t as_quiet_write(int fd, const struct iovec *part, int n_parts, uint64_t offset)
{
    return syscall(SYS_pwritev, fd, part, n_parts, LOW(offset), HIGH(offset));
}

bool as_quiet_write_all(int fd, const void *from, size_t size, uint64_t offset)
{
    union {
        const void *in;
        char *out;
    } view = {.in = from}; /* pwritev takes a pointer to non-const and does not write */
    size_t done = 0;

    while (done < size) {
        struct iovec part = {view.out + done, size - done};
        ssize_t n = as_quiet_write(fd, &part, 1, offset + done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static bool repeat(long (*call)(int, uint64_t), int fd, uint64_t number)
{
    long rc;

    do
        rc = call(fd, number);
    while (rc < 0 && errno == EINTR);
    return rc == 0;
}

static long call_truncate(int fd, uint64_t size)
{
    return syscall(SYS_ftruncate, fd, (long)size);
}

static long call_sync(int fd, uint64_t unused)
{
    (void)unused;
    return syscall(SYS_fdatasync, fd);
}

static long call_chmod(int fd, uint64_t mode)
{
    return syscall(SYS_fchmod, fd, (mode_t)mode);
}

bool as_quiet_truncate(int fd, uint64_t size)
{
    return repeat(call_truncate, fd, size);
}

bool as_quiet_sync(int fd)
{
    return repeat(call_sync, fd, 0);
}

bool as_quiet_chmod(int fd, mode_t mode)
{
    return repeat(call_chmod, fd, mode);
}

/* For file systems without fallocate(). */
static bool write_zeros(int fd, uint64_t offset, size_t bytes)
{
    static const uint8_t zeros[4096];

    while (bytes > 0) {
        size_t n = bytes < sizeof zeros ? bytes : sizeof zeros;

        if (!as_quiet_write_all(fd, zeros, n, offset))
            return false;
        offset += n;
        bytes -= n;
    }
    return true;
}

bool as_quiet_reserve(int fd, uint64_t offset, size_t bytes)
{
    long rc;

    do /* two numbers each where a long does not hold an offset */
        rc = sizeof(long) < 8 ? (errno = EOPNOTSUPP, -1L)
                              : syscall(SYS_fallocate, fd, 0, (long)offset, (long)bytes);
    while (rc < 0 && errno == EINTR);
    return rc == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(fd, offset, bytes));
}

static bool identify(int folder, const char *name, int flags, struct as_file_id *id)
{
    struct statx s;

    *id = (struct as_file_id){0};
    if (syscall(SYS_statx, folder, name, flags, STATX_BASIC_STATS, &s) != 0)
        return false;
    *id = (struct as_file_id){.device = (uint64_t)s.stx_dev_major << 32 | s.stx_dev_minor,
                              .inode = s.stx_ino,
                              .mode = s.stx_mode,
                              .uid = s.stx_uid,
                              .size_bytes = s.stx_size};
    return true;
}

bool as_quiet_identify(int fd, struct as_file_id *id)
{
    return identify(fd, "", AT_EMPTY_PATH, id);
}

bool as_quiet_identify_at(int folder, const char *name, struct as_file_id *id)
{
    return identify(folder, name, AT_SYMLINK_NOFOLLOW, id);
}

bool as_quiet_link(int folder, const char *from, const char *to)
{
    return syscall(SYS_linkat, folder, from, folder, to, 0) == 0;
}

bool as_quiet_rename(int folder, const char *from, const char *to, bool keep)
{
    if (syscall(SYS_renameat2, folder, from, folder, to, keep ? RENAME_NOREPLACE : 0) == 0)
        return true;
    if (!keep || (errno != EINVAL && errno != ENOSYS))
        return false;
    /* A second name that is free, then the first goes: as good where links are known. */
    return as_quiet_link(folder, from, to) && syscall(SYS_unlinkat, folder, from, 0) == 0;
}

bool as_quiet_remove(int folder, const char *name, const struct as_file_id *id)
{
    struct as_file_id there;

    if (!as_quiet_identify_at(folder, name, &there))
        return false;
    if (!as_file_is_same(&there, id)) {
        errno = ESTALE;
        return false;
    }
    return syscall(SYS_unlinkat, folder, name, 0) == 0;
}

bool as_quiet_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool as_quiet_is_locked(int fd, long *pid)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};

    *pid = 0;
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return false;
    *pid = lock.l_pid > 0 ? lock.l_pid : 0;
    return true;
}

uint64_t as_quiet_random(void)
{
    uint64_t bits;

    if (syscall(SYS_getrandom, &bits, sizeof bits, 1 /* GRND_NONBLOCK */) == (long)sizeof bits)
        return bits;
    return (as_clock_mono_ns() ^ (uint64_t)getpid() << 40) * UINT64_C(0x9e3779b97f4a7c15) ^
           (uint64_t)(uintptr_t)&bits;
}
