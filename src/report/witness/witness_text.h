/* report/witness/witness_text.h - what was found of a witness, a bundle or a folder of them, as
 * text or JSON. The JSON has the schemas "assay.verify_witness", "assay.verify_bundle",
 * "assay.verify_folder" and "assay.bundle". */
#ifndef AS_REPORT_WITNESS_WITNESS_TEXT_H
#define AS_REPORT_WITNESS_WITNESS_TEXT_H

#include <assay/experiment/bundle.h>
#include <assay/experiment/witness.h>

#include "base/output.h"
#include "base/text/csv.h"
#include "base/text/term.h"
#include "experiment/witness/replay.h"
#include "experiment/witness/witness_check.h"

/* Where it goes; without `term` and `csv` it is JSON. */
struct as_witness_target {
    struct as_out *out;
    const struct as_term *term;
    bool markdown; /* with `term` */
    struct as_csv_writer
        *csv; /* of checks, see report/page/check_rows.h; not of as_report_inside() */
    const struct assay_witness_comparison
        *compared; /* of a witness with `other`; NULL: with none */
    const char *other;
    const struct as_replay_report *replay; /* NULL: nothing was computed again */
};

AS_MUST_USE int as_report_witness(const char *path, const struct assay_witness_report *report,
                                  const struct as_witness_target *to, struct assay_error *err);
AS_MUST_USE int as_report_bundle(const char *path, const struct assay_bundle_report *report,
                                 const struct as_witness_target *to, struct assay_error *err);
AS_MUST_USE int as_report_folder(const char *path, const struct as_folder_check *check,
                                 const struct as_witness_target *to, struct assay_error *err);

/* The segments of a bundle, and its metadata. */
AS_MUST_USE int as_report_inside(const char *path, const struct assay_bundle *bundle,
                                 const struct as_witness_target *to, struct assay_error *err);

#endif
