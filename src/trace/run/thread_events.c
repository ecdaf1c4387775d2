/* trace/run/thread_events.c - the events of one thread in the order of time, a chunk at a time. */
#include "trace/run/thread_events.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file/file_read.h"

/* Records that one mark may be followed by: see trace/record/marks.c. */
#define AS_MOST_DATA 4

/* The same of a mark that is stored with signals held back, and thus never moves. */
#define AS_MOST_RECORDS AS_MESSAGE_RECORDS

/* Handlers that interrupt one another in the midst of a mark. */
#define AS_MOST_NESTED 8

void as_thread_events_init(struct as_thread_events *e, const struct as_run *run,
                           const struct as_run_thread *thread)
{
    *e = (struct as_thread_events){.run = run, .thread = thread};
}

void as_thread_events_fini(struct as_thread_events *e)
{
    as_free(e->bytes);
    as_free(e->event);
    e->bytes = NULL;
    e->event = NULL;
}

static int read_payload(struct as_thread_events *e, const struct as_run_chunk *chunk,
                        const uint8_t **out, struct assay_error *err)
{
    ssize_t n;

    if (chunk->memory) {
        *out = chunk->memory;
        return ASSAY_OK;
    }
    if (e->bytes_capacity < chunk->size) {
        uint8_t *grown = as_realloc(e->bytes, chunk->size, 1);

        if (!grown)
            return as_fail_nomem(err);
        e->bytes = grown;
        e->bytes_capacity = chunk->size;
    }
    n = as_pread_some(e->run->fd, e->bytes, chunk->size, chunk->offset);
    if (n < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", e->run->path);
    if ((size_t)n < chunk->size || as_crc32c(0, e->bytes, chunk->size) != chunk->crc)
        return as_fail(err, ASSAY_ERR_IO, "%s was changed while it was read", e->run->path);
    *out = e->bytes;
    return ASSAY_OK;
}

/* Decodes a payload into the batch; returns how many events it gave. */
static int decode(struct as_thread_events *e, const struct as_run_chunk *chunk,
                  const uint8_t *payload, size_t *n_out, struct assay_error *err)
{
    struct as_cursor c = as_cursor_over(payload, chunk->size);
    struct as_event_coder coder = {0};
    uint64_t skipped; /* thread, sequence and first are known from opening */
    int n_skipped = 0;
    size_t n = 0;

    /* Not more than there are bytes, which was checked when the run was opened, and a few that
     * wait. */
    if (e->event_capacity < e->n_waiting + chunk->records) {
        size_t capacity = e->n_waiting + chunk->records;
        struct as_event *grown = as_realloc(e->event, capacity, sizeof *grown);

        if (!grown)
            return as_fail_nomem(err);
        e->event = grown;
        e->event_capacity = capacity;
    }
    while (n_skipped < 3 && as_take_varint(&c, &skipped))
        n_skipped++;
    if (n_skipped == 3 && as_take_u64le(&c, &coder.time)) {
        while (n < chunk->records && as_event_decode(&coder, &c, &e->event[e->n_waiting + n]))
            n++;
    }
    e->n_bad += chunk->records - n;
    *n_out = n;
    return ASSAY_OK;
}

/* Moves the event at `i`, with its data up to `from`, behind everything later in the list but
 * earlier in time; takes the way from `*left`. */
static void put_back(struct as_event *event, size_t n, size_t i, size_t from, size_t *left)
{
    struct as_event held[AS_MOST_DATA];
    size_t n_held = from - i, to = from;
    uint64_t time = event[i].time;

    memcpy(held, event + i, n_held * sizeof *held);
    while (to < n && (!as_kind_is_timed(event[to].kind) || event[to].time < time))
        to++;
    memmove(event + i, event + from, (to - from) * sizeof *event);
    memcpy(event + to - n_held, held, n_held * sizeof *held);
    *left -= to - from < *left ? to - from : *left;
}

/* Whether one of the few events before `i`, or the batch before, is no later than `time`: more than
 * a few above it are no handlers within handlers but a clock that fell. */
static bool some_earlier(const struct as_thread_events *e, size_t i, uint64_t time)
{
    unsigned looked = 0;

    while (i-- > 0) {
        if (!as_kind_is_timed(e->event[i].kind))
            continue;
        if (e->event[i].time <= time)
            return true;
        if (++looked == AS_MOST_NESTED)
            return false;
    }
    return e->last_time <= time;
}

/* An event above those after it, which themselves follow the one before it, was interrupted by a
 * handler between claiming its place and reading the clock: it goes back behind the handler's
 * events. From the last to the first, so that handlers within handlers come out right. */
static void put_all_back(struct as_thread_events *e, size_t n)
{
    struct as_event *event = e->event;
    size_t left =
        64 * n; /* how far events may be moved in all: hostile input must not cost its square */
    size_t next = n; /* the timed event after the one looked at */

    for (size_t i = n; i-- > 0;) {
        if (!as_kind_is_timed(event[i].kind))
            continue;
        if (next < n && event[next].time < event[i].time && next - i <= AS_MOST_DATA && left > 0 &&
            some_earlier(e, i, event[next].time)) {
            put_back(event, n, i, next, &left);
            e->n_displaced++;
        }
        next =
            i; /* whatever stands there now is timed: an event moved makes room for one that is */
    }
}

/* How many events from the first on are in their place. The last few are not sure of theirs: a
 * handler that came in the midst of one may have filled the chunk, and its events stand in the
 * next.
 */
static size_t count_settled(const struct as_event *event, size_t n)
{
    size_t at = n, settled = n;
    unsigned timed = 0;

    while (at > 0 && timed < AS_MOST_NESTED && n - at < (size_t)AS_MOST_NESTED * AS_MOST_RECORDS) {
        if (as_kind_is_timed(event[--at].kind)) {
            settled = at;
            timed++;
        }
    }
    return settled;
}

/* Where the clock ran backwards all the same, events take the time of the newest before them, and
 * are counted. */
static void hold_clock(struct as_thread_events *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct as_event *event = &e->event[i];

        if (!as_kind_is_timed(event->kind))
            continue;
        if (event->time < e->last_time) {
            event->time = e->last_time;
            e->n_backwards++;
        }
        e->last_time = event->time;
    }
}

