/* probe/system/cpu_frequency.h - who decides how fast the processor runs, as sysfs tells it.
 * Virtual machines mostly tell nothing: the speed itself is then measured, elsewhere. */
#ifndef AS_PROBE_SYSTEM_CPU_FREQUENCY_H
#define AS_PROBE_SYSTEM_CPU_FREQUENCY_H

#include "base/fact.h"

enum as_turbo { AS_TURBO_UNKNOWN, AS_TURBO_OFF, AS_TURBO_ON };

struct as_cpu_frequency {
    char governor[32]; /* of the first processor; "" when not told */
    const char *governor_why;
    bool governors_differ; /* another processor has another one */
    enum as_turbo turbo;
    const char *turbo_why;
    struct as_fact min_hz, max_hz, current_hz; /* of the first processor */
};

void as_cpu_frequency_read(struct as_cpu_frequency *out, const char *root, unsigned n_cpus);

#endif
