/* measure/peaks/peak_fields.c - peaks as a run keeps them. */
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

bool as_peaks_are_sound(const struct as_peaks *p)
{
    bool sound = p->n_counts > 0 && p->n_counts <= AS_PEAK_MAX_COUNTS && p->threads[0] == 1;

    for (unsigned i = 1; sound && i < p->n_counts; i++)
        sound = p->threads[i] > p->threads[i - 1];
    return sound;
}
