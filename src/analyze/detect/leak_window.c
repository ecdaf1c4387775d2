/* analyze/detect/leak_window.c - the documented leak test: the last reading of a window less its
 * first. Windows overlap, so one growth is seen again and again; leak_trend.c tells
 * it once. */
#include "analyze/detect/leak_detector.h"

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/vec.h"

int as_leak_window_init(struct as_leak_window *w, double threshold_mb, size_t size,
                        struct assay_error *err)
{
    *w = (struct as_leak_window){.threshold_mb = threshold_mb, .size = size};
    w->ring = as_alloc_zero(size, sizeof *w->ring);
    return w->ring ? ASSAY_OK : as_fail_nomem(err);
}

void as_leak_window_fini(struct as_leak_window *w)
{
    as_free(w->ring);
    as_free(w->leaks);
    as_arena_fini(&w->arena);
    *w = (struct as_leak_window){0};
}

void as_leak_window_reset(struct as_leak_window *w)
{
    struct as_leak_window fresh = {
        .threshold_mb = w->threshold_mb, .size = w->size, .ring = w->ring};

    as_free(w->leaks);
    as_arena_fini(&w->arena);
    *w = fresh;
}

/* Reading `i` of the window that ends with the last reading. */
static const struct as_leak_reading *reading_at(const struct as_leak_window *w, size_t i)
{
    return &w->ring[(w->n_readings - w->size + i) % w->size];
}

/* Least squares over 0, 1 ... size - 1. */
static double find_slope(const struct as_leak_window *w)
{
    double n = (double)w->size, mean_x = (n - 1) / 2, mean_y = 0, product = 0;

    for (size_t i = 0; i < w->size; i++)
        mean_y += reading_at(w, i)->mb / n;
    for (size_t i = 0; i < w->size; i++)
        product += ((double)i - mean_x) * (reading_at(w, i)->mb - mean_y);
    return product / (n * (n * n - 1) / 12);
}

/* The layers of the window in order, each once. */
static int name_layers(struct as_leak_window *w, struct assay_leak *leak, struct assay_error *err)
{
    const char **names = as_arena_zero(&w->arena, w->size, sizeof *names);
    struct as_hash_map seen = {0};
    size_t n = 0;
    int rc = ASSAY_OK;

    if (!names)
        return as_fail_nomem(err);
    for (size_t i = 0; i < w->size; i++) {
        const struct as_leak_reading *reading = reading_at(w, i);
        int put = 0;

        /* One layer has one pointer, whose bytes are its name here. */
        if (reading->layer)
            put = as_hash_map_put(&seen, (const char *)&reading->layer, sizeof reading->layer, i);
        if (put < 0) {
            rc = as_fail_nomem(err);
            break;
        }
        if (put == 1)
            names[n++] = reading->layer;
    }
    as_hash_map_fini(&seen);
    leak->layers_involved = names;
    leak->n_layers_involved = n;
    return rc;
}

static int keep_leak(struct as_leak_window *w, const struct assay_leak *leak,
                     struct assay_error *err)
{
    if (!AS_VEC_RESERVE(w->leaks, w->n_leaks, w->capacity))
        return as_fail_nomem(err);
    w->leaks[w->n_leaks++] = *leak;
    w->n_names += w->size;
    return ASSAY_OK;
}

static struct assay_leak make_leak(const struct as_leak_window *w)
{
    double start = reading_at(w, 0)->mb, end = reading_at(w, w->size - 1)->mb;

    return (struct assay_leak){
        .start_memory_mb = start,
        .end_memory_mb = end,
        .increase_mb = end - start,
        .growth_rate_mb_per_step = find_slope(w),
        .window_size = w->size,
        .timestamp_seconds = reading_at(w, w->size - 1)->time,
    };
}

int as_leak_window_add(struct as_leak_window *w, const struct as_leak_reading *reading,
                       struct assay_leak *tell, struct assay_error *err)
{
    struct assay_leak leak;
    int rc;

    w->ring[w->n_readings++ % w->size] = *reading;
    if (w->n_readings < w->size || !(reading->mb - reading_at(w, 0)->mb > w->threshold_mb))
        return 0;
    leak = make_leak(w);
    w->n_seen++;
    w->sum_increase_mb += leak.increase_mb;
    w->sum_rate += leak.growth_rate_mb_per_step;
    if (w->n_leaks < AS_LEAK_MAX_KEPT && w->n_names + w->size <= AS_LEAK_MAX_NAMES) {
        rc = name_layers(w, &leak, err);
        if (rc == ASSAY_OK)
            rc = keep_leak(w, &leak, err);
        if (rc < 0)
            return rc;
    }
    if (w->n_readings - w->size < w->told_until)
        return 0;
    w->told_until = w->n_readings;
    *tell = leak;
    return 1;
}
