/* report/machine/operations_text.h - what bounds each kind of operation on this machine, as text,
 * Markdown or JSON. Only renders: every figure comes from analyze/model/operations.h. */
#ifndef AS_REPORT_MACHINE_OPERATIONS_TEXT_H
#define AS_REPORT_MACHINE_OPERATIONS_TEXT_H

#include "analyze/model/operations.h"
#include "base/output.h"
#include "base/text/term.h"

struct as_operations_report {
    const struct as_operations *operations;
    const struct as_topology *topology;
    const struct as_peaks *peaks;
    bool markdown;
};

AS_MUST_USE int as_operations_page(const struct as_operations_report *report, struct as_out *out,
                                   const struct as_term *term, struct assay_error *err);

/* Schema "assay.operations", version 1. */
AS_MUST_USE int as_operations_json(const struct as_operations_report *report, struct as_out *out,
                                   struct assay_error *err);

#endif
