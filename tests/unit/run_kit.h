/* tests/unit/run_kit.h - builds run files in memory with known times, and collects the spans of a
 * run. Times are nanoseconds since the run began: the clock is the monotonic one and starts at
 * KIT_START. */
#ifndef AS_TESTS_RUN_KIT_H
#define AS_TESTS_RUN_KIT_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/record/event_code.h"
#include "trace/run/run_writer.h"
#include "trace/run/span_walk.h"

#define KIT_START   1000000u
#define KIT_THREADS 8

struct kit {
    struct as_run_writer w;
    char path[64];
    uint64_t next_sequence[KIT_THREADS];
};

static inline void kit_add(struct kit *k, uint16_t kind, const void *data, size_t size, uint32_t n)
{
    assert_true(as_run_writer_add(&k->w, kind, data, size, n));
}

static inline void kit_meta(struct kit *k, const char *json)
{
    kit_add(k, AS_BLOCK_META, json, strlen(json), 0);
}

static inline void kit_anchor(struct kit *k, uint64_t ticks, uint64_t mono_ns)
{
    uint8_t entry[40], *to = entry;

    to = as_put_varint(to, ticks);
    to = as_put_varint(to, 10);
    to = as_put_varint(to, mono_ns);
    to = as_put_varint(to, 1700000000000000000u + mono_ns);
    kit_add(k, AS_BLOCK_CLOCK, entry, (size_t)(to - entry), 0);
}

/* An empty run on a memory file. */
static inline void kit_begin_bare(struct kit *k)
{
    struct as_run_header header = {.major = AS_RUN_MAJOR, .minor = AS_RUN_MINOR, .salt = 0x5a17};
    int fd = memfd_create("run", 0);

    *k = (struct kit){.w.fd = -1};
    assert_true(fd >= 0);
    snprintf(k->path, sizeof k->path, "/proc/self/fd/%d", fd);
    for (uint8_t i = 0; i < AS_RUN_ID_BYTES; i++)
        header.id[i] = i;
    assert_int_equal(as_run_writer_open(&k->w, fd, &header, NULL), ASSAY_OK);
}

/* The same with a clock whose ticks are nanoseconds. */
static inline void kit_begin(struct kit *k)
{
    kit_begin_bare(k);
    kit_meta(k, "{\"clock\":{\"kind\":\"monotonic\"}}");
    kit_anchor(k, KIT_START, KIT_START);
}

static inline uint8_t *kit_text(uint8_t *to, const char *text)
{
    to = as_put_varint(to, strlen(text));
    memcpy(to, text, strlen(text));
    return to + strlen(text);
}

static inline void kit_site(struct kit *k, uint32_t id, uint8_t category, const char *name)
{
    uint8_t entry[256], *to = entry;

    *to++ = AS_ENTRY_SITE;
    to = as_put_varint(to, id);
    *to++ = category;
    to = as_put_varint(to, id * 10);
    to = kit_text(to, name);
    to = kit_text(to, "net.c");
    to = kit_text(to, "");
    kit_add(k, AS_BLOCK_SITES, entry, (size_t)(to - entry), 0);
}

static inline void kit_attribute(struct kit *k, uint32_t id, const char *key, const char *text,
                                 double number)
{
    uint8_t entry[256], *to = entry;
    uint64_t bits;

    *to++ = text ? AS_ENTRY_TEXT : AS_ENTRY_NUMBER;
    to = as_put_varint(to, id);
    to = kit_text(to, key);
    memcpy(&bits, &number, sizeof bits);
    to = text ? kit_text(to, text) : as_put_u64le(to, bits);
    kit_add(k, AS_BLOCK_SITES, entry, (size_t)(to - entry), 0);
}

static inline void kit_thread(struct kit *k, uint64_t index, uint64_t tid, const char *name)
{
    uint8_t entry[128], *to = entry;

    to = as_put_varint(to, index);
    to = as_put_varint(to, tid);
    to = as_put_varint(to, KIT_START);
    to = kit_text(to, name);
    kit_add(k, AS_BLOCK_THREADS, entry, (size_t)(to - entry), 0);
}

