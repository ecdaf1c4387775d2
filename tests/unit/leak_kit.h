/* tests/unit/leak_kit.h - series of memory readings whose truth is known, and how often the leak
 * detector is right about them. Shared by test_leak_series.c and bench/leaks.c.
 *
 * Every series is drawn from its own generator, seeded by (seed, kind, number). One reading a step,
 * a tenth of a second apart, of the process:
 *   base       log-uniform 50 to 8192 MiB
 *   noise      normal, standard deviation log-uniform 0.02 to 0.5 % of the base; in every second
 *              series on average AR(1) with 0.5 and the same standard deviation
 *   quantum    4, 64 or 132 KiB, equally likely; readings are rounded down to it
 *   length     400 to 1600 steps
 * and by kind:
 *   flat       nothing more
 *   sawtooth   period log-uniform 4 to 100 steps, amplitude log-uniform 0.5 to 20 % of the base,
 *              rising during 50 to 100 % of the period, falling in the rest, random phase
 *   warm-up    first 5 to 100 steps rise to the base from 2 to 100 % of it below (log-uniform):
 *              exponentially (time constant a fifth of the steps), along a line, or in 2 to 8
 *              equal stairs at random steps, equally likely
 *   spike      after 40 to 95 % of the steps a jump by 1 to 50 % of the base (log-uniform); half of
 *              them stay, half go back after 1 to 50 steps
 *   drift      0.01 % of the base more each step from the start, 300 steps, and the one that tells
 *              that the last of them is over; a quarter of them begin with a warm-up as above,
 *              whose steps come on top of the 300 */
#ifndef AS_TESTS_LEAK_KIT_H
#define AS_TESTS_LEAK_KIT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <assay/leaks.h>

#include "stats/describe/rng.h"

enum leak_kind { LEAK_FLAT, LEAK_SAWTOOTH, LEAK_WARM_UP, LEAK_SPIKE, LEAK_DRIFT, LEAK_KIND_COUNT };

#define LEAK_KIT_MAX 1700 /* steps of the longest series, with room */

struct leak_warm_up {
    unsigned steps, shape, n_stairs;
    double rise; /* share of the base */
    unsigned stair[8];
};

struct leak_series {
    double mb[LEAK_KIT_MAX];
    unsigned n;
};

static inline double leak_kit_log_uniform(struct as_rng *rng, double low, double high)
{
    return low * pow(high / low, as_rng_unit(rng));
}

static inline unsigned leak_kit_between(struct as_rng *rng, unsigned low, unsigned high)
{
    return low + (unsigned)as_rng_below(rng, high - low + 1);
}

static inline struct leak_warm_up leak_kit_warm_up(struct as_rng *rng)
{
    struct leak_warm_up w = {0};

    w.steps = leak_kit_between(rng, 5, 100);
    w.shape = leak_kit_between(rng, 0, 2);
    w.n_stairs = leak_kit_between(rng, 2, 8);
    w.rise = leak_kit_log_uniform(rng, 0.02, 1);
    for (unsigned i = 0; i < w.n_stairs; i++)
        w.stair[i] = leak_kit_between(rng, 0, w.steps);
    return w;
}

/* How far below the base, as a share of it, the warm-up is at `step`. */
static inline double leak_kit_below(const struct leak_warm_up *w, unsigned step)
{
    unsigned open = 0;

    if (w->steps == 0)
        return 0;
    if (w->shape == 0)
        return w->rise * exp(-5.0 * step / w->steps);
    if (w->shape == 1)
        return step < w->steps ? w->rise * (1 - (double)step / w->steps) : 0;
    for (unsigned i = 0; i < w->n_stairs; i++)
        open += step < w->stair[i];
    return w->rise * open / w->n_stairs;
}

static inline double leak_kit_tooth(double phase, double rising)
{
    phase -= floor(phase);
    if (phase < rising)
        return phase / rising;
    return rising < 1 ? (1 - phase) / (1 - rising) : 0;
}

