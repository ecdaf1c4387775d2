/* report/export/export_perfetto.c - a run in Perfetto's own form: packets of protobuf, names
 * written once a thread. Each thread is a packet sequence with a track of its own; times are
 * nanoseconds since the run began.
 *
 *   head      the clocks, the process, a counter track for every channel sequence 1 a thread  its
 * track; then begin, end, counter and instant events, with the names they use    sequence 2, 3, ...
 *             first; its iterations on a track below, made with the first of them
 *   tail      an instant event on the process that says what a size limit left out sequence 1 */
#include <assay/scope.h>
#include <stdio.h>
#include <string.h>

#include "base/proto/protobuf_writer.h"
#include "base/units.h"
#include "report/export/export_common.h"
#include "report/export/perfetto_fields.h"

#define END_BYTES 96 /* no packet that ends a span is longer, but for its notes */

enum { TRACK_OF_PROCESS = 1, TRACK_OF_THREADS = 1 << 20 };

struct perfetto {
    struct as_export *x;
    struct as_protobuf p;
    uint64_t
        tracks; /* first number of this run's tracks, so that two traces can be shown together */
    uint64_t sequence; /* of the packets now written */
    uint64_t track, iteration_track;
    uint32_t *named,
        *noted; /* by site: the last sequence that knows its name, as an event and as a note */
    uint32_t categories; /* bits of those the sequence knows */
    bool iterations_named;
    uint32_t open; /* spans of the thread that are open in the file */
    uint64_t last_ns;
};

/* ---- packets ---- */

static void begin_packet(struct perfetto *f, uint64_t flags)
{
    as_protobuf_reset(&f->p);
    as_protobuf_begin(&f->p, TRACE_PACKET);
    as_protobuf_u64(&f->p, PACKET_SEQUENCE_ID, f->sequence);
    as_protobuf_u64(&f->p, PACKET_SEQUENCE_FLAGS, flags);
}

static void begin_event(struct perfetto *f, uint64_t ns, uint64_t type)
{
    begin_packet(f, SEQUENCE_NEEDS_STATE);
    as_protobuf_u64(&f->p, PACKET_TIMESTAMP, ns);
    as_protobuf_begin(&f->p, PACKET_TRACK_EVENT);
    as_protobuf_u64(&f->p, EVENT_TYPE, type);
}

static void end_packet(struct perfetto *f)
{
    as_protobuf_end(&f->p);
}

static void end_event(struct perfetto *f)
{
    as_protobuf_end(&f->p);
    end_packet(f);
}

/* A packet for which there was no memory has no bytes. */
static void put_packet(const struct perfetto *f, struct as_out *out)
{
    if (f->p.bytes.size)
        as_out_put(out, f->p.bytes.data, f->p.bytes.size);
}

static bool keep(struct perfetto *f, uint64_t *tally)
{
    struct as_out *out = as_export_item(f->x);

    if (!out)
        return false;
    put_packet(f, out);
    return as_export_keep(f->x, tally);
}

static void put_track(struct perfetto *f, uint64_t flags, uint64_t track)
{
    begin_packet(f, flags);
    if (flags & SEQUENCE_STATE_CLEARED)
        as_protobuf_u64(&f->p, PACKET_FIRST_ON_SEQUENCE, 1);
    as_protobuf_begin(&f->p, PACKET_TRACK_DESCRIPTOR);
    as_protobuf_u64(&f->p, TRACK_ID, track);
}

static void add_interned(struct perfetto *f, uint32_t kind, uint64_t id, const char *text)
{
    as_protobuf_begin(&f->p, kind);
    as_protobuf_u64(&f->p, INTERNED_ID, id);
    as_export_text(&f->p, INTERNED_TEXT, text);
    as_protobuf_end(&f->p);
}

static void note_text(struct perfetto *f, const char *key, const char *text)
{
    as_protobuf_begin(&f->p, EVENT_NOTE);
    as_export_text(&f->p, NOTE_NAME, key);
    as_export_text(&f->p, NOTE_TEXT, text);
    as_protobuf_end(&f->p);
}

