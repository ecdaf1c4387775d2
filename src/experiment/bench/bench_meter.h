/* experiment/bench/bench_meter.h - energy of single runs, from any source of power.
 * A counter is read before and after; without one the power is, and the mean of both counts. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_METER_H
#define AS_EXPERIMENT_BENCH_BENCH_METER_H

#include <assay/power.h>

#include "experiment/bench/bench.h"

struct as_power_meter {
    const struct assay_power_source *source; /* the caller's */
    struct assay_power_tracker *tracker;     /* of all readings; NULL: none are kept */
    double watts, joules;
    uint64_t from_ns;
    uint64_t n_failed;      /* readings */
    struct assay_error why; /* the last that failed */
};

struct as_bench_meter as_power_meter_table(struct as_power_meter *meter);

#endif
