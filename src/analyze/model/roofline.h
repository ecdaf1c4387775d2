/* analyze/model/roofline.h - what bounds a piece of work: arithmetic, memory at one level, or
 * neither. Against peaks measured on this machine; nothing is clamped, and past 100 % is called
 * inconsistent.
 */
#ifndef AS_ANALYZE_MODEL_ROOFLINE_H
#define AS_ANALYZE_MODEL_ROOFLINE_H

#include "measure/peaks/peaks.h"

/* Below this share of what the roofs allow, neither roof explains the time. */
#define AS_ROOF_OVERHEAD_SHARE 0.2

enum as_bound {
    AS_BOUND_UNKNOWN,  /* no counts, or no peaks */
    AS_BOUND_COMPUTE,  /* arithmetic is what takes longest */
    AS_BOUND_MEMORY,   /* moving bytes is, at `level` */
    AS_BOUND_OVERHEAD, /* both together explain less than AS_ROOF_OVERHEAD_SHARE of the time */
    AS_BOUND_COUNT
};

/* Work done in one call, or in a whole run. */
struct as_roof_work {
    enum as_peak_type type; /* of its arithmetic */
    double flops;
    double streamed_bytes;    /* read once in each run, from where the whole model lives: weights */
    double local_bytes;       /* just made by a neighbour or made for one: activations */
    uint64_t footprint_bytes; /* of everything a run touches: decides where weights come from */
    double seconds;           /* measured */
    unsigned threads;
};

struct as_roof {
    enum as_bound bound;
    enum as_peak_level level; /* of AS_BOUND_MEMORY: the one that takes longest */
    double intensity;         /* FLOP a byte; NaN without bytes */
    double achieved;          /* FLOP a second; NaN without time */
    double bandwidth;         /* bytes a second */
    double attainable;        /* FLOP a second that the roofs allow at this intensity; NaN */
    double compute_seconds;   /* least time for the arithmetic */
    double memory_seconds;    /* least time for the bytes */
    double roof_fraction;     /* least time / measured; NaN when not known; may pass 1 */
    bool is_short;            /* AS_BOUND_OVERHEAD of a kernel of microseconds: latency-bound */
    bool inconsistent;        /* passes as_roof_most(): counts, time or peaks are wrong */
};

/* The most a share of the roof can be: peaks are measured with the densest arithmetic there is, at
 * which processors lower their clock; other work may run at the higher one. With 2 % on top. */
double as_roof_most(const struct as_peaks *peaks);

void as_roof_find(struct as_roof *out, const struct as_peaks *peaks,
                  const struct as_roof_work *work);

/* "compute", "memory", "overhead", "unknown". */
const char *as_bound_name(enum as_bound bound);

/* The same for people: a layer that neither arithmetic nor memory explains is "inefficient". */
const char *as_bound_text(enum as_bound bound);

/* "memory (L2)", "compute", "inefficient"; for people. */
const char *as_roof_text(const struct as_roof *roof);

#endif