static void note_number(struct perfetto *f, const char *key, uint64_t value)
{
    as_protobuf_begin(&f->p, EVENT_NOTE);
    as_export_text(&f->p, NOTE_NAME, key);
    as_protobuf_u64(&f->p, NOTE_UINT, value);
    as_protobuf_end(&f->p);
}

/* ---- head and tail ---- */

static void put_clock(struct perfetto *f, uint64_t id, uint64_t ns)
{
    as_protobuf_begin(&f->p, SNAPSHOT_CLOCK);
    as_protobuf_u64(&f->p, CLOCK_ID, id);
    as_protobuf_u64(&f->p, CLOCK_TIME, ns);
    as_protobuf_end(&f->p);
}

static uint64_t counter_unit(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t unit;
    } known[] = {
        {"bytes", UNIT_BYTES}, {"B", UNIT_BYTES}, {"ns", UNIT_TIME_NS}, {"count", UNIT_COUNT}};

    for (size_t i = 0; unit && i < AS_COUNT_OF(known); i++)
        if (strcmp(unit, known[i].name) == 0)
            return known[i].unit;
    return 0;
}

static uint64_t counter_track(const struct perfetto *f, uint32_t place)
{
    return f->tracks + 2 + place;
}

static void put_counter(struct perfetto *f, uint32_t place, const struct as_run_site *site)
{
    char name[sizeof " [bytes]" + AS_RUN_MAX_NAME];
    uint64_t unit = counter_unit(site->unit);

    if (!unit && site->unit && site->unit[0])
        snprintf(name, sizeof name, "%.1024s [%.64s]", site->name, site->unit);
    else
        snprintf(name, sizeof name, "%s", site->name);
    put_track(f, SEQUENCE_NEEDS_STATE, counter_track(f, place));
    as_protobuf_u64(&f->p, TRACK_PARENT, f->tracks + TRACK_OF_PROCESS);
    as_export_text(&f->p, TRACK_NAME, name);
    as_protobuf_begin(&f->p, TRACK_COUNTER);
    if (unit)
        as_protobuf_u64(&f->p, COUNTER_UNIT, unit);
    as_protobuf_end(&f->p);
    end_event(f);
}

static void put_head(struct as_export *x, struct as_out *out, void *user)
{
    struct perfetto *f = user;

    put_track(f, SEQUENCE_STATE_CLEARED, f->tracks + TRACK_OF_PROCESS);
    as_protobuf_begin(&f->p, TRACK_PROCESS);
    as_protobuf_u64(&f->p, PROCESS_PID, x->pid);
    as_export_text(&f->p, PROCESS_NAME, x->title);
    as_protobuf_end(&f->p);
    end_event(f);
    put_packet(f, out);
    begin_packet(f, SEQUENCE_NEEDS_STATE);
    as_protobuf_begin(&f->p, PACKET_CLOCK_SNAPSHOT);
    put_clock(f, CLOCK_IS_BOOT,
              0); /* the clock of time stamps that name none: ours begins with the run */
    put_clock(f, CLOCK_IS_REAL, x->run->time.real_ns);
    end_event(f);
    put_packet(f, out);
    for (uint32_t place = 0; place < x->run->n_sites; place++) {
        const struct as_run_site *site = as_export_site(x, place);

        if (site->category != ASSAY_CATEGORY_CHANNEL)
            continue;
        put_counter(f, place, site);
        put_packet(f, out);
    }
}

static void put_tail(struct as_export *x, struct as_out *out, void *user)
{
    const struct as_export_tally *seen = &x->result.seen, *kept = &x->result.kept;
    struct perfetto *f = user;
    char cut[AS_EXPORT_TEXT];

    if (!as_export_cut_text(cut, &x->result))
        return;
    f->sequence = 1;
    begin_event(f, 0, TYPE_INSTANT);
    as_protobuf_u64(&f->p, EVENT_TRACK, f->tracks + TRACK_OF_PROCESS);
    as_export_text(&f->p, EVENT_CATEGORY, "recorder");
    as_export_text(&f->p, EVENT_NAME, cut);
    note_number(f, "spans_left_out", seen->spans - kept->spans);
    note_number(f, "spans", seen->spans);
    note_number(f, "samples_left_out", seen->samples - kept->samples);
    note_number(f, "samples", seen->samples);
    note_number(f, "iterations_left_out", seen->iterations - kept->iterations);
    note_number(f, "iterations", seen->iterations);
    end_event(f);
    put_packet(f, out);
}

