/* analyze/run/saved_profile_json.c - reads back the JSON of a session that assay_manager_export()
 * wrote. The file may be anybody's: a value of the wrong type is not known, a list has its limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/run/saved_profile.h"
#include "base/alloc.h"
#include "base/units.h"

#define SCHEMA       "assay.session"
#define VERSION      1
#define MAX_VALUES   (8u << 20)
#define MAX_BYTES    ((off_t)512 << 20)
#define MOST_CALLS   ((uint64_t)1 << 53)
#define MOST_SECONDS 1e10 /* three centuries */

struct loader {
    struct as_saved_profile *view;
    struct assay_error *err;
};

static double number(const struct as_json_value *object, const char *key)
{
    return as_json_number(as_json_get(object, key));
}

static uint64_t whole(const struct as_json_value *object, const char *key)
{
    uint64_t n;

    return as_json_whole(as_json_get(object, key), &n) ? n : 0;
}

/* What cannot be is not known; the first that is met is told. */
static void refuse(struct loader *l, const char *why)
{
    l->view->odd = l->view->odd ? l->view->odd : why;
}

static double seconds(struct loader *l, const struct as_json_value *object, const char *key)
{
    double value = number(object, key);

    if (value >= 0 && value <= MOST_SECONDS)
        return value;
    if (value < 0)
        refuse(l, "the file says a negative duration");
    else if (!isnan(value))
        refuse(l, "the file says a duration of centuries");
    return AS_UNKNOWN;
}

/* 0 with `*unknown` when it is no count at all. */
static uint64_t count(struct loader *l, const struct as_json_value *object, const char *key,
                      bool *unknown)
{
    const struct as_json_value *value = as_json_get(object, key);
    uint64_t n = 0;

    *unknown = value && !as_json_whole(value, &n);
    if (*unknown && as_json_number(value) < 0)
        refuse(l, "the file says a negative count");
    else if (*unknown && value->type != AS_TYPE_NULL)
        refuse(l, "the file says a count that is no whole number");
    if (n <= MOST_CALLS)
        return n;
    *unknown = true;
    refuse(l, "the file says a count that nobody can have counted");
    return 0;
}

static const char *words(const struct as_json_value *object, const char *key)
{
    const char *text = as_json_words(as_json_get(object, key));

    return text ? text : "";
}

/* How many values an array has; 0 for anything else. */
static size_t length(const struct as_json_value *array)
{
    return array && array->type == AS_TYPE_ARRAY ? array->n : 0;
}

static void *make(struct loader *l, size_t n, size_t size)
{
    return as_arena_zero(&l->view->arena, n + 1, size);
}

/* A section that is null has its reason beside it. */
static const char *why_unknown(const struct as_json_value *root, const char *key,
                               const char *otherwise)
{
    const char *why = as_json_words(as_json_get(root, key));

    return why ? why : otherwise;
}

/* ---- layers ---- */

static void read_layer_memory(struct as_view_layer *layer, const struct as_json_value *stats)
{
    layer->memory_readings = whole(stats, "call_count");
    layer->mean_memory_mb = number(stats, "mean_memory_mb");
    layer->std_memory_mb = number(stats, "std_memory_mb");
    layer->min_memory_mb = number(stats, "min_memory_mb");
    layer->max_memory_mb = number(stats, "max_memory_mb");
}

/* Statistics of memory by layer, found by name. */
struct named {
    const char *name;
    const struct as_json_value *stats;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* By name, so that two lists can be joined. An object names its members, an array's say "layer". */
static struct named *sorted_stats(struct loader *l, const struct as_json_value *from, size_t *n)
{
    bool listed = from && (from->type == AS_TYPE_OBJECT || from->type == AS_TYPE_ARRAY);
    struct named *list = make(l, listed ? from->n : 0, sizeof *list);

