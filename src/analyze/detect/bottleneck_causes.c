/* analyze/detect/bottleneck_causes.c - layers by their share of the time, why they take it, and
 * what could be gained. Every cause is the part of a layer's own time, without layers inside it,
 * that it may explain, with its figures. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
#include "analyze/model/roofline.h"
#include "base/alloc.h"
#include "base/finding.h"
#include "base/text/text.h"
#include "base/units.h"
#include "stats/describe/sorted.h"

/* What is looked at while one layer's causes are found. */
#define LONGEST_TURN 0.05 /* seconds somebody else has a processor before it is given back */
#define SURE         0.7  /* from here on, the confidence is high, or medium */
#define HALF_SURE    0.4

struct search {
    struct assay_bottleneck_analyzer *a;
    const struct as_bottleneck_layer *layer;
    struct assay_ranked_layer *out;
    double coverage[ASSAY_BOTTLENECK_TYPE_COUNT]; /* share of the calls that report the metric */
    double *scratch;                              /* room for twice the samples of a layer */
    struct as_roof roof;                          /* of this layer */
    bool starved;                                 /* ready to run, without a processor */
    bool nomem;
};

static void format_ns(char out[AS_TEXT_HUMAN], double seconds)
{
    as_text_ns(out, seconds * 1e9, AS_TIME_AUTO);
}

/* Adds a cause that is strong enough to be named. */
AS_PRINTF(5, 6)
static void add_cause(struct search *s, enum assay_bottleneck_type type, double strength,
                      uint64_t n_reported, const char *fmt, ...)
{
    struct assay_cause *cause = &s->out->cause[s->out->n_causes];
    char text[240];
    va_list args;

    strength = strength > 1 ? 1 : strength;
    if (!(strength >= s->a->options.min_strength))
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *cause = (struct assay_cause){type, strength, as_arena_text(&s->a->arena, text, strlen(text))};
    s->nomem |= !cause->evidence;
    s->coverage[type] = (double)n_reported / (double)s->layer->calls;
    s->out->n_causes++;
}

/* ---- the roofline ---- */

/* The work of one call, averaged over the calls that report it; what is not reported counts as
 * none. */
static struct as_roof_work work_of(const struct search *s, uint64_t *n_reported)
{
    const struct as_metric_sum *flops = &s->layer->metric[AS_METRIC_FLOPS];
    const struct as_metric_sum *bytes = &s->layer->metric[AS_METRIC_BYTES];
    const struct as_metric_sum *most = flops->n >= bytes->n ? flops : bytes;

    *n_reported = most->n;
    return (struct as_roof_work){
        .type = AS_PEAK_F32,
        .flops = fmax(as_metric_mean(s->layer, AS_METRIC_FLOPS), 0),
        .local_bytes = fmax(as_metric_mean(s->layer, AS_METRIC_BYTES), 0),
        .seconds = most->n ? most->seconds / (double)most->n : AS_UNKNOWN,
        .threads = s->a->threads,
    };
}

/* What bounds it, how fast the machine could do that, and how long that would take. */
static void name_bound(struct search *s, const struct as_roof_work *work, uint64_t n_reported)
{
    bool memory = s->roof.bound == AS_BOUND_MEMORY;
    double least = memory ? s->roof.memory_seconds : s->roof.compute_seconds;
    char time[AS_TEXT_HUMAN], needed[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN];

    format_ns(time, work->seconds);
    format_ns(needed, least);
    if (memory)
        as_text_si(peak, as_peak_bandwidth(&s->a->peaks, s->roof.level, work->threads), "B/s");
    else
        as_text_si(peak, as_peak_flops(&s->a->peaks, work->type, work->threads), "FLOP/s");
    add_cause(s, memory ? ASSAY_BOTTLENECK_MEMORY : ASSAY_BOTTLENECK_COMPUTE, s->roof.roof_fraction,
              n_reported, "%s takes at least %s of the %s per call, at %s%s%s%s",
              memory ? "moving its bytes" : "arithmetic", needed, time, peak,
              memory ? " from " : "", memory ? as_peak_level_name(s->roof.level) : "",
              s->roof.inconsistent ? "; that exceeds the time: counts or peaks are wrong" : "");
}