/* ---- events ---- */

/* Names the event's site and category, and tells the sequence their text when it does not know
 * them. */
static bool add_name(struct perfetto *f, uint32_t place, const struct as_run_site *site)
{
    uint32_t category = site->category < 31 ? site->category : 31;
    bool new_name = f->named[place] != f->sequence, new_category = !(f->categories >> category & 1);

    as_protobuf_u64(&f->p, EVENT_CATEGORY_ID, category + 1);
    as_protobuf_u64(&f->p, EVENT_NAME_ID, (uint64_t)place + 1);
    as_protobuf_end(&f->p); /* of the event */
    if (!new_name && !new_category)
        return false;
    as_protobuf_begin(&f->p, PACKET_INTERNED_DATA);
    if (new_category)
        add_interned(f, INTERNED_CATEGORY, category + 1, as_export_category(site));
    if (new_name)
        add_interned(f, INTERNED_NAME, (uint64_t)place + 1, site->name);
    as_protobuf_end(&f->p);
    return true;
}

static void on_begin(void *user, uint32_t id, uint32_t depth, uint64_t ns)
{
    struct perfetto *f = user;
    uint32_t place = as_export_site_place(f->x, id);
    const struct as_run_site *site;
    bool told;

    f->x->result.seen.spans++;
    if (f->open != depth || f->x->full)
        return;
    site = as_export_site(f->x, place);
    f->last_ns = ns > f->last_ns ? ns : f->last_ns;
    begin_event(f, f->last_ns, TYPE_BEGIN);
    told = add_name(f, place, site);
    end_packet(f);
    f->x->held_bytes += END_BYTES;
    if (!keep(f, &f->x->result.kept.spans)) {
        f->x->held_bytes -= END_BYTES;
        return;
    }
    f->open = depth + 1;
    if (told) {
        f->named[place] = (uint32_t)f->sequence;
        f->categories |= (uint32_t)1 << (site->category < 31 ? site->category : 31);
    }
}

static void begin_end(struct perfetto *f, const struct as_span *span)
{
    begin_event(f, f->last_ns, TYPE_END);
    if (span->state != AS_SPAN_OK)
        note_text(f, "status", as_export_status(span->state));
}

static void add_notes(struct perfetto *f, const struct as_span *span)
{
    for (uint32_t i = 0; i < span->n_notes; i++) {
        as_protobuf_begin(&f->p, EVENT_NOTE);
        as_protobuf_u64(&f->p, NOTE_NAME_ID,
                        (uint64_t)as_export_site_place(f->x, span->note[i].key) + 1);
        as_protobuf_f64(&f->p, NOTE_DOUBLE, span->note[i].value);
        as_protobuf_end(&f->p);
    }
    as_protobuf_end(&f->p); /* of the event */
    as_protobuf_begin(&f->p, PACKET_INTERNED_DATA);
    for (uint32_t i = 0; i < span->n_notes; i++) {
        uint32_t place = as_export_site_place(f->x, span->note[i].key);

        if (f->noted[place] != f->sequence)
            add_interned(f, INTERNED_NOTE_NAME, (uint64_t)place + 1,
                         as_export_site(f->x, place)->name);
        f->noted[place] = (uint32_t)f->sequence;
    }
    as_protobuf_end(&f->p);
}

/* True when the end and its notes are in the file; after a false no more notes are written on this
 * sequence, so it does not matter that their names are taken for known. */
