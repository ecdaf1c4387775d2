/* tests/fuzz/fuzz_run.c - any bytes as a run, or as the ring beside one: opens, walks, analyses.
 * The first byte chooses: raw bytes as the file, bytes wrapped into blocks with right checksums, or
 * bytes as the ring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/run/layers.h"
#include "analyze/run/timeline.h"
#include "base/buffer.h"
#include "base/crc32c.h"
#include "fuzz_export.h"
#include "trace/record/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/fuzz-run-XXXXXX";
static char run_path[64], ring_path[64];

static void leave(void)
{
    unlink(run_path);
    unlink(ring_path);
    rmdir(folder);
}

static void prepare(void)
{
    static int done;

    if (done)
        return;
    if (!mkdtemp(folder))
        exit(1);
    snprintf(run_path, sizeof run_path, "%s/run", folder);
    snprintf(ring_path, sizeof ring_path, "%s/run.ring", folder);
    atexit(leave);
    done = 1;
}

static void put_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    if (!f || (size && fwrite(data, 1, size, f) != size))
        exit(1);
    fclose(f);
}

static void add_header(struct as_buffer *b)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    struct as_run_header header = {.major = AS_RUN_MAJOR, .salt = 7};

    as_run_header_pack(bytes, &header);
    as_buffer_add(b, bytes, sizeof bytes);
}

static void add_block(struct as_buffer *b, uint16_t kind, const uint8_t *payload, uint32_t size,
                      uint32_t records, uint32_t number)
{
    uint8_t bytes[AS_BLOCK_BYTES];
    struct as_block_header header = {.kind = kind,
                                     .size = size,
                                     .number = number,
                                     .crc = as_crc32c(0, payload, size),
                                     .records = records,
                                     .salt = 7};

    as_block_header_pack(bytes, &header);
    as_buffer_add(b, bytes, sizeof bytes);
    as_buffer_add(b, payload, size);
}

/* Two anchors, without which no time can be told. */
static void add_clock(struct as_buffer *b)
{
    for (uint64_t i = 0; i < 2; i++) {
        uint8_t entry[4 * AS_VARINT_MAX], *to = entry;

        to = as_put_varint(to, 1000 + i * 1000000);
        to = as_put_varint(to, 10);
        to = as_put_varint(to, 1000 + i * 1000000);
        to = as_put_varint(to, 1000);
        add_block(b, AS_BLOCK_CLOCK, entry, (uint32_t)(to - entry), 0, (uint32_t)i);
    }
}

/* kind, size and records of each block come from the input, checksums from us. */
static void wrap(struct as_buffer *b, const uint8_t *data, size_t size)
{
    struct as_cursor c = as_cursor_over(data, size);
    uint32_t number = 2;
    uint16_t length, records;
    uint8_t kind;

    add_header(b);
    add_clock(b);
    while (as_take_u8(&c, &kind) && as_take_u16le(&c, &length) && as_take_u16le(&c, &records)) {
        const uint8_t *payload;

        if (length > as_cursor_left(&c))
            length = (uint16_t)as_cursor_left(&c);
        if (!as_take_bytes(&c, length, &payload))
            return;
        add_block(b, kind % (AS_BLOCK_KIND_COUNT + 1), payload, length, records, number++);
    }
}

/* A ring of small lanes: the input fills the first pages of each part, so that states and tags are
 * reached. */
static void make_ring(struct as_buffer *b, const uint8_t *data, size_t size)
{
    struct as_ring_header header = {.version = AS_RING_VERSION, .n_chunks = 2, .pid = 1};
    static const uint8_t zero[AS_RING_PAGE];
    size_t at = 0;

    memcpy(header.magic, AS_RING_MAGIC, sizeof header.magic);
    as_buffer_add(b, &header, sizeof header);
    as_buffer_add(b, zero, AS_RING_PAGE - sizeof header);
    for (int page = 0; page < 33; page++) {
        size_t take = size - at < 512 ? size - at : 512;

        if (page % 16 > 1)
            take = 0;
        as_buffer_add(b, data + at, take);
        as_buffer_add(b, zero, AS_RING_PAGE - take);
        at += take;
    }
}

static void check_events(const struct as_run_events *e)
{
    for (size_t i = 0; i < e->n_messages; i++) {
        if (strlen(e->message[i].text) > ASSAY_MESSAGE_MAX)
            abort();
    }
    for (size_t i = 0; i < e->n_async + e->n_flows; i++) {
        if (e->async[i].n && !(e->async[i].min_ns >= 0 && e->async[i].min_ns <= e->async[i].max_ns))
            abort();
    }
    for (size_t i = 0; i < e->n_locks; i++) {
        const struct as_lock *l = &e->lock[i];

        if (l->contended > l->acquisitions || l->max_wait_ns > l->wait_ns ||
            l->max_held_ns > l->held_ns)
            abort();
    }
}

static void read_all(const char *path, uint64_t max_bytes)
{
    struct as_layers_options options = {.thread = -1, .max_samples = 1000};
    struct as_timeline_entry entry;
    struct as_timeline *timeline;
    struct as_layers *layers;
    struct assay_error err;
    struct as_run *run;

    if (as_run_open(&run, path, &err) < 0)
        return;
    if (as_layers_analyze(&layers, run, &options, &err) == ASSAY_OK) {
        uint64_t self_ns = 0, last_ns = 0;

        for (size_t i = 0; i < layers->n_layers; i++)
            self_ns += layers->layer[i].self_ns;
        if (self_ns > layers->self_total_ns)
            abort(); /* phases have self time too, but never a negative one */
        check_events(&layers->events_beside);
        export_all(run, 0);
        export_all(run, max_bytes);
        timeline = as_timeline_new(run);
        while (timeline && as_timeline_next(timeline, &entry, &err) > 0) {
            if (entry.span.end_ns < entry.span.start_ns || entry.span.end_ns < last_ns)
                abort(); /* time never runs backwards */
            last_ns = entry.span.end_ns;
        }
        as_timeline_free(timeline);
    }
    as_layers_free(layers);
    as_run_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_buffer b = {0};

    if (size == 0)
        return 0;
    prepare();
    switch (data[0] % 3) {
    case 0:
        put_file(run_path, data + 1, size - 1);
        break;
    case 1:
        wrap(&b, data + 1, size - 1);
        put_file(run_path, b.data, b.size);
        break;
    default:
        make_ring(&b, data + 1, size - 1);
        put_file(ring_path, b.data, b.size);
        b.size = 0;
        add_header(&b);
        add_clock(&b);
        put_file(run_path, b.data, b.size);
    }
    read_all(run_path, 1 + 64u * data[size - 1]);
    unlink(ring_path);
    as_buffer_fini(&b);
    return 0;
}
