/* base/file/file_read.h - reading that goes on after a signal and after a piece that was too short,
 * and knows an error from the end of a file. */
#ifndef AS_BASE_FILE_FILE_READ_H
#define AS_BASE_FILE_FILE_READ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Up to `size` bytes, fewer only at the end of the file; -1 with errno. */
ssize_t as_read_some(int fd, void *to, size_t size);
ssize_t as_pread_some(int fd, void *to, size_t size, uint64_t at);

/* Up to `size` bytes of a file that we keep for ourselves, such as a cache: -1 with errno EPERM
 * when it is a link, somebody else's, or others could have written it, EINVAL when it is not a
 * file. */
ssize_t as_read_kept(const char *path, void *to, size_t size);

/* All `size` bytes at `at`. FORMAT "was cut short while it was read" when there are fewer, IO with
 * errno when they cannot be read; both name `path`. */
AS_MUST_USE int as_pread_all(int fd, void *to, size_t size, uint64_t at, const char *path,
                             struct assay_error *err);

#endif
