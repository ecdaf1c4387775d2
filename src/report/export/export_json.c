/* report/export/export_json.c - everything in a run as one JSON object of schema "assay.events", an
 * element a line. The arrays come one after another, so the run is walked once for each that is not
 * empty.
 *
 *   schema, schema_version, run{}, sites[], threads[]      sites are named by their place in
 * `sites`, iterations[], losses[], samples[], points[], locks[], spans[]    threads by their
 * `index` left_out{}                                             what a size limit cost; empty when
 * nothing */
#include <stddef.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/export/export_common.h"

struct events {
    struct as_export *x;
    const struct as_export_thread *thread;
};

static void put_site(struct as_json_writer *w, const struct as_run_site *site)
{
    as_json_object(w);
    as_json_kv_text(w, "name", site->name);
    as_json_kv_text(w, "category", as_export_category(site));
    as_json_kv_text(w, "file", site->file && site->file[0] ? site->file : NULL);
    as_json_kv_u64(w, "line", site->line);
    as_json_kv_text(w, "unit", site->unit && site->unit[0] ? site->unit : NULL);
    as_json_kv_object(w, "attributes");
    for (const struct as_run_attribute *a = site->attributes; a; a = a->next) {
        as_json_key(w, a->key);
        if (a->text)
            as_json_text(w, a->text);
        else
            as_json_f64(w, a->number);
    }
    as_json_object_end(w);
    as_json_object_end(w);
}

static void put_sites(struct as_export *x, struct as_json_writer *w)
{
    as_json_kv_array(w, "sites");
    for (uint32_t place = 0; place <= x->run->n_sites; place++)
        put_site(w, as_export_site(x, place));
    as_json_array_end(w);
}

static void put_threads(struct as_export *x, struct as_json_writer *w)
{
    as_json_kv_array(w, "threads");
    for (size_t i = 0; i < x->n_threads; i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, x->thread[i].info, index, tid, name);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

/* The object stays open: arrays are added as they are walked. */
static void put_head(struct as_export *x, struct as_out *out, void *user)
{
    struct as_json_writer w;

    (void)user;
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.events");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_object(&w, "run");
    as_json_kv_text(&w, "title", x->title);
    as_json_kv_u64(&w, "pid", x->pid);
    as_json_kv_u64(&w, "start_unix_ns", x->run->time.real_ns);
    as_export_json_losses(x, &w);
    as_json_object_end(&w);
    put_sites(x, &w);
    put_threads(x, &w);
}

static void put_end(struct as_export *x, struct as_out *out)
{
    struct as_json_writer w;

    as_json_writer_init(&w, out, 0);
    as_export_json_cut(x, &w);
}

/* ---- elements ---- */

static struct as_out *begin(struct events *e, struct as_json_writer *w)
{
    struct as_out *out = as_export_item(e->x);

    if (!out)
        return NULL;
    as_out_put(out, ",\n", e->x->first ? 0 : 1);
    as_out_char(out, '\n');
    as_json_writer_init(w, out, 0);
    as_json_object(w);
    return out;
}

static void end(struct events *e, struct as_json_writer *w, uint64_t *tally)
{
    as_json_object_end(w);
    if (as_export_keep(e->x, tally))
        e->x->first = false;
}

static void put_optional(struct as_json_writer *w, const char *key, bool is_known, uint64_t value)
{
    as_json_key(w, key);
    if (is_known)
        as_json_u64(w, value);
    else
        as_json_null(w);
}

static void count_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct events *e = user;

    (void)from_ns, (void)to_ns, (void)n_events;
    e->x->result.seen.losses++;
}

static void count_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct events *e = user;

    (void)channel, (void)ns, (void)value;
    e->x->result.seen.samples++;
}

static void count_point(void *user, const struct as_point *point)
{
    struct events *e = user;

    (void)point;
    e->x->result.seen.points++;
}

static void count_lock(void *user, const struct as_lock_span *lock)
{
    struct events *e = user;

    (void)lock;
    e->x->result.seen.locks++;
}

