/* report/compare/compare_csv.c - what changed between two runs or models, as one CSV table each:
 * layers, metrics, or the totals of two models. Unknown values are empty. */
#include "base/text/csv.h"
#include "base/units.h"
#include "report/compare/compare_report.h"

static void put_header(struct as_csv_writer *w, const char *const *names)
{
    for (; *names; names++)
        as_csv_text(w, *names);
    as_csv_row_end(w);
}

static void put_test(struct as_csv_writer *w, const struct as_diff_test *t)
{
    bool tested = t->basis != AS_DIFF_NONE;

    as_csv_f64(w, tested ? t->p : AS_UNKNOWN);
    as_csv_f64(w, tested ? t->q : AS_UNKNOWN);
    as_csv_ns(w, tested ? t->shift_ns : AS_UNKNOWN);
    as_csv_ns(w, tested ? t->shift_low_ns : AS_UNKNOWN);
    as_csv_ns(w, tested ? t->shift_high_ns : AS_UNKNOWN);
}

int as_diff_csv(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    static const char *const names[] = {
        "layer",     "before_calls",      "after_calls",        "before_ns", "after_ns",
        "change_ns", "change_percent",    "share_of_changes",   "p",         "p_corrected",
        "shift_ns",  "shift_ci95_low_ns", "shift_ci95_high_ns", "verdict",   NULL};
    const struct as_diff_report *report = of;
    const struct as_diff *d = report->diff;

    (void)err;
    put_header(w, names);
    for (size_t i = 0; i < d->n_rows && (!report->top || i < report->top); i++) {
        const struct as_diff_row *row = &d->row[i];

        as_csv_name(w, row->name);
        for (int k = 0; k < 2; k++)
            as_csv_f64(w, row->in[k] ? (double)row->calls[k] : AS_UNKNOWN);
        for (int k = 0; k < 2; k++)
            as_csv_ns(w, row->in[k] ? row->time_ns[k] : AS_UNKNOWN);
        as_csv_ns(w, row->change_ns);
        as_csv_f64(w, 100 * row->change);
        as_csv_f64(w, row->change_share);
        put_test(w, &row->test);
        as_csv_text(w, as_diff_verdict_name(row->verdict));
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static void put_metrics(struct as_csv_writer *w, const struct as_metric_diff *d, size_t top,
                        bool redact)
{
    static const char *const names[] = {"metric",
                                        "unit",
                                        "before",
                                        "after",
                                        "change_percent",
                                        "p",
                                        "p_corrected",
                                        "shift_ns",
                                        "shift_ci95_low_ns",
                                        "shift_ci95_high_ns",
                                        "verdict",
                                        NULL};

    put_header(w, names);
    for (size_t i = 0; i < d->n_rows && (!top || i < top); i++) {
        const struct as_metric_row *row = &d->row[i];

        as_csv_name(w, redact ? row->public_name : row->name);
        as_csv_text(w, row->unit);
        as_csv_f64(w, row->value[0]);
        as_csv_f64(w, row->value[1]);
        as_csv_f64(w, 100 * row->change);
        put_test(w, &row->test);
        as_csv_text(w,
                    row->verdict == AS_DIFF_UNTESTED ? NULL : as_diff_verdict_name(row->verdict));
        as_csv_row_end(w);
    }
}

int as_metrics_csv(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_metrics_report *report = of;

    (void)err;
    put_metrics(w, report->diff, report->top, report->redact);
    return ASSAY_OK;
}

int as_models_csv(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_models_report *report = of;

    (void)err;
    put_metrics(w, report->diff->sums, 0, false);
    return ASSAY_OK;
}
