/* base/output.c - bytes on their way out: to a descriptor, into memory, or into a file that appears
 * whole. Errors are kept and reported once, at as_out_close(); writing after an error does nothing.
 */
#include "base/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file/new_file.h"

#define AS_OUT_CAPACITY ((size_t)64 * 1024)

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

int as_out_file(struct as_out *out, const char *path, struct assay_error *err)
{
    struct as_new_file *file = as_alloc(sizeof *file);
    int rc;

    *out = (struct as_out){.fd = -1};
    if (!file)
        return as_fail_nomem(err);
    rc = as_new_file_open(file, path, err);
    if (rc < 0) {
        as_free(file);
        return rc;
    }
    rc = start(out, file->fd, file->path, err);
    out->file = file;
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
    if (out->sys || out->nomem)
        rc = tell(out, err);
    else if (out->file)
        rc = as_new_file_publish(out->file, err);
    as_out_drop(out);
    return rc;
}

void as_out_drop(struct as_out *out)
{
    if (out->file)
        as_new_file_drop(out->file);
    as_free(out->file);
    as_free(out->buf);
    *out = (struct as_out){.fd = -1};
}