    *n = 0;
    if (!list)
        return NULL;
    for (const struct as_json_value *v = listed ? from->first : NULL; v; v = v->next)
        list[(*n)++] = (struct named){v->key ? v->key : words(v, "layer"), v};
    if (*n)
        qsort(list, *n, sizeof *list, by_name);
    return list;
}

static const struct as_json_value *find_stats(const struct named *list, size_t n, const char *name)
{
    const struct named like = {name, NULL};
    const struct named *found = n ? bsearch(&like, list, n, sizeof *list, by_name) : NULL;

    return found ? found->stats : NULL;
}

static void read_layer(struct loader *l, const struct as_json_value *v, struct as_view_layer *layer)
{
    layer->name = v->key;
    layer->json = v;
    layer->calls = count(l, v, "call_count", &layer->calls_unknown);
    layer->failed = count(l, v, "failed_count", &layer->failed_unknown);
    layer->total_time = seconds(l, v, "total_time");
    layer->self_time = seconds(l, v, "self_time");
    layer->min_time = seconds(l, v, "min_time");
    layer->max_time = seconds(l, v, "max_time");
    layer->mean_time = seconds(l, v, "mean_time");
    layer->std_time = seconds(l, v, "std_time");
    layer->std_time_sample = seconds(l, v, "std_time_sample");
    layer->cv = number(v, "coefficient_of_variation");
    layer->p50_time = seconds(l, v, "p50_time");
    layer->p95_time = seconds(l, v, "p95_time");
    layer->p99_time = seconds(l, v, "p99_time");
}

static int read_layers(struct loader *l, const struct as_json_value *root)
{
    const struct as_json_value *stats = as_json_path(root, "layer_profiling", "layer_stats");
    struct as_saved_profile *view = l->view;
    struct named *memory;
    size_t n_memory;

    if (!stats || stats->type != AS_TYPE_OBJECT)
        return ASSAY_OK;
    memory = sorted_stats(l, as_json_path(root, "memory_profiling", "layer_stats"), &n_memory);
    view->layer = make(l, stats->n, sizeof *view->layer);
    if (!view->layer || !memory)
        return as_fail_nomem(l->err);
    for (const struct as_json_value *v = stats->first; v; v = v->next) {
        struct as_view_layer *layer = &view->layer[view->n_layers];

        layer->place = view->n_layers++;
        read_layer(l, v, layer);
        read_layer_memory(layer, find_stats(memory, n_memory, layer->name));
        view->calls += layer->calls;
        view->failed += layer->failed;
        view->total_time += isfinite(layer->total_time) ? layer->total_time : 0;
    }
    as_saved_profile_order(view, AS_SORT_TOTAL);
    return ASSAY_OK;
}

/* ---- memory ---- */

static int read_memory(struct loader *l, const struct as_json_value *root)
{
    const struct as_json_value *section = as_json_get(root, "memory_profiling");
    const struct as_json_value *list = as_json_get(section, "snapshots");
    struct as_view_memory *m = &l->view->memory;
    double first = AS_UNKNOWN;

    m->what = "resident memory of the process";
    m->baseline_mb = number(section, "baseline_memory_mb");
    m->peak_mb = number(section, "peak_memory_mb");
    m->kernel_peak_mb = number(section, "peak_rss_kernel_mb");
    m->last_mb = AS_UNKNOWN;
    m->snapshots = whole(section, "total_snapshots");
    if (!isfinite(m->peak_mb))
        m->why = why_unknown(root, "memory_profiling_why", "the session did not profile memory");
    m->seconds = make(l, length(list), sizeof(double));
    m->mb = make(l, length(list), sizeof(double));
    if (!m->seconds || !m->mb)
        return as_fail_nomem(l->err);
    for (const struct as_json_value *v = length(list) ? list->first : NULL; v; v = v->next) {
        double at = number(v, "timestamp"), mb = number(v, "cpu_memory_mb");

        if (!isfinite(at) || !isfinite(mb))
            continue;
        first = isfinite(first) ? first : at;
        m->seconds[m->n] = at - first;
        m->mb[m->n++] = mb;
        m->last_mb = mb;
    }
    return ASSAY_OK;
}

/* ---- leaks ---- */

static int read_leak(struct loader *l, const struct as_json_value *v, struct assay_leak *leak)
{
    const struct as_json_value *names = as_json_get(v, "layers_involved");
    const char **list = make(l, length(names), sizeof *list);

    if (!list)
        return as_fail_nomem(l->err);
    leak->start_memory_mb = number(v, "start_memory_mb");
    leak->end_memory_mb = number(v, "end_memory_mb");
    leak->increase_mb = number(v, "increase_mb");
    leak->growth_rate_mb_per_step = number(v, "growth_rate_mb_per_step");
    leak->window_size = (size_t)whole(v, "window_size");
    leak->timestamp = number(v, "timestamp");
    leak->layers_involved = list;
    for (const struct as_json_value *x = length(names) ? names->first : NULL; x; x = x->next) {
        if (x->type == AS_TYPE_TEXT)
            list[leak->n_layers_involved++] = x->text;
    }
    return ASSAY_OK;
}

static void read_incident(const struct as_json_value *v, struct assay_leak_incident *i)
{
    *i = (struct assay_leak_incident){
        .layer = as_json_words(as_json_get(v, "layer")),
        .first = (size_t)whole(v, "first_reading"),
        .last = (size_t)whole(v, "last_reading"),
        .first_step = ASSAY_LEAK_NO_STEP,
        .last_step = ASSAY_LEAK_NO_STEP,
        .start_time = number(v, "start_time_unix_seconds"),
        .end_time = number(v, "end_time_unix_seconds"),
        .start_memory_mb = number(v, "start_memory_mb"),
        .end_memory_mb = number(v, "end_memory_mb"),
        .net_growth_mb = number(v, "net_growth_mb"),
        .mb_per_step = number(v, "growth_mb_per_step"),
        .mb_per_second = number(v, "growth_mb_per_second"),
        .p_value = number(v, "p_value"),
        .tau = number(v, "kendall_tau"),
        .seconds_to_exhaustion = number(v, "seconds_to_exhaustion"),
    };
    (void)as_json_whole(as_json_get(v, "first_step"), &i->first_step);
    (void)as_json_whole(as_json_get(v, "last_step"), &i->last_step);
}

/* What layers left behind, beside what the process did. */
static void read_layer_leak(const struct as_json_value *v, struct assay_leak_incident *i)
{
    read_incident(v, i);
    i->layer = words(v, "layer");
    i->net_growth_mb = number(v, "growth_mb");
    i->mb_per_step = number(v, "mb_per_step");
    i->mb_per_second = number(v, "mb_per_second");
}

static int read_leaks(struct loader *l, const struct as_json_value *root)
{
    const struct as_json_value *by_layer = as_json_path(root, "memory_leaks_by_layer", "layers");
    const struct as_json_value *section = as_json_get(root, "memory_leaks");
    const struct as_json_value *list = as_json_get(section, "leaks");
    const struct as_json_value *incidents = as_json_get(section, "incidents");
    struct as_view_leaks *to = &l->view->leaks;
    struct assay_leak *leak = make(l, length(list), sizeof *leak);
    struct assay_leak_incident *incident =
        make(l, length(incidents) + length(by_layer), sizeof *incident);
    int rc = ASSAY_OK;

    if (!leak || !incident)
        return as_fail_nomem(l->err);
    if (!as_json_get(section, "has_leaks"))
        to->why = why_unknown(root, "memory_leaks_why", "the session did not look for leaks");
    to->summary = (struct assay_leak_summary){
        .has_leaks = as_json_is_true(as_json_get(section, "has_leaks")),
        .leak_count = (size_t)whole(section, "leak_count"),
        .total_memory_leaked_mb = number(section, "total_memory_leaked_mb"),
        .average_growth_rate = number(section, "average_growth_rate"),
        .growing = as_json_is_true(as_json_get(section, "growing")),
        .n_incidents = length(incidents) + length(by_layer),
    };
    for (const struct as_json_value *v = length(list) ? list->first : NULL; v && rc == ASSAY_OK;
         v = v->next)
        rc = read_leak(l, v, &leak[to->n_leaks++]);
    for (const struct as_json_value *v = length(incidents) ? incidents->first : NULL; v;
         v = v->next)
        read_incident(v, &incident[to->n_incidents++]);
    for (const struct as_json_value *v = length(by_layer) ? by_layer->first : NULL; v; v = v->next)
        read_layer_leak(v, &incident[to->n_incidents++]);
    to->leaks = leak;
    to->incidents = incident;
    to->outside_heap_mb = number(section, "outside_heap_mb");
    return rc;
}

/* ---- bottlenecks ---- */

static bool type_named(const char *name, enum assay_bottleneck_type *out)
{
    for (unsigned i = 0; name && i < ASSAY_BOTTLENECK_TYPE_COUNT; i++) {
        if (strcmp(assay_bottleneck_type_name((enum assay_bottleneck_type)i), name) == 0) {
            *out = (enum assay_bottleneck_type)i;
            return true;
        }
    }
    return false;
}

static enum assay_priority priority_named(const char *name)
{
    for (unsigned i = ASSAY_PRIORITY_LOW; i < ASSAY_PRIORITY_HIGH; i++) {
        if (strcmp(assay_priority_name((enum assay_priority)i), name) == 0)
            return (enum assay_priority)i;
    }
    return ASSAY_PRIORITY_HIGH;
}

static void read_bottleneck(const struct as_json_value *v, struct assay_bottleneck *b)
{
    const struct as_json_value *types = as_json_get(v, "bottleneck_type");

    b->layer = words(v, "layer");
    b->mean_execution_time = number(v, "mean_execution_time");
    b->execution_time_std = number(v, "execution_time_std");
    b->threshold = number(v, "threshold");
    b->overhead_percentage = number(v, "overhead_percentage");
    b->mean_memory_usage = number(v, "mean_memory_usage");
    b->io_intensity = number(v, "io_intensity");
    b->gpu_utilization = number(v, "gpu_utilization");
    b->severity_score = number(v, "severity_score");
    for (const struct as_json_value *t = length(types) ? types->first : NULL; t; t = t->next) {
        if (b->n_types < AS_COUNT_OF(b->type) && type_named(as_json_words(t), &b->type[b->n_types]))
            b->n_types++;
    }
}

static void read_ranked(const struct as_json_value *v, struct assay_ranked_layer *r)
{
    const struct as_json_value *causes = as_json_get(v, "causes");

    r->layer = words(v, "layer");
    r->calls = whole(v, "calls");
    r->failed = whole(v, "failed");
    r->self_seconds = number(v, "self_seconds");
    r->share = number(v, "share");
    r->speedup_bound = number(v, "speedup_bound");
    r->mean_seconds = number(v, "mean_seconds");
    r->cv = number(v, "cv");
    r->roof_fraction = number(v, "roof_fraction");
    r->severity = number(v, "severity");
    for (const struct as_json_value *c = length(causes) ? causes->first : NULL; c; c = c->next) {
        struct assay_cause *to = &r->cause[r->n_causes];

        if (r->n_causes == ASSAY_BOTTLENECK_TYPE_COUNT || !type_named(words(c, "type"), &to->type))
            continue;
        to->strength = number(c, "strength");
        to->evidence = words(c, "evidence");
        r->n_causes++;
    }
}

static void read_recommendation(const struct as_json_value *v, struct assay_recommendation *r)
{
    r->layer = words(v, "layer");
    r->type = words(v, "type");
    r->category = words(v, "category");
    r->priority = priority_named(words(v, "priority"));
    r->recommendation = words(v, "recommendation");
    r->details = words(v, "details");
}

static void read_advice(const struct as_json_value *v, struct assay_bottleneck_advice *a)
{
    a->rule = words(v, "rule");
    a->layer = words(v, "layer");
    a->recommendation = words(v, "recommendation");
    a->evidence = words(v, "evidence");
    a->expected_gain = number(v, "expected_gain");
    a->confidence = number(v, "confidence");
    a->priority = priority_named(words(v, "priority"));
}

static void read_summary(const struct as_json_value *v, struct assay_bottleneck_summary *s)
{
    const struct as_json_value *types = as_json_get(v, "bottleneck_types");

    s->total_bottlenecks = (size_t)whole(v, "total_bottlenecks");
    s->critical_bottlenecks = (size_t)whole(v, "critical_bottlenecks");
    s->total_overhead_ms = number(v, "total_overhead_ms");
    for (unsigned i = 0; i < ASSAY_BOTTLENECK_TYPE_COUNT; i++)
        s->by_type[i] =
            (size_t)whole(types, assay_bottleneck_type_name((enum assay_bottleneck_type)i));
}

static int read_bottlenecks(struct loader *l, const struct as_json_value *root)
{
    const struct as_json_value *section = as_json_get(root, "bottlenecks");
    const struct as_json_value *list = as_json_get(section, "bottlenecks");
    const struct as_json_value *ranked = as_json_get(section, "ranked");
    const struct as_json_value *said = as_json_get(section, "recommendations");
    const struct as_json_value *advice = as_json_get(section, "advice");
    struct assay_bottleneck_result *to = &l->view->bottlenecks;
    struct assay_bottleneck *b = make(l, length(list), sizeof *b);
    struct assay_ranked_layer *r = make(l, length(ranked), sizeof *r);
    struct assay_recommendation *s = make(l, length(said), sizeof *s);
    struct assay_bottleneck_advice *a = make(l, length(advice), sizeof *a);

    if (!b || !r || !s || !a)
        return as_fail_nomem(l->err);
    for (const struct as_json_value *v = length(list) ? list->first : NULL; v; v = v->next)
        read_bottleneck(v, &b[to->n_bottlenecks++]);
    for (const struct as_json_value *v = length(ranked) ? ranked->first : NULL; v; v = v->next)
        read_ranked(v, &r[to->n_ranked++]);
    for (const struct as_json_value *v = length(said) ? said->first : NULL; v; v = v->next)
        read_recommendation(v, &s[to->n_recommendations++]);
    for (const struct as_json_value *v = length(advice) ? advice->first : NULL; v; v = v->next)
        read_advice(v, &a[to->n_advice++]);
    read_summary(as_json_get(section, "summary"), &to->summary);
    to->bottlenecks = b;
    to->ranked = r;
    to->recommendations = s;
    to->advice = a;
    to->n_layers = l->view->n_layers;
    to->n_calls = l->view->calls;
    to->n_failed = l->view->failed;
    to->total_self_seconds = number(section, "total_self_seconds");
    to->threshold = number(section, "threshold_seconds");
    to->threshold_exact = as_json_is_true(as_json_get(section, "threshold_exact"));
    to->dropped_calls = whole(section, "dropped_calls");
    return ASSAY_OK;
}

/* ---- the whole ---- */

static void read_session(struct loader *l, const struct as_json_value *root)
{
    const struct as_json_value *session = as_json_get(root, "profiling_session");
    const struct as_json_value *gpu = as_json_get(root, "gpu_utilization");
    struct as_saved_profile *view = l->view;

    view->start_time = number(session, "start_time");
    view->end_time = number(session, "end_time");
    view->duration_seconds = seconds(l, session, "duration_seconds");
    view->cost_share = as_json_number(as_json_path(root, "cost_of_profiling", "share"));
    view->gpu.mean_utilization_percent = number(gpu, "mean_gpu_utilization_percent");
    view->gpu.peak_memory_mb = number(gpu, "peak_memory_allocated_mb");
    if (!isfinite(view->gpu.mean_utilization_percent))
        view->gpu.why = why_unknown(root, "gpu_utilization_why", "no device was read");
}

static int check_schema(const struct as_json_value *root, struct assay_error *err)
{
    const char *schema = as_json_words(as_json_get(root, "schema"));
    double version = as_json_number(as_json_get(root, "schema_version"));

    /* Without a schema it may be of another tool that has the same keys. */
    if (!schema && as_json_get(root, "profiling_session"))
        return ASSAY_OK;
    if (!schema || strcmp(schema, SCHEMA) != 0)
        return as_fail(err, ASSAY_ERR_FORMAT,
                       "this JSON is not the report of a session: its schema is %s, not " SCHEMA,
                       schema ? schema : "missing");
    if (version > VERSION)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "the session is of version %g; this program reads up to %d", version,
                       VERSION);
    return ASSAY_OK;
}

