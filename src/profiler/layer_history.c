/* profiler/layer_history.c - the times of layers and the newest calls, within a bound.
 * What has no room is counted, and percentiles report what they are made of. */
#include <string.h>

#include "base/alloc.h"
#include "profiler/layer_cell.h"

#define FIRST_SAMPLES 16u
#define FIRST_RECORDS 64u

/* Room in the history, or not. */
static bool take(struct as_layer_profile *p, size_t bytes)
{
    if (bytes > p->limits.max_history_bytes - p->history_bytes)
        return false;
    p->history_bytes += bytes;
    return true;
}

static void give(struct as_layer_profile *p, size_t bytes)
{
    p->history_bytes -= bytes;
}

/* One list of times with more room; as it was when there is none. */
static bool grow_list(struct as_layer_profile *p, uint64_t **list, uint32_t from, uint32_t capacity)
{
    size_t extra = (capacity - from) * sizeof **list;
    uint64_t *more;

    if (!take(p, extra))
        return false;
    more = as_realloc(*list, capacity, sizeof *more);
    if (!more) {
        give(p, extra);
        return false;
    }
    as_touch(more, from * sizeof *more, capacity * sizeof *more);
    *list = more;
    return true;
}

static void lose_own(struct as_layer_profile *p, struct as_layer_cell *cell, uint32_t capacity)
{
    give(p, capacity * sizeof *cell->own);
    as_free(cell->own);
    cell->own = NULL;
    cell->own_lost = true;
}

/* Room for twice as many times; false when there is none. */
static bool grow_samples(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    uint32_t capacity = cell->capacity ? 2 * cell->capacity : FIRST_SAMPLES;

    if (!grow_list(p, &cell->sample, cell->capacity, capacity))
        return false;
    if (cell->own && !grow_list(p, &cell->own, cell->capacity, capacity))
        lose_own(p, cell, cell->capacity);
    cell->capacity = capacity;
    return true;
}

/* The first call with layers inside: until now times and own times were the same. */
static void part_own(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    if (cell->capacity && !grow_list(p, &cell->own, 0, cell->capacity))
        cell->own_lost = true;
    if (cell->own && cell->n_samples)
        memcpy(cell->own, cell->sample, cell->n_samples * sizeof *cell->own);
}

/* The newest of a full list stay. */
static uint64_t *keep_newest(struct as_layer_profile *p, uint64_t *list, uint32_t n,
                             uint32_t capacity)
{
    uint64_t *less;

    memmove(list, list + (n - AS_LAYER_NEWEST), AS_LAYER_NEWEST * sizeof *list);
    give(p, (capacity - AS_LAYER_NEWEST) * sizeof *list);
    less = as_realloc(list, AS_LAYER_NEWEST, sizeof *less);
    return less ? less : list;
}

/* From all times to counts by size, with the newest times beside them. */
static bool fold(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    const size_t bytes = AS_LAYER_BUCKETS * sizeof *cell->bucket;

    if (!take(p, bytes))
        return false;
    cell->bucket = as_alloc_zero(AS_LAYER_BUCKETS, sizeof *cell->bucket);
    if (!cell->bucket) {
        give(p, bytes);
        return false;
    }
    for (uint32_t i = 0; i < cell->n_samples; i++)
        cell->bucket[as_histogram_bucket(AS_LAYER_BITS, cell->sample[i])]++;
    cell->sample = keep_newest(p, cell->sample, cell->n_samples, cell->capacity);
    if (cell->own)
        cell->own = keep_newest(p, cell->own, cell->n_samples, cell->capacity);
    cell->capacity = cell->n_samples = AS_LAYER_NEWEST;
    cell->at = 0;
    return true;
}

/* The times are full: more room, counts by size, or the newest only. */
static void reserve(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    bool more = cell->capacity < AS_LAYER_EXACT ? grow_samples(p, cell) : fold(p, cell);

    if (!more)
        cell->newest_only = true;
}

/* Keeps the time of a call one by one, by size, or both. */
static void keep_time(struct as_layer_profile *p, struct as_layer_cell *cell, uint64_t ns,
                      uint64_t own_ns)
{
    uint32_t place;

    if (cell->n_samples == cell->capacity && !cell->bucket && !cell->newest_only)
        reserve(p, cell);
    if (own_ns != ns && !cell->own && !cell->own_lost)
        part_own(p, cell);
    if (cell->bucket)
        cell->bucket[as_histogram_bucket(AS_LAYER_BITS, ns)]++;
    if (cell->capacity == 0)
        return;
    if (cell->n_samples < cell->capacity) {
        place = cell->n_samples++;
    } else {
        place = cell->at++;
        cell->at = cell->at == cell->capacity ? 0 : cell->at;
    }
    cell->sample[place] = ns;
    if (cell->own)
        cell->own[place] = own_ns;
}

void as_layer_cell_add(struct as_layer_profile *p, struct as_layer_cell *cell, uint64_t ns,
                       uint64_t own_ns)
{
    struct as_layer_times *t = &cell->times;

    t->n++;
    t->sum += ns;
    t->min = ns < t->min ? ns : t->min;
    t->max = ns > t->max ? ns : t->max;
    t->squares += (as_layer_wide)ns * ns;
    keep_time(p, cell, ns, own_ns);
}

void as_layer_cell_reset(struct as_layer_profile *p, struct as_layer_cell *cell)
{
    give(p, (cell->own ? 2 : 1) * (size_t)cell->capacity * sizeof *cell->sample);
    if (cell->bucket)
        give(p, AS_LAYER_BUCKETS * sizeof *cell->bucket);
    as_free(cell->sample);
    as_free(cell->own);
    as_free(cell->bucket);
    *cell = (struct as_layer_cell){.name = cell->name, .times.min = UINT64_MAX};
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
    size_t capacity = ring->capacity ? 2 * ring->capacity : FIRST_RECORDS;
    struct as_layer_record *more;
    size_t extra;

    capacity = capacity < p->limits.max_timeline ? capacity : p->limits.max_timeline;
    extra = (capacity - ring->capacity) * sizeof *more;
    ring->fixed = true;
    if (!extra || !take(p, extra))
        return;
    more = as_realloc(ring->record, capacity, sizeof *more);
    if (!more) {
        give(p, extra);
        return;
    }
    as_touch(more, ring->capacity * sizeof *more, capacity * sizeof *more);
    ring->record = more;
    ring->capacity = capacity;
    ring->fixed = false;
}

void as_layer_ring_push(struct as_layer_profile *p, const struct as_layer_record *record)
{
    struct as_layer_ring *ring = &p->ring;

    if (ring->n == ring->capacity && !ring->fixed)
        grow_ring(p, ring);
    if (ring->capacity == 0) {
        as_free(record->extra);
        ring->dropped++;
        return;
    }
    if (ring->at == ring->capacity)
        ring->at = 0;
    if (ring->n == ring->capacity) {
        const uint64_t end = ring->record[ring->at].end_ticks;

        as_free(ring->record[ring->at].extra);
        ring->dropped++;
        ring->horizon = end > ring->horizon ? end : ring->horizon;
    } else {
        ring->n++;
    }
    ring->record[ring->at++] = *record;
}

void as_layer_ring_reset(struct as_layer_profile *p)
{
    struct as_layer_ring *ring = &p->ring;

    for (size_t i = 0; i < ring->n; i++)
        as_free(ring->record[i].extra);
    give(p, ring->capacity * sizeof *ring->record);
    as_free(ring->record);
    *ring = (struct as_layer_ring){0};
}
