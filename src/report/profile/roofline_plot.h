/* report/profile/roofline_plot.h - the layers of a profile under the measured roofline of the
 * machine: arithmetic intensity to the right, GFLOP/s upward, both logarithmic. */
#ifndef AS_REPORT_PROFILE_ROOFLINE_PLOT_H
#define AS_REPORT_PROFILE_ROOFLINE_PLOT_H

#include "report/page/page.h"
#include "report/profile/profile_report.h"

/* One picture that needs nothing else. UNSUPPORTED when the peaks of the machine or the costs of
 * all layers are unknown. */
AS_MUST_USE int as_roofline_svg(const struct as_profile *profile, struct as_out *out,
                                struct assay_error *err);

#endif
