/* measure/latency/run_history.c - medians of earlier runs of the same thing on the same machine:
 * how much runs differ, which no single run can see. */
#include "measure/latency/run_history.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file/file_read.h"
#include "base/json/json_tree.h"
#include "base/units.h"
#include "stats/describe/sorted.h"

#define SCHEMA    "assay.run_history"
#define MAX_BYTES 65536

enum { FEW = 8 };              /* too few for the middle half of them */
#define MIDDLE_HALF_WORTH 0.37 /* efficiency of the median distance, of the deviation's */

static bool is_sane(double median_ns, double unix_s)
{
    return median_ns >= 1 && median_ns < 1e18 && unix_s >= 0 && unix_s < 1e12;
}

void as_run_history_add(struct as_run_history *history, double median_ns, double unix_s)
{
    if (!is_sane(median_ns, unix_s))
        return;
    if (history->n == AS_HISTORY_KEPT) {
        history->n--;
        memmove(history->median_ns, history->median_ns + 1, history->n * sizeof(double));
        memmove(history->unix_s, history->unix_s + 1, history->n * sizeof(double));
    }
    history->median_ns[history->n] = median_ns;
    history->unix_s[history->n++] = unix_s;
}

void as_run_history_parse(struct as_run_history *history, const void *data, size_t size)
{
    struct as_arena arena = {0};
    const struct as_json_value *root = NULL, *runs;
    const char *schema;

    *history = (struct as_run_history){0};
    if (size <= MAX_BYTES && as_json_tree_read(&root, &arena, data, size, 1024, NULL) == ASSAY_OK) {
        schema = as_json_words(as_json_get(root, "schema"));
        runs = as_json_get(root, "runs");
        if (schema && strcmp(schema, SCHEMA) == 0 && runs && runs->type == AS_TYPE_ARRAY)
            for (const struct as_json_value *v = runs->first; v; v = v->next)
                as_run_history_add(history, as_json_number(as_json_get(v, "median_ns")),
                                   as_json_number(as_json_get(v, "unix_s")));
    }
    as_arena_fini(&arena);
}

void as_run_history_load(struct as_run_history *history, const char *path)
{
    char *text = as_alloc(MAX_BYTES + 1);
    ssize_t n = text ? as_read_kept(path, text, MAX_BYTES + 1) : -1;

    *history = (struct as_run_history){0};
    if (n > 0 && n <= MAX_BYTES)
        as_run_history_parse(history, text, (size_t)n);
    as_free(text);
}

int as_run_history_save(const struct as_run_history *history, const char *path,
                        struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out out;
    int rc = as_out_file(&out, path, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", SCHEMA);
    as_json_kv_array(&w, "runs");
    for (size_t i = 0; i < history->n; i++) {
        as_json_object(&w);
        as_json_kv_f64(&w, "median_ns", history->median_ns[i]);
        as_json_kv_f64(&w, "unix_s", history->unix_s[i]);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_out_char(&out, '\n');
    rc = as_json_writer_finish(&w, err);
    if (rc == ASSAY_OK)
        return as_out_close(&out, err);
    as_out_drop(&out);
    return rc;
}

static double deviation(const double *logs, size_t n)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        mean += logs[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

double as_run_history_spread(const struct as_run_history *history)
{
    double logs[AS_HISTORY_KEPT], scratch[AS_HISTORY_KEPT];
    struct as_sorted sorted = as_sorted_f64(logs, history->n);

    if (history->n < AS_HISTORY_LEAST)
        return AS_UNKNOWN;
    for (size_t i = 0; i < history->n; i++)
        logs[i] = log(history->median_ns[i]);
    if (history->n < FEW)
        return deviation(logs, history->n);
    as_sort_f64(logs, history->n, scratch);
    return 1.4826 * as_sorted_mad(&sorted);
}

double as_run_history_median(const struct as_run_history *history)
{
    double sorted[AS_HISTORY_KEPT], scratch[AS_HISTORY_KEPT];
    struct as_sorted view = as_sorted_f64(sorted, history->n);

    if (history->n < AS_HISTORY_LEAST)
        return AS_UNKNOWN;
    memcpy(sorted, history->median_ns, history->n * sizeof *sorted);
    as_sort_f64(sorted, history->n, scratch);
    return as_sorted_median(&view);
}

double as_run_history_degrees(const struct as_run_history *history)
{
    double n = (double)history->n;

    if (history->n < AS_HISTORY_LEAST)
        return AS_UNKNOWN;
    return (n - 1) * (history->n < FEW ? 1 : MIDDLE_HALF_WORTH);
}
