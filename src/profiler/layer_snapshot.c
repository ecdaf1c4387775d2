/* profiler/layer_snapshot.c - what is known of the layers, as a copy that stays as it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "profiler/layer_cell.h"
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
    for (size_t i = 0; profile && layer && i < profile->n_layers; i++) {
        if (strcmp(profile->layers[i].layer, layer) == 0)
            return &profile->layers[i];
    }
    return NULL;
}

/* The newest times of a list of the cell's. NULL: no memory. */
static const double *newest(struct as_arena *arena, const struct as_layer_cell *cell,
                            const uint64_t *list, size_t *n_out)
{
    const size_t n = cell->n_samples < AS_LAYER_NEWEST ? cell->n_samples : AS_LAYER_NEWEST;
    double *out = as_arena_zero(arena, n, sizeof *out);

    for (size_t i = 0; out && i < n; i++)
        out[i] = (double)as_layer_cell_at(cell, list, cell->n_samples - n + i) / 1e9;
    *n_out = n;
    return out;
}

static bool copy_times(struct as_arena *arena, const struct as_layer_cell *from,
                       struct assay_layer_stats *to)
{
    to->execution_times_seconds = newest(arena, from, from->sample, &to->n_execution_times);
    to->self_times_seconds = to->execution_times_seconds;
    to->n_self_times = to->n_execution_times;
    to->nested = from->own || from->own_lost;
    if (from->own_lost) {
        to->self_times_seconds = NULL;
        to->n_self_times = 0;
    } else if (from->own) {
        to->self_times_seconds = newest(arena, from, from->own, &to->n_self_times);
    }
    return to->execution_times_seconds && (to->self_times_seconds || from->own_lost);
}

static void percentiles_by_size(const struct as_layer_cell *from, const struct as_total *total,
                                struct assay_layer_stats *to)
{
    const struct as_histogram h = {from->bucket, AS_LAYER_BITS, *total};
    double *const out[] = {&to->p50_seconds, &to->p95_seconds, &to->p99_seconds};
    static const double p[] = {50, 95, 99};

    to->percentile_error = as_histogram_error(&h);
    for (size_t i = 0; i < AS_COUNT_OF(p); i++) {
        uint64_t ns;

        *out[i] = as_histogram_quantile(&h, p[i], &ns) ? (double)ns / 1e9 : AS_UNKNOWN;
    }
}

static bool copy_percentiles(const struct as_layer_cell *from, const struct as_total *total,
                             struct assay_layer_stats *to)
{
    const size_t n = from->n_samples;
    struct as_sorted sorted;
    uint64_t *ns;

    to->percentiles_newest = from->newest_only;
    to->p50_seconds = to->p95_seconds = to->p99_seconds = AS_UNKNOWN;
    if (from->bucket) {
        percentiles_by_size(from, total, to);
        return true;
    }
    if (!n)
        return true;
    ns = as_alloc_zero(2 * n, sizeof *ns);
    if (!ns)
        return false;
    memcpy(ns, from->sample, n * sizeof *ns);
    as_sort_u64(ns, n, ns + n);
    sorted = as_sorted_u64(ns, n);
    to->p50_seconds = as_quantile_at(&sorted, 50, AS_QUANTILE_LINEAR) / 1e9;
    to->p95_seconds = as_quantile_at(&sorted, 95, AS_QUANTILE_LINEAR) / 1e9;
    to->p99_seconds = as_quantile_at(&sorted, 99, AS_QUANTILE_LINEAR) / 1e9;
    as_free(ns);
    return true;
}

static bool copy_layer(struct as_arena *arena, const struct as_layer_cell *from,
                       struct assay_layer_stats *to)
{
    const struct as_moments times = as_layer_times_moments(&from->times);
    const struct as_total *total = &times.total;

    *to = (struct assay_layer_stats){.layer =
                                         as_arena_text(arena, from->name->text, from->name->size),
                                     .call_count = total->n,
                                     .failed_count = from->failed};
    to->total_seconds = as_total_sum_f64(total) / 1e9;
    to->min_seconds = total->n ? (double)total->min / 1e9 : AS_UNKNOWN;
    to->max_seconds = total->n ? (double)total->max / 1e9 : AS_UNKNOWN;
    to->mean_seconds = as_moments_mean(&times) / 1e9;
    to->std_seconds = as_moments_std_population(&times) / 1e9;
    to->std_sample_seconds = as_moments_std_sample(&times) / 1e9;
    to->cv = to->mean_seconds > 0 ? to->std_seconds / to->mean_seconds : AS_UNKNOWN;
    to->self_seconds = (double)from->self_ns / 1e9;
    to->failed_seconds = (double)from->failed_ns / 1e9;
    return to->layer && copy_times(arena, from, to) && copy_percentiles(from, total, to);
}

