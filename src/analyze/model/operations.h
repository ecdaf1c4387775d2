/* analyze/model/operations.h - what bounds each kind of operation on this machine, and what would
 * help. Classes follow from counts, times and measured peaks alone; none is written down
 * beforehand. */
#ifndef AS_ANALYZE_MODEL_OPERATIONS_H
#define AS_ANALYZE_MODEL_OPERATIONS_H

#include "analyze/model/roofline.h"
#include "measure/overhead/operation_run.h"

struct as_operation_row {
    const struct as_operation_point *point;
    struct as_roof roof;
    double latency_ns;
    double gflops_per_second; /* 0 for what only moves bytes */
    double call_share;        /* how much of the time a run that does nothing would take */
    double ridge;             /* FLOP a byte at the level its bytes live in; NaN: not known */
    const char *class_name;   /* "memory-bound", "compute-bound", "overhead-bound", "unknown" */
    const char *focus;        /* "data_locality", "algorithms", ... */
    const char *advice;       /* the same as a sentence */
};

/* From this share on it is the call that costs, not what is done in it. */
#define AS_OPERATION_CALL_SHARE 0.5

struct as_operations {
    const struct as_operation_run *run;
    struct as_operation_row rows[AS_OPERATION_COUNT];
    size_t n_of[AS_BOUND_COUNT];
    /* Rows, or SIZE_MAX. By GFLOP/s among those that compute at all; by share of their roof. */
    size_t most_gflops, least_gflops, most_roof, least_roof;
    enum as_bound priority; /* memory or compute, whichever bounds more; overhead: neither does */
    const char *priority_text;
};

void as_operations_judge(struct as_operations *out, const struct as_operation_run *run,
                         const struct as_peaks *peaks);

/* "memory-bound". */
const char *as_operation_class(enum as_bound bound);

#endif
