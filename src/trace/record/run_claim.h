/* trace/record/run_claim.h - takes the path of a run for one recorder, however many want it at
 * once.
 *
 * Whoever holds the lock of the file called "<run>.ring" has the path; nothing under these names is
 * replaced or removed by anybody else. So:
 *   - the files are made under names that nobody can guess, the ring is locked there;
 *   - the ring takes its name only when that is free, or in the place of a ring whose lock could be
 *     taken, which is the ring of a program that has ended;
 *   - only then an older run is put aside, with its ring if it has one, and the run takes its name;
 *   - a name is removed only if it still is the file's that was made here.
 * A process killed in between leaves a file that is in nobody's way, and no run without its ring.
 */
#ifndef AS_TRACE_RECORD_RUN_CLAIM_H
#define AS_TRACE_RECORD_RUN_CLAIM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/record/quiet_file.h"
#include "trace/run/run_format.h"

/* Zero is empty but for the descriptors, which are -1 then. */
struct as_run_claim {
    const char *path; /* for sentences */
    int folder;       /* the folder of all names below */
    int run_fd, ring_fd;
    struct as_file_id run_id, ring_id;
    char run[NAME_MAX + 1], ring[NAME_MAX + 1];           /* what they will be called */
    char temp_run[NAME_MAX + 1], temp_ring[NAME_MAX + 1]; /* what they are called; "" in place */
    bool has_ring;                                        /* in its place */
};

#define AS_RUN_CLAIM_NONE                                                                          \
    (struct as_run_claim)                                                                          \
    {                                                                                              \
        .folder = -1, .run_fd = -1, .ring_fd = -1                                                  \
    }

/* Opens the folder of `path` (which stays the caller's, `shown` too) and creates both files there,
 * the ring locked. Whatever came of it, the claim is to be dropped or published. */
AS_MUST_USE int as_run_claim_open(struct as_run_claim *claim, const char *path, const char *shown,
                                  struct assay_error *err);

/* Puts both files in place. ASSAY_ERR_STATE when another records there: nothing of its is touched.
 * An older run becomes "<run>.old". */
AS_MUST_USE int as_run_claim_publish(struct as_run_claim *claim, struct assay_error *err);

/* The same under the first name that is free: `path`, then that with ".2", ".3"... before its
 * suffix. Nothing is put aside. */
AS_MUST_USE int as_run_claim_publish_free(struct as_run_claim *claim, struct assay_error *err);

/* Removes what was made and is not in place, and closes everything. */
void as_run_claim_drop(struct as_run_claim *claim);

/* Ends the recording: the ring goes, if it still is ours, unless it is to be kept. False when the
 * run is not under its name any more. */
bool as_run_claim_finish(const struct as_run_claim *claim, bool keeps_ring);

/* As as_run_path_check(), for a name in a folder. */
AS_MUST_USE int as_run_claim_check(int folder, const char *name, const char *shown,
                                   struct assay_error *err);

/* Whether the ring of that name is locked by one that records; `*pid` is 0 when unknown. */
bool as_run_claim_is_recorded(int folder, const char *ring, long *pid);

/* "<name>.new.<random>", cut to fit. */
void as_run_claim_temporary(char *out, size_t capacity, const char *name);

#endif
