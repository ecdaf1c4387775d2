/* probe/power/power_tracker.c - samples of power over time: some kept, all of them counted.
 * Its thread and its owner share it, and the source, under one lock. */
#include <assay/power.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/units.h"
#include "probe/power/power_energy.h"
#include "probe/process/memory_probe.h"
#include "probe/process/memory_sampler.h"

#define DEFAULT_KEPT 100000

/* What a source counts. It may be trusted for all of the time when it was read at the first try and
 * at the last, whatever failed in between. */
struct counter {
    struct assay_power_source source; /* whose it is */
    bool begun;                       /* read at the first try */
    bool now;                         /* read at the last */
    const char *broken;               /* why it is to be trusted no more */
    double joules;                    /* at the last reading */
    uint64_t at_us;
    struct as_energy_sum total;
};

struct assay_power_tracker {
    char *label;
    struct as_tracker_lock lock; /* of what follows */
    struct as_kept_samples kept;
    uint64_t tries, failed;  /* samples and samples; those of them that failed */
    uint64_t guessed;        /* samples whose watts the counter gave, or nobody */
    struct as_energy energy; /* by watts */
    struct counter counter;  /* by joules */
    char why[240];           /* the first failure's; never changed again */
    struct as_memory_sampler sampler;
    struct assay_power_source source; /* the sampler's */
};

int assay_power_tracker_new(struct assay_power_tracker **out,
                            const struct assay_power_tracker_options *options,
                            struct assay_error *err)
{
    struct assay_power_tracker_options o;
    struct assay_power_tracker *t;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new tracker is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a power tracker", err);
    if (rc < 0)
        return rc;
    t = as_alloc_zero(1, sizeof *t);
    if (!t)
        return as_fail_nomem(err);
    t->kept = (struct as_kept_samples){.most = o.max_samples ? o.max_samples : DEFAULT_KEPT,
                                       .stride = 1,
                                       .bytes = sizeof(struct assay_power_sample)};
    t->sampler.name = "assay-power";
    t->label = as_strdup(o.label ? o.label : "");
    if (t->label && as_tracker_lock_init(&t->lock)) {
        *out = t;
        return ASSAY_OK;
    }
    as_free(t->label);
    as_free(t);
    return as_fail_nomem(err);
}

void assay_power_tracker_free(struct assay_power_tracker *tracker)
{
    if (!tracker)
        return;
    as_memory_sampler_stop(&tracker->sampler);
    as_tracker_lock_fini(&tracker->lock);
    as_free(tracker->label);
    as_free(tracker->kept.at);
    as_free(tracker);
}

const char *assay_power_tracker_label(const struct assay_power_tracker *tracker)
{
    return tracker ? tracker->label : "";
}

/* ---- what is kept ---- */

/* Under the lock. `direct`: the watts were read, not worked out. */
static int add(struct assay_power_tracker *t, const struct assay_power_sample *sample, bool direct,
               struct assay_error *err)
{
    bool kept = as_kept_samples_offer(&t->kept, t->energy.n, sample);

    t->tries++;
    t->guessed += !direct;
    as_energy_add(&t->energy, sample);
    return kept ? ASSAY_OK : as_fail_nomem(err);
}

static int refuse_past(const struct assay_power_tracker *t, uint64_t at_us, struct assay_error *err)
{
    if (t->energy.n == 0 || at_us >= t->energy.last_us)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_FORMAT, "a sample of power is earlier than the one before it");
}

int assay_power_tracker_add(struct assay_power_tracker *tracker,
                            const struct assay_power_sample *sample, struct assay_error *err)
{
    int rc;

    if (!tracker || !sample)
        return as_fail(err, ASSAY_ERR_USAGE, "a tracker and a sample to keep are needed");
    if (!as_energy_fine(sample->watts))
        return as_fail(err, ASSAY_ERR_FORMAT, "watts are finite and not below 0, not %g",
                       sample->watts);
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    rc = refuse_past(tracker, sample->timestamp_us, err);
    if (rc == ASSAY_OK) {
        tracker->counter.now = false;
        rc = add(tracker, sample, true, err);
    }
    as_tracker_leave(&tracker->lock);
    return rc;
}

