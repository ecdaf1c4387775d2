/* analyze/watch/target_verdict.c - growth held against what was still there at the end: a leak, or
 * memory that a program collects while it runs and gives back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/watch/target_findings.h"
#include "base/text/text.h"
#include "base/units.h"

#define LITTLE_LEFT   0.2  /* of what it grew by: then it was given back */
#define SITES_EXPLAIN 0.5  /* of a series's growth: then the sites are asked, else the sums */
#define SHORT_RUN     1.0  /* seconds */
#define SLIGHT        0.02 /* of what the processes hold */
#define STEPS_ENOUGH  8u   /* of memory kept by the epoch: these are found */
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

/* Whether the heap still held what it grew by when the program began to end, and what ran behind
 * main freed it. */
static bool freed_behind_main(const struct as_target *p, const struct as_target_growth *g)
{
    double from = g->length > 0 && p->heap_live.n ? p->heap_live.value[0] : AS_UNKNOWN;

    return !g->per_iteration && p->n_heaps == 1 && all_counted(p, g) &&
           p->exit_live_bytes - from >= (1 - LITTLE_LEFT) * g->net_bytes;
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
    bool to_the_end;
    const char *freed_by; /* what did as it ended, and not the program's work; NULL: nothing */
};

static void tell_found(struct as_target_findings *f, const struct as_target *p, struct growing g)
{
    char text[AS_TEXT_HUMAN], when[AS_TEXT_HUMAN];

    as_text_bytes(text, g.bytes);
    as_text_ns(when, g.stopped_seconds * 1e9, AS_TIME_AUTO);
    if (isfinite(g.stopped_seconds))
        f->headline =
            as_findings_say(f, "memory grew for the first %s (%s) and was not freed", when, text);
    else if (g.freed_by && p->wall_seconds >= SHORT_RUN)
        f->headline = as_findings_say(f,
                                      "leak: memory keeps growing (%s) and is freed only by %s "
                                      "as it ends",
                                      text, g.freed_by);
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

static void tell_stopped(struct as_target_findings *f, const struct as_target_growth *g)
{
    char text[AS_TEXT_HUMAN], when[AS_TEXT_HUMAN];

    as_text_ns(when, g->stopped_seconds * 1e9, AS_TIME_AUTO);
    if (g->counts)
        (void)snprintf(text, sizeof text, "%.0f more", g->net_bytes);
    else
        as_text_bytes(text, g->net_bytes);
    f->headline = as_findings_say(f, "%s grew for the first %s (%s) and then no more: no leak",
                                  g->counts ? g->what : "memory", when, text);
}

/* The process that had most of what is counted, when there are several. */
static const char *count_owner(struct as_target_findings *f, const struct as_target *p,
                               const struct as_target_growth *g)
{
    bool threads = strcmp(g->key, "threads") == 0;
    const struct as_process_row *most = NULL;
    uint64_t held = 0;

    for (size_t i = 0; i < p->n_processes; i++) {
        const struct as_process_row *r = &p->process[i];
        struct as_fact n = threads ? r->threads_most : r->descriptors_most;

        if (n.why || n.value <= held)
            continue;
        held = n.value;
        most = r;
    }
    return most ? as_findings_say(f, "; most in process %lld: %llu", (long long)most->pid,
                                  (unsigned long long)held)
                : "";
}

static const char *count_evidence(struct as_target_findings *f, const struct as_target *p,
                                  const struct as_target_growth *g)
{
    return as_findings_say(f, "%s%s", g->text, count_owner(f, p, g));
}

static void tell_count(struct as_target_findings *f, const struct as_target *p,
                       const struct as_target_growth *g)
{
    if (g->verdict == AS_GROWTH_RETURNED)
        f->headline = as_findings_say(
            f, "%s grew while it ran (%.0f more) and were closed: no leak", g->what, g->net_bytes);
    else
        f->headline =
            p->wall_seconds < SHORT_RUN
                ? as_findings_say(f,
                                  "%s grew until the end of a short run (%.0f more): "
                                  "whether it would continue is unknown",
                                  g->what, g->net_bytes)
                : as_findings_say(f, "leak: %s keep growing (%.0f more)", g->what, g->net_bytes);
}

/* No series of the whole grows, but sites do. */
static void judge_sites(struct as_target_findings *f, const struct as_target *p)
{
    const struct growing sites = {bytes_of_sites(f), AS_UNKNOWN, true, NULL};
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

static bool some_site_kept(const struct as_target_findings *f)
{
    for (size_t i = 0; i < f->n_growing; i++)
        if (is_kept(f->growing[i].place))
            return true;
    return false;
}

/* What all series together say. */
struct sum {
    const char *runtime;
    const struct as_target_growth *worst; /* NULL: none that grew */
    size_t n_judged;
    const char *freed_by; /* as the program ended; NULL: nothing was */
    bool known, collected;
};

static double largest(const struct as_target_series *s)
{
    double most = 0;

    for (size_t i = 0; i < s->n; i++)
        most = s->value[i] > most ? s->value[i] : most;
    return most;
}

/* Every block and mapping was counted and neither grew, while pages of files came in: then it is
 * libraries that are loaded and tables that are relocated; no leak of the program. */
static bool is_of_loading(const struct as_target_findings *f, const struct as_target *p,
                          const struct as_target_growth *g)
{
    if (!g->of_processes || g->counts || f->heap_in_part || p->n_heaps != 1 || !all_counted(p, g) ||
        (double)p->heap.mapped_live_bytes >= SITES_EXPLAIN * g->net_bytes ||
        largest(&p->rss) - largest(&p->anon) < LITTLE_LEFT * g->net_bytes)
        return false;
    for (size_t i = 0; i < f->n_growths; i++)
        if (strcmp(f->growth[i].key, "heap_live") == 0)
            return f->growth[i].verdict == AS_GROWTH_NONE && !some_site_kept(f);
    return false;
}

/* Where nobody counts blocks (children), pages that allocators keep are all that is seen: it takes
 * some of what the processes hold to be more than that. */
static bool is_slight(const struct as_target *p, const struct as_target_growth *g)
{
    const struct as_target_series *of = p->anon.n ? &p->anon : &p->rss;

    return g->of_processes && !g->counts && !all_counted(p, g) &&
           g->net_bytes < SLIGHT * largest(of);
}

/* Every block was counted, their bytes did not grow, and they are as much as all that is resident:
 * then pages of blocks that were there before are written to for the first time. */
static bool is_of_touching(const struct as_target_findings *f, const struct as_target *p,
                           const struct as_target_growth *g)
{
    if (!g->of_processes || g->counts || f->heap_in_part || p->n_heaps != 1 || !all_counted(p, g) ||
        (double)p->heap.mapped_live_bytes >= SITES_EXPLAIN * g->net_bytes ||
        largest(&p->heap_live) < largest(&p->anon) - LITTLE_LEFT * g->net_bytes)
        return false;
    for (size_t i = 0; i < f->n_growths; i++)
        if (strcmp(f->growth[i].key, "heap_live") == 0)
            return f->growth[i].verdict == AS_GROWTH_NONE && !some_site_kept(f);
    return false;
}

/* Growth was found: whether it stays a leak. */
static enum as_growth_verdict hold_against_end(const struct as_target_findings *f,
                                               const struct as_target *target,
                                               const struct as_target_growth *g, struct sum *sum)
{
    if (g->counts && g->fell && isfinite(g->stopped_seconds))
        return AS_GROWTH_RETURNED;
    if (is_of_loading(f, target, g) || is_of_touching(f, target, g) || is_slight(target, g))
        return AS_GROWTH_NONE;
    if (!g->counts && is_collected(sum->runtime) &&
        (g->of_processes || strcmp(sum->runtime, "V8") == 0)) { /* whose buffers malloc makes */
        sum->collected = true;
        return AS_GROWTH_UNKNOWN;
    }
    if (!g->counts && was_returned(f, target, g)) {
        /* What frees all that a program still holds, as it ends: the program did not let go. */
        bool python = strcmp(sum->runtime, "CPython") == 0;

        if (!g->to_the_end || isfinite(g->stopped_seconds) ||
            !(python || freed_behind_main(target, g)))
            return AS_GROWTH_RETURNED;
        sum->freed_by = python ? "the interpreter" : "destructors and exit handlers";
    }
    return g->rested ? AS_GROWTH_STOPPED : AS_GROWTH_FOUND;
}

static void judge_growths(struct as_target_findings *f, const struct as_target *target,
                          struct sum *sum)
{
    for (size_t i = 0; i < f->n_growths; i++) {
        struct as_target_growth *g = &f->growth[i];

        sum->known |= g->verdict != AS_GROWTH_UNKNOWN && !g->counts;
        sum->n_judged = g->judged > sum->n_judged ? g->judged : sum->n_judged;
        if (g->verdict != AS_GROWTH_FOUND)
            continue;
        g->verdict = hold_against_end(f, target, g, sum);
        if (g->verdict != AS_GROWTH_UNKNOWN && g->verdict != AS_GROWTH_NONE &&
            (!sum->worst || g->verdict > sum->worst->verdict))
            sum->worst = g;
    }
}

/* Descriptors and threads that are kept stand beside memory that is. */
static void add_counts(struct as_target_findings *f, const struct as_target *p,
                       const struct as_target_growth *worst)
{
    for (size_t i = 0; i < f->n_growths; i++) {
        const struct as_target_growth *g = &f->growth[i];

        if (g->counts && g != worst && g->verdict == AS_GROWTH_FOUND)
            f->verdict_text =
                as_findings_say(f, "%s; %s", f->verdict_text, count_evidence(f, p, g));
    }
}

static void tell_worst(struct as_target_findings *f, const struct as_target *target,
                       const struct sum *sum)
{
    const struct as_target_growth *worst = sum->worst;
    const struct growing how = {worst->net_bytes, worst->stopped_seconds, worst->to_the_end,
                                sum->freed_by};

    f->verdict = worst->verdict;
    f->verdict_text = worst->counts ? count_evidence(f, target, worst) : evidence(f, target, worst);
    if (f->verdict == AS_GROWTH_STOPPED)
        tell_stopped(f, worst);
    else if (worst->counts)
        tell_count(f, target, worst);
    else if (f->verdict == AS_GROWTH_FOUND)
        tell_found(f, target, how);
    else
        tell_returned(f, how);
    if (f->verdict == AS_GROWTH_FOUND && !worst->counts && holders_ended(target, worst))
        f->verdict_text = as_findings_say(
            f, "%s; the heap of the child process that held it was not watched (--follow does)",
            f->verdict_text);
    add_counts(f, target, worst);
}

/* Whether what it rose by was there to the end, or only went with the program. */
static bool is_open(const struct as_target_findings *f, const struct as_target *p,
                    const struct as_target_growth *g, const struct sum *sum)
{
    struct as_target_growth rise = *g;

    if (!(g->open_rise > 0))
        return false;
    if (g->counts)
        return true;
    rise.net_bytes = g->open_rise;
    if (is_of_loading(f, p, &rise) || is_of_touching(f, p, &rise))
        return false;
    return !was_returned(f, p, &rise) || strcmp(sum->runtime, "CPython") == 0 ||
           freed_behind_main(p, &rise);
}

/* A series that rose in steps up to the end, too few of them for a verdict; `counts`: of those that
 * count things alone. False: there is none. */
static bool tell_open(struct as_target_findings *f, const struct as_target *p,
                      const struct sum *sum, bool counts)
{
    for (size_t i = 0; i < f->n_growths; i++) {
        struct as_target_growth *g = &f->growth[i];
        char rise[AS_TEXT_HUMAN];
        size_t need;

        if ((counts && !g->counts) || g->verdict != AS_GROWTH_NONE || !is_open(f, p, g, sum))
            continue;
        /* Twice as many steps have been enough, and no less than eight. */
        need = g->open_steps < STEPS_ENOUGH / 2
                   ? (g->judged * STEPS_ENOUGH + g->open_steps - 1) / g->open_steps
                   : 2 * g->judged;
        if (g->counts)
            (void)snprintf(rise, sizeof rise, "%.0f", g->open_rise);
        else
            as_text_bytes(rise, g->open_rise);
        g->verdict = f->verdict = AS_GROWTH_UNKNOWN;
        f->headline = f->verdict_text = g->text = as_findings_say(
            f,
            "not enough data: %zu samples, in which %s grew by %s in %u steps up to the end; need "
            "~%zu: watch it for longer",
            g->judged, g->what, rise, g->open_steps, need);
        return true;
    }
    return false;
}

void as_target_find_verdict(struct as_target_findings *f, const struct as_target *target)
{
    struct sum sum = {.runtime = runtime_of(target)};

    tell_live(f, target);
    judge_growths(f, target, &sum);
    if (sum.worst && (sum.worst->verdict != AS_GROWTH_STOPPED || !some_site_kept(f))) {
        tell_worst(f, target, &sum);
    } else if (sum.collected || (sum.known && is_collected(sum.runtime))) {
        f->verdict = AS_GROWTH_UNKNOWN;
        f->headline = f->verdict_text =
            as_findings_say(f,
                            "collected heap (%s): it grows until it is collected, and is not "
                            "judged",
                            sum.runtime);
    } else if (sum.known && f->n_growing) {
        judge_sites(f, target);
        if (f->verdict != AS_GROWTH_FOUND)
            (void)tell_open(f, target, &sum, true);
    } else if (sum.known) {
        if (tell_open(f, target, &sum, false))
            return;
        f->verdict = AS_GROWTH_NONE;
        f->headline = f->verdict_text = "no leak detected";
    } else {
        f->headline = f->verdict_text = as_findings_say(
            f,
            "not enough data: %zu sample%s before the program ended, need %d; try a "
            "shorter --interval",
            sum.n_judged, sum.n_judged == 1 ? "" : "s", AS_TARGET_MIN_SAMPLES);
    }
}
