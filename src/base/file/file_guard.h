/* base/file/file_guard.h - what no output may replace: a file that the command reads, and, unless
 * the user says so, a recorded run or a model. */
#ifndef AS_BASE_FILE_FILE_GUARD_H
#define AS_BASE_FILE_FILE_GUARD_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Called once by a program whose outputs must not be its inputs, before any file is opened: from
 * then on as_guard_input() remembers. In other programs it does nothing, since a library cannot
 * know how long a file stays an input. */
void as_guard_inputs(void);

/* A file that was opened to be read. */
void as_guard_input(int fd);

/* One that will be; nothing when it is not there. */
void as_guard_input_path(const char *path);

/* A file that is being written by this program: it is no input, also when it is read back. */
void as_guard_output(int fd);

/* A file that an earlier part of the same work wrote and this one writes anew: it may be read and
 * replaced. Nothing when it is not there, or a link. */
void as_guard_renew_path(const char *path);

/* Runs and models may be replaced from now on: --force. Inputs never. */
void as_guard_allow_replacing(void);

/* Whether the file `name` in `folder`, which is `st`, may be replaced; `path` is for the sentence.
 */
AS_MUST_USE int as_guard_check(int folder, const char *name, const struct stat *st,
                               const char *path, struct assay_error *err);

/* The same before anything is done, for a path that may not be there. */
AS_MUST_USE int as_guard_check_path(const char *path, struct assay_error *err);

#endif
