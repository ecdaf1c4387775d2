/* report/export/export_common.c - what every exporter shares: the run, the room that is left, and
 * the tallies. */
#include "report/export/export_common.h"

#include <assay/scope.h>
#include <inttypes.h>
#include <string.h>

#include "base/proto/protobuf_writer.h"
#include "base/text/utf8.h"
#include "base/units.h"

static const char *const category_name[] = {
    [ASSAY_CATEGORY_LAYER] = "layer",     [ASSAY_CATEGORY_FUNCTION] = "function",
    [ASSAY_CATEGORY_TIMER] = "timer",     [ASSAY_CATEGORY_PHASE] = "phase",
    [ASSAY_CATEGORY_CHANNEL] = "channel", [ASSAY_CATEGORY_KEY] = "key",
    [ASSAY_CATEGORY_INSTANT] = "instant", [ASSAY_CATEGORY_ASYNC] = "async",
    [ASSAY_CATEGORY_FLOW] = "flow",       [ASSAY_CATEGORY_LOCK] = "lock",
};

static const char *const status_name[] = {
    [AS_SPAN_OK] = "ok",   [AS_SPAN_FAILED] = "failed", [AS_SPAN_UNCLOSED] = "unclosed",
    [AS_SPAN_CUT] = "cut", [AS_SPAN_OPEN] = "open",
};

const char *as_export_category(const struct as_run_site *site)
{
    return site->category < AS_COUNT_OF(category_name) ? category_name[site->category] : "other";
}

const char *as_export_status(enum as_span_state state)
{
    return status_name[state];
}

const struct as_run_site *as_export_site(const struct as_export *x, uint32_t place)
{
    return as_run_site_at(x->run, place < x->run->n_sites ? place + 1 : 0);
}

/* ---- room ---- */

static int measure_tail(struct as_export *x, as_export_part tail, void *user,
                        struct assay_error *err)
{
    struct as_export_result before = x->result;
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    memset(&x->result.seen, 0xff, sizeof x->result.seen);
    memset(&x->result.kept, 0, sizeof x->result.kept);
    tail(x, &text, user);
    x->result = before;
    x->tail_bytes = text.total_bytes;
    if (!as_out_ok(&text))
        rc = as_fail_nomem(err);
    as_out_drop(&text);
    return rc;
}

int as_export_open(struct as_export *x, as_export_part head, as_export_part tail, void *user,
                   struct assay_error *err)
{
    uint64_t least;
    int rc = tail && x->options.max_bytes ? measure_tail(x, tail, user, err) : ASSAY_OK;

    if (rc < 0)
        return rc;
    x->scratch.used = 0;
    if (head)
        head(x, x->to, user);
    if (!x->options.max_bytes)
        return ASSAY_OK;
    least = x->scratch.used + x->tail_bytes;
    if (!as_out_ok(&x->scratch))
        return as_fail_nomem(err);
    if (least > x->options.max_bytes)
        return as_fail(err, ASSAY_ERR_LIMIT,
                       "a limit of %" PRIu64 " bytes is too small: %" PRIu64
                       " are needed for the file structure alone",
                       x->options.max_bytes, least);
    x->limit_at = x->stop_at = x->out->total_bytes + x->options.max_bytes - x->tail_bytes;
    as_out_put(x->out, x->scratch.buf, x->scratch.used);
    return ASSAY_OK;
}

void as_export_share(struct as_export *x, uint64_t share, uint64_t whole)
{
    uint64_t left;

    x->full = false;
    if (x->to == x->out)
        return;
    left = x->limit_at > x->out->total_bytes ? x->limit_at - x->out->total_bytes : 0;
    if (share < whole)
        left = (uint64_t)((double)left * ((double)share / (double)whole));
    x->stop_at = x->out->total_bytes + left;
}

void as_export_share_thread(struct as_export *x, size_t i)
{
    if (i == 0)
        for (size_t t = x->events_left = 0; t < x->n_threads; t++)
            x->events_left += x->thread[t].events;
    as_export_share(x, x->thread[i].events, x->events_left);
    x->events_left -= x->thread[i].events;
}

