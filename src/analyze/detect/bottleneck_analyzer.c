/* analyze/detect/bottleneck_analyzer.c - keeps what the calls of layers tell, within fixed bounds.
 * A layer's times are kept whole up to a maximum; beyond it any call is as likely kept as another.
 */
#include <math.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/units.h"
#include "base/vec.h"

#define LEAST_FAULT_SECONDS 0.1e-6            /* no page fault is handled in less */
#define FIRST_CAPACITY      16                /* samples of a new layer */
#define MAX_SAMPLES         ((size_t)8 << 20) /* of all layers, beside the first ones of each */

#define MAX_SECONDS 1e15 /* of one call, so that no sum of them overflows */

#define NO (AS_UNKNOWN)
const struct assay_layer_metrics as_layer_metrics_unknown = {
    .size = sizeof(struct assay_layer_metrics),
    .execution_seconds = NO,
    .self_seconds = NO,
    .memory_usage_mb = NO,
    .io_operations = NO,
    .gpu_utilization_percent = NO,
    .flops = NO,
    .bytes = NO,
    .minor_faults = NO,
    .major_faults = NO,
    .io_wait_seconds = NO,
    .io_bytes = NO,
    .cpu_seconds = NO,
    .switches = NO,
    .sleeps = NO,
};

static const char *const type_name[] = {
#define X(name, text) text,
    ASSAY_BOTTLENECK_TYPES(X)
#undef X
};

const char *assay_bottleneck_type_name(enum assay_bottleneck_type type)
{
    return (unsigned)type < ASSAY_BOTTLENECK_TYPE_COUNT ? type_name[type] : "unknown";
}

const char *assay_priority_name(enum assay_priority priority)
{
    static const char *const name[] = {
        [ASSAY_PRIORITY_LOW] = "low",
        [ASSAY_PRIORITY_MEDIUM] = "medium",
        [ASSAY_PRIORITY_HIGH] = "high",
    };

    return (unsigned)priority < AS_COUNT_OF(name) ? name[priority] : "unknown";
}

/* ---- options ---- */

#define OPTION(field) offsetof(struct assay_bottleneck_analyzer_options, field)
static const struct {
    const char *name;
    size_t at;
    double usual, most;
} number_option[] = {
    {"threshold_percentile", OPTION(threshold_percentile), 90, 100},
    {"compute_factor", OPTION(compute_factor), 1.5, 1e300},
    {"memory_mb", OPTION(memory_mb), 500, 1e300},
    {"io_operations", OPTION(io_operations), 100, 1e300},
    {"gpu_percent", OPTION(gpu_percent), 50, 100},
    {"critical_percent", OPTION(critical_percent), 50, 1e300},
    {"variance_cv", OPTION(variance_cv), 0.3, 1e300},
    {"min_share", OPTION(min_share), 0.01, 1},
    {"peak_flops_per_second", OPTION(peak_flops_per_second), 0, 1e300},
    {"peak_bytes_per_second", OPTION(peak_bytes_per_second), 0, 1e300},
    {"min_strength", OPTION(min_strength), 0.05, 1},
    {"tiny_seconds", OPTION(tiny_seconds), 10e-6, 1e300},
    {"minor_fault_seconds", OPTION(minor_fault_seconds), 0.5e-6, 1e300},
    {"major_fault_seconds", OPTION(major_fault_seconds), 100e-6, 1e300},
    {"min_gain", OPTION(min_gain), 0.05, 1},
};
#undef OPTION

static int take_options(struct assay_bottleneck_analyzer_options *o,
                        const struct assay_bottleneck_analyzer_options *given,
                        struct assay_error *err)
{
    int rc = as_sized_take(o, sizeof *o, given, "options of a bottleneck analyzer", err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < AS_COUNT_OF(number_option); i++) {
        double *value = (double *)(void *)((char *)o + number_option[i].at);

        if (!(*value >= 0 && *value <= number_option[i].most))
            return as_fail(err, ASSAY_ERR_USAGE, "%s must be from 0 to %g", number_option[i].name,
                           number_option[i].most);
        if (*value == 0)
            *value = number_option[i].usual;
    }
    if (o->max_samples == 0)
        o->max_samples = 4096;
    return ASSAY_OK;
}

/* ---- life ---- */

