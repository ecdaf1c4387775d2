/* experiment/witness/witness_check.h - the chain of a witness, checked line after line.
 * What is wrong is an answer, kept in the report; an error is only what keeps us from answering. */
#ifndef AS_EXPERIMENT_WITNESS_WITNESS_CHECK_H
#define AS_EXPERIMENT_WITNESS_WITNESS_CHECK_H

#include <assay/experiment/bundle.h>
#include <assay/experiment/witness.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json/json_writer.h"
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

/* The bundle of an experiment without witnesses, in its folder. */
#define AS_FOLDER_BUNDLE_NAME "bundle.rvf"

enum as_folder_kind {
    AS_FOLDER_WITNESS,
    AS_FOLDER_BUNDLE,
    AS_FOLDER_TABLE,
    AS_FOLDER_FILE, /* any other: proven by being listed or recomputed */
};

struct as_folder_item {
    char *path;
    const char *name; /* beneath the folder, as in "csv/results.csv" */
    enum as_folder_kind kind;
    bool whole; /* nothing that was found speaks against it */
    bool missing;
    bool hash_fits;  /* an intact bundle has its SHA-256 */
    bool in_bundle;  /* a witness that an intact bundle holds */
    bool recomputed; /* the samples give the same bytes */
    bool listed;     /* one of both, or it is such a bundle */
    uint64_t rows;   /* of a table, as it was written; UINT64_MAX: nothing beside it says */
    struct assay_witness_report witness;
    struct assay_bundle_report bundle;
    char sentence[240]; /* what is wrong; "" when whole */
};

struct as_folder_check {
    const char *folder;           /* borrowed */
    struct as_folder_item *items; /* by kind and name; missing ones last */
    size_t n, capacity;
    size_t n_listed;
    bool wants_key; /* a public key was given */
    bool lists;     /* an intact bundle lists files */
    bool whole;     /* all of them, and with a key a bundle that is signed with it */
    enum assay_bundle_signature signature;
    char sentence[240]; /* what is wrong with the folder itself; "" for nothing */
};

/* Looks at every file of `folder`; ASSAY_ERR_NOTFOUND when nothing in it can be checked and no key
 * was given. `public_key` as in assay_bundle_verify(). End with as_folder_check_fini(), also after
 * a failure. */
AS_MUST_USE int as_folder_check(struct as_folder_check *check, const char *folder,
                                const char *public_key, struct assay_error *err);
void as_folder_check_fini(struct as_folder_check *check);

/* For those who check more: NULL when there is no such file. Valid until as_folder_miss(). */
struct as_folder_item *as_folder_find(struct as_folder_check *check, const char *name);
AS_PRINTF(2, 3) void as_folder_blame(struct as_folder_item *item, const char *fmt, ...);
/* A file that should be there; `why` completes "it is missing: ". */
AS_MUST_USE int as_folder_miss(struct as_folder_check *check, const char *name, const char *why,
                               struct assay_error *err);
/* Sums up again what was found. */
void as_folder_conclude(struct as_folder_check *check);

/* The member "files" of an open object, for the metadata of a bundle: path, bytes and sha256 of
 * those of the `n` names that are regular files beneath `folder`. */
AS_MUST_USE int as_folder_list_put(struct as_json_writer *w, const char *folder,
                                   const char *const *names, size_t n, struct assay_error *err);

#endif