static void name_roof(struct search *s)
{
    uint64_t n_reported;
    struct as_roof_work work = work_of(s, &n_reported);
    bool tiny = work.seconds < s->a->options.tiny_seconds;
    char time[AS_TEXT_HUMAN], needed[AS_TEXT_HUMAN];

    if (n_reported == 0)
        return;
    as_roof_find(&s->roof, &s->a->peaks, &work);
    s->out->roof_fraction = s->roof.roof_fraction;
    if (s->roof.bound == AS_BOUND_COMPUTE || s->roof.bound == AS_BOUND_MEMORY)
        name_bound(s, &work, n_reported);
    if (s->roof.bound != AS_BOUND_OVERHEAD)
        return;
    format_ns(time, work.seconds);
    format_ns(needed, fmax(s->roof.compute_seconds, s->roof.memory_seconds));
    add_cause(s, tiny ? ASSAY_BOTTLENECK_OVERHEAD : ASSAY_BOTTLENECK_UNKNOWN,
              1 - s->roof.roof_fraction, n_reported,
              tiny ? "a call takes only %s and its work %s of that: call overhead may be the rest"
                   : "a call takes %s, its work at the roofline %s: neither arithmetic nor memory "
                     "explains the time",
              time, needed);
}

/* ---- the other causes ---- */

/* The fraction of the layer's time in which a metric was read: the rest is not explained by it. */
static double known_share(const struct search *s, const struct as_metric_sum *metric)
{
    const double all = s->layer->self_seconds;

    return all > 0 && metric->seconds < all ? metric->seconds / all : 1;
}

static void name_faults(struct search *s)
{
    const struct assay_bottleneck_analyzer_options *o = &s->a->options;
    const struct as_metric_sum *minor = &s->layer->metric[AS_METRIC_MINOR_FAULTS];
    const struct as_metric_sum *major = &s->layer->metric[AS_METRIC_MAJOR_FAULTS];
    double per_minor = minor->n ? minor->sum / (double)minor->n : 0;
    double per_major = major->n ? major->sum / (double)major->n : 0;
    double share = 0;

    if (minor->seconds > 0)
        share += known_share(s, minor) * minor->sum * o->minor_fault_seconds / minor->seconds;
    if (major->seconds > 0)
        share += known_share(s, major) * major->sum * o->major_fault_seconds / major->seconds;
    if (!isfinite(share))
        return;
    add_cause(s, ASSAY_BOTTLENECK_PAGE_FAULTS, share, minor->n > major->n ? minor->n : major->n,
              "%.4g minor and %.4g major page faults per call, taken as %.3g us and %.3g us each",
              per_minor, per_major, o->minor_fault_seconds * 1e6, o->major_fault_seconds * 1e6);
}

static void name_io(struct search *s)
{
    const struct as_metric_sum *wait = &s->layer->metric[AS_METRIC_IO_WAIT];
    char time[AS_TEXT_HUMAN], bytes[AS_TEXT_HUMAN];
    double moved = as_metric_mean(s->layer, AS_METRIC_IO_BYTES);

    if (!(wait->seconds > 0))
        return;
    format_ns(time, wait->sum / (double)wait->n);
    as_text_bytes(bytes, moved);
    add_cause(s, ASSAY_BOTTLENECK_IO, known_share(s, wait) * wait->sum / wait->seconds, wait->n,
              "%s per call waiting for disk I/O%s%s%s", time, isfinite(moved) ? ", " : "",
              isfinite(moved) ? bytes : "", isfinite(moved) ? " read and written" : "");
}

/* Whether the scheduler gave the processor to somebody else, rather than the layer giving it up:
 * that happened more often than sleeping, and often enough for the time that is missing. */
static bool lost_its_processor(const struct as_bottleneck_layer *layer, double away)
{
    double switches = as_metric_mean(layer, AS_METRIC_SWITCHES);
    double sleeps = as_metric_mean(layer, AS_METRIC_SLEEPS);

    return switches > (isfinite(sleeps) ? sleeps : 1) && away <= switches * LONGEST_TURN;
}

