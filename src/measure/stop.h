/* measure/stop.h - a flag that asks long work to end early and to keep what it has. The caller sets
 * it, from a signal handler or from another thread; the work looks at it between two steps. */
#ifndef AS_MEASURE_STOP_H
#define AS_MEASURE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct as_stop {
    atomic_int asked;    /* 0: go on; otherwise the number of the signal that asked, or 1 */
    atomic_int *watched; /* set once the work looks at the flag, so that asking has an effect;
                            NULL: nobody needs to know */
};

/* `stop` may be NULL: nobody asks. */
static inline bool as_stop_asked(const struct as_stop *stop)
{
    return stop && atomic_load_explicit(&stop->asked, memory_order_relaxed) != 0;
}

/* From now on the work looks at the flag between steps that end. */
static inline void as_stop_watched(const struct as_stop *stop)
{
    if (stop && stop->watched)
        atomic_store_explicit(stop->watched, 1, memory_order_relaxed);
}

#endif
