/* measure/latency/run_history.h - medians of earlier runs of the same thing on the same machine:
 * how much runs differ, which no single run can see. A file that makes no sense counts as none. */
#ifndef AS_MEASURE_LATENCY_RUN_HISTORY_H
#define AS_MEASURE_LATENCY_RUN_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { AS_HISTORY_KEPT = 32, AS_HISTORY_LEAST = 3 };

/* {0} is empty. */
struct as_run_history {
    double median_ns[AS_HISTORY_KEPT]; /* oldest first */
    double unix_s[AS_HISTORY_KEPT];    /* when */
    size_t n;
};

/* What is in the file at `path`; empty when there is none or it is something else. */
void as_run_history_load(struct as_run_history *history, const char *path);

/* The same from memory. */
void as_run_history_parse(struct as_run_history *history, const void *data, size_t size);

/* Adds a run, letting the oldest go when there are too many. */
void as_run_history_add(struct as_run_history *history, double median_ns, double unix_s);

AS_MUST_USE int as_run_history_save(const struct as_run_history *history, const char *path,
                                    struct assay_error *err);

/* How far the logarithms of medians lie apart, as a standard deviation: from the middle half of
 * them (the median distance from their median, times 1.4826), so that a busy hour does not count
 * for ever, but with fewer than 8 from all. About the share by which runs differ. NaN with fewer
 * than AS_HISTORY_LEAST. */
double as_run_history_spread(const struct as_run_history *history);

/* How many independent deviations that spread is worth: of the middle half 37 in 100. */
double as_run_history_degrees(const struct as_run_history *history);

/* The median of the medians; NaN with fewer than AS_HISTORY_LEAST. */
double as_run_history_median(const struct as_run_history *history);

#endif
