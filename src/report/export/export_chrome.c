/* report/export/export_chrome.c - a run as Chrome trace events: JSON that Perfetto and
 * chrome://tracing read. Times are microseconds with three decimals, so no nanosecond is lost.
 *
 *   {"traceEvents": [event, ...], "displayTimeUnit": "ns", "otherData": {...}}
 *   X  a span on its thread's row; an iteration on a row of its own beside it
 *   C  a sample      i  a message, an instant event; events lost, the program waiting for the
 * recorder M  names of rows  b, e  an async span, a lock while it is waited for and held  s, t, f
 * a flow */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "report/export/export_common.h"

#define ROW_ITERATIONS                                                                             \
    ((uint32_t)1 << 23) /* added to a thread's place: the row of its iterations */
#define PREFIX_BYTES 96

/* What is the same in every event of a site: made once. */
struct site_text {
    const char *text; /* ,"name":"conv1","cat":"layer" */
    size_t size;
    bool told; /* the facts about it are in the file */
};

struct chrome {
    struct as_export *x;
    struct site_text *site; /* by as_export_site_place() */
    const struct as_export_thread *thread;
    uint32_t iteration_row;
    bool row_named;
    bool nomem;
    char prefix[PREFIX_BYTES]; /* {"ph":"X","pid":1,"tid":2,"ts": */
    size_t prefix_size;
};

static void put_head(struct as_export *x, struct as_out *out, void *user)
{
    struct as_json_writer w;

    (void)user;
    as_out_text(out, "{\"traceEvents\":[\n");
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "ph", "M");
    as_json_kv_u64(&w, "pid", x->pid);
    as_json_kv_text(&w, "name", "process_name");
    as_json_kv_object(&w, "args");
    as_json_kv_text(&w, "name", x->title);
    as_json_object_end(&w);
    as_json_object_end(&w);
}

static void put_tail(struct as_export *x, struct as_out *out, void *user)
{
    struct as_json_writer w;

    (void)user;
    as_out_text(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":");
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "tool", "assay");
    as_json_kv_text(&w, "tool_version", ASSAY_VERSION);
    as_json_kv_text(&w, "run", x->title);
    as_json_kv_u64(&w, "start_unix_ns", x->run->time.real_ns);
    as_json_kv_u64(&w, "spans", x->result.seen.spans);
    as_export_json_losses(x, &w);
    as_json_key(&w, "left_out");
    as_export_json_cut(x, &w);
    as_json_object_end(&w);
    as_out_text(out, "}\n");
}

static void put_time(struct as_out *out, uint64_t ns)
{
    char text[AS_TEXT_FLOAT];
    size_t n = as_text_decimal(text, ns, 3);

    as_out_put(out, text, n);
}

static const struct site_text *get_site(struct chrome *c, uint32_t place)
{
    struct site_text *s = &c->site[place];
    const struct as_run_site *site;
    struct as_out *out = &c->x->quoted;
    struct as_json_writer w;

    if (__builtin_expect(s->text != NULL, 1))
        return s;
    site = as_export_site(c->x, place);
    out->used = 0;
    as_out_text(out, ",\"name\":");
    as_json_writer_init(&w, out, 0);
    as_json_text(&w, site->name);
    as_out_text(out, ",\"cat\":\"");
    as_out_text(out, as_export_category(site));
    as_out_char(out, '"');
    s->text = as_out_ok(out) ? as_arena_text(&c->x->arena, out->buf, out->used) : NULL;
    s->size = s->text ? out->used : 0;
    c->nomem |= !s->text;
    return s;
}

/* What is known of a site beside its name; stands with its first call only. */
static void put_facts(struct as_json_writer *w, const struct as_run_site *site)
{
    as_json_kv_object(w, "site");
    if (site->file && site->file[0]) {
        as_json_kv_text(w, "file", site->file);
        as_json_kv_u64(w, "line", site->line);
    }
    for (const struct as_run_attribute *a = site->attributes; a; a = a->next) {
        as_json_key(w, a->key);
        if (a->text)
            as_json_text(w, a->text);
        else
            as_json_f64(w, a->number);
    }
    as_json_object_end(w);
}

