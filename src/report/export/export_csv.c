/* report/export/export_csv.c - the timeline of a run as CSV: one row a call, in the order the calls
 * ended. Notes stand in one field as key=value, separated by semicolons. */
#include <string.h>

#include "analyze/run/timeline.h"
#include "base/text/csv.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/export/export_common.h"

static const char *const column[] = {
    "layer",       "category", "thread",        "tid",    "depth", "start_ns",
    "duration_ns", "self_ns",  "cumulative_ns", "status", "notes",
};

struct table {
    struct as_export *x;
    const char **name; /* of sites by their place; made as they come */
    uint64_t cumulative_ns;
};

static void put_head(struct as_export *x, struct as_out *out, void *user)
{
    struct as_csv_writer w = {.out = out};

    (void)x;
    (void)user;
    for (size_t i = 0; i < AS_COUNT_OF(column); i++)
        as_csv_text(&w, column[i]);
    as_csv_row_end(&w);
}

static const char *get_name(struct table *t, uint32_t site)
{
    uint32_t place = as_export_site_place(t->x, site);

    if (!t->name[place])
        t->name[place] = as_export_utf8(t->x, as_export_site(t->x, place)->name);
    return t->name[place];
}

/* What parts one note from the next cannot stand in a key. */
static void put_key(struct as_out *out, const char *key)
{
    while (*key) {
        size_t n = strcspn(key, ";=");

        as_out_put(out, key, n);
        key += n;
        if (*key) {
            as_out_char(out, '_');
            key++;
        }
    }
}

static void put_notes(struct table *t, struct as_csv_writer *w, const struct as_span *span)
{
    struct as_out *field = &t->x->quoted;
    const char *key[AS_SPAN_MAX_NOTES] = {NULL};
    char number[AS_TEXT_FLOAT];
    size_t n;

    for (uint32_t i = 0; i < span->n_notes; i++)
        key[i] = get_name(t, span->note[i].key); /* before the field: it may need the same memory */
    field->used = 0;
    for (uint32_t i = 0; i < span->n_notes; i++) {
        if (i > 0)
            as_out_char(field, ';');
        put_key(field, key[i] ? key[i] : "");
        as_out_char(field, '=');
        n = as_text_f64(number, span->note[i].value);
        as_out_put(field, number, n);
    }
    as_csv_text_n(w, field->buf, field->used);
}

static void put_row(struct table *t, struct as_out *out, const struct as_span *span)
{
    const struct as_run_site *site = as_run_site_at(t->x->run, span->site);
    struct as_csv_writer w = {.out = out};

    as_csv_text(&w, get_name(t, span->site));
    as_csv_text(&w, as_export_category(site));
    as_csv_u64(&w, span->thread->index);
    as_csv_u64(&w, span->thread->tid);
    as_csv_u64(&w, span->depth);
    as_csv_u64(&w, span->start_ns);
    as_csv_u64(&w, span->end_ns - span->start_ns);
    as_csv_u64(&w, as_export_self_ns(span));
    as_csv_u64(&w, t->cumulative_ns);
    as_csv_text(&w, as_export_status(span->state));
    put_notes(t, &w, span);
    as_csv_row_end(&w);
}

static void put_entry(struct table *t, const struct as_timeline_entry *entry)
{
    const struct as_span *span = &entry->span;
    struct as_out *out;

    if (t->x->options.thread < 0)
        t->cumulative_ns = entry->cumulative_ns;
    else if (span->thread->index != (uint64_t)t->x->options.thread)
        return;
    else if (span->state == AS_SPAN_OK || span->state == AS_SPAN_FAILED)
        t->cumulative_ns += span->end_ns - span->start_ns; /* of this thread's calls alone */
    t->x->result.seen.spans++;
    if (!(out = as_export_item(t->x)))
        return;
    put_row(t, out, span);
    as_export_keep(t->x, &t->x->result.kept.spans);
}

static int put_rows(struct table *t, struct assay_error *err)
{
    struct as_timeline_entry entry;
    struct as_timeline *timeline;
    int rc = 1;

    if (!t->x->run->time.known) {
        t->x->result.no_clock = t->x->run->health.events > 0;
        return ASSAY_OK;
    }
    timeline = as_timeline_new(t->x->run);
    if (!timeline)
        return as_fail_nomem(err);
    while (as_out_ok(t->x->out) && (rc = as_timeline_next(timeline, &entry, err)) > 0)
        put_entry(t, &entry);
    as_timeline_free(timeline);
    return rc < 0 ? rc : ASSAY_OK;
}

int as_export_csv(struct as_export *x, struct assay_error *err)
{
    struct table t = {.x = x};
    int rc = as_export_open(x, put_head, NULL, NULL, err);

    if (rc < 0)
        return rc;
    t.name = as_arena_zero(&x->arena, (size_t)x->run->n_sites + 1, sizeof *t.name);
    if (!t.name)
        return as_fail_nomem(err);
    return put_rows(&t, err);
}
