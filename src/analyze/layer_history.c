/* analyze/layer_history.c - the times and the newest calls of one thread, within a bound.
 * What has no room is counted, and percentiles say what they are made of. */
#include <string.h>

#include "analyze/layer_thread.h"
#include "base/alloc.h"

#define FIRST_SAMPLES 16u
#define FIRST_RECORDS 64u

bool as_layer_history_take(struct as_layer_profile *p, size_t bytes)
{
    size_t before = atomic_fetch_add_explicit(&p->history_bytes, bytes, memory_order_relaxed);

    if (before + bytes <= p->limits.max_history_bytes)
        return true;
    as_layer_history_give(p, bytes);
    return false;
}

void as_layer_history_give(struct as_layer_profile *p, size_t bytes)
{
    if (p)
        atomic_fetch_sub_explicit(&p->history_bytes, bytes, memory_order_relaxed);
}

/* Room for twice as many times; false when there is none. */
static bool grow_samples(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    uint32_t room = cell->room ? 2 * cell->room : FIRST_SAMPLES;
    size_t extra = (room - cell->room) * sizeof *cell->sample;
    uint64_t *more;

    if (!as_layer_history_take(p, extra))
        return false;
    more = as_realloc(cell->sample, room, sizeof *more);
    if (!more) {
        as_layer_history_give(p, extra);
        return false;
    }
    as_touch(more, cell->room * sizeof *more, room * sizeof *more);
    cell->sample = more;
    cell->room = room;
    return true;
}

/* From all times to counts by size, with the newest times beside them. */
static bool fold(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    const size_t bytes = AS_LAYER_BUCKETS * sizeof *cell->bucket;
    uint64_t *less;

    if (!as_layer_history_take(p, bytes))
        return false;
    cell->bucket = as_alloc_zero(AS_LAYER_BUCKETS, sizeof *cell->bucket);
    if (!cell->bucket) {
        as_layer_history_give(p, bytes);
        return false;
    }
    for (uint32_t i = 0; i < cell->n_samples; i++)
        cell->bucket[as_histogram_bucket(AS_LAYER_BITS, cell->sample[i])]++;
    memmove(cell->sample, cell->sample + (cell->n_samples - AS_LAYER_NEWEST),
            AS_LAYER_NEWEST * sizeof *cell->sample);
    as_layer_history_give(p, (cell->room - AS_LAYER_NEWEST) * sizeof *cell->sample);
    less = as_realloc(cell->sample, AS_LAYER_NEWEST, sizeof *less);
    if (less)
        cell->sample = less;
    cell->room = cell->n_samples = AS_LAYER_NEWEST;
    cell->at = 0;
    return true;
}

/* The times are full: more room, counts by size, or the newest only. */
static void make_room(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    bool more = cell->room < AS_LAYER_EXACT ? grow_samples(p, cell) : fold(p, cell);

    if (!more)
        cell->newest_only = true;
}

void as_layer_cell_keep(struct as_layer_profile *p, struct as_layer_cell *cell, uint64_t ns)
{
    if (!cell->bucket && !cell->newest_only)
        make_room(p, cell);
    if (cell->bucket)
        cell->bucket[as_histogram_bucket(AS_LAYER_BITS, ns)]++;
    if (cell->n_samples < cell->room) {
        cell->sample[cell->n_samples++] = ns;
    } else if (cell->room) {
        cell->sample[cell->at++] = ns;
        cell->at = cell->at == cell->room ? 0 : cell->at;
    }
}

struct as_moments as_layer_times_moments(const struct as_layer_times *times)
{
    __extension__ typedef __int128 wide;
    struct as_moments m = {0};
    wide mean;

    if (times->n == 0)
        return m;
    m.total = (struct as_total){times->n, times->sum, 0, times->min, times->max};
    m.mean = (double)times->sum / (double)times->n;
    /* Squares of distances from a whole number beside the mean: whole numbers all the way, so that
     * nothing is lost however small the spread. */
    mean = (wide)(times->sum / times->n);
    m.m2 =
        (double)((wide)times->squares - 2 * mean * (wide)times->sum + (wide)times->n * mean * mean);
    m.m2 -= (m.mean - (double)mean) * (m.mean - (double)mean) * (double)times->n;
    m.m2 = m.m2 > 0 ? m.m2 : 0;
    return m;
}

static void grow_ring(struct as_layer_profile *p, struct as_layer_ring *ring)
{
    size_t room = ring->room ? 2 * ring->room : FIRST_RECORDS;
    struct as_layer_record *more;
    size_t extra;

    room = room < p->limits.max_timeline ? room : p->limits.max_timeline;
    extra = (room - ring->room) * sizeof *more;
    ring->fixed = true;
    if (!extra || !as_layer_history_take(p, extra))
        return;
    more = as_realloc(ring->record, room, sizeof *more);
    if (!more) {
        as_layer_history_give(p, extra);
        return;
    }
    as_touch(more, ring->room * sizeof *more, room * sizeof *more);
    ring->record = more;
    ring->room = room;
    ring->fixed = false;
}

void as_layer_ring_push(struct as_layer_profile *p, struct as_layer_ring *ring,
                        const struct as_layer_record *record)
{
    if (ring->n == ring->room && !ring->fixed)
        grow_ring(p, ring);
    if (ring->room == 0) {
        as_free(record->extra);
        ring->dropped++;
        return;
    }
    if (ring->at == ring->room)
        ring->at = 0;
    if (ring->n == ring->room) {
        as_free(ring->record[ring->at].extra);
        ring->dropped++;
    } else {
        ring->n++;
    }
    ring->record[ring->at++] = *record;
}

void as_layer_ring_fini(struct as_layer_profile *p, struct as_layer_ring *ring)
{
    for (size_t i = 0; i < ring->n; i++)
        as_free(ring->record[i].extra);
    as_layer_history_give(p, ring->room * sizeof *ring->record);
    as_free(ring->record);
    *ring = (struct as_layer_ring){0};
}
