/* analyze/model/fitness.h - whether this machine is fit to measure on, and what to do where it is
 * not. A pure function of what was read and measured; each finding carries its evidence. */
#ifndef AS_ANALYZE_MODEL_FITNESS_H
#define AS_ANALYZE_MODEL_FITNESS_H

#include "base/finding.h"
#include "measure/latency/noise.h"
#include "measure/peaks/peaks.h"
#include "probe/process/process_memory.h"
#include "probe/system/system_load.h"
#include "probe/system/topology.h"

#define AS_FITNESS_MAX 24

/* All but the topology may be NULL: what was not looked at is not judged. */
struct as_fitness_facts {
    const struct as_topology *topology;
    const struct as_system_load *load; /* from before our own work */
    const struct as_memory_headroom *headroom;
    const struct as_noise *noise;
    const struct as_peaks *peaks;
};

struct as_fitness {
    struct assay_finding findings[AS_FITNESS_MAX]; /* ranked: warnings, notes, what is fine */
    char evidence[AS_FITNESS_MAX][160];            /* the findings point into it */
    size_t n, n_warnings, n_notes;
};

/* Limits beyond which something is a warning. */
#define AS_FITNESS_LOAD_A_CPU  0.5
#define AS_FITNESS_NOISE_SHARE 0.02
#define AS_FITNESS_STEAL_SHARE 0.005
#define AS_FITNESS_SCALING     0.75 /* of what as many threads would give alone */

/* `out` is not to be copied: its findings point into it. */
void as_fitness_judge(struct as_fitness *out, const struct as_fitness_facts *facts);

#endif
