/* trace/thread_events.c - the events of one thread in the order of time, a chunk at a time.
 * Puts back what a signal handler overtook, and never hands out a time that runs backwards. */
#include "trace/thread_events.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"

/* Handlers that interrupt one another leave that many events out of order at most; a clock that fell leaves more. */
#define AS_MOST_OVERTAKEN 8

void as_thread_events_init(struct as_thread_events *e, const struct as_run *run, const struct as_run_thread *thread)
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

static int read_payload(struct as_thread_events *e, const struct as_run_chunk *chunk, const uint8_t **out,
                        struct assay_error *err)
{
    size_t done = 0;

    if (chunk->memory) {
        *out = chunk->memory;
        return ASSAY_OK;
    }
    if (e->bytes_room < chunk->size) {
        uint8_t *grown = as_realloc(e->bytes, chunk->size, 1);

        if (!grown)
            return as_fail_nomem(err);
        e->bytes = grown;
        e->bytes_room = chunk->size;
    }
    while (done < chunk->size) {
        ssize_t n = pread(e->run->fd, e->bytes + done, chunk->size - done, (off_t)(chunk->offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", e->run->path);
        if (n == 0)
            break;
        done += (size_t)n;
    }
    if (done < chunk->size || as_crc32c(0, e->bytes, chunk->size) != chunk->crc)
        return as_fail(err, ASSAY_ERR_IO, "%s was changed while it was read", e->run->path);
    *out = e->bytes;
    return ASSAY_OK;
}

/* Decodes a payload into the batch; returns how many events it gave. */
static int decode(struct as_thread_events *e, const struct as_run_chunk *chunk, const uint8_t *payload, size_t *n_out,
                  struct assay_error *err)
{
    struct as_cursor c = as_cursor_over(payload, chunk->size);
    struct as_event_coder coder = {0};
    uint64_t skipped;
    size_t n = 0;

    if (e->event_room < chunk->records) { /* not more than there are bytes: checked when the run was opened */
        struct as_event *grown = as_realloc(e->event, chunk->records, sizeof *grown);

        if (!grown)
            return as_fail_nomem(err);
        e->event = grown;
        e->event_room = chunk->records;
    }
    if (as_take_varint(&c, &skipped) && as_take_varint(&c, &skipped) && as_take_varint(&c, &skipped) &&
        as_take_u64le(&c, &coder.time)) {
        while (n < chunk->records && as_event_decode(&coder, &c, &e->event[n]))
            n++;
    }
    e->n_bad += chunk->records - n;
    *n_out = n;
    return ASSAY_OK;
}

/* Moves the event at `i`, with the data after it, to where its time belongs, and takes the way from `*left`. Returns
 * where the next one stands. */
static size_t put_back(struct as_event *event, size_t n, size_t i, size_t *left)
{
    struct as_event held[4];
    size_t n_held = 1, to = i;
    uint64_t time = event[i].time;

    while (i + n_held < n && n_held < sizeof held / sizeof *held && !as_kind_is_timed(event[i + n_held].kind))
        n_held++;
    memcpy(held, event + i, n_held * sizeof *held);
    while (to > 0 && !(as_kind_is_timed(event[to - 1].kind) && event[to - 1].time <= time))
        to--;
    while (to < i && !as_kind_is_timed(event[to].kind)) /* data stays with the event it belongs to */
        to++;
    *left -= i - to < *left ? i - to : *left;
    memmove(event + to + n_held, event + to, (i - to) * sizeof *event);
    memcpy(event + to, held, n_held * sizeof *held);
    return i + n_held;
}

/* How many timed events from `i` on stand below `newest` before one does not; AS_MOST_OVERTAKEN + 1 for more. */
static size_t count_low(const struct as_event *event, size_t n, size_t i, uint64_t newest)
{
    size_t low = 0;

    for (; i < n && low <= AS_MOST_OVERTAKEN; i++) {
        if (!as_kind_is_timed(event[i].kind))
            continue;
        if (event[i].time >= newest)
            break;
        low++;
    }
    return low;
}

/* A few events below their predecessors were overtaken by those of a handler, or of handlers in one another: each goes
 * back to its place. One whose place is in the chunk before stays and takes the time of the newest. A clock that stays
 * below has run backwards: those events take that time too, and are counted apart. */
static void straighten(struct as_thread_events *e, size_t n)
{
    uint64_t newest = e->last_time;
    size_t left = 64 * n; /* how far events may be moved in all: hostile input must not cost its square */
    size_t i = 0, low = 0;

    while (i < n) {
        struct as_event *event = &e->event[i];

        if (!as_kind_is_timed(event->kind) || event->time >= newest) {
            newest = as_kind_is_timed(event->kind) ? event->time : newest;
            low = 0;
            i++;
            continue;
        }
        if (low == 0)
            low = count_low(e->event, n, i, newest);
        if (low > AS_MOST_OVERTAKEN || left == 0) {
            event->time = newest;
            e->n_backwards++;
            i++;
        } else if (event->time < e->last_time) {
            event->time = newest;
            e->n_displaced++;
            i++;
        } else {
            i = put_back(e->event, n, i, &left);
            e->n_displaced++;
        }
    }
    e->last_time = newest;
}

int as_thread_events_next(struct as_thread_events *e, struct as_event_batch *batch, struct assay_error *err)
{
    const struct as_run_thread *thread = e->thread;
    const struct as_run_chunk *chunk;
    const uint8_t *payload = NULL;
    uint64_t expected;
    int rc;

    if (e->next_chunk == thread->n_chunks)
        return 0;
    chunk = &thread->chunk[e->next_chunk];
    expected = e->next_chunk ? thread->chunk[e->next_chunk - 1].sequence + 1 : 0;
    e->next_chunk++;
    rc = read_payload(e, chunk, &payload, err);
    if (rc < 0)
        return rc;
    rc = decode(e, chunk, payload, &batch->n_events, err);
    if (rc < 0)
        return rc;
    straighten(e, batch->n_events);
    batch->event = e->event;
    batch->after_gap = chunk->sequence != expected;
    return 1;
}
