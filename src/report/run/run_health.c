/* report/run/run_health.c - what is wrong with a run, each thing in one word and one sentence. */
#include "report/run/run_health.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "report/page/page.h"

struct list {
    struct as_health_finding *out;
    size_t n;
};

AS_PRINTF(4, 5)
static void add(struct list *list, const char *word, enum as_finding_level level, const char *fmt,
                ...)
{
    struct as_health_finding *f = &list->out[list->n];
    va_list args;

    if (list->n >= AS_MAX_FINDINGS)
        return;
    f->word = word;
    f->level = level;
    va_start(args, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
    list->n++;
}

/* "1 event", "1,234 events". */
static const char *count_of(char out[AS_TEXT_HUMAN + 24], uint64_t n, const char *what)
{
    char number[AS_TEXT_HUMAN];

    as_text_count(number, n);
    snprintf(out, AS_TEXT_HUMAN + 24, "%s %s%s", number, what, n == 1 ? "" : "s");
    return out;
}

#define COUNT(n, what) count_of((char[AS_TEXT_HUMAN + 24]){0}, (n), (what))

static void find_state(struct list *list, const struct as_run_health *h)
{
    if (h->live)
        add(list, "live", AS_HEALTH_NOTE,
            "still recording: process %ld is alive; this is what it has recorded so far",
            h->live_pid);
    else if (!h->closed && h->write_sys)
        add(list, "not_closed", AS_HEALTH_WARN,
            "not closed: the run could not be written to its end (%s); %s recovered from its ring",
            strerror(h->write_sys), COUNT(h->ring_events, "event"));
    else if (!h->closed && h->ring_found)
        add(list, "not_closed", AS_HEALTH_WARN,
            "not closed: the program ended without it; %s recovered from its ring",
            COUNT(h->ring_events, "event"));
    else if (!h->closed)
        add(list, "not_closed", AS_HEALTH_LOSS,
            "not closed: the program ended without it, and no ring is left: the last events are "
            "missing");
}

static void find_damage(struct list *list, const struct as_run_health *h)
{
    if (h->damaged_blocks)
        add(list, "damaged", AS_HEALTH_LOSS, "corrupt: %s skipped (%s, at least %s)",
            COUNT(h->damaged_blocks, "block"), COUNT(h->damaged_bytes, "byte"),
            COUNT(h->damaged_events, "event"));
    if (h->cut_bytes && !h->live)
        add(list, "cut", AS_HEALTH_LOSS, "incomplete: the file ends inside a block (%s of it, %s)",
            COUNT(h->cut_bytes, "byte"), COUNT(h->cut_events, "event"));
    if (h->closed && h->expected_events > h->events)
        add(list, "missing", AS_HEALTH_LOSS, "missing: the session wrote %s, %s can be read",
            COUNT(h->expected_events, "event"), COUNT(h->events, "event"));
    if (h->unknown_blocks)
        add(list, "unknown_blocks", AS_HEALTH_NOTE,
            "%s of a kind that only a later version of assay knows",
            COUNT(h->unknown_blocks, "block"));
}

static void find_losses(struct list *list, const struct as_layers *layers)
{
    const struct as_run_health *h = &layers->run->health;
    uint64_t told = 0;

    for (uint32_t i = 0; i < AS_LOSS_REASON_COUNT; i++) {
        if (h->lost[i])
            add(list, "lost", AS_HEALTH_LOSS, "lost: %s (%s)", COUNT(h->lost[i], "event"),
                as_loss_text(i));
        told += h->lost[i];
    }
    if (!told && layers->lost_events > h->damaged_events + h->cut_events + layers->bad_events &&
        !h->closed)
        add(list, "lost", AS_HEALTH_LOSS, "lost: %s in all", COUNT(layers->lost_events, "event"));
    if (layers->lost_unknown)
        add(list, "lost_unknown", AS_HEALTH_LOSS,
            "lost: an unknown number of events between those recorded");
    if (layers->bad_events)
        add(list, "bad_events", AS_HEALTH_LOSS, "unreadable: %s",
            COUNT(layers->bad_events, "event"));
}

static void find_weakness(struct list *list, const struct as_layers *layers)
{
    char time[AS_TEXT_HUMAN];

    if (layers->unclosed || layers->stray_ends)
        add(list, "unbalanced", AS_HEALTH_WARN, "unbalanced: %s without an end, %s without a begin",
            COUNT(layers->unclosed, "call"), COUNT(layers->stray_ends, "end"));
    if (layers->cut)
        add(list, "cut_calls", AS_HEALTH_WARN, "truncated: %s by a loss while open",
            COUNT(layers->cut, "call"));
    if (layers->too_deep)
        add(list, "too_deep", AS_HEALTH_WARN, "too deep: %s below %u levels not followed",
            COUNT(layers->too_deep, "call"), AS_RUN_MAX_DEPTH);
    if (layers->backwards)
        add(list, "clock_backwards", AS_HEALTH_WARN, "clock: ran backwards before %s",
            COUNT(layers->backwards, "event"));
    if (!layers->run->time.known && layers->run->n_threads > 0)
        add(list, "clock_unknown", AS_HEALTH_WARN,
            "clock: the run does not hold the length of a tick; times are unreliable");
    if (layers->waited_ns) {
        as_text_ns(time, (double)layers->waited_ns, AS_TIME_AUTO);
        add(list, "waited", AS_HEALTH_WARN, "waited: the program waited %s for the recorder", time);
    }
}

size_t as_health_findings(const struct as_layers *layers,
                          struct as_health_finding out[AS_MAX_FINDINGS])
{
    struct list list = {out, 0};

    find_state(&list, &layers->run->health);
    find_damage(&list, &layers->run->health);
    find_losses(&list, layers);
    find_weakness(&list, layers);
    return list.n;
}

bool as_health_is_whole(const struct as_layers *layers)
{
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(layers, finding);

    for (size_t i = 0; i < n; i++) {
        if (finding[i].level == AS_HEALTH_LOSS)
            return false;
    }
    return true;
}

const char *as_health_status(const struct as_layers *layers)
{
    const struct as_run_health *h = &layers->run->health;

    if (h->damaged_blocks || (h->cut_bytes && !h->live) || layers->bad_events)
        return "damaged";
    if (h->live)
        return "live";
    if (!h->closed)
        return "not_closed";
    return layers->lost_events || layers->lost_unknown ? "lossy" : "complete";
}
