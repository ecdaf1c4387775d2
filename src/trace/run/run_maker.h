/* trace/run/run_maker.h - makes a run of what was measured once: facts and tables, without events;
 * or adds them to a run that a session recorded. Structs are described by their field tables
 * (base/json/json_fields.h), and read back with the same. */
#ifndef AS_TRACE_RUN_RUN_MAKER_H
#define AS_TRACE_RUN_RUN_MAKER_H

#include <limits.h>

#include "base/json/json_fields.h"
#include "trace/run/run_reader.h"
#include "trace/run/run_writer.h"

struct as_run_maker {
    struct as_run_writer file;
    struct assay_error fault; /* the first failure; nothing is written after it */
    char path[PATH_MAX];      /* "": the run is in memory only */
    char temporary[PATH_MAX]; /* until it is complete; "": the run was there before */
    bool complete;            /* the run has its end already */
    uint32_t n_threads;       /* with spans */
};

/* Begins a run of that kind. `path` NULL keeps it in memory. An older run there is kept as
 * PATH.old once this one is complete; any other file is refused. */
AS_MUST_USE int as_run_maker_open(struct as_run_maker *m, const char *path, const char *kind,
                                  struct assay_error *err);

/* Adds to the run that a session recorded and closed; it becomes one of that kind. */
AS_MUST_USE int as_run_maker_append(struct as_run_maker *m, const char *path, const char *kind,
                                    struct assay_error *err);

/* The words of the command, in place of those of this process. */
void as_run_maker_command(struct as_run_maker *m, const char *const *words, size_t n);

/* One struct under a name. Failures are kept and returned by as_run_maker_finish(). */
void as_run_maker_put(struct as_run_maker *m, const char *name, const struct as_json_shape *shape,
                      const void *object);

/* A table: declared columns, `n` rows in as many blocks as they need. */
void as_run_maker_rows(struct as_run_maker *m, const char *name, const struct as_json_shape *shape,
                       const void *rows, size_t n);

/* ---- run_maker_spans.c: spans that were kept one by one ---- */

/* Which clock their times are of, and what it said when. Before any span. */
void as_run_maker_clock(struct as_run_maker *m, enum as_clock_kind kind,
                        const struct as_clock_anchor *anchor, size_t n);

/* What an id stands for; `category` as in assay/scope.h. */
void as_run_maker_site(struct as_run_maker *m, uint32_t id, uint32_t category, const char *name);

#define AS_MADE_NOTES 4

/* A call that ended. Those of one thread nest by depth and time. */
struct as_made_span {
    uint64_t start_ticks, end_ticks;
    uint32_t thread, tid, site;
    uint16_t depth;
    bool failed;
    size_t n_notes; /* the first AS_MADE_NOTES are kept */
    struct {
        uint32_t key;
        double value;
    } note[AS_MADE_NOTES];
};

/* Adds spans, in any order, which changes. Once. */
void as_run_maker_spans(struct as_run_maker *m, struct as_made_span *span, size_t n);

/* For the files of the maker alone: adds one block. */
void as_run_maker_block(struct as_run_maker *m, uint16_t kind, const void *payload, size_t size,
                        uint32_t records);

/* Completes the run, puts it in place and opens it, as anybody who reads it later will. The maker
 * is empty afterwards, also when that fails. */
AS_MUST_USE int as_run_maker_finish(struct as_run_maker *m, struct as_run **run,
                                    struct assay_error *err);

/* Gives up; a new file is removed. Accepts one that is empty. */
void as_run_maker_drop(struct as_run_maker *m);

/* ---- reading back ---- */

/* The part that every run of `assay run` has from its first moment on. */
#define AS_DATA_PROGRAM "program"

/* "profile", "machine", ...; "trace" for a run of scopes, which names none. In the run's memory. */
const char *as_run_kind(struct as_run *run);

/* Whether there is anything under that name. */
bool as_run_has(const struct as_run *run, const char *name);

/* The last struct put under that name, in the run's memory. NOTFOUND when there is none, FORMAT
 * when it is not what the shape says. */
AS_MUST_USE int as_run_get(struct as_run *run, const char *name, const struct as_json_shape *shape,
                           void *object, struct assay_error *err);

/* All rows put under that name, in the run's memory; none are an empty table. More than `max`, or a
 * bad one, is FORMAT. */
AS_MUST_USE int as_run_get_rows(struct as_run *run, const char *name,
                                const struct as_json_shape *shape, size_t max, void *rows,
                                size_t *n, struct assay_error *err);

#endif
