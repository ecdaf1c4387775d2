/* report/watch/watch_json.c - what `assay run` saw of a program, as JSON. Base units, unit in the
 * key; what cannot be had is null, and `unavailable` beside it says why. */

#include "analyze/watch/target_read.h"
#include "base/units.h"
#include "report/watch/watch_report.h"
#include "watch/watch_fields.h"

static void put_fact(struct as_json_writer *w, const char *key, struct as_fact fact)
{
    if (fact.why)
        as_json_kv_null(w, key);
    else
        as_json_kv_u64(w, key, fact.value);
}

static void put_why(struct as_json_writer *w, const char *key, struct as_fact fact)
{
    if (fact.why)
        as_json_kv_text(w, key, fact.why);
}

static void put_facts(struct as_json_writer *w, const struct as_target *p)
{
    as_json_kv_array(w, "command");
    for (size_t i = 0; i < p->n_args; i++)
        as_json_text(w, p->argv[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "arguments_left_out", p->args_left_out);
    as_json_kv_text(w, "folder", p->folder);
    if (p->exit_status >= 0)
        as_json_kv_i64(w, "exit_status", p->exit_status);
    else
        as_json_kv_null(w, "exit_status");
    if (p->signal > 0)
        as_json_kv_i64(w, "signal", p->signal);
    else
        as_json_kv_null(w, "signal");
    as_json_kv_bool(w, "core_dumped", p->dumped);
    as_json_kv_f64(w, "wall_seconds", p->wall_seconds);
#define X(name) put_fact(w, #name, p->name);
    AS_WATCH_FACTS(X)
#undef X
    as_json_kv_text(w, "peak_rss_from", p->peak_from);
    as_json_kv_f64(w, "processors", p->processors);
    as_json_kv_f64(w, "processors_used", as_target_cpus_used(p));
    as_json_kv_object(w, "unavailable");
#define X(name) put_why(w, #name, p->name);
    AS_WATCH_FACTS(X)
#undef X
    if (!p->heap_known)
        as_json_kv_text(w, "heap", p->heap_why ? p->heap_why : "the heap was not watched");
    as_json_object_end(w);
    as_json_kv_text(w, "heap_why", p->heap_why); /* beside a heap: why it is not the whole one */
    as_json_kv_u64(w, "passed_over", p->passed_over);
}

static void put_processes(struct as_json_writer *w, const struct as_target *p)
{
    as_json_kv_array(w, "processes");
    for (size_t i = 0; i < p->n_processes; i++) {
        const struct as_process_row *r = &p->process[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, r, pid, parent_pid, name, runtime, start_seconds, end_seconds,
                       heap_watched);
#define X(name) put_fact(w, #name, r->name);
        AS_PROCESS_FACTS(X)
#undef X
        as_json_kv_object(w, "unavailable");
#define X(name) put_why(w, #name, r->name);
        AS_PROCESS_FACTS(X)
#undef X
        as_json_object_end(w);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_u64(w, "processes_left_out", p->processes_left_out);
}

static void put_site(struct as_json_writer *w, const struct as_target_site *place)
{
    const struct as_heap_site *s = &place->site;

    as_json_object(w);
    as_json_kv_i64(w, "pid", place->pid);
    as_json_kv_u64(w, "id", s->id);
    AS_JSON_FIELDS(w, place, function, module, offset);
    as_watch_json_place(w, place);
    as_json_kv_text(w, "kind", as_heap_kind_name(s->kind));
    as_json_kv_text(w, "layer", s->layer);
#define X(name) as_json_kv_u64(w, #name, s->name);
    AS_HEAP_SUMS(X)
#undef X
    as_json_kv_u64(w, "address", s->address);
    if (place->peak_known)
        as_json_kv_u64(w, "peak_live_bytes", s->peak_live_bytes);
    else
        as_json_kv_null(w, "peak_live_bytes");
    as_json_kv_u64(w, "temporary", s->temporary);
    as_json_kv_u64(w, "same_layer", s->same_layer);
    AS_JSON_FIELDS(w, place, growth_bytes_per_second, growth_p_value, growing);
    as_json_object_end(w);
}

static void put_stack(struct as_json_writer *w, const struct as_target *p,
                      const struct as_heap_trace *trace)
{
    as_json_object(w);
    as_json_kv_i64(w, "pid", trace->pid);
    as_json_kv_u64(w, "samples", trace->stack.samples);
    as_json_kv_bool(w, "rough", trace->stack.samples < AS_TRACE_FEW_SAMPLES);
    as_json_kv_text(w, "layer", trace->stack.layer);
#define X(name) as_json_kv_f64(w, #name "_estimate", trace->stack.name);
    AS_HEAP_STACK_ESTIMATES(X)
#undef X
    as_json_kv_bool(w, "cut", trace->stack.cut);
    as_watch_json_frames(w, p, trace);
    as_json_object_end(w);
}

static void put_heap(struct as_json_writer *w, const struct as_target *p)
{
    as_json_key(w, "heap");
    if (!p->heap_known) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
#define X(name) as_json_kv_u64(w, #name, p->heap.name);
    AS_HEAP_TOTALS(X)
#undef X
    as_json_kv_u64(w, "n_heaps", p->n_heaps);
    as_json_kv_bool(w, "largest_process_watched", !as_target_largest_unwatched(p));
    as_json_kv_u64(w, "n_threads", p->heap.n_threads);
    as_json_kv_bool(w, "symbols_known", p->symbols_known);
    as_json_kv_text(w, "lines_why", p->lines_why);
    as_watch_json_frame_table(w, p);
    as_json_kv_array(w, "sites");
    for (size_t i = 0; i < p->n_places; i++)
        put_site(w, &p->place[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "sites_left_out", p->places_left_out);
    as_json_kv_array(w, "stacks");
    for (size_t i = 0; i < p->n_traces; i++)
        put_stack(w, p, &p->trace[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "stacks_left_out", p->traces_left_out);
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < p->n_layers; i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, &p->layer[i], name, calls, peak_within_bytes, net_bytes);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "iterations_live_bytes");
    for (size_t i = 0; i < p->marks.n; i++)
        as_json_f64(w, p->marks.value[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_products(struct as_json_writer *w, const struct as_target *p)
{
    as_json_kv_object(w, "products");
    as_json_kv_f64(w, "wall_share", p->gemm_time_share);
    as_json_kv_u64(w, "calls_not_counted", p->gemm_unplaced);
    as_json_kv_text(w, "why", p->gemm_why); /* products may have gone by unseen */
    as_json_kv_text(w, "openblas_core", p->gemm_core);
    as_json_kv_text(w, "cpu_vectors", p->cpu_vectors);
    as_json_kv_array(w, "calls");
    for (size_t i = 0; i < p->n_gemm; i++) {
        const struct as_gemm_calls *c = &p->gemm[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, c, function, dtype, shape, flops);
#define X(name) as_json_kv_u64(w, #name, c->name);
        AS_GEMM_COUNTS(X)
#undef X
        as_json_kv_f64(w, "flops_per_second", as_gemm_rate(c));
        as_json_kv_f64(w, "roof_share", as_gemm_roof_share(p, c));
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_series(struct as_json_writer *w, const char *key, const char *unit,
                       const struct as_target_series *s)
{
    as_json_kv_object(w, key);
    as_json_kv_array(w, "seconds");
    for (size_t i = 0; i < s->n; i++)
        as_json_f64(w, s->seconds[i]);
    as_json_array_end(w);
    as_json_kv_array(w, unit);
    for (size_t i = 0; i < s->n; i++)
        as_json_f64(w, s->value[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_growth(struct as_json_writer *w, const struct as_target_findings *f)
{
    as_json_kv_object(w, "growth");
    as_json_kv_text(w, "verdict", as_growth_verdict_name(f->verdict));
    as_json_kv_text(w, "headline", f->headline);
    as_json_kv_text(w, "text", f->verdict_text);
    as_json_kv_array(w, "series");
    for (size_t i = 0; i < f->n_growths; i++) {
        const struct as_target_growth *g = &f->growth[i];

        as_json_object(w);
        as_json_kv_text(w, "name", g->key);
        as_json_kv_text(w, "verdict", as_growth_verdict_name(g->verdict));
        as_json_kv_u64(w, "readings", g->readings);
        as_json_kv_u64(w, "readings_judged", g->judged);
        as_json_kv_f64(w,
                       g->counts          ? "count_per_second"
                       : g->per_iteration ? "bytes_per_iteration"
                                          : "bytes_per_second",
                       g->rate);
        as_json_kv_f64(w, g->per_iteration ? "iterations" : "seconds", g->length);
        as_json_kv_f64(w, g->counts ? "net_count" : "net_bytes", g->net_bytes);
        AS_JSON_FIELDS(w, g, stopped_seconds, p_value, seconds_to_exhaustion);
        as_json_kv_text(w, "exhausts", g->headroom_of);
        as_json_kv_text(w, "exhaustion_why", g->headroom_why);
        as_json_kv_text(w, "text", g->text);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "sites");
    for (size_t i = 0; i < f->n_growing; i++) {
        as_json_object(w);
        as_json_kv_i64(w, "pid", f->growing[i].place->pid);
        as_json_kv_u64(w, "id", f->growing[i].place->site.id);
        as_json_kv_text(w, "function", f->growing[i].place->function);
        as_json_kv_f64(w, "share", f->growing[i].share);
        as_json_kv_text(w, "text", f->growing[i].text);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_text(w, "mapping", f->mapping_text);
    as_json_kv_text(w, "live_at_end", f->live_text);
    as_json_object_end(w);
}

static void put_causes(struct as_json_writer *w, const struct as_target_findings *f)
{
    as_json_kv_array(w, "causes");
    for (size_t i = 0; i < f->n_causes; i++)
        as_json_fields_write(w, &as_finding_shape, &f->cause[i]);
    as_json_array_end(w);
}

static void put_cost(struct as_json_writer *w, const struct as_target *p)
{
    as_json_kv_object(w, "cost");
    as_json_kv_f64(w, "own_cpu_share",
                   p->own_cpu_ns.why || !(p->wall_seconds > 0)
                       ? AS_UNKNOWN
                       : (double)p->own_cpu_ns.value / (p->wall_seconds * 1e9));
    as_json_kv_f64(w, "interval_seconds", p->interval_seconds);
    as_json_kv_u64(w, "readings", p->readings);
    if (p->heap_known)
        as_json_kv_u64(w, "memory_inside_bytes", p->heap.own_bytes + p->heap.share_bytes);
    else
        as_json_kv_f64(w, "memory_inside_bytes", AS_UNKNOWN);
    as_json_object_end(w);
}

static void put_all_series(struct as_json_writer *w, const struct as_target *target)
{
    as_json_kv_object(w, "series");
    put_series(w, "rss", "bytes", &target->rss);
    put_series(w, "anonymous", "bytes", &target->anon);
    put_series(w, "heap_live", "bytes", &target->heap_live);
    put_series(w, "processors_busy", "processors", &target->cpu);
    put_series(w, "descriptors", "count", &target->descriptors);
    put_series(w, "threads", "count", &target->threads);
    as_json_object_end(w);
}

int as_watch_json(const struct as_target *target, unsigned parts, struct as_json_writer *w,
                  struct assay_error *err)
{
    struct as_target_findings *f;
    int rc = as_target_findings_new(&f, target, err);

    if (rc < 0)
        return rc;
    as_json_object(w);
    if (parts & AS_WATCH_PART_FACTS)
        put_facts(w, target);
    if (parts & AS_WATCH_PART_PROCESSES)
        put_processes(w, target);
    if (parts & AS_WATCH_PART_HEAP)
        put_heap(w, target);
    if (parts & AS_WATCH_PART_GEMM)
        put_products(w, target);
    if (parts & AS_WATCH_PART_SERIES)
        put_all_series(w, target);
    if (parts & AS_WATCH_PART_GROWTH)
        put_growth(w, f);
    if (parts & AS_WATCH_PART_CAUSES)
        put_causes(w, f);
    if (parts & AS_WATCH_PART_COST)
        put_cost(w, target);
    as_json_object_end(w);
    as_target_findings_free(f);
    return ASSAY_OK;
}
