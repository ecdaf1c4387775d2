/* report/profile/models_table.h - several models side by side: one row each, with the metrics of
 * `assay inspect` or `assay profile`. A model that failed keeps its row, with the error. */
#ifndef AS_REPORT_PROFILE_MODELS_TABLE_H
#define AS_REPORT_PROFILE_MODELS_TABLE_H

#include "analyze/model/inspect.h"
#include "base/text/csv_target.h"
#include "report/run/show.h"

enum { AS_MODELS_MAX = 64, AS_MODELS_COLUMNS = 12 };

/* One model. `document` is its JSON, in memory of its own; empty when it failed. */
struct as_models_row {
    const char *model; /* borrowed */
    struct assay_error error;
    double value[AS_MODELS_COLUMNS]; /* NaN: unknown */
    bool few;                        /* too few samples carry the tail */
    bool interrupted;                /* while it was measured: a partial result */
    struct as_out document;
};

struct as_models_table {
    const char *schema; /* "assay.inspect_models" or "assay.profile_models" */
    bool profiled;      /* which of the two sets of columns */
    bool interrupted;   /* rows after the one that was measured have an error */
    size_t n, n_failed;
    struct as_models_row row[AS_MODELS_MAX];
};

void as_models_table_fini(struct as_models_table *table);

/* The values of one model, into a row that names it. */
void as_models_take_inspection(struct as_models_row *row, const struct as_inspection *in);
AS_MUST_USE int as_models_take_profile(struct as_models_row *row, struct as_run *run,
                                       struct assay_error *err);

/* As in struct as_forms; `of` is the table. */
int as_models_table_page(const void *of, bool markdown, struct as_out *out,
                         const struct as_term *term, struct assay_error *err);
int as_models_table_json(const void *of, struct as_out *out, struct assay_error *err);
int as_models_table_csv(const void *of, const struct as_csv_target *to, struct assay_error *err);

#endif
