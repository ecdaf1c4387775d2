/* report/watch/watch_json_frames.c - functions and lines of sites and stacks as JSON. Frames stand
 * in one table, which sites and stacks refer to by place. */
#include "base/text/text.h"
#include "base/units.h"
#include "report/watch/watch_report.h"

#define FRAME_TEXT 2200

static void put_line(struct as_json_writer *w, const struct as_heap_frame *f)
{
    as_json_kv_text(w, "file", f ? f->file : NULL);
    if (f && f->line)
        as_json_kv_u64(w, "line", f->line);
    else
        as_json_kv_null(w, "line");
}

void as_watch_json_frame_table(struct as_json_writer *w, const struct as_target *target)
{
    as_json_kv_array(w, "frame_table");
    for (size_t i = 0; i < target->n_frames; i++) {
        const struct as_heap_frame *f = &target->frame[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, f, function, module, offset);
        put_line(w, f);
        AS_JSON_FIELDS(w, f, inlined, wrapper);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_watch_json_frames(struct as_json_writer *w, const struct as_target *target,
                          const struct as_heap_trace *trace)
{
    char text[FRAME_TEXT];

    as_json_kv_array(w, "frames");
    for (uint32_t k = 0; k < trace->n_frames; k++) {
        as_heap_frame_address(trace->frame[k], text, sizeof text);
        as_json_text(w, text);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "frame_ids");
    for (uint32_t k = 0; k < trace->n_frames && trace->frame_id; k++)
        as_json_u64(w, (uint64_t)(trace->frame[k] - target->frame));
    as_json_array_end(w);
}

static void put_caller(struct as_json_writer *w, const struct as_target_site *place,
                       const struct as_target_caller *c)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, c->frame, function, module);
    put_line(w, c->frame);
    AS_JSON_FIELDS(w, c->frame, inlined);
    AS_JSON_FIELDS(w, c, estimate, samples, share, live_share, peak_share);
    as_json_kv_f64(w, "allocated_bytes", c->share * (double)place->site.allocated_bytes);
    as_json_kv_f64(w, "live_bytes", c->live_share * (double)place->site.live_bytes);
    as_json_object_end(w);
}

void as_watch_json_place(struct as_json_writer *w, const struct as_target_site *place)
{
    put_line(w, place->n_frames ? &place->frame[0] : NULL);
    as_json_kv_array(w, "inlined_functions");
    for (uint32_t k = 0; k + 1 < place->n_frames; k++)
        as_json_text(w, place->frame[k].function);
    as_json_array_end(w);
    as_json_kv_array(w, "callers");
    for (size_t i = 0; i < place->n_callers; i++)
        put_caller(w, place, &place->caller[i]);
    as_json_array_end(w);
}