/* One block of events, chunk number `sequence` of `thread`. Timed events are given in ns since the
 * start. */
static inline void kit_chunk(struct kit *k, uint64_t thread, uint64_t sequence,
                             const struct as_event *event, size_t n)
{
    uint8_t *bytes = malloc(64 + n * AS_EVENT_MAX_BYTES), *to = bytes;
    struct as_event_coder coder = {.time = KIT_START};

    assert_non_null(bytes);
    to = as_put_varint(to, thread);
    to = as_put_varint(to, sequence);
    to = as_put_varint(to, 0);
    to = as_put_u64le(to, KIT_START);
    for (size_t i = 0; i < n; i++) {
        struct as_event e = event[i];

        if (as_kind_is_timed(e.kind))
            e.time += KIT_START;
        to = as_event_encode(&coder, &e, to);
    }
    kit_add(k, AS_BLOCK_EVENTS, bytes, (size_t)(to - bytes), (uint32_t)n);
    free(bytes);
}

/* The next block of that thread. */
static inline void kit_events(struct kit *k, uint64_t thread, const struct as_event *event,
                              size_t n)
{
    kit_chunk(k, thread, k->next_sequence[thread]++, event, n);
}

static inline void kit_loss(struct kit *k, uint64_t reason, uint64_t count)
{
    uint8_t entry[32], *to = as_put_varint(as_put_varint(entry, reason), count);

    kit_add(k, AS_BLOCK_LOSS, entry, (size_t)(to - entry), 0);
}

static inline void kit_end(struct kit *k, uint64_t lost, uint64_t threads)
{
    uint8_t entry[32], *to = as_put_varint(entry, k->w.events);

    to = as_put_varint(as_put_varint(to, lost), threads);
    kit_add(k, AS_BLOCK_END, entry, (size_t)(to - entry), 0);
}

static inline struct as_run *kit_open(const struct kit *k)
{
    struct as_run *run;
    struct assay_error err = {0};

    if (as_run_open(&run, k->path, &err) < 0)
        fail_msg("%s", err.msg);
    return run;
}

static inline void kit_close(struct kit *k)
{
    as_run_writer_close(&k->w);
}

/* Short names for events in tables. */
#define BEGIN(t, s)                                                                                \
    {                                                                                              \
        (t), (s), AS_RECORD_BEGIN                                                                  \
    }
#define END(t, s)                                                                                  \
    {                                                                                              \
        (t), (s), AS_RECORD_END                                                                    \
    }
#define FAIL(t, s)                                                                                 \
    {                                                                                              \
        (t), (s), AS_RECORD_FAIL                                                                   \
    }
#define SWITCH(t, s)                                                                               \
    {                                                                                              \
        (t), (s), AS_RECORD_SWITCH                                                                 \
    }
#define ITER(t)                                                                                    \
    {                                                                                              \
        (t), 0, AS_RECORD_ITER                                                                     \
    }
#define ITER_END(t)                                                                                \
    {                                                                                              \
        (t), 0, AS_RECORD_ITER_END                                                                 \
    }
#define NUMBER(n)                                                                                  \
    {                                                                                              \
        (n), 0, AS_RECORD_NUMBER                                                                   \
    }
#define CPU(n)                                                                                     \
    {                                                                                              \
        (n), 0, AS_RECORD_CPU                                                                      \
    }
#define LENGTH(n)                                                                                  \
    {                                                                                              \
        (n), 0, AS_RECORD_LENGTH                                                                   \
    }
#define LOST(from, to, n)                                                                          \
    {(from), (uint32_t)(n), AS_RECORD_LOST_FROM},                                                  \
    {                                                                                              \
        (to), (uint32_t)((uint64_t)(n) >> 32), AS_RECORD_LOST_TO                                   \
    }
