/* analyze/detect/bottleneck_rules.c - the documented analysis: layers slower than a percentile of
 * all times, by types with fixed factors. Compatible, not wise: see bottleneck_causes.c for the
 * other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

/* ---- the threshold ---- */

struct weighed {
    double value, weight;
};

static int by_value(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* Linear between the neighbors of rank p/100 * (n - 1) of the calls there were, of which each
 * sample stands for `weight`. */
static double weighed_percentile(const struct weighed *v, size_t n, uint64_t n_calls, double p)
{
    double rank = p / 100 * (double)(n_calls - 1), low = floor(rank);
    double below = 0;
    size_t i = 0, next;

    while (i + 1 < n && below + v[i].weight <= low)
        below += v[i++].weight;
    next = i;
    while (next + 1 < n && below + v[next].weight <= low + 1)
        below += v[next++].weight;
    return v[i].value + (v[next].value - v[i].value) * (rank - low);
}

/* Calls cannot be told from one another once only a sample is kept: each sample of a layer then
 * counts for as many calls as the layer had, so that a layer weighs what it did. */
static int threshold_of_samples(struct assay_bottleneck_analyzer *a, size_t n,
                                struct assay_error *err)
{
    struct weighed *pool = as_alloc_zero(n, sizeof *pool);
    size_t used = 0;

    if (!pool)
        return as_fail_nomem(err);
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct as_bottleneck_layer *layer = &a->layer[i];

        for (size_t k = 0; k < layer->n_samples; k++)
            pool[used++] =
                (struct weighed){layer->sample[k], (double)layer->calls / (double)layer->n_samples};
    }
    qsort(pool, n, sizeof *pool, by_value);
    a->result.threshold_seconds =
        weighed_percentile(pool, n, a->calls, a->options.threshold_percentile);
    a->result.threshold_exact = false;
    as_free(pool);
    return ASSAY_OK;
}

static int threshold_of_all(struct assay_bottleneck_analyzer *a, size_t n, struct assay_error *err)
{
    double *pool = as_alloc_zero(n, 2 * sizeof *pool);
    struct as_sorted sorted;
    size_t used = 0;

    if (!pool)
        return as_fail_nomem(err);
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct as_bottleneck_layer *layer = &a->layer[i];

        if (layer->n_samples)
            memcpy(pool + used, layer->sample, layer->n_samples * sizeof *pool);
        used += layer->n_samples;
    }
    as_sort_f64(pool, n, pool + n);
    sorted = as_sorted_f64(pool, n);
    a->result.threshold_seconds =
        as_quantile_at(&sorted, a->options.threshold_percentile, AS_QUANTILE_LINEAR);
    as_free(pool);
    return ASSAY_OK;
}

static int find_threshold(struct assay_bottleneck_analyzer *a, struct assay_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_layers; i++)
        n += a->layer[i].n_samples;
    if (n == 0)
        return ASSAY_OK;
    return n == a->calls ? threshold_of_all(a, n, err) : threshold_of_samples(a, n, err);
}

/* ---- bottlenecks ---- */

/* One rule for each documented type: when it holds, what it weighs, what it advises. */
static const struct {
    enum assay_bottleneck_type type;
    double factor;
    const char *category;
    enum assay_priority priority;
    const char *recommendation;
} rule[] = {
    {ASSAY_BOTTLENECK_COMPUTE, 2.0, "compute", ASSAY_PRIORITY_HIGH,
     "Make the layer cheaper to compute: fuse it with its neighbors, use lower precision, prune "
     "its weights, or choose a simpler layer."},
    {ASSAY_BOTTLENECK_MEMORY, 1.5, "memory", ASSAY_PRIORITY_HIGH,
     "Let the layer hold less: recompute activations instead of keeping them (gradient "
     "checkpointing), or use a smaller batch."},
    {ASSAY_BOTTLENECK_IO, 1.3, "io", ASSAY_PRIORITY_MEDIUM,
     "Move disk I/O out of the layer: prefetch its data in the background, or cache what is read "
     "repeatedly."},
    {ASSAY_BOTTLENECK_UNDERUTILIZATION, 1.2, "gpu", ASSAY_PRIORITY_MEDIUM,
     "Give the device more work: find the CPU work it waits for, or use a larger batch."},
};
#define N_RULES (AS_COUNT_OF(rule))
_Static_assert(N_RULES == sizeof((struct assay_bottleneck *)0)->type /
                              sizeof *((struct assay_bottleneck *)0)->type,
               "room for every type");