static void put_args(struct chrome *c, struct as_out *out, const struct as_span *span,
                     uint32_t place)
{
    const struct as_run_site *site = as_export_site(c->x, place);
    struct as_json_writer w;

    as_out_text(out, ",\"args\":");
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    if (span->state != AS_SPAN_OK)
        as_json_kv_text(&w, "status", as_export_status(span->state));
    if (span->n_notes)
        as_json_kv_object(&w, "notes");
    for (uint32_t i = 0; i < span->n_notes; i++)
        as_json_kv_f64(&w, as_run_site_at(c->x->run, span->note[i].key)->name, span->note[i].value);
    if (span->n_notes)
        as_json_object_end(&w);
    if (!c->site[place].told)
        put_facts(&w, site);
    as_json_object_end(&w);
}

static bool has_facts(const struct chrome *c, uint32_t place)
{
    const struct as_run_site *site = as_export_site(c->x, place);

    return (site->file && site->file[0]) || site->attributes;
}

static void on_span(void *user, const struct as_span *span)
{
    struct chrome *c = user;
    uint32_t place = as_export_site_place(c->x, span->site);
    const struct site_text *site = get_site(c, place);
    struct as_out *out;

    c->x->result.seen.spans++;
    if (!(out = as_export_item(c->x)))
        return;
    as_out_put(out, c->prefix, c->prefix_size);
    put_time(out, span->start_ns);
    as_out_put(out, ",\"dur\":", 7);
    put_time(out, span->end_ns - span->start_ns);
    if (site->text)
        as_out_put(out, site->text, site->size);
    if (__builtin_expect(!site->told || span->n_notes || span->state != AS_SPAN_OK, 0)) {
        if (span->n_notes || span->state != AS_SPAN_OK || has_facts(c, place))
            put_args(c, out, span, place);
    }
    as_out_char(out, '}');
    if (as_export_keep(c->x, &c->x->result.kept.spans))
        c->site[place].told = true;
}

/* Opens an event after the ones before; the caller adds members and closes it. */
static void begin_event(struct chrome *c, struct as_json_writer *w, struct as_out *out,
                        const char *ph, uint32_t row)
{
    as_out_text(out, ",\n");
    as_json_writer_init(w, out, 0);
    as_json_object(w);
    as_json_kv_text(w, "ph", ph);
    as_json_kv_u64(w, "pid", c->x->pid);
    as_json_kv_u64(w, "tid", row);
}

static void put_us(struct as_json_writer *w, const char *key, uint64_t ns)
{
    as_json_key(w, key);
    as_json_decimal(w, ns, 3);
}

static void put_row_fact(struct chrome *c, struct as_out *out, uint32_t row, const char *what,
                         const char *text)
{
    struct as_json_writer w;

    begin_event(c, &w, out, "M", row);
    as_json_kv_text(&w, "name", what);
    as_json_kv_object(&w, "args");
    if (text)
        as_json_kv_text(&w, "name", text);
    else
        as_json_kv_u64(&w, "sort_index", c->thread->info->index);
    as_json_object_end(&w);
    as_json_object_end(&w);
}

