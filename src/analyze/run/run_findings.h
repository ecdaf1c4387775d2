/* analyze/run/run_findings.h - what a run with layers says about memory, leaks and bottlenecks:
 * judged from the events of a recorded run, or as a manager judged it while the program ran. */
#ifndef AS_ANALYZE_RUN_RUN_FINDINGS_H
#define AS_ANALYZE_RUN_RUN_FINDINGS_H

#include "analyze/run/manager_run.h"
#include "measure/peaks/peaks.h"

/* Memory in MiB, over time. */
struct as_memory_curve {
    const char *why;  /* it is unknown, and why; NULL: known */
    const char *what; /* "resident memory of the process", or of the tree */
    double baseline_mb, peak_mb, last_mb;
    double kernel_peak_mb; /* VmHWM, since the process began: no sample can miss it */
    uint64_t snapshots;
    double *seconds, *mb; /* since the first; may be thinned */
    size_t n;
};

struct as_leak_findings {
    const char *why;
    struct as_leak_report found;
    size_t again; /* samples of the process that windows were judged from anew; 0: they were not */
};

struct as_run_findings {
    struct as_arena arena;
    double start_time, end_time, duration_seconds; /* UNIX seconds; NaN: unknown */
    struct as_memory_curve memory;
    struct as_leak_findings leaks;
    /* Of a run of `assay run`, whose memory is judged by analyze/watch/target_findings.h: its
     * headline. Set by the caller, borrowed; NULL: of another run. */
    const char *program_verdict;
    const char *bottlenecks_why;
    struct assay_bottleneck_result bottlenecks;
    const char *gpu_why;                  /* no device is read yet */
    const struct as_manager_run *manager; /* which has more; NULL: a recorded run */

    /* The makers of the above. */
    struct assay_leak_detector *detector;
    struct assay_bottleneck_analyzer *analyzer;
};

/* Thresholds; NULL members mean the defaults. */
struct as_findings_options {
    const struct assay_bottleneck_analyzer_options *bottlenecks;
    const struct assay_leak_detector_options *leaks;
    const struct as_peaks *peaks; /* of the machine that ran it; NULL: not known */
};

/* From a recorded run, whose layers were analyzed; both must outlive the findings. Fills in the
 * memory of the layers. `options` may be NULL. */
AS_MUST_USE int as_run_findings_new(struct as_run_findings **out, struct as_run *run,
                                    struct as_layers *layers,
                                    const struct as_findings_options *options,
                                    struct assay_error *err);

/* From what a manager found, which must outlive it. With `leaks`, windows of its samples of
 * resident memory are judged with those limits: USAGE when it holds none. */
AS_MUST_USE int as_run_findings_manager(struct as_run_findings **out,
                                        const struct as_manager_run *manager,
                                        const struct assay_leak_detector_options *leaks,
                                        struct assay_error *err);

/* Accepts NULL. */
void as_run_findings_free(struct as_run_findings *findings);

#endif
