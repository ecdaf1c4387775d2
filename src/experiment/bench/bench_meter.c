/* experiment/bench/bench_meter.c - energy of single runs, from any source of power. */
#include "experiment/bench/bench.h"

#include <math.h>

#include "base/clock.h"
#include "base/units.h"

static int read_now(struct as_power_meter *m, double *watts, double *joules,
                    struct assay_error *err)
{
    const struct assay_power_source *s = m->source;
    struct assay_power_sample sample;
    int rc = ASSAY_OK;

    *watts = *joules = AS_UNKNOWN;
    if (s->read_watts)
        rc = s->read_watts(s->user, watts, err);
    if (rc == ASSAY_OK && s->read_joules)
        rc = s->read_joules(s->user, joules, err);
    if (rc == ASSAY_OK && isfinite(*watts) && m->tracker) {
        sample = (struct assay_power_sample){*watts, (uint64_t)(as_clock_unix_seconds() * 1e6)};
        (void)assay_power_tracker_add(m->tracker, &sample, NULL); /* a clock set back: left out */
    }
    if (rc < 0) {
        m->n_failed++;
        if (err)
            m->why = *err;
    }
    return rc;
}

static int begin(void *user, struct assay_error *err)
{
    struct as_power_meter *m = user;
    int rc = read_now(m, &m->watts, &m->joules, err);

    m->from_ns = as_clock_mono_ns();
    return rc;
}

static int end(void *user, double *joules, struct assay_error *err)
{
    struct as_power_meter *m = user;
    double seconds = (double)(as_clock_mono_ns() - m->from_ns) / 1e9, watts, counter;
    int rc = read_now(m, &watts, &counter, err);

    if (rc < 0)
        return rc;
    *joules = isfinite(counter) ? counter - m->joules : (m->watts + watts) / 2 * seconds;
    return isfinite(*joules) ? ASSAY_OK
                             : as_fail(err, ASSAY_ERR_UNSUPPORTED, "energy is unavailable");
}

struct as_bench_meter as_power_meter_table(struct as_power_meter *meter)
{
    return (struct as_bench_meter){.user = meter, .begin = begin, .end = end};
}
