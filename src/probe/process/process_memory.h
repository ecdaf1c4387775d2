/* probe/process/process_memory.h - what this process holds and what the system did to it.
 * Cheap enough to read around a measurement: two small files and one call. */
#ifndef AS_PROBE_PROCESS_PROCESS_MEMORY_H
#define AS_PROBE_PROCESS_PROCESS_MEMORY_H

#include "base/fact.h"
#include "base/json/json_fields.h"
#include "probe/system/topology.h"

/* Memory in bytes. */
struct as_process_memory {
    struct as_fact rss, rss_peak; /* now; the most since it began (VmHWM) */
    struct as_fact swapped;
};

/* Counted since the process or the thread began; subtract two samples. */
struct as_process_events {
    struct as_fact minor_faults, major_faults;
    struct as_fact switches_voluntary, switches_involuntary;
};

/* In bytes, of the whole machine. */
struct as_memory_headroom {
    struct as_fact available; /* without swapping (MemAvailable) */
    struct as_fact left;      /* the same, or what our control group or the limit of our addresses
                                 leaves when that is less */
    struct as_fact swap_total, swap_used;
};

extern const struct as_json_shape as_memory_headroom_shape; /* process_fields.c */

void as_process_memory_read(struct as_process_memory *out, const char *root);

/* Lets `rss_peak` begin anew from what is held now, for the whole process. False when the system
 * does not allow it: it then still counts from the beginning. */
bool as_process_memory_reset_peak(const char *root);

/* Of the whole process, or of the calling thread alone. */
void as_process_events_read(struct as_process_events *out, bool thread_only);

/* What happened between two samples; unknown when either is. */
struct as_process_events as_process_events_between(const struct as_process_events *from,
                                                   const struct as_process_events *to);

/* `container` may be NULL: its limit is then left out. */
void as_memory_headroom_read(struct as_memory_headroom *out, const char *root,
                             const struct as_container *container);

#endif
