/* analyze/run/run_findings.c - what a run with layers says about memory, leaks and bottlenecks.
 * Every call of a recorded run is looked at once. */
#include "analyze/run/run_findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
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
    struct as_run_findings *view;
    struct as_layers *layers;
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
#define METRIC(key, member)                                                                        \
    {                                                                                              \
        (key), offsetof(struct assay_layer_metrics, member)                                        \
    }
    METRIC("memory_usage", memory_usage_mb),
    METRIC("io_operations", io_operations),
    METRIC("gpu_utilization", gpu_utilization_percent),
    METRIC("flops", flops),
    METRIC("bytes", bytes),
    METRIC("minor_faults", minor_faults),
    METRIC("major_faults", major_faults),
    METRIC("io_wait_time", io_wait_seconds),
    METRIC("io_bytes", io_bytes),
    METRIC("cpu_time", cpu_seconds),
    METRIC("switches", switches),
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
    double mb = metrics->memory_usage_mb;
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
    struct assay_layer_metrics metrics = as_layer_metrics_unknown;

    if (m->rc < 0 || span->state > AS_SPAN_FAILED || site->category == ASSAY_CATEGORY_PHASE)
        return;
    metrics.execution_seconds = (double)(span->end_ns - span->start_ns) / 1e9;
    metrics.self_seconds = (double)(span->end_ns - span->start_ns - span->child_ns) / 1e9;
    metrics.flops = attribute(site, "flops");
    metrics.bytes = attribute(site, "bytes");
    metrics.failed = span->state == AS_SPAN_FAILED;
    for (uint32_t i = 0; i < span->n_notes; i++)
        take_note(m, &metrics, &span->note[i]);
    m->rc = as_bottleneck_record(m->view->analyzer, site->name, &metrics, m->err);
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

    m->rss = find_site(m->run, ASSAY_CATEGORY_CHANNEL, AS_CHANNEL_RSS);
    m->view->memory.what = "resident memory of the process";
    if (!m->rss) {
        m->rss = find_site(m->run, ASSAY_CATEGORY_CHANNEL, AS_CHANNEL_TREE_RSS);
        m->of_tree = m->rss != 0;
        m->view->memory.what = "resident memory of the program and its children";
    }
    m->rss_key = find_site(m->run, ASSAY_CATEGORY_KEY, "rss_bytes");
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
    struct as_memory_curve *memory = &m->view->memory;
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
            memory->seconds[memory->n] = (double)(r[i].ns - first) / 1e9;
            memory->mb[memory->n++] = r[i].mb;
        }
    }
    return ASSAY_OK;
}

static int feed_detector(struct maker *m)
{
    const struct reading *r = m->readings.item;
    const struct mark *mark = m->marks.item;
    double start = (double)m->run->time.real_ns / 1e9;
    size_t next = 0;
    int rc = ASSAY_OK;

    for (size_t i = 0; i < m->readings.n && rc == ASSAY_OK; i++) {
        const char *layer = r[i].layer ? as_run_site_at(m->run, r[i].layer)->name : NULL;

        while (next < m->marks.n && mark[next].ns <= r[i].ns)
            next++;
        rc = assay_leak_detector_add(m->view->detector, layer, r[i].mb,
                                     next ? mark[next - 1].number : ASSAY_UNKNOWN,
                                     start + (double)r[i].ns / 1e9, m->err);
    }
    return rc;
}

static int judge_leaks(struct maker *m)
{
    struct as_leak_findings *leaks = &m->view->leaks;
    int rc;

    if (m->view->memory.why) {
        leaks->why = m->view->memory.why;
        return ASSAY_OK;
    }
    if (m->of_tree) {
        /* A program that starts grows in every window: it has a test of its own. */
        leaks->why =
            "the program was watched from outside: see its own verdict in JSON program.growth";
        return ASSAY_OK;
    }
    rc = feed_detector(m);
    return rc < 0 ? rc : as_leak_report(m->view->detector, &leaks->found, m->err);
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
    for (size_t i = 0; i < m->layers->n_layers; i++) {
        struct as_layer *layer = &m->layers->layer[i];
        const struct as_moments *x = &moments[layer->site];

        if (x->total.n)
            layer->memory = (struct as_layer_memory){
                x->total.n * m->readings.stride, as_moments_mean(x) / AS_MIB,
                as_moments_std_population(x) / AS_MIB, (double)x->total.min / AS_MIB,
                (double)x->total.max / AS_MIB};
    }
    as_free(moments);
    return ASSAY_OK;
}

