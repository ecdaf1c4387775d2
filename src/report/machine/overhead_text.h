/* report/machine/overhead_text.h - what measuring costs by itself, as text, Markdown or JSON.
 * Only renders: every figure comes from analyze/model/overhead.h. */
#ifndef AS_REPORT_MACHINE_OVERHEAD_TEXT_H
#define AS_REPORT_MACHINE_OVERHEAD_TEXT_H

#include "analyze/model/overhead.h"
#include "base/output.h"
#include "base/text/term.h"
#include "probe/system/topology.h"

struct as_overhead_report {
    const struct as_overhead *overhead;
    const struct as_topology *topology;
    bool markdown;
};

AS_MUST_USE int as_overhead_page(const struct as_overhead_report *report, struct as_out *out,
                                 const struct as_term *term, struct assay_error *err);

/* Schema "assay.overhead", version 1. */
AS_MUST_USE int as_overhead_json(const struct as_overhead_report *report, struct as_out *out,
                                 struct assay_error *err);

#endif
