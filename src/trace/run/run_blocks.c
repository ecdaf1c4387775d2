/* trace/run/run_blocks.c - takes the payload of one checked block into a run.
 * A payload that makes no sense is refused whole: nothing of it stays. */
#include "trace/run/run_reader.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "trace/record/event_code.h"

struct text {
    const char *data;
    size_t size;
};

static bool take_text(struct as_cursor *c, struct text *out)
{
    const uint8_t *data;
    uint64_t size;

    if (!as_take_varint(c, &size) || size > AS_RUN_MAX_NAME ||
        !as_take_bytes(c, (size_t)size, &data))
        return false;
    out->data = (const char *)data;
    out->size = (size_t)size;
    return true;
}

static const char *keep_text(struct as_run *run, struct text text)
{
    return as_arena_text(&run->arena, text.data, text.size);
}

/* Makes room for site `id`; the caller checked it against the limit. */
static bool reach_site(struct as_run *run, uint32_t id)
{
    if (id >= run->site_capacity) {
        uint32_t capacity = run->site_capacity ? run->site_capacity : 64;
        struct as_run_site *grown;

        while (capacity <= id)
            capacity *= 2;
        grown = as_realloc(run->site, capacity, sizeof *grown);
        if (!grown)
            return false;
        memset(grown + run->site_capacity, 0, (capacity - run->site_capacity) * sizeof *grown);
        run->site = grown;
        run->site_capacity = capacity;
    }
    if (id > run->n_sites)
        run->n_sites = id;
    return true;
}

static int take_site(struct as_run *run, struct as_cursor *c, uint32_t id)
{
    struct text name, file, unit;
    uint8_t category;
    uint64_t line;
    struct as_run_site *site;

    if (!as_take_u8(c, &category) || !as_take_varint(c, &line) || !take_text(c, &name) ||
        !take_text(c, &file) || !take_text(c, &unit) || line > UINT32_MAX)
        return 0;
    if (!reach_site(run, id))
        return ASSAY_ERR_NOMEM;
    site = &run->site[id];
    site->name = keep_text(run, name);
    site->file = file.size ? keep_text(run, file) : NULL;
    site->unit = unit.size ? keep_text(run, unit) : NULL;
    site->line = (uint32_t)line;
    site->category = category;
    site->known = true;
    return site->name && (site->file || !file.size) && (site->unit || !unit.size) ? 1
                                                                                  : ASSAY_ERR_NOMEM;
}

static int take_attribute(struct as_run *run, struct as_cursor *c, uint32_t id, bool number)
{
    struct text key, value = {0};
    struct as_run_attribute *a;
    unsigned n = 0;
    uint64_t bits = 0;
    double d;

    if (!take_text(c, &key) || !(number ? as_take_u64le(c, &bits) : take_text(c, &value)))
        return 0;
    memcpy(&d, &bits, sizeof d);
    if (number && !isfinite(d))
        return 1; /* says nothing */
    if (!reach_site(run, id))
        return ASSAY_ERR_NOMEM;
    for (a = run->site[id].attributes; a; a = a->next) {
        if (strlen(a->key) == key.size && memcmp(a->key, key.data, key.size) == 0)
            break;
        n++;
    }
    if (!a && n >= AS_RUN_MAX_ATTRIBUTES)
        return 1; /* looked up one by one, so they must stay few */
    if (!a) {
        a = as_arena_zero(&run->arena, 1, sizeof *a);
        if (!a || !(a->key = keep_text(run, key)))
            return ASSAY_ERR_NOMEM;
        a->next = run->site[id].attributes;
        run->site[id].attributes = a;
    }
    a->text = number ? NULL : keep_text(run, value);
    a->number = d;
    return number || a->text ? 1 : ASSAY_ERR_NOMEM;
}

static int take_sites(struct as_run *run, struct as_cursor *c)
{
    while (as_cursor_left(c)) {
        uint64_t id;
        uint8_t entry;
        int rc = 0;

        if (!as_take_u8(c, &entry) || !as_take_varint(c, &id) || id == 0 || id > AS_RUN_MAX_SITES)
            return 0;
        if (entry == AS_ENTRY_SITE)
            rc = take_site(run, c, (uint32_t)id);
        else if (entry == AS_ENTRY_TEXT || entry == AS_ENTRY_NUMBER)
            rc = take_attribute(run, c, (uint32_t)id, entry == AS_ENTRY_NUMBER);
        if (rc <= 0)
            return rc;
    }
    return 1;
}