int assay_bottleneck_analyzer_new(struct assay_bottleneck_analyzer **out,
                                  const struct assay_bottleneck_analyzer_options *options,
                                  struct assay_error *err)
{
    struct assay_bottleneck_analyzer_options o;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new analyzer is NULL");
    *out = NULL;
    rc = take_options(&o, options, err);
    if (rc < 0)
        return rc;
    *out = as_alloc_zero(1, sizeof **out);
    if (!*out)
        return as_fail_nomem(err);
    (*out)->options = o;
    (*out)->threads = 1;
    as_peaks_from_rates(
        &(*out)->peaks,
        &(struct as_peak_rates){.flops = {[AS_PEAK_F32] = o.peak_flops_per_second},
                                .bytes = {[AS_PEAK_DRAM] = o.peak_bytes_per_second}},
        1);
    as_rng_seed(&(*out)->rng, 1); /* the same calls give the same answer */
    return ASSAY_OK;
}

void as_bottleneck_set_peaks(struct assay_bottleneck_analyzer *a, const struct as_peaks *peaks,
                             unsigned threads)
{
    a->peaks = *peaks;
    a->threads = threads;
}

/* Frees what was recorded. */
static void forget(struct assay_bottleneck_analyzer *a)
{
    for (size_t i = 0; i < a->n_layers; i++) {
        as_free(a->layer[i].name);
        as_free(a->layer[i].sample);
        as_free(a->layer[i].own);
    }
    as_free(a->layer);
    as_hash_map_fini(&a->map);
    as_arena_fini(&a->arena);
}

void assay_bottleneck_analyzer_reset(struct assay_bottleneck_analyzer *a)
{
    struct assay_bottleneck_analyzer fresh = {.threads = 1};

    if (!a)
        return;
    forget(a);
    fresh.options = a->options;
    fresh.peaks = a->peaks;
    fresh.threads = a->threads;
    *a = fresh;
    as_rng_seed(&a->rng, 1);
}

void assay_bottleneck_analyzer_free(struct assay_bottleneck_analyzer *a)
{
    if (a)
        forget(a);
    as_free(a);
}

/* ---- recording ---- */

/* The layer of that name, made when it is new; NULL with `*rc` 0 when there is no room for another.
 */
static struct as_bottleneck_layer *layer_for(struct assay_bottleneck_analyzer *a, const char *name,
                                             size_t size, int *rc)
{
    uint64_t *place = as_hash_map_find(&a->map, name, size);
    char *copy;

    *rc = ASSAY_OK;
    if (place)
        return &a->layer[*place];
    if (a->n_layers == ASSAY_BOTTLENECK_MAX_LAYERS)
        return NULL;
    *rc = ASSAY_ERR_NOMEM;
    if (!AS_VEC_RESERVE(a->layer, a->n_layers, a->layer_capacity))
        return NULL;
    copy = as_strdup(name);
    if (!copy || as_hash_map_put(&a->map, copy, size, a->n_layers) < 0) {
        as_free(copy);
        return NULL;
    }
    *rc = ASSAY_OK;
    a->layer[a->n_layers] = (struct as_bottleneck_layer){.name = copy};
    return &a->layer[a->n_layers++];
}

/* What is not told is the same as begin to end. */
static double own_time(const struct assay_layer_metrics *m)
{
    return m->self_seconds < m->execution_seconds ? m->self_seconds : m->execution_seconds;
}

/* Times without layers inside, from the first call on that had some: most layers have none. */
static bool part_own(struct as_bottleneck_layer *layer)
{
    layer->own = as_alloc_zero(layer->capacity ? layer->capacity : 1, sizeof *layer->own);
    if (layer->own && layer->n_samples)
        memcpy(layer->own, layer->sample, layer->n_samples * sizeof *layer->own);
    return layer->own;
}

/* Room for one more time, unless the layer or all of them have enough. */
static bool reserve(struct assay_bottleneck_analyzer *a, struct as_bottleneck_layer *layer)
{
    size_t most = a->options.max_samples,
           capacity = layer->capacity ? 2 * layer->capacity : FIRST_CAPACITY;
    double *grown;

    capacity = capacity < most ? capacity : most;
    if (layer->n_samples < layer->capacity || layer->calls > layer->n_samples ||
        capacity <= layer->capacity ||
        (layer->capacity > 0 && a->n_capacity + capacity > MAX_SAMPLES))
        return true;
    if (layer->own) {
        grown = as_realloc(layer->own, capacity, sizeof *grown);
        if (!grown)
            return false;
        layer->own = grown;
        as_touch(grown, layer->capacity * sizeof *grown, capacity * sizeof *grown);
    }
    grown = as_realloc(layer->sample, capacity, sizeof *grown);
    if (!grown)
        return false;
    as_touch(grown, layer->capacity * sizeof *grown, capacity * sizeof *grown);
    a->n_capacity += capacity - layer->capacity;
    layer->sample = grown;
    layer->capacity = capacity;
    return true;
}

