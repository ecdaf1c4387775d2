/* analyze/detect/leak_detector.c - one reading of memory after the other, for the documented window
 * test and for the sound one. A reading is of its layer's series and of the process's. */
#include <assay/leaks.h>
#include <math.h>
#include <string.h>

#include "analyze/detect/leak_detector.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "base/vec.h"

#define MAX_LAYERS       2048 /* with a series of their own */
#define OTHER_LAYERS     "(other layers)"
#define MAX_WINDOW       10000
#define WINDOWS_A_WINDOW 10 /* of the documented size, in one of the sound test's */
#define MAX_QUARTER      90 /* readings, so that a range can be judged */
#define MIN_READINGS     300
#define MAX_READINGS     1000000
/* Resident memory that grows by less while the heap does not: pages that are touched for the first
 * time, or holes of the heap. More fills the machine whoever holds it. */
#define OUTSIDE_MB       4
#define OUTSIDE_SHARE    0.1 /* of what the process held before */
#define SHORTEST_WINDOWS 3   /* documented windows in the shortest series that is judged */

struct assay_leak_detector {
    struct assay_leak_detector_options options;
    struct as_leak_rule rule;
    struct as_leak_window window;
    struct as_leak_series process;
    struct as_leak_sample last; /* the reading of the step that is not over yet */
    bool has_last;
    struct as_leak_series *layers;
    size_t n_layers, capacity_layers;
    uint64_t layers_dropped;
    struct as_hash_map names; /* of layers to their numbers */
    struct as_arena arena;    /* the names themselves */
    struct as_leak_incidents incidents;
    bool fresh; /* they are of all readings there are */
    bool heap_level;
    double outside_mb; /* grown outside the heap */
};

static const struct assay_leak_detector_options defaults = {
    .size = sizeof(struct assay_leak_detector_options),
    .threshold_mb = 10,
    .window_size = 10,
    .p_value = 0.001,
    .min_growth_mb = 1.0 / 16,
    .max_readings = 4096,
};

static int take_options(struct assay_leak_detector_options *out,
                        const struct assay_leak_detector_options *given, struct assay_error *err)
{
    struct assay_leak_detector_options whole;
    int rc = as_sized_take(&whole, sizeof whole, given, "options of a leak detector", err);

    *out = defaults;
    if (!given || rc < 0)
        return rc;
    given = &whole;
    if (!(given->threshold_mb >= 0) || isinf(given->threshold_mb))
        return as_fail(err, ASSAY_ERR_USAGE, "the leak threshold must be 0 MB or more");
    if (given->window_size && (given->window_size < 3 || given->window_size > MAX_WINDOW))
        return as_fail(err, ASSAY_ERR_USAGE, "the leak window must have 3 to %d samples",
                       MAX_WINDOW);
    if (!(given->warm_up >= 0 && given->warm_up <= 0.5))
        return as_fail(err, ASSAY_ERR_USAGE, "the share of warm-up must be 0 to 0.5");
    if (!(given->p_value >= 0 && given->p_value < 1))
        return as_fail(err, ASSAY_ERR_USAGE, "the p-value of a leak must be below 1");
    if (!(given->min_growth_mb >= 0) || isinf(given->min_growth_mb))
        return as_fail(err, ASSAY_ERR_USAGE, "the least growth must be 0 MB or more");
    if (given->max_readings &&
        (given->max_readings < MIN_READINGS || given->max_readings > MAX_READINGS))
        return as_fail(err, ASSAY_ERR_USAGE, "%d to %d samples per series can be kept",
                       MIN_READINGS, MAX_READINGS);
    if (given->threshold_mb > 0)
        out->threshold_mb = given->threshold_mb;
    if (given->window_size)
        out->window_size = given->window_size;
    if (given->p_value > 0)
        out->p_value = given->p_value;
    if (given->min_growth_mb > 0)
        out->min_growth_mb = given->min_growth_mb;
    if (given->max_readings)
        out->max_readings = given->max_readings;
    out->warm_up = given->warm_up;
    out->alert = given->alert;
    out->user = given->user;
    out->process_only = given->process_only;
    return ASSAY_OK;
}

static struct as_leak_rule make_rule(const struct assay_leak_detector_options *o)
{
    size_t quarter = o->window_size * WINDOWS_A_WINDOW / 4, most = o->max_readings / 33;

    most = most < MAX_QUARTER ? most : MAX_QUARTER;
    return (struct as_leak_rule){
        .quarter = quarter < most ? quarter : most,
        .min_readings = SHORTEST_WINDOWS * o->window_size,
        .p = o->p_value,
        .min_growth = o->min_growth_mb,
        .warm_up = o->warm_up,
        .capacity_mb = AS_UNKNOWN,
    };
}

