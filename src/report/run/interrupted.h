/* report/run/interrupted.h - the fact that a measurement was ended early, as a run keeps it. The
 * page and the JSON of every kind of run report it. */
#ifndef AS_REPORT_RUN_INTERRUPTED_H
#define AS_REPORT_RUN_INTERRUPTED_H

#include "trace/run/run_maker.h"

struct as_interrupted_fact {
    uint64_t done;    /* what was measured, ... */
    uint64_t planned; /* ... of so many; 0: there was no plan */
    const char *unit; /* as in "iteration", singular */
};

void as_interrupted_put(struct as_run_maker *maker, const struct as_interrupted_fact *fact);

/* False when the measurement ran to its end. `fact` is in the run's memory. */
bool as_interrupted_get(struct as_run *run, struct as_interrupted_fact *fact);

/* "interrupted after 412 iterations", "interrupted after 93 of 2000 samples". */
void as_interrupted_text(const struct as_interrupted_fact *fact, char out[120]);

#endif
