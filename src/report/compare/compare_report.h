/* report/compare/compare_report.h - what changed between two runs, as text, Markdown or JSON.
 * Only renders: every figure comes from analyze/run/run_diff.h. */
#ifndef AS_REPORT_COMPARE_COMPARE_REPORT_H
#define AS_REPORT_COMPARE_COMPARE_REPORT_H

#include <assay/compare.h>
#include <assay/distributed.h>

#include "analyze/run/run_diff.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/term.h"

struct as_diff_report {
    const struct as_diff *diff;
    const char *broken[2]; /* what is wrong with a run; NULL: nothing */
    size_t top;            /* rows shown; 0: 20 in text, all in JSON */
    bool markdown, wide;
};

AS_MUST_USE int as_diff_page(const struct as_diff_report *report, struct as_out *out,
                             const struct as_term *term, struct assay_error *err);

/* Schema "assay.diff". */
AS_MUST_USE int as_diff_json(const struct as_diff_report *report, struct as_out *out,
                             struct assay_error *err);

/* ---- compare_json.c ---- */

/* The object of the report's key `backend_comparison`; with an error it has that and
 * `available_backends`. */
AS_MUST_USE int as_compare_json(struct as_json_writer *w, const struct assay_comparison *comparison,
                                struct assay_error *err);

/* Everything: `backend_profiles`, `comparison_results` and `backend_ranking`. */
AS_MUST_USE int as_compare_export_json(struct as_json_writer *w, struct assay_compare *compare,
                                       struct assay_error *err);

/* ---- distributed_json.c ---- */

/* The object of the report's key `distributed_training`. */
AS_MUST_USE int as_distributed_json(struct as_json_writer *w, struct assay_distributed *d,
                                    struct assay_error *err);

/* The object of the dashboard's key `distributed_metrics`: `load_balance` and `communication`. */
AS_MUST_USE int as_distributed_dashboard_json(struct as_json_writer *w, struct assay_distributed *d,
                                              struct assay_error *err);

#endif