int assay_leak_detector_new(struct assay_leak_detector **out,
                            const struct assay_leak_detector_options *options,
                            struct assay_error *err)
{
    struct assay_leak_detector_options taken;
    struct assay_leak_detector *d;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new leak detector is NULL");
    *out = NULL;
    rc = take_options(&taken, options, err);
    if (rc < 0)
        return rc;
    d = as_alloc_zero(1, sizeof *d);
    if (!d)
        return as_fail_nomem(err);
    d->options = taken;
    d->rule = make_rule(&taken);
    as_leak_series_init(&d->process, NULL, taken.max_readings);
    rc = as_leak_window_init(&d->window, taken.threshold_mb, taken.window_size, err);
    if (rc < 0) {
        assay_leak_detector_free(d);
        return rc;
    }
    *out = d;
    return ASSAY_OK;
}

static void forget_series(struct assay_leak_detector *d)
{
    for (size_t i = 0; i < d->n_layers; i++)
        as_leak_series_fini(&d->layers[i]);
    as_leak_series_fini(&d->process);
    as_free(d->layers);
    as_hash_map_fini(&d->names);
    as_arena_fini(&d->arena);
    as_free(d->incidents.at);
    d->incidents = (struct as_leak_incidents){0};
    d->layers = NULL;
    d->n_layers = d->capacity_layers = 0;
    d->layers_dropped = 0;
    d->has_last = d->fresh = d->heap_level = false;
    d->outside_mb = 0;
}

void assay_leak_detector_free(struct assay_leak_detector *d)
{
    if (!d)
        return;
    forget_series(d);
    as_leak_window_fini(&d->window);
    as_free(d);
}

void assay_leak_detector_reset(struct assay_leak_detector *d)
{
    if (!d)
        return;
    forget_series(d);
    as_leak_window_reset(&d->window);
}

int assay_leak_detector_sample(struct assay_leak_detector *detector, const char *layer,
                               uint64_t bytes)
{
    return assay_leak_detector_add(detector, layer, (double)bytes / AS_MIB, ASSAY_UNKNOWN,
                                   AS_UNKNOWN, NULL);
}

void assay_leak_detector_set_headroom(struct assay_leak_detector *d, double capacity_mb)
{
    if (!d)
        return;
    d->rule.capacity_mb = capacity_mb >= 0 ? capacity_mb : AS_UNKNOWN;
    d->fresh = false;
}

static int add_series(struct assay_leak_detector *d, const char *name, struct assay_error *err)
{
    if (!AS_VEC_RESERVE(d->layers, d->n_layers, d->capacity_layers))
        return as_fail_nomem(err);
    as_leak_series_init(&d->layers[d->n_layers++], name, d->options.max_readings);
    return ASSAY_OK;
}

/* The layer's one name, and its series or NULL when it has none. */
static int find_layer(struct assay_leak_detector *d, const char *layer, const char **name,
                      struct as_leak_series **series, struct assay_error *err)
{
    size_t size = strlen(layer);
    const uint64_t *number = as_hash_map_find(&d->names, layer, size);
    char *copy;

    *series = NULL;
    *name = OTHER_LAYERS;
    if (!number && d->n_layers == MAX_LAYERS) {
        d->layers_dropped++;
        return ASSAY_OK;
    }
    if (!number) {
        copy = as_arena_text(&d->arena, layer, size);
        if (!copy || add_series(d, copy, err) < 0)
            return as_fail_nomem(err);
        if (as_hash_map_put(&d->names, copy, size, d->n_layers - 1) < 0) {
            d->n_layers--;
            return as_fail_nomem(err);
        }
    }
    *series = &d->layers[number ? *number : d->n_layers - 1];
    *name = (*series)->layer;
    return ASSAY_OK;
}

static int add_point(struct assay_leak_detector *d, struct as_leak_series *series,
                     const struct as_leak_sample *point, struct assay_error *err)
{
    struct assay_leak_incident incident;
    int rc = as_leak_series_add(series, point, err);

    if (rc == ASSAY_OK && d->options.alert) /* otherwise the series is judged when somebody asks */
        rc = as_leak_trend_watch(series, &d->rule, &incident, err);
    if (rc == 1 && d->options.alert)
        d->options.alert(d->options.user, NULL, &incident);
    return rc < 0 ? rc : ASSAY_OK;
}

/* Of the process the last reading of each step counts. */
static int add_process(struct assay_leak_detector *d, const struct as_leak_sample *point,
                       struct assay_error *err)
{
    bool same = d->has_last && point->step != ASSAY_UNKNOWN && point->step == d->last.step;
    int rc = ASSAY_OK;

    if (d->has_last && !same)
        rc = add_point(d, &d->process, &d->last, err);
    d->has_last = point->step != ASSAY_UNKNOWN;
    d->last = *point;
    if (rc == ASSAY_OK && !d->has_last)
        rc = add_point(d, &d->process, point, err);
    return rc;
}

