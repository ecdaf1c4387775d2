/* experiment/witness/witness_folder.h - the folder of an experiment: every witness and bundle in
 * its witness/, each alone and the bundles against the witnesses they hold, and every table in its
 * csv/ against the hash beside it. */
#ifndef AS_EXPERIMENT_WITNESS_WITNESS_FOLDER_H
#define AS_EXPERIMENT_WITNESS_WITNESS_FOLDER_H

#include <assay/bundle.h>
#include <assay/witness.h>

#include "base/error.h"

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