static bool holds(const struct assay_bottleneck_analyzer_options *o,
                  const struct assay_bottleneck *b, enum assay_bottleneck_type type)
{
    switch (type) {
    case ASSAY_BOTTLENECK_COMPUTE:
        return b->mean_execution_seconds > o->compute_factor * b->threshold_seconds;
    case ASSAY_BOTTLENECK_MEMORY:
        return b->mean_memory_usage_mb > o->memory_mb;
    case ASSAY_BOTTLENECK_IO:
        return b->io_intensity > o->io_operations;
    case ASSAY_BOTTLENECK_UNDERUTILIZATION:
        return b->gpu_utilization_percent < o->gpu_percent;
    default:
        return false;
    }
}

static void judge(struct assay_bottleneck *b, const struct assay_bottleneck_analyzer_options *o)
{
    double factors = 0;

    for (size_t i = 0; i < N_RULES; i++) {
        if (!holds(o, b, rule[i].type))
            continue;
        b->type[b->n_types++] = rule[i].type;
        factors += rule[i].factor;
    }
    b->severity_score =
        b->mean_execution_seconds * (b->n_types ? factors / (double)b->n_types : 1.0);
    if (b->n_types == 0)
        b->type[b->n_types++] = ASSAY_BOTTLENECK_UNKNOWN;
}

static bool is_bottleneck(const struct assay_bottleneck_analyzer *a,
                          const struct as_bottleneck_layer *layer)
{
    return layer->calls > 0 && as_bottleneck_mean(layer) >= a->result.threshold_seconds;
}

static int by_severity(const void *a, const void *b)
{
    const struct assay_bottleneck *x = a, *y = b;

    if (x->severity_score != y->severity_score)
        return x->severity_score > y->severity_score ? -1 : 1;
    return strcmp(x->layer, y->layer);
}

static int find_bottlenecks(struct assay_bottleneck_analyzer *a, struct assay_error *err)
{
    double threshold = a->result.threshold_seconds;
    struct assay_bottleneck *list;
    size_t n = 0;

    for (size_t i = 0; i < a->n_layers; i++)
        n += is_bottleneck(a, &a->layer[i]);
    list = as_arena_zero(&a->arena, n + 1, sizeof *list);
    if (!list)
        return as_fail_nomem(err);
    n = 0;
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct as_bottleneck_layer *layer = &a->layer[i];
        double mean = as_bottleneck_mean(layer);

        if (!is_bottleneck(a, layer))
            continue;
        list[n] = (struct assay_bottleneck){
            .layer = layer->name,
            .mean_execution_seconds = mean,
            .std_execution_seconds = as_bottleneck_std(layer),
            .threshold_seconds = threshold,
            .overhead_percentage =
                threshold > 0 ? (mean - threshold) / threshold * 100 : AS_UNKNOWN,
            .mean_memory_usage_mb = as_metric_mean(layer, AS_METRIC_MEMORY),
            .io_intensity = as_metric_mean(layer, AS_METRIC_IO),
            .gpu_utilization_percent = as_metric_mean(layer, AS_METRIC_GPU),
        };
        judge(&list[n++], &a->options);
    }
    qsort(list, n, sizeof *list, by_severity);
    a->result.bottlenecks = list;
    a->result.n_bottlenecks = n;
    return ASSAY_OK;
}

