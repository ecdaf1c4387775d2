/* probe/system/system_load.h - how busy the machine is with others' work.
 * Shares are between two samples; a single reading has counters only. */
#ifndef AS_PROBE_SYSTEM_SYSTEM_LOAD_H
#define AS_PROBE_SYSTEM_SYSTEM_LOAD_H

#include "base/fact.h"
#include "base/json/json_fields.h"

struct as_system_load {
    struct as_fact_real load_1, load_5, load_15; /* tasks running or waiting, over minutes */
    struct as_fact runnable, tasks;              /* now; runnable includes ourselves */
    struct as_fact busy_ticks, steal_ticks, total_ticks; /* of all processors, since the start */
};

extern const struct as_json_shape as_system_load_shape; /* probe/process/process_fields.c */

/* 0 to 1, of all processors. */
struct as_load_shares {
    struct as_fact_real busy;  /* our own work included */
    struct as_fact_real steal; /* taken by the hypervisor for others */
};

void as_system_load_read(struct as_system_load *out, const char *root);

/* Unknown when a reading is, or when no tick (10 ms, mostly) lies between the two. */
struct as_load_shares as_system_load_between(const struct as_system_load *from,
                                             const struct as_system_load *to);

#endif
