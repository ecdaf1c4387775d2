/* analyze/detect/anomaly.c - whether a value of a layer does not belong to the ones just before it.
 * A value is compared with its window before it joins it, so it cannot hide behind itself. */
#include <assay/anomaly.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "base/vec.h"
#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

#define MIN_WINDOW      5
#define MAX_WINDOW      10000
#define MAX_SERIES      1000000
#define MAX_FOUND       1000000
#define FIRST_CAPACITY  16
#define MAX_THRESHOLD   1e6
#define DOCUMENTED      0.95 /* the sensitivity at which the thresholds are the documented ones */
#define LEAST_FACTOR    0.2
#define GREATEST_FACTOR 4
#define ROUNDING        1e-12 /* of the mean: a spread below is none */
#define STAND_IN        0.01  /* of the mean: the spread of values that have none */

struct series {
    const char *metric;
    size_t layer;
    bool is_time;
    double *ring;   /* value v is at v % window */
    double *sorted; /* the same values by size */
    uint64_t n;
};

struct assay_anomaly_detector {
    struct assay_anomaly_detector_options options;
    double z_threshold, iqr_factor;
    struct series *series;
    size_t n_series, capacity_series;
    struct assay_anomaly_layer *layers;
    size_t n_layers, capacity_layers;
    struct as_hash_map layer_names, series_names;
    struct as_arena arena;       /* names and rings */
    struct assay_anomaly *found; /* a ring of max_found, made with the first */
    uint64_t n_found, n_values, n_dropped;
    char *key; /* for looking up a series */
    size_t capacity_key;
};

static const struct assay_anomaly_detector_options defaults = {
    .size = sizeof(struct assay_anomaly_detector_options),
    .sensitivity = DOCUMENTED,
    .window = 50,
    .z_threshold = 3,
    .iqr_factor = 1.5,
    .min_z_samples = 5,
    .min_iqr_samples = 10,
    .max_series = 10000,
    .max_found = 1000,
};

const char *assay_anomaly_test_name(unsigned tests)
{
    static const char *const names[] = {"none", "z_score", "iqr", "z_score+iqr"};

    return tests < AS_COUNT_OF(names) ? names[tests] : "unknown";
}

static bool is_threshold(double x)
{
    return x >= 0 && x <= MAX_THRESHOLD;
}

static int check_options(const struct assay_anomaly_detector_options *o, struct assay_error *err)
{
    if (!(o->sensitivity >= 0 && o->sensitivity < 1))
        return as_fail(err, ASSAY_ERR_USAGE, "the sensitivity must be above 0 and below 1");
    if (!is_threshold(o->z_threshold) || !is_threshold(o->iqr_factor))
        return as_fail(err, ASSAY_ERR_USAGE, "thresholds of anomalies must be 0 to %.0f",
                       MAX_THRESHOLD);
    if (o->window && (o->window < MIN_WINDOW || o->window > MAX_WINDOW))
        return as_fail(err, ASSAY_ERR_USAGE, "the window of anomalies must have %d to %d values",
                       MIN_WINDOW, MAX_WINDOW);
    if (o->max_series > MAX_SERIES || o->max_found > MAX_FOUND)
        return as_fail(err, ASSAY_ERR_USAGE, "at most %d series and %d anomalies can be kept",
                       MAX_SERIES, MAX_FOUND);
    return ASSAY_OK;
}

#define TAKE(field) (o->field != 0 ? o->field : defaults.field)

static struct assay_anomaly_detector_options
take_options(const struct assay_anomaly_detector_options *o)
{
    return (struct assay_anomaly_detector_options){
        .size = sizeof *o,
        .sensitivity = TAKE(sensitivity),
        .window = TAKE(window),
        .z_threshold = TAKE(z_threshold),
        .iqr_factor = TAKE(iqr_factor),
        .min_z_samples = TAKE(min_z_samples),
        .min_iqr_samples = TAKE(min_iqr_samples),
        .iqr_on_all = o->iqr_on_all,
        .max_series = TAKE(max_series),
        .max_found = TAKE(max_found),
        .alert = o->alert,
        .user = o->user,
    };
}

int assay_anomaly_detector_new(struct assay_anomaly_detector **out,
                               const struct assay_anomaly_detector_options *options,
                               struct assay_error *err)
{
    struct assay_anomaly_detector_options o;
    struct assay_anomaly_detector *a;
    double factor;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new detector is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of an anomaly detector", err);
    if (rc == ASSAY_OK)
        rc = check_options(&o, err);
    if (rc < 0)
        return rc;
    a = as_alloc_zero(1, sizeof *a);
    if (!a)
        return as_fail_nomem(err);
    a->options = take_options(&o);
    factor = (1 - a->options.sensitivity) / (1 - DOCUMENTED);
    factor = fmin(fmax(factor, LEAST_FACTOR), GREATEST_FACTOR);
    a->z_threshold = a->options.z_threshold * factor;
    a->iqr_factor = a->options.iqr_factor * factor;
    *out = a;
    return ASSAY_OK;
}

