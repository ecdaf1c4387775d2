/* base/error.c - the one way a function says what went wrong. */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

const char *assay_code_text(int code)
{
    static const char *const text[] = {[0] = "ok",
#define X(name, number, words) [number] = (words),
                                       ASSAY_ERRORS(X)
#undef X
    };

    if (code > 0 || code <= -(int)(AS_COUNT_OF(text)) || !text[-code])
        return "unknown error";
    return text[-code];
}

AS_PRINTF(4, 0)
static int fill(struct assay_error *err, int code, int sys, const char *fmt, va_list args)
{
    int n;

    if (!err)
        return code;
    *err = (struct assay_error){.code = code, .sys = sys};
    n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
    if (sys && n >= 0 && (size_t)n + 3 < sizeof err->msg) {
        char words[96];
        const char *why = strerror_r(sys, words, sizeof words); /* GNU form: never fails */

        snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", why);
    }
    return code;
}

int as_fail(struct assay_error *err, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, 0, fmt, args);
    va_end(args);
    return code;
}

void as_error_add(struct assay_error *err, const char *hint)
{
    size_t used = err ? strlen(err->msg) : 0, size = strlen(hint);

    if (err && used + size < sizeof err->msg)
        memcpy(err->msg + used, hint, size + 1);
}

int as_fail_sys(struct assay_error *err, int code, const char *fmt, ...)
{
    int sys = errno;
    va_list args;

    va_start(args, fmt);
    fill(err, code, sys, fmt, args);
    va_end(args);
    return code;
}

int as_fail_at(struct assay_error *err, uint64_t offset, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, ASSAY_ERR_FORMAT, 0, fmt, args);
    va_end(args);
    if (err) {
        size_t n = strlen(err->msg);

        err->offset = offset;
        snprintf(err->msg + n, sizeof err->msg - n, " (byte %" PRIu64 ")", offset);
    }
    return ASSAY_ERR_FORMAT;
}

int as_fail_in_file(struct assay_error *err, int code, const char *path)
{
    struct assay_error inner;
    size_t space, skip;

    if (!err || code == ASSAY_ERR_NOMEM || strncmp(err->msg, path, strlen(path)) == 0)
        return code;
    inner = *err;
    /* A long path must not push the sentence out: its end names the file. */
    space = sizeof err->msg - strlen(inner.msg) - 3;
    skip = strlen(path) > space ? strlen(path) - space + 3 : 0;
    if (skip < strlen(path))
        (void)as_fail(err, code, "%s%s: %s", skip ? "..." : "", path + skip, inner.msg);
    err->sys = inner.sys;
    err->offset = inner.offset;
    return code;
}

/* A larger size was not set by sizeof: the memory behind the struct is not looked at. */
#define MOST_NEW_BYTES 4096

int as_sized_take(void *to, size_t size, const void *from, const char *what,
                  struct assay_error *err)
{
    const unsigned char *bytes = from;
    size_t given = size;

    memset(to, 0, size);
    if (from)
        memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > size + MOST_NEW_BYTES)
        return as_fail(err, ASSAY_ERR_USAGE, "%s without a size: begin with {.size = sizeof ...}",
                       what);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return as_fail(err, ASSAY_ERR_USAGE,
                           "%s with fields that this version of the library does not know", what);
    if (from)
        memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return ASSAY_OK;
}
