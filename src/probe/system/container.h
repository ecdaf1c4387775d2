/* probe/system/container.h - what a control group lets this process use, versions 1 and 2.
 * A limit of any group above ours holds for us too: the least of them is told. */
#ifndef AS_PROBE_SYSTEM_CONTAINER_H
#define AS_PROBE_SYSTEM_CONTAINER_H

#include "base/fact.h"

struct as_container {
    int version;                  /* of the control groups: 1, 2, or 0 when there are none */
    struct as_limit cpu_quota;    /* in CPUs: 1.5 is one and a half */
    struct as_limit memory_bytes; /* of the group that leaves the least */
    struct as_fact memory_used;   /* by that group, in bytes */
    struct as_fact throttled;     /* periods in which our group was stopped, since it began */
};

void as_container_read(struct as_container *out, const char *root);

#endif
