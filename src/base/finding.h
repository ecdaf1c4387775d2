/* base/finding.h - recommendations of all analyses: one order, one scale of severity, one table of
 * fields. */
#ifndef AS_BASE_FINDING_H
#define AS_BASE_FINDING_H

#include <assay/finding.h>
#include <stddef.h>

#include "base/json/json_fields.h"

extern const struct as_json_shape as_finding_shape;

#define AS_SEVERITY_HIGH 50 /* from here on a finding is marked */

/* Severities of findings whose gain in time is not known. With a known gain the severity is the
 * gain in percent: as_severity_of_gain(). */
#define AS_SEVERITY_WARNING 70.0 /* results taken now are wrong or wide */
#define AS_SEVERITY_NOTE    30.0 /* worth knowing when results are compared */
#define AS_SEVERITY_OK      0.0  /* looked at, and nothing to do */

/* By severity, the greatest first; then by expected gain, unknown ones last; ties keep their order.
 */
void as_findings_rank(struct assay_finding *findings, size_t n);

/* The severity of something that costs that fraction of the whole time: 0 to 100. `unknown` when it
 * is NaN. */
double as_severity_of_gain(double gain, double unknown);

/* "low", "medium", "high". */
const char *as_confidence_name(enum assay_confidence confidence);

#endif
