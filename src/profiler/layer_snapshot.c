/* profiler/layer_snapshot.c - merges what the threads know into one picture that stays as it is.
 * A thread is stopped for as long as its own part is copied, and not for the arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "profiler/layer_merge.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

struct picture {
    struct assay_layer_profile seen; /* first: what the caller holds */
    struct as_arena arena;
};

void assay_layer_profile_free(struct assay_layer_profile *profile)
{
    struct picture *picture = (struct picture *)profile;

    if (!picture)
        return;
    as_arena_fini(&picture->arena);
    as_free(picture);
}

const struct assay_layer_stats *assay_layer_profile_find(const struct assay_layer_profile *profile,
                                                         const char *layer)
{
    for (size_t i = 0; i < profile->n_layers; i++) {
        if (strcmp(profile->layers[i].layer, layer) == 0)
            return &profile->layers[i];
    }
    return NULL;
}

/* The newest times of a list: of each thread by its share. NULL: no memory. */
static const double *newest(struct as_arena *arena, const struct as_layer_merged *from,
                            const struct as_buffer *list, size_t *n_out)
{
    const uint64_t *ns = (const uint64_t *)(const void *)list->data;
    const struct as_layer_part *part = (const struct as_layer_part *)(const void *)from->parts.data;
    const size_t n_parts = from->parts.size / sizeof *part, n = list->size / sizeof *ns;
    double *out = as_arena_zero(arena, n < AS_LAYER_NEWEST ? n : AS_LAYER_NEWEST, sizeof *out);

    *n_out = 0;
    for (size_t i = 0; out && i < n_parts; i++) {
        size_t want = n <= AS_LAYER_NEWEST ? part[i].n : AS_LAYER_NEWEST * part[i].n / n;

        for (size_t k = part[i].n - want; k < part[i].n; k++)
            out[(*n_out)++] = (double)ns[part[i].start + k] / 1e9;
    }
    return out;
}

static bool tell_times(struct as_arena *arena, const struct as_layer_merged *from,
                       struct assay_layer_stats *to)
{
    size_t n;

    to->execution_times_seconds = newest(arena, from, &from->times_ns, &to->n_execution_times);
    to->self_times_seconds = to->execution_times_seconds;
    to->nested = from->nested || from->own_lost;
    if (from->own_lost)
        to->self_times_seconds = NULL;
    else if (from->nested)
        to->self_times_seconds = newest(arena, from, &from->own_ns, &n);
    to->n_self_times = to->self_times_seconds ? to->n_execution_times : 0;
    return to->execution_times_seconds && (to->self_times_seconds || from->own_lost);
}

static void count_by_size(const struct as_layer_merged *from, struct assay_layer_stats *to)
{
    const struct as_histogram h = {from->bucket, AS_LAYER_BITS, from->times.total};
    double *const out[] = {&to->p50_seconds, &to->p95_seconds, &to->p99_seconds};
    static const double p[] = {50, 95, 99};

    to->percentile_error = as_histogram_error(&h);
    for (size_t i = 0; i < AS_COUNT_OF(p); i++) {
        uint64_t ns;

        *out[i] = as_histogram_quantile(&h, p[i], &ns) ? (double)ns / 1e9 : AS_UNKNOWN;
    }
}

/* Sorts the times, which were told already. */
static bool tell_percentiles(struct as_layer_merged *from, struct assay_layer_stats *to)
{
    uint64_t *ns = (uint64_t *)(void *)from->times_ns.data, *scratch;
    const size_t n = from->times_ns.size / sizeof *ns;
    struct as_sorted sorted;

    to->percentiles_newest = from->newest_only;
    to->p50_seconds = to->p95_seconds = to->p99_seconds = AS_UNKNOWN;
    if (from->bucket) {
        count_by_size(from, to);
        return true;
    }
    if (!n)
        return true;
    scratch = as_alloc_zero(n, sizeof *scratch);
    if (!scratch)
        return false;
    as_sort_u64(ns, n, scratch);
    as_free(scratch);
    sorted = as_sorted_u64(ns, n);
    to->p50_seconds = as_quantile_at(&sorted, 50, AS_QUANTILE_LINEAR) / 1e9;
    to->p95_seconds = as_quantile_at(&sorted, 95, AS_QUANTILE_LINEAR) / 1e9;
    to->p99_seconds = as_quantile_at(&sorted, 99, AS_QUANTILE_LINEAR) / 1e9;
    return true;
}

static bool tell_layer(struct as_arena *arena, struct as_layer_merged *from, const char *name,
                       struct assay_layer_stats *to)
{
    const struct as_total *total = &from->times.total;

