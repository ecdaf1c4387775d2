/* measure/latency/latency_run.h - how long one run of anything takes: warm-up until steady, then
 * samples until the median is known well enough. A run that fails is a failure, never a number. */
#ifndef AS_MEASURE_LATENCY_LATENCY_RUN_H
#define AS_MEASURE_LATENCY_LATENCY_RUN_H

#include "base/error.h"
#include "base/json/json_fields.h"
#include "measure/latency/sample_interference.h"
#include "measure/stop.h"
#include "stats/describe/outlier.h"
#include "stats/describe/summary.h"
#include "stats/inference/interval.h"

/* ---- latency_metrics.c ---- */

struct as_latency_metrics {
    struct as_summary summary;        /* in nanoseconds; percentiles by linear interpolation */
    struct as_series_interval median; /* its interval, honest for noise that comes in bursts */
    struct as_fences fences;          /* mild and severe outliers */
    bool trend_tested;                /* there were enough samples */
    bool drifted;       /* rose or fell by more than chance and by more than 1 % of the median */
    double trend_p;     /* NaN when not tested */
    double drift_share; /* from the first sample to the last, of the median; NaN when not tested */
};

/* `samples` in the order they were taken. Fails (USAGE) without samples, or when one is not finite,
 * and when memory runs out. */
AS_MUST_USE int as_latency_metrics(struct as_latency_metrics *out, const double *samples, size_t n,
                                   double level, struct assay_error *err);

/* The interval alone, for a decision on the way. */
AS_MUST_USE int as_latency_interval(struct as_series_interval *out, const double *samples, size_t n,
                                    double level, double *median, struct assay_error *err);

/* ---- warm_up.c ---- */

/* Anything that can be measured: 0, or what went wrong; a failure ends the measuring. */
typedef int (*as_measured)(void *user, struct assay_error *err);

struct as_warm_up_options {
    unsigned min_runs;   /* calls, however steady; 0: no warm-up but the first call */
    double max_s;        /* no longer than that, once the runs are done */
    double min_batch_ns; /* a sample takes at least so long; 0: a sample is one call */
    const struct as_interference_source *source;
    const struct as_stop *stop; /* ends it after the call that runs; NULL: nobody asks */
};

struct as_warm_up {
    double first_ns; /* of the very first call */
    double call_ns;  /* of one call at the end: the median of the last samples */
    uint64_t runs;   /* calls made */
    uint64_t batch;  /* calls in a sample */
    double seconds;
    bool steady; /* two windows of samples agree, and neither rises nor falls */
};

/* The first call that fails ends it with that failure. */
AS_MUST_USE int as_warm_up(struct as_warm_up *out, as_measured fn, void *user,
                           const struct as_warm_up_options *options, struct assay_error *err);

/* Calls `fn` `times` times and says how long that took; `done` counts calls for messages. A failure
 * that has no sentence of its own gets one. */
AS_MUST_USE int as_measured_calls(as_measured fn, void *user, uint64_t times, uint64_t *done,
                                  const struct as_interference_source *source, uint64_t *took_ns,
                                  struct assay_error *err);

/* ---- latency_run.c ---- */

#define AS_LATENCY_WARMUP_RUNS 10
#define AS_LATENCY_MIN_RUNS    20  /* when the time is up */
#define AS_LATENCY_WANTED_RUNS 100 /* before a narrow interval is believed */
#define AS_LATENCY_TIME_S      3.0
#define AS_LATENCY_TARGET      0.01
#define AS_LATENCY_LEVEL       0.95
#define AS_LATENCY_MAX_SAMPLES 200000

enum as_latency_phase { AS_LATENCY_WARMING, AS_LATENCY_TIMING };

/* How far it is, some ten times per second. */
struct as_latency_progress {
    enum as_latency_phase phase;
    double share;     /* done, from 0 to 1 */
    double median_ns; /* of the latest samples; NaN before there are any */
    uint64_t calls;   /* timed */
    double left_s;    /* estimated; NaN: unknown */
};