static void on_iteration(void *user, const struct as_iteration *it)
{
    struct chrome *c = user;
    struct as_json_writer w;
    struct as_out *out;
    char name[sizeof "iteration " + AS_TEXT_INT] = "iteration ";

    c->x->result.seen.iterations++;
    if (!(out = as_export_item(c->x)))
        return;
    if (!c->row_named) {
        put_row_fact(c, out, c->iteration_row, "thread_name", "iterations");
        put_row_fact(c, out, c->iteration_row, "thread_sort_index", NULL);
    }
    as_text_u64(name + sizeof "iteration " - 1, it->number);
    begin_event(c, &w, out, "X", c->iteration_row);
    put_us(&w, "ts", it->start_ns);
    put_us(&w, "dur", as_export_end_ns(it) - it->start_ns);
    as_json_kv_text(&w, "name", name);
    as_json_kv_text(&w, "cat", "iteration");
    as_json_kv_object(&w, "args");
    if (it->has_cpu)
        as_json_kv_u64(&w, "cpu_ns", it->cpu_ns);
    if (it->has_length)
        as_json_kv_u64(&w, "length", it->length);
    if (it->cut)
        as_json_kv_text(&w, "status", "cut");
    as_json_object_end(&w);
    as_json_object_end(&w);
    if (as_export_keep(c->x, &c->x->result.kept.iterations))
        c->row_named = true;
}

static void on_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct chrome *c = user;
    const struct as_run_site *site = as_run_site_at(c->x->run, channel);
    struct as_json_writer w;
    struct as_out *out;

    c->x->result.seen.samples++;
    if (!(out = as_export_item(c->x)))
        return;
    begin_event(c, &w, out, "C", c->thread->row);
    put_us(&w, "ts", ns);
    as_json_kv_text(&w, "name", site->name);
    as_json_kv_object(&w, "args");
    if (isfinite(value)) /* a counter without a value: JSON has no word for it */
        as_json_kv_f64(&w, site->unit && site->unit[0] ? site->unit : "value", value);
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_export_keep(c->x, &c->x->result.kept.samples);
}

/* Something that happened to the recording itself. */
static void begin_instant(struct chrome *c, struct as_json_writer *w, struct as_out *out,
                          const char *name, uint64_t ns)
{
    begin_event(c, w, out, "i", c->thread->row);
    put_us(w, "ts", ns);
    as_json_kv_text(w, "s", "t");
    as_json_kv_text(w, "name", name);
    as_json_kv_text(w, "cat", "recorder");
    as_json_kv_object(w, "args");
}

static void on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct chrome *c = user;
    struct as_json_writer w;
    struct as_out *out;

    c->x->result.seen.losses++;
    if (!(out = as_export_item(c->x)))
        return;
    begin_instant(c, &w, out, "events lost", from_ns);
    as_json_key(&w, "count");
    if (n_events)
        as_json_u64(&w, n_events);
    else
        as_json_null(&w);
    as_json_kv_u64(&w, "until_ns", to_ns);
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_export_keep(c->x, &c->x->result.kept.losses);
}

static void on_wait(void *user, uint64_t from_ns, uint64_t to_ns)
{
    struct chrome *c = user;
    struct as_json_writer w;
    struct as_out *out;

    c->x->result.seen.waits++;
    if (!(out = as_export_item(c->x)))
        return;
    begin_instant(c, &w, out, "waited for the recorder", from_ns);
    as_json_kv_u64(&w, "wait_ns", to_ns > from_ns ? to_ns - from_ns : 0);
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_export_keep(c->x, &c->x->result.kept.waits);
}

static void put_id(struct as_json_writer *w, const char *key, uint64_t id)
{
    char text[2 + 16 + 1];

    (void)snprintf(text, sizeof text, "0x%llx", (unsigned long long)id);
    as_json_kv_text(w, key, text);
}

