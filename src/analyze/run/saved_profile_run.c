/* analyze/run/saved_profile_run.c - what the run of a marked program says about memory, leaks and
 * bottlenecks. Every call of every layer is looked at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run/saved_profile.h"
#include "analyze/watch/target.h"
#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "stats/describe/moments.h"
#include "trace/record/recorder.h"
#include "trace/run/span_walk.h"
#include "watch/watch_record.h"

#define MAX_READINGS                                                                               \
    (1u << 20)          /* of memory; a run with more is thinned by leaving out every other */
#define MAX_POINTS 4096 /* of the curve that is kept */

/* One reading of memory: of the process when `layer` is 0, else at the end of a call of a layer. */
struct reading {
    uint64_t ns;
    double mb;
    uint32_t layer;
};

struct mark {
    uint64_t ns, number;
};

struct list {
    void *item;
    size_t n, capacity, stride, skipped;
};

struct maker {
    struct as_saved_profile *view;
    struct as_run *run;
    struct list readings; /* struct reading */
    struct list marks;    /* struct mark: when iterations began */
    uint32_t rss;         /* the channel of resident memory; 0: none */
    uint32_t rss_key;     /* notes of it */
    bool of_tree;         /* the channel is of a whole program that was watched from outside */
    struct assay_error *err;
    int rc;
};

/* ---- lists that stay small ---- */

/* Room for one more, or NULL: this one is left out, or there is no memory (then m->rc tells). */
static void *add(struct maker *m, struct list *list, size_t size)
{
    if (list->stride == 0)
        list->stride = 1;
    if (++list->skipped < list->stride)
        return NULL;
    list->skipped = 0;
    if (list->n == MAX_READINGS) {
        for (size_t i = 0; i < list->n / 2; i++)
            memcpy((char *)list->item + i * size, (char *)list->item + 2 * i * size, size);
        list->n /= 2;
        list->stride *= 2;
    }
    if (!as_vec_reserve(&list->item, list->n, &list->capacity, size)) {
        m->rc = as_fail_nomem(m->err);
        return NULL;
    }
    return (char *)list->item + size * list->n++;
}

static int by_time(const void *a, const void *b)
{
    const struct reading *x = a, *y = b;

    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int by_mark(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* ---- walking the run ---- */

/* What notes of a call say in the words of the bottleneck analysis. */
static const struct {
    const char *key;
    size_t at;
} note_metric[] = {
#define METRIC(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct assay_layer_metrics, name)                                          \
    }
    METRIC(memory_usage), METRIC(io_operations), METRIC(gpu_utilization), METRIC(flops),
    METRIC(bytes),        METRIC(minor_faults),  METRIC(major_faults),    METRIC(io_wait_time),
    METRIC(io_bytes),     METRIC(cpu_time),      METRIC(switches),
#undef METRIC
};

static void take_note(struct maker *m, struct assay_layer_metrics *metrics,
                      const struct as_span_note *note)
{
    const char *key = as_run_site_at(m->run, note->key)->name;

    for (size_t i = 0; i < AS_COUNT_OF(note_metric); i++) {
        if (strcmp(key, note_metric[i].key) == 0)
            memcpy((char *)metrics + note_metric[i].at, &note->value, sizeof note->value);
    }
}

static void note_memory(struct maker *m, const struct as_span *span,
                        const struct assay_layer_metrics *metrics)
{
    double mb = metrics->memory_usage;
    struct reading *r;

    for (uint32_t i = 0; i < span->n_notes; i++) {
        if (span->note[i].key == m->rss_key && m->rss_key)
            mb = span->note[i].value / AS_MIB;
    }
    if (!(mb >= 0) || !isfinite(mb))
        return;
    r = add(m, &m->readings, sizeof *r);
    if (r)
        *r = (struct reading){span->end_ns, mb, span->site};
}

static double attribute(const struct as_run_site *site, const char *key)
{
    const struct as_run_attribute *a = as_run_site_get(site, key);

    return a && !a->text && a->number > 0 ? a->number : AS_UNKNOWN;
}

static void on_end(void *user, const struct as_span *span)
{
    struct maker *m = user;
    const struct as_run_site *site = as_run_site_at(m->run, span->site);
    struct assay_layer_metrics metrics = assay_layer_metrics_init;

    if (m->rc < 0 || span->state > AS_SPAN_FAILED || site->category == ASSAY_PHASE)
        return;
    metrics.execution_time = (double)(span->end_ns - span->start_ns) * 1e-9;
    metrics.self_time = (double)(span->end_ns - span->start_ns - span->child_ns) * 1e-9;
    metrics.flops = attribute(site, "flops");
    metrics.bytes = attribute(site, "bytes");
    metrics.failed = span->state == AS_SPAN_FAILED;
    for (uint32_t i = 0; i < span->n_notes; i++)
        take_note(m, &metrics, &span->note[i]);
    m->rc = assay_bottleneck_record(m->view->analyzer, site->name, &metrics, m->err);
    note_memory(m, span, &metrics);
}

static void on_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct maker *m = user;
    struct reading *r;

    if (m->rc < 0 || channel != m->rss || !m->rss || !(value >= 0) || !isfinite(value))
        return;
    r = add(m, &m->readings, sizeof *r);
    if (r)
        *r = (struct reading){ns, value / AS_MIB, 0};
}

