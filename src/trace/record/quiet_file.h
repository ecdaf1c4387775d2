/* trace/record/quiet_file.h - files as the recorder uses them inside somebody else's program.
 * Every function is a bare system call: not a cancellation point, so that a thread that is being
 * cancelled does not leave us in the middle; not seen by functions that the program puts in the
 * place of open() and close(), nor by a sanitizer that knows one table of descriptors alone. */
#ifndef AS_TRACE_RECORD_QUIET_FILE_H
#define AS_TRACE_RECORD_QUIET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Which file it is, whatever its name: all zero for none. */
struct as_file_id {
    uint64_t device, inode;
    uint32_t mode; /* with the type */
    uint32_t uid;
    uint64_t size_bytes;
};

/* Opens as openat() does, with O_CLOEXEC; the number is never 0, 1 or 2. -1 with errno. */
int as_quiet_open(int folder, const char *name, int flags, mode_t mode);

/* Closes it and sets it to -1; nothing when it is that already. Keeps errno. */
void as_quiet_close(int *fd);

/* The same file under a number out of the way of programs that count on low ones; -1 with errno.
 * `fd` is closed only if `closes`. */
int as_quiet_raise(int fd, bool closes);

ssize_t as_quiet_read(int fd, void *to, size_t size, uint64_t offset);
ssize_t as_quiet_write(int fd, const struct iovec *part, int n_parts, uint64_t offset);
/* All of it, whatever signals and short writes say. */
bool as_quiet_write_all(int fd, const void *from, size_t size, uint64_t offset);
bool as_quiet_truncate(int fd, uint64_t size);
bool as_quiet_sync(int fd);
bool as_quiet_chmod(int fd, mode_t mode);

/* Blocks of the disk for a part of the file that was never written. False leaves the size to the
 * caller. */
bool as_quiet_reserve(int fd, uint64_t offset, size_t bytes);

/* False when there is no such file. A link is looked at itself. */
bool as_quiet_identify(int fd, struct as_file_id *id);
bool as_quiet_identify_at(int folder, const char *name, struct as_file_id *id);

static inline bool as_file_is_same(const struct as_file_id *a, const struct as_file_id *b)
{
    return a->inode == b->inode && a->device == b->device && a->inode != 0;
}

/* Moves a name within the folder; with `keep` only to a name that is free (EEXIST). */
bool as_quiet_rename(int folder, const char *from, const char *to, bool keep);
bool as_quiet_link(int folder, const char *from, const char *to);

/* Removes the name if it is that file's. */
bool as_quiet_remove(int folder, const char *name, const struct as_file_id *id);

/* The lock of a ring: it belongs to the descriptor, so no other descriptor of the program can drop
 * it. False when another has it, or with errno ENOLCK, EINVAL or the like where nothing can be
 * locked. */
bool as_quiet_lock(int fd);

/* Whether another holds the lock; `*pid` is 0 when the system does not name it. */
bool as_quiet_is_locked(int fd, long *pid);

/* 64 bits that nobody can guess. */
uint64_t as_quiet_random(void);

#endif
