/* probe/power/power_energy.c - samples of power added up, one after the other. */
#include "probe/power/power_energy.h"

#include <math.h>

#include "base/units.h"

void as_energy_sum_add(struct as_energy_sum *sum, double value)
{
    double next = sum->sum + value;

    if (fabs(sum->sum) >= fabs(value))
        sum->lost += sum->sum - next + value;
    else
        sum->lost += value - next + sum->sum;
    sum->sum = next;
}

void as_energy_add(struct as_energy *energy, const struct assay_power_sample *sample)
{
    uint64_t at = sample->timestamp_us;

    if (energy->n > 0 && at > energy->last_us && !isnan(sample->watts) &&
        !isnan(energy->last_watts))
        as_energy_sum_add(&energy->joules, (energy->last_watts / 2 + sample->watts / 2) *
                                               ((double)(at - energy->last_us) / 1e6));
    if (energy->n == 0)
        energy->first_us = at;
    energy->n++;
    energy->last_us = at;
    energy->last_watts = sample->watts;
    if (isnan(sample->watts))
        return;
    if (energy->n_watts == 0 || sample->watts > energy->peak_watts)
        energy->peak_watts = sample->watts;
    as_energy_sum_add(&energy->watts, sample->watts);
    energy->n_watts++;
}

void as_energy_told(const struct as_energy *energy, struct assay_energy_result *out)
{
    uint64_t passed_us =
        energy->last_us > energy->first_us ? energy->last_us - energy->first_us : 0;

    *out = (struct assay_energy_result){
        .size = sizeof(struct assay_energy_result),
        .total_joules = as_energy_sum_value(&energy->joules),
        .duration_seconds = (double)passed_us / 1e6,
        .samples = energy->n,
        .time_weighted_watts = AS_UNKNOWN,
        .available = passed_us > 0,
        .method = ASSAY_ENERGY_TRAPEZOID,
    };
    if (energy->n_watts > 0) {
        out->mean_watts = as_energy_sum_value(&energy->watts) / (double)energy->n_watts;
        out->peak_watts = energy->peak_watts;
    } else if (energy->n > 0) {
        out->mean_watts = out->peak_watts = AS_UNKNOWN;
    }
    if (passed_us > 0)
        out->time_weighted_watts = out->total_joules / out->duration_seconds;
    else if (energy->n == 0)
        out->why = "no sample of power was taken";
    else
        out->why = "no time passed between the samples of power";
}

static int estimate(const struct assay_power_sample *samples, size_t n, bool saturating,
                    struct assay_energy_result *out, struct assay_error *err)
{
    struct as_energy energy = {0};

    if (!out || (n > 0 && !samples))
        return as_fail(err, ASSAY_ERR_USAGE, "samples of power and room for a result are needed");
    for (size_t i = 0; i < n; i++) {
        if (!as_energy_fine(samples[i].watts))
            return as_fail(err, ASSAY_ERR_FORMAT,
                           "sample %zu: watts are finite and not below 0, not %g", i + 1,
                           samples[i].watts);
        if (!saturating && i > 0 && samples[i].timestamp_us < samples[i - 1].timestamp_us)
            return as_fail(err, ASSAY_ERR_FORMAT, "sample %zu is earlier than the one before it",
                           i + 1);
        as_energy_add(&energy, &samples[i]);
    }
    as_energy_told(&energy, out);
    return ASSAY_OK;
}

int assay_energy_estimate(const struct assay_power_sample *samples, size_t n,
                          struct assay_energy_result *out, struct assay_error *err)
{
    return estimate(samples, n, false, out, err);
}

int assay_energy_estimate_saturating(const struct assay_power_sample *samples, size_t n,
                                     struct assay_energy_result *out, struct assay_error *err)
{
    return estimate(samples, n, true, out, err);
}

static int check_known(const struct assay_energy_result *result, struct assay_error *err)
{
    if (result->available)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_STATE, "the energy is unknown: %s",
                   result->why ? result->why : "no reason is given");
}

int assay_energy_less_idle(struct assay_energy_result *result, double idle_watts,
                           struct assay_error *err)
{
    double joules;
    int rc;

    if (!result || !as_energy_fine(idle_watts))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "an energy and finite idle watts, not below 0, are needed");
    rc = check_known(result, err);
    if (rc < 0)
        return rc;
    joules = idle_watts * result->duration_seconds;
    result->total_joules -= joules;
    result->idle_joules += joules;
    result->mean_watts -= idle_watts;
    result->peak_watts -= idle_watts;
    result->time_weighted_watts -= idle_watts;
    return ASSAY_OK;
}

int assay_energy_each(const struct assay_energy_result *result, uint64_t count, double *joules,
                      struct assay_error *err)
{
    int rc;

    if (!result || !joules || count == 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "an energy, how many share it, and room for a number are needed");
    rc = check_known(result, err);
    *joules = rc < 0 ? AS_UNKNOWN : result->total_joules / (double)count;
    return rc;
}

int assay_energy_share(const struct assay_energy_result *result, double part_s, double *joules,
                       struct assay_error *err)
{
    int rc;

    if (!result || !joules || !(part_s >= 0))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "an energy, a part of its time and room for a number are needed");
    *joules = AS_UNKNOWN;
    rc = check_known(result, err);
    if (rc < 0)
        return rc;
    if (part_s > result->duration_seconds)
        return as_fail(err, ASSAY_ERR_USAGE, "a part of %g s is more than the %g s there were",
                       part_s, result->duration_seconds);
    *joules = result->total_joules * (part_s / result->duration_seconds);
    return ASSAY_OK;
}
