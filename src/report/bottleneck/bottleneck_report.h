/* report/bottleneck/bottleneck_report.h - a bottleneck analysis as a JSON object, with the
 * documented keys. Strict: what is not known, and an unbounded speed-up, is null. */
#ifndef AS_REPORT_BOTTLENECK_BOTTLENECK_REPORT_H
#define AS_REPORT_BOTTLENECK_BOTTLENECK_REPORT_H

#include <assay/anomaly.h>
#include <assay/bottlenecks.h>
#include <assay/leaks.h>

#include "base/json/json_writer.h"
#include "profiler/memory_profile.h"
#include "report/page/page.h"

/* Writes {"bottlenecks", "recommendations", "summary", "ranked", "advice"} and what they rest on as
 * one value. USAGE without a result. */
AS_MUST_USE int as_bottleneck_json(struct as_json_writer *w,
                                   const struct assay_bottleneck_result *result,
                                   struct assay_error *err);

/* ---- anomaly_json.c ---- */

/* The object of the key `anomalies`. */
AS_MUST_USE int as_anomaly_json(struct as_json_writer *w,
                                const struct assay_anomaly_detector *detector,
                                struct assay_error *err);

/* ---- bottleneck_text.c ---- */

/* The first `top` of each list; 0: all. */
void as_bottleneck_page(struct as_page *page, const struct assay_bottleneck_result *result,
                        size_t top);

/* ---- leak_json.c ---- */

/* The object of the report's key `memory_leaks`. */
AS_MUST_USE int as_leak_json(struct as_json_writer *w, struct assay_leak_detector *detector,
                             struct assay_error *err);

/* ---- memory_profile_json.c ---- */

/* One object: the summary's keys, then `layer_stats`, `categories`, `snapshots`. */
void as_memory_profile_json(struct as_json_writer *w, struct as_memory_profile *profile);

/* One object: the summary's keys alone. */
void as_memory_profile_json_summary(struct as_json_writer *w, struct as_memory_profile *profile);

/* One array of the kept snapshots, oldest first. */
void as_memory_profile_json_snapshots(struct as_json_writer *w,
                                      const struct as_memory_profile *profile);

/* One array of `layer`, `timestamp`, `memory_growth_mb`. */
void as_memory_profile_json_growth(struct as_json_writer *w,
                                   const struct as_memory_profile *profile);

/* One array, layer by layer. */
void as_memory_profile_json_layers(struct as_json_writer *w,
                                   const struct as_memory_profile *profile);

#endif
