/* report/sweep/sweep_text.h - how a model scales, as text, Markdown, JSON or CSV.
 * Only renders: every figure comes from analyze/model/sweep.h. */
#ifndef AS_REPORT_SWEEP_SWEEP_TEXT_H
#define AS_REPORT_SWEEP_SWEEP_TEXT_H

#include "analyze/model/sweep.h"
#include "base/json/json_writer.h"
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

/* Of the document "assay.sweep", and of its rows, which are a table in CSV. */
extern const struct as_json_shape as_sweep_document_shape, as_sweep_row_shape;

/* The settings as rows; an as_csv_write of a struct as_sweep_report. */
struct as_csv_writer;
int as_sweep_csv(struct as_csv_writer *w, const void *report, struct assay_error *err);

/* ---- sweep_kind.c ---- */

/* What was measured, into a run of the kind "sweep"; `peaks` may be NULL. */
void as_sweep_put(struct as_run_maker *maker, const struct as_sweep_run *measured,
                  const struct as_sweep_limits *limits, const struct as_topology *topology,
                  const struct as_peaks *peaks);

#endif
