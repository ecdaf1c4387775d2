/* trace/record/marks.c - the rarer marks: iterations, phases, samples, notes, timed executions.
 * Their records span several slots, so all go by the slow path. */
#include <assay/session.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

static void put(struct assay_record_ *record, size_t n)
{
    int kept = errno;
    struct as_held saved;

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
    struct as_held saved;

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

/* ---- points in time ---- */

/* `text` in records behind the mark, cut with an ellipsis; returns how many records there are. */
static size_t put_text(struct assay_record_ *record, const char *text)
{
    static const char ellipsis[] = "...";
    size_t size = strnlen(text, ASSAY_MESSAGE_MAX + 1), n = 1;
    char part[ASSAY_MESSAGE_MAX] = {0};

    memcpy(part, text, size > ASSAY_MESSAGE_MAX ? ASSAY_MESSAGE_MAX : size);
    if (size > ASSAY_MESSAGE_MAX) {
        size_t cut = ASSAY_MESSAGE_MAX - (sizeof ellipsis - 1);

        while (cut > 0 && ((unsigned char)part[cut] & 0xc0) == 0x80)
            cut--; /* not within a character */
        memset(part + cut, 0, sizeof part - cut);
        memcpy(part + cut, ellipsis, sizeof ellipsis - 1);
        size = cut + sizeof ellipsis - 1;
    }
    for (size_t at = 0; at < size || n == 1; at += 8, n++) {
        uint64_t bits = 0;

        for (unsigned i = 0; i < 8; i++)
            bits |= (uint64_t)(unsigned char)part[at + i] << 8 * i;
        record[n] = (struct assay_record_){bits, as_record_word(0, AS_RECORD_TEXT, 0)};
    }
    return n;
}

void assay_message(const char *text)
{
    struct assay_record_ record[AS_MESSAGE_RECORDS] = {{0, as_record_word(0, AS_RECORD_POINT, 0)}};

    if (text && recording())
        put(record, put_text(record, text));
}

void assay_instant(const char *name)
{
    struct assay_record_ record = {0, 0};

    if (!name || !recording())
        return;
    record.word =
        as_record_word(0, AS_RECORD_POINT, assay_site_named(name, ASSAY_CATEGORY_INSTANT, NULL));
    put(&record, 1);
}

static void put_point(const char *name, enum assay_category category, enum as_point_role role,
                      uint64_t id)
{
    struct assay_record_ record[2] = {{0, 0},
                                      {id, as_record_word(0, AS_RECORD_ID, (uint32_t)role)}};

    if (!name || !recording())
        return;
    record[0].word = as_record_word(0, AS_RECORD_POINT, assay_site_named(name, category, NULL));
    put(record, 2);
}

void assay_async_begin(const char *name, uint64_t id)
{
    put_point(name, ASSAY_CATEGORY_ASYNC, AS_POINT_ASYNC_BEGIN, id);
}

void assay_async_end(const char *name, uint64_t id)
{
    put_point(name, ASSAY_CATEGORY_ASYNC, AS_POINT_ASYNC_END, id);
}

void assay_flow_begin(const char *name, uint64_t id)
{
    put_point(name, ASSAY_CATEGORY_FLOW, AS_POINT_FLOW_BEGIN, id);
}

void assay_flow_step(const char *name, uint64_t id)
{
    put_point(name, ASSAY_CATEGORY_FLOW, AS_POINT_FLOW_STEP, id);
}

void assay_flow_end(const char *name, uint64_t id)
{
    put_point(name, ASSAY_CATEGORY_FLOW, AS_POINT_FLOW_END, id);
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
    uint64_t elapsed_ns;

    if (!timed)
        return (double)NAN;
    elapsed_ns = as_clock_mono_ns() - timed->start_ns;
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
