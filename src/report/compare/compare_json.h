/* report/compare/compare_json.h - a comparison of backends as JSON, with the documented keys.
 * Strict: what is not known is null. */
#ifndef AS_REPORT_COMPARE_COMPARE_JSON_H
#define AS_REPORT_COMPARE_COMPARE_JSON_H

#include <assay/compare.h>

#include "base/json/json_writer.h"

/* The object of the report's key `backend_comparison`; with an error it has that and
 * `available_backends`. */
AS_MUST_USE int as_compare_json(struct as_json_writer *w, const struct assay_comparison *comparison,
                                struct assay_error *err);

/* Everything: `backend_profiles`, `comparison_results` and `backend_ranking`. */
AS_MUST_USE int as_compare_export_json(struct as_json_writer *w, struct assay_compare *compare,
                                       struct assay_error *err);

#endif
