/* report/compare/compare_report.h - what changed between two runs, as text, Markdown or JSON.
 * Only renders: every figure comes from analyze/run/run_diff.h. */
#ifndef AS_REPORT_COMPARE_COMPARE_REPORT_H
#define AS_REPORT_COMPARE_COMPARE_REPORT_H

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

#endif