static void on_iteration(void *user, const struct as_iteration *iteration)
{
    struct maker *m = user;
    struct mark *mark = m->rc < 0 ? NULL : add(m, &m->marks, sizeof *mark);

    if (mark)
        *mark = (struct mark){iteration->start_ns, iteration->number};
}

static uint32_t find_site(const struct as_run *run, uint32_t category, const char *name)
{
    for (uint32_t id = 1; id <= run->n_sites; id++) {
        const struct as_run_site *site = &run->site[id];

        if (site->known && site->category == category && strcmp(site->name, name) == 0)
            return id;
    }
    return 0;
}

static int walk(struct maker *m)
{
    const struct as_span_visitor visitor = {
        .user = m, .end = on_end, .sample = on_sample, .iteration = on_iteration};

    m->rss = find_site(m->run, ASSAY_CHANNEL, AS_CHANNEL_RSS);
    m->view->memory.what = "resident memory of the process";
    if (!m->rss) {
        m->rss = find_site(m->run, ASSAY_CHANNEL, AS_CHANNEL_TREE_RSS);
        m->of_tree = m->rss != 0;
        m->view->memory.what = "resident memory of the program and its children";
    }
    m->rss_key = find_site(m->run, ASSAY_KEY, "rss_bytes");
    for (size_t i = 0; i < m->run->n_threads && m->rc == ASSAY_OK; i++) {
        int rc = as_span_walk(m->run, &m->run->thread[i], &visitor, NULL, m->err);

        m->rc = rc < 0 && m->rc == ASSAY_OK ? rc : m->rc;
    }
    return m->rc;
}

/* ---- what was collected ---- */

/* Of the process: from its own samples, else from what layers noted. */
static int keep_curve(struct maker *m)
{
    const struct reading *r = m->readings.item;
    struct as_view_memory *memory = &m->view->memory;
    size_t n = 0, stride;
    uint64_t first = 0;
    bool of_layers = true;

    for (size_t i = 0; i < m->readings.n; i++)
        of_layers &= r[i].layer != 0;
    for (size_t i = 0; i < m->readings.n; i++)
        n += (r[i].layer == 0) != of_layers;
    if (n == 0) {
        memory->why = "the run holds no samples of memory: set memory_interval_ms when the session "
                      "is opened, or use assay run";
        return ASSAY_OK;
    }
    stride = n / MAX_POINTS + 1;
    memory->seconds = as_arena_zero(&m->view->arena, n / stride + 1, sizeof(double));
    memory->mb = as_arena_zero(&m->view->arena, n / stride + 1, sizeof(double));
    if (!memory->seconds || !memory->mb)
        return as_fail_nomem(m->err);
    memory->snapshots = n * m->readings.stride;
    memory->peak_mb = 0;
    n = 0;
    for (size_t i = 0; i < m->readings.n; i++) {
        if ((r[i].layer == 0) == of_layers)
            continue;
        if (n == 0) {
            first = r[i].ns;
            memory->baseline_mb = r[i].mb;
        }
        memory->peak_mb = r[i].mb > memory->peak_mb ? r[i].mb : memory->peak_mb;
        memory->last_mb = r[i].mb;
        if (n++ % stride == 0) {
            memory->seconds[memory->n] = (double)(r[i].ns - first) * 1e-9;
            memory->mb[memory->n++] = r[i].mb;
        }
    }
    return ASSAY_OK;
}

