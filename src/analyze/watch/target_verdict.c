/* analyze/watch/target_verdict.c - growth held against what was still there at the end: a leak, or
 * memory that a program collects while it runs and gives back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/watch/target_findings.h"
#include "base/text/text.h"
#include "base/units.h"

#define LITTLE_LEFT   0.2 /* of what it grew by: then it was given back */
#define SITES_EXPLAIN 0.5 /* of a series's growth: then the sites are asked, else the sums */
#define SHORT_RUN     1.0 /* seconds */
#define PLACE_TEXT    400

static bool may_hold(const struct as_process_row *r, double bytes)
{
    return !r->heap_watched && (r->peak_rss_bytes.why || (double)r->peak_rss_bytes.value > bytes);
}

/* A process whose heap nobody counted may hold what resident memory grew by. */
static bool all_counted(const struct as_target *p, const struct as_target_growth *g)
{
    bool of_heaps = !g->of_processes;

    for (size_t i = 0; i < p->n_processes && !of_heaps; i++)
        if (may_hold(&p->process[i], g->net_bytes))
            return false;
    return p->heap_known;
}

/* Whether those that may hold what grew were all children, and over before the command was. */
static bool holders_ended(const struct as_target *p, const struct as_target_growth *g)
{
    bool some = false;

    for (size_t i = 0; i < p->n_processes; i++) {
        const struct as_process_row *r = &p->process[i];

        if (!may_hold(r, g->net_bytes))
            continue;
        if (i == 0 || !isfinite(r->end_seconds))
            return false;
        some |= !r->peak_rss_bytes.why;
    }
    return some;
}

/* From outside: it had stopped growing, and then was seen to be gone. What grows until its process
 * ends may be a leak, though that end takes all of it away. */
static bool was_seen_to_return(const struct as_target *p, const struct as_target_growth *g)
{
    return g->of_processes && isfinite(g->stopped_seconds) && (g->fell || holders_ended(p, g));
}

static bool is_kept(const struct as_target_site *place)
{
    return (double)place->site.live_bytes >= LITTLE_LEFT * place->growth_bytes;
}

/* No more than this can have been given back. */
static double most_held(const struct as_target *p)
{
    double sum = (double)p->heap.peak_bytes;

    for (size_t i = p->n_heap_places; i < p->n_places; i++)
        sum += (double)p->place[i].site.allocated_bytes;
    return sum;
}

/* The runtime of the process that held most; "" for none. */
static const char *runtime_of(const struct as_target *p)
{
    const struct as_process_row *most = NULL;

    for (size_t i = 0; i < p->n_processes; i++) {
        const struct as_process_row *r = &p->process[i];

        if (!r->peak_rss_bytes.why &&
            (!most || r->peak_rss_bytes.value > most->peak_rss_bytes.value))
            most = r;
    }
    return most && most->runtime ? most->runtime : "";
}

/* Such a heap grows until it is collected, and keeps its pages: from outside that is no leak, nor
 * is it none. */
static bool is_collected(const char *runtime)
{
    return strcmp(runtime, "JVM") == 0 || strcmp(runtime, "Go") == 0 || strcmp(runtime, "V8") == 0;
}

/* Whether what a series grew by was gone before the end. */
static bool was_returned(const struct as_target_findings *f, const struct as_target *p,
                         const struct as_target_growth *g)
{
    double grown = 0, left = 0;

    for (size_t i = 0; i < f->n_growing; i++) {
        grown += f->growing[i].place->growth_bytes;
        left += (double)f->growing[i].place->site.live_bytes;
    }
    if (!all_counted(p, g))
        return was_seen_to_return(p, g);
    if (grown > SITES_EXPLAIN * g->net_bytes)
        return left < LITTLE_LEFT * grown;
    if (most_held(p) < SITES_EXPLAIN * g->net_bytes)
        return was_seen_to_return(p, g); /* it never was in what was counted: another program after
                                            exec */
    left = (double)p->heap.live_bytes + (double)p->heap.mapped_live_bytes;
    return left < LITTLE_LEFT * g->net_bytes;
}

