/* report/bottleneck/leak_json.h - whether memory grows, as JSON: the window test's answer and the
 * sound one. Documented keys first; what cannot be had is null. */
#ifndef AS_REPORT_BOTTLENECK_LEAK_JSON_H
#define AS_REPORT_BOTTLENECK_LEAK_JSON_H

#include <assay/leaks.h>

#include "base/json/json_writer.h"

/* The object of the report's key `memory_leaks`. */
AS_MUST_USE int as_leak_json(struct as_json_writer *w, struct assay_leak_detector *detector,
                             struct assay_error *err);

#endif