bool as_export_move(struct as_export *x)
{
    if (x->out->total_bytes + x->held_bytes + x->scratch.used > x->stop_at) {
        x->full = true;
        return false;
    }
    as_out_put(x->out, x->scratch.buf, x->scratch.used);
    return true;
}

void as_export_release(struct as_export *x, const void *data, size_t size, uint64_t held_bytes)
{
    x->held_bytes -= held_bytes;
    as_out_put(x->out, data, size);
}

/* ---- events ---- */

int as_export_walk(struct as_export *x, const struct as_export_thread *thread,
                   const struct as_span_visitor *visitor, struct assay_error *err)
{
    struct as_span_walker *walker;
    int rc = 1;

    if (!x->run->time.known) {
        x->result.no_clock |= thread->info->n_chunks > 0;
        return ASSAY_OK;
    }
    walker = as_span_walker_new(x->run, thread->info, visitor);
    if (!walker)
        return as_fail_nomem(err);
    while (rc > 0 && as_out_ok(x->out) && as_out_ok(&x->scratch))
        rc = as_span_walker_step(walker, err);
    as_span_walker_free(walker);
    return rc < 0 ? rc : ASSAY_OK;
}

/* ---- text ---- */

const char *as_export_utf8(struct as_export *x, const char *text)
{
    size_t size = strlen(text), at = 0;
    uint32_t code;

    if (as_utf8_valid(text, size))
        return text;
    x->quoted.used = 0;
    while (at < size) {
        size_t n = as_utf8_decode(text + at, size - at, &code);

        if (n)
            as_out_put(&x->quoted, text + at, n);
        else
            as_out_text(&x->quoted, AS_UTF8_REPLACEMENT);
        at += n ? n : 1;
    }
    return as_out_ok(&x->quoted) ? as_arena_text(&x->arena, x->quoted.buf, x->quoted.used) : NULL;
}

static void write_cut(struct as_json_writer *w, const char *what, uint64_t seen, uint64_t kept)
{
    as_json_kv_object(w, what);
    as_json_kv_u64(w, "left_out", seen - kept);
    as_json_kv_u64(w, "of", seen);
    as_json_object_end(w);
}

void as_export_json_cut(struct as_export *x, struct as_json_writer *w)
{
    const struct as_export_tally *seen = &x->result.seen, *kept = &x->result.kept;

    as_json_object(w);
    if (as_export_is_cut(&x->result)) {
        write_cut(w, "spans", seen->spans, kept->spans);
        write_cut(w, "samples", seen->samples, kept->samples);
        write_cut(w, "iterations", seen->iterations, kept->iterations);
        write_cut(w, "losses", seen->losses, kept->losses);
        write_cut(w, "points", seen->points, kept->points);
        write_cut(w, "locks", seen->locks, kept->locks);
    }
    as_json_object_end(w);
}

void as_export_json_losses(struct as_export *x, struct as_json_writer *w)
{
    const struct as_run_health *h = &x->run->health;
    uint64_t lost = h->damaged_events + h->cut_events;

    for (unsigned i = 0; i < AS_LOSS_REASON_COUNT; i++)
        lost += h->lost[i];
    as_json_kv_bool(w, "closed", h->closed);
    as_json_kv_bool(w, "live", h->live);
    as_json_kv_u64(w, "lost_events", lost);
    as_json_kv_u64(w, "damaged_blocks", h->damaged_blocks);
    as_json_kv_u64(w, "cut_bytes", h->cut_bytes);
}

static bool is_safe(const char *text, size_t size)
{
    char escaped[12];
    const char *shown;
    size_t n;

    for (size_t at = 0; at < size;) {
        size_t used = as_utf8_next_safe(text + at, size - at, escaped, &shown, &n);

        if (shown != text + at || n != used)
            return false;
        at += used;
    }
    return true;
}

void as_export_text(struct as_protobuf *p, uint32_t field, const char *text)
{
    struct as_arena arena = {0};
    size_t size = strlen(text);
    const char *safe = is_safe(text, size) ? text : as_utf8_safe(&arena, text, size);

    if (safe)
        as_protobuf_text(p, field, safe);
    p->bytes.failed = p->bytes.failed || !safe;
    as_arena_fini(&arena);
}