static void tell_live(struct as_target_findings *f, const struct as_target *p)
{
    char bytes[AS_TEXT_HUMAN], blocks[AS_TEXT_HUMAN], mapped[AS_TEXT_HUMAN], also[120] = "";

    if (!p->heap_known || f->heap_in_part ||
        (p->heap.live_blocks == 0 && p->heap.mapped_live_bytes == 0))
        return;
    as_text_bytes(bytes, (double)p->heap.live_bytes);
    as_text_count(blocks, p->heap.live_blocks);
    as_text_bytes(mapped, (double)p->heap.mapped_live_bytes);
    if (p->heap.mapped_live_bytes)
        (void)snprintf(also, sizeof also, "%s%s mapped (address space, not all of it resident)",
                       p->heap.live_blocks ? " and " : "", mapped);
    if (p->heap.live_blocks == 0)
        f->live_text = as_findings_say(f,
                                       "%s was not freed at the end; whether it was still "
                                       "reachable is not visible from outside",
                                       also);
    else
        f->live_text = as_findings_say(f,
                                       "%s in %s block%s%s %s not freed at the end; whether they "
                                       "were still reachable is not visible from outside",
                                       bytes, blocks, p->heap.live_blocks == 1 ? "" : "s", also,
                                       p->heap.live_blocks == 1 && !also[0] ? "was" : "were");
}

/* The mapping that holds most at the end, when it holds much of what resident memory grew by. */
static const struct as_target_site *mapping_behind(const struct as_target *p,
                                                   const struct as_target_growth *g)
{
    const struct as_target_site *most = NULL;

    for (size_t i = 0; i < p->n_places; i++) {
        const struct as_target_site *place = &p->place[i];

        if (place->site.kind == AS_HEAP_MAPPING &&
            (!most || place->site.live_bytes > most->site.live_bytes))
            most = place;
    }
    return most && (double)most->site.live_bytes > LITTLE_LEFT * g->net_bytes ? most : NULL;
}

static double bytes_of_sites(const struct as_target_findings *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n_growing; i++)
        sum += f->growing[i].place->growth_bytes;
    return sum;
}

/* What stands behind the growth: the site that grows fastest, else a mapping. */
static const char *evidence(struct as_target_findings *f, const struct as_target *p,
                            const struct as_target_growth *g)
{
    const struct as_target_site *mapping;
    char where[PLACE_TEXT], bytes[AS_TEXT_HUMAN];

    /* Sites that hold a small part of what the processes grew by do not explain it. */
    if (f->n_growing && !(g->of_processes && bytes_of_sites(f) < SITES_EXPLAIN * g->net_bytes))
        return as_findings_say(f, "%s; %s", g->text, f->growing[0].text);
    mapping = g->of_processes ? mapping_behind(p, g) : NULL;
    if (!mapping)
        return g->text;
    as_target_site_owner(p, mapping, where, sizeof where);
    as_text_bytes(bytes, (double)mapping->site.live_bytes);
    f->mapping_text = as_findings_say(
        f, "%s mapped (address space, not all of it resident) at %s were left at the end", bytes,
        where);
    return as_findings_say(f, "%s; %s", g->text, f->mapping_text);
}

/* How it grew, for a headline; NaN `stopped`: it went on. */
struct growing {
    double bytes, stopped_seconds;
    bool to_the_end, by_interpreter; /* freed by an interpreter that ended, not by the program */
};

static void tell_found(struct as_target_findings *f, const struct as_target *p, struct growing g)
{
    char text[AS_TEXT_HUMAN], when[AS_TEXT_HUMAN];

    as_text_bytes(text, g.bytes);
    as_text_ns(when, g.stopped_seconds * 1e9, AS_TIME_AUTO);
    if (isfinite(g.stopped_seconds))
        f->headline =
            as_findings_say(f, "memory grew for the first %s (%s) and was not freed", when, text);
    else if (g.by_interpreter && p->wall_seconds >= SHORT_RUN)
        f->headline = as_findings_say(f,
                                      "leak: memory keeps growing (%s) and is freed only by the "
                                      "interpreter as it ends",
                                      text);
    else
        f->headline = p->wall_seconds < SHORT_RUN
                          ? as_findings_say(f,
                                            "memory grew until the end of a short run (%s): "
                                            "whether it would continue is unknown",
                                            text)
                          : "leak: memory keeps growing and is not freed";
}