void assay_anomaly_detector_reset(struct assay_anomaly_detector *a)
{
    if (!a)
        return;
    as_free(a->series);
    as_free(a->layers);
    as_free(a->found);
    as_free(a->key);
    as_hash_map_fini(&a->layer_names);
    as_hash_map_fini(&a->series_names);
    as_arena_fini(&a->arena);
    *a = (struct assay_anomaly_detector){
        .options = a->options,
        .z_threshold = a->z_threshold,
        .iqr_factor = a->iqr_factor,
    };
}

void assay_anomaly_detector_free(struct assay_anomaly_detector *a)
{
    if (!a)
        return;
    assay_anomaly_detector_reset(a);
    as_free(a);
}

/* ---- layers and their metrics ---- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

static bool is_time(const char *metric)
{
    static const char *const ends[] = {"_time", "_ms", "_us", "_ns", "_s", "_seconds"};
    bool time = strcmp(metric, "time") == 0;

    for (size_t i = 0; i < AS_COUNT_OF(ends); i++)
        time = time || ends_in(metric, ends[i]);
    return time;
}

static int find_layer(struct assay_anomaly_detector *a, const char *layer, size_t *number)
{
    size_t size = strlen(layer);
    const uint64_t *known = as_hash_map_find(&a->layer_names, layer, size);
    char *copy;

    if (known) {
        *number = (size_t)*known;
        return ASSAY_OK;
    }
    copy = as_arena_text(&a->arena, layer, size);
    if (!copy || !AS_VEC_RESERVE(a->layers, a->n_layers, a->capacity_layers) ||
        as_hash_map_put(&a->layer_names, copy, size, a->n_layers) < 0)
        return ASSAY_ERR_NOMEM;
    *number = a->n_layers;
    a->layers[a->n_layers++] = (struct assay_anomaly_layer){.layer = copy};
    return ASSAY_OK;
}

/* A series of a layer and metric whose key, both with a NUL between, is `key`. */
static int add_series(struct assay_anomaly_detector *a, const char *key, size_t size,
                      struct series **out)
{
    const char *metric = key + strlen(key) + 1;
    char *copy = as_arena_text(&a->arena, key, size);
    double *ring = as_arena_zero(&a->arena, a->options.window, 2 * sizeof *ring);
    size_t layer;

    if (!copy || !ring || find_layer(a, key, &layer) < 0)
        return ASSAY_ERR_NOMEM;
    if (!AS_VEC_RESERVE(a->series, a->n_series, a->capacity_series))
        return ASSAY_ERR_NOMEM;
    if (as_hash_map_put(&a->series_names, copy, size, a->n_series) < 0)
        return ASSAY_ERR_NOMEM;
    *out = &a->series[a->n_series++];
    **out = (struct series){
        .metric = copy + (metric - key),
        .layer = layer,
        .is_time = a->options.iqr_on_all || is_time(metric),
        .ring = ring,
        .sorted = ring + a->options.window,
    };
    return ASSAY_OK;
}

/* NULL in `*out`: there is no room for one more. */
static int find_series(struct assay_anomaly_detector *a, const char *layer, const char *metric,
                       struct series **out)
{
    size_t n_layer = strlen(layer) + 1, n = n_layer + strlen(metric);
    const uint64_t *known;

    if (n + 1 > a->capacity_key) {
        char *key = as_realloc(a->key, n + 1, 1);

        if (!key)
            return ASSAY_ERR_NOMEM;
        a->key = key;
        a->capacity_key = n + 1;
    }
    memcpy(a->key, layer, n_layer);
    memcpy(a->key + n_layer, metric, n + 1 - n_layer);
    known = as_hash_map_find(&a->series_names, a->key, n);
    *out = known ? &a->series[*known] : NULL;
    if (known || a->n_series >= a->options.max_series)
        return ASSAY_OK;
    return add_series(a, a->key, n, out);
}

/* ---- the tests ---- */

static void fill_mean(struct assay_anomaly *out, const double *values, size_t n)
{
    double sum = 0, square = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    out->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (values[i] - out->mean) * (values[i] - out->mean);
    out->std = sqrt(square / (double)n);
}

/* A spread that can be divided by, unless the middle is 0 too. */
static double usable_spread(double spread, double middle)
{
    return spread > ROUNDING * fabs(middle) ? spread : STAND_IN * fabs(middle);
}

static double find_z(const struct assay_anomaly *a)
{
    double off = a->value - a->mean, spread = usable_spread(a->std, a->mean);

    if (spread > 0)
        return off / spread;
    return off == 0 ? 0 : copysign((double)INFINITY, off);
}

/* Compares the value with the window of `s`; fills all but the names. */
static void compare(struct assay_anomaly_detector *a, const struct series *s,
                    struct assay_anomaly *out)
{
    size_t n = s->n < a->options.window ? (size_t)s->n : a->options.window;
    struct as_sorted sorted = as_sorted_f64(s->sorted, n);

