/* report/run/verify_text.c - how whole a run is, as text or JSON.
 * Whole means that everything recorded can be read; it may still be unbalanced or not closed. */
#include "report/run/run_health.h"

#include "base/text/text.h"
#include "report/page/check_rows.h"
#include "report/page/page.h"
#include "report/run/report.h"

static const enum as_style level_style[] = {
    [AS_HEALTH_NOTE] = AS_STYLE_NONE,
    [AS_HEALTH_WARN] = AS_STYLE_WARN,
    [AS_HEALTH_LOSS] = AS_STYLE_BAD,
};

int as_verify_page(const struct as_verified *found, bool markdown, struct as_out *out,
                   const struct as_term *term, struct assay_error *err)
{
    const struct as_layers *layers = found->layers;
    const struct as_run *run = layers->run;
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(layers, finding);
    bool whole = as_health_is_whole(layers) && !found->faulty;
    char bytes[AS_TEXT_HUMAN], events[AS_TEXT_HUMAN], calls[AS_TEXT_HUMAN];
    struct as_page page;

    as_page_open(&page, out, term, markdown);
    as_page_line(&page, whole ? AS_STYLE_GOOD : AS_STYLE_BAD, "%s %s: %s",
                 as_page_glyph(&page, whole ? AS_GLYPH_CHECK : AS_GLYPH_CROSS), run->path,
                 whole ? "intact" : "not intact");
    for (size_t i = 0; i < n; i++)
        as_page_line(&page, level_style[finding[i].level], "  %s", finding[i].text);
    if (found->faulty)
        as_page_line(&page, AS_STYLE_BAD, "  %s", as_page_name(&page, found->faulty));
    as_text_bytes(bytes, (double)run->size_bytes);
    as_text_count(events, layers->events);
    as_text_count(calls, layers->calls);
    as_page_line(&page, AS_STYLE_DIM,
                 "  %s, a run of kind \"%s\", format %u.%u; %s events of %zu thread%s decoded, %s "
                 "calls of %zu layer%s",
                 bytes, as_page_name(&page, found->kind), run->header.major, run->header.minor,
                 events, layers->n_threads, layers->n_threads == 1 ? "" : "s", calls,
                 layers->n_layers, layers->n_layers == 1 ? "" : "s");
    return as_page_close(&page, err);
}

void as_verify_csv(const struct as_verified *found, struct as_csv_writer *w)
{
    static const enum as_check_result results[] = {
        [AS_HEALTH_NOTE] = AS_CHECK_OK,
        [AS_HEALTH_WARN] = AS_CHECK_WARNING,
        [AS_HEALTH_LOSS] = AS_CHECK_FAILED,
    };
    const struct as_check_rows rows = {w, found->layers->run->path, found->kind};
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(found->layers, finding);
    bool whole = as_health_is_whole(found->layers) && !found->faulty;

    as_check_rows_begin(&rows);
    as_check_row(&rows, "whole", whole ? AS_CHECK_OK : AS_CHECK_FAILED, NULL);
    for (size_t i = 0; i < n; i++)
        as_check_row(&rows, finding[i].word, results[finding[i].level], finding[i].text);
    if (found->faulty)
        as_check_row(&rows, "parts", AS_CHECK_FAILED, found->faulty);
}

int as_verify_json(const struct as_verified *found, struct as_out *out, struct assay_error *err)
{
    const struct as_layers *layers = found->layers;
    const struct as_run *run = layers->run;
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.verify");
    as_json_kv_u64(&w, "schema_version", 2);
    as_json_kv_text(&w, "path", run->path);
    as_json_kv_text(&w, "kind", found->kind);
    as_json_kv_bool(&w, "whole", as_health_is_whole(layers) && !found->faulty);
    as_json_kv_text(&w, "parts_error", found->faulty);
    as_json_kv_u64(&w, "size_bytes", run->size_bytes);
    as_json_kv_u64(&w, "run_format_major", run->header.major);
    as_json_kv_u64(&w, "run_format_minor", run->header.minor);
    AS_JSON_FIELDS(&w, layers, n_threads, n_layers, calls);
    as_json_health(&w, layers);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}
