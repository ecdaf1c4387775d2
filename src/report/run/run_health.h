/* report/run/run_health.h - what is wrong with a run, each thing in one word and one sentence.
 * The screen, the JSON and `assay verify` all say it in these words. */
#ifndef AS_REPORT_RUN_RUN_HEALTH_H
#define AS_REPORT_RUN_RUN_HEALTH_H

#include "analyze/run/layers.h"
#include "base/output.h"
#include "base/text/csv.h"
#include "base/text/term.h"

enum as_finding_level {
    AS_HEALTH_NOTE, /* worth knowing; nothing is missing */
    AS_HEALTH_WARN, /* figures are weaker than they look */
    AS_HEALTH_LOSS  /* something recorded is missing */
};

struct as_health_finding {
    const char *word; /* for programs, as in "not_closed" */
    enum as_finding_level level;
    char text[240];
};

#define AS_MAX_FINDINGS 20

/* Fills `out` and returns how many; the gravest need not come first, but the state of the session
 * does. */
size_t as_health_findings(const struct as_layers *layers,
                          struct as_health_finding out[AS_MAX_FINDINGS]);

/* Whether everything that was recorded can be read. */
bool as_health_is_whole(const struct as_layers *layers);

/* One word for the whole: "complete", "live", "not_closed", "damaged", "lossy". */
const char *as_health_status(const struct as_layers *layers);

/* ---- verify_text.c ---- */

/* `layers` of a run with every thread analysed, so that every event was decoded. */
/* What `assay verify` found out about a run. */
struct as_verified {
    const struct as_layers *layers;
    const char *kind;   /* of the run */
    const char *faulty; /* why its kind cannot read it; NULL: every part is as it should be */
};

AS_MUST_USE int as_verify_page(const struct as_verified *found, bool markdown, struct as_out *out,
                               const struct as_term *term, struct assay_error *err);

/* A row for the whole and one for each thing found; see report/page/check_rows.h. */
void as_verify_csv(const struct as_verified *found, struct as_csv_writer *w);

/* Schema "assay.verify". */
AS_MUST_USE int as_verify_json(const struct as_verified *found, struct as_out *out,
                               struct assay_error *err);

#endif