static int feed_detector(struct maker *m)
{
    const struct reading *r = m->readings.item;
    const struct mark *mark = m->marks.item;
    double start = (double)m->run->time.real_ns * 1e-9;
    size_t next = 0;
    int rc = ASSAY_OK;

    for (size_t i = 0; i < m->readings.n && rc == ASSAY_OK; i++) {
        const char *layer = r[i].layer ? as_run_site_at(m->run, r[i].layer)->name : NULL;

        while (next < m->marks.n && mark[next].ns <= r[i].ns)
            next++;
        rc = assay_leak_add(m->view->detector, layer, r[i].mb,
                            next ? mark[next - 1].number : ASSAY_LEAK_NO_STEP,
                            start + (double)r[i].ns * 1e-9, m->err);
    }
    return rc;
}

static int judge_leaks(struct maker *m)
{
    struct as_view_leaks *leaks = &m->view->leaks;
    int rc = ASSAY_OK;

    if (m->view->memory.why) {
        leaks->why = m->view->memory.why;
        return ASSAY_OK;
    }
    if (m->of_tree) {
        /* A program that starts grows in every window: it has a test of its own. */
        leaks->why = "the program was watched from outside: its own verdict tells, in JSON "
                     "program.growth";
        return ASSAY_OK;
    }
    rc = feed_detector(m);
    if (rc == ASSAY_OK)
        rc = assay_leak_summary(m->view->detector, &leaks->summary, m->err);
    if (rc < 0)
        return rc;
    leaks->n_leaks = assay_leak_list(m->view->detector, &leaks->leaks);
    rc = assay_leak_incidents(m->view->detector, &leaks->incidents, m->err);
    if (rc < 0)
        return rc;
    leaks->n_incidents = (size_t)rc;
    return ASSAY_OK;
}

/* Memory noted at the ends of a layer's calls. */
static int layer_memory(struct maker *m)
{
    const struct reading *r = m->readings.item;
    struct as_moments *moments = as_alloc_zero(m->run->n_sites + 1, sizeof *moments);

    if (!moments)
        return as_fail_nomem(m->err);
    for (size_t i = 0; i < m->readings.n; i++) {
        if (r[i].layer && r[i].layer <= m->run->n_sites)
            as_moments_add(&moments[r[i].layer], (uint64_t)(r[i].mb * AS_MIB));
    }
    for (size_t i = 0; i < m->view->n_layers; i++) {
        struct as_view_layer *layer = &m->view->layer[i];
        const struct as_moments *x = &moments[layer->site];

        if (!x->total.n)
            continue;
        layer->memory_readings = x->total.n * m->readings.stride;
        layer->mean_memory_mb = as_moments_mean(x) / AS_MIB;
        layer->std_memory_mb = as_moments_std_population(x) / AS_MIB;
        layer->min_memory_mb = (double)x->total.min / AS_MIB;
        layer->max_memory_mb = (double)x->total.max / AS_MIB;
    }
    as_free(moments);
    return ASSAY_OK;
}

