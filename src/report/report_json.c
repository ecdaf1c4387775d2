#include "report/report.h"
int as_report_json(const struct as_report *report, struct as_out *out, struct assay_error *err) { (void)report; (void)out; return as_fail(err, ASSAY_ERR_UNSUPPORTED, "not yet"); }
int as_report_csv(const struct as_report *report, const char *folder, struct assay_error *err) { (void)report; (void)folder; return as_fail(err, ASSAY_ERR_UNSUPPORTED, "not yet"); }
