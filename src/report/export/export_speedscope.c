/* report/export/export_speedscope.c - a run for speedscope.app: one evented profile a thread, in
 * nanoseconds. Frames open and close strictly in order and time never runs backwards, whatever the
 * run holds.
 *
 *   {"$schema": ..., "exporter": ..., "shared": {"frames": [...]}, "profiles": [profile, ...],
 * "name": ...} profile: {"type": "evented", "name", "unit": "nanoseconds", "startValue": 0,
 * "events": [...], "endValue"} event:   {"type": "O" or "C", "frame": index, "at": ns} */
#include <stdio.h>

#include "base/text/text.h"
#include "report/export/export_common.h"

#define EVENT_BYTES 80 /* no event is longer */
#define END_BYTES   64 /* nor the end of a profile */

struct speedscope {
    struct as_export *x;
    bool first_event;
    uint32_t open;    /* spans of the thread that are open in the file */
    uint64_t last_ns; /* of the last event written */
};

static void put_frame(struct as_json_writer *w, const struct as_run_site *site)
{
    as_json_object(w);
    as_json_kv_text(w, "name", site->name);
    if (site->file && site->file[0]) {
        as_json_kv_text(w, "file", site->file);
        as_json_kv_u64(w, "line", site->line);
    }
    as_json_object_end(w);
}

static void put_head(struct as_export *x, struct as_out *out, void *user)
{
    struct as_json_writer w;

    (void)user;
    as_out_text(out, "{\"$schema\":\"https://www.speedscope.app/"
                     "file-format-schema.json\",\"exporter\":\"assay " ASSAY_VERSION
                     "\",\"activeProfileIndex\":0,\"shared\":{\"frames\":");
    as_json_writer_init(&w, out, 0);
    as_json_array(&w);
    for (uint32_t place = 0; place <= x->run->n_sites; place++)
        put_frame(&w, as_export_site(x, place));
    as_json_array_end(&w);
    as_out_text(out, "},\"profiles\":[");
}

/* The format has no place for what was left out but the name, which its readers show. */
static void put_tail(struct as_export *x, struct as_out *out, void *user)
{
    char cut[AS_EXPORT_TEXT];
    struct as_json_writer w;

    (void)user;
    as_out_text(out, "\n],\"name\":");
    as_json_writer_init(&w, out, 0);
    if (as_export_cut_text(cut, &x->result)) {
        as_json_text(&w, cut);
    } else {
        as_json_text(&w, x->title);
    }
    as_out_text(out, "}\n");
}

static size_t put_event(struct speedscope *s, char text[EVENT_BYTES], char type, uint32_t site,
                        uint64_t ns)
{
    int n;

    if (ns < s->last_ns)
        ns = s->last_ns;
    n = snprintf(text, EVENT_BYTES,
                 "%s\n{\"type\":\"%c\",\"frame\":%u,\"at\":", s->first_event ? "" : ",", type,
                 as_export_site_place(s->x, site));
    n += (int)as_text_u64(text + n, ns);
    text[n++] = '}';
    return (size_t)n;
}

static void on_begin(void *user, uint32_t site, uint32_t depth, uint64_t ns)
{
    struct speedscope *s = user;
    char text[EVENT_BYTES];
    struct as_out *out;

    s->x->result.seen.spans++;
    if (s->open != depth || !(out = as_export_item(s->x)))
        return;
    as_out_put(out, text, put_event(s, text, 'O', site, ns));
    s->x->held_bytes += EVENT_BYTES; /* for its end */
    if (!as_export_keep(s->x, &s->x->result.kept.spans)) {
        s->x->held_bytes -= EVENT_BYTES;
        return;
    }
    s->first_event = false;
    s->last_ns = ns > s->last_ns ? ns : s->last_ns;
    s->open = depth + 1;
}

static void on_end(void *user, const struct as_span *span)
{
    struct speedscope *s = user;
    char text[EVENT_BYTES];

    if (span->depth >= s->open)
        return; /* its begin did not fit */
    as_export_release(s->x, text, put_event(s, text, 'C', span->site, span->end_ns), EVENT_BYTES);
    s->last_ns = span->end_ns > s->last_ns ? span->end_ns : s->last_ns;
    s->open = span->depth;
}

/* False when there is no room for it. */
static bool begin_profile(struct as_export *x, const char *name, uint64_t tid)
{
    struct as_out *out = as_export_item(x);
    char title[160];
    struct as_json_writer w;
    uint64_t begun = 0;

    if (!out)
        return false;
    snprintf(title, sizeof title, "%.120s (%llu)", name, (unsigned long long)tid);
    as_out_text(out, x->first ? "\n" : ",\n");
    as_out_text(out, "{\"type\":\"evented\",\"name\":");
    as_json_writer_init(&w, out, 0);
    as_json_text(&w, title);
    as_out_text(out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"events\":[");
    x->held_bytes += END_BYTES;
    if (as_export_keep(x, &begun)) {
        x->first = false;
        return true;
    }
    x->held_bytes -= END_BYTES;
    return false;
}

static void end_profile(struct as_export *x, uint64_t last_ns)
{
    char text[END_BYTES];
    int n = snprintf(text, sizeof text, "],\"endValue\":%llu}", (unsigned long long)last_ns);

    as_export_release(x, text, (size_t)n, END_BYTES);
}

static int put_thread(struct as_export *x, const struct as_export_thread *thread,
                      struct assay_error *err)
{
    struct speedscope s = {.x = x, .first_event = true};
    const struct as_span_visitor visitor = {.user = &s, .begin = on_begin, .end = on_end};
    bool begun = begin_profile(x, thread->info->name, thread->info->tid);
    int rc = as_export_walk(x, thread, &visitor, err);

    if (begun)
        end_profile(x, s.last_ns);
    return rc;
}

int as_export_speedscope(struct as_export *x, struct assay_error *err)
{
    int rc = as_export_open(x, put_head, put_tail, NULL, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < x->n_threads && rc == ASSAY_OK; i++) {
        as_export_share_thread(x, i);
        rc = put_thread(x, &x->thread[i], err);
    }
    if (rc < 0)
        return rc;
    as_export_share(x, 1, 1);
    if (x->first && begin_profile(x, "no events", 0)) /* its readers want at least one */
        end_profile(x, 0);
    put_tail(x, x->out, NULL);
    return ASSAY_OK;
}
