/* report/watch/watch_csv.c - the lists of a watched program as CSV: what is not known is empty.
 * Units stand in the headings. */

#include "base/text/csv.h"
#include "base/units.h"
#include "report/watch/watch_report.h"
#include "watch/watch_fields.h"

static void put_header(struct as_csv_writer *w, const char *const *title, size_t n)
{
    for (size_t i = 0; i < n; i++)
        as_csv_text(w, title[i]);
    as_csv_row_end(w);
}

static void put_fact(struct as_csv_writer *w, struct as_fact fact)
{
    if (fact.why)
        as_csv_empty(w);
    else
        as_csv_u64(w, fact.value);
}

void as_watch_csv_processes(struct as_csv_writer *w, const struct as_target *target)
{
    static const char *const title[] = {"pid",
                                        "parent_pid",
                                        "name",
                                        "runtime",
                                        "start_seconds",
                                        "end_seconds",
                                        "heap_watched",
#define X(name) #name,
                                        AS_PROCESS_FACTS(X)
#undef X
    };

    put_header(w, title, AS_COUNT_OF(title));
    for (size_t i = 0; i < target->n_processes; i++) {
        const struct as_process_row *r = &target->process[i];

        as_csv_i64(w, r->pid);
        as_csv_i64(w, r->parent_pid);
        as_csv_name(w, r->name);
        as_csv_text(w, r->runtime);
        as_csv_f64(w, r->start_seconds);
        as_csv_f64(w, r->end_seconds);
        as_csv_text(w, r->heap_watched ? "true" : "false");
#define X(name) put_fact(w, r->name);
        AS_PROCESS_FACTS(X)
#undef X
        as_csv_row_end(w);
    }
}

static void put_line(struct as_csv_writer *w, const struct as_heap_frame *f)
{
    as_csv_name(w, f ? f->file : NULL);
    if (f && f->line)
        as_csv_u64(w, f->line);
    else
        as_csv_empty(w);
}

/* The line, the innermost function that is inlined there, and who allocated most. */
static void put_place(struct as_csv_writer *w, const struct as_target_site *place)
{
    const struct as_target_caller *c = place->n_callers ? &place->caller[0] : NULL;

    put_line(w, place->n_frames ? &place->frame[0] : NULL);
    as_csv_name(w, place->n_frames > 1 ? place->frame[0].function : NULL);
    as_csv_name(w, c ? c->frame->function : NULL);
    put_line(w, c ? c->frame : NULL);
    as_csv_f64(w, c ? c->share : AS_UNKNOWN);
    if (c)
        as_csv_text(w, c->estimate ? "true" : "false");
    else
        as_csv_empty(w);
}

void as_watch_csv_sites(struct as_csv_writer *w, const struct as_target *target)
{
    static const char *const title[] = {"pid",
                                        "id",
                                        "function",
                                        "module",
                                        "offset",
                                        "kind",
                                        "layer",
#define X(name) #name,
                                        AS_HEAP_SITE_COUNTS(X)
#undef X
                                            "growth_bytes_per_second",
                                        "growth_p_value",
                                        "growing",
                                        "file",
                                        "line",
                                        "inlined_function",
                                        "caller",
                                        "caller_file",
                                        "caller_line",
                                        "caller_share",
                                        "caller_estimate"};

    put_header(w, title, AS_COUNT_OF(title));
    for (size_t i = 0; i < target->n_places; i++) {
        const struct as_target_site *place = &target->place[i];
        const struct as_heap_site *s = &place->site;

        as_csv_i64(w, place->pid);
        as_csv_u64(w, s->id);
        as_csv_name(w, place->function);
        as_csv_name(w, place->module);
        as_csv_u64(w, place->offset);
        as_csv_text(w, as_heap_kind_name(s->kind));
        as_csv_name(w, s->layer);
#define X(name) as_csv_u64(w, s->name);
        AS_HEAP_SUMS(X)
#undef X
        as_csv_u64(w, s->address);
        as_csv_f64(w, place->peak_known ? (double)s->peak_live_bytes : AS_UNKNOWN);
        as_csv_u64(w, s->temporary);
        as_csv_u64(w, s->same_layer);
        as_csv_f64(w, place->growth_bytes_per_second);
        as_csv_f64(w, place->growth_p_value);
        as_csv_text(w, place->growing ? "true" : "false");
        put_place(w, place);
        as_csv_row_end(w);
    }
}

void as_watch_csv_gemm(struct as_csv_writer *w, const struct as_target *target)
{
    static const char *const title[] = {"function",
                                        "dtype",
                                        "shape",
                                        "flops",
#define X(name) #name,
                                        AS_GEMM_COUNTS(X)
#undef X
                                            "flops_per_second",
                                        "roof_share"};

    put_header(w, title, AS_COUNT_OF(title));
    for (size_t i = 0; i < target->n_gemm; i++) {
        const struct as_gemm_calls *c = &target->gemm[i];

        as_csv_name(w, c->function);
        as_csv_name(w, c->dtype);
        as_csv_name(w, c->shape);
        as_csv_f64(w, c->flops);
#define X(name) as_csv_u64(w, c->name);
        AS_GEMM_COUNTS(X)
#undef X
        as_csv_f64(w, as_gemm_rate(c));
        as_csv_f64(w, as_gemm_roof_share(target, c));
        as_csv_row_end(w);
    }
}
