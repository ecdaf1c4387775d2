/* report/profile/models_table.c - several models side by side: one row each, with the metrics of
 * `assay inspect` or `assay profile`. A model that failed keeps its row, with the error. */
#include "report/profile/models_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/table.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

enum unit { COUNT, BYTES, NANOSECONDS, TAIL, RATE, SHARE, RATIO };

struct column {
    const char *title, *key;
    enum unit unit;
    unsigned drop;
};

static const struct column inspected[] = {
    {"parameters", "parameters", COUNT, 0},
    {"weights", "parameter_bytes", BYTES, 0},
    {"MACs", "macs", COUNT, 0},
    {"FLOPs", "flops", COUNT, 2},
    {"peak act.", "activation_bytes_peak", BYTES, 0},
    {"FLOP/byte", "arithmetic_intensity", RATE, 1},
    {"nodes", "nodes", COUNT, 3},
};

static const struct column profiled[] = {
    {"p50", "p50_ns", NANOSECONDS, 0},
    {"CI low", "p50_ci95_low_ns", NANOSECONDS, 3},
    {"CI high", "p50_ci95_high_ns", NANOSECONDS, 3},
    {"p95", "p95_ns", TAIL, 2},
    {"samples/s", "samples_per_second", RATE, 4},
    {"GFLOP/s", "gflops_per_second", RATE, 0},
    {"% roofline", "roof_fraction", SHARE, 0},
    {"peak mem.", "peak_memory_bytes", BYTES, 1},
    {"vs first", "relative_to_first", RATIO, 0},
};
enum { P50 = 0, RELATIVE = 8, WIDEST_NAME = 20 };

static const struct column *columns_of(const struct as_models_table *t, size_t *n)
{
    *n = t->profiled ? AS_COUNT_OF(profiled) : AS_COUNT_OF(inspected);
    return t->profiled ? profiled : inspected;
}

void as_models_table_fini(struct as_models_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        as_out_drop(&table->row[i].document);
}

void as_models_take_inspection(struct as_models_row *row, const struct as_inspection *in)
{
    bool graph = in->plan && in->plan->n_steps > 0;
    const double value[] = {(double)in->params->parameters,
                            (double)in->params->parameter_bytes,
                            (double)in->costs->forward.macs,
                            (double)in->flops,
                            graph ? (double)in->plan->peak_bytes : AS_UNKNOWN,
                            in->intensity,
                            (double)in->n_nodes};

    memcpy(row->value, value, sizeof value);
}

int as_models_take_profile(struct as_models_row *row, struct as_run *run, struct assay_error *err)
{
    struct as_profile_data *data = as_alloc_zero(1, sizeof *data);
    struct as_profile *p = NULL;
    int rc = data ? as_profile_data_get(data, run, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK)
        rc = as_profile_new(&p, data, 0, err);
    if (rc == ASSAY_OK) {
        const struct as_latency_metrics *l = &data->latency.figures;
        bool known = l->median.interval.reached;
        const double value[] = {l->summary.median,
                                known ? l->median.interval.low : AS_UNKNOWN,
                                known ? l->median.interval.high : AS_UNKNOWN,
                                l->summary.percentile[AS_SUMMARY_P95],
                                p->samples_per_second,
                                p->roof.achieved / 1e9,
                                p->roof.roof_fraction,
                                data->memory_counted ? (double)data->memory.all.peak_bytes
                                                     : AS_UNKNOWN,
                                AS_UNKNOWN};

        memcpy(row->value, value, sizeof value);
        row->few = !l->summary.supported[AS_SUMMARY_P95];
    }
    as_profile_free(p);
    as_free(data);
    return rc;
}

/* Against the first model that could be measured. */
static double value_of(const struct as_models_table *t, size_t r, size_t c)
{
    if (!t->profiled || c != RELATIVE)
        return t->row[r].value[c];
    for (size_t i = 0; i < t->n; i++)
        if (!t->row[i].error.code)
            return t->row[r].value[P50] / t->row[i].value[P50];
    return AS_UNKNOWN;
}

static void put_cell(struct as_table *table, const struct column *column, double value, bool few)
{
    char text[AS_TEXT_HUMAN] = "-";

    if (!isfinite(value)) {
        as_table_text(table, AS_STYLE_DIM, "-");
        return;
    }
    if (column->unit == COUNT)
        as_text_si(text, value, NULL);
    else if (column->unit == BYTES)
        as_text_bytes(text, value);
    else if (column->unit == NANOSECONDS || column->unit == TAIL)
        as_text_ns(text, value, AS_TIME_AUTO);
    else if (column->unit == SHARE)
        as_text_share(text, value);
    else
        (void)snprintf(text, sizeof text, value < 1000 ? "%.3g" : "%.0f", value);
    as_table_printf(table, AS_STYLE_NONE, "%s%s%s", column->unit == TAIL && few ? "~" : "", text,
                    column->unit == RATIO ? "x" : "");
}

