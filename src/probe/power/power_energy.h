/* probe/power/power_energy.h - samples of power added up, one after the other.
 * Sums are compensated: a million samples cost no digits. */
#ifndef AS_PROBE_POWER_POWER_ENERGY_H
#define AS_PROBE_POWER_POWER_ENERGY_H

#include <assay/power.h>
#include <math.h>

#include "base/error.h"

/* A sum and what rounding took from it. {0} is 0. */
struct as_energy_sum {
    double sum, lost;
};

/* {0} has no samples yet. */
struct as_energy {
    uint64_t n; /* samples */
    uint64_t first_us, last_us;
    uint64_t n_watts; /* samples that knew their watts */
    double last_watts, peak_watts;
    struct as_energy_sum watts, joules; /* of the trapezoids */
};

void as_energy_sum_add(struct as_energy_sum *sum, double value);

static inline double as_energy_sum_value(const struct as_energy_sum *sum)
{
    return sum->sum + sum->lost;
}

/* Whether a number can be a reading of watts. */
static inline bool as_energy_fine(double watts)
{
    return isfinite(watts) && watts >= 0;
}

/* Adds a sample that is no earlier than the last one, or counts as no later. With NaN for watts the
 * trapezoids on both sides of it are left out. */
void as_energy_add(struct as_energy *energy, const struct assay_power_sample *sample);

/* By trapezoids; available when time passed. */
void as_energy_told(const struct as_energy *energy, struct assay_energy_result *out);

/* ---- power_kinds ---- */

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