/* 0 means the default everywhere. */
struct as_latency_options {
    unsigned warmup_runs; /* at least so many calls; default 10 */
    bool no_warmup;
    double warmup_s;       /* at most so long, once these are done; default a third of time_s */
    unsigned runs;         /* exactly so many samples */
    unsigned min_runs;     /* not fewer samples; default 20 when time ends it, else 100 */
    double target;         /* width of the interval over the median that is narrow enough; 0.01 */
    double time_s;         /* of the timing; default 3 */
    double level;          /* of the interval; default 0.95 */
    size_t n_earlier;      /* runs of the same thing before this one, */
    double earlier_spread; /* and the spread of the logarithms of their medians */
    double earlier_median_ns; /* and the middle of these */
    double earlier_degrees;   /* of freedom of the spread */
    bool no_batch;            /* a sample is one call, however short */
    bool whole_process;       /* what is measured has threads: watch events of all of them */
    const struct as_interference_source *source; /* NULL: the machine */
    const struct as_stop *stop; /* ends it with what there is; STATE before the first sample */
    void (*progress)(void *user, const struct as_latency_progress *now);
    void *progress_user;
};

/* The failure of what was interrupted before there was anything to show. */
#define AS_STOPPED_BEFORE_FIRST "interrupted before the first iteration was measured"

enum as_latency_stop {
    AS_STOP_WIDTH,   /* the interval is narrow enough */
    AS_STOP_TIME,    /* the time is up */
    AS_STOP_RUNS,    /* as many as were asked for */
    AS_STOP_SAMPLES, /* no more are kept */
    AS_STOP_ASKED,   /* it was interrupted */
    AS_STOP_COUNT
};

/* Whether samples that are outliers on the long side saw something more often than the others. */
struct as_cause_tally {
    bool known;        /* the system tells */
    uint64_t n;        /* how often in the whole pass; stolen time in ticks */
    size_t n_outliers; /* outliers during which it may have happened */
    size_t n_others;   /* other samples likewise */
    bool suspected;    /* at least twice as frequent among outliers */
};

struct as_latency_run {
    double *samples_ns; /* of one call each, in the order taken, without the timer's cost */
    uint8_t *seen;      /* by sample: bit i is enum as_cause i */
    size_t n;
    uint64_t batch; /* calls in a sample, whose mean it is */
    struct as_latency_metrics figures;
    struct as_warm_up warm_up;
    double timer_cost_ns, timer_resolution_ns;
    double seconds; /* of the timing pass */
    enum as_latency_stop stop;
    /* The interval is of this process: one process cannot see how its times differ from those of
     * the next one, where memory lies elsewhere. What earlier runs show of that, when there were
     * enough; 0: nothing is known of them. The p50 of another run is expected between the two, at
     * the level asked for. */
    size_t n_earlier;
    double earlier_spread;                  /* NaN: not known */
    double between_low_ns, between_high_ns; /* NaN likewise */
    bool steady;                            /* after warm-up, and no drift since */
    size_t n_outliers;
    struct as_cause_tally causes[AS_CAUSE_COUNT];
    double frequency_before_hz, frequency_after_hz; /* NaN: not to be had */
};

/* Measures `fn`. The first failing call ends it with its failure, and `out` is empty. `options` may
 * be NULL. */
AS_MUST_USE int as_latency_run(struct as_latency_run *out, as_measured fn, void *user,
                               const struct as_latency_options *options, struct assay_error *err);
void as_latency_run_fini(struct as_latency_run *run);

/* One sample as a row of a run's table. */
struct as_latency_sample {
    double ns;
    uint8_t seen; /* bit i is enum as_cause i */
};

/* As runs keep them: measure/latency/latency_fields.c. That of a latency is without its samples. */
extern const struct as_json_shape as_latency_metrics_shape, as_latency_run_shape,
    as_latency_sample_shape;

struct as_run_maker;
struct as_run;

/* Samples of several points, a setting or an operation each, in the table "samples" of a run: at
 * most AS_KEPT_SAMPLES of a point, evenly spaced, so that runs can be compared. Points in order. */
#define AS_KEPT_SAMPLES 256
struct as_point_samples {
    const double *ns; /* in the run's memory */
    size_t n;
};
void as_point_samples_put(struct as_run_maker *maker, size_t point, const double *ns, size_t n);
AS_MUST_USE int as_point_samples_get(struct as_run *run, struct as_point_samples *points, size_t n,
                                     struct assay_error *err);

/* "width", "time", "runs", "samples", "interrupted". */
const char *as_latency_stop_name(enum as_latency_stop stop);

/* Items a second when one run does `items`; NaN when the median is 0. */
double as_latency_throughput(const struct as_latency_run *run, double items);

#endif