static void fill_times(struct maker *m)
{
    struct as_run_findings *v = m->view;

    v->duration_seconds = (double)m->layers->wall_ns / 1e9;
    v->start_time = ((double)m->run->time.real_ns + (double)m->layers->first_ns) / 1e9;
    v->end_time = v->start_time + v->duration_seconds;
    v->gpu_why = "no device is read yet by this version";
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
        rc = assay_bottleneck_analyzer_analyze(m->view->analyzer, &result, m->err);
    if (rc == ASSAY_OK)
        m->view->bottlenecks = *result;
    return rc;
}

/* Of a run of `assay run`: its events are readings, which begin late and end early. */
static int take_program(struct maker *m)
{
    struct as_run_findings *v = m->view;
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
    v->start_time = (double)m->run->time.real_ns / 1e9;
    v->duration_seconds = program->wall_seconds;
    v->end_time = v->start_time + v->duration_seconds;
    v->memory.peak_mb = as_target_peak_bytes(program) / AS_MIB;
    as_target_free(program);
    return ASSAY_OK;
}

int as_run_findings_new(struct as_run_findings **out, struct as_run *run, struct as_layers *layers,
                        const struct as_findings_options *options, struct assay_error *err)
{
    struct maker m = {.run = run, .layers = layers, .err = err};
    int rc;

    *out = NULL;
    m.view = as_alloc_zero(1, sizeof *m.view);
    if (!m.view)
        return as_fail_nomem(err);
    m.view->memory.kernel_peak_mb = AS_UNKNOWN;
    rc = assay_bottleneck_analyzer_new(&m.view->analyzer, options ? options->bottlenecks : NULL,
                                       err);
    if (rc == ASSAY_OK && options && options->peaks)
        as_bottleneck_set_peaks(m.view->analyzer, options->peaks, 1); /* a call's thread */
    if (rc == ASSAY_OK)
        rc = assay_leak_detector_new(&m.view->detector, options ? options->leaks : NULL, err);
    fill_times(&m);
    if (rc == ASSAY_OK)
        rc = walk(&m);
    if (rc == ASSAY_OK)
        rc = judge(&m);
    if (rc == ASSAY_OK)
        rc = take_program(&m);
    as_free(m.readings.item);
    as_free(m.marks.item);
    if (rc < 0)
        as_run_findings_free(m.view);
    else
        *out = m.view;
    return rc;
}

/* ---- as a manager judged it ---- */

static int take_curve(struct as_run_findings *to, const struct as_manager_run *from,
                      struct assay_error *err)
{
    const struct as_memory_report *memory = &from->memory;
    const struct as_memory_profile_summary *s = &memory->summary;
    struct as_memory_curve *m = &to->memory;

    *m = (struct as_memory_curve){
        .why = from->reason[AS_PART_MEMORY],
        .what = "resident memory of the process",
        .baseline_mb = s->baseline_memory_mb,
        .peak_mb = s->peak_memory_mb,
        .last_mb = AS_UNKNOWN,
        .kernel_peak_mb = s->peak_rss_kernel_bytes == ASSAY_UNKNOWN
                              ? AS_UNKNOWN
                              : (double)s->peak_rss_kernel_bytes / AS_MIB,
        .snapshots = s->total_snapshots,
    };
    if (!m->why && !isfinite(m->peak_mb))
        m->why = s->why ? s->why : "no sample of memory was taken";
    m->seconds = as_arena_zero(&to->arena, memory->n_snapshots + 1, sizeof(double));
    m->mb = as_arena_zero(&to->arena, memory->n_snapshots + 1, sizeof(double));
    if (!m->seconds || !m->mb)
        return as_fail_nomem(err);
    for (size_t i = 0; i < memory->n_snapshots; i++) {
        const struct as_memory_layer_reading *r = &memory->snapshot[i];

        if (!isfinite(r->timestamp) || !isfinite(r->cpu_memory_mb))
            continue;
        m->seconds[m->n] = r->timestamp;
        m->mb[m->n++] = m->last_mb = r->cpu_memory_mb;
    }
    for (size_t i = m->n; i-- > 0;)
        m->seconds[i] -= m->seconds[0];
    return ASSAY_OK;
}