static bool end_with_notes(struct perfetto *f, const struct as_span *span)
{
    uint64_t kept = 0;

    f->x->result.seen.notes += span->n_notes;
    if (f->x->full)
        return false;
    begin_end(f, span);
    add_notes(f, span);
    end_packet(f);
    f->x->held_bytes -= END_BYTES; /* it comes in the place of the one without */
    if (!keep(f, &kept)) {
        f->x->held_bytes += END_BYTES;
        return false;
    }
    f->x->result.kept.notes += span->n_notes;
    return true;
}

static void on_end(void *user, const struct as_span *span)
{
    struct perfetto *f = user;

    if (span->depth >= f->open)
        return; /* its begin did not fit */
    f->open = span->depth;
    f->last_ns = span->end_ns > f->last_ns ? span->end_ns : f->last_ns;
    if (span->n_notes && end_with_notes(f, span))
        return;
    begin_end(f, span);
    end_event(f);
    f->x->held_bytes -= END_BYTES;
    put_packet(f, f->x->out);
}

static void name_iterations(struct perfetto *f)
{
    uint64_t named = 0;

    put_track(f, SEQUENCE_NEEDS_STATE, f->iteration_track);
    as_protobuf_u64(&f->p, TRACK_PARENT, f->track);
    as_export_text(&f->p, TRACK_NAME, "iterations");
    end_event(f);
    f->iterations_named = keep(f, &named);
}

/* An iteration is told when it is over: its begin and its end go out together. */
static void on_iteration(void *user, const struct as_iteration *it)
{
    struct perfetto *f = user;
    struct as_out *out;
    char name[48];

    f->x->result.seen.iterations++;
    if (!f->iterations_named)
        name_iterations(f);
    if (!(out = as_export_item(f->x)))
        return;
    snprintf(name, sizeof name, "iteration %llu", (unsigned long long)it->number);
    begin_event(f, it->start_ns, TYPE_BEGIN);
    as_protobuf_u64(&f->p, EVENT_TRACK, f->iteration_track);
    as_export_text(&f->p, EVENT_CATEGORY, "iteration");
    as_export_text(&f->p, EVENT_NAME, name);
    if (it->has_cpu)
        note_number(f, "cpu_ns", it->cpu_ns);
    if (it->has_length)
        note_number(f, "length", it->length);
    if (it->cut)
        note_text(f, "status", "cut");
    end_event(f);
    put_packet(f, out);
    begin_event(f, as_export_end_ns(it), TYPE_END);
    as_protobuf_u64(&f->p, EVENT_TRACK, f->iteration_track);
    end_event(f);
    put_packet(f, out);
    as_export_keep(f->x, &f->x->result.kept.iterations);
}

static void on_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct perfetto *f = user;
    uint32_t place = as_export_site_place(f->x, channel);

    if (as_export_site(f->x, place)->category != ASSAY_CATEGORY_CHANNEL)
        return; /* a damaged run: there is no such track */
    f->x->result.seen.samples++;
    if (f->x->full)
        return;
    begin_event(f, ns, TYPE_COUNTER);
    as_protobuf_u64(&f->p, EVENT_TRACK, counter_track(f, place));
    as_protobuf_f64(&f->p, EVENT_DOUBLE_VALUE, value);
    end_event(f);
    keep(f, &f->x->result.kept.samples);
}

/* Something that happened to the recording itself, on the thread's own track. */
static void begin_instant(struct perfetto *f, const char *name, uint64_t ns)
{
    begin_event(f, ns, TYPE_INSTANT);
    as_export_text(&f->p, EVENT_CATEGORY, "recorder");
    as_export_text(&f->p, EVENT_NAME, name);
}

static void on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct perfetto *f = user;

    f->x->result.seen.losses++;
    if (f->x->full)
        return;
    begin_instant(f, "events lost", from_ns);
    if (n_events)
        note_number(f, "count", n_events);
    else
        note_text(f, "count", "unknown");
    note_number(f, "until_ns", to_ns);
    end_event(f);
    keep(f, &f->x->result.kept.losses);
}

