/* trace/record/marks.c - the rarer marks: iterations, phases, samples, notes, timed executions.
 * Their records span several slots, so all go by the slow path. */
#include <assay/session.h>
#include <errno.h>
#include <string.h>

#include "base/sized.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

static void put(struct assay_record_ *record, size_t n)
{
    int kept = errno;
    sigset_t saved;

    as_signals_block(&saved);
    as_lane_put(record, n, true);
    as_signals_restore(&saved);
    errno = kept;
}

static bool recording(void)
{
    return __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED) != 0;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint32_t assay_site_named(const char *name, enum assay_category category, const char *unit)
{
    struct as_site_spec spec = {
        .name = name ? name : "", .category = (uint32_t)category, .unit = unit};
    int kept = errno;
    uint32_t id = as_site_intern(&spec);

    errno = kept;
    return id;
}

uint32_t assay_layer(const char *name)
{
    return assay_site_named(name, ASSAY_CATEGORY_LAYER, NULL);
}

uint32_t assay_channel(const char *name, const char *unit)
{
    return assay_site_named(name, ASSAY_CATEGORY_CHANNEL, unit);
}

void assay_layer_begin(uint32_t layer)
{
    assay_begin(layer);
}

void assay_layer_end(uint32_t layer)
{
    assay_end(layer);
}

void assay_iteration(uint64_t n)
{
    struct assay_record_ record[3] = {{0, as_record_word(0, AS_RECORD_ITER, 0)},
                                      {n, as_record_word(0, AS_RECORD_NUMBER, 0)},
                                      {0, as_record_word(0, AS_RECORD_CPU, 0)}};

    if (recording())
        put(record, as_clock_thread_cpu_ns(&record[2].time) ? 3 : 2);
}

void assay_iteration_end(void)
{
    struct assay_record_ record[2] = {{0, as_record_word(0, AS_RECORD_ITER_END, 0)},
                                      {0, as_record_word(0, AS_RECORD_CPU, 0)}};

    if (recording())
        put(record, as_clock_thread_cpu_ns(&record[1].time) ? 2 : 1);
}

/* Data about something marked before: it has no time of its own. */
static void put_data(uint64_t data, uint32_t kind, uint32_t site)
{
    struct assay_record_ record = {data, as_record_word(0, kind, site)};
    int kept = errno;
    sigset_t saved;

    as_signals_block(&saved);
    as_lane_put(&record, 1, false);
    as_signals_restore(&saved);
    errno = kept;
}

void assay_iteration_length(uint64_t length)
{
    if (recording())
        put_data(length, AS_RECORD_LENGTH, 0);
}

void assay_note(const char *key, double value)
{
    uint32_t site = recording() && key ? assay_site_named(key, ASSAY_CATEGORY_KEY, NULL) : 0;

    if (site)
        put_data(bits_of(value), AS_RECORD_NOTE, site);
}

void assay_sample(uint32_t channel, double value)
{
    struct assay_record_ record[2] = {{0, as_record_word(0, AS_RECORD_SAMPLE, channel)},
                                      {bits_of(value), as_record_word(0, AS_RECORD_VALUE, 0)}};

    if (channel && recording())
        put(record, 2);
}

static struct assay_site phase_site[ASSAY_PHASE_COUNT] = {
    [ASSAY_PHASE_FORWARD] = {"forward", NULL, 0, ASSAY_CATEGORY_PHASE, 0},
    [ASSAY_PHASE_BACKWARD] = {"backward", NULL, 0, ASSAY_CATEGORY_PHASE, 0},
    [ASSAY_PHASE_OPTIMIZER] = {"optimizer", NULL, 0, ASSAY_CATEGORY_PHASE, 0},
    [ASSAY_PHASE_DATA] = {"data", NULL, 0, ASSAY_CATEGORY_PHASE, 0},
    [ASSAY_PHASE_COMM] = {"comm", NULL, 0, ASSAY_CATEGORY_PHASE, 0},
};

void assay_phase_begin(enum assay_phase phase)
{
    if ((unsigned)phase < ASSAY_PHASE_COUNT)
        assay_put_site_(&phase_site[phase], AS_RECORD_BEGIN);
}

void assay_phase_end(enum assay_phase phase)
{
    if ((unsigned)phase < ASSAY_PHASE_COUNT)
        assay_put_site_(&phase_site[phase], AS_RECORD_END);
}

struct assay_timed assay_timed_begin(const char *label)
{
    struct assay_timed timed = {
        .site = recording() ? assay_site_named(label, ASSAY_CATEGORY_TIMER, NULL) : 0,
    };

    if (timed.site)
        assay_begin(timed.site);
    timed.start_ns = as_clock_mono_ns();
    return timed;
}

double assay_timed_end(const struct assay_timed *timed)
{
    uint64_t elapsed_ns = as_clock_mono_ns() - timed->start_ns;

    if (timed->site)
        assay_end(timed->site);
    return (double)elapsed_ns / 1e6;
}

int assay_layer_describe(uint32_t layer, const struct assay_layer_info *info,
                         struct assay_error *err)
{
    struct assay_layer_info facts;
    int rc;

    if (!info)
        return as_fail(err, ASSAY_ERR_USAGE, "the description of a layer is NULL");
    rc = as_sized_take(&facts, sizeof facts, info, "the description of a layer", err);
    if (rc == ASSAY_OK && facts.op)
        rc = as_site_attribute(layer, "op", facts.op, 0, err);
    if (rc == ASSAY_OK && facts.shape)
        rc = as_site_attribute(layer, "shape", facts.shape, 0, err);
    if (rc == ASSAY_OK && facts.flops > 0)
        rc = as_site_attribute(layer, "flops", NULL, facts.flops, err);
    if (rc == ASSAY_OK && facts.bytes > 0)
        rc = as_site_attribute(layer, "bytes", NULL, facts.bytes, err);
    return rc;
}

int assay_layer_set(uint32_t layer, const char *key, const char *value, struct assay_error *err)
{
    if (!key || !*key || !value)
        return as_fail(err, ASSAY_ERR_USAGE, "a fact about a layer needs a key and a value");
    return as_site_attribute(layer, key, value, 0, err);
}