static void name_waiting(struct search *s)
{
    const struct as_metric_sum *cpu = &s->layer->metric[AS_METRIC_CPU];
    double switches = as_metric_mean(s->layer, AS_METRIC_SWITCHES);
    char busy[AS_TEXT_HUMAN], time[AS_TEXT_HUMAN], waits[96] = "";

    if (!(cpu->seconds > 0))
        return;
    s->starved = lost_its_processor(s->layer, (cpu->seconds - cpu->sum) / (double)cpu->n);
    if (switches > 0)
        (void)snprintf(waits, sizeof waits, "; preempted %.3g times per call%s", switches,
                       s->starved ? ", ready to run but waiting for a CPU" : "");
    format_ns(busy, cpu->sum / (double)cpu->n);
    format_ns(time, cpu->seconds / (double)cpu->n);
    add_cause(s, ASSAY_BOTTLENECK_WAITING, known_share(s, cpu) * (1 - cpu->sum / cpu->seconds),
              cpu->n, "on a CPU for %s of the %s per call%s", busy, time, waits);
}

static void name_idle_device(struct search *s)
{
    double busy = as_metric_mean(s->layer, AS_METRIC_GPU);

    if (busy < s->a->options.gpu_percent)
        add_cause(s, ASSAY_BOTTLENECK_UNDERUTILIZATION, 1 - fmax(busy, 0) / 100,
                  s->layer->metric[AS_METRIC_GPU].n, "the device is %.1f %% busy", busy);
}

/* What would be saved if no call took longer than the median one. */
static void name_variance(struct search *s)
{
    size_t n = s->layer->n_samples;
    struct as_sorted sorted = as_sorted_f64(s->scratch, n);
    double sum = 0, above = 0, median;
    char usual[AS_TEXT_HUMAN], most[AS_TEXT_HUMAN];

    if (!(s->out->cv > s->a->options.variance_cv) || n == 0)
        return;
    memcpy(s->scratch, s->layer->own ? s->layer->own : s->layer->sample, n * sizeof *s->scratch);
    as_sort_f64(s->scratch, n, s->scratch + n);
    median = as_sorted_median(&sorted);
    for (size_t i = 0; i < n; i++) {
        sum += s->scratch[i];
        above += fmax(s->scratch[i] - median, 0);
    }
    format_ns(usual, median);
    format_ns(most, fmax(s->layer->longest, s->scratch[n - 1]));
    add_cause(s, ASSAY_BOTTLENECK_VARIANCE, sum > 0 ? above / sum : 0, s->layer->calls,
              "calls vary by %.0f %% of their mean: p50 %s, maximum %s", s->out->cv * 100, usual,
              most);
}

double as_bottleneck_severity(double share, const struct assay_cause *cause, size_t n_causes)
{
    double left = 1 - share;

    for (size_t i = 0; i < n_causes; i++)
        left *= 1 - share * cause[i].strength;
    return 100 * (1 - left);
}

static int by_strength(const void *a, const void *b)
{
    const struct assay_cause *x = a, *y = b;

    if (x->strength != y->strength)
        return x->strength > y->strength ? -1 : 1;
    return (int)x->type - (int)y->type;
}

static void find_causes(struct search *s)
{
    static void (*const look[])(struct search *) = {name_roof,    name_faults,      name_io,
                                                    name_waiting, name_idle_device, name_variance};

    for (size_t i = 0; i < AS_COUNT_OF(look); i++)
        look[i](s);
    qsort(s->out->cause, s->out->n_causes, sizeof *s->out->cause, by_strength);
    s->out->severity = as_bottleneck_severity(s->out->share, s->out->cause, s->out->n_causes);
}

/* ---- what to do ---- */