static int take_thread(struct as_run *run, struct as_cursor *c)
{
    uint64_t index, tid, ticks;
    struct as_run_thread *thread;
    struct text name;

    if (!as_take_varint(c, &index) || !as_take_varint(c, &tid) || !as_take_varint(c, &ticks) ||
        !take_text(c, &name) || index >= AS_RUN_MAX_THREADS)
        return 0;
    thread = as_run_thread_for(run, index);
    if (!thread)
        return ASSAY_ERR_NOMEM;
    thread->tid = tid;
    thread->name = keep_text(run, name);
    return thread->name ? 1 : ASSAY_ERR_NOMEM;
}

static int take_anchor(struct as_run *run, struct as_cursor *c)
{
    struct as_clock_anchor a;

    if (!as_take_varint(c, &a.ticks) || !as_take_varint(c, &a.width) ||
        !as_take_varint(c, &a.mono_ns) || !as_take_varint(c, &a.real_ns))
        return 0;
    if (!AS_VEC_RESERVE(run->anchor, run->n_anchors, run->anchor_capacity))
        return ASSAY_ERR_NOMEM;
    run->anchor[run->n_anchors++] = a;
    return 1;
}

static int take_meta(struct as_run *run, const uint8_t *payload, size_t size)
{
    const char **grown = as_realloc(run->meta, run->n_meta + 1, sizeof *grown);

    if (!grown)
        return ASSAY_ERR_NOMEM;
    run->meta = grown;
    run->meta[run->n_meta] = as_arena_text(&run->arena, (const char *)payload, size);
    return run->meta[run->n_meta++] ? 1 : ASSAY_ERR_NOMEM;
}

static int take_data(struct as_run *run, struct as_cursor *c)
{
    struct as_run_data data;
    struct text kind;

    if (!take_text(c, &kind) || kind.size == 0)
        return 0;
    if (!AS_VEC_RESERVE(run->data, run->n_data, run->data_capacity))
        return ASSAY_ERR_NOMEM;
    data.kind = keep_text(run, kind);
    data.json_size = as_cursor_left(c);
    data.json = as_arena_text(&run->arena, (const char *)c->at, data.json_size);
    if (!data.kind || !data.json)
        return ASSAY_ERR_NOMEM;
    run->data[run->n_data++] = data;
    return 1;
}

static int take_loss(struct as_run *run, struct as_cursor *c)
{
    uint64_t reason, count;

    if (!as_take_varint(c, &reason) || !as_take_varint(c, &count))
        return 0;
    if (reason < AS_LOSS_REASON_COUNT)
        run->health.lost[reason] = count;
    return 1;
}

static int take_end(struct as_run *run, struct as_cursor *c)
{
    uint64_t events, lost, threads;

    if (!as_take_varint(c, &events) || !as_take_varint(c, &lost) || !as_take_varint(c, &threads))
        return 0;
    run->health.closed = true;
    run->health.expected_events = events;
    run->health.told_lost = lost;
    return 1;
}

/* Only where it is and whose; it is decoded when somebody walks the thread. */
static int take_events(struct as_run *run, const struct as_block_header *block, struct as_cursor *c,
                       uint64_t at, struct assay_error *err)
{
    struct as_run_chunk chunk = {
        .offset = at, .size = block->size, .records = block->records, .crc = block->crc};
    uint64_t index, first, base;
    struct as_run_thread *thread;
    int rc;

    if (!as_take_varint(c, &index) || !as_take_varint(c, &chunk.sequence) ||
        !as_take_varint(c, &first) || !as_take_u64le(c, &base) || index >= AS_RUN_MAX_THREADS ||
        block->records > as_cursor_left(c))
        return 0;
    thread = as_run_thread_for(run, index);
    if (!thread)
        return ASSAY_ERR_NOMEM;
    rc = as_run_add_chunk(run, thread, &chunk, err);
    return rc < 0 ? rc : 1;
}

int as_run_take_block(struct as_run *run, const struct as_block_header *block,
                      const uint8_t *payload, uint64_t payload_at, struct assay_error *err)
{
    struct as_cursor c = as_cursor_over(payload, block->size);
    int rc;

    switch (block->kind) {
    case AS_BLOCK_META:
        rc = take_meta(run, payload, block->size);
        break;
    case AS_BLOCK_SITES:
        rc = take_sites(run, &c);
        break;
    case AS_BLOCK_THREADS:
        rc = take_thread(run, &c);
        break;
    case AS_BLOCK_EVENTS:
        rc = take_events(run, block, &c, payload_at, err);
        break;
    case AS_BLOCK_CLOCK:
        rc = take_anchor(run, &c);
        break;
    case AS_BLOCK_LOSS:
        rc = take_loss(run, &c);
        break;
    case AS_BLOCK_END:
        rc = take_end(run, &c);
        break;
    case AS_BLOCK_DATA:
        rc = take_data(run, &c);
        break;
    default:
        run->health.unknown_blocks++;
        rc = 1;
    }
    return rc == ASSAY_ERR_NOMEM ? as_fail_nomem(err) : rc;
}
