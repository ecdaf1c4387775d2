/* measure/peaks/peak_fields.c - peaks as a run keeps them. */
#include <math.h>

#include "measure/peaks/peaks.h"

static const struct as_json_field peak_fields[] = {
    AS_FIELD(struct as_peak, rate),
    AS_FIELD(struct as_peak, spread),
    AS_FIELD(struct as_peak, isa),
    AS_FIELD(struct as_peak, why),
};
static const struct as_json_shape peak_shape = AS_SHAPE(struct as_peak, peak_fields);

static const struct as_json_field place_fields[] = {
    AS_FIELD(struct as_peak_place, size_bytes),
    AS_FIELD(struct as_peak_place, set_bytes),
};
static const struct as_json_shape place_shape = AS_SHAPE(struct as_peak_place, place_fields);

static const struct as_json_field fields[] = {
    {.key = "threads",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_U32,
     .offset = offsetof(struct as_peaks, threads),
     .size = sizeof(unsigned),
     .count_offset = offsetof(struct as_peaks, n_counts),
     .count_size = sizeof(unsigned),
     .max = AS_PEAK_MAX_COUNTS},
    AS_FIELD_ALL(struct as_peaks, compute, compute[0][0], &peak_shape),
    AS_FIELD_ALL(struct as_peaks, bandwidth, bandwidth[0][0][0], &peak_shape),
    AS_FIELD_ALL(struct as_peaks, place, place[0], &place_shape),
    AS_FIELD(struct as_peaks, frequency_hz),
    AS_FIELD(struct as_peaks, vector_hz),
    AS_FIELD(struct as_peaks, clock_ns),
    AS_FIELD(struct as_peaks, gettime_ns),
    AS_FIELD(struct as_peaks, measured_unix_ns),
    AS_FIELD(struct as_peaks, took_ns),
    AS_FIELD(struct as_peaks, quick),
};
const struct as_json_shape as_peaks_shape = AS_SHAPE(struct as_peaks, fields);

/* A rate with the instructions that gave it, or the reason why there is none. */
static bool is_valid(const struct as_peak *peak)
{
    if (isnan(peak->rate))
        return peak->why && !peak->isa;
    return peak->rate >= 1 && peak->rate <= 1e18 && peak->spread >= 0 && peak->spread <= 1 &&
           peak->isa && !peak->why;
}

static bool is_between(double x, double least, double most)
{
    return x >= least && x <= most;
}

bool as_peaks_valid(const struct as_peaks *p)
{
    bool good = p->n_counts > 0 && p->threads[0] == 1 && is_between(p->clock_ns, 0, 1e9) &&
                is_between(p->gettime_ns, 0, 1e9) &&
                (isnan(p->frequency_hz) || is_between(p->frequency_hz, 1e6, 1e12)) &&
                (isnan(p->vector_hz) || is_between(p->vector_hz, 1e6, 1e12));

    for (unsigned i = 0; i < p->n_counts && good; i++) {
        good =
            p->threads[i] <= AS_PEAK_MAX_THREADS && (i == 0 || p->threads[i] > p->threads[i - 1]);
        for (int type = 0; type < AS_PEAK_TYPE_COUNT && good; type++)
            good = is_valid(&p->compute[type][i]);
        for (int at = 0; at < AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT && good; at++)
            good = is_valid(&p->bandwidth[at / AS_PEAK_ACCESS_COUNT][at % AS_PEAK_ACCESS_COUNT][i]);
    }
    return good;
}
