/* report/findings/findings_report.h - what a run says about memory, leaks and bottlenecks, and what
 * only a manager finds: pages, the classic text and JSON with the documented keys. Only renders:
 * every number comes from analyze/run/run_findings.h. `top`: rows of each list; 0: what suits it.
 */
#ifndef AS_REPORT_FINDINGS_FINDINGS_REPORT_H
#define AS_REPORT_FINDINGS_FINDINGS_REPORT_H

#include "analyze/run/run_findings.h"
#include "base/finding.h"
#include "report/page/page.h"
#include "report/run/report.h"

/* ---- bottleneck_text.c ---- */

void as_bottleneck_page(struct as_page *page, const struct assay_bottleneck_result *result,
                        size_t top);

/* ---- classic_text.c ---- */

/* The documented report: 80 columns of plain text, whatever the terminal. */
AS_MUST_USE int as_classic_text(struct as_out *out, const struct as_report *report,
                                struct assay_error *err);

/* ---- findings_json.c: values, after their keys ---- */

void as_leak_json(struct as_json_writer *w, const struct as_leak_report *leaks, size_t top);
void as_bottleneck_json(struct as_json_writer *w, const struct assay_bottleneck_result *result,
                        size_t top);

/* Members memory, leaks and bottlenecks of a recorded run's document. */
void as_findings_memory_json(struct as_json_writer *w, const struct as_report *report);
void as_findings_leaks_json(struct as_json_writer *w, const struct as_run_findings *findings);
void as_findings_no_bottlenecks_json(struct as_json_writer *w, const char *why);

/* ---- manager_json.c: values, after their keys ---- */

void as_memory_json(struct as_json_writer *w, const struct as_memory_report *memory, size_t top);
void as_anomaly_json(struct as_json_writer *w, const struct as_anomaly_report *anomalies,
                     size_t top);
void as_distributed_json(struct as_json_writer *w, const struct assay_distributed_result *result,
                         size_t top);
void as_compare_json(struct as_json_writer *w, const struct assay_comparison *comparison,
                     size_t top);

/* The members of a manager's document, those of `sections` (bits of enum as_report_section, 0: all
 * of them). `order` of the layers, with `top`; NULL: that of their first calls. */
void as_manager_json(struct as_json_writer *w, const struct as_manager_run *run, uint32_t sections,
                     const uint32_t *order, size_t top);

/* The members of what a dashboard shows. */
void as_manager_dashboard_json(struct as_json_writer *w, const struct as_manager_run *run);

#endif
