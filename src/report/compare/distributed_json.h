/* report/compare/distributed_json.h - nodes, talking and waiting of a training, as JSON.
 * Documented keys first, then those that name their unit; what cannot be had is null. */
#ifndef AS_REPORT_COMPARE_DISTRIBUTED_JSON_H
#define AS_REPORT_COMPARE_DISTRIBUTED_JSON_H

#include <assay/distributed.h>

#include "base/json/json_writer.h"

/* The object of the report's key `distributed_training`. */
AS_MUST_USE int as_distributed_json(struct as_json_writer *w, struct assay_distributed *d,
                                    struct assay_error *err);

/* The object of the dashboard's key `distributed_metrics`: `load_balance` and `communication`. */
AS_MUST_USE int as_distributed_dashboard_json(struct as_json_writer *w, struct assay_distributed *d,
                                              struct assay_error *err);

#endif
