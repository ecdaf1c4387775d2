/* report/bottleneck/bottleneck_json.h - a bottleneck analysis as a JSON object, with the documented
 * keys. Strict: what is not known, and an unbounded speed-up, is null. */
#ifndef AS_REPORT_BOTTLENECK_BOTTLENECK_JSON_H
#define AS_REPORT_BOTTLENECK_BOTTLENECK_JSON_H

#include <assay/bottlenecks.h>

#include "base/json/json_writer.h"

/* Writes {"bottlenecks", "recommendations", "summary", "ranked", "advice"} and what they rest on as
 * one value. USAGE without a result. */
AS_MUST_USE int as_bottleneck_json(struct as_json_writer *w,
                                   const struct assay_bottleneck_result *result,
                                   struct assay_error *err);

#endif
