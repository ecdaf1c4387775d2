/* report/run/report_json_parts.h - the parts of a report's JSON, each written as one key and its
 * value. The writer stands inside the outermost object. */
#ifndef AS_REPORT_RUN_REPORT_JSON_PARTS_H
#define AS_REPORT_RUN_REPORT_JSON_PARTS_H

#include "base/json/json_writer.h"
#include "report/run/report.h"

void as_json_health(struct as_json_writer *w, const struct as_layers *layers);
AS_MUST_USE int as_json_layers(struct as_json_writer *w, const struct as_report *report,
                               struct assay_error *err);
void as_json_threads(struct as_json_writer *w, const struct as_report *report);
void as_json_tree(struct as_json_writer *w, const struct as_report *report);
void as_json_phases(struct as_json_writer *w, const struct as_report *report);
void as_json_iterations(struct as_json_writer *w, const struct as_report *report);
void as_json_latency(struct as_json_writer *w, const struct as_report *report);
void as_json_channels(struct as_json_writer *w, const struct as_report *report);

/* Every call: only when the section was asked for, since it may be long. */
AS_MUST_USE int as_json_timeline(struct as_json_writer *w, const struct as_report *report,
                                 struct assay_error *err);

#endif