/* What layers left behind stands beside what the process did. */
static int take_leaks(struct as_run_findings *to, const struct as_manager_run *from,
                      struct assay_error *err)
{
    const struct as_held_report *held = &from->held;
    size_t n = from->leaks.n_incidents;
    struct assay_leak_incident *all = as_arena_zero(&to->arena, n + held->n + 1, sizeof *all);

    to->leaks.why = from->reason[AS_PART_LEAKS];
    to->leaks.found = from->leaks;
    if (!all)
        return as_fail_nomem(err);
    if (n)
        memcpy(all, from->leaks.incidents, n * sizeof *all);
    for (size_t i = 0; i < held->n; i++) {
        const struct assay_layer_leak *leak = &held->leak[i];

        all[n++] = (struct assay_leak_incident){.layer = leak->layer,
                                                .first_step = leak->first_step,
                                                .last_step = leak->last_step,
                                                .net_growth_mb = leak->growth_mb,
                                                .mb_per_step = leak->mb_per_step,
                                                .mb_per_second = leak->mb_per_second,
                                                .p_value = leak->p_value,
                                                .seconds_to_exhaustion = AS_UNKNOWN};
    }
    to->leaks.found.incidents = all;
    to->leaks.found.n_incidents = to->leaks.found.summary.n_incidents = n;
    return ASSAY_OK;
}

/* The limits are of windows; trends have none, and stay as the manager found them. */
static int judge_windows(struct as_run_findings *to, const struct as_manager_run *from,
                         const struct assay_leak_detector_options *options, struct assay_error *err)
{
    const struct as_memory_report *memory = &from->memory;
    struct assay_leak_detector_options process = *options;
    struct as_leak_report *found = &to->leaks.found, windows = {.n_leaks = 0};
    int rc;

    if (memory->n_snapshots == 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "other limits for leaks need the samples of the memory profiler, and the "
                       "run holds none");
    process.process_only = true;
    rc = assay_leak_detector_new(&to->detector, &process, err);
    for (size_t i = 0; i < memory->n_snapshots && rc == ASSAY_OK; i++) {
        const struct as_memory_layer_reading *r = &memory->snapshot[i];

        if (r->cpu_memory_mb >= 0 && isfinite(r->cpu_memory_mb) && isfinite(r->timestamp))
            rc = assay_leak_detector_add(to->detector, r->layer, r->cpu_memory_mb, ASSAY_UNKNOWN,
                                         r->timestamp, err);
    }
    if (rc == ASSAY_OK)
        rc = as_leak_report(to->detector, &windows, err);
    if (rc < 0)
        return rc;
    found->summary.has_leaks = windows.summary.has_leaks;
    found->summary.leak_count = windows.summary.leak_count;
    found->summary.total_memory_leaked_mb = windows.summary.total_memory_leaked_mb;
    found->summary.average_growth_mb_per_step = windows.summary.average_growth_mb_per_step;
    found->leaks = windows.leaks;
    found->n_leaks = windows.n_leaks;
    to->leaks.again = memory->n_snapshots;
    to->leaks.why = NULL;
    return ASSAY_OK;
}

int as_run_findings_manager(struct as_run_findings **out, const struct as_manager_run *manager,
                            const struct assay_leak_detector_options *leaks,
                            struct assay_error *err)
{
    struct as_run_findings *to = as_alloc_zero(1, sizeof *to);
    int rc;

    *out = NULL;
    if (!to)
        return as_fail_nomem(err);
    to->manager = manager;
    to->start_time = manager->session.start_time_seconds;
    to->end_time = manager->session.end_time_seconds;
    to->duration_seconds = manager->session.duration_seconds;
    to->bottlenecks = manager->bottlenecks;
    to->bottlenecks_why = manager->reason[AS_PART_BOTTLENECKS];
    to->gpu_why = manager->reason[AS_PART_GPU];
    rc = take_curve(to, manager, err);
    if (rc == ASSAY_OK)
        rc = take_leaks(to, manager, err);
    if (rc == ASSAY_OK && leaks)
        rc = judge_windows(to, manager, leaks, err);
    if (rc < 0)
        as_run_findings_free(to);
    else
        *out = to;
    return rc;
}

void as_run_findings_free(struct as_run_findings *findings)
{
    if (!findings)
        return;
    assay_leak_detector_free(findings->detector);
    assay_bottleneck_analyzer_free(findings->analyzer);
    as_arena_fini(&findings->arena);
    as_free(findings);
}
