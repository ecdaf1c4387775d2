/* analyze/watch/target_findings.c - whether a program's memory grows, and what holds the program
 * back. Here: growth, by the sound test of <assay/leaks.h>, with the heap sites that grow as
 * evidence. */
#include "analyze/watch/target_findings.h"

#include <assay/leaks.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/target_read.h"
#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "stats/inference/trend.h"

#define PLACE_TEXT   400
#define MOST_OF_IT   0.5 /* of the samples' time */
#define NEAR_THE_END 0.1
#define FALLEN       0.2 /* of what it grew by is left */
#define RISEN_AFTER  0.1 /* of what it grew by: then it went on */
#define MIN_WINDOW   3
#define MAX_WINDOW   10
#define RANGES       82 /* the detector's window is such a part of a series, where that is short */
#define LEAST_PART   0.02 /* of a series: less does not count as a rise */
#define LEAST_COUNT  8    /* descriptors or threads more than at first: fewer are no leak yet */

const char *as_findings_say(struct as_target_findings *f, const char *fmt, ...)
{
    char line[1000];
    const char *copy;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    copy = as_arena_text(&f->arena, line, strlen(line));
    return copy ? copy : "";
}

const char *as_growth_verdict_name(enum as_growth_verdict verdict)
{
    static const char *const name[] = {
        [AS_GROWTH_UNKNOWN] = "unknown",
        [AS_GROWTH_NONE] = "no_growth",
        [AS_GROWTH_STOPPED] = "grew_and_stopped",
        [AS_GROWTH_RETURNED] = "grew_and_was_given_back",
        [AS_GROWTH_FOUND] = "grows",
    };

    return name[verdict];
}

/* One series to judge. The detector takes MiB: counts stand for themselves. */
struct judged {
    const char *key, *what;
    const struct as_target_series *series;
    bool of_processes, steps, counts;
};

static double unit_of(const struct as_target_growth *g)
{
    return g->counts ? 1 : AS_MIB;
}

static int feed(struct assay_leak_detector *d, const struct judged *of, size_t n,
                struct assay_error *err)
{
    const struct as_target_series *s = of->series;
    double unit = of->counts ? 1 : AS_MIB;