    out->n_window = n;
    out->low = out->high = AS_UNKNOWN;
    if (n == 0)
        return;
    out->median = as_sorted_median(&sorted);
    fill_mean(out, s->sorted, n);
    out->z = find_z(out);
    if (n >= a->options.min_z_samples && fabs(out->z) > a->z_threshold)
        out->tests |= ASSAY_ANOMALY_Z;
    if (s->is_time && n >= a->options.min_iqr_samples) {
        double q1 = as_quantile_at(&sorted, 25, AS_QUANTILE_LINEAR);
        double q3 = as_quantile_at(&sorted, 75, AS_QUANTILE_LINEAR);
        double beyond = a->iqr_factor * usable_spread(q3 - q1, out->median);

        out->low = q1 - beyond;
        out->high = q3 + beyond;
        if (out->value < out->low || out->value > out->high)
            out->tests |= ASSAY_ANOMALY_IQR;
    }
}

/* How many of the values are less. */
static size_t place_of(const double *sorted, size_t n, double value)
{
    size_t from = 0;

    while (from < n) {
        size_t middle = from + (n - from) / 2;

        if (sorted[middle] < value)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* The value takes the place of the oldest in the window. */
static void add_value(struct series *s, size_t window, double value)
{
    double *place = &s->ring[s->n % window];
    size_t n = s->n < window ? (size_t)s->n : window, at;

    if (n == window) {
        at = place_of(s->sorted, n--, *place);
        memmove(s->sorted + at, s->sorted + at + 1, (n - at) * sizeof *s->sorted);
    }
    at = place_of(s->sorted, n, value);
    memmove(s->sorted + at + 1, s->sorted + at, (n - at) * sizeof *s->sorted);
    s->sorted[at] = *place = value;
    s->n++;
}

static int keep(struct assay_anomaly_detector *a, const struct assay_anomaly *anomaly,
                const struct assay_anomaly **found)
{
    struct assay_anomaly *slot;

    if (!a->found)
        a->found = as_alloc_zero(a->options.max_found, sizeof *a->found);
    if (!a->found)
        return ASSAY_ERR_NOMEM;
    slot = &a->found[a->n_found++ % a->options.max_found];
    *slot = *anomaly;
    if (found)
        *found = slot;
    return ASSAY_OK;
}

int assay_anomaly_detector_add(struct assay_anomaly_detector *a, const char *layer,
                               const char *metric, double value, double timestamp,
                               const struct assay_anomaly **found, struct assay_error *err)
{
    struct assay_anomaly anomaly = {.value = value, .timestamp_seconds = timestamp};
    struct series *s;

    if (found)
        *found = NULL;
    if (!a)
        return as_fail(err, ASSAY_ERR_USAGE, "the anomaly detector is NULL");
    if (!layer || !metric)
        return as_fail(err, ASSAY_ERR_USAGE, "a value needs the names of its layer and metric");
    if (!isfinite(value))
        return as_fail(err, ASSAY_ERR_USAGE, "%s of %s is not a finite number", metric, layer);
    if (find_series(a, layer, metric, &s) < 0)
        return as_fail_nomem(err);
    a->n_values++;
    if (!s) {
        a->n_dropped++;
        return 0;
    }
    compare(a, s, &anomaly);
    add_value(s, a->options.window, value);
    a->layers[s->layer].n_values++;
    if (!anomaly.tests)
        return 0;
    a->layers[s->layer].n_anomalies++;
    anomaly.layer = a->layers[s->layer].layer;
    anomaly.metric = s->metric;
    if (!isfinite(timestamp))
        anomaly.timestamp_seconds = as_clock_unix_seconds();
    if (keep(a, &anomaly, found) < 0)
        return as_fail_nomem(err);
    if (a->options.alert)
        a->options.alert(a->options.user, &anomaly);
    return 1;
}

/* ---- what was found ---- */

size_t assay_anomaly_detector_count(const struct assay_anomaly_detector *a)
{
    if (!a)
        return 0;
    return a->n_found < a->options.max_found ? (size_t)a->n_found : a->options.max_found;
}

const struct assay_anomaly *assay_anomaly_detector_at(const struct assay_anomaly_detector *a,
                                                      size_t i)
{
    size_t n = assay_anomaly_detector_count(a);

    return i < n ? &a->found[(a->n_found - n + i) % a->options.max_found] : NULL;
}

size_t assay_anomaly_detector_layers(const struct assay_anomaly_detector *a,
                                     const struct assay_anomaly_layer **out)
{
    if (out)
        *out = a ? a->layers : NULL;
    return a ? a->n_layers : 0;
}

void assay_anomaly_detector_summary(const struct assay_anomaly_detector *a,
                                    struct assay_anomaly_summary *out)
{
    if (!out)
        return;
    *out = (struct assay_anomaly_summary){.size = sizeof(struct assay_anomaly_summary)};
    if (!a)
        return;
    *out = (struct assay_anomaly_summary){
        .size = sizeof(struct assay_anomaly_summary),
        .n_values = a->n_values,
        .n_anomalies = a->n_found,
        .n_forgotten = a->n_found - assay_anomaly_detector_count(a),
        .n_dropped = a->n_dropped,
        .n_series = a->n_series,
        .z_threshold = a->z_threshold,
        .iqr_factor = a->iqr_factor,
        .sensitivity = a->options.sensitivity,
        .window = a->options.window,
    };
}
