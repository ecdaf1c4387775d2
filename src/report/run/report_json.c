/* report/run/report_json.c - a report as JSON: the run, how whole it is, its cost, the summary.
 * Base units in the keys; what cannot be had is null; keys always come in the same order. */
#include <stdio.h>

#include "analyze/run/layers.h"
#include "base/alloc.h"
#include "base/units.h"
#include "report/findings/findings_report.h"
#include "report/page/page.h"
#include "report/run/report.h"
#include "report/run/run_health.h"
#include "report/watch/watch_report.h"
#include "trace/run/run_reader.h"

#define SLOWEST 5 /* as many as the summary of the specification has */

static const char *const level_name[] = {
    [AS_HEALTH_NOTE] = "note",
    [AS_HEALTH_WARN] = "warning",
    [AS_HEALTH_LOSS] = "loss",
};

static const char *const loss_name[] = {
    [AS_LOSS_RING_FULL] = "ring_full",
    [AS_LOSS_THREAD_EXIT] = "thread_exit",
    [AS_LOSS_NO_LANE] = "no_ring",
    [AS_LOSS_WRITE] = "write_failed",
};
_Static_assert(AS_COUNT_OF(loss_name) == AS_LOSS_REASON_COUNT, "name every reason");

static void put_number(struct as_json_writer *w, const char *key, const struct as_run *run,
                       const char *path)
{
    double number;

    if (as_run_fact_number(run, path, &number))
        as_json_kv_f64(w, key, number);
    else
        as_json_kv_null(w, key);
}