static void on_wait(void *user, uint64_t from_ns, uint64_t to_ns)
{
    struct perfetto *f = user;

    f->x->result.seen.waits++;
    if (f->x->full)
        return;
    begin_instant(f, "waited for the recorder", from_ns);
    note_number(f, "wait_ns", to_ns > from_ns ? to_ns - from_ns : 0);
    end_event(f);
    keep(f, &f->x->result.kept.waits);
}

/* ---- points and locks ---- */

/* A number for a track or a flow, in the half that the numbers counted from `tracks` leave free. */
static uint64_t number_for(const struct perfetto *f, uint32_t what, uint64_t a, uint64_t b)
{
    uint64_t h = f->tracks ^ (uint64_t)what << 56;
    const uint64_t part[] = {a, b};

    for (size_t i = 0; i < AS_COUNT_OF(part); i++) {
        h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h | (uint64_t)1 << 63;
}

/* A track of its own below the process or a thread; told each time, since it may be the first. */
static void put_own_track(struct perfetto *f, struct as_out *out, uint64_t track, uint64_t parent,
                          const char *name)
{
    put_track(f, SEQUENCE_NEEDS_STATE, track);
    as_protobuf_u64(&f->p, TRACK_PARENT, parent);
    as_export_text(&f->p, TRACK_NAME, name);
    end_event(f);
    put_packet(f, out);
}

/* One event with its name and category in full. */
static void put_named(struct perfetto *f, struct as_out *out, uint64_t ns, uint64_t type,
                      uint64_t track, const char *category, const char *name)
{
    begin_event(f, ns, type);
    if (track)
        as_protobuf_u64(&f->p, EVENT_TRACK, track);
    if (name && category) {
        as_export_text(&f->p, EVENT_CATEGORY, category);
        as_export_text(&f->p, EVENT_NAME, name);
    }
    end_event(f);
    put_packet(f, out);
}

static void put_flow(struct perfetto *f, struct as_out *out, const struct as_point *p,
                     const char *name)
{
    begin_event(f, p->ns, TYPE_INSTANT);
    as_export_text(&f->p, EVENT_CATEGORY, "flow");
    as_export_text(&f->p, EVENT_NAME, name);
    as_protobuf_fixed64(&f->p, p->role == AS_POINT_FLOW_END ? EVENT_FLOW_END : EVENT_FLOW,
                        number_for(f, 'f', p->site, p->id));
    end_event(f);
    put_packet(f, out);
}

static void on_point(void *user, const struct as_point *p)
{
    struct perfetto *f = user;
    const char *name = as_run_site_at(f->x->run, p->site)->name;
    uint64_t track = number_for(f, 'a', p->site, p->id);
    struct as_out *out;

    f->x->result.seen.points++;
    if (!(out = as_export_item(f->x)))
        return;
    switch (p->role) {
    case AS_POINT_ASYNC_BEGIN:
        put_own_track(f, out, track, f->tracks + TRACK_OF_PROCESS, name);
        put_named(f, out, p->ns, TYPE_BEGIN, track, "async", name);
        break;
    case AS_POINT_ASYNC_END:
        put_own_track(f, out, track, f->tracks + TRACK_OF_PROCESS, name);
        put_named(f, out, p->ns, TYPE_END, track, NULL, NULL);
        break;
    case AS_POINT_FLOW_BEGIN:
    case AS_POINT_FLOW_STEP:
    case AS_POINT_FLOW_END:
        put_flow(f, out, p, name);
        break;
    case AS_POINT_MESSAGE:
        put_named(f, out, p->ns, TYPE_INSTANT, 0, "message", p->text);
        break;
    default:
        put_named(f, out, p->ns, TYPE_INSTANT, 0, "instant", name);
        break;
    }
    as_export_keep(f->x, &f->x->result.kept.points);
}

/* A lock is told when it was given back. The locks of a thread need not be nested, so each that is
 * held at the same time has a track of its own. */
static void on_lock(void *user, const struct as_lock_span *l)
{
    struct perfetto *f = user;
    const char *name = as_run_site_at(f->x->run, l->site)->name;
    uint64_t track = number_for(f, 'l', f->sequence, l->slot);
    struct as_out *out;

    f->x->result.seen.locks++;
    if (!(out = as_export_item(f->x)))
        return;
    put_own_track(f, out, track, f->track, "locks");
    if (l->contended) {
        put_named(f, out, l->wait_ns, TYPE_BEGIN, track, "lock_wait", name);
        put_named(f, out, l->held_ns, TYPE_END, track, NULL, NULL);
    }
    if (l->taken) {
        put_named(f, out, l->held_ns, TYPE_BEGIN, track, "lock", name);
        put_named(f, out, l->freed_ns, TYPE_END, track, NULL, NULL);
    }
    as_export_keep(f->x, &f->x->result.kept.locks);
}

/* ---- threads ---- */

static void begin_thread(struct perfetto *f, const struct as_export_thread *thread, size_t i)
{
    uint64_t begun = 0;

    f->sequence = 2 + i;
    f->track = f->tracks + TRACK_OF_THREADS + 2 * i;
    f->iteration_track = f->track + 1;
    f->iterations_named = false;
    f->categories = 0;
    f->open = 0;
    f->last_ns = 0;
    put_track(f, SEQUENCE_STATE_CLEARED, f->track);
    as_protobuf_u64(&f->p, TRACK_PARENT, f->tracks + TRACK_OF_PROCESS);
    as_protobuf_begin(&f->p, TRACK_THREAD);
    as_protobuf_u64(&f->p, THREAD_PID, f->x->pid);
    as_protobuf_u64(&f->p, THREAD_TID, thread->row);
    as_export_text(&f->p, THREAD_NAME, thread->info->name);
    as_protobuf_end(&f->p);
    as_protobuf_end(&f->p);
    as_protobuf_begin(&f->p, PACKET_DEFAULTS);
    as_protobuf_begin(&f->p, DEFAULTS_TRACK_EVENT);
    as_protobuf_u64(&f->p, EVENT_DEFAULTS_TRACK, f->track);
    as_protobuf_end(&f->p);
    end_event(f);
    keep(f, &begun); /* when it does not fit nothing of the thread does */
}

static int put_threads(struct perfetto *f, struct assay_error *err)
{
    const struct as_span_visitor visitor = {.user = f,
                                            .begin = on_begin,
                                            .end = on_end,
                                            .iteration = on_iteration,
                                            .sample = on_sample,
                                            .loss = on_loss,
                                            .wait = on_wait,
                                            .point = on_point,
                                            .lock = on_lock};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < f->x->n_threads && rc == ASSAY_OK; i++) {
        as_export_share_thread(f->x, i);
        begin_thread(f, &f->x->thread[i], i);
        rc = as_export_walk(f->x, &f->x->thread[i], &visitor, err);
        if (rc == ASSAY_OK && !as_protobuf_ok(&f->p))
            rc = as_fail_nomem(err);
    }
    return rc;
}

int as_export_perfetto(struct as_export *x, struct assay_error *err)
{
    struct perfetto f = {.x = x, .sequence = 1};
    size_t n_places = (size_t)x->run->n_sites + 1;
    int rc;

    memcpy(&f.tracks, x->run->header.id, sizeof f.tracks);
    f.tracks = f.tracks >> 22 << 22 & INT64_MAX; /* below are the places of sites and threads */
    f.named = as_arena_zero(&x->arena, n_places, sizeof *f.named);
    f.noted = as_arena_zero(&x->arena, n_places, sizeof *f.noted);
    if (!f.named || !f.noted)
        return as_fail_nomem(err);
    rc = as_export_open(x, put_head, put_tail, &f, err);
    if (rc == ASSAY_OK)
        rc = put_threads(&f, err);
    if (rc == ASSAY_OK)
        put_tail(x, x->out, &f);
    if (rc == ASSAY_OK && !as_protobuf_ok(&f.p))
        rc = as_fail_nomem(err);
    as_protobuf_fini(&f.p);
    return rc;
}
