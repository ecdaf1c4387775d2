/* analyze/watch/target_series.h - the sampled series of a program's run, and which heap sites grow.
 * For analyze/watch/target.c alone. */
#ifndef AS_ANALYZE_WATCH_TARGET_SERIES_H
#define AS_ANALYZE_WATCH_TARGET_SERIES_H

#include "analyze/watch/target_read.h"

/* Fills rss, heap_live and cpu from the channels of the run. Long series are thinned. */
AS_MUST_USE int as_target_channels(struct as_target *target, struct as_run *run,
                                   struct as_arena *scratch, struct assay_error *err);

/* How many of the first readings tell whether memory grows: those until `until` (NaN: all),
 * without the fall at the very end, where a program gives everything back. */
size_t as_series_judged(const double *seconds, const double *value, size_t n, double until);

/* Joins the series with the places, which it leaves sorted by heap and id. */
AS_MUST_USE int as_target_growth(struct as_target *target, const struct as_site_history *series,
                                 size_t n, struct assay_error *err);

#endif
