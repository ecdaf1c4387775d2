/* analyze/run/metric_diff.h - what changed between two runs that have no layers: metric by metric,
 * joined by their names, tested where both sides kept samples. */
#ifndef AS_ANALYZE_RUN_METRIC_DIFF_H
#define AS_ANALYZE_RUN_METRIC_DIFF_H

#include "analyze/run/run_diff.h"
#include "base/json/json_fields.h"

/* One metric of one run. */
struct as_metric {
    const char *name;
    const char *public_name; /* without arguments of commands */
    const char *unit; /* "ns", "bytes", "share", "count", "ratio", or of a rate: "FLOP/s", "/s" */
    double value;     /* NaN: not known */
    const double *sample_ns; /* of times; NULL: none were kept */
    size_t n_samples;
};

/* All of one run, in the order they are told. {0} is empty. */
struct as_metrics {
    struct as_arena arena;
    struct as_rows rows;   /* of struct as_metric */
    struct as_metric none; /* given out when memory is short */
    bool no_memory;
};

/* One more, under a name that is formatted; `unit` is a static text. Never NULL. */
AS_PRINTF(4, 5)
struct as_metric *as_metrics_add(struct as_metrics *metrics, const char *unit, double value,
                                 const char *name, ...);
void as_metrics_fini(struct as_metrics *metrics);

/* Takes the public names from the same metrics of the run as it is shown without arguments. Those
 * must outlive the others. */
AS_MUST_USE int as_metrics_name(struct as_metrics *metrics, const struct as_metrics *redacted,
                                struct assay_error *err);

struct as_metric_row {
    const char *name, *public_name, *unit;
    bool in[2];
    double value[2];
    double change; /* (B - A) / A; NaN when A is 0 or one is not known */
    struct as_diff_test test;
    enum as_diff_verdict verdict; /* UNTESTED: the change is all there is to say */
    size_t place;
};

struct as_metric_diff {
    struct as_diff_options options; /* defaults filled in */
    struct as_metric_row *row;      /* in the order of A, then what is only in B */
    size_t n_rows, n_tested;
    double slower_percent; /* the most that a time is shown to have grown; NaN: nothing to test */
    struct as_arena arena;
};

/* Compares two lists, which must outlive the result. Metrics known on neither side are left out. */
AS_MUST_USE int as_metric_diff_new(struct as_metric_diff **out, const struct as_metrics *a,
                                   const struct as_metrics *b,
                                   const struct as_diff_options *options, struct assay_error *err);
/* Accepts NULL. */
void as_metric_diff_free(struct as_metric_diff *diff);

/* By change and percent the relative change. */
void as_metric_diff_order(struct as_metric_diff *diff, enum as_diff_sort sort);

#endif
