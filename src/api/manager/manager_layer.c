/* api/manager/manager_layer.c - a layer begins and ends: the part of a manager inside the program.
 * A mark goes into the lane of its thread and takes no lock (profiler/mark_lane.h); what it means
 * is found out by whoever drains the lane. */
#include <assay/scope.h>
#include <string.h>

#include "api/manager/manager_internal.h"
#include "trace/record/site_table.h"

static uint64_t recording(void)
{
    return __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);
}

/* A handler that comes now finds what was written before, and uses what is above it. */
static inline void set_depth(struct as_mark_thread *t, uint32_t depth)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&t->depth, depth, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static uint64_t session_of(const struct assay_manager *m)
{
    return atomic_load_explicit(&m->marks->session, memory_order_acquire);
}

static uint64_t count(_Atomic uint64_t *n)
{
    return atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* All layers were forgotten since this thread last looked, also by the reader of its lane. */
static void follow_session(struct as_mark_thread *t, uint64_t session)
{
    if (__builtin_expect(t->session == session, 1))
        return;
    t->session = session;
    t->forgotten = t->serial;
    t->owed = 0;
    set_depth(t, 0);
}

/* Layers that the reader must drop first. A handler that comes now finds none. */
static uint32_t take_owed(struct as_mark_thread *t)
{
    return __atomic_exchange_n(&t->owed, 0, __ATOMIC_RELAXED);
}

static void owe(struct as_mark_thread *t, uint32_t n)
{
    if (n)
        __atomic_fetch_add(&t->owed, n, __ATOMIC_RELAXED);
}

/* ---- beginning ---- */

static void cancel(struct as_mark_frame *frame)
{
    if (frame->memory_begun)
        as_memory_profile_cancel_layer(&frame->memory);
    frame->memory_begun = false;
}

/* The records of a begin; false when the lane is full. The time stamp is the last thing done. */
static bool put_begin(struct assay_manager *m, struct as_mark_thread *t,
                      struct as_mark_frame *frame, bool fed)
{
    const uint32_t owed = take_owed(t);
    struct as_mark_slots slots = as_mark_claim(m->marks, t, 1u + (owed != 0) + fed);

    if (!slots.at) {
        owe(t, owed);
        return false;
    }
    if (owed)
        as_mark_put(&slots, owed, AS_MARK_DROP, 0);
    frame->recorded = true;
    if (fed)
        as_mark_store(slots.at + 1, slots.tag,
                      as_layer_clock_ticks(&m->clock) - frame->entered_ticks, AS_MARK_FIELD,
                      AS_MARK_BEFORE);
    frame->start_ticks = as_layer_clock_ticks(&m->clock);
    as_mark_put(&slots, frame->start_ticks, AS_RECORD_BEGIN,
                as_mark_layer(t->session, frame->site));
    return true;
}

/* The same layer in the recording session that may be open, which has names of its own. */
static void begin_recorded(struct as_mark_frame *frame, const char *name)
{
    frame->epoch = recording();
    if (__builtin_expect(frame->epoch != 0, 0)) {
        frame->recorder_site = assay_layer(name);
        assay_begin(frame->recorder_site);
    }
}

static void begin_layer(struct assay_manager *m, struct as_mark_thread *t, const char *text,
                        uint64_t session, struct assay_manager_span *span)
{
    const char *name = text && *text ? text : "(unnamed)";
    const uint32_t on = atomic_load_explicit(&m->enabled, memory_order_relaxed);
    const bool fed = as_manager_is_fed(on);
    const struct as_mark_cost cost = as_mark_cost_begin(m, t, fed);
    const uint64_t entered_ticks = fed ? cost.from_ticks : 0;
    struct as_layer_usage entered = {0};
    bool usage, outer_used, entered_known = false;
    struct as_mark_frame *frame;
    uint32_t depth, site, slot;

    follow_session(t, session);
    depth = t->depth;
    if (depth == AS_MARK_MAX_DEPTH) {
        count(&t->too_deep);
        return;
    }
    outer_used = (on & AS_MANAGER_BIT(BOTTLENECK)) && depth && t->frame[depth - 1].usage_known;
    if (outer_used && !as_mark_site_is_known(t, name)) /* a new name takes memory of our own */
        entered_known = as_layer_usage_read(&entered);
    site = as_mark_site(m->marks, t, name, &slot);
    usage = fed && as_manager_wants_usage(m, on, t, site, slot);
    if (!entered_known && usage && outer_used)
        entered_known = as_layer_usage_read(&entered);
    set_depth(t, depth + 1);
    frame = &t->frame[depth];
    frame->serial = __atomic_add_fetch(&t->serial, 1, __ATOMIC_RELAXED);
    frame->site = site;
    frame->slot = slot;
    frame->recorded = frame->memory_begun = frame->usage_known = frame->held_known = false;
    frame->entered_ticks = entered_ticks;
    frame->entered_known = entered_known;
    frame->inner_bytes = 0;
    frame->unread_ns = 0;
    if (fed) {
        frame->entered = entered;
        as_manager_probe_begin(m, on, t, frame, usage);
    }
    begin_recorded(frame, name);
    if (cost.weight)
        as_mark_cost_end(m, &cost, as_layer_clock_ticks(&m->clock));
    if (!put_begin(m, t, frame, fed)) {
        count(&t->dropped);
        cancel(frame);
        set_depth(t, depth);
        return;
    }
    *span = (struct assay_manager_span){t, m->marks->id, frame->serial, site, depth + 1};
}

static bool is_here(const struct assay_manager *m)
{
    return as_fork_guard_is_here(m->generation);
}

struct assay_manager_span assay_manager_layer_begin(struct assay_manager *manager, const char *name)
{
    struct assay_manager_span span = {0};
    struct as_mark_thread *t;
    uint64_t session;

    if (!manager || !is_here(manager))
        return span;
    session = session_of(manager); /* before: a session that ends now must not pass for the next */
    if (!atomic_load_explicit(&manager->active, memory_order_acquire))
        return span;
    t = as_mark_thread_find(manager->marks);
    if (t)
        begin_layer(manager, t, name, session, &span);
    else
        count(&manager->marks->homeless);
    return span;
}

/* ---- ending ---- */

/* What the caller says of a call. */
struct end {
    uint64_t ticks;
    bool failed;
    const char *reason;
    const struct assay_metadata *metadata;
    size_t n_metadata;
};

static size_t text_records(const char *text, size_t *size)
{
    *size = strnlen(text, AS_MARK_MAX_TEXT);
    return 1 + (*size + 7) / 8;
}

/* Records for the metadata and the reason of the call. */
static size_t metadata_records(const struct end *how)
{
    size_t n = 0, size;

    for (size_t i = 0; i < how->n_metadata; i++)
        n += how->metadata[i].text ? text_records(how->metadata[i].text, &size) : 1;
    return n + (how->reason ? text_records(how->reason, &size) : 0);
}

static void put_text(struct as_mark_slots *to, uint32_t key, const char *text)
{
    size_t size, n = text_records(text, &size);

    as_mark_put(to, size, AS_MARK_WORDS, key);
    for (size_t i = 0; i + 1 < n; i++) {
        const size_t part = size - 8 * i < 8 ? size - 8 * i : 8;
        uint64_t word = 0;

        memcpy(&word, text + 8 * i, part);
        as_mark_put(to, word, AS_MARK_TEXT, 0);
    }
}

static void put_metadata(struct as_mark_set *set, struct as_mark_thread *t,
                         struct as_mark_slots *to, const struct end *how)
{
    for (size_t i = 0; i < how->n_metadata; i++) {
        const struct assay_metadata *pair = &how->metadata[i];
        const struct as_site_spec spec = {.name = pair->key, .category = ASSAY_CATEGORY_KEY};
        const uint32_t key = pair->key ? as_site_table_intern(&set->names, &spec) : 0;
        uint64_t bits;

        if (!key) {
            if (pair->key)
                count(&t->pairs_dropped);
            continue; /* the records that were counted for it become nothing */
        }
        if (pair->text) {
            put_text(to, key, pair->text);
        } else {
            memcpy(&bits, &pair->number, sizeof bits);
            as_mark_put(to, bits, AS_MARK_PAIR, key);
        }
    }
    if (how->reason)
        put_text(to, 0, how->reason);
}

static void put_fields(struct as_mark_slots *to, const struct as_mark_fields *f)
{
    for (unsigned i = 0; i < AS_MARK_FIELDS; i++) {
        if (as_mark_has(f, i))
            as_mark_put(to, f->value[i], AS_MARK_FIELD, i);
    }
}

static void remember_length(const struct assay_manager *m, struct as_mark_thread *t,
                            const struct as_mark_frame *frame, uint64_t ticks)
{
    struct as_mark_cached *cached = &t->cache[frame->slot];

    if (cached->site != frame->site)
        return;
    cached->n_calls += cached->n_calls < UINT32_MAX;
    cached->mean_ns +=
        ((double)as_layer_clock_ns(&m->clock, frame->start_ticks, ticks) - cached->mean_ns) /
        cached->n_calls;
}

/* The same layer of the recording session, where one was open when it began. */
static void end_recorded(struct assay_manager *m, uint32_t on, const struct as_mark_frame *frame,
                         const struct end *how)
{
    if (frame->epoch != recording())
        return;
    /* Kept with the call, so that the run reports memory and leaks by layer too. */
    if (on & (AS_MANAGER_BIT(MEMORY) | AS_MANAGER_BIT(LEAK)))
        as_manager_note_memory(m);
    if (how->failed)
        assay_end_failed(frame->recorder_site);
    else
        assay_end(frame->recorder_site);
}

static void put_end(struct assay_manager *m, struct as_mark_thread *t, struct as_mark_frame *frame,
                    const struct end *how)
{
    const uint32_t on = atomic_load_explicit(&m->enabled, memory_order_relaxed);
    const bool probed = as_manager_is_fed(on) || frame->memory_begun || frame->usage_known;
    struct as_mark_fields fields;
    struct as_mark_slots slots;
    struct assay_record_ *end, *lead;
    uint32_t owed;
    size_t n;

    fields.known = 0;
    as_mark_set_field(&fields, AS_MARK_ON, on);
    if (probed)
        as_manager_probe_end(m, on, t, frame, frame > t->frame ? frame - 1 : NULL, &fields);
    owed = take_owed(t);
    n = 1 + (owed ? 1u : 0u) + metadata_records(how) + (size_t)__builtin_popcountll(fields.known) +
        (probed ? 1 : 0);
    slots = as_mark_claim(m->marks, t, n);
    if (!slots.at) {
        count(&t->dropped);
        owe(t, owed + 1);
        return;
    }
    end = slots.at + n;
    if (owed)
        as_mark_put(&slots, owed, AS_MARK_DROP, 0);
    lead = slots.at++;
    put_metadata(m->marks, t, &slots, how);
    if (probed)
        as_mark_set_field(&fields, AS_MARK_AFTER, as_layer_clock_ticks(&m->clock) - how->ticks);
    put_fields(&slots, &fields);
    while (slots.at < end)
        as_mark_put(&slots, 0, AS_RECORD_PAD, 0);
    as_mark_store(lead, slots.tag, how->ticks, how->failed ? AS_RECORD_FAIL : AS_RECORD_END,
                  as_mark_layer(t->session, frame->site));
}

/* Layers that were begun inside this one and left without an end, by longjmp() say. */
static void drop_inner(struct as_mark_thread *t, uint32_t depth)
{
    uint32_t n = 0;

    for (uint32_t d = t->depth; d > depth; d--) {
        cancel(&t->frame[d - 1]);
        n += t->frame[d - 1].recorded;
    }
    owe(t, n);
    set_depth(t, depth);
}

static int refuse(const struct as_site_table *names, const struct as_mark_thread *t,
                  const struct assay_manager_span *span, struct assay_error *err)
{
    uint32_t size = 0, open_size = 0;
    const char *name = as_site_table_name(names, span->site, &size), *open = NULL;
    const int most = 80;

    if (t->depth)
        open = as_site_table_name(names, t->frame[t->depth - 1].site, &open_size);
    size = size < (uint32_t)most ? size : (uint32_t)most;
    open_size = open_size < (uint32_t)most ? open_size : (uint32_t)most;
    if (open)
        return as_fail(err, ASSAY_ERR_STATE,
                       "the layer %.*s was ended before; the one open here is %.*s", (int)size,
                       name ? name : "", (int)open_size, open);
    return as_fail(err, ASSAY_ERR_STATE, "the layer %.*s was ended before; none is open here",
                   (int)size, name ? name : "");
}

static int end_layer(struct assay_manager *m, struct as_mark_thread *t,
                     const struct assay_manager_span *span, const struct end *how,
                     struct assay_error *err)
{
    struct as_mark_frame *frame;

    follow_session(t, session_of(m));
    if (span->serial <= t->forgotten)
        return ASSAY_OK;
    if (!span->depth || span->depth > t->depth || t->frame[span->depth - 1].serial != span->serial)
        return refuse(&m->marks->names, t, span, err);
    frame = &t->frame[span->depth - 1];
    drop_inner(t, span->depth);
    if (__builtin_expect(frame->epoch != 0, 0))
        end_recorded(m, atomic_load_explicit(&m->enabled, memory_order_relaxed), frame, how);
    remember_length(m, t, frame, how->ticks);
    put_end(m, t, frame, how);
    set_depth(t, span->depth - 1);
    return ASSAY_OK;
}

static int check_end(const struct assay_manager *m, const struct assay_manager_span *span,
                     const struct as_mark_thread *t, struct assay_error *err)
{
    uint32_t size = 0;
    const char *name;

    if (span->manager != m->marks->id)
        return as_fail(err, ASSAY_ERR_STATE, "the layer was begun with another manager");
    name = as_site_table_name(&m->marks->names, span->site, &size);
    size = size < 80 ? size : 80;
    if (span->thread != t)
        return as_fail(err, ASSAY_ERR_STATE,
                       "the layer %.*s was begun on another thread: end it there", (int)size,
                       name ? name : "");
    return ASSAY_OK;
}

static int end_with(struct assay_manager *m, const struct assay_manager_span *span, struct end *how,
                    struct assay_error *err)
{
    struct as_mark_thread *t;
    struct as_mark_cost cost;
    int rc;

    if (!m || (span && !span->serial))
        return ASSAY_OK; /* nothing was begun */
    if (!span)
        return as_fail(err, ASSAY_ERR_USAGE, "no span was given to end");
    if (!is_here(m))
        return ASSAY_OK;
    how->ticks = as_layer_clock_ticks(&m->clock);
    t = as_mark_thread_find(m->marks);
    rc = check_end(m, span, t, err);
    if (rc < 0)
        return rc;
    cost = as_mark_cost_begin(
        m, t, as_manager_is_fed(atomic_load_explicit(&m->enabled, memory_order_relaxed)));
    if (how->n_metadata > AS_MARK_MAX_PAIRS) {
        atomic_fetch_add_explicit(&t->pairs_dropped, how->n_metadata - AS_MARK_MAX_PAIRS,
                                  memory_order_relaxed);
        how->n_metadata = AS_MARK_MAX_PAIRS;
    }
    rc = end_layer(m, t, span, how, err);
    if (cost.weight)
        as_mark_cost_end(m, &cost, as_layer_clock_ticks(&m->clock));
    return rc;
}

int assay_manager_layer_end(struct assay_manager *manager, const struct assay_manager_span *span,
                            const struct assay_metadata *metadata, size_t n_metadata,
                            struct assay_error *err)
{
    struct end how = {.metadata = metadata, .n_metadata = metadata ? n_metadata : 0};

    return end_with(manager, span, &how, err);
}

int assay_manager_layer_fail(struct assay_manager *manager, const struct assay_manager_span *span,
                             const char *reason, struct assay_error *err)
{
    struct end how = {.failed = true, .reason = reason};

    return end_with(manager, span, &how, err);
}
