/* base/output.h - bytes on their way out: to a descriptor, into memory, or into a file that appears
 * whole. Errors are kept and reported once, at as_out_close(); writing after an error does nothing.
 */
#ifndef AS_BASE_OUTPUT_H
#define AS_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file/new_file.h"

struct as_out {
    char *buf;
    size_t used, capacity;
    uint64_t total_bytes; /* put so far, flushed or not */
    int fd;               /* -1 for memory */
    int sys;              /* errno of the first failure, 0 while all is well */
    bool nomem;
    const char *name;         /* for messages */
    struct as_new_file *file; /* published at as_out_close(); NULL otherwise */
};

/* Writes to `fd`, which stays the caller's. `name` is borrowed for messages. */
AS_MUST_USE int as_out_fd(struct as_out *out, int fd, const char *name, struct assay_error *err);

/* Collects in memory; as_out_text() borrows it. */
AS_MUST_USE int as_out_memory(struct as_out *out, struct assay_error *err);

/* Puts the whole file at `path` at as_out_close(); nothing appears, and an older file stays, when
 * anything failed. What is refused: base/file/new_file.h and file_guard.h. */
AS_MUST_USE int as_out_file(struct as_out *out, const char *path, struct assay_error *err);

/* The slow half of the calls below: makes room by writing out or growing. */
bool as_out_reserve(struct as_out *out, size_t size);

static inline void as_out_put(struct as_out *out, const void *data, size_t size)
{
    if (out->capacity - out->used < size && !as_out_reserve(out, size))
        return;
    memcpy(out->buf + out->used, data, size);
    out->used += size;
    out->total_bytes += size;
}

static inline void as_out_text(struct as_out *out, const char *text)
{
    as_out_put(out, text, strlen(text));
}

static inline void as_out_char(struct as_out *out, char c)
{
    as_out_put(out, &c, 1);
}

AS_PRINTF(2, 3) void as_out_printf(struct as_out *out, const char *fmt, ...);

/* True while nothing went wrong. */
static inline bool as_out_ok(const struct as_out *out)
{
    return out->sys == 0 && !out->nomem;
}

/* What was collected in memory so far, NUL-terminated, borrowed until the next write. */
const char *as_out_get(struct as_out *out, size_t *size);

/* Writes out what is buffered, publishes a file, frees the buffer, and tells the first failure. */
AS_MUST_USE int as_out_close(struct as_out *out, struct assay_error *err);

/* Gives up: frees everything and leaves no file. Accepts an object already closed. */
void as_out_drop(struct as_out *out);

/* ---- folder.c ---- */

/* `mode` is that of the folders made, before the umask. */
AS_MUST_USE int as_folder_make(const char *path, mode_t mode, struct assay_error *err);

/* The same for the folder that the file `path` is to stand in. */
AS_MUST_USE int as_folder_make_above(const char *path, mode_t mode, struct assay_error *err);

#endif