static inline void leak_kit_fill(struct leak_series *out, enum leak_kind kind, uint64_t seed,
                                 uint64_t number)
{
    static const double quanta[] = {4.0 / 1024, 64.0 / 1024, 132.0 / 1024};
    struct as_rng rng;
    struct leak_warm_up warm = {0};
    double base, sd, phi, quantum, noise = 0, period, tall, rising, phase, jump;
    unsigned jump_at, jump_end;

    as_rng_seed(&rng, seed * 1000003 + (uint64_t)kind * 100000007 + number);
    base = leak_kit_log_uniform(&rng, 50, 8192);
    sd = base * leak_kit_log_uniform(&rng, 0.0002, 0.005);
    phi = as_rng_below(&rng, 2) ? 0.5 : 0;
    quantum = quanta[as_rng_below(&rng, 3)];
    out->n = leak_kit_between(&rng, 400, 1600);
    period = floor(leak_kit_log_uniform(&rng, 4, 101));
    tall = leak_kit_log_uniform(&rng, 0.005, 0.2);
    rising = 0.5 + 0.5 * as_rng_unit(&rng);
    phase = as_rng_unit(&rng);
    jump = leak_kit_log_uniform(&rng, 0.01, 0.5);
    jump_at = (unsigned)(out->n * (0.4 + 0.55 * as_rng_unit(&rng)));
    jump_end = as_rng_below(&rng, 2) ? out->n : jump_at + leak_kit_between(&rng, 1, 50);
    if (kind == LEAK_WARM_UP || (kind == LEAK_DRIFT && number % 4 == 3))
        warm = leak_kit_warm_up(&rng);
    if (kind == LEAK_DRIFT)
        out->n = 301 + warm.steps;
    noise = as_rng_normal(&rng);
    for (unsigned i = 0; i < out->n; i++) {
        double mb = 1 - leak_kit_below(&warm, i);

        if (kind == LEAK_SAWTOOTH)
            mb += tall * leak_kit_tooth(i / period + phase, rising);
        if (kind == LEAK_SPIKE && i >= jump_at && i < jump_end)
            mb += jump;
        if (kind == LEAK_DRIFT)
            mb += 0.0001 * i;
        noise = phi * noise + sqrt(1 - phi * phi) * as_rng_normal(&rng);
        mb = floor((base * mb + sd * noise) / quantum) * quantum;
        out->mb[i] = mb > 0 ? mb : 0;
    }
}

static inline void leak_kit_count_alert(void *user, const struct assay_leak *leak,
                                        const struct assay_leak_incident *incident)
{
    (void)leak;
    *(unsigned *)user += incident != NULL;
}

/* Whether the detector, fed step by step, told an incident at any time or finds one at the end;
 * negative when it failed. */
static inline int leak_kit_told(const struct leak_series *s)
{
    struct assay_leak_detector_options options = {.size =
                                                      sizeof(struct assay_leak_detector_options)};
    struct assay_leak_detector *d = NULL;
    const struct assay_leak_incident *incidents;
    unsigned told = 0;
    int rc;

    options.alert = leak_kit_count_alert;
    options.user = &told;
    rc = assay_leak_detector_new(&d, &options, NULL);
    for (unsigned i = 0; rc == 0 && i < s->n; i++)
        rc = assay_leak_detector_add(d, NULL, s->mb[i], i, 1e9 + 0.1 * i, NULL);
    if (rc == 0)
        rc = assay_leak_detector_incidents(d, &incidents, NULL);
    assay_leak_detector_free(d);
    return rc < 0 ? rc : rc > 0 || told > 0;
}

/* How many of `n` series of a kind are told; negative when the detector failed. */
static inline int leak_kit_rate(enum leak_kind kind, uint64_t seed, unsigned n)
{
    static struct leak_series s;
    int told = 0;

    for (unsigned i = 0; i < n; i++) {
        int one;

        leak_kit_fill(&s, kind, seed, i);
        one = leak_kit_told(&s);
        if (one < 0)
            return one;
        told += one;
    }
    return told;
}

#endif