/* ---- reading a source ---- */

static bool same_counter(const struct assay_power_source *a, const struct assay_power_source *b)
{
    return a->read_joules == b->read_joules && a->user == b->user;
}

/* Mean watts since the reading before, NaN when there is none. */
static double counter_add(struct counter *c, const struct assay_power_source *source, bool first,
                          double joules, uint64_t at_us)
{
    double watts = AS_UNKNOWN, passed = joules - c->joules;

    if (first) {
        c->begun = true;
        c->source = *source;
    } else if (!c->broken && c->begun && !same_counter(&c->source, source)) {
        c->broken = "the source of power was changed while it was read";
    } else if (!c->broken && c->begun && passed < 0) {
        c->broken = "the counter of the power source went backwards";
    } else if (!c->broken && c->begun) {
        as_energy_sum_add(&c->total, passed);
        if (at_us > c->at_us)
            watts = passed / ((double)(at_us - c->at_us) / 1e6);
    }
    c->joules = joules;
    c->at_us = at_us;
    return watts;
}

struct reading {
    bool watts_known, joules_known;
    double watts, joules;
    uint64_t at_us;
};

static int strange(const struct assay_power_source *source, const char *what, double value,
                   struct assay_error *err)
{
    return as_fail(err, ASSAY_ERR_FORMAT, "the power source %.60s reads %g %s",
                   source->name ? source->name : "without a name", value, what);
}

/* Fails when neither is known. */
static int read_source(const struct assay_power_source *source, struct reading *r,
                       struct assay_error *err)
{
    uint64_t ignored, before_us, after_us;
    int rc = ASSAY_OK;

    *r = (struct reading){0};
    as_memory_now(&ignored, &before_us);
    if (source->read_watts) {
        rc = source->read_watts(source->user, &r->watts, err);
        if (rc >= 0 && !as_energy_fine(r->watts))
            rc = strange(source, "watts", r->watts, err);
        r->watts_known = rc >= 0;
    }
    if (source->read_joules) {
        int rc_joules = source->read_joules(source->user, &r->joules, r->watts_known ? NULL : err);

        if (rc_joules >= 0 && !isfinite(r->joules))
            rc_joules = strange(source, "joules", r->joules, r->watts_known ? NULL : err);
        r->joules_known = rc_joules >= 0;
        rc = r->watts_known ? rc : rc_joules;
    }
    as_memory_now(&ignored, &after_us);
    r->at_us = before_us + (after_us - before_us) / 2;
    return rc < 0 ? rc : ASSAY_OK;
}

static void note_failure(struct assay_power_tracker *t, const struct assay_error *err)
{
    if (t->failed++ == 0)
        (void)snprintf(t->why, sizeof t->why, "%s",
                       err->msg[0] ? err->msg : "the power source failed and gave no reason");
    t->tries++;
    t->counter.now = false;
}

/* Under the lock. */
static int sample(struct assay_power_tracker *t, const struct assay_power_source *source,
                  struct assay_error *err)
{
    struct assay_error own = {0};
    struct assay_power_sample s;
    struct reading r;
    double mean = AS_UNKNOWN;
    int rc = read_source(source, &r, &own);

    if (rc == ASSAY_OK)
        rc = refuse_past(t, r.at_us, &own);
    if (rc < 0) {
        note_failure(t, &own);
        if (err)
            *err = own;
        return rc;
    }
    if (r.joules_known)
        mean = counter_add(&t->counter, source, t->tries == 0, r.joules, r.at_us);
    t->counter.now = r.joules_known;
    s = (struct assay_power_sample){r.watts_known ? r.watts : mean, r.at_us};
    return add(t, &s, r.watts_known, err);
}

static int take_source(struct assay_power_source *to, const struct assay_power_tracker *tracker,
                       const struct assay_power_source *from, struct assay_error *err)
{
    int rc = as_sized_take(to, sizeof *to, from, "a power source", err);

    if (rc == ASSAY_OK && (!tracker || !(to->read_watts || to->read_joules)))
        rc = as_fail(err, ASSAY_ERR_USAGE, "a tracker and a power source to read are needed");
    return rc;
}

