/* report/export/export_formats.h - the function of each format, for the table in
 * report/export/export.c. Each writes the whole of a run; each lives in a file of its own,
 * export_<format>.c. */
#ifndef AS_REPORT_EXPORT_EXPORT_FORMATS_H
#define AS_REPORT_EXPORT_EXPORT_FORMATS_H

#include "report/export/export.h"

int as_export_chrome(struct as_export *x, struct assay_error *err);
int as_export_perfetto(struct as_export *x, struct assay_error *err);
int as_export_speedscope(struct as_export *x, struct assay_error *err);
int as_export_folded(struct as_export *x, struct assay_error *err);
int as_export_json(struct as_export *x, struct assay_error *err);
int as_export_csv(struct as_export *x, struct assay_error *err);

#endif