int assay_leak_detector_add(struct assay_leak_detector *d, const char *layer, double memory_mb,
                            uint64_t step, double timestamp, struct assay_error *err)
{
    struct as_leak_sample point = {.mb = memory_mb, .low_mb = memory_mb, .step = step};
    struct as_leak_reading reading = {.mb = memory_mb};
    struct as_leak_series *series = NULL;
    struct assay_leak leak;
    int rc = ASSAY_OK;

    if (!d)
        return as_fail(err, ASSAY_ERR_USAGE, "the leak detector is NULL");
    if (!(memory_mb >= 0) || isinf(memory_mb))
        return as_fail(err, ASSAY_ERR_USAGE, "memory of %s must be 0 MB or more",
                       layer ? layer : "the process");
    if (isinf(timestamp))
        return as_fail(err, ASSAY_ERR_USAGE, "the time of a sample must be finite");
    reading.time = point.time = isnan(timestamp) ? as_clock_unix_seconds() : timestamp;
    if (layer)
        rc = find_layer(d, layer, &reading.layer, &series, err);
    if (rc < 0)
        return rc;
    d->fresh = false;
    rc = as_leak_window_add(&d->window, &reading, &leak, err);
    if (rc == 1 && d->options.alert)
        d->options.alert(d->options.user, &leak, NULL);
    if (rc >= 0 && series && !d->options.process_only)
        rc = add_point(d, series, &point, err);
    if (rc >= 0)
        rc = add_process(d, &point, err);
    return rc;
}

size_t assay_leak_detector_leaks(struct assay_leak_detector *d, const struct assay_leak **out)
{
    if (out)
        *out = d ? d->window.leaks : NULL;
    return d ? d->window.n_leaks : 0;
}

bool assay_leak_detector_any(struct assay_leak_detector *d)
{
    return d && d->window.n_seen > 0;
}

void as_leak_set_heap_level(struct assay_leak_detector *d, bool level)
{
    d->fresh &= d->heap_level == level;
    d->heap_level = level;
}

double as_leak_outside_heap_mb(const struct assay_leak_detector *d)
{
    return d->outside_mb;
}

/* Takes small growth of the process out of the incidents, which are its alone so far. */
static void put_outside_aside(struct assay_leak_detector *d)
{
    double most = d->process.n ? fmax(OUTSIDE_MB, OUTSIDE_SHARE * d->process.points[0].mb) : 0;
    double sum = 0;

    d->outside_mb = 0;
    for (size_t i = 0; i < d->incidents.n; i++)
        sum += d->incidents.at[i].net_growth_mb;
    if (!d->heap_level || !(sum < most))
        return;
    d->outside_mb = sum;
    d->incidents.n = 0;
}

int assay_leak_detector_incidents(struct assay_leak_detector *d,
                                  const struct assay_leak_incident **out, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (out)
        *out = NULL;
    if (!d || !out)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the leak detector or the pointer for its incidents is NULL");
    if (!d->fresh) {
        d->incidents.n = 0;
        rc = as_leak_trend_find(&d->process, &d->rule, &d->incidents, err);
        put_outside_aside(d);
        for (size_t i = 0; rc == ASSAY_OK && i < d->n_layers; i++)
            rc = as_leak_trend_find(&d->layers[i], &d->rule, &d->incidents, err);
        d->fresh = rc == ASSAY_OK;
    }
    *out = d->incidents.at;
    return rc < 0 ? rc : (int)d->incidents.n;
}

int assay_leak_detector_summary(struct assay_leak_detector *d, struct assay_leak_summary *out,
                                struct assay_error *err)
{
    const struct assay_leak_incident *incidents;
    const struct as_leak_window *w;
    int n;

    if (!d || !out)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the leak detector or the pointer for its summary is NULL");
    w = &d->window;
    n = assay_leak_detector_incidents(d, &incidents, err);
    if (n < 0)
        return n;
    *out = (struct assay_leak_summary){
        .size = sizeof(struct assay_leak_summary),
        .has_leaks = w->n_seen > 0,
        .leak_count = (size_t)w->n_seen,
        .total_memory_leaked_mb = w->sum_increase_mb,
        .average_growth_mb_per_step = w->n_seen ? w->sum_rate / (double)w->n_seen : AS_UNKNOWN,
        .growing = n > 0,
        .n_incidents = (size_t)n,
        .n_series = d->n_layers + 1,
        .n_readings = w->n_readings,
        .leaks_dropped = w->n_seen - w->n_leaks,
        .layers_dropped = d->layers_dropped,
    };
    return ASSAY_OK;
}

int as_leak_report(struct assay_leak_detector *detector, struct as_leak_report *out,
                   struct assay_error *err)
{
    int rc = assay_leak_detector_summary(detector, &out->summary, err);

    if (rc == ASSAY_OK)
        rc = assay_leak_detector_incidents(detector, &out->incidents, err);
    if (rc < 0)
        return rc;
    out->n_incidents = (size_t)rc;
    out->n_leaks = assay_leak_detector_leaks(detector, &out->leaks);
    out->outside_heap_mb = as_leak_outside_heap_mb(detector);
    return ASSAY_OK;
}