/* Hands out the first `n` of the `n_all` events there are; the others wait for the next chunk. */
static int hand_out(struct as_thread_events *e, size_t n, size_t n_all,
                    struct as_event_batch *batch)
{
    hold_clock(e, n);
    *batch = (struct as_event_batch){.event = e->event, .n_events = n, .after_gap = e->gap};
    e->gap = false;
    e->waiting_at = n;
    e->n_waiting = n_all - n;
    return 1;
}

int as_thread_events_next(struct as_thread_events *e, struct as_event_batch *batch,
                          struct assay_error *err)
{
    const struct as_run_thread *thread = e->thread;

    for (;;) {
        size_t n_before = e->n_waiting, n = 0, settled;
        bool more = e->next_chunk < thread->n_chunks;
        const struct as_run_chunk *chunk = more ? &thread->chunk[e->next_chunk] : NULL;
        uint64_t expected = more && e->next_chunk ? chunk[-1].sequence + 1 : 0;
        const uint8_t *payload = NULL;
        int rc;

        if (n_before)
            memmove(e->event, e->event + e->waiting_at, n_before * sizeof *e->event);
        e->waiting_at = 0;
        if (n_before && (!more || chunk->sequence != expected))
            return hand_out(e, n_before, n_before,
                            batch); /* nothing of the next belongs before them */
        if (!more)
            return 0;
        e->gap |= chunk->sequence != expected;
        e->next_chunk++;
        rc = read_payload(e, chunk, &payload, err);
        if (rc == ASSAY_OK)
            rc = decode(e, chunk, payload, &n, err);
        if (rc < 0)
            return rc;
        n += n_before;
        put_all_back(e, n);
        settled = e->next_chunk < thread->n_chunks ? count_settled(e->event, n) : n;
        e->n_waiting = n;
        if (settled > 0 || n == 0)
            return hand_out(e, settled, n, batch);
    }
}
