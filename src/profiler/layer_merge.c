/* profiler/layer_merge.c - copies of what every thread knows of its layers, put together by layer.
 * Threads are locked one after the other; each part is whole in itself. */
#include "profiler/layer_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void as_layer_merge_fini(struct as_layer_merge *merge)
{
    for (size_t i = 0; merge->layer && i < merge->n_layers; i++) {
        as_buffer_fini(&merge->layer[i].times_ns);
        as_buffer_fini(&merge->layer[i].own_ns);
        as_buffer_fini(&merge->layer[i].parts);
        as_free(merge->layer[i].bucket);
    }
    as_free(merge->layer);
    as_free(merge->record);
    as_free(merge->open);
    *merge = (struct as_layer_merge){0};
}

/* The counts of a cell, and of times copied before that had none. */
static bool add_buckets(struct as_layer_merged *to, const struct as_layer_cell *cell)
{
    if (!to->bucket)
        to->bucket = as_alloc_zero(AS_LAYER_BUCKETS, sizeof *to->bucket);
    for (size_t i = 0; to->bucket && i < AS_LAYER_BUCKETS; i++)
        to->bucket[i] += cell->bucket[i];
    return to->bucket;
}

/* A list of the cell's, oldest first. */
static bool copy_list(struct as_buffer *to, const struct as_layer_cell *cell, const uint64_t *list)
{
    size_t turn = cell->n_samples < cell->capacity ? 0 : cell->at;

    return as_buffer_add(to, list + turn, (cell->n_samples - turn) * sizeof *list) &&
           as_buffer_add(to, list, turn * sizeof *list);
}

static bool copy_times(struct as_layer_merged *to, const struct as_layer_cell *cell)
{
    struct as_layer_part part = {to->times_ns.size / sizeof *cell->sample, cell->n_samples,
                                 cell->bucket};

    to->nested |= cell->own != NULL;
    to->own_lost |= cell->own_lost;
    if (!cell->n_samples)
        return true;
    return as_buffer_add(&to->parts, &part, sizeof part) &&
           copy_list(&to->times_ns, cell, cell->sample) &&
           copy_list(&to->own_ns, cell, cell->own ? cell->own : cell->sample);
}

/* Makes room for all layers named by now, if there are more than we know. */
static bool add_names(struct as_layer_merge *merge, struct as_layer_profile *p,
                      struct as_arena *arena)
{
    const size_t had = merge->n_layers;
    struct as_layer_merged *layer;
    const char **text;
    bool ok;

    pthread_mutex_lock(&p->names_lock);
    if (p->n_names == had) {
        pthread_mutex_unlock(&p->names_lock);
        return true;
    }
    layer = as_realloc(merge->layer, p->n_names + 1, sizeof *layer);
    merge->layer = layer ? layer : merge->layer;
    text = as_arena_zero(arena, p->n_names + 1, sizeof *text);
    ok = layer && text;
    if (ok) {
        memset(layer + had, 0, (p->n_names - had) * sizeof *layer);
        merge->n_layers = p->n_names;
        if (had)
            memcpy(text, merge->text, had * sizeof *text);
        merge->text = text;
    }
    for (size_t i = had; ok && i < p->n_names; i++) {
        text[i] = as_arena_text(arena, p->name[i]->text, p->name[i]->size);
        ok = text[i];
    }
    pthread_mutex_unlock(&p->names_lock);
    return ok;
}

static bool copy_cell(struct as_layer_merge *merge, const struct as_layer_cell *cell)
{
    struct as_layer_merged *to = &merge->layer[cell->name->id];
    struct as_moments times = as_layer_times_moments(&cell->times);

    as_moments_merge(&to->times, &times);
    to->self_ns += cell->self_ns;
    to->failed += cell->failed;
    to->failed_ns += cell->failed_ns;
    to->newest_only |= cell->newest_only;
    return copy_times(to, cell) && (!cell->bucket || add_buckets(to, cell));
}

static struct as_layer_extra *copy_extra(struct as_arena *arena, const struct as_layer_extra *from)
{
    struct as_layer_extra *to = as_arena_alloc(arena, sizeof *to + from->n * sizeof *to->pair);

    if (!to)
        return NULL;
    to->n = from->n;
    to->reason = from->reason ? as_arena_text(arena, from->reason, strlen(from->reason)) : NULL;
    if (from->reason && !to->reason)
        return NULL;
    for (size_t i = 0; i < from->n; i++) {
        const struct assay_metadata *pair = &from->pair[i];

        to->pair[i] = (struct assay_metadata){
            .key = as_arena_text(arena, pair->key, strlen(pair->key)), .number = pair->number};
        if (pair->text)
            to->pair[i].text = as_arena_text(arena, pair->text, strlen(pair->text));
        if (!to->pair[i].key || (pair->text && !to->pair[i].text))
            return NULL;
    }
    return to;
}

/* The calls of a thread, oldest first. */
static bool copy_ring(struct as_layer_merge *merge, const struct as_layer_ring *ring,
                      struct as_arena *arena)
{
    struct as_layer_record *more;
    size_t turn = ring->n == ring->capacity ? ring->at % (ring->capacity ? ring->capacity : 1) : 0;