static void on_point(void *user, const struct as_point *p)
{
    static const char *const letter[AS_POINT_COUNT] = {
        [AS_POINT_INSTANT] = "i",    [AS_POINT_ASYNC_BEGIN] = "b", [AS_POINT_ASYNC_END] = "e",
        [AS_POINT_FLOW_BEGIN] = "s", [AS_POINT_FLOW_STEP] = "t",   [AS_POINT_FLOW_END] = "f",
        [AS_POINT_MESSAGE] = "i",
    };
    bool is_message = p->role == AS_POINT_MESSAGE;
    struct chrome *c = user;
    struct as_json_writer w;
    struct as_out *out;

    c->x->result.seen.points++;
    if (!(out = as_export_item(c->x)))
        return;
    begin_event(c, &w, out, letter[p->role], c->thread->row);
    put_us(&w, "ts", p->ns);
    as_json_kv_text(&w, "name", is_message ? p->text : as_run_site_at(c->x->run, p->site)->name);
    as_json_kv_text(
        &w, "cat", is_message ? "message" : as_export_category(as_run_site_at(c->x->run, p->site)));
    if (letter[p->role][0] == 'i')
        as_json_kv_text(&w, "s", "t");
    else
        put_id(&w, "id", p->id);
    if (p->role == AS_POINT_FLOW_END)
        as_json_kv_text(&w, "bp", "e"); /* to the span around it, not to the next */
    as_json_object_end(&w);
    as_export_keep(c->x, &c->x->result.kept.points);
}

static void put_lock_part(struct chrome *c, struct as_out *out, const struct as_lock_span *l,
                          bool wait)
{
    const char *name = as_run_site_at(c->x->run, l->site)->name;
    /* Of a number of its own: the locks of a thread need not be nested. */
    uint64_t id = ((uint64_t)c->thread->row << 32 | l->slot << 1 | wait) + 1;

    for (int end = 0; end < 2; end++) {
        struct as_json_writer w;

        begin_event(c, &w, out, end ? "e" : "b", c->thread->row);
        put_us(&w, "ts", wait ? (end ? l->held_ns : l->wait_ns) : (end ? l->freed_ns : l->held_ns));
        as_json_kv_text(&w, "name", name);
        as_json_kv_text(&w, "cat", wait ? "lock_wait" : "lock");
        put_id(&w, "id", id);
        as_json_object_end(&w);
    }
}

static void on_lock(void *user, const struct as_lock_span *l)
{
    struct chrome *c = user;
    struct as_out *out;

    c->x->result.seen.locks++;
    if (!(out = as_export_item(c->x)))
        return;
    if (l->contended)
        put_lock_part(c, out, l, true);
    if (l->taken)
        put_lock_part(c, out, l, false);
    as_export_keep(c->x, &c->x->result.kept.locks);
}

static int put_thread(struct chrome *c, struct assay_error *err)
{
    const struct as_span_visitor visitor = {.user = c,
                                            .end = on_span,
                                            .iteration = on_iteration,
                                            .sample = on_sample,
                                            .loss = on_loss,
                                            .wait = on_wait,
                                            .point = on_point,
                                            .lock = on_lock};
    struct as_out *out = as_export_item(c->x);
    uint64_t named = 0;

    if (out) {
        put_row_fact(c, out, c->thread->row, "thread_name", c->thread->info->name);
        put_row_fact(c, out, c->thread->row, "thread_sort_index", NULL);
        as_export_keep(c->x, &named);
    }
    c->row_named = false;
    c->iteration_row = ROW_ITERATIONS + (uint32_t)(c->thread - c->x->thread);
    c->prefix_size = (size_t)snprintf(c->prefix, sizeof c->prefix,
                                      ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", c->x->pid,
                                      c->thread->row);
    return as_export_walk(c->x, c->thread, &visitor, err);
}

int as_export_chrome(struct as_export *x, struct assay_error *err)
{
    struct chrome c = {.x = x};
    int rc = as_export_open(x, put_head, put_tail, NULL, err);

    if (rc < 0)
        return rc;
    c.site = as_arena_zero(&x->arena, (size_t)x->run->n_sites + 1, sizeof *c.site);
    if (!c.site)
        return as_fail_nomem(err);
    for (size_t i = 0; i < x->n_threads && rc == ASSAY_OK; i++) {
        c.thread = &x->thread[i];
        as_export_share_thread(x, i);
        rc = put_thread(&c, err);
    }
    if (rc == ASSAY_OK && c.nomem)
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK)
        put_tail(x, x->out, NULL);
    return rc;
}
