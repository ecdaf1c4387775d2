/* report/watch/watch_report.h - what `assay run` saw of a program, as text, Markdown, JSON and CSV.
 * Only renders: every figure comes from analyze/watch/target.h and analyze/watch/target_findings.h.
 */
#ifndef AS_REPORT_WATCH_WATCH_REPORT_H
#define AS_REPORT_WATCH_WATCH_REPORT_H

#include "analyze/watch/target.h"
#include "analyze/watch/target_findings.h"
#include "base/json/json_writer.h"
#include "base/text/csv.h"
#include "report/page/page.h"

/* Parts of the object below, to be joined. */
enum as_watch_part {
    AS_WATCH_PART_FACTS = 1,
    AS_WATCH_PART_PROCESSES = 2,
    AS_WATCH_PART_HEAP = 4,
    AS_WATCH_PART_GEMM = 8,
    AS_WATCH_PART_SERIES = 16,
    AS_WATCH_PART_GROWTH = 32,
    AS_WATCH_PART_CAUSES = 64,
    AS_WATCH_PART_COST = 128,
    AS_WATCH_PART_ALL = 255
};

/* The value of the report's key `program`: one object with those parts. */
AS_MUST_USE int as_watch_json(const struct as_target *target, unsigned parts,
                              struct as_json_writer *w, struct assay_error *err);

/* What the parts of the page are printed from. */
struct as_watch_view {
    const struct as_target *target;
    const struct as_target_findings *findings;
    size_t top; /* 0: what suits the list */
    bool brief; /* what it used, what limits it, who holds the memory: the page without a choice */
};

/* What stands before an item: Markdown makes lists of all lines by itself. */
const char *as_watch_bullet(struct as_page *page);

/* All of it in at most 60 lines of 80 columns: the page when nothing was chosen. */
void as_watch_put_brief(const struct as_watch_view *view, struct as_page *page);

/* Each prints one part with its heading; nothing when there is nothing to tell. */
void as_watch_put_summary(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_memory(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_leaks(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_bottlenecks(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_processes(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_heap(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_gemm(const struct as_watch_view *view, struct as_page *page);
void as_watch_put_cost(const struct as_watch_view *view, struct as_page *page);

/* The files of `assay report --export-csv`: headings and rows. */
void as_watch_csv_processes(struct as_csv_writer *w, const struct as_target *target);
void as_watch_csv_sites(struct as_csv_writer *w, const struct as_target *target);
void as_watch_csv_gemm(struct as_csv_writer *w, const struct as_target *target);

/* ---- watch_json_frames.c ---- */

/* Members of an object that is open: all frames; those of a stack; the line of a site, and who
 * allocates at it. */
void as_watch_json_frame_table(struct as_json_writer *w, const struct as_target *target);
void as_watch_json_frames(struct as_json_writer *w, const struct as_target *target,
                          const struct as_heap_trace *trace);
void as_watch_json_place(struct as_json_writer *w, const struct as_target_site *place);

#endif
