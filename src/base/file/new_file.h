/* base/file/new_file.h - the one way by which a file comes to be: it is written without a name, or
 * under a name that nobody can guess, put on the disk, and then takes its place in one step. Until
 * then, and after every failure, what stood there before is untouched and nothing is left over.
 *
 * A new file is for its owner alone (mode 0600); one that replaces another of the same owner keeps
 * that one's mode and group. A symbolic link is never followed or replaced, except one to a device
 * or a pipe that root or we made, as /dev/stdout is; a pipe that has a name must be root's or ours
 * itself. What may be replaced is for file_guard.h to say. */
#ifndef AS_BASE_FILE_NEW_FILE_H
#define AS_BASE_FILE_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

struct as_temporary; /* temporaries.c */

struct as_new_file {
    int fd;           /* what is written to; never 0 to 2; -1: closed */
    int folder;       /* the folder of the file; -1: a device or a pipe, written as it stands */
    bool syncable;    /* the folder can be put on the disk */
    char *path;       /* as given */
    const char *name; /* in `path`: the last part */
    char part[40];    /* in the folder; "": the file has no name yet, or has its own */
    bool only_new;    /* set by the caller: nothing may be there yet */
    struct as_temporary *temporary;
    size_t
        prepared; /* its number from 1: another process puts it in place (prepared.h); 0: we do */
};

/* Begins to write what is to stand at `path`. Nothing appears there yet. */
AS_MUST_USE int as_new_file_open(struct as_new_file *file, const char *path,
                                 struct assay_error *err);

/* Puts it on the disk and in its place, and closes it. After a failure nothing is left of it. */
AS_MUST_USE int as_new_file_publish(struct as_new_file *file, struct assay_error *err);

/* Gives up: nothing appears. Accepts one that is closed. */
void as_new_file_drop(struct as_new_file *file);

/* Creates a file that is added to bit by bit and must be there from its first byte on: a journal, a
 * witness. EEXIST in err->sys when there is anything of that name. Returns the descriptor, never 0
 * to 2, or a code. `flags` are added to O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC. */
AS_MUST_USE int as_new_file_create(const char *path, int flags, struct assay_error *err);

/* Writes all of `data`, whatever signals say; false with errno set when that fails. */
bool as_write_all(int fd, const void *data, size_t size);

/* ---- temporaries.c: names that must go when a signal ends the program ---- */

/* Remembers a name in a folder; NULL: there are too many, and it is not remembered. */
struct as_temporary *as_temporary_add(int folder, const char *name);

/* It has gone, or is somebody's now. Accepts NULL. */
void as_temporary_forget(struct as_temporary *temporary);

/* A new folder for its owner alone, in the folder for temporary files; its path goes to `path`. It
 * and the files that lie in it directly are removed by as_temporary_folder_remove(), or by a
 * signal.
 */
#define AS_TEMPORARY_PATH 64
AS_MUST_USE int as_temporary_folder_make(struct as_temporary **folder, char path[AS_TEMPORARY_PATH],
                                         struct assay_error *err);

/* Makes the next such folder now, for a program that is about to give up the right to it. */
AS_MUST_USE int as_temporary_folder_prepare(char path[AS_TEMPORARY_PATH], struct assay_error *err);

/* Removes such a folder for the process that made it. */
void as_temporary_folder_clean(const char *path);

/* Accepts NULL. */
void as_temporary_folder_remove(struct as_temporary *folder);

/* Removes all that this process remembers. For a signal handler: it only makes system calls. The
 * library installs none; a program that wants its temporary files removed calls this in its own. */
void as_temporaries_remove(void);

#endif