static void on_iteration(void *user, const struct as_iteration *it)
{
    struct events *e = user;
    struct as_json_writer w;

    e->x->result.seen.iterations++;
    if (!begin(e, &w))
        return;
    as_json_kv_u64(&w, "thread", e->thread->info->index);
    as_json_kv_u64(&w, "number", it->number);
    as_json_kv_u64(&w, "start_ns", it->start_ns);
    as_json_kv_u64(&w, "end_ns", as_export_end_ns(it));
    put_optional(&w, "cpu_ns", it->has_cpu, it->cpu_ns);
    put_optional(&w, "length", it->has_length, it->length);
    as_json_kv_text(&w, "status", it->cut ? "cut" : "ok");
    end(e, &w, &e->x->result.kept.iterations);
}

static void on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct events *e = user;
    struct as_json_writer w;

    if (!begin(e, &w))
        return;
    as_json_kv_u64(&w, "thread", e->thread->info->index);
    as_json_kv_u64(&w, "start_ns", from_ns);
    as_json_kv_u64(&w, "end_ns", to_ns);
    put_optional(&w, "events", n_events > 0, n_events);
    end(e, &w, &e->x->result.kept.losses);
}

static void on_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct events *e = user;
    struct as_json_writer w;

    if (!begin(e, &w))
        return;
    as_json_kv_u64(&w, "site", as_export_site_place(e->x, channel));
    as_json_kv_u64(&w, "thread", e->thread->info->index);
    as_json_kv_u64(&w, "at_ns", ns);
    as_json_kv_f64(&w, "value", value);
    end(e, &w, &e->x->result.kept.samples);
}

static void on_point(void *user, const struct as_point *p)
{
    static const char *const role[AS_POINT_COUNT] = {
        [AS_POINT_INSTANT] = "instant",     [AS_POINT_ASYNC_BEGIN] = "async_begin",
        [AS_POINT_ASYNC_END] = "async_end", [AS_POINT_FLOW_BEGIN] = "flow_begin",
        [AS_POINT_FLOW_STEP] = "flow_step", [AS_POINT_FLOW_END] = "flow_end",
        [AS_POINT_MESSAGE] = "message",
    };
    struct events *e = user;
    struct as_json_writer w;

    if (!begin(e, &w))
        return;
    as_json_kv_text(&w, "role", role[p->role]);
    put_optional(&w, "site", p->role != AS_POINT_MESSAGE, as_export_site_place(e->x, p->site));
    as_json_kv_u64(&w, "thread", e->thread->info->index);
    as_json_kv_u64(&w, "at_ns", p->ns);
    put_optional(&w, "id", p->role >= AS_POINT_ASYNC_BEGIN && p->role <= AS_POINT_FLOW_END, p->id);
    as_json_kv_text(&w, "text", p->role == AS_POINT_MESSAGE ? p->text : NULL);
    end(e, &w, &e->x->result.kept.points);
}

static void on_lock(void *user, const struct as_lock_span *l)
{
    static const char *const state[] = {
        [AS_LOCK_FREED] = "ok",
        [AS_LOCK_GIVEN_UP] = "given_up",
        [AS_LOCK_CUT] = "cut",
        [AS_LOCK_OPEN] = "open",
    };
    struct events *e = user;
    struct as_json_writer w;

    if (!begin(e, &w))
        return;
    as_json_kv_u64(&w, "site", as_export_site_place(e->x, l->site));
    as_json_kv_u64(&w, "thread", e->thread->info->index);
    put_optional(&w, "wait_ns", l->contended, l->wait_ns);
    put_optional(&w, "held_ns", l->taken, l->held_ns);
    as_json_kv_u64(&w, "freed_ns", l->freed_ns);
    as_json_kv_text(&w, "status", state[l->state]);
    end(e, &w, &e->x->result.kept.locks);
}

static void put_number(struct as_out *out, const char *key, size_t key_size, uint64_t value)
{
    char text[AS_TEXT_INT];
    size_t n = as_text_u64(text, value);

    as_out_put(out, key, key_size);
    as_out_put(out, text, n);
}

#define PUT_NUMBER(out, key, value) put_number(out, key, sizeof(key) - 1, value)

static void put_notes(struct events *e, struct as_out *out, const struct as_span *span)
{
    struct as_json_writer w;

    as_out_text(out, ",\"notes\":");
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    for (uint32_t i = 0; i < span->n_notes; i++)
        as_json_kv_f64(&w, as_run_site_at(e->x->run, span->note[i].key)->name, span->note[i].value);
    as_json_object_end(&w);
}

