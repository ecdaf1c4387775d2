/* base/error.h - the one way a function says what went wrong.
 * The deepest function writes the sentence; callers pass it up untouched. */
#ifndef AS_BASE_ERROR_H
#define AS_BASE_ERROR_H

#include <assay/error.h>

#define AS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define AS_MUST_USE          __attribute__((warn_unused_result))

/* Fills `err` when there is one and returns `code`; err->sys stays 0. */
AS_PRINTF(3, 4) int as_fail(struct assay_error *err, int code, const char *fmt, ...);

/* The same for a failed system call: keeps errno and adds its text to the sentence. */
AS_PRINTF(3, 4) int as_fail_sys(struct assay_error *err, int code, const char *fmt, ...);

/* The same for input: keeps the byte to blame and adds it to the sentence. */
AS_PRINTF(3, 4)
int as_fail_at(struct assay_error *err, uint64_t offset, const char *fmt, ...);

/* Puts the file, or the end of its path when that is long, in front of the sentence in `err` unless
 * the sentence begins with it. Too little memory is not the file's fault. Returns `code`. */
int as_fail_in_file(struct assay_error *err, int code, const char *path);

/* Adds a hint to the sentence in `err` where all of it fits; half a hint would be worse. */
void as_error_add(struct assay_error *err, const char *hint);

/* Out of memory, in the same words everywhere. Inline, so that an analyzer of one file sees that it
 * is never zero. */
static inline int as_fail_nomem(struct assay_error *err)
{
    (void)as_fail(err, ASSAY_ERR_NOMEM, "out of memory");
    return ASSAY_ERR_NOMEM;
}

/* Copies the struct `from` of a program, which begins with its size (assay/error.h) and may be of
 * an older or a newer version, into `to`, the one of `size` bytes that the library knows: what
 * `from` does not have is 0, and the first field becomes `size`. NULL gives a struct of zeros.
 * USAGE for a struct without its size, or with values in fields beyond those known here; `what`
 * names it. */
int as_sized_take(void *to, size_t size, const void *from, const char *what,
                  struct assay_error *err);

#endif
