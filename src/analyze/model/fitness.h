/* analyze/model/fitness.h - whether this machine is fit to measure on, and what to do where it is
 * not. A pure function of what was read and measured; each finding carries its evidence. */
#ifndef AS_ANALYZE_MODEL_FITNESS_H
#define AS_ANALYZE_MODEL_FITNESS_H

#include "measure/latency/noise.h"
#include "measure/peaks/peaks.h"
#include "probe/process/process_memory.h"
#include "probe/system/system_load.h"
#include "probe/system/topology.h"

#define AS_FITNESS_MAX 24

enum as_fitness_severity {
    AS_FITNESS_WARNING, /* results taken now are wrong or wide */
    AS_FITNESS_NOTE,    /* worth knowing when results are compared */
    AS_FITNESS_OK,
    AS_FITNESS_SEVERITY_COUNT
};

struct as_fitness_finding {
    enum as_fitness_severity severity;
    const char *key; /* for programs: "load", "governor" */
    char what[100];  /* a few words without a full stop */
    char evidence[160];
    char advice[200]; /* "" when there is nothing to do */
};

/* All but the topology may be NULL: what was not looked at is not judged. */
struct as_fitness_facts {
    const struct as_topology *topology;
    const struct as_system_load *load; /* from before our own work */
    const struct as_memory_headroom *headroom;
    const struct as_noise *noise;
    const struct as_peaks *peaks;
};

struct as_fitness {
    struct as_fitness_finding findings[AS_FITNESS_MAX]; /* warnings first, then notes */
    size_t n;
    size_t n_of[AS_FITNESS_SEVERITY_COUNT];
};

/* Limits beyond which something is a warning. */
#define AS_FITNESS_LOAD_A_CPU  0.5
#define AS_FITNESS_NOISE_SHARE 0.02
#define AS_FITNESS_STEAL_SHARE 0.005
#define AS_FITNESS_SCALING     0.75 /* of what as many threads would give alone */

void as_fitness_judge(struct as_fitness *out, const struct as_fitness_facts *facts);

/* "warning", "note", "ok". */
const char *as_fitness_severity_name(enum as_fitness_severity severity);

#endif