#define WAIT(from, to)                                                                             \
    {(from), 0, AS_RECORD_WAIT_FROM},                                                              \
    {                                                                                              \
        (to), 0, AS_RECORD_WAIT_TO                                                                 \
    }

static inline uint64_t kit_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Everything a walk told, in order. */
struct kit_heard {
    struct as_span *span;
    size_t n_spans, capacity;
    struct as_iteration iteration[16];
    size_t n_iterations;
    struct {
        uint32_t channel;
        uint64_t ns;
        double value;
    } sample[16];
    size_t n_samples;
    struct {
        uint64_t from_ns, to_ns, n;
    } loss[16], wait[16];
    size_t n_losses, n_waits, n_begins;
    struct as_walk_counts counts;
};

static inline void kit_on_begin(void *user, uint32_t site, uint32_t depth, uint64_t ns)
{
    (void)site, (void)depth, (void)ns;
    ((struct kit_heard *)user)->n_begins++;
}

static inline void kit_on_end(void *user, const struct as_span *span)
{
    struct kit_heard *h = user;

    if (h->n_spans == h->capacity) {
        h->capacity = h->capacity ? 2 * h->capacity : 64;
        h->span = realloc(h->span, h->capacity * sizeof *h->span);
        assert_non_null(h->span);
    }
    h->span[h->n_spans++] = *span;
}

static inline void kit_on_iteration(void *user, const struct as_iteration *it)
{
    struct kit_heard *h = user;

    assert_true(h->n_iterations < UNIT_COUNT(h->iteration));
    h->iteration[h->n_iterations++] = *it;
}

static inline void kit_on_sample(void *user, uint32_t channel, uint64_t ns, double value)
{
    struct kit_heard *h = user;

    assert_true(h->n_samples < UNIT_COUNT(h->sample));
    h->sample[h->n_samples].channel = channel;
    h->sample[h->n_samples].ns = ns;
    h->sample[h->n_samples++].value = value;
}

static inline void kit_on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
    struct kit_heard *h = user;

    if (h->n_losses < UNIT_COUNT(h->loss)) {
        h->loss[h->n_losses].from_ns = from_ns;
        h->loss[h->n_losses].to_ns = to_ns;
        h->loss[h->n_losses].n = n;
    }
    h->n_losses++;
}

static inline void kit_on_wait(void *user, uint64_t from_ns, uint64_t to_ns)
{
    struct kit_heard *h = user;

    if (h->n_waits < UNIT_COUNT(h->wait)) {
        h->wait[h->n_waits].from_ns = from_ns;
        h->wait[h->n_waits].to_ns = to_ns;
    }
    h->n_waits++;
}

/* Walks the thread at that place; end with kit_forget(). */
static inline void kit_walk(struct kit_heard *h, struct as_run *run, size_t thread)
{
    const struct as_span_visitor v = {.user = h,
                                      .begin = kit_on_begin,
                                      .end = kit_on_end,
                                      .iteration = kit_on_iteration,
                                      .sample = kit_on_sample,
                                      .loss = kit_on_loss,
                                      .wait = kit_on_wait};
    struct assay_error err = {0};

    memset(h, 0, sizeof *h);
    assert_true(thread < run->n_threads);
    if (as_span_walk(run, &run->thread[thread], &v, &h->counts, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline void kit_forget(struct kit_heard *h)
{
    free(h->span);
    h->span = NULL;
    h->n_spans = h->capacity = 0;
}

static inline void kit_expect_span(const struct as_span *s, uint32_t site, uint32_t depth,
                                   uint64_t start_ns, uint64_t end_ns, enum as_span_state state)
{
    assert_int_equal(s->site, site);
    assert_int_equal(s->depth, depth);
    assert_int_equal(s->start_ns, start_ns);
    assert_int_equal(s->end_ns, end_ns);
    assert_int_equal(s->state, state);
}

#endif