static void tell_returned(struct as_target_findings *f, struct growing g)
{
    char text[AS_TEXT_HUMAN], when[AS_TEXT_HUMAN];

    as_text_bytes(text, g.bytes);
    as_text_ns(when, g.stopped_seconds * 1e9, AS_TIME_AUTO);
    if (isfinite(g.stopped_seconds))
        f->headline = as_findings_say(
            f, "memory grew for the first %s (%s) and was freed at the end: no leak", when, text);
    else if (g.to_the_end)
        f->headline = as_findings_say(f,
                                      "memory grew until the end of the program (%s) and was "
                                      "freed at the end: no leak, but worth a look",
                                      text);
    else
        f->headline = as_findings_say(
            f, "memory grew while it ran (%s) and was freed at the end: no leak", text);
}

/* No series of the whole grows, but sites do. */
static void judge_sites(struct as_target_findings *f, const struct as_target *p)
{
    const struct growing sites = {bytes_of_sites(f), AS_UNKNOWN, true, false};
    bool kept = false;

    for (size_t i = 0; i < f->n_growing; i++)
        kept |= is_kept(f->growing[i].place);
    f->verdict = kept ? AS_GROWTH_FOUND : AS_GROWTH_RETURNED;
    if (kept)
        tell_found(f, p, sites);
    else
        tell_returned(f, sites);
    f->verdict_text = as_findings_say(
        f, "single sites keep growing, the total does not show it yet; %s", f->growing[0].text);
}

void as_target_find_verdict(struct as_target_findings *f, const struct as_target *target)
{
    const struct as_target_growth *worst = NULL;
    const char *runtime = runtime_of(target);
    bool collected = false, by_interpreter = false;
    size_t n_judged = 0;
    bool known = false;

    tell_live(f, target);
    for (size_t i = 0; i < f->n_growths; i++) {
        struct as_target_growth *g = &f->growth[i];

        known |= g->verdict != AS_GROWTH_UNKNOWN;
        n_judged = g->judged > n_judged ? g->judged : n_judged;
        if (g->verdict != AS_GROWTH_FOUND)
            continue;
        if (g->of_processes && is_collected(runtime)) {
            g->verdict = AS_GROWTH_UNKNOWN;
            collected = true;
            continue;
        }
        if (was_returned(f, target, g)) {
            /* The interpreter frees what a program still holds: it did not let go of it. */
            if (strcmp(runtime, "CPython") == 0 && g->to_the_end && !isfinite(g->stopped_seconds))
                by_interpreter = true;
            else
                g->verdict = AS_GROWTH_RETURNED;
        }
        if (!worst || g->verdict > worst->verdict)
            worst = g;
    }
    if (worst) {
        const struct growing how = {worst->net_bytes, worst->stopped_seconds, worst->to_the_end,
                                    by_interpreter};

        f->verdict = worst->verdict;
        f->verdict_text = evidence(f, target, worst);
        if (f->verdict == AS_GROWTH_FOUND)
            tell_found(f, target, how);
        else
            tell_returned(f, how);
        if (f->verdict == AS_GROWTH_FOUND && holders_ended(target, worst))
            f->verdict_text = as_findings_say(
                f, "%s; the heap of the child process that held it was not watched (--follow does)",
                f->verdict_text);
    } else if (collected) {
        f->verdict = AS_GROWTH_UNKNOWN;
        f->headline = f->verdict_text = as_findings_say(
            f, "collected heap (%s): it grows until it is collected, and is not judged", runtime);
    } else if (known && f->n_growing) {
        judge_sites(f, target);
    } else if (known) {
        f->verdict = AS_GROWTH_NONE;
        f->headline = f->verdict_text = "no leak detected";
    } else {
        f->headline = f->verdict_text =
            as_findings_say(f,
                            "unknown: memory was sampled %zu time%s before the program ended, and "
                            "%d samples are needed",
                            n_judged, n_judged == 1 ? "" : "s", AS_TARGET_MIN_SAMPLES);
    }
}