int as_saved_profile_json(struct as_saved_profile **out, const char *name, const void *data,
                          size_t size, struct assay_error *err)
{
    struct as_saved_profile *view = as_alloc_zero(1, sizeof *view);
    struct loader l = {view, err};
    int rc;

    *out = NULL;
    if (!view)
        return as_fail_nomem(err);
    view->name = as_arena_text(&view->arena, name, strlen(name));
    rc = view->name ? as_json_tree_read(&view->json, &view->arena, data, size, MAX_VALUES, err)
                    : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = check_schema(view->json, err);
    if (rc == ASSAY_OK)
        rc = read_layers(&l, view->json);
    if (rc == ASSAY_OK)
        rc = read_memory(&l, view->json);
    if (rc == ASSAY_OK)
        rc = read_leaks(&l, view->json);
    if (rc == ASSAY_OK)
        rc = read_bottlenecks(&l, view->json);
    if (rc == ASSAY_OK)
        rc = as_view_parts_read(&view->parts, &view->arena, view->json, err);
    if (rc < 0) {
        as_saved_profile_free(view);
        return rc;
    }
    read_session(&l, view->json);
    *out = view;
    return ASSAY_OK;
}

bool as_saved_profile_is_json(const void *data, size_t size)
{
    const char *at = data;

    while (size && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++, size--;
    return size && *at == '{';
}

int as_saved_profile_file(struct as_saved_profile **out, const char *path, struct assay_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
    void *data = MAP_FAILED;
    struct stat st = {0};

    *out = NULL;
    if (fd < 0)
        return as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO,
                           "cannot open %s", path);
    rc = as_fail(err, ASSAY_ERR_NOTFOUND, "%s is not the JSON of a session", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        goto out;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED || !as_saved_profile_is_json(data, (size_t)st.st_size))
        goto out;
    if (st.st_size > MAX_BYTES)
        rc =
            as_fail(err, ASSAY_ERR_LIMIT, "%s has more than 512 MiB: too much for a session", path);
    else
        rc = as_saved_profile_json(out, path, data, (size_t)st.st_size, err);
out:
    if (data != MAP_FAILED)
        munmap(data, (size_t)st.st_size);
    close(fd);
    return rc;
}

void as_saved_profile_free(struct as_saved_profile *view)
{
    if (!view)
        return;
    assay_leak_detector_free(view->detector);
    assay_bottleneck_free(view->analyzer);
    as_arena_fini(&view->arena);
    as_free(view);
}