int assay_power_tracker_sample(struct assay_power_tracker *tracker,
                               const struct assay_power_source *source, struct assay_error *err)
{
    struct assay_power_source whole;
    int rc = take_source(&whole, tracker, source, err);

    if (rc < 0)
        return rc;
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    rc = sample(tracker, &whole, err);
    as_tracker_leave(&tracker->lock);
    return rc;
}

/* ---- the thread ---- */

/* What fails is noted; the owner sees it in the energy. No child has this thread, so the lock is
 * sane. */
static void take(void *user)
{
    struct assay_power_tracker *t = user;

    pthread_mutex_lock(&t->lock.mutex);
    (void)sample(t, &t->source, NULL);
    as_tracker_leave(&t->lock);
}

int assay_power_tracker_start(struct assay_power_tracker *tracker,
                              const struct assay_power_source *source, uint64_t interval_us,
                              struct assay_error *err)
{
    struct assay_power_source whole;
    int rc = take_source(&whole, tracker, source, err);

    if (rc < 0)
        return rc;
    if (as_memory_sampler_runs(&tracker->sampler))
        return as_fail(err, ASSAY_ERR_STATE, "power is already being sampled: stop that first");
    if (interval_us < AS_SAMPLER_LEAST_US || interval_us > AS_SAMPLER_MOST_US)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "power is sampled every %d to %d microseconds, not every %llu",
                       AS_SAMPLER_LEAST_US, AS_SAMPLER_MOST_US, (unsigned long long)interval_us);
    tracker->source = whole;
    return as_memory_sampler_start(&tracker->sampler, interval_us, take, tracker, err);
}

int assay_power_tracker_stop(struct assay_power_tracker *tracker, struct assay_error *err)
{
    if (!tracker)
        return as_fail(err, ASSAY_ERR_USAGE, "the power tracker is NULL");
    if (!as_memory_sampler_runs(&tracker->sampler))
        return as_fail(err, ASSAY_ERR_STATE,
                       "power is not being sampled: there is nothing to stop");
    as_memory_sampler_stop(&tracker->sampler);
    take(tracker);
    return ASSAY_OK;
}

/* ---- what it came to ---- */

static bool by_counter(const struct assay_power_tracker *t)
{
    return t->counter.begun && t->counter.now && !t->counter.broken && t->energy.n >= 2;
}

static void tell(const struct assay_power_tracker *t, struct assay_energy_result *out)
{
    as_energy_told(&t->energy, out);
    if (by_counter(t)) {
        out->method = ASSAY_ENERGY_COUNTER;
        out->total_joules = as_energy_sum_value(&t->counter.total);
        if (out->available)
            out->time_weighted_watts = out->total_joules / out->duration_seconds;
        return;
    }
    if (t->failed == 0 && (t->guessed == 0 || t->energy.n < 2))
        return;
    out->available = false;
    out->total_joules = out->time_weighted_watts = AS_UNKNOWN;
    if (t->energy.n_watts == 0)
        out->mean_watts = out->peak_watts = AS_UNKNOWN;
    if (t->failed > 0)
        out->why = t->why;
    else if (t->counter.broken)
        out->why = t->counter.broken;
    else
        out->why = "the counter of the power source was not read at both ends of the time";
}

int assay_power_tracker_energy(struct assay_power_tracker *tracker, struct assay_energy_result *out,
                               struct assay_error *err)
{
    if (!tracker || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "a tracker and room for its energy are needed");
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    tell(tracker, out);
    as_tracker_leave(&tracker->lock);
    return ASSAY_OK;
}

uint64_t assay_power_tracker_failed(struct assay_power_tracker *tracker)
{
    uint64_t failed;

    if (!tracker)
        return 0;
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    failed = tracker->failed;
    as_tracker_leave(&tracker->lock);
    return failed;
}

size_t assay_power_tracker_samples(struct assay_power_tracker *tracker,
                                   struct assay_power_sample *out, size_t capacity)
{
    size_t n;

    if (!tracker)
        return 0;
    as_tracker_enter(&tracker->lock, &tracker->sampler);
    n = as_kept_samples_copy(&tracker->kept, out, capacity);
    as_tracker_leave(&tracker->lock);
    return n;
}