/* What to do about each cause, and how surely it would help were the evidence complete. */
static const struct {
    const char *rule, *recommendation;
    double confidence;
} remedy[ASSAY_BOTTLENECK_TYPE_COUNT] = {
    [ASSAY_BOTTLENECK_COMPUTE] =
        {"compute-bound",
         "Compute-bound: reduce arithmetic by lower precision, pruning or a cheaper layer.", 0.8},
    [ASSAY_BOTTLENECK_MEMORY] = {"memory-bound",
                                 "Memory-bound: fuse the layer with its neighbors, use lower "
                                 "precision, or reuse data in the cache.",
                                 0.8},
    [ASSAY_BOTTLENECK_IO] =
        {"storage-wait",
         "Read ahead in another thread, or cache in memory what is read repeatedly.", 0.8},
    [ASSAY_BOTTLENECK_UNDERUTILIZATION] = {"device-idle",
                                           "Give the device more work at once: a larger batch, or "
                                           "less waiting for the CPU between kernels.",
                                           0.5},
    [ASSAY_BOTTLENECK_UNKNOWN] = {"far-from-roof",
                                  "The machine could do this work much faster: try another kernel, "
                                  "more threads, or a layout that is read in order.",
                                  0.5},
    [ASSAY_BOTTLENECK_OVERHEAD] = {"call-overhead",
                                   "Calls do too little work each: do more in one call, by a "
                                   "larger batch or by fusing the layer with its neighbors.",
                                   0.7},
    [ASSAY_BOTTLENECK_PAGE_FAULTS] = {"page-faults",
                                      "Allocate once and reuse the memory, or touch it before the "
                                      "loop begins.",
                                      0.6},
    [ASSAY_BOTTLENECK_WAITING] =
        {"waiting",
         "The layer waits: look for locks, other programs on the CPUs, and slower threads.", 0.6},
    [ASSAY_BOTTLENECK_VARIANCE] = {"uneven-calls",
                                   "Find what the slow calls have in common: sizes, first uses, or "
                                   "something else on the machine.",
                                   0.6},
};

/* Waiting for a processor is no sleep. */
static const char *const starved_remedy = "The layer was ready to run but had no CPU: stop other "
                                          "programs, or use no more threads than CPUs.";

/* Few calls, and calls that did not tell the metric, weaken what is concluded from the others. */
static enum assay_confidence confidence_for(const struct search *s, const struct assay_cause *cause)
{
    double calls = (double)s->layer->calls;
    bool roof = cause->type == ASSAY_BOTTLENECK_COMPUTE || cause->type == ASSAY_BOTTLENECK_MEMORY;
    double sure = remedy[cause->type].confidence * s->coverage[cause->type] * calls / (calls + 1);

    if (roof && s->roof.inconsistent)
        sure /= 2;
    return sure >= SURE        ? ASSAY_CONFIDENCE_HIGH
           : sure >= HALF_SURE ? ASSAY_CONFIDENCE_MEDIUM
                               : ASSAY_CONFIDENCE_LOW;
}

/* What was not reported of a layer without a cause is what to find out about it. */
static const char *what_to_measure(struct search *s)
{
    static const struct {
        enum as_metric metric;
        const char *what;
    } part[] = {{AS_METRIC_FLOPS, "its work (FLOPs, bytes)"},
                {AS_METRIC_CPU, "its CPU time"},
                {AS_METRIC_MINOR_FAULTS, "its page faults"},
                {AS_METRIC_IO_WAIT, "its time waiting for disk I/O"}};
    const size_t n_parts = AS_COUNT_OF(part);
    size_t missing = 0, listed = 0, used;
    char text[240];
    const char *kept;

    for (size_t i = 0; i < n_parts; i++)
        missing += s->layer->metric[part[i].metric].n == 0;
    if (!missing)
        return "Mark layers inside this one: what was measured of it explains none of its time.";
    used = (size_t)snprintf(text, sizeof text, "Measure more of this layer: ");
    for (size_t i = 0; i < n_parts && used < sizeof text; i++) {
        if (s->layer->metric[part[i].metric].n)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 listed == 0             ? ""
                                 : listed + 1 == missing ? " and "
                                                         : ", ",
                                 part[i].what);
        listed++;
    }
    if (used < sizeof text)
        (void)snprintf(text + used, sizeof text - used, ".");
    kept = as_arena_text(&s->a->arena, text, strlen(text));
    s->nomem |= !kept;
    return kept;
}

