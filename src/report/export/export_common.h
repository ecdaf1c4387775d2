/* report/export/export_common.h - what every exporter shares: the run, the room that is left, and
 * the tallies. An item is written whole or not at all, so a file with a size limit is valid
 * wherever it stops. */
#ifndef AS_REPORT_EXPORT_EXPORT_COMMON_H
#define AS_REPORT_EXPORT_EXPORT_COMMON_H

#include "base/arena.h"
#include "base/json/json_writer.h"
#include "report/export/export.h"
#include "trace/run/span_walk.h"

/* A thread that is exported. */
struct as_export_thread {
    const struct as_run_thread *info;
    uint32_t row; /* the number viewers know it by: its tid, or another one when that is unknown or
                     taken */
    uint64_t events; /* by the headers of its blocks */
};

struct as_export {
    struct as_run *run;
    struct as_out *out;
    struct as_out *to; /* where an item is written: `out`, or `scratch` when there is a limit */
    struct as_out scratch, quoted;
    struct as_arena arena; /* for the length of the export */
    struct as_export_thread *thread;
    size_t n_threads;
    uint64_t events_left; /* of the threads whose turn is still to come */
    uint32_t pid;         /* of the program; 1 when it is unknown */
    const char *title;    /* the session's label, else the command, else the file */
    struct as_export_options options;
    struct as_export_result result;

    uint64_t tail_bytes; /* kept free for the end of the file */
    uint64_t limit_at;   /* where that begins at the latest */
    uint64_t held_bytes; /* kept free for the ends of what is open */
    uint64_t stop_at;    /* how long the file may be while this thread is written */
    bool full;           /* an item did not fit: no more begin before the next share */
    bool first;          /* for formats with separators: nothing was kept yet */
};

/* Writes a part that must be there, as it stands. */
typedef void (*as_export_part)(struct as_export *x, struct as_out *out, void *user);

/* Writes the head, and measures the tail with the largest counts it could have, so that there will
 * be room for it. ASSAY_ERR_LIMIT, with nothing written, when the two alone do not fit. Either may
 * be NULL. */
AS_MUST_USE int as_export_open(struct as_export *x, as_export_part head, as_export_part tail,
                               void *user, struct assay_error *err);

/* Gives the part of what is left that is `share` of `whole`; the next items are kept while they fit
 * in it. */
void as_export_share(struct as_export *x, uint64_t share, uint64_t whole);

/* Gives thread `i` its part of what is left, by its events; all threads in turn, from the first. */
void as_export_share_thread(struct as_export *x, size_t i);

struct as_protobuf;
/* A text from outside as a field, safe to show wherever the file is looked at: utf8.h. */
void as_export_text(struct as_protobuf *p, uint32_t field, const char *text);

/* Begins an item, to be written to the result. NULL when there is no room for another: do not call
 * the next. */
static inline struct as_out *as_export_item(struct as_export *x)
{
    if (__builtin_expect(x->full, 0))
        return NULL;
    x->scratch.used = 0;
    return x->to;
}

/* The slow half of the next: moves the item from the scratch to the output when it fits. */
bool as_export_move(struct as_export *x);

/* Ends an item: true when it is in the file. */
static inline bool as_export_keep(struct as_export *x, uint64_t *tally)
{
    if (x->to != x->out && !as_export_move(x))
        return false;
    ++*tally;
    return true;
}

/* Writes `size` bytes for which room was held. */
void as_export_release(struct as_export *x, const void *data, size_t size, uint64_t held_bytes);

/* Walks a thread from its first event to its last; stops early when the output failed. A thread
 * whose times cannot be told has no events. */
AS_MUST_USE int as_export_walk(struct as_export *x, const struct as_export_thread *thread,
                               const struct as_span_visitor *visitor, struct assay_error *err);

/* 0 to n_sites: a place in a table of sites whose last row is for ids the run does not name. */
static inline uint32_t as_export_site_place(const struct as_export *x, uint32_t id)
{
    return id >= 1 && id <= x->run->n_sites ? id - 1 : x->run->n_sites;
}

/* The site at such a place. */
const struct as_run_site *as_export_site(const struct as_export *x, uint32_t place);

/* "layer", "function", ... and "ok", "failed", ... as every format writes them. */
const char *as_export_category(const struct as_run_site *site);
const char *as_export_status(enum as_span_state state);

/* The time in a span but in none inside it; never below zero, whatever a damaged run says. */
static inline uint64_t as_export_self_ns(const struct as_span *span)
{
    uint64_t ns = span->end_ns - span->start_ns;

    return ns > span->child_ns ? ns - span->child_ns : 0;
}

/* When an iteration ended; never before it began, whatever a damaged run says. */
static inline uint64_t as_export_end_ns(const struct as_iteration *it)
{
    return it->end_ns > it->start_ns ? it->end_ns : it->start_ns;
}

/* `text` itself when it is UTF-8, else a copy in the arena with U+FFFD for what is not; NULL
 * without memory. */
const char *as_export_utf8(struct as_export *x, const char *text);

/* An object with what the limit cost, empty when nothing. */
void as_export_json_cut(struct as_export *x, struct as_json_writer *w);

/* Members of the open object that say what the recording lacks. */
void as_export_json_losses(struct as_export *x, struct as_json_writer *w);

/* ---- export_formats ---- */

int as_export_chrome(struct as_export *x, struct assay_error *err);
int as_export_perfetto(struct as_export *x, struct assay_error *err);
int as_export_speedscope(struct as_export *x, struct assay_error *err);
int as_export_folded(struct as_export *x, struct assay_error *err);
int as_export_flame_graph(struct as_export *x, struct assay_error *err);
int as_export_json(struct as_export *x, struct assay_error *err);
int as_export_csv(struct as_export *x, struct assay_error *err);

/* ---- export_notes.c ---- */

#define AS_EXPORT_TEXT 400

/* "left out 4,990 of 5,000 spans, ...": what the limit cost; "" when nothing. Returns the length.
 */
size_t as_export_cut_text(char out[AS_EXPORT_TEXT], const struct as_export_result *result);

/* "the run is incomplete: 12 events were lost, ...": losses and damage; "" for a run that is whole.
 */
size_t as_export_health_text(char out[AS_EXPORT_TEXT], const struct as_run *run,
                             const struct as_export_result *result);

#endif