/* Fills `text` with the copied names, by id. */
static bool copy_layers(struct picture *picture, const struct as_layer_profile *p,
                        const char **text)
{
    struct assay_layer_profile *seen = &picture->seen;
    struct assay_layer_stats *layers = as_arena_zero(&picture->arena, p->n_cells, sizeof *layers);

    if (!layers)
        return false;
    seen->size = sizeof *seen;
    seen->layers = layers;
    for (size_t i = 0; i < p->n_cells; i++) {
        struct assay_layer_stats *to = &layers[seen->n_layers];
        const struct as_layer_cell *from = p->cell[i];

        if (from->times.n == 0 && from->failed == 0)
            continue;
        if (!copy_layer(&picture->arena, from, to))
            return false;
        text[i] = to->layer;
        seen->total_calls += to->call_count;
        seen->failed_calls += to->failed_count;
        seen->total_seconds += to->total_seconds;
        seen->total_self_seconds += to->self_seconds;
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

static const struct assay_layer_rank *rank_layers(struct picture *picture, int what, size_t top,
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

static bool copy_ranks(struct picture *picture, size_t top)
{
    struct assay_layer_profile *seen = &picture->seen;

    seen->slowest = rank_layers(picture, RANK_MEAN, top, &seen->n_slowest);
    seen->most_variable = rank_layers(picture, RANK_STD, top, &seen->n_most_variable);
    seen->most_variable_cv = rank_layers(picture, RANK_CV, top, &seen->n_most_variable_cv);
    return seen->slowest && seen->most_variable && seen->most_variable_cv;
}

static bool copy_open(struct picture *picture, const struct as_layer_profile *p)
{
    const char **open = as_arena_zero(&picture->arena, p->n_open, sizeof *open);

    if (!open)
        return false;
    picture->seen.open_at_end = open;
    picture->seen.open_dropped = p->open_dropped;
    for (; picture->seen.n_open_at_end < p->n_open; picture->seen.n_open_at_end++) {
        const struct as_layer_name *name = p->open[picture->seen.n_open_at_end];

        open[picture->seen.n_open_at_end] = as_arena_text(&picture->arena, name->text, name->size);
        if (!open[picture->seen.n_open_at_end])
            return false;
    }
    return true;
}

/* ---- the newest calls ---- */

static int by_end(const void *a, const void *b)
{
    const struct as_layer_record *x = a, *y = b;

    if (x->end_ticks != y->end_ticks)
        return x->end_ticks < y->end_ticks ? -1 : 1;
    /* Of two that end together, the inner one ended first. */
    return x->depth != y->depth ? (x->depth > y->depth ? -1 : 1) : 0;
}

static bool copy_extra(struct as_arena *arena, const struct as_layer_extra *from,
                       struct assay_layer_event *to)
{
    struct assay_metadata *pair = as_arena_zero(arena, from->n, sizeof *pair);

    if (from->reason && !(to->reason = as_arena_text(arena, from->reason, strlen(from->reason))))
        return false;
    for (size_t i = 0; pair && i < from->n; i++) {
        const struct assay_metadata *old = &from->pair[i];

        pair[i] = (struct assay_metadata){.key = as_arena_text(arena, old->key, strlen(old->key)),
                                          .number = old->number};
        if (old->text)
            pair[i].text = as_arena_text(arena, old->text, strlen(old->text));
        if (!pair[i].key || (old->text && !pair[i].text))
            return false;
    }
    to->metadata = pair;
    to->n_metadata = from->n;
    return pair;
}

static bool copy_event(struct as_arena *arena, const struct as_layer_record *from,
                       const struct as_layer_day *day, const char *layer,
                       struct assay_layer_event *to)
{
    *to =
        (struct assay_layer_event){.layer = layer,
                                   .execution_seconds = (double)from->duration_ns / 1e9,
                                   .self_seconds = (double)from->self_ns / 1e9,
                                   .timestamp_seconds = as_layer_day_seconds(day, from->end_ticks),
                                   .failed = from->failed,
                                   .depth = from->depth,
                                   .thread = from->thread};
    return !from->extra || copy_extra(arena, from->extra, to);
}

static bool copy_timeline(struct picture *picture, const struct as_layer_profile *p,
                          const char *const *text)
{
    const struct as_layer_day day = as_layer_clock_day(&p->clock);
    const struct as_layer_ring *ring = &p->ring;
    uint64_t sum_ns = p->all_ns, self_ns = p->all_self_ns;
    struct assay_layer_event *event = as_arena_zero(&picture->arena, ring->n, sizeof *event);
    struct as_layer_record *record = as_alloc_zero(ring->n + 1, sizeof *record);
    bool ok = event && record;
    size_t first = 0, n = ring->n;

    if (ok && n) {
        memcpy(record, ring->record, n * sizeof *record);
        qsort(record, n, sizeof *record, by_end);
        while (first < n && record[first].end_ticks < ring->horizon)
            first++;
    }
    n -= first;
    /* From the end: what came before the oldest kept call is in the sums, seen or not. */
    for (size_t i = n; ok && i-- > 0;) {
        const struct as_layer_record *from = &record[first + i];

        ok = copy_event(&picture->arena, from, &day, text[from->name->id], &event[i]);
        event[i].cumulative_seconds = (double)sum_ns / 1e9;
        event[i].cumulative_self_seconds = (double)self_ns / 1e9;
        sum_ns -= from->duration_ns;
        self_ns -= from->self_ns;
    }
    as_free(record);
    picture->seen.timeline = event;
    picture->seen.n_timeline = n;
    picture->seen.timeline_dropped = ring->dropped + first;
    return ok;
}

int as_layer_profile_read(struct as_layer_profile *p, size_t top, struct assay_layer_profile **out,
                          struct assay_error *err)
{
    struct picture *picture = as_alloc_zero(1, sizeof *picture);
    const char **text = as_alloc_zero(p->n_cells + 1, sizeof *text);
    bool ok = picture && text;

    *out = NULL;
    ok = ok && copy_layers(picture, p, text) && copy_ranks(picture, top ? top : 5) &&
         copy_open(picture, p) && copy_timeline(picture, p, text);
    as_free(text);
    if (!ok) {
        if (picture)
            assay_layer_profile_free(&picture->seen);
        return as_fail_nomem(err);
    }
    picture->seen.calls_unnamed = p->unnamed;
    picture->seen.calls_too_deep = p->no_memory;
    picture->seen.calls_abandoned = p->abandoned;
    picture->seen.metadata_dropped = p->metadata_dropped;
    picture->seen.n_threads = p->n_seen;
    *out = &picture->seen;
    return ASSAY_OK;
}
