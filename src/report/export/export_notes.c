/* report/export/export_notes.c - what is said beside an export: what a limit left out, and what the
 * run itself lacks. Sentences without a full stop, for standard error and for the places formats
 * have for them. */
#include "report/export/export_common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"

/* A sentence that grows by parts with commas between them. */
struct sentence {
    char *text;
    size_t size;
    const char *opening;
};

AS_PRINTF(2, 3) static void add(struct sentence *s, const char *fmt, ...)
{
    size_t capacity = AS_EXPORT_TEXT - s->size;
    va_list args;
    int n = snprintf(s->text + s->size, capacity, "%s", s->size ? ", " : s->opening);

    if (n < 0 || (size_t)n >= capacity)
        return;
    s->size += (size_t)n;
    capacity -= (size_t)n;
    va_start(args, fmt);
    n = vsnprintf(s->text + s->size, capacity, fmt, args);
    va_end(args);
    if (n > 0)
        s->size += (size_t)n < capacity ? (size_t)n : capacity - 1;
}

static const struct {
    const char *name;
    size_t at;
} cut_kind[] = {
    {"spans", offsetof(struct as_export_tally, spans)},
    {"samples", offsetof(struct as_export_tally, samples)},
    {"iterations", offsetof(struct as_export_tally, iterations)},
    {"losses", offsetof(struct as_export_tally, losses)},
    {"waits", offsetof(struct as_export_tally, waits)},
    {"notes", offsetof(struct as_export_tally, notes)},
    {"points", offsetof(struct as_export_tally, points)},
    {"locks", offsetof(struct as_export_tally, locks)},
    {"stacks", offsetof(struct as_export_tally, stacks)},
    {"ns in stacks", offsetof(struct as_export_tally, stacks_ns)},
};

#define N_ALWAYS 3

static uint64_t count_at(const struct as_export_tally *tally, size_t at)
{
    uint64_t n;

    memcpy(&n, (const char *)tally + at, sizeof n);
    return n;
}

size_t as_export_cut_text(char out[AS_EXPORT_TEXT], const struct as_export_result *result)
{
    struct sentence s = {.text = out, .opening = "left out "};

    out[0] = '\0';
    for (size_t i = 0; as_export_is_cut(result) && i < AS_COUNT_OF(cut_kind); i++) {
        uint64_t seen = count_at(&result->seen, cut_kind[i].at),
                 kept = count_at(&result->kept, cut_kind[i].at);
        char some[AS_TEXT_HUMAN], all[AS_TEXT_HUMAN];

        /* Those that are always asked about are told even when they are whole. */
        if (seen == kept && (i >= N_ALWAYS || seen == 0))
            continue;
        as_text_count(some, seen - kept);
        as_text_count(all, seen);
        add(&s, "%s of %s %s", some, all, cut_kind[i].name);
    }
    return s.size;
}

static void add_lost(struct sentence *s, const struct as_run_health *h)
{
    char count[AS_TEXT_HUMAN];
    uint64_t lost = 0;

    for (unsigned i = 0; i < AS_LOSS_REASON_COUNT; i++)
        lost += h->lost[i];
    if (lost) {
        as_text_count(count, lost);
        add(s, "%s events were lost while recording", count);
    }
    if (h->damaged_blocks) {
        as_text_count(count, h->damaged_events);
        add(s, "%llu corrupt blocks with at least %s events were skipped",
            (unsigned long long)h->damaged_blocks, count);
    }
    if (h->cut_bytes)
        add(s, "the file ends in the middle of a block");
}

size_t as_export_health_text(char out[AS_EXPORT_TEXT], const struct as_run *run,
                             const struct as_export_result *result)
{
    struct sentence s = {.text = out, .opening = "the run is incomplete: "};
    const struct as_run_health *h = &run->health;

    out[0] = '\0';
    add_lost(&s, h);
    if (h->live)
        add(&s, "it is still being recorded");
    else if (!h->closed)
        add(&s, "it was not closed");
    if (result->no_clock)
        add(&s, "its clock samples are corrupt, so no event could be written");
    return s.size;
}
