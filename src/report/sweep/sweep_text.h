/* report/sweep/sweep_text.h - how a model scales, as text, Markdown, JSON or CSV.
 * Only renders: every figure comes from analyze/model/sweep.h. */
#ifndef AS_REPORT_SWEEP_SWEEP_TEXT_H
#define AS_REPORT_SWEEP_SWEEP_TEXT_H

#include "analyze/model/sweep.h"
#include "base/output.h"
#include "base/text/term.h"
#include "probe/system/isa_cap.h"

struct as_sweep_report {
    const struct as_sweep *sweep;
    const char *model; /* as the user named it */
    struct as_isa_choice isa;
    bool markdown, wide;
};

AS_MUST_USE int as_sweep_page(const struct as_sweep_report *report, struct as_out *out,
                              const struct as_term *term, struct assay_error *err);

/* Schema "assay.sweep". */
AS_MUST_USE int as_sweep_json(const struct as_sweep_report *report, struct as_out *out,
                              struct assay_error *err);
AS_MUST_USE int as_sweep_csv(const struct as_sweep_report *report, struct as_out *out,
                             struct assay_error *err);

#endif