/* After this, each of the calls so far is as likely to be in the sample as any other. */
static void keep_time(struct assay_bottleneck_analyzer *a, struct as_bottleneck_layer *layer,
                      double seconds, double own)
{
    uint64_t place;

    if (layer->n_samples < layer->capacity)
        place = layer->n_samples++;
    else
        place = as_rng_below(&a->rng, layer->calls);
    if (place >= layer->n_samples)
        return;
    layer->sample[place] = seconds;
    if (layer->own)
        layer->own[place] = own;
}

/* Page faults that even at their quickest take longer than the layer itself ran happened around it:
 * in layers inside, or where a profiler read its counters. */
static bool faults_fit(const struct assay_layer_metrics *m)
{
    const double minor = isfinite(m->minor_faults) ? m->minor_faults : 0;
    const double major = isfinite(m->major_faults) ? m->major_faults : 0;

    return (minor + major) * LEAST_FAULT_SECONDS <= own_time(m);
}

static void add_call(struct assay_bottleneck_analyzer *a, struct as_bottleneck_layer *layer,
                     const struct assay_layer_metrics *m)
{
    const bool fit = faults_fit(m);
    const double told[AS_METRIC_COUNT] = {
        [AS_METRIC_MEMORY] = m->memory_usage_mb,
        [AS_METRIC_IO] = m->io_operations,
        [AS_METRIC_GPU] = m->gpu_utilization_percent,
        [AS_METRIC_FLOPS] = m->flops,
        [AS_METRIC_BYTES] = m->bytes,
        [AS_METRIC_MINOR_FAULTS] = fit ? m->minor_faults : NO,
        [AS_METRIC_MAJOR_FAULTS] = fit ? m->major_faults : NO,
        /* Longer than the layer itself ran, it is of layers inside it too: what is its own of it
         * is not known. */
        [AS_METRIC_IO_WAIT] = m->io_wait_seconds <= own_time(m) ? m->io_wait_seconds : NO,
        [AS_METRIC_IO_BYTES] = m->io_bytes,
        [AS_METRIC_CPU] = m->cpu_seconds,
        [AS_METRIC_SWITCHES] = m->switches,
        [AS_METRIC_SLEEPS] = m->sleeps,
    };
    double seconds = m->execution_seconds, off = seconds - layer->running_mean;
    double own = own_time(m), own_off = own - layer->own_mean;

    a->calls++;
    layer->calls++;
    layer->seconds += seconds;
    layer->self_seconds += own;
    layer->running_mean += off / (double)layer->calls;
    layer->m2 += off * (seconds - layer->running_mean);
    layer->longest = own > layer->longest ? own : layer->longest;
    layer->own_mean += own_off / (double)layer->calls;
    layer->own_m2 += own_off * (own - layer->own_mean);
    for (int i = 0; i < AS_METRIC_COUNT; i++) {
        struct as_metric_sum *sum = &layer->metric[i];

        if (!isfinite(told[i]))
            continue;
        sum->n++;
        sum->sum += told[i];
        sum->seconds += own;
    }
    keep_time(a, layer, seconds, own);
}

static int check_times(const char *layer, const struct assay_layer_metrics *m,
                       struct assay_error *err)
{
    const struct {
        const char *name;
        double value;
        bool needed;
    } time[] = {{"execution_seconds", m->execution_seconds, true},
                {"self_seconds", m->self_seconds, false},
                {"io_wait_seconds", m->io_wait_seconds, false},
                {"cpu_seconds", m->cpu_seconds, false}};

    for (size_t i = 0; i < AS_COUNT_OF(time); i++) {
        if (!time[i].needed && isnan(time[i].value))
            continue;
        if (!(time[i].value >= 0 && time[i].value <= MAX_SECONDS))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the %s of layer '%.80s' must be known and 0 or more, not %g",
                           time[i].name, layer, time[i].value);
    }
    return ASSAY_OK;
}

