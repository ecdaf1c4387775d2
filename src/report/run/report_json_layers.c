/* report/run/report_json_layers.c - the parts of a report's JSON about layers: layers, threads,
 * tree. The figures of a layer and their keys come from report_figures. */

#include "analyze/run/layers.h"
#include "base/alloc.h"
#include "base/units.h"
#include "report/run/layer_columns.h"
#include "report/run/report.h"
#include "stats/describe/quantile.h"

static void put_figure(struct as_json_writer *w, enum as_layer_metric_id id,
                       const struct as_layer *layer, double cumulative)
{
    const struct as_layer_metric *figure = as_layer_metric_at(id);
    char line[1024];

    if (!figure->key)
        return;
    as_json_key(w, figure->key);
    if (figure->kind == AS_SHOWN_TEXT)
        as_json_text(w, as_layer_metric_text(id, layer, line, sizeof line));
    else
        as_json_f64(w, id == AS_LAYER_METRIC_CUM ? cumulative : as_layer_metric_number(id, layer));
}

static void put_metadata(struct as_json_writer *w, const struct as_run_site *site)
{
    as_json_kv_object(w, "metadata");
    for (const struct as_run_attribute *a = site->attributes; a; a = a->next) {
        if (a->text)
            as_json_kv_text(w, a->key, a->text);
        else
            as_json_kv_f64(w, a->key, a->number);
    }
    as_json_object_end(w);
}

static void put_phase_times(struct as_json_writer *w, const struct as_layer *layer)
{
    as_json_kv_object(w, "self_ns_by_phase");
    for (uint32_t i = 0; i < AS_LAYER_PHASES; i++) {
        if (layer->phase_calls[i])
            as_json_kv_u64(w, i == AS_LAYER_NO_PHASE ? "none" : as_phase_name(i),
                           layer->phase_self_ns[i]);
    }
    as_json_object_end(w);
}

static void put_layer(struct as_json_writer *w, const struct as_layer *layer, double cumulative)
{
    const struct as_call_times *t = &layer->times;

    as_json_object(w);
    for (unsigned id = 0; id < AS_LAYER_METRIC_COUNT_OF_ALL; id++)
        put_figure(w, (enum as_layer_metric_id)id, layer, cumulative);
    as_json_kv_text(w, "percentile_method",
                    as_quantile_name(t->exact ? AS_QUANTILE_LINEAR : AS_QUANTILE_NEAREST_RANK));
    AS_JSON_FIELDS(w, t, p90_supported, p95_supported, p99_supported);
    as_json_kv_f64(w, "p50_nearest_rank_ns", t->p50_nearest_ns);
    as_json_kv_f64(w, "p95_nearest_rank_ns", t->p95_nearest_ns);
    as_json_kv_f64(w, "p99_nearest_rank_ns", t->p99_nearest_ns);
    as_json_kv_bool(w, "ci95_reached", t->ci95_reached);
    as_json_kv_bool(w, "exact", t->exact);
    as_json_kv_f64(w, "percentile_error", t->error);
    as_json_kv_bool(w, "near_cost", layer->near_cost);
    as_json_kv_u64(w, "unclosed_calls", layer->unclosed);
    as_json_kv_u64(w, "cut_calls", layer->cut);
    as_json_kv_u64(w, "open_calls", layer->open);
    put_phase_times(w, layer);
    put_metadata(w, layer->info);
    as_json_object_end(w);
}

int as_json_layers(struct as_json_writer *w, const struct as_report *report,
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
    as_layers_order(layers, report->options->sort, order);
    as_layers_cumulate(layers, order, cumulative);
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < layers->n_layers && (!report->options->top || i < report->options->top);
         i++)
        put_layer(w, &layers->layer[order[i]], cumulative[i]);
    as_json_array_end(w);
out:
    as_free(cumulative);
    as_free(order);
    return rc;
}

/* The rows of one thread, which stand together from `first` on; returns where the next thread's
 * begin. */
static size_t put_thread_layers(struct as_json_writer *w, const struct as_layers *layers,
                                size_t thread, size_t first)
{
    size_t i = first;

    as_json_kv_array(w, "layers");
    for (; i < layers->n_thread_layers && layers->thread_layer[i].thread == thread; i++) {
        const struct as_thread_layer *l = &layers->thread_layer[i];

        as_json_object(w);
        as_json_kv_text(w, "name", layers->layer[l->layer].info->name);
        as_json_kv_u64(w, "calls", l->calls);
        as_json_kv_u64(w, "failed", l->failed);
        as_json_kv_u64(w, "total_ns", l->inclusive_ns);
        as_json_kv_u64(w, "self_ns", l->self_ns);
        as_json_kv_f64(w, "mean_ns", l->calls ? l->mean_ns : AS_UNKNOWN);
        as_json_kv_f64(w, "std_ns", l->calls ? l->std_population_ns : AS_UNKNOWN);
        as_json_kv_f64(w, "min_ns", l->calls ? l->min_ns : AS_UNKNOWN);
        as_json_kv_f64(w, "max_ns", l->calls ? l->max_ns : AS_UNKNOWN);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    return i;
}

void as_json_threads(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_layers *layers = report->layers;
    size_t row = 0;

    as_json_kv_array(w, "threads");
    for (size_t i = 0; i < layers->n_threads; i++) {
        const struct as_thread_summary *t = &layers->thread[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, t->info, index, tid, name);
        as_json_kv_u64(w, "events", t->counts.events);
        as_json_kv_u64(w, "calls", t->counts.spans);
        as_json_kv_u64(w, "busy_ns", t->busy_ns);
        as_json_kv_u64(w, "waited_ns", t->waited_ns);
        as_json_kv_u64(w, "first_event_ns", t->counts.first_ns);
        as_json_kv_u64(w, "last_event_ns", t->counts.last_ns);
        as_json_kv_u64(w, "lost_events", t->lost);
        as_json_kv_bool(w, "lost_unknown", t->lost_unknown);
        row = put_thread_layers(w, layers, i, row);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

/* Flat, so that no depth of the program's calls is too deep for a reader: parents come first. */
void as_json_tree(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_layers *layers = report->layers;

    as_json_kv_array(w, "tree");
    for (size_t i = 1; i < layers->n_nodes; i++) {
        const struct as_tree_node *n = &layers->node[i];

        as_json_object(w);
        as_json_kv_u64(w, "id", i);
        as_json_key(w, "parent");
        if (n->parent)
            as_json_u64(w, n->parent);
        else
            as_json_null(w);
        as_json_kv_u64(w, "depth", n->depth);
        as_json_kv_text(w, "name", as_run_site_at(report->run, n->site)->name);
        as_json_kv_u64(w, "calls", n->calls);
        as_json_kv_u64(w, "failed", n->failed);
        as_json_kv_u64(w, "total_ns", n->inclusive_ns);
        as_json_kv_u64(w, "self_ns", n->self_ns);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}
