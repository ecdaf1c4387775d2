/* analyze/model/steadiness.c - whether a latency is steady enough to conclude anything from it. */
#include "analyze/model/steadiness.h"

#include <stdio.h>
#include <string.h>

#include "base/text/text.h"

#define TOO_WIDE 0.25

/* Nine of ten iterations lie so close together that p50 is known well enough without a CI. */
static bool is_narrow(const struct as_summary *s)
{
    return s->percentile[AS_SUMMARY_P90] - s->min <= TOO_WIDE * s->median;
}

const char *as_unsteady(const struct as_latency_run *run, struct as_arena *arena)
{
    const struct as_latency_metrics *f = &run->figures;
    const struct as_interval *ci = &f->median.interval;
    double width = (ci->high - ci->low) / f->summary.median;
    char text[AS_TEXT_HUMAN], line[160];
    const char *copy;

    if (run->n == 0)
        return NULL;
    if (!run->steady)
        return "the times drifted during the measurement";
    if (!ci->reached && f->median.n >= AS_LATENCY_MIN_RUNS && !is_narrow(&f->summary))
        (void)snprintf(line, sizeof line,
                       "%zu iterations count as %zu independent ones, too few for a 95 %% CI",
                       f->median.n, f->median.n_effective);
    else if (ci->reached && width > TOO_WIDE) {
        as_text_percent(text, width);
        (void)snprintf(line, sizeof line, "the 95 %% CI of p50 is %s wide", text);
    } else {
        return NULL;
    }
    copy = as_arena_text(arena, line, strlen(line));
    return copy ? copy : "";
}