static void advise(struct search *s, struct assay_finding *list, size_t *n)
{
    const struct assay_ranked_layer *layer = s->out;

    for (size_t i = 0; i < layer->n_causes; i++) {
        const struct assay_cause *cause = &layer->cause[i];
        double gain = layer->share * cause->strength;
        bool starved = cause->type == ASSAY_BOTTLENECK_WAITING && s->starved;

        list[(*n)++] = (struct assay_finding){
            .rule = starved ? "processor-wait" : remedy[cause->type].rule,
            .target = layer->layer,
            .evidence = cause->evidence,
            .action = starved ? starved_remedy : remedy[cause->type].recommendation,
            .severity = as_severity_of_gain(gain, 0),
            .expected_gain = gain,
            .confidence = confidence_for(s, cause),
        };
    }
    /* Only its time is known: what to find out is all that can be said. */
    if (layer->n_causes == 0 && layer->share >= s->a->options.min_gain)
        list[(*n)++] = (struct assay_finding){
            .rule = "cause-unknown",
            .target = layer->layer,
            .evidence = "cause unknown from what was recorded",
            .action = what_to_measure(s),
            .severity = fmin(as_severity_of_gain(layer->share, 0), AS_SEVERITY_NOTE),
            .expected_gain = AS_UNKNOWN,
            .confidence = ASSAY_CONFIDENCE_LOW,
        };
}

/* ---- the ranking ---- */

static int by_self(const void *a, const void *b)
{
    const struct as_bottleneck_layer *const *x = a, *const *y = b;

    if ((*x)->self_seconds != (*y)->self_seconds)
        return (*x)->self_seconds > (*y)->self_seconds ? -1 : 1;
    return strcmp((*x)->name, (*y)->name);
}

/* The layers with the least share or more, largest first; in the arena. */
static const struct as_bottleneck_layer **rank(struct assay_bottleneck_analyzer *a, size_t *n)
{
    const struct as_bottleneck_layer **list =
        as_arena_zero(&a->arena, a->n_layers + 1, sizeof(const struct as_bottleneck_layer *));

    *n = 0;
    a->result.total_self_seconds = 0;
    for (size_t i = 0; i < a->n_layers; i++)
        a->result.total_self_seconds += a->layer[i].self_seconds;
    for (size_t i = 0; list && i < a->n_layers; i++) {
        double self = a->layer[i].self_seconds;

        if (self > 0 && self / a->result.total_self_seconds >= a->options.min_share)
            list[(*n)++] = &a->layer[i];
    }
    if (list)
        qsort(list, *n, sizeof(const struct as_bottleneck_layer *), by_self);
    return list;
}

static void fill_ranked(struct assay_ranked_layer *out, const struct as_bottleneck_layer *layer,
                        double total)
{
    double share = layer->self_seconds / total, mean = layer->self_seconds / (double)layer->calls;

    *out = (struct assay_ranked_layer){
        .layer = layer->name,
        .calls = layer->calls,
        .failed = layer->failed,
        .self_seconds = layer->self_seconds,
        .share = share,
        .speedup_bound = share < 1 ? 1 / (1 - share) : (double)INFINITY,
        .mean_seconds = mean,
        .cv = mean > 0 ? sqrt(layer->own_m2 / (double)layer->calls) / mean : AS_UNKNOWN,
        .roof_fraction = AS_UNKNOWN,
    };
}

int as_bottleneck_find_causes(struct assay_bottleneck_analyzer *a, struct assay_error *err)
{
    size_t n, n_findings = 0, most = 1;
    const struct as_bottleneck_layer **layer = rank(a, &n);
    struct search s = {.a = a};
    struct assay_ranked_layer *ranked = as_arena_zero(&a->arena, n + 1, sizeof *ranked);
    struct assay_finding *findings =
        as_arena_zero(&a->arena, n * ASSAY_BOTTLENECK_TYPE_COUNT + 1, sizeof *findings);

    for (size_t i = 0; layer && i < n; i++)
        most = layer[i]->n_samples > most ? layer[i]->n_samples : most;
    s.scratch = as_alloc_zero(most, 2 * sizeof *s.scratch);
    s.nomem = !layer || !ranked || !findings || !s.scratch;
    for (size_t i = 0; !s.nomem && i < n; i++) {
        s.layer = layer[i];
        s.starved = false;
        s.roof = (struct as_roof){.roof_fraction = AS_UNKNOWN};
        s.out = &ranked[i];
        fill_ranked(s.out, s.layer, a->result.total_self_seconds);
        find_causes(&s);
        advise(&s, findings, &n_findings);
    }
    as_free(s.scratch);
    if (s.nomem)
        return as_fail_nomem(err);
    as_findings_rank(findings, n_findings);
    a->result.ranked = ranked;
    a->result.n_ranked = n;
    a->result.findings = findings;
    a->result.n_findings = n_findings;
    return ASSAY_OK;
}