static int copy_layers(struct maker *m, const struct as_layers *layers)
{
    struct as_saved_profile *v = m->view;

    v->layer = as_arena_zero(&v->arena, layers->n_layers + 1, sizeof *v->layer);
    if (!v->layer)
        return as_fail_nomem(m->err);
    for (size_t i = 0; i < layers->n_layers; i++) {
        const struct as_layer *l = &layers->layer[i];

        v->layer[v->n_layers] = (struct as_view_layer){
            .name = l->info->name,
            .place = v->n_layers,
            .site = l->site,
            .calls = l->calls,
            .failed = l->failed,
            .total_time = (double)l->times.n * l->times.mean_ns * 1e-9,
            .self_time = (double)l->self_ns * 1e-9,
            .min_time = l->times.min_ns * 1e-9,
            .max_time = l->times.max_ns * 1e-9,
            .mean_time = l->times.mean_ns * 1e-9,
            .std_time = l->times.std_population_ns * 1e-9,
            .mean_memory_mb = AS_UNKNOWN,
            .std_memory_mb = AS_UNKNOWN,
            .min_memory_mb = AS_UNKNOWN,
            .max_memory_mb = AS_UNKNOWN,
            .std_time_sample = AS_UNKNOWN,
            .cv = AS_UNKNOWN,
            .p50_time = AS_UNKNOWN,
            .p95_time = AS_UNKNOWN,
            .p99_time = AS_UNKNOWN,
        };
        if (isfinite(l->times.mean_ns))
            v->total_time += v->layer[v->n_layers].total_time;
        v->n_layers++;
    }
    as_saved_profile_order(v, AS_SORT_TOTAL);
    v->calls = layers->calls;
    v->failed = layers->failed;
    v->duration_seconds = (double)layers->wall_ns * 1e-9;
    v->start_time = ((double)m->run->time.real_ns + (double)layers->first_ns) * 1e-9;
    v->end_time = v->start_time + v->duration_seconds;
    v->cost_share = layers->cost_known ? layers->cost_share : AS_UNKNOWN;
    v->gpu.why = "no device is read yet by this version";
    v->gpu.mean_utilization_percent = v->gpu.peak_memory_mb = AS_UNKNOWN;
    return ASSAY_OK;
}

static int judge(struct maker *m)
{
    const struct assay_bottleneck_result *result;
    int rc;

    if (m->readings.n)
        qsort(m->readings.item, m->readings.n, sizeof(struct reading), by_time);
    if (m->marks.n)
        qsort(m->marks.item, m->marks.n, sizeof(struct mark), by_mark);
    rc = keep_curve(m);
    if (rc == ASSAY_OK)
        rc = judge_leaks(m);
    if (rc == ASSAY_OK)
        rc = layer_memory(m);
    if (rc == ASSAY_OK)
        rc = assay_bottleneck_analyze(m->view->analyzer, &result, m->err);
    if (rc == ASSAY_OK)
        m->view->bottlenecks = *result;
    return rc;
}

/* Of a run of `assay run`: its events are readings, which begin late and end early. */
static int take_program(struct maker *m)
{
    struct as_saved_profile *v = m->view;
    struct as_target *program = NULL;
    struct assay_error none;
    int rc = as_target_analyze(&program, m->run, &none);

    if (rc == ASSAY_ERR_NOTFOUND)
        return ASSAY_OK;
    if (rc < 0) {
        if (m->err)
            *m->err = none;
        return rc;
    }
    v->start_time = (double)m->run->time.real_ns * 1e-9;
    v->duration_seconds = program->wall_seconds;
    v->end_time = v->start_time + v->duration_seconds;
    v->memory.peak_mb = as_target_peak_bytes(program) / AS_MIB;
    as_target_free(program);
    return ASSAY_OK;
}

int as_saved_profile_run(struct as_saved_profile **out, struct as_run *run,
                         const struct as_layers *layers, const struct as_view_options *options,
                         struct assay_error *err)
{
    struct maker m = {.run = run, .err = err};
    int rc;

    *out = NULL;
    m.view = as_alloc_zero(1, sizeof *m.view);
    if (!m.view)
        return as_fail_nomem(err);
    m.view->name = run->path;
    m.view->memory.kernel_peak_mb = AS_UNKNOWN;
    rc = assay_bottleneck_new(&m.view->analyzer, options ? options->bottlenecks : NULL, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_detector_new(&m.view->detector, options ? options->leaks : NULL, err);
    if (rc == ASSAY_OK)
        rc = copy_layers(&m, layers);
    if (rc == ASSAY_OK)
        rc = walk(&m);
    if (rc == ASSAY_OK)
        rc = judge(&m);
    if (rc == ASSAY_OK)
        rc = take_program(&m);
    as_free(m.readings.item);
    as_free(m.marks.item);
    if (rc < 0)
        as_saved_profile_free(m.view);
    else
        *out = m.view;
    return rc;
}
