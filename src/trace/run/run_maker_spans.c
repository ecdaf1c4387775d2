/* trace/run/run_maker_spans.c - spans that were kept one by one, as events of a run: what a session
 * would have recorded of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/record/event_code.h"
#include "trace/run/run_maker.h"

#define BLOCK_EVENTS 4096u

void as_run_maker_clock(struct as_run_maker *m, enum as_clock_kind kind,
                        const struct as_clock_anchor *anchor, size_t n)
{
    char json[96];
    int size = snprintf(json, sizeof json, "{\"clock\":{\"kind\":\"%s\"}}", as_clock_name(kind));

    as_run_maker_block(m, AS_BLOCK_META, json, (size_t)size, 0);
    for (size_t i = 0; i < n; i++) {
        uint8_t entry[4 * AS_VARINT_MAX], *to = entry;

        to = as_put_varint(to, anchor[i].ticks);
        to = as_put_varint(to, anchor[i].width);
        to = as_put_varint(to, anchor[i].mono_ns);
        to = as_put_varint(to, anchor[i].real_ns);
        as_run_maker_block(m, AS_BLOCK_CLOCK, entry, (size_t)(to - entry), 0);
    }
}

void as_run_maker_site(struct as_run_maker *m, uint32_t id, uint32_t category, const char *name)
{
    uint8_t entry[AS_RUN_MAX_NAME + 8 * AS_VARINT_MAX], *to = entry;

    *to++ = AS_ENTRY_SITE;
    to = as_put_varint(to, id);
    *to++ = (uint8_t)category;
    to = as_put_varint(to, 0);
    to = as_put_text(to, name, strnlen(name, AS_RUN_MAX_NAME));
    to = as_put_text(to, NULL, 0);
    to = as_put_text(to, NULL, 0);
    as_run_maker_block(m, AS_BLOCK_SITES, entry, (size_t)(to - entry), 0);
}

/* The events of one thread on their way to the run. */
struct stream {
    struct as_run_maker *maker;
    uint8_t *bytes, *to; /* room for a block */
    struct as_event_coder coder;
    uint32_t thread, n_events;
    uint64_t sequence;
};

static void flush(struct stream *s)
{
    if (s->n_events)
        as_run_maker_block(s->maker, AS_BLOCK_EVENTS, s->bytes, (size_t)(s->to - s->bytes),
                           s->n_events);
    s->n_events = 0;
}

static void put(struct stream *s, uint64_t time, uint32_t kind, uint32_t site)
{
    const struct as_event event = {.time = time, .site = site, .kind = kind};

    if (s->n_events == BLOCK_EVENTS && as_kind_is_timed(kind))
        flush(s);
    if (s->n_events == 0) {
        s->to = as_put_varint(s->bytes, s->thread);
        s->to = as_put_varint(s->to, s->sequence++);
        s->to = as_put_varint(s->to, 0);
        s->to = as_put_u64le(s->to, time);
        s->coder = (struct as_event_coder){.time = time};
    }
    s->to = as_event_encode(&s->coder, &event, s->to);
    s->n_events++;
}

static void put_end(struct stream *s, const struct as_made_span *span)
{
    for (size_t i = 0; i < span->n_notes && i < AS_MADE_NOTES; i++) {
        uint64_t bits;

        memcpy(&bits, &span->note[i].value, sizeof bits);
        put(s, bits, AS_RECORD_NOTE, span->note[i].key);
    }
    put(s, span->end_ticks, span->failed ? AS_RECORD_FAIL : AS_RECORD_END, span->site);
}

/* By thread, then as they began. */
static int by_start(const void *a, const void *b)
{
    const struct as_made_span *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ticks != y->start_ticks)
        return x->start_ticks < y->start_ticks ? -1 : 1;
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static void put_thread(struct as_run_maker *m, const struct as_made_span *first)
{
    uint8_t entry[4 * AS_VARINT_MAX], *to = entry;

    to = as_put_varint(to, first->thread);
    to = as_put_varint(to, first->tid);
    to = as_put_varint(to, first->start_ticks);
    to = as_put_text(to, NULL, 0);
    as_run_maker_block(m, AS_BLOCK_THREADS, entry, (size_t)(to - entry), 0);
    m->n_threads++;
}

/* The spans of one thread; `open` has room for the deepest. */
static void put_spans(struct stream *s, const struct as_made_span *span, size_t n,
                      const struct as_made_span **open)
{
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        while (depth && (open[depth - 1]->depth >= span[i].depth ||
                         open[depth - 1]->end_ticks <= span[i].start_ticks))
            put_end(s, open[--depth]);
        put(s, span[i].start_ticks, AS_RECORD_BEGIN, span[i].site);
        open[depth++] = &span[i];
    }
    while (depth)
        put_end(s, open[--depth]);
    flush(s);
}

void as_run_maker_spans(struct as_run_maker *m, struct as_made_span *span, size_t n)
{
    const size_t room = BLOCK_EVENTS + 2 * (AS_MADE_NOTES + 1);
    const struct as_made_span **open =
        as_alloc_zero((size_t)UINT16_MAX + 2, sizeof(struct as_made_span *));
    uint8_t *bytes = as_alloc(room * AS_EVENT_MAX_BYTES + 64);

    if (!open || !bytes)
        (void)as_fail_nomem(&m->fault);
    else if (n)
        qsort(span, n, sizeof *span, by_start);
    for (size_t i = 0, k; open && bytes && i < n; i = k) {
        struct stream s = {.maker = m, .bytes = bytes, .thread = span[i].thread};

        for (k = i; k < n && span[k].thread == span[i].thread;)
            k++;
        put_thread(m, &span[i]);
        put_spans(&s, span + i, k - i, open);
    }
    as_free(bytes);
    as_free(open);
}
