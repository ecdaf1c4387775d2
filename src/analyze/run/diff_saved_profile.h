/* analyze/run/diff_saved_profile.h - one side of a comparison, from the JSON of a session.
 * Means and totals are there, single calls only as far as the session kept them. */
#ifndef AS_ANALYZE_RUN_DIFF_SAVED_PROFILE_H
#define AS_ANALYZE_RUN_DIFF_SAVED_PROFILE_H

#include "analyze/run/diff_side.h"
#include "analyze/run/saved_profile.h"

/* Fills r->side from `view`, which must outlive it. */
AS_MUST_USE int as_diff_from_saved_profile(struct as_diff_run *r,
                                           const struct as_saved_profile *view,
                                           struct assay_error *err);

#endif
