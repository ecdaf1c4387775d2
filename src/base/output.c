/* base/output.c - bytes on their way out: to a descriptor, into memory, or into a file that appears
 * whole. Errors are kept and reported once, at as_out_close(); writing after an error does nothing.
 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define AS_OUT_CAPACITY ((size_t)64 * 1024)

bool as_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 &&
            errno ==
                EAGAIN) { /* somebody made the descriptor non-blocking: wait as if it were not */
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

static int start(struct as_out *out, int fd, const char *name, struct assay_error *err)
{
    *out = (struct as_out){.fd = fd, .name = name};
    out->buf = as_alloc(AS_OUT_CAPACITY);
    if (!out->buf)
        return as_fail_nomem(err);
    out->capacity = AS_OUT_CAPACITY;
    return ASSAY_OK;
}

int as_out_fd(struct as_out *out, int fd, const char *name, struct assay_error *err)
{
    return start(out, fd, name, err);
}

int as_out_memory(struct as_out *out, struct assay_error *err)
{
    return start(out, -1, "memory", err);
}

static int refuse_link(const char *path, struct assay_error *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? ASSAY_OK : as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
    if (S_ISDIR(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "cannot write %s: it is a directory", path);
    if (S_ISLNK(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO,
                       "cannot write %s: it is a symbolic link; name the file itself", path);
    return ASSAY_OK;
}

int as_out_file(struct as_out *out, const char *path, struct assay_error *err)
{
    int rc;
    size_t size = strlen(path) + sizeof ".part.4294967295";
    struct stat st;

    if (!path[0]) {
        *out = (struct as_out){.fd = -1};
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the file to write is empty");
    }
    /* A device or pipe cannot be renamed onto; it is written as it stands. */
    if (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
        rc = start(out, fd, path, err);
        if (rc == ASSAY_OK && !(out->path = as_strdup(path)))
            rc = as_fail_nomem(err);
        if (rc < 0) {
            as_free(out->buf);
            close(fd);
            *out = (struct as_out){.fd = -1};
        }
        return rc;
    }

    rc = start(out, -1, path, err);
    if (rc < 0)
        return rc;
    out->path = as_strdup(path);
    out->part = as_alloc(size);
    if (!out->path || !out->part) {
        rc = as_fail_nomem(err);
        goto out;
    }
    rc = refuse_link(path, err);
    if (rc < 0)
        goto out;
    snprintf(out->part, size, "%s.part.%u", path, (unsigned)getpid());
    out->fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
        as_free(out->part);
        out->part = NULL;
    }
    out->name = out->path;
out:
    if (rc < 0)
        as_out_drop(out);
    return rc;
}

bool as_out_reserve(struct as_out *out, size_t size)
{
    if (!as_out_ok(out) || !out->buf)
        return false;
    if (out->fd >= 0) {
        if (!as_write_all(out->fd, out->buf, out->used)) {
            out->sys = errno;
            return false;
        }
        out->used = 0;
        if (size <= out->capacity)
            return true;
    }
    while (out->capacity - out->used < size) {
        size_t capacity = out->capacity * 2;
        char *grown = capacity > out->capacity ? as_realloc(out->buf, capacity, 1) : NULL;

        if (!grown) {
            out->nomem = true;
            return false;
        }
        out->buf = grown;
        out->capacity = capacity;
    }
    return true;
}

void as_out_printf(struct as_out *out, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n > 0)
        as_out_put(out, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

const char *as_out_get(struct as_out *out, size_t *size)
{
    if (size)
        *size = out->used;
    if (out->capacity == out->used && !as_out_reserve(out, 1))
        return "";
    out->buf[out->used] = '\0';
    return out->buf;
}

static int tell(const struct as_out *out, struct assay_error *err)
{
    if (out->nomem)
        return as_fail_nomem(err);
    errno = out->sys;
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", out->name);
}

int as_out_close(struct as_out *out, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (!out->buf)
        return ASSAY_OK;
    if (as_out_ok(out) && out->fd >= 0 && !as_write_all(out->fd, out->buf, out->used))
        out->sys = errno;
    if (out->path && out->fd >= 0) {
        if (close(out->fd) != 0 && !out->sys)
            out->sys = errno;
        out->fd = -1;
    }
    if (out->sys || out->nomem)
        rc = tell(out, err);
    else if (out->part && rename(out->part, out->path) != 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", out->path);
    else if (out->part)
        out->part[0] = '\0'; /* published: nothing left to remove */
    as_out_drop(out);
    return rc;
}

void as_out_drop(struct as_out *out)
{
    if (out->path && out->fd >= 0)
        close(out->fd);
    if (out->part && out->part[0])
        unlink(out->part);
    as_free(out->part);
    as_free(out->path);
    as_free(out->buf);
    *out = (struct as_out){.fd = -1};
}
