/* report/run/report_json_events.c - the parts of a report's JSON about messages, instant events,
 * spans across threads, flows and locks. */
#include "base/units.h"
#include "report/run/report.h"

void as_json_messages(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_run_events *e = &report->layers->events_beside;

    as_json_kv_object(w, "messages");
    as_json_kv_u64(w, "count", e->messages);
    as_json_kv_array(w, "last");
    for (size_t i = 0; i < e->n_messages; i++) {
        as_json_object(w);
        as_json_kv_u64(w, "at_ns", e->message[i].ns);
        as_json_kv_u64(w, "thread", e->message[i].thread);
        as_json_kv_text(w, "text", e->message[i].text);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
    as_json_kv_array(w, "instants");
    for (size_t i = 0; i < e->n_instants; i++) {
        as_json_object(w);
        as_json_kv_text(w, "name", e->instant[i].info->name);
        AS_JSON_FIELDS(w, &e->instant[i], count, first_ns, last_ns);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_link(struct as_json_writer *w, const struct as_link *l)
{
    as_json_object(w);
    as_json_kv_text(w, "name", l->info->name);
    as_json_kv_u64(w, "count", l->n);
    AS_JSON_FIELDS(w, l, steps, open, begun_again, stray, crossed, total_ns, mean_ns, min_ns,
                   p50_ns, p95_ns, max_ns, p95_supported);
    as_json_object_end(w);
}

void as_json_async(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_run_events *e = &report->layers->events_beside;

    as_json_kv_array(w, "async_spans");
    for (size_t i = 0; i < e->n_async; i++)
        put_link(w, &e->async[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "flows");
    for (size_t i = 0; i < e->n_flows; i++)
        put_link(w, &e->flow[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "points_not_followed", e->unfollowed);
}

void as_json_locks(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_run_events *e = &report->layers->events_beside;

    as_json_kv_array(w, "locks");
    for (size_t i = 0; i < e->n_locks; i++) {
        as_json_object(w);
        as_json_kv_text(w, "name", e->lock[i].info->name);
        AS_JSON_FIELDS(w, &e->lock[i], acquisitions, contended, wait_ns, max_wait_ns, held_ns,
                       max_held_ns, given_up, open, n_threads);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_u64(w, "stray_locks", e->stray_locks);
}