static void sum_up(struct assay_bottleneck_analyzer *a)
{
    struct assay_bottleneck_summary *s = &a->result.summary;

    s->total_bottlenecks = a->result.n_bottlenecks;
    for (size_t i = 0; i < a->result.n_bottlenecks; i++) {
        const struct assay_bottleneck *b = &a->result.bottlenecks[i];

        s->critical_bottlenecks += b->overhead_percentage > a->options.critical_percent;
        s->total_overhead_ms += (b->mean_execution_seconds - b->threshold_seconds) * 1000;
        for (size_t t = 0; t < b->n_types; t++)
            s->by_type[b->type[t]]++;
    }
}

/* ---- recommendations ---- */

static const char *details_of(struct as_arena *arena, const struct assay_bottleneck *b,
                              enum assay_bottleneck_type type)
{
    char text[160] = "";

    if (type == ASSAY_BOTTLENECK_COMPUTE && !(b->threshold_seconds > 0))
        (void)snprintf(text, sizeof text, "%.3f ms per call, where the threshold is 0",
                       b->mean_execution_seconds * 1e3);
    else if (type == ASSAY_BOTTLENECK_COMPUTE)
        (void)snprintf(text, sizeof text, "%.3f ms per call, %.2f times the threshold of %.3f ms",
                       b->mean_execution_seconds * 1e3,
                       b->mean_execution_seconds / b->threshold_seconds,
                       b->threshold_seconds * 1e3);
    else if (type == ASSAY_BOTTLENECK_MEMORY)
        (void)snprintf(text, sizeof text, "%.1f MiB held on average", b->mean_memory_usage_mb);
    else if (type == ASSAY_BOTTLENECK_IO)
        (void)snprintf(text, sizeof text, "%.1f reads and writes per call", b->io_intensity);
    else if (type == ASSAY_BOTTLENECK_UNDERUTILIZATION)
        (void)snprintf(text, sizeof text, "the device is %.1f %% busy", b->gpu_utilization_percent);
    else
        (void)snprintf(text, sizeof text, "the standard deviation is %.0f %% of the mean",
                       b->std_execution_seconds / b->mean_execution_seconds * 100);
    return as_arena_text(arena, text, strlen(text));
}

static bool is_unsteady(const struct assay_bottleneck_analyzer *a, const struct assay_bottleneck *b)
{
    return b->mean_execution_seconds > 0 &&
           b->std_execution_seconds / b->mean_execution_seconds > a->options.variance_cv;
}

static int recommend(struct assay_bottleneck_analyzer *a, struct assay_error *err)
{
    struct assay_recommendation *list =
        as_arena_zero(&a->arena, (N_RULES + 1) * a->result.n_bottlenecks + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return as_fail_nomem(err);
    for (size_t i = 0; i < a->result.n_bottlenecks; i++) {
        const struct assay_bottleneck *b = &a->result.bottlenecks[i];

        for (size_t r = 0; r < N_RULES; r++) {
            if (holds(&a->options, b, rule[r].type))
                list[n++] = (struct assay_recommendation){b->layer,
                                                          "optimization",
                                                          rule[r].category,
                                                          rule[r].priority,
                                                          rule[r].recommendation,
                                                          details_of(&a->arena, b, rule[r].type)};
        }
        if (is_unsteady(a, b))
            list[n++] = (struct assay_recommendation){
                b->layer,
                "stability",
                "variance",
                ASSAY_PRIORITY_LOW,
                "Find out why call times vary: look for sizes that change from call to call, and "
                "for other programs on the machine.",
                details_of(&a->arena, b, ASSAY_BOTTLENECK_VARIANCE)};
    }
    for (size_t i = 0; i < n; i++) {
        if (!list[i].details)
            return as_fail_nomem(err);
    }
    a->result.recommendations = list;
    a->result.n_recommendations = n;
    return ASSAY_OK;
}

int as_bottleneck_apply_rules(struct assay_bottleneck_analyzer *a, struct assay_error *err)
{
    int rc = find_threshold(a, err);

    if (rc == ASSAY_OK)
        rc = find_bottlenecks(a, err);
    if (rc < 0)
        return rc;
    sum_up(a);
    return recommend(a, err);
}
