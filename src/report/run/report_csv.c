/* report/run/report_csv.c - a report as a folder of CSV files, one for each list.
 * Empty fields are metrics that are unavailable; each file appears complete or not at all. */
#include <string.h>

#include "analyze/run/layers.h"
#include "analyze/run/timeline.h"
#include "base/alloc.h"
#include "base/text/csv.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "report/run/layer_columns.h"
#include "report/run/report.h"
#include "report/watch/watch_report.h"

typedef int (*write_fn)(struct as_csv_writer *w, const struct as_report *report,
                        struct assay_error *err);

static void put_header(struct as_csv_writer *w, const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        as_csv_text(w, name[i]);
    as_csv_row_end(w);
}

#define PUT_HEADER(w, ...)                                                                         \
    put_header((w), (const char *const[]){__VA_ARGS__},                                            \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void put_layer(struct as_csv_writer *w, const struct as_layer *layer, double cumulative)
{
    char line[1024];

    for (unsigned i = 0; i < AS_LAYER_METRIC_COUNT_OF_ALL; i++) {
        enum as_layer_metric_id id = (enum as_layer_metric_id)i;
        const struct as_layer_metric *figure = as_layer_metric_at(i);

        if (!figure->key)
            continue;
        if (figure->kind == AS_SHOWN_TEXT)
            as_csv_name(w, as_layer_metric_text(id, layer, line, sizeof line));
        else if (as_csv_is_ns(figure->key))
            as_csv_ns(w, as_layer_metric_number(id, layer));
        else
            as_csv_f64(w,
                       id == AS_LAYER_METRIC_CUM ? cumulative : as_layer_metric_number(id, layer));
    }
    as_csv_row_end(w);
}

static int write_layers(struct as_csv_writer *w, const struct as_report *report,
                        struct assay_error *err)
{
    const struct as_layers *layers = report->layers;
    uint32_t *order = as_alloc_zero(layers->n_layers + 1, sizeof *order);
    double *cumulative = as_alloc_zero(layers->n_layers + 1, sizeof *cumulative);
    int rc = ASSAY_OK;

    if (!order || !cumulative) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (unsigned i = 0; i < AS_LAYER_METRIC_COUNT_OF_ALL; i++) {
        if (as_layer_metric_at(i)->key)
            as_csv_text(w, as_layer_metric_at(i)->key);
    }
    as_csv_row_end(w);
    as_layers_order(layers, report->options->sort, order);
    as_layers_cumulate(layers, order, cumulative);
    for (size_t i = 0; i < layers->n_layers; i++)
        put_layer(w, &layers->layer[order[i]], cumulative[i]);
out:
    as_free(cumulative);
    as_free(order);
    return rc;
}

static int write_threads(struct as_csv_writer *w, const struct as_report *report,
                         struct assay_error *err)
{
    const struct as_layers *layers = report->layers;

    (void)err;
    PUT_HEADER(w, "thread", "tid", "thread_name", "layer", "calls", "failed", "total_ns", "self_ns",
               "mean_ns", "std_ns", "min_ns", "max_ns");
    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        const struct as_thread_layer *l = &layers->thread_layer[i];
        const struct as_run_thread *info = layers->thread[l->thread].info;
        bool known = l->calls > 0;

        as_csv_u64(w, info->index);
        as_csv_u64(w, info->tid);
        as_csv_name(w, info->name);
        as_csv_name(w, layers->layer[l->layer].info->name);
        as_csv_u64(w, l->calls);
        as_csv_u64(w, l->failed);
        as_csv_u64(w, l->inclusive_ns);
        as_csv_u64(w, l->self_ns);
        as_csv_ns(w, known ? l->mean_ns : AS_UNKNOWN);
        as_csv_ns(w, known ? l->std_population_ns : AS_UNKNOWN);
        as_csv_ns(w, known ? l->min_ns : AS_UNKNOWN);
        as_csv_ns(w, known ? l->max_ns : AS_UNKNOWN);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int write_tree(struct as_csv_writer *w, const struct as_report *report,
                      struct assay_error *err)
{
    const struct as_layers *layers = report->layers;

    (void)err;
    PUT_HEADER(w, "id", "parent", "depth", "layer", "calls", "failed", "total_ns", "self_ns");
    for (size_t i = 1; i < layers->n_nodes; i++) {
        const struct as_tree_node *n = &layers->node[i];

        as_csv_u64(w, i);
        if (n->parent)
            as_csv_u64(w, n->parent);
        else
            as_csv_empty(w);
        as_csv_u64(w, n->depth);
        as_csv_name(w, as_run_site_at(report->run, n->site)->name);
        as_csv_u64(w, n->calls);
        as_csv_u64(w, n->failed);
        as_csv_u64(w, n->inclusive_ns);
        as_csv_u64(w, n->self_ns);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int write_timeline(struct as_csv_writer *w, const struct as_report *report,
                          struct assay_error *err)
{
    struct as_timeline *timeline = as_timeline_new(report->run);
    struct as_timeline_entry e;
    char notes[1024];
    int rc = timeline ? 1 : as_fail_nomem(err);

    PUT_HEADER(w, "layer", "execution_time_ns", "timestamp_ns", "cumulative_time_ns", "thread",
               "depth", "status", "notes");
    while (rc > 0 && (rc = as_timeline_next(timeline, &e, err)) > 0 && as_out_ok(w->out)) {
        if (!as_report_has_thread(report, e.span.thread))
            continue;
        as_csv_name(w, as_run_site_at(report->run, e.span.site)->name);
        as_csv_u64(w, e.span.end_ns - e.span.start_ns);
        as_csv_u64(w, e.span.start_ns);
        as_csv_u64(w, e.cumulative_ns);
        as_csv_u64(w, e.span.thread->index);
        as_csv_u64(w, e.span.depth);
        as_csv_text(w, as_span_state_name(e.span.state));
        as_span_notes_text(report->run, &e.span, notes, sizeof notes);
        as_csv_name(w, notes);
        as_csv_row_end(w);
    }
    as_timeline_free(timeline);
    return rc < 0 ? rc : ASSAY_OK;
}

/* Microseconds with their fraction, exactly: a quick kernel must not read 0. */
static void put_us(struct as_csv_writer *w, uint64_t ns)
{
    as_csv_f64(w, (double)ns / 1000);
}

static int write_latency(struct as_csv_writer *w, const struct as_report *report,
                         struct assay_error *err)
{
    const struct as_iterations *it = &report->layers->iterations;

    (void)err;
    PUT_HEADER(w, "sample_id", "wall_time_us", "kernel_time_us", "seq_len");
    for (size_t i = 0; i < it->n; i++) {
        const struct assay_latency_record *r = &it->record[i];

        as_csv_u64(w, r->sample_id);
        put_us(w, r->wall_time_ns);
        if (r->kernel_available)
            put_us(w, r->kernel_time_ns);
        else
            as_csv_empty(w);
        if (it->any_length)
            as_csv_u64(w, r->seq_len);
        else
            as_csv_empty(w);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int write_channels(struct as_csv_writer *w, const struct as_report *report,
                          struct assay_error *err)
{
    (void)err;
    PUT_HEADER(w, "channel", "unit", "n", "min", "mean", "max", "last");
    for (size_t i = 0; i < report->layers->n_channels; i++) {
        const struct as_channel *c = &report->layers->channel[i];

        as_csv_name(w, c->info->name);
        as_csv_name(w, c->info->unit);
        as_csv_u64(w, c->n);
        as_csv_f64(w, c->min);
        as_csv_f64(w, c->mean);
        as_csv_f64(w, c->max);
        as_csv_f64(w, c->last);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

/* The lists of a program that was watched. */
static int write_processes(struct as_csv_writer *w, const struct as_report *report,
                           struct assay_error *err)
{
    (void)err;
    as_watch_csv_processes(w, report->program);
    return ASSAY_OK;
}

static int write_sites(struct as_csv_writer *w, const struct as_report *report,
                       struct assay_error *err)
{
    (void)err;
    as_watch_csv_sites(w, report->program);
    return ASSAY_OK;
}

static int write_gemm(struct as_csv_writer *w, const struct as_report *report,
                      struct assay_error *err)
{
    (void)err;
    as_watch_csv_gemm(w, report->program);
    return ASSAY_OK;
}

static const struct {
    const char *name;
    write_fn write;
    enum { OF_ALL, OF_EVENTS, OF_PROGRAM } of; /* runs that have it: all, recorded, `assay run` */
} file[] = {
    {"layers.csv", write_layers, OF_ALL},
    {"threads.csv", write_threads, OF_EVENTS},
    {"tree.csv", write_tree, OF_EVENTS},
    {"timeline.csv", write_timeline, OF_EVENTS},
    {"latency.csv", write_latency, OF_EVENTS},
    {"channels.csv", write_channels, OF_EVENTS},
    {"processes.csv", write_processes, OF_PROGRAM},
    {"heap_sites.csv", write_sites, OF_PROGRAM},
    {"gemm.csv", write_gemm, OF_PROGRAM},
};

struct table {
    const struct as_report *report;
    size_t file;
};

static int write_table(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct table *t = of;

    return file[t->file].write(w, t->report, err);
}

/* The main table: processes of a program that was watched, else layers. */
static bool is_main(const struct as_report *report, size_t i)
{
    return file[i].write == (report->program ? write_processes : write_layers);
}

int as_report_csv(const struct as_report *report, const struct as_csv_target *to,
                  struct assay_error *err)
{
    const bool manager = report->view && report->view->manager;
    int rc = as_csv_target_open(to, err), n = 0;

    for (size_t i = 0; i < AS_COUNT_OF(file) && rc == ASSAY_OK; i++) {
        if ((file[i].of == OF_PROGRAM && !report->program) || (file[i].of != OF_ALL && manager) ||
            (!to->folder && !is_main(report, i)))
            continue;
        rc = as_csv_target_put(to, file[i].name, write_table,
                               &(struct table){.report = report, .file = i}, err);
        n++;
    }
    return rc < 0 ? rc : n;
}
