/* trace/run/run_path.h - the files of a run: the run itself, its ring, the run it replaces, the
 * runs of children. Nothing older is lost: a run that stands in the way is kept beside, anything
 * else is refused. */
#ifndef AS_TRACE_RUN_RUN_PATH_H
#define AS_TRACE_RUN_RUN_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "run.assay" gives "run.assay.ring". False when it does not fit. */
bool as_run_path_ring(char *out, size_t capacity, const char *path);

/* "run.assay" and 12 give "run.12.assay". */
bool as_run_path_child(char *out, size_t capacity, const char *path, long pid);

/* Whether `path` may become a run: free, or an older run that nobody is recording. */
AS_MUST_USE int as_run_path_check(const char *path, struct assay_error *err);

/* Whether a process records into `path` now. */
bool as_run_path_is_recorded(const char *path);

/* Removes a run that is alone in its folder, and the folder. */
void as_run_path_remove_alone(const char *path);

/* `path` as it is from anywhere. False when it does not fit or the folder has no name any more. */
bool as_run_path_absolute(char out[PATH_MAX], const char *path);

/* Creates an empty file for a name that will be `path`, under a name that nobody can guess, written
 * to `temp`; only its owner may read it. */
AS_MUST_USE int as_run_path_create(char *temp, size_t capacity, const char *path,
                                   struct assay_error *err);

/* Whether that could be done; nothing is left. */
AS_MUST_USE int as_run_path_try(const char *path, struct assay_error *err);

/* What stands at a path before a run is made there. */
struct as_run_before {
    bool there;
    uint64_t device, inode;
};
void as_run_path_note(struct as_run_before *before, const char *path);

/* The new run is not what it should be: it is removed, and what stood there is there again. */
void as_run_path_undo(const struct as_run_before *before, const char *path);

/* Puts a run made at once in place; an older run and its ring become "<path>.old" and
 * "<path>.old.ring" (run_old.h). A recorder, which needs the name while it records, takes it by
 * run_claim.h. */
AS_MUST_USE int as_run_path_publish(const char *temp, const char *path, struct assay_error *err);

/* ---- for a process that gives up the right to make files ---- */

enum as_run_step { AS_RUN_PUBLISH, AS_RUN_UNDO, AS_RUN_DROP };

/* Creates the file of as_run_path_create() now, for `path`; `temp` is its name, the caller's
 * forever. False when that cannot be done. */
bool as_run_path_prepare(const char *path, const char **temp);

/* From now on as_run_path_create() gives that file out, and publishing it and undoing that is left
 * to `ask`. */
void as_run_path_use(int (*ask)(enum as_run_step step, struct assay_error *err));

/* What `ask` leads to, in the process that kept the right. AS_RUN_DROP comes last. */
AS_MUST_USE int as_run_path_step(enum as_run_step step, struct assay_error *err);

#endif
