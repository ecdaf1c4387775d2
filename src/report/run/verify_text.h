/* report/run/verify_text.h - how whole a run is, as text or JSON.
 * Whole means that everything recorded can be read; it may still be unbalanced or not closed. */
#ifndef AS_REPORT_RUN_VERIFY_TEXT_H
#define AS_REPORT_RUN_VERIFY_TEXT_H

#include "analyze/run/layers.h"
#include "base/output.h"
#include "base/text/term.h"

/* `layers` of a run with every thread analysed, so that every event was decoded. */
AS_MUST_USE int as_verify_page(const struct as_layers *layers, struct as_out *out,
                               const struct as_term *term, struct assay_error *err);

/* Schema "assay.verify". */
AS_MUST_USE int as_verify_json(const struct as_layers *layers, struct as_out *out,
                               struct assay_error *err);

#endif
