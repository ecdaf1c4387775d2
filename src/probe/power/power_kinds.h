/* probe/power/power_kinds.h - the kinds of power sources that can be named in text.
 * A new kind is a file with one such struct and a line in the table of power_source.c. */
#ifndef AS_PROBE_POWER_POWER_KINDS_H
#define AS_PROBE_POWER_POWER_KINDS_H

#include <assay/power.h>

#include "base/error.h"

struct as_power_kind {
    const char *name;  /* what stands before the colon */
    const char *usage; /* how to write it: "constant:75W" */
    /* `argument` is what follows the colon; NULL: there is none. `out` is filled only when it
     * works. */
    int (*open)(const char *argument, struct assay_power_source *out, struct assay_error *err);
};

extern const struct as_power_kind as_power_kind_constant;
extern const struct as_power_kind as_power_kind_none;

#endif
