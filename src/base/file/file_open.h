/* base/file/file_open.h - the way to a descriptor for everything but the recorder and the injected
 * libraries: a signal that comes in between changes nothing, it is closed by exec, and it is never
 * one of standard input, output and error. */
#ifndef AS_BASE_FILE_FILE_OPEN_H
#define AS_BASE_FILE_FILE_OPEN_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include "base/error.h"

/* As open() and openat(); -1 with errno. `mode` is for flags that make a file. */
int as_open(const char *path, int flags);
int as_open_at(int folder, const char *path, int flags);
int as_open_new_at(int folder, const char *path, int flags, mode_t mode);

/* The same descriptor, or one above those of standard input, output and error; the old one is then
 * closed. -1 stays -1. */
int as_fd_above_standard(int fd);

/* The next entry of a folder but "." and ".."; NULL at its end, and when it cannot be read on: then
 * `*rc` is IO and the sentence names `path`. */
const struct dirent *as_next_entry(DIR *dir, const char *path, int *rc, struct assay_error *err);

/* As flock(), ftruncate() and fsync(). */
int as_lock_file(int fd, int how);
int as_truncate_fd(int fd, off_t size);
int as_sync_fd(int fd);

#endif