    merge->all_calls += ring->n + ring->dropped;
    if (ring->n) {
        more = as_realloc(merge->record, merge->n_records + ring->n, sizeof *more);
        if (!more)
            return false;
        merge->record = more;
    }
    for (size_t i = 0; i < ring->n; i++) {
        struct as_layer_record *to = &merge->record[merge->n_records + i];

        *to = ring->record[(turn + i) % ring->capacity];
        if (to->extra && !(to->extra = copy_extra(arena, to->extra)))
            return false;
    }
    if (ring->dropped) {
        uint64_t oldest = ring->n ? merge->record[merge->n_records].end_ticks : UINT64_MAX;

        merge->horizon = oldest > merge->horizon ? oldest : merge->horizon;
    }
    merge->n_records += ring->n;
    return true;
}

static bool copy_thread(struct as_layer_merge *merge, struct as_layer_profile *p,
                        struct as_layer_thread *t, struct as_arena *arena)
{
    bool ok;

    as_layer_thread_lock(t);
    ok = add_names(merge, p, arena); /* it may have named some since we began */
    for (size_t i = 0; ok && i < t->n_cells; i++)
        ok = copy_cell(merge, t->cell[i]);
    ok = ok && copy_ring(merge, &t->ring, arena);
    merge->all_ns += t->all_ns;
    merge->all_self_ns += t->all_self_ns;
    merge->unnamed += t->unnamed;
    merge->too_deep += t->too_deep;
    merge->abandoned += t->abandoned;
    merge->metadata_dropped += t->metadata_dropped;
    as_layer_thread_unlock(t);
    return ok;
}

/* Times of threads that made few calls join the counts of those that made many. */
static void count_rest(struct as_layer_merged *layer)
{
    const struct as_layer_part *part =
        (const struct as_layer_part *)(const void *)layer->parts.data;
    const uint64_t *ns = (const uint64_t *)(const void *)layer->times_ns.data;

    for (size_t i = 0; i < layer->parts.size / sizeof *part; i++) {
        for (size_t k = 0; !part[i].folded && k < part[i].n; k++)
            layer->bucket[as_histogram_bucket(AS_LAYER_BITS, ns[part[i].start + k])]++;
    }
}

bool as_layer_merge_init(struct as_layer_merge *merge, struct as_layer_profile *p,
                         struct as_arena *arena)
{
    bool ok = true;

    merge->max_records = p->limits.max_timeline;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; ok && i < p->n_threads; i++)
        ok = copy_thread(merge, p, p->thread[i], arena);
    merge->n_numbers = p->next_number;
    merge->too_deep += atomic_load_explicit(&p->homeless, memory_order_relaxed);
    merge->open_dropped = p->open_dropped;
    merge->open = as_alloc_zero(p->n_open + 1, sizeof(struct as_layer_name *));
    ok = ok && merge->open;
    if (ok) {
        merge->n_open = p->n_open;
        memcpy(merge->open, p->open, p->n_open * sizeof(struct as_layer_name *));
    }
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; ok && i < merge->n_layers; i++) {
        if (merge->layer[i].bucket)
            count_rest(&merge->layer[i]);
    }
    return ok;
}

static int by_end(const void *a, const void *b)
{
    const struct as_layer_record *x = a, *y = b;

    if (x->end_ticks != y->end_ticks)
        return x->end_ticks < y->end_ticks ? -1 : 1;
    /* Of two that end together, the inner one ended first. */
    return x->depth != y->depth ? (x->depth > y->depth ? -1 : 1) : 0;
}

static void tell_event(struct assay_layer_event *to, const struct as_layer_record *from,
                       const struct as_layer_day *day)
{
    *to =
        (struct assay_layer_event){.execution_seconds = (double)from->duration_ns / 1e9,
                                   .self_seconds = (double)from->self_ns / 1e9,
                                   .timestamp_seconds = as_layer_day_seconds(day, from->end_ticks),
                                   .failed = from->failed,
                                   .depth = from->depth,
                                   .thread = from->thread};
    if (from->extra) {
        to->reason = from->extra->reason;
        to->metadata = from->extra->pair;
        to->n_metadata = from->extra->n;
    }
}

bool as_layer_merge_timeline(struct as_layer_merge *merge, const struct as_layer_clock *clock,
                             struct as_arena *arena, struct assay_layer_profile *seen)
{
    const struct as_layer_day day = as_layer_clock_day(clock);
    uint64_t sum_ns = merge->all_ns, self_ns = merge->all_self_ns;
    struct assay_layer_event *event;
    size_t first = 0, n;

    if (merge->n_records)
        qsort(merge->record, merge->n_records, sizeof *merge->record, by_end);
    while (first < merge->n_records && (merge->record[first].end_ticks < merge->horizon ||
                                        merge->n_records - first > merge->max_records))
        first++;
    n = merge->n_records - first;
    event = as_arena_zero(arena, n, sizeof *event);
    if (!event)
        return false;
    /* From the end: what came before the oldest kept call is in the sums, seen or not. */
    for (size_t i = n; i-- > 0;) {
        const struct as_layer_record *from = &merge->record[first + i];

        tell_event(&event[i], from, &day);
        event[i].layer = merge->text[from->name->id];
        event[i].cumulative_seconds = (double)sum_ns / 1e9;
        event[i].cumulative_self_seconds = (double)self_ns / 1e9;
        sum_ns -= from->duration_ns;
        self_ns -= from->self_ns;
    }
    seen->timeline = event;
    seen->n_timeline = n;
    seen->timeline_dropped = merge->all_calls - n;
    return true;
}
