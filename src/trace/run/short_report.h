/* trace/run/short_report.h - a run as one small table of layers, for programs that report as they
 * end. The numbers are those of `assay report`; only what needs no statistics is here, so that the
 * recorder alone can print it. */
#ifndef AS_TRACE_RUN_SHORT_REPORT_H
#define AS_TRACE_RUN_SHORT_REPORT_H

#include "base/output.h"

/* Reads the run at `path` and writes the table to `out`, which stays the caller's to close. */
AS_MUST_USE int as_short_report(const char *path, struct as_out *out, struct assay_error *err);

#endif
