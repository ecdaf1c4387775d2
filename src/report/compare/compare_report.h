/* report/compare/compare_report.h - what changed between two runs or models, as text, Markdown or
 * JSON. Only renders: every figure comes from analyze/run/ and analyze/model/. */
#ifndef AS_REPORT_COMPARE_COMPARE_REPORT_H
#define AS_REPORT_COMPARE_COMPARE_REPORT_H

#include "analyze/model/model_diff.h"
#include "analyze/run/run_diff.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/term.h"

struct as_diff_report {
    const struct as_diff *diff;
    const struct as_target_diff *program; /* of two runs of `assay run`; NULL: they are not */
    const char *broken[2];                /* what is wrong with a run; NULL: nothing */
    const char *unsteady[2];              /* why a profile was not steady; NULL: it was */
    size_t top;                           /* rows shown; 0: 20 in text, all in JSON */
    bool markdown, wide;
};

AS_MUST_USE int as_diff_page(const struct as_diff_report *report, struct as_out *out,
                             const struct as_term *term, struct assay_error *err);

/* Schema "assay.diff". */
AS_MUST_USE int as_diff_json(const struct as_diff_report *report, struct as_out *out,
                             struct assay_error *err);

/* ---- program_diff.c ---- */

struct as_target_diff;
struct as_page;

/* Three tables; the member "program" of an object that is open. */
void as_program_diff_put(const struct as_target_diff *diff, size_t top, struct as_page *page);
void as_program_diff_json(struct as_json_writer *w, const struct as_target_diff *diff, size_t top);

/* The member "test" of an object that is open. */
void as_diff_test_json(struct as_json_writer *w, const struct as_diff_test *test);

/* ---- metrics_text.c ---- */

struct as_metrics_report {
    const struct as_metric_diff *diff;
    const char *kind;      /* of both runs */
    const char *name[2];   /* of their files */
    const char *broken[2]; /* what is wrong with a run; NULL: nothing */
    size_t top;            /* rows shown; 0: all */
    bool redact;           /* public names; Markdown has no others */
    bool markdown, wide;
};

AS_MUST_USE int as_metrics_page(const struct as_metrics_report *report, struct as_out *out,
                                const struct as_term *term, struct assay_error *err);
/* Schema "assay.diff_metrics". */
AS_MUST_USE int as_metrics_json(const struct as_metrics_report *report, struct as_out *out,
                                struct assay_error *err);

/* The table alone; `top` 0: all rows. */
struct as_page;
void as_metrics_table(struct as_page *page, const struct as_metric_diff *diff, size_t top,
                      bool redact);
/* The same as an array under that key. */
void as_metrics_rows_json(struct as_json_writer *w, const char *key,
                          const struct as_metric_diff *diff, size_t top, bool redact);

/* ---- models_text.c ---- */

struct as_models_report {
    const struct as_model_diff *diff;
    const char *name[2];
    size_t top; /* rows of each list; 0: 20 in text, all in JSON */
    bool markdown, wide;
};

AS_MUST_USE int as_models_page(const struct as_models_report *report, struct as_out *out,
                               const struct as_term *term, struct assay_error *err);
/* Schema "assay.diff_model". */
AS_MUST_USE int as_models_json(const struct as_models_report *report, struct as_out *out,
                               struct assay_error *err);

/* ---- compare_csv.c ---- */

/* One table each, of the report that `of` points at: layers, metrics, totals of models. */
struct as_csv_writer;
int as_diff_csv(struct as_csv_writer *w, const void *of, struct assay_error *err);
int as_metrics_csv(struct as_csv_writer *w, const void *of, struct assay_error *err);
int as_models_csv(struct as_csv_writer *w, const void *of, struct assay_error *err);

#endif