static void put_findings(struct as_json_writer *w, const struct as_layers *layers)
{
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(layers, finding);

    as_json_kv_array(w, "findings");
    for (size_t i = 0; i < n; i++) {
        as_json_object(w);
        as_json_kv_text(w, "word", finding[i].word);
        as_json_kv_text(w, "level", level_name[finding[i].level]);
        as_json_kv_text(w, "text", finding[i].text);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_json_health(struct as_json_writer *w, const struct as_layers *layers)
{
    const struct as_run_health *h = &layers->run->health;

    as_json_kv_object(w, "health");
    as_json_kv_text(w, "status", as_health_status(layers));
    as_json_kv_bool(w, "closed", h->closed);
    as_json_kv_bool(w, "live", h->live);
    as_json_key(w, "live_pid");
    if (h->live)
        as_json_i64(w, h->live_pid);
    else
        as_json_null(w);
    as_json_kv_bool(w, "ring_found", h->ring_found);
    as_json_kv_u64(w, "events", layers->events);
    as_json_kv_u64(w, "ring_events", h->ring_events);
    as_json_kv_u64(w, "lost_events", layers->lost_events);
    as_json_kv_bool(w, "lost_unknown", layers->lost_unknown);
    as_json_kv_object(w, "lost");
    for (uint32_t i = 0; i < AS_LOSS_REASON_COUNT; i++)
        as_json_kv_u64(w, loss_name[i], h->lost[i]);
    as_json_object_end(w);
    AS_JSON_FIELDS(w, h, damaged_blocks, damaged_bytes, damaged_events, cut_bytes, cut_events,
                   unknown_blocks);
    as_json_kv_u64(w, "bad_events", layers->bad_events);
    as_json_kv_u64(w, "unclosed_calls", layers->unclosed);
    as_json_kv_u64(w, "cut_calls", layers->cut);
    as_json_kv_u64(w, "open_calls", layers->open);
    as_json_kv_u64(w, "stray_ends", layers->stray_ends);
    as_json_kv_u64(w, "stray_ends_after_loss", layers->stray_after_loss);
    as_json_kv_u64(w, "too_deep_calls", layers->too_deep);
    as_json_kv_u64(w, "displaced_events", layers->displaced);
    as_json_kv_u64(w, "backwards_events", layers->backwards);
    as_json_kv_u64(w, "waited_ns", layers->waited_ns);
    put_findings(w, layers);
    as_json_object_end(w);
}

static void put_host(struct as_json_writer *w, struct as_run *run)
{
    as_json_kv_object(w, "host");
    as_json_kv_text(w, "name", as_run_fact_text(run, "host.name"));
    as_json_kv_text(w, "system", as_run_fact_text(run, "host.system"));
    as_json_kv_text(w, "kernel", as_run_fact_text(run, "host.kernel"));
    as_json_kv_text(w, "machine", as_run_fact_text(run, "host.machine"));
    as_json_kv_text(w, "cpu_model", as_run_fact_text(run, "host.cpu_model"));
    put_number(w, "cpus_online", run, "host.cpus_online");
    as_json_object_end(w);
    as_json_kv_object(w, "clock");
    as_json_kv_text(w, "kind", as_run_fact_text(run, "clock.kind"));
    as_json_kv_text(w, "reason", as_run_fact_text(run, "clock.reason"));
    as_json_object_end(w);
}

static void put_run(struct as_json_writer *w, const struct as_report *report)
{
    struct as_run *run = report->run;
    char id[2 * AS_RUN_ID_BYTES + 1], date[AS_TEXT_HUMAN];

    for (size_t i = 0; i < AS_RUN_ID_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", run->header.id[i]);
    as_text_date(date, run->time.real_ns);
    as_json_kv_object(w, "run");
    as_json_kv_text(w, "id", id);
    as_json_kv_text(w, "label", as_run_fact_text(run, "label"));
    as_json_kv_text(w, "command", as_run_fact_list(run, "command"));
    put_number(w, "pid", run, "pid");
    as_json_kv_text(w, "tool_version", as_run_fact_text(run, "tool_version"));
    as_json_kv_text(w, "started", run->time.real_ns ? date : NULL);
    as_json_key(w, "started_unix_ns");
    if (run->time.real_ns)
        as_json_u64(w, run->time.real_ns);
    else
        as_json_null(w);
    as_json_kv_u64(w, "size_bytes", run->size_bytes);
    put_host(w, run);
    as_json_health(w, report->layers);
    as_json_object_end(w);
}

static void put_cost(struct as_json_writer *w, const struct as_layers *layers)
{
    as_json_kv_object(w, "cost");
    as_json_kv_bool(w, "known", layers->cost_known);
    if (layers->cost_known) {
        as_json_kv_f64(w, "pair_ns", layers->cost_pair_ns);
        as_json_kv_f64(w, "floor_ns", layers->cost_floor_ns);
        as_json_kv_f64(w, "total_ns", layers->cost_total_ns);
        as_json_kv_f64(w, "share", layers->cost_share);
    } else {
        as_json_kv_null(w, "pair_ns");
        as_json_kv_null(w, "floor_ns");
        as_json_kv_null(w, "total_ns");
        as_json_kv_null(w, "share");
        as_json_kv_text(w, "reason", "the run holds no calibration");
    }
    as_json_kv_u64(w, "near_cost_layers", layers->n_near_cost);
    as_json_object_end(w);
}

/* Pairs of a name and a figure, as the specification has them. */
static void put_pairs(struct as_json_writer *w, const char *key, const struct as_layers *layers,
                      const uint32_t *order, double (*figure)(const struct as_layer *layer))
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < layers->n_layers && i < SLOWEST; i++) {
        const struct as_layer *layer = &layers->layer[order[i]];

        as_json_array(w);
        as_json_text(w, layer->info->name);
        as_json_f64(w, figure(layer));
        as_json_array_end(w);
    }
    as_json_array_end(w);
}

static double mean_of(const struct as_layer *layer)
{
    return layer->times.mean_ns;
}

static double std_of(const struct as_layer *layer)
{
    return layer->times.std_population_ns;
}

static double cv_of(const struct as_layer *layer)
{
    return layer->times.cv;
}

static int put_summary(struct as_json_writer *w, const struct as_report *report,
                       struct assay_error *err)
{
    static const struct {
        const char *key;
        enum as_layer_sort sort;
        double (*figure)(const struct as_layer *layer);
    } list[] = {
        {"slowest_layers", AS_SORT_MEAN, mean_of},
        {"most_variable_layers", AS_SORT_STD, std_of},
        {"most_variable_layers_by_cv", AS_SORT_CV, cv_of},
    };
    const struct as_layers *layers = report->layers;
    uint32_t *order = as_alloc_zero(layers->n_layers + 1, sizeof *order);

    if (!order)
        return as_fail_nomem(err);
    as_json_kv_object(w, "summary");
    as_json_kv_u64(w, "total_layers", layers->n_layers);
    as_json_kv_u64(w, "total_time_ns", as_layers_total_ns(layers));
    as_json_kv_u64(w, "total_calls", layers->calls);
    as_json_kv_f64(w, "average_time_per_call_ns", as_layers_average_ns(layers));
    as_json_kv_u64(w, "failed_calls", layers->failed);
    if (layers->events) {
        as_json_kv_u64(w, "wall_ns", layers->wall_ns);
        as_json_kv_u64(w, "first_event_ns", layers->first_ns);
        as_json_kv_u64(w, "last_event_ns", layers->last_ns);
    } else {
        as_json_kv_null(w, "wall_ns");
        as_json_kv_null(w, "first_event_ns");
        as_json_kv_null(w, "last_event_ns");
    }
    as_json_kv_u64(w, "n_threads", layers->n_threads);
    for (size_t i = 0; i < AS_COUNT_OF(list); i++) {
        as_layers_order(layers, list[i].sort, order);
        put_pairs(w, list[i].key, layers, order, list[i].figure);
    }
    as_json_object_end(w);
    as_free(order);
    return ASSAY_OK;
}

/* Without a choice everything but the timeline, which is as long as the run. */
static bool wants(const struct as_report *report, enum as_report_section section)
{
    uint32_t sections = report->options->sections;

    return sections == 0 || sections >> section & 1;
}

/* Which parts of a program the sections are about; 0: none. Four of them have all of it, as they
 * always had; the others what their pages show. */
static unsigned parts_of_program(const struct as_report *report)
{
    static const struct {
        enum as_report_section section;
        unsigned parts;
    } has[] = {
        {AS_SECTION_PROGRAM, AS_WATCH_PART_ALL},
        {AS_SECTION_PROCESSES, AS_WATCH_PART_ALL},
        {AS_SECTION_HEAP, AS_WATCH_PART_ALL},
        {AS_SECTION_PRODUCTS, AS_WATCH_PART_ALL},
        {AS_SECTION_SUMMARY,
         AS_WATCH_PART_FACTS | AS_WATCH_PART_GROWTH | AS_WATCH_PART_CAUSES | AS_WATCH_PART_COST},
        {AS_SECTION_MEMORY, AS_WATCH_PART_FACTS | AS_WATCH_PART_SERIES},
        {AS_SECTION_LEAKS, AS_WATCH_PART_GROWTH},
        {AS_SECTION_BOTTLENECKS, AS_WATCH_PART_CAUSES},
    };
    unsigned parts = 0;

    for (size_t i = 0; i < AS_COUNT_OF(has); i++)
        parts |= wants(report, has[i].section) ? has[i].parts : 0;
    return parts;
}

static void put_view(struct as_json_writer *w, const struct as_report *report)
{
    if (wants(report, AS_SECTION_MEMORY))
        as_findings_memory_json(w, report);
    if (wants(report, AS_SECTION_LEAKS))
        as_findings_leaks_json(w, report->view);
    if (!wants(report, AS_SECTION_BOTTLENECKS))
        return;
    /* Those of a program that marked no layers are in `program`. */
    if (report->program && report->layers->n_layers == 0) {
        as_findings_no_bottlenecks_json(w, "no layers were marked: see program.causes");
        return;
    }
    as_json_key(w, "bottlenecks");
    as_bottleneck_json(w, &report->view->bottlenecks, 0);
}

int as_report_json(const struct as_report *report, struct as_json_writer *w,
                   struct assay_error *err)
{
    static const struct {
        enum as_report_section section;
        void (*put)(struct as_json_writer *w, const struct as_report *report);
    } part[] = {
        {AS_SECTION_THREADS, as_json_threads},   {AS_SECTION_TREE, as_json_tree},
        {AS_SECTION_PHASES, as_json_phases},     {AS_SECTION_ITERATIONS, as_json_iterations},
        {AS_SECTION_LATENCY, as_json_latency},   {AS_SECTION_CHANNELS, as_json_channels},
        {AS_SECTION_MESSAGES, as_json_messages}, {AS_SECTION_ASYNC, as_json_async},
        {AS_SECTION_LOCKS, as_json_locks},
    };
    int rc = ASSAY_OK;

    put_run(w, report);
    put_cost(w, report->layers);
    if (wants(report, AS_SECTION_SUMMARY))
        rc = put_summary(w, report, err);
    if (rc == ASSAY_OK && wants(report, AS_SECTION_LAYERS))
        rc = as_json_layers(w, report, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < AS_COUNT_OF(part); i++) {
        if (wants(report, part[i].section))
            part[i].put(w, report);
    }
    if (report->options->sections >> AS_SECTION_TIMELINE & 1)
        rc = as_json_timeline(w, report, err);
    if (rc == ASSAY_OK && report->view)
        put_view(w, report);
    if (rc == ASSAY_OK && report->program && parts_of_program(report)) {
        as_json_key(w, "program");
        rc = as_watch_json(report->program, parts_of_program(report), w, err);
    }
    return rc;
}
