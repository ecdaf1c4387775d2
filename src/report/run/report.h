/* report/run/report.h - what was found out about a run, as text, Markdown, JSON or a folder of CSV
 * files. Only renders: every figure comes from analyze/. */
#ifndef AS_REPORT_RUN_REPORT_H
#define AS_REPORT_RUN_REPORT_H

#include <stdbool.h>

#include "analyze/run/layers.h"
#include "analyze/run/run_findings.h"
#include "analyze/watch/target_findings.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/csv_target.h"
#include "base/text/term.h"
#include "base/text/text.h"
#include "report/page/page.h"

#define AS_REPORT_MAX_COLUMNS 64 /* as many as AS_SHOW_MAX_WORDS */

/* The parts of a page: name for --section, what it shows, and whether it is on the page without
 * being asked for. */
#define AS_REPORT_SECTIONS(X)                                                                      \
    X(SUMMARY, summary, "what was recorded, when, where, and whether it is intact", true)          \
    X(PROGRAM, program, "what ran, its time and memory (runs of 'assay run')", true)               \
    X(PROCESSES, processes, "the processes of the program", true)                                  \
    X(HEAP, heap, "allocation sites, live memory, stacks", true)                                   \
    X(PRODUCTS, products, "GEMM calls by function and shape", true)                                \
    X(LAYERS, layers, "the layers and their times", true)                                          \
    X(SLOWEST, slowest, "the slowest layers by mean time of a call", false)                        \
    X(VARIABLE, variable, "the layers whose calls differ most", true)                              \
    X(PHASES, phases, "forward, backward, optimizer, data, communication", true)                   \
    X(ITERATIONS, iterations, "how long iterations took", true)                                    \
    X(LATENCY, latency, "iterations by sequence length, with nearest-rank percentiles", false)     \
    X(CHANNELS, channels, "sampled series", true)                                                  \
    X(MESSAGES, messages, "messages and instant events", true)                                     \
    X(ASYNC, async, "spans across threads, and flows", true)                                       \
    X(LOCKS, locks, "how long threads waited for locks and held them", true)                       \
    X(THREADS, threads, "what each thread did", false)                                             \
    X(TREE, tree, "which layer called which", false)                                               \
    X(TIMELINE, timeline, "single calls in the order they ended", false)                           \
    X(HEALTH, health, "lost, corrupt and unbalanced events", false)                                \
    X(MEMORY, memory, "memory over time and by layer", false)                                      \
    X(LEAKS, leaks, "memory that grows and is not freed", false)                                   \
    X(BOTTLENECKS, bottlenecks, "bottlenecks: slow layers, causes, recommendations", false)        \
    X(ANOMALIES, anomalies, "anomalies: unusual calls (manager runs)", false)                      \
    X(DISTRIBUTED, distributed, "balance of ranks (manager runs)", false)                          \
    X(BACKENDS, backends, "backends compared (manager runs)", false)

enum as_report_section {
#define X(name, function, help, usual) AS_SECTION_##name,
    AS_REPORT_SECTIONS(X)
#undef X
        AS_SECTION_COUNT
};

/* "summary" and the others, then "all"; NULL after the last. */
const char *as_report_section_at(size_t i);
const char *as_report_section_help(size_t i);

struct as_report_options {
    uint32_t sections;       /* bit by enum as_report_section; 0: the usual ones */
    size_t top;              /* rows of a list; 0: what suits it */
    enum as_layer_sort sort; /* of the layers */
    unsigned column[AS_REPORT_MAX_COLUMNS];
    size_t n_columns; /* 0: the usual ones */
    enum as_time_unit unit;
    bool wide, markdown, quiet;
};

struct as_report {
    struct as_run *run;
    const struct as_layers *layers;
    const struct as_report_options *options;
    const struct as_run_findings *view; /* needed by the sections of AS_SECTIONS_OF_VIEW, by the
                                           classic text; JSON has them when they are asked for */
    /* Of a run of `assay run`; NULL for others. Both or none. */
    const struct as_target *program;
    const struct as_target_findings *findings;
};

/* Sections that look at every call once more; bits as in as_report_options. */
#define AS_SECTIONS_OF_VIEW                                                                        \
    (1u << AS_SECTION_MEMORY | 1u << AS_SECTION_LEAKS | 1u << AS_SECTION_BOTTLENECKS)

/* Text for a terminal, or Markdown. */
AS_MUST_USE int as_report_page(const struct as_report *report, struct as_out *out,
                               const struct as_term *term, struct assay_error *err);

/* The members of the document "assay.trace". */
AS_MUST_USE int as_report_json(const struct as_report *report, struct as_json_writer *w,
                               struct assay_error *err);

/* Makes the folder and its parents; files of the same names are replaced, each at once. Returns how
 * many. */
AS_MUST_USE int as_report_csv(const struct as_report *report, const struct as_csv_target *to,
                              struct assay_error *err);

/* Rows a list shows: what the user wants, else `usual`; never more than `n`. */
size_t as_report_rows(const struct as_report *report, size_t usual, size_t n);

/* Whether the report is about that thread: all of them, unless one was asked for. */
bool as_report_has_thread(const struct as_report *report, const struct as_run_thread *thread);

/* "label", or the program's name without its folder, or the file's; never NULL. */
const char *as_report_name(const struct as_report *report);

/* "layer", "function", ...; "" for a number that is none. */
const char *as_category_name(uint32_t category);
const char *as_phase_name(uint32_t phase);
const char *as_span_state_name(enum as_span_state state);

/* "tokens=16 loss=0.5": the notes of a call, cut where `out` is full. */
void as_span_notes_text(const struct as_run *run, const struct as_span *span, char *out,
                        size_t capacity);

/* Each prints one section onto the page. */
#define X(name, function, help, usual)                                                             \
    AS_MUST_USE int as_section_##function(const struct as_report *report, struct as_page *page,    \
                                          struct assay_error *err);
AS_REPORT_SECTIONS(X)
#undef X

/* Those of a program that was watched, in short. */
void as_section_brief(const struct as_report *report, struct as_page *page);

/* ---- report_json_parts ---- */

void as_json_health(struct as_json_writer *w, const struct as_layers *layers);
AS_MUST_USE int as_json_layers(struct as_json_writer *w, const struct as_report *report,
                               struct assay_error *err);
void as_json_threads(struct as_json_writer *w, const struct as_report *report);
void as_json_tree(struct as_json_writer *w, const struct as_report *report);
void as_json_phases(struct as_json_writer *w, const struct as_report *report);
void as_json_iterations(struct as_json_writer *w, const struct as_report *report);
void as_json_latency(struct as_json_writer *w, const struct as_report *report);
void as_json_channels(struct as_json_writer *w, const struct as_report *report);
void as_json_messages(struct as_json_writer *w, const struct as_report *report);
void as_json_async(struct as_json_writer *w, const struct as_report *report);
void as_json_locks(struct as_json_writer *w, const struct as_report *report);

/* Every call: only when the section was asked for, since it may be long. */
AS_MUST_USE int as_json_timeline(struct as_json_writer *w, const struct as_report *report,
                                 struct assay_error *err);

#endif
