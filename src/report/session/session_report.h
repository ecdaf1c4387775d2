/* report/session/session_report.h - pages about a session, its JSON in part, and the classic text.
 * Only renders: every figure comes from analyze/run/saved_profile.h. */
#ifndef AS_REPORT_SESSION_SESSION_REPORT_H
#define AS_REPORT_SESSION_SESSION_REPORT_H

#include "analyze/run/saved_profile.h"
#include "report/page/page.h"
#include "report/run/report.h"

/* Sections of a page; `top` rows of each list, 0 for what suits it. */
void as_session_summary_page(struct as_page *page, const struct as_saved_profile *view);
/* USAGE for a column that a session has not. */
AS_MUST_USE int as_session_layers_check(const struct as_report_options *options,
                                        struct assay_error *err);
void as_session_layers_page(struct as_page *page, const struct as_saved_profile *view,
                            const struct as_report_options *options);
void as_session_memory_page(struct as_page *page, const struct as_saved_profile *view, size_t top);
void as_session_leaks_page(struct as_page *page, const struct as_saved_profile *view, size_t top);
void as_session_anomalies_page(struct as_page *page, const struct as_saved_profile *view,
                               size_t top);
void as_session_distributed_page(struct as_page *page, const struct as_saved_profile *view,
                                 size_t top);
void as_session_backends_page(struct as_page *page, const struct as_saved_profile *view,
                              size_t top);

/* The JSON that the view was read from: all of it, or the sections asked for, with `top` rows of
 * each list; layers in the view's order. */
AS_MUST_USE int as_session_json(struct as_json_writer *w, const struct as_saved_profile *view,
                                const struct as_report_options *options, struct assay_error *err);

/* The documented report: 80 columns of plain text, whatever the terminal. `top` recommendations and
 * layers; 0: five. */
void as_session_classic(struct as_out *out, const struct as_saved_profile *view, size_t top);

/* Members memory, leaks and bottlenecks of a report's JSON object. */
void as_session_memory_json(struct as_json_writer *w, const struct as_saved_profile *view);
AS_MUST_USE int as_session_leaks_json(struct as_json_writer *w, const struct as_saved_profile *view,
                                      struct assay_error *err);
AS_MUST_USE int as_session_bottlenecks_json(struct as_json_writer *w,
                                            const struct as_saved_profile *view,
                                            struct assay_error *err);
/* The same where there are none of layers. */
void as_session_no_bottlenecks_json(struct as_json_writer *w, const char *why);

#endif
