/* report/compare/program_diff.c - what changed between two runs of `assay run`, by site, GEMM call
 * and process: three tables, and the member `program` of the JSON. */
#include "analyze/watch/target_diff.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/compare/compare_report.h"
#include "report/page/page.h"

#include <math.h>

#define USUAL_ROWS 10u

typedef void (*cell_fn)(struct as_table *t, double value);

static void cell_bytes(struct as_table *t, double value)
{
    char text[AS_TEXT_HUMAN];

    as_text_bytes(text, value);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void cell_ns(struct as_table *t, double value)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, value, AS_TIME_AUTO);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void cell_count(struct as_table *t, double value)
{
    if (value >= 0 && value < 0x1p63)
        as_cell_count(t, (uint64_t)value);
    else
        as_table_text(t, AS_STYLE_NONE, "-");
}

static void cell_change(struct as_table *t, const double value[2])
{
    double ratio = value[0] > 0 ? value[1] / value[0] - 1 : AS_UNKNOWN;
    char text[AS_TEXT_HUMAN];

    if (isnan(value[0]) || isnan(value[1])) {
        as_table_text(t, AS_STYLE_NONE, isnan(value[0]) ? "only B" : "only A");
        return;
    }
    as_text_percent(text, fabs(ratio));
    as_table_printf(t, AS_STYLE_NONE, "%s%s", isnan(ratio) ? "" : ratio < 0 ? "-" : "+", text);
}

struct part {
    const char *heading, *what, *name, *count;
    const struct as_target_diff_list *list;
    cell_fn cell;
};

/* They stand by change: those behind it are as they were. */
static size_t n_changed(const struct as_target_diff_list *list)
{
    size_t n = 0;

    while (n < list->n) {
        const double *v = list->row[n].value;

        if (v[0] >= v[1] && v[1] >= v[0])
            break;
        n++;
    }
    return n;
}

static void put_part(const struct part *part, size_t top, struct as_page *page)
{
    const struct as_table_column columns[] = {
        {.title = part->name, .min_width = 36, .may_shrink = true},
        {.title = "A", .align = AS_ALIGN_RIGHT},
        {.title = "B", .align = AS_ALIGN_RIGHT},
        {.title = "change", .align = AS_ALIGN_RIGHT},
        {.title = part->count, .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "in B", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    size_t most = top ? top : USUAL_ROWS, n = n_changed(part->list), shown = n < most ? n : most;
    struct as_table t;

    if (n == 0)
        return;
    as_page_heading(page, part->heading, part->what);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        const struct as_target_diff_row *r = &part->list->row[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, r->name));
        part->cell(&t, r->value[0]);
        part->cell(&t, r->value[1]);
        cell_change(&t, r->value);
        cell_count(&t, r->count[0]);
        cell_count(&t, r->count[1]);
    }
    as_page_table(page, &t);
    if (shown < n)
        as_page_line(page, AS_STYLE_DIM, "%zu more differ: --top %zu shows all", n - shown, n);
}

void as_program_diff_put(const struct as_target_diff *diff, size_t top, struct as_page *page)
{
    const struct part part[] = {
        {"Heap", "sites by how far their live bytes at the peak are apart", "allocated at",
         "allocations", &diff->sites, cell_bytes},
        {"GEMM calls", "by how far their times are apart", "function and shape", "calls",
         &diff->products, cell_ns},
        {"Processes", "by how far their CPU times are apart", "command", "processes",
         &diff->processes, cell_ns},
    };

    for (size_t i = 0; i < AS_COUNT_OF(part); i++)
        put_part(&part[i], top, page);
}

/* The keys of a row: what `value`, `count` and `largest` are. */
struct keys {
    const char *list, *value, *count, *largest;
};

static void put_pair(struct as_json_writer *w, const char *key, const double value[2])
{
    as_json_kv_array(w, key);
    as_json_f64(w, value[0]);
    as_json_f64(w, value[1]);
    as_json_array_end(w);
}

static void put_list(struct as_json_writer *w, const struct keys *keys,
                     const struct as_target_diff_list *list, size_t top)
{
    size_t n = top && top < list->n ? top : list->n;

    as_json_kv_array(w, keys->list);
    for (size_t i = 0; i < n; i++) {
        const struct as_target_diff_row *r = &list->row[i];

        as_json_object(w);
        as_json_kv_text(w, "name", r->name);
        put_pair(w, keys->value, r->value);
        put_pair(w, keys->count, r->count);
        put_pair(w, keys->largest, r->largest);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_program_diff_json(struct as_json_writer *w, const struct as_target_diff *diff, size_t top)
{
    static const struct keys sites = {"sites", "peak_live_bytes", "allocations", "allocated_bytes"};
    static const struct keys products = {"products", "time_ns", "calls", "max_ns"};
    static const struct keys processes = {"processes", "cpu_ns", "n_processes", "peak_rss_bytes"};

    as_json_kv_object(w, "program");
    put_list(w, &sites, &diff->sites, top);
    put_list(w, &products, &diff->products, top);
    put_list(w, &processes, &diff->processes, top);
    as_json_object_end(w);
}
