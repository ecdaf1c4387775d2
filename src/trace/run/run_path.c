/* trace/run/run_path.c - the files of a run: the run itself, its ring, the run it replaces, the
 * runs of children. */
#include "trace/run/run_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/run/run_format.h"

static bool fits(int n, size_t capacity)
{
    return n >= 0 && (size_t)n < capacity;
}

bool as_run_path_ring(char *out, size_t capacity, const char *path)
{
    return fits(snprintf(out, capacity, "%s.ring", path), capacity);
}

bool as_run_path_child(char *out, size_t capacity, const char *path, long pid)
{
    static const char suffix[] = ".assay";
    size_t size = strlen(path), tail = sizeof suffix - 1;

    if (size > tail && strcmp(path + size - tail, suffix) == 0)
        return fits(snprintf(out, capacity, "%.*s.%ld%s", (int)(size - tail), path, pid, suffix),
                    capacity);
    return fits(snprintf(out, capacity, "%s.%ld", path, pid), capacity);
}

/* The pid that holds the ring of `path` locked, or 0. */
static long recorded_by(const char *path)
{
    char ring[PATH_MAX];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    long pid = 0;
    int fd;

    if (!as_run_path_ring(ring, sizeof ring, path))
        return 0;
    fd = open(ring, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        pid = lock.l_pid > 0 ? lock.l_pid : 1;
    close(fd);
    return pid;
}

bool as_run_path_is_recorded(const char *path)
{
    return recorded_by(path) != 0;
}

int as_run_path_check(const char *path, struct assay_error *err)
{
    char magic[8] = {0};
    struct stat st;
    long pid;
    int fd;

    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return ASSAY_OK;
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot record into %s", path);
    }
    if (S_ISLNK(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot record into %s: it is a symbolic link", path);
    if (!S_ISREG(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot record into %s: it is not a regular file", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read the older %s", path);
    if (st.st_size > 0 &&
        (read(fd, magic, sizeof magic) < 8 || memcmp(magic, AS_RUN_MAGIC, 8) != 0)) {
        close(fd);
        return as_fail(err, ASSAY_ERR_IO,
                       "%s exists and is not a run file; remove it or choose another name", path);
    }
    close(fd);
    pid = recorded_by(path);
    if (pid)
        return as_fail(err, ASSAY_ERR_STATE, "process %ld is recording into %s", pid, path);
    return ASSAY_OK;
}

void as_run_path_remove_alone(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    (void)unlink(path);
    if (!fits(snprintf(folder, sizeof folder, "%s", path), sizeof folder))
        return;
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (slash && slash > folder)
        (void)rmdir(folder);
}

int as_run_path_create(char *temp, size_t capacity, const char *path, struct assay_error *err)
{
    int fd;

    if (!fits(snprintf(temp, capacity, "%s.new.%ld", path, (long)getpid()), capacity))
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 &&
        errno == EEXIST) { /* left by a process that died in this very call and had our number */
        unlink(temp);
        fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    }
    if (fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot create %s", path);
    return fd;
}

/* Both kinds of file begin with 8 bytes of magic and 8 of numbers, then the identity of the run. */
static bool read_id(const char *path, uint8_t id[AS_RUN_ID_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ok = fd >= 0 && pread(fd, id, AS_RUN_ID_BYTES, 16) == AS_RUN_ID_BYTES;

    if (fd >= 0)
        close(fd);
    return ok;
}

/* Puts the ring of the older run aside. Without one, a ring of that name belongs to a still older
 * run and goes; but a program killed between this and the next step may have moved it already. */
static void keep_ring(const char *path, const char *ring, const char *old_ring)
{
    uint8_t id[AS_RUN_ID_BYTES], ring_id[AS_RUN_ID_BYTES];

    if (rename(ring, old_ring) == 0 || errno != ENOENT || !read_id(old_ring, ring_id))
        return;
    if (!read_id(path, id) || memcmp(id, ring_id, sizeof id) != 0)
        unlink(old_ring);
}

int as_run_path_publish(const char *temp_run, const char *temp_ring, const char *path,
                        struct assay_error *err)
{
    char ring[PATH_MAX], old[PATH_MAX], old_ring[PATH_MAX];
    struct stat st;

    if (!as_run_path_ring(ring, sizeof ring, path) ||
        !fits(snprintf(old, sizeof old, "%s.old", path), sizeof old) ||
        !as_run_path_ring(old_ring, sizeof old_ring, old))
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    if (lstat(path, &st) == 0 && st.st_size > 0) {
        keep_ring(path, ring, old_ring); /* there is one only when the older program was killed */
        if (rename(path, old) != 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot keep the older run as %s", old);
    }
    if ((temp_ring && rename(temp_ring, ring) != 0) || rename(temp_run, path) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", path);
    return ASSAY_OK;
}
