/* watch/heap_series.c - the live bytes of every heap site over time, in at most 256 points. */
#include "watch/watch_shm.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    MAX_IDS = 32768,
    COST_PART = 100 /* a hundredth of the time at most goes into it, however many sites there are */
};

static void thin(struct as_heap_series *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (i % 2 == 0)
            p->point[kept++] = p->point[i];
        else
            as_free(p->point[i].live_bytes);
    }
    p->n = kept;
    p->stride = p->stride ? 2 * p->stride : 2;
}

void as_heap_series_add(struct as_heap_series *points, struct as_heap_watch *watch, size_t n_ids,
                        double seconds)
{
    struct as_heap_sample *at;
    uint64_t *live;
    uint64_t before_ns, after_ns;
    size_t capacity, n;
    bool timed;

    if (++points->waited < points->stride || n_ids == 0 || seconds < points->next_seconds)
        return;
    timed = as_clock_thread_cpu_ns(&before_ns);
    capacity = n_ids < MAX_IDS ? n_ids : MAX_IDS;
    live = as_alloc_zero(capacity, sizeof *live);
    if (!live)
        return;
    n = as_heap_watch_live(watch, live, capacity);
    if (timed && as_clock_thread_cpu_ns(&after_ns))
        points->next_seconds = seconds + COST_PART * (double)(after_ns - before_ns) / 1e9;
    points->waited = 0;
    if (points->n == AS_HEAP_SERIES_SAMPLES)
        thin(points);
    at = &points->point[points->n++];
    *at = (struct as_heap_sample){seconds, live, n < capacity ? n : capacity};
}

struct held {
    uint32_t id;
    uint64_t most_bytes;
};

static int by_most(const void *a, const void *b)
{
    const struct held *x = a, *y = b;

    if (x->most_bytes != y->most_bytes)
        return x->most_bytes < y->most_bytes ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* A site that was not there yet held nothing. */
static double live_at(const struct as_heap_sample *point, uint32_t id)
{
    return id < point->n ? (double)point->live_bytes[id] : 0;
}

static struct held *most_held(const struct as_heap_series *p, struct as_arena *arena, size_t *n)
{
    size_t n_sites = 0;
    struct held *held;

    for (size_t i = 0; i < p->n; i++)
        if (p->point[i].n > n_sites)
            n_sites = p->point[i].n;
    held = as_arena_zero(arena, n_sites ? n_sites : 1, sizeof *held);
    *n = n_sites < AS_SITE_SERIES_MAX ? n_sites : AS_SITE_SERIES_MAX;
    if (!held || !n_sites)
        return held;
    for (size_t k = 0; k < n_sites; k++)
        held[k].id = (uint32_t)k;
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->point[i].n; k++)
            if (p->point[i].live_bytes[k] > held[k].most_bytes)
                held[k].most_bytes = p->point[i].live_bytes[k];
    qsort(held, n_sites, sizeof *held, by_most);
    while (*n > 0 && held[*n - 1].most_bytes == 0)
        --*n;
    return held;
}

int as_heap_series_series(const struct as_heap_series *points, struct as_arena *arena,
                          struct as_site_series **out, size_t *n, struct assay_error *err)
{
    const struct held *held = most_held(points, arena, n);
    double *seconds = as_arena_zero(arena, points->n + 1, sizeof *seconds);
    struct as_site_series *series = as_arena_zero(arena, *n + 1, sizeof *series);

    *out = series;
    if (!held || !seconds || !series)
        return as_fail_nomem(err);
    for (size_t i = 0; i < points->n; i++)
        seconds[i] = points->point[i].seconds;
    for (size_t k = 0; k < *n; k++) {
        double *live = as_arena_zero(arena, points->n + 1, sizeof *live);

        if (!live)
            return as_fail_nomem(err);
        for (size_t i = 0; i < points->n; i++)
            live[i] = live_at(&points->point[i], held[k].id);
        series[k] = (struct as_site_series){held[k].id, seconds, live, points->n};
    }
    return ASSAY_OK;
}

void as_heap_series_fini(struct as_heap_series *points)
{
    for (size_t i = 0; i < points->n; i++)
        as_free(points->point[i].live_bytes);
    *points = (struct as_heap_series){0};
}