    *to = (struct assay_layer_stats){
        .layer = name, .call_count = total->n, .failed_count = from->failed};
    to->total_seconds = as_total_sum_f64(total) / 1e9;
    to->min_seconds = total->n ? (double)total->min / 1e9 : AS_UNKNOWN;
    to->max_seconds = total->n ? (double)total->max / 1e9 : AS_UNKNOWN;
    to->mean_seconds = as_moments_mean(&from->times) / 1e9;
    to->std_seconds = as_moments_std_population(&from->times) / 1e9;
    to->std_sample_seconds = as_moments_std_sample(&from->times) / 1e9;
    to->cv = to->mean_seconds > 0 ? to->std_seconds / to->mean_seconds : AS_UNKNOWN;
    to->self_seconds = (double)from->self_ns / 1e9;
    to->failed_seconds = (double)from->failed_ns / 1e9;
    return tell_times(arena, from, to) && tell_percentiles(from, to);
}

static bool tell_layers(struct picture *picture, struct as_layer_merge *merge)
{
    struct assay_layer_profile *seen = &picture->seen;
    struct assay_layer_stats *layers =
        as_arena_zero(&picture->arena, merge->n_layers, sizeof *layers);

    if (!layers)
        return false;
    seen->size = sizeof *seen;
    seen->layers = layers;
    for (size_t i = 0; i < merge->n_layers; i++) {
        struct as_layer_merged *from = &merge->layer[i];

        if (from->times.total.n == 0 && from->failed == 0)
            continue;
        if (!tell_layer(&picture->arena, from, merge->text[i], &layers[seen->n_layers]))
            return false;
        seen->total_calls += from->times.total.n;
        seen->failed_calls += from->failed;
        seen->total_seconds += layers[seen->n_layers].total_seconds;
        seen->total_self_seconds += layers[seen->n_layers].self_seconds;
        seen->n_layers++;
    }
    seen->average_seconds_per_call =
        seen->total_calls ? seen->total_seconds / (double)seen->total_calls : AS_UNKNOWN;
    return true;
}

static int by_value_falling(const void *a, const void *b)
{
    const struct assay_layer_rank *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return strcmp(x->layer, y->layer);
}

enum { RANK_MEAN, RANK_STD, RANK_CV, RANK_COUNT };

static double rank_value(const struct assay_layer_stats *layer, int what)
{
    return what == RANK_MEAN  ? layer->mean_seconds
           : what == RANK_STD ? layer->std_seconds
                              : layer->cv;
}

static const struct assay_layer_rank *tell_rank(struct picture *picture, int what, size_t top,
                                                size_t *n_out)
{
    const struct assay_layer_profile *seen = &picture->seen;
    struct assay_layer_rank *rank = as_arena_zero(&picture->arena, seen->n_layers, sizeof *rank);
    size_t n = 0;

    if (!rank)
        return NULL;
    for (size_t i = 0; i < seen->n_layers; i++) {
        double value = rank_value(&seen->layers[i], what);

        if (!isnan(value))
            rank[n++] = (struct assay_layer_rank){seen->layers[i].layer, value};
    }
    qsort(rank, n, sizeof *rank, by_value_falling);
    *n_out = n < top ? n : top;
    return rank;
}

static bool tell_ranks(struct picture *picture, size_t top)
{
    struct assay_layer_profile *seen = &picture->seen;

    seen->slowest = tell_rank(picture, RANK_MEAN, top, &seen->n_slowest);
    seen->most_variable = tell_rank(picture, RANK_STD, top, &seen->n_most_variable);
    seen->most_variable_cv = tell_rank(picture, RANK_CV, top, &seen->n_most_variable_cv);
    return seen->slowest && seen->most_variable && seen->most_variable_cv;
}

static bool tell_open(struct picture *picture, const struct as_layer_merge *merge)
{
    const char **open = as_arena_zero(&picture->arena, merge->n_open, sizeof *open);

    if (!open)
        return false;
    for (size_t i = 0; i < merge->n_open; i++)
        open[i] = merge->text[merge->open[i]->id];
    picture->seen.open_at_end = open;
    picture->seen.n_open_at_end = merge->n_open;
    picture->seen.open_dropped = merge->open_dropped;
    return true;
}

int as_layer_profile_read(struct as_layer_profile *p, size_t top, struct assay_layer_profile **out,
                          struct assay_error *err)
{
    struct picture *picture = as_alloc_zero(1, sizeof *picture);
    struct as_layer_merge merge = {0};
    bool ok;

    *out = NULL;
    if (!picture)
        return as_fail_nomem(err);
    ok = as_layer_merge_init(&merge, p, &picture->arena) && tell_layers(picture, &merge) &&
         tell_ranks(picture, top ? top : 5) && tell_open(picture, &merge) &&
         as_layer_merge_timeline(&merge, &p->clock, &picture->arena, &picture->seen);
    picture->seen.calls_unnamed = merge.unnamed;
    picture->seen.calls_too_deep = merge.too_deep;
    picture->seen.calls_abandoned = merge.abandoned;
    picture->seen.metadata_dropped = merge.metadata_dropped;
    picture->seen.n_threads = merge.n_numbers;
    as_layer_merge_fini(&merge);
    if (!ok) {
        assay_layer_profile_free(&picture->seen);
        return as_fail_nomem(err);
    }
    *out = &picture->seen;
    return ASSAY_OK;
}
