/* report/run/show.h - shows a run, of whatever kind, as text, Markdown, JSON or CSV. The command
 * that measured and `assay report` both come here, so they print the same bytes. */
#ifndef AS_REPORT_RUN_SHOW_H
#define AS_REPORT_RUN_SHOW_H

#include "analyze/run/metric_diff.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/csv_target.h"
#include "base/text/term.h"
#include "base/text/text.h"
#include "measure/peaks/peaks.h"
#include "trace/run/run_maker.h"

enum { AS_SHOW_MAX_WORDS = 64 };

/* What the user wants to see. Words are as they were given; each kind of run has its own. */
struct as_show {
    const char *section[AS_SHOW_MAX_WORDS];
    size_t n_sections; /* 0: the usual ones */
    const char *column[AS_SHOW_MAX_WORDS];
    size_t n_columns;
    const char *sort;     /* NULL: the usual order */
    size_t top;           /* rows of a list; 0: what suits it */
    unsigned scope_depth; /* parts of a name that make a scope; 0: all but the last */
    enum as_time_unit unit;
    int64_t thread; /* only this thread's index; -1: all */
    /* Of trace runs; 0: the default. */
    double percentile, leak_threshold_mb;
    size_t leak_window;
    bool fail_on_leak;
    const struct as_peaks
        *peaks; /* of this machine, for a run recorded here that holds none; NULL */
    bool markdown, classic, wide, quiet, csv_safe;
    bool redact; /* no arguments of commands; Markdown, which is shared, never has them */
};
#define AS_SHOW_INIT                                                                               \
    {                                                                                              \
        .thread = -1                                                                               \
    }

/* A kind of run: how it is shown. Functions answer 0, AS_SHOW_NOT_MET when the run does not meet
 * criteria that were set when it was measured or asked for now, or a negative code. */
#define AS_SHOW_NOT_MET 1
struct as_run_kind {
    const char *name; /* the fact "kind"; the schema of the JSON is "assay." and this */
    unsigned schema_version;
    bool has_calls; /* recorded layers: --unit, --thread, --classic and leak limits make sense, and
                       its page reports the health of the run itself */
    const char *(*section_at)(size_t i); /* words of --section; NULL: it has none */
    const char *(*sort_at)(size_t i);
    const char *(*column_at)(size_t i);
    int (*page)(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err);
    /* The members of the document, into an object that is open. */
    int (*json)(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err);
    const struct as_json_shape *document; /* its members, for the schema; NULL: not described */
    /* Answers the number of tables. NULL: the metrics are its one table. */
    int (*csv)(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err);
    /* The layers under the roofline, as SVG; NULL: it has none. */
    int (*roofline)(struct as_run *run, const struct as_show *show, struct as_out *out,
                    struct assay_error *err);
    /* Whether the criteria are met, where only files are written; NULL: there are none. */
    int (*met)(struct as_run *run, const struct as_show *show, struct assay_error *err);
    /* What `assay diff` compares of it; NULL: its layers. Samples may be in the run's memory. */
    int (*metrics)(struct as_run *run, struct as_metrics *metrics, struct assay_error *err);
};

/* The i-th kind; NULL after the last. */
const struct as_run_kind *as_run_kind_at(size_t i);

/* How that run is shown; NULL with `err` filled for a kind of a later version. */
const struct as_run_kind *as_run_kind_of(struct as_run *run, struct assay_error *err);

/* Prints the run. USAGE for words that its kind does not have. */
AS_MUST_USE int as_show_page(struct as_run *run, const struct as_show *show, struct as_out *out,
                             const struct as_term *term, struct assay_error *err);
AS_MUST_USE int as_show_json(struct as_run *run, const struct as_show *show, struct as_out *out,
                             struct assay_error *err);
/* Answers the number of tables written. */
AS_MUST_USE int as_show_csv(struct as_run *run, const struct as_show *show,
                            const struct as_csv_target *to, struct assay_error *err);

/* Draws the layers under the roofline; UNSUPPORTED for runs without one. */
AS_MUST_USE int as_show_roofline(struct as_run *run, const struct as_show *show, struct as_out *out,
                                 struct assay_error *err);

/* 0, AS_SHOW_NOT_MET or a negative code, without printing. */
AS_MUST_USE int as_show_met(struct as_run *run, const struct as_show *show,
                            struct assay_error *err);

/* The JSON Schema of the kind's document, of JSON Schema 2020-12. */
AS_MUST_USE int as_show_schema(const struct as_run_kind *kind, struct as_out *out,
                               struct assay_error *err);

/* Places of the words among those of `word_at`, as a set of bits; "all" is everything. The words
 * were checked. */
uint32_t as_show_sections(const struct as_show *show, const char *(*word_at)(size_t i));
/* The place of the word, or `usual`. */
unsigned as_show_word(const char *word, const char *(*word_at)(size_t i), unsigned usual);

#endif