/* By hand, since there may be many millions of them. */
static void on_span(void *user, const struct as_span *span)
{
    struct events *e = user;
    struct as_out *out;

    e->x->result.seen.spans++;
    if (!(out = as_export_item(e->x)))
        return;
    as_out_put(out, ",\n", e->x->first ? 0 : 1);
    PUT_NUMBER(out, "\n{\"site\":", as_export_site_place(e->x, span->site));
    PUT_NUMBER(out, ",\"thread\":", e->thread->info->index);
    PUT_NUMBER(out, ",\"start_ns\":", span->start_ns);
    PUT_NUMBER(out, ",\"end_ns\":", span->end_ns);
    PUT_NUMBER(out, ",\"self_ns\":", as_export_self_ns(span));
    PUT_NUMBER(out, ",\"depth\":", span->depth);
    as_out_text(out, ",\"status\":\"");
    as_out_text(out, as_export_status(span->state));
    as_out_char(out, '"');
    if (span->n_notes)
        put_notes(e, out, span);
    as_out_char(out, '}');
    if (as_export_keep(e->x, &e->x->result.kept.spans))
        e->x->first = false;
}

/* ---- arrays ---- */

static const struct pass {
    const char *opening;
    struct as_span_visitor visitor;
    unsigned share_of; /* it may take one part of so many of the room that is left */
    size_t seen_at;    /* the walk is spared when the first one counted none; 0: never */
} pass[] = {
    {",\"iterations\":[",
     {.iteration = on_iteration,
      .sample = count_sample,
      .loss = count_loss,
      .point = count_point,
      .lock = count_lock},
     4,
     0},
    {"],\n\"losses\":[", {.loss = on_loss}, 4, offsetof(struct as_export_tally, losses)},
    {"],\n\"samples\":[", {.sample = on_sample}, 2, offsetof(struct as_export_tally, samples)},
    {"],\n\"points\":[", {.point = on_point}, 2, offsetof(struct as_export_tally, points)},
    {"],\n\"locks\":[", {.lock = on_lock}, 2, offsetof(struct as_export_tally, locks)},
    {"],\n\"spans\":[", {.end = on_span}, 1, 0},
};
#define N_PASSES (AS_COUNT_OF(pass))

static const char closing[] = "],\n\"left_out\":";

/* What must stand behind the head, with every array empty. */
static void put_rest(struct as_export *x, struct as_out *out, void *user)
{
    (void)user;
    for (size_t i = 0; i < N_PASSES; i++)
        as_out_text(out, pass[i].opening);
    as_out_text(out, closing);
    put_end(x, out);
    as_out_text(out, "}\n");
}

static bool is_empty(const struct as_export *x, const struct pass *p)
{
    uint64_t n;

    memcpy(&n, (const char *)&x->result.seen + p->seen_at, sizeof n);
    return p->seen_at > 0 && n == 0;
}

static int put_pass(struct events *e, const struct pass *p, struct assay_error *err)
{
    struct as_span_visitor visitor = p->visitor;
    int rc = ASSAY_OK;

    visitor.user = e;
    e->x->first = true;
    as_export_share(e->x, 1, p->share_of);
    as_out_text(e->x->out, p->opening);
    e->x->stop_at += strlen(p->opening); /* room for it was kept with the tail's */
    e->x->limit_at += strlen(p->opening);
    if (is_empty(e->x, p))
        return ASSAY_OK;
    for (size_t i = 0; i < e->x->n_threads && rc == ASSAY_OK; i++) {
        e->thread = &e->x->thread[i];
        if (p->share_of == 1)
            as_export_share_thread(e->x, i);
        rc = as_export_walk(e->x, e->thread, &visitor, err);
    }
    return rc;
}

int as_export_json(struct as_export *x, struct assay_error *err)
{
    struct events e = {.x = x};
    int rc = as_export_open(x, put_head, put_rest, NULL, err);

    for (size_t i = 0; i < N_PASSES && rc == ASSAY_OK; i++)
        rc = put_pass(&e, &pass[i], err);
    if (rc < 0)
        return rc;
    as_out_text(x->out, closing);
    put_end(x, x->out);
    as_out_text(x->out, "}\n");
    return ASSAY_OK;
}