static void put_table(const struct as_models_table *t, struct as_page *page)
{
    struct as_table_column shown[AS_MODELS_COLUMNS + 1] = {{.title = "model", .identity = true}};
    unsigned longest = 8;
    struct as_table table;
    size_t n;
    const struct column *column = columns_of(t, &n);

    for (size_t c = 0; c < n; c++)
        shown[c + 1] = (struct as_table_column){
            .title = column[c].title, .align = AS_ALIGN_RIGHT, .drop = column[c].drop};
    for (size_t r = 0; r < t->n; r++)
        if (strlen(t->row[r].model) > longest)
            longest = (unsigned)strlen(t->row[r].model);
    shown[0].min_width = longest < WIDEST_NAME ? longest : WIDEST_NAME; /* other columns go first */
    as_table_init(&table, shown, n + 1);
    for (size_t r = 0; r < t->n; r++) {
        as_table_row(&table);
        as_table_text(&table, AS_STYLE_HEADING, as_page_name(page, t->row[r].model));
        for (size_t c = 0; c < n; c++)
            put_cell(&table, &column[c], t->row[r].error.code ? AS_UNKNOWN : value_of(t, r, c),
                     t->row[r].few);
    }
    as_page_table(page, &table);
    as_table_fini(&table);
}

int as_models_table_page(const void *of, bool markdown, struct as_out *out,
                         const struct as_term *term, struct assay_error *err)
{
    const struct as_models_table *t = of;
    struct as_page page;
    bool few = false;

    as_page_open(&page, out, term, markdown);
    put_table(t, &page);
    for (size_t r = 0; r < t->n; r++) {
        few |= t->row[r].few;
        if (t->row[r].error.code)
            as_page_line(&page, AS_STYLE_WARN, "! %s: %s", as_page_name(&page, t->row[r].model),
                         as_page_name(&page, t->row[r].error.msg));
        else if (t->row[r].interrupted)
            as_page_line(&page, AS_STYLE_WARN, "! %s: interrupted, a partial result",
                         as_page_name(&page, t->row[r].model));
    }
    if (t->profiled)
        as_page_line(&page, AS_STYLE_DIM,
                     "CI is the 95 %% CI of p50. The models were profiled one after the other; "
                     "'assay bench' interleaves them.");
    if (few)
        as_page_line(&page, AS_STYLE_DIM, "~ rests on few samples.");
    return as_page_close(&page, err);
}

int as_models_table_json(const void *of, struct as_out *out, struct assay_error *err)
{
    const struct as_models_table *t = of;
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", t->schema);
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_u64(&w, "n_failed", t->n_failed);
    as_json_kv_bool(&w, "interrupted", t->interrupted);
    as_json_kv_array(&w, "models");
    for (size_t r = 0; r < t->n; r++) {
        const struct as_out *document = &t->row[r].document;
        size_t size = document->used;
        const char *text = t->row[r].error.code ? NULL : document->buf;

        while (text && size > 0 && text[size - 1] == '\n')
            size--;
        if (text) {
            as_json_raw(&w, text, size);
            continue;
        }
        as_json_object(&w);
        as_json_kv_text(&w, "model", t->row[r].model);
        as_json_kv_text(&w, "error", t->row[r].error.msg);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}

static int write_csv(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_models_table *t = of;
    size_t n;
    const struct column *column = columns_of(t, &n);

    (void)err;
    as_csv_text(w, "model");
    for (size_t c = 0; c < n; c++)
        as_csv_text(w, column[c].key);
    as_csv_text(w, "error");
    as_csv_row_end(w);
    for (size_t r = 0; r < t->n; r++) {
        as_csv_name(w, t->row[r].model);
        for (size_t c = 0; c < n; c++) {
            double value = t->row[r].error.code ? AS_UNKNOWN : value_of(t, r, c);

            if (as_csv_is_ns(column[c].key))
                as_csv_ns(w, value);
            else if (value >= 0 && value < 9e15 && column[c].unit <= BYTES)
                as_csv_u64(w, (uint64_t)value);
            else
                as_csv_f64(w, value);
        }
        as_csv_name(w, t->row[r].error.code    ? t->row[r].error.msg
                       : t->row[r].interrupted ? "interrupted: a partial result"
                                               : NULL);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

int as_models_table_csv(const void *of, const struct as_csv_target *to, struct assay_error *err)
{
    int rc = as_csv_target_open(to, err);

    if (rc == ASSAY_OK)
        rc = as_csv_target_put(to, "models.csv", write_csv, of, err);
    return rc < 0 ? rc : 1;
}
