/* base/finding.h - recommendations of all analyses: one order, one scale of severity, one table of
 * fields. */
#ifndef AS_BASE_FINDING_H
#define AS_BASE_FINDING_H

#include <assay/finding.h>
#include <stddef.h>

#include "base/json/json_fields.h"

extern const struct as_json_shape as_finding_shape;

#define AS_SEVERITY_HIGH 50 /* from here on a finding is marked */

/* By severity, the greatest first; then by expected gain, unknown ones last; ties keep their order.
 */
void as_findings_rank(struct assay_finding *findings, size_t n);

/* The severity of something that costs that fraction of the whole time: 0 to 100. `unknown` when it
 * is NaN. */
double as_severity_of_gain(double gain, double unknown);

/* "low", "medium", "high". */
const char *as_confidence_name(enum assay_confidence confidence);

#endif
