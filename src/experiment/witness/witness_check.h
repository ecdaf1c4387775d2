/* experiment/witness/witness_check.h - the chain of a witness, checked line after line.
 * What is wrong is an answer, kept in the report; an error is only what keeps us from answering. */
#ifndef AS_EXPERIMENT_WITNESS_WITNESS_CHECK_H
#define AS_EXPERIMENT_WITNESS_WITNESS_CHECK_H

#include <assay/experiment/bundle.h>
#include <assay/experiment/witness.h>

#include "base/error.h"
#include "base/hash.h"
#include "experiment/witness/witness_entry.h"

struct as_witness_check {
    struct assay_witness_report report;
    struct as_witness_line line;
    struct as_sha256_stream file; /* of all lines so far */
    struct as_out again;          /* a line as the writer writes it */
    uint64_t n_lines;
    uint64_t good_bytes; /* of the lines in order so far */
    assay_witness_seen seen;
    void *user;
};

/* End with as_witness_check_fini(), also after a failure. */
AS_MUST_USE int as_witness_check_init(struct as_witness_check *check, assay_witness_seen seen,
                                      void *user, struct assay_error *err);

/* One line with its newline; without one it is the last and cut off. Does nothing once the report
 * names a bad line. Returns what `seen` returns when that is not 0. */
AS_MUST_USE int as_witness_check_line(struct as_witness_check *check, const char *text, size_t size,
                                      struct assay_error *err);

/* A line that could not even be taken in, being too long. */
void as_witness_check_too_long(struct as_witness_check *check);

/* No line follows: completes the report. */
void as_witness_check_end(struct as_witness_check *check);

void as_witness_check_fini(struct as_witness_check *check);

/* All of it for bytes in memory. */
AS_MUST_USE int as_witness_check_bytes(const void *bytes, size_t size, assay_witness_seen seen,
                                       void *user, struct assay_witness_report *report,
                                       struct assay_error *err);

/* Feeds lines from `fd` until `n_entries` are good, a line is bad, or the file ends, which sets
 * `*ended`. `name` is for messages. */
AS_MUST_USE int as_witness_check_fd(struct as_witness_check *check, int fd, const char *name,
                                    uint64_t n_entries, bool *ended, struct assay_error *err);

/* ---- witness_folder.c ---- */

enum as_folder_kind { AS_FOLDER_WITNESS, AS_FOLDER_BUNDLE, AS_FOLDER_TABLE };

struct as_folder_item {
    char *path;
    const char *name; /* its last part */
    enum as_folder_kind kind;
    bool whole;
    uint64_t rows;  /* of a table, as it was written; UINT64_MAX: nothing beside it says */
    bool in_bundle; /* a witness that some bundle holds */
    struct assay_witness_report witness;
    struct assay_bundle_report bundle;
    char sentence[240]; /* what is wrong; "" when whole */
};

struct as_folder_check {
    struct as_folder_item *items; /* by name */
    size_t n, capacity;
    bool whole; /* all of them, and there is one */
};

/* Looks at witness/ .jsonl and .rvf and at csv/ .csv in `folder`; ASSAY_ERR_NOTFOUND when there are
 * none.
 * `public_key` as in assay_bundle_verify(). End with as_folder_check_fini(), also after a failure.
 */
AS_MUST_USE int as_folder_check(struct as_folder_check *check, const char *folder,
                                const char *public_key, struct assay_error *err);
void as_folder_check_fini(struct as_folder_check *check);

#endif