    for (size_t i = 0; i < n; i++) {
        int rc;

        if (!(s->value[i] >= 0)) /* a reading that makes no sense */
            continue;
        rc = assay_leak_detector_add(d, NULL, s->value[i] / unit, of->steps ? i : ASSAY_UNKNOWN,
                                     s->seconds[i], err);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

/* "p < 0.001", "p = 0.03" */
static void p_text(char out[AS_TEXT_HUMAN], double p)
{
    if (p < 0.001)
        (void)snprintf(out, AS_TEXT_HUMAN, "p < 0.001");
    else
        (void)snprintf(out, AS_TEXT_HUMAN, "p = %.2g", p);
}

static const char *capacity_text(const struct as_target_growth *g)
{
    if (strcmp(g->headroom_of, "control_group") == 0)
        return "the limit of its control group";
    return strcmp(g->headroom_of, "address_space") == 0
               ? "the limit of its address space (ulimit -v, -d)"
               : "the machine's memory";
}

static void tell_growth(struct as_target_findings *f, struct as_target_growth *g)
{
    char rate[AS_TEXT_HUMAN], over[AS_TEXT_HUMAN], p[AS_TEXT_HUMAN], left[AS_TEXT_HUMAN],
        until[200] = "";

    if (g->verdict == AS_GROWTH_UNKNOWN) {
        g->text =
            as_findings_say(f,
                            "%s: not enough data: %zu sample%s before the end, need %d; try "
                            "a shorter --interval",
                            g->what, g->judged, g->judged == 1 ? "" : "s", AS_TARGET_MIN_SAMPLES);
        return;
    }
    if (g->verdict == AS_GROWTH_NONE) {
        g->text = as_findings_say(f, "%s: no leak detected in %zu samples", g->what, g->judged);
        return;
    }
    if (g->counts)
        as_text_fixed(rate, g->rate, g->rate < 10 ? 2 : 0);
    else
        as_text_bytes(rate, g->rate);
    p_text(p, g->p_value);
    if (g->per_iteration)
        (void)snprintf(over, sizeof over, "%.0f iterations", g->length);
    else
        as_text_ns(over, g->length * 1e9, AS_TIME_AUTO);
    if (g->headroom_of && g->of_processes) { /* once will do */
        as_text_ns(left, g->seconds_to_exhaustion * 1e9, AS_TIME_AUTO);
        (void)snprintf(until, sizeof until, "; at that rate %s lasts %s%s", capacity_text(g), left,
                       strcmp(g->headroom_of, "machine") == 0 ? "" : " at most");
    }
    g->text = as_findings_say(f, "%s grew by %s%s over %s, %s%s", g->what, rate,
                              g->per_iteration ? " an iteration" : "/s", over, p, until);
}

/* By time: samples are closer to each other at first, so that their number tells none. NaN when
 * there is no line. */
static double rate_between(const struct as_target_series *s, size_t n, double from, double to)
{
    struct as_trend_line line;
    size_t first = 0;

    while (n > 0 && s->seconds[n - 1] > to)
        n--;
    while (first < n && s->seconds[first] < from)
        first++;
    if (as_trend_line(&line, s->seconds + first, s->value + first, n - first, NULL) < 0)
        return AS_UNKNOWN;
    return line.slope;
}

/* What a series was at a time, on the line between two samples. */
static double value_at(const struct as_target_series *s, double seconds)
{
    size_t i = 0, end = s->n;
    double part;

    while (i < end) { /* to the first reading that is not before */
        size_t middle = i + (end - i) / 2;

        if (s->seconds[middle] < seconds)
            i = middle + 1;
        else
            end = middle;
    }
    if (s->n == 0)
        return AS_UNKNOWN;
    if (i == 0 || i == s->n || !(s->seconds[i] > s->seconds[i - 1]))
        return s->value[i == s->n ? i - 1 : i];
    part = (seconds - s->seconds[i - 1]) / (s->seconds[i] - s->seconds[i - 1]);
    return s->value[i - 1] + part * (s->value[i] - s->value[i - 1]);
}

/* Where growth that was found up to `to` came to its last level, on which it then stayed;
 * NaN: nowhere. */
static double find_stop(const struct as_target_series *s, size_t n, double to, double net)
{
    double stop = as_growth_stop(s->seconds, s->value, n);

    if (isfinite(stop) || !as_growth_rested(s->seconds, n, to))
        return stop;
    for (size_t i = n; i-- > 0 && s->seconds[i] > to;)
        if (s->value[i] - value_at(s, to) > RISEN_AFTER * net)
            return AS_UNKNOWN;
    return to;
}

/* `s` has `n` samples that count; the incident lies among them. One that lasts to the end is worse
 * than any that does not. */
static void take_incident(struct as_target_growth *g, const struct as_target_series *s, size_t n,
                          const struct assay_leak_incident *at)
{
    double span = s->seconds[n - 1] - s->seconds[0];
    double stop = find_stop(s, n, at->end_time_seconds, at->net_growth_mb * unit_of(g));
    double end =
        stop > at->start_time_seconds && stop < at->end_time_seconds ? stop : at->end_time_seconds;
    double rate = at->mb_per_step * AS_MIB, length = (double)(at->last - at->first);
    bool lasts = s->seconds[n - 1] - end < NEAR_THE_END * span;

    if (!g->per_iteration) {
        rate = rate_between(s, n, at->start_time_seconds, end);
        length = end - at->start_time_seconds;
    }
    if (g->verdict == AS_GROWTH_FOUND &&
        (lasts == g->lasts ? !(rate * length > g->net_bytes) : g->lasts))
        return;
    g->verdict = AS_GROWTH_FOUND;
    g->lasts = lasts;
    g->rate = rate;
    g->length = length;
    g->net_bytes = rate * length;
    g->p_value = at->p_value;
    g->stopped_seconds = g->per_iteration ? AS_UNKNOWN : stop;
    g->to_the_end = lasts && at->end_time_seconds - at->start_time_seconds > MOST_OF_IT * span;
    g->rested = !g->per_iteration && as_growth_rested(s->seconds, n, stop);
    g->fell = s->value[s->n - 1] - value_at(s, at->start_time_seconds) < FALLEN * g->net_bytes;
}

/* No heap grows by more than was allocated. */
static void bound_rate(struct as_target_growth *g, const struct as_target *target)
{
    double most = (double)target->heap.allocated_bytes / g->length;

    if (strcmp(g->key, "heap_live") == 0 && target->heap_known && g->rate > most)
        g->rate = most;
    g->net_bytes = g->rate * g->length;
}

static int find_incidents(struct as_target_growth *g, const struct judged *of, size_t n,
                          struct assay_error *err)
{
    /* Ranges of a series are judged, and not only the whole: growth may begin late. */
    size_t window = n / RANGES;
    const struct assay_leak_detector_options options = {
        .size = sizeof options,
        .min_growth_mb = of->counts ? LEAST_COUNT : 0,
        .window_size = window < MIN_WINDOW   ? MIN_WINDOW
                       : window > MAX_WINDOW ? MAX_WINDOW
                                             : window,
    };
    const struct assay_leak_incident *incident = NULL;
    struct assay_leak_detector *d = NULL;
    int rc = assay_leak_detector_new(&d, &options, err);

    if (rc == ASSAY_OK)
        rc = feed(d, of, n, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_detector_incidents(d, &incident, err);
    if (rc >= 0)
        g->verdict = AS_GROWTH_NONE;
    for (int i = 0; incident && i < rc; i++)
        take_incident(g, of->series, n, &incident[i]);
    assay_leak_detector_free(d);
    return rc < 0 ? rc : ASSAY_OK;
}

/* Less than that may be chance. */
static double least_rise(const struct judged *of, size_t n)
{
    return of->counts ? LEAST_COUNT : fmax(AS_MIB, LEAST_PART * of->series->value[n - 1]);
}

static int judge_series(struct as_target_findings *f, const struct judged *of, double until,
                        struct assay_error *err)
{
    const struct as_target_series *s = of->series;
    size_t n = as_series_judged(s->seconds, s->value, s->n, until);
    const double nan = AS_UNKNOWN;
    struct as_target_growth *g = &f->growth[f->n_growths];

    /* A heap that was counted for a while stands still from then on, whatever it did. */
    if (s->n == 0 || (f->heap_in_part && !of->of_processes && !of->counts))
        return ASSAY_OK;
    *g = (struct as_target_growth){.key = of->key,
                                   .what = of->what,
                                   .of_processes = of->of_processes,
                                   .counts = of->counts,
                                   .readings = s->n,
                                   .judged = n,
                                   .per_iteration = of->steps,
                                   .rate = nan,
                                   .length = nan,
                                   .net_bytes = nan,
                                   .p_value = nan,
                                   .seconds_to_exhaustion = nan,
                                   .stopped_seconds = nan};
    if (n >= AS_TARGET_MIN_SAMPLES) {
        int rc = find_incidents(g, of, n, err);

        if (rc < 0)
            return rc;
        /* Allocators take and keep pages by such amounts. */
        if (g->of_processes && g->verdict == AS_GROWTH_FOUND && g->net_bytes < AS_MIB)
            g->verdict = AS_GROWTH_NONE;
        if (g->verdict == AS_GROWTH_NONE && !of->steps)
            g->open_rise =
                as_growth_in_steps(s->seconds, s->value, n, least_rise(of, n), &g->open_steps);
    }
    f->n_growths++;
    return ASSAY_OK;
}

static int by_rate(const void *a, const void *b)
{
    double x = ((const struct as_growing_site *)a)->place->growth_bytes_per_second;
    double y = ((const struct as_growing_site *)b)->place->growth_bytes_per_second;

    return (x < y) - (x > y);
}

/* What the heap rose by while the place did, but no less than all places that grow. */
static double heap_rise(const struct as_target *target, const struct as_target_site *place,
                        double all_places)
{
    double rise = value_at(&target->heap_live, place->growth_to_seconds) -
                  value_at(&target->heap_live, place->growth_from_seconds);

    return rise > all_places ? rise : all_places;
}

/* `all_places`: the bytes of all that grow, without mappings, which are no part of the heap. */
static void tell_place(struct as_target_findings *f, const struct as_target *target,
                       struct as_growing_site *g, double all_places)
{
    char where[PLACE_TEXT], rate[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN], p[AS_TEXT_HUMAN];

    as_target_site_owner(target, g->place, where, sizeof where);
    as_text_bytes(rate, g->place->growth_bytes_per_second);
    p_text(p, g->place->growth_p_value);
    if (g->place->site.kind == AS_HEAP_MAPPING) {
        g->share = AS_UNKNOWN;
        g->text = as_findings_say(f, "mapped at %s: %s/s of address space, %s", where, rate, p);
        return;
    }
    g->share = g->place->rise_bytes / heap_rise(target, g->place, all_places);
    as_text_percent(share, g->share);
    g->text = as_findings_say(f, "%s of it allocated at %s: %s/s, %s", share, where, rate, p);
}

/* The sites that grow, and how much of the heap's growth each is. */
static int list_growing(struct as_target_findings *f, const struct as_target *target,
                        struct assay_error *err)
{
    double total = 0;

    for (size_t i = 0; i < target->n_places; i++) {
        f->n_growing += target->place[i].growing;
        if (target->place[i].growing && target->place[i].site.kind != AS_HEAP_MAPPING)
            total += target->place[i].rise_bytes;
    }
    f->growing = as_arena_zero(&f->arena, f->n_growing + 1, sizeof *f->growing);
    if (!f->growing)
        return as_fail_nomem(err);
    for (size_t i = 0, n = 0; i < target->n_places; i++)
        if (target->place[i].growing)
            f->growing[n++].place = &target->place[i];
    if (f->n_growing)
        qsort(f->growing, f->n_growing, sizeof *f->growing, by_rate);
    for (size_t i = 0; i < f->n_growing; i++)
        tell_place(f, target, &f->growing[i], total);
    return ASSAY_OK;
}

int as_target_find_growth(struct as_target_findings *f, const struct as_target *target,
                          struct assay_error *err)
{
    /* Pages of files are the system's to take back: a file that is mapped is no leak. */
    const bool anon = target->anon.n > 0;
    const struct judged judged[AS_TARGET_GROWTHS] = {
        {"heap_live", "the heap", &target->heap_live, false, false, false},
        {"iterations", "the heap at the iteration marks", &target->marks, false, true, false},
        {anon ? "anonymous" : "rss", anon ? "anonymous memory" : "resident memory",
         anon ? &target->anon : &target->rss, true, false, false},
        {"descriptors", "open descriptors", &target->descriptors, false, false, true},
        {"threads", "threads", &target->threads, false, false, true},
    };
    int rc = ASSAY_OK;

    for (size_t i = 0; i < AS_TARGET_GROWTHS && rc == ASSAY_OK; i++)
        rc = judge_series(f, &judged[i],
                          judged[i].steps ? AS_UNKNOWN : target->judged_until_seconds, err);
    for (size_t i = 0; i < f->n_growths && rc == ASSAY_OK; i++) {
        bound_rate(&f->growth[i], target);
        as_target_find_time_to_oom(&f->growth[i], target);
        tell_growth(f, &f->growth[i]);
    }
    if (rc == ASSAY_OK)
        rc = list_growing(f, target, err);
    if (rc == ASSAY_OK)
        as_target_find_verdict(f, target);
    return rc;
}

int as_target_findings_new(struct as_target_findings **out, const struct as_target *target,
                           struct assay_error *err)
{
    struct as_target_findings *f = as_alloc_zero(1, sizeof *f);
    int rc;

    *out = NULL;
    if (!f)
        return as_fail_nomem(err);
    f->processors_used = as_target_cpus_used(target);
    f->heap_in_part = target->heap_known && target->heap_why;
    rc = as_target_find_growth(f, target, err);
    if (rc < 0) {
        as_target_findings_free(f);
        return rc;
    }
    as_target_find_causes(f, target);
    *out = f;
    return ASSAY_OK;
}

void as_target_findings_free(struct as_target_findings *findings)
{
    if (!findings)
        return;
    as_arena_fini(&findings->arena);
    as_free(findings);
}
