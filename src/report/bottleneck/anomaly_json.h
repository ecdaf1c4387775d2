/* report/bottleneck/anomaly_json.h - values that did not belong to the ones before them, as JSON.
 * An infinite z-score is null: the window had no spread. */
#ifndef AS_REPORT_BOTTLENECK_ANOMALY_JSON_H
#define AS_REPORT_BOTTLENECK_ANOMALY_JSON_H

#include <assay/anomaly.h>

#include "base/json/json_writer.h"

/* The object of the key `anomalies`. */
AS_MUST_USE int as_anomaly_json(struct as_json_writer *w,
                                const struct assay_anomaly_detector *detector,
                                struct assay_error *err);

#endif
