/* assay/power.h - power over time, and the energy it comes to.
 *
 *     struct assay_power_source source;
 *     struct assay_power_tracker *tracker;
 *     struct assay_energy_result energy;
 *     if (assay_power_tracker_new(&tracker, NULL, &err) == 0 &&
 *         assay_power_source_open("constant:75W", &source, &err) == 0 &&
 *         assay_power_tracker_start(tracker, &source, 10000, &err) == 0)
 *         work();
 *     assay_power_tracker_stop(tracker, NULL);
 *     if (assay_power_tracker_energy(tracker, &energy, &err) == 0 && energy.available)
 *         printf("%g J\n", energy.total_joules);
 *     assay_power_tracker_free(tracker);
 *
 * Anybody may write a source: fill the struct below. What cannot be measured is reported as
 * unavailable, with the reason; it is never 0. A source that counts joules is believed before the
 * sum of its watts. */
#ifndef ASSAY_POWER_H
#define ASSAY_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ---- */

/* Readers return 0, or a negative code with a sentence in `err`, which may be NULL. At least one of
 * the two is there. A tracker calls them from one thread at a time; they must not call it. */
struct assay_power_source {
    size_t size;      /* sizeof(struct assay_power_source) */
    const char *name; /* lives as long as the source; NULL: it has none */
    /* Watts now. NULL: they follow from the counter. */
    int (*read_watts)(void *user, double *watts, struct assay_error *err);
    /* Joules since any fixed moment; never fewer than before. NULL: there is no counter. */
    int (*read_joules)(void *user, double *joules, struct assay_error *err);
    void (*close)(void *user); /* NULL: nothing to do */
    void *user;
};

/* Opens what `spec` names: "constant:75W" or "constant:75" always reads 75 W, "none" is a source
 * whose samples fail. An unknown kind is an error that lists those there are. */
ASSAY_API int assay_power_source_open(const char *spec, struct assay_power_source *out,
                                      struct assay_error *err);
/* A source that always reads `watts`, for tests and for devices whose draw is known. */
ASSAY_API int assay_power_source_constant(double watts, struct assay_power_source *out,
                                          struct assay_error *err);
/* Accepts NULL and a source already closed. */
ASSAY_API void assay_power_source_close(struct assay_power_source *source);

/* ---- energy ---- */

struct assay_power_sample {
    double watts;          /* NaN: not known, as at the first sample of a counter alone */
    uint64_t timestamp_us; /* UNIX microseconds */
};

enum assay_energy_method { ASSAY_ENERGY_TRAPEZOID, ASSAY_ENERGY_COUNTER };

struct assay_energy_result {
    size_t size;         /* set by the library */
    double total_joules; /* between the first and the last sample */
    double mean_watts;   /* of the samples, however far apart they are */
    double peak_watts;
    double duration_seconds;
    uint64_t samples;
    double time_weighted_watts; /* joules by duration; NaN when no time passed */
    double idle_joules;         /* what assay_energy_less_idle() took away */
    bool available;             /* the energy above is known */
    const char *why;            /* it is not; NULL otherwise */
    enum assay_energy_method method;
};

/* The trapezoids between `n` samples in order of time. Of no sample all is 0; of one the joules and
 * the duration are 0 and both watts are its value; energy is not available then, for no time
 * passed. FORMAT, with nothing stored, for a time that goes backwards and for watts that are
 * negative or not finite. */
ASSAY_API int assay_energy_estimate(const struct assay_power_sample *samples, size_t n,
                                    struct assay_energy_result *out, struct assay_error *err);
/* The same, but a step backwards in time counts as no time, without a word: the answer of tools
 * that do so. */
ASSAY_API int assay_energy_estimate_saturating(const struct assay_power_sample *samples, size_t n,
                                               struct assay_energy_result *out,
                                               struct assay_error *err);

/* Takes away what the device draws without work: `idle_watts` for all of the time, from joules and
 * watts. The rest may be negative when the idle power was too high; that is for the caller to
 * see. STATE when the energy is not available. */
ASSAY_API int assay_energy_less_idle(struct assay_energy_result *result, double idle_watts,
                                     struct assay_error *err);

/* Joules for each of `count` equal things done in that time: samples, inferences, tokens. */
ASSAY_API int assay_energy_each(const struct assay_energy_result *result, uint64_t count,
                                double *joules, struct assay_error *err);
/* Joules of a part of the time, a layer say, that took `part_seconds`: its share of the time, as if
 * the power had been the same throughout. That is an attribution, not a measurement; state that
 * beside it. USAGE for more time than there was. */
ASSAY_API int assay_energy_share(const struct assay_energy_result *result, double part_seconds,
                                 double *joules, struct assay_error *err);

/* ---- samples over time ---- */

struct assay_power_tracker;

/* Zero means the default. */
struct assay_power_tracker_options {
    size_t size;        /* sizeof(struct assay_power_tracker_options) */
    const char *label;  /* copied; NULL: "" */
    size_t max_samples; /* kept: 100,000; more thin out what is kept, older and newer alike, while
                           the energy counts every one */
};

/* `options` may be NULL. A tracker is used by one thread at a time, beside its own sampler. */
ASSAY_API int assay_power_tracker_new(struct assay_power_tracker **out,
                                      const struct assay_power_tracker_options *options,
                                      struct assay_error *err);
/* Stops its sampler. Accepts NULL. */
ASSAY_API void assay_power_tracker_free(struct assay_power_tracker *tracker);
ASSAY_API const char *assay_power_tracker_label(const struct assay_power_tracker *tracker);

/* Reads `source` once and keeps the sample. A sample that fails is counted and makes the energy
 * unavailable, save that a counter bridges it as soon as it is read again. */
ASSAY_API int assay_power_tracker_sample(struct assay_power_tracker *tracker,
                                         const struct assay_power_source *source,
                                         struct assay_error *err);
/* Keeps a sample made elsewhere. FORMAT, and nothing is kept, for a time before the last sample's
 * and for watts that are negative or not finite. */
ASSAY_API int assay_power_tracker_add(struct assay_power_tracker *tracker,
                                      const struct assay_power_sample *sample,
                                      struct assay_error *err);

/* A thread that reads `source`, which must live until the stop, at once and then every
 * `interval_us` (1000 to 60,000,000), shifted at random by up to a tenth. Stopping takes one last
 * sample, so that all the time is covered. */
ASSAY_API int assay_power_tracker_start(struct assay_power_tracker *tracker,
                                        const struct assay_power_source *source,
                                        uint64_t interval_us, struct assay_error *err);
ASSAY_API int assay_power_tracker_stop(struct assay_power_tracker *tracker,
                                       struct assay_error *err);

/* Of all samples so far. When the energy is not available `why` is the reason, and lives as long as
 * the tracker; joules are NaN after a sample that failed. By a counter the watts are means between
 * samples where the source has none itself. */
ASSAY_API int assay_power_tracker_energy(struct assay_power_tracker *tracker,
                                         struct assay_energy_result *out, struct assay_error *err);

/* Samples that failed. */
ASSAY_API uint64_t assay_power_tracker_failed(struct assay_power_tracker *tracker);

/* Copies up to `capacity` of the kept samples, in order; returns how many there are. */
ASSAY_API size_t assay_power_tracker_samples(struct assay_power_tracker *tracker,
                                             struct assay_power_sample *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