int as_bottleneck_record(struct assay_bottleneck_analyzer *a, const char *name,
                         const struct assay_layer_metrics *metrics, struct assay_error *err)
{
    struct assay_layer_metrics m;
    struct as_bottleneck_layer *layer;
    size_t size;
    int rc;

    if (!a || !name || !*name)
        return as_fail(err, ASSAY_ERR_USAGE, "a call needs the name of its layer");
    if (!metrics)
        return as_fail(err, ASSAY_ERR_USAGE, "the metrics of a call are NULL");
    m = *metrics;
    rc = m.failed ? ASSAY_OK : check_times(name, &m, err);
    if (rc < 0)
        return rc;
    size = strnlen(name, ASSAY_BOTTLENECK_MAX_NAME + 1);
    layer = size > ASSAY_BOTTLENECK_MAX_NAME ? NULL : layer_for(a, name, size, &rc);
    if (rc < 0 || (layer && !reserve(a, layer)))
        return as_fail_nomem(err);
    if (layer && !m.failed && !layer->own && own_time(&m) < m.execution_seconds && !part_own(layer))
        return as_fail_nomem(err);
    if (!layer) {
        a->dropped_calls++;
    } else if (m.failed) {
        layer->failed++;
        a->failed++;
    } else {
        add_call(a, layer, &m);
    }
    return ASSAY_OK;
}

int assay_bottleneck_analyzer_call(struct assay_bottleneck_analyzer *analyzer, const char *layer,
                                   double seconds)
{
    struct assay_layer_metrics m = as_layer_metrics_unknown;

    m.execution_seconds = seconds;
    return as_bottleneck_record(analyzer, layer, &m, NULL);
}

/* Of what a program fills in, 0 means unknown as NaN does. */
int assay_bottleneck_analyzer_record(struct assay_bottleneck_analyzer *a, const char *name,
                                     const struct assay_layer_metrics *metrics,
                                     struct assay_error *err)
{
    struct assay_layer_metrics m = {0};
    double *const optional[] = {
        &m.execution_seconds,
        &m.self_seconds,
        &m.memory_usage_mb,
        &m.io_operations,
        &m.gpu_utilization_percent,
        &m.flops,
        &m.bytes,
        &m.minor_faults,
        &m.major_faults,
        &m.io_wait_seconds,
        &m.io_bytes,
        &m.cpu_seconds,
        &m.switches,
        &m.sleeps,
    };

    int rc;

    if (!metrics)
        return as_bottleneck_record(a, name, NULL, err);
    rc = as_sized_take(&m, sizeof m, metrics, "the metrics of a call", err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < AS_COUNT_OF(optional); i++)
        *optional[i] = as_known_input(*optional[i]);
    return as_bottleneck_record(a, name, &m, err);
}

/* ---- the answer ---- */

double as_metric_mean(const struct as_bottleneck_layer *layer, enum as_metric metric)
{
    const struct as_metric_sum *sum = &layer->metric[metric];

    return sum->n ? sum->sum / (double)sum->n : NO;
}

double as_bottleneck_mean(const struct as_bottleneck_layer *layer)
{
    return layer->calls ? layer->seconds / (double)layer->calls : NO;
}

double as_bottleneck_std(const struct as_bottleneck_layer *layer)
{
    return layer->calls ? sqrt(layer->m2 / (double)layer->calls) : NO;
}

int assay_bottleneck_analyzer_analyze(struct assay_bottleneck_analyzer *a,
                                      const struct assay_bottleneck_result **out,
                                      struct assay_error *err)
{
    int rc;

    if (out)
        *out = NULL;
    if (!a || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "the analyzer or the pointer for its result is NULL");
    as_arena_fini(&a->arena);
    a->result = (struct assay_bottleneck_result){.size = sizeof(struct assay_bottleneck_result),
                                                 .n_calls = a->calls,
                                                 .n_failed = a->failed,
                                                 .n_layers = a->n_layers,
                                                 .threshold_seconds = NO,
                                                 .threshold_exact = true,
                                                 .dropped_calls = a->dropped_calls};
    rc = as_bottleneck_apply_rules(a, err);
    if (rc == ASSAY_OK)
        rc = as_bottleneck_find_causes(a, err);
    if (rc == ASSAY_OK)
        *out = &a->result;
    return rc;
}
