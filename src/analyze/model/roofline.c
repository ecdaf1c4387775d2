/* analyze/model/roofline.c - what bounds a piece of work: arithmetic, memory at one level, or
 * neither. The least time is that of the slower of the two, since both go on at once. */
#include "analyze/model/roofline.h"

#include <math.h>

#include "base/units.h"

static const char *const bound_name[] = {
    [AS_BOUND_UNKNOWN] = "unknown",
    [AS_BOUND_COMPUTE] = "compute",
    [AS_BOUND_MEMORY] = "memory",
    [AS_BOUND_OVERHEAD] = "overhead",
};
_Static_assert(AS_COUNT_OF(bound_name) == AS_BOUND_COUNT, "name every bound");

static const char *const memory_text[] = {
    [AS_PEAK_L1] = "memory (L1)",
    [AS_PEAK_L2] = "memory (L2)",
    [AS_PEAK_L3] = "memory (L3)",
    [AS_PEAK_DRAM] = "memory (DRAM)",
};
_Static_assert(AS_COUNT_OF(memory_text) == AS_PEAK_LEVEL_COUNT, "every level");

const char *as_bound_name(enum as_bound bound)
{
    return (unsigned)bound < AS_BOUND_COUNT ? bound_name[bound] : "unknown";
}

const char *as_bound_text(enum as_bound bound)
{
    return bound == AS_BOUND_OVERHEAD ? "inefficient" : as_bound_name(bound);
}

const char *as_roof_text(const struct as_roof *roof)
{
    if (roof->bound == AS_BOUND_MEMORY && (unsigned)roof->level < AS_PEAK_LEVEL_COUNT)
        return memory_text[roof->level];
    if (roof->bound == AS_BOUND_OVERHEAD && roof->is_short)
        return "latency";
    return as_bound_text(roof->bound);
}

/* Bytes over a rate that may not be known; nothing takes no time. */
static double seconds_for(double amount, double rate)
{
    return amount > 0 ? amount / rate : 0;
}

/* Whole bytes; more than can be counted is the most that can. */
static uint64_t whole_bytes(double bytes)
{
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}

double as_roof_most(const struct as_peaks *peaks)
{
    double clock = peaks->frequency_hz / peaks->vector_hz;

    return 1.02 * (clock > 1 && clock < 2 ? clock : 1);
}

void as_roof_find(struct as_roof *out, const struct as_peaks *peaks,
                  const struct as_roof_work *work)
{
    double bytes = work->streamed_bytes + work->local_bytes, local, streamed, least;
    enum as_peak_level near = as_peak_level(peaks, whole_bytes(work->local_bytes));
    enum as_peak_level far = as_peak_level(peaks, work->footprint_bytes);

    *out = (struct as_roof){.level = near};
    out->intensity = bytes > 0 ? work->flops / bytes : AS_UNKNOWN;
    out->achieved = work->seconds > 0 ? work->flops / work->seconds : AS_UNKNOWN;
    out->bandwidth = work->seconds > 0 ? bytes / work->seconds : AS_UNKNOWN;
    out->compute_seconds =
        seconds_for(work->flops, as_peak_flops(peaks, work->type, work->threads));
    local = seconds_for(work->local_bytes, as_peak_bandwidth(peaks, near, work->threads));
    streamed = seconds_for(work->streamed_bytes, as_peak_bandwidth(peaks, far, work->threads));
    out->memory_seconds = local + streamed;
    if (streamed > local)
        out->level = far;
    least = fmax(out->compute_seconds, out->memory_seconds);
    if (isnan(out->compute_seconds) || isnan(out->memory_seconds) || !(work->seconds > 0)) {
        out->attainable = out->roof_fraction = AS_UNKNOWN;
        return;
    }
    out->attainable = least > 0 ? work->flops / least : AS_UNKNOWN;
    out->roof_fraction = least / work->seconds;
    out->inconsistent = out->roof_fraction > as_roof_most(peaks);
    if (out->roof_fraction < AS_ROOF_OVERHEAD_SHARE)
        out->bound = AS_BOUND_OVERHEAD;
    else
        out->bound =
            out->memory_seconds > out->compute_seconds ? AS_BOUND_MEMORY : AS_BOUND_COMPUTE;
}
