/* api/manager/manager_probe.c - what profilers read when a layer begins and ends, on its thread:
 * memory, the heap, the use of the thread. No lock, no heap: a mark may stand in a signal handler.
 */
#include <assay/session.h>
#include <string.h>

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "trace/record/site_table.h"

/* Two calls of the kernel would weigh on a layer that takes no longer than they. */
bool as_manager_wants_usage(const struct assay_manager *m, uint32_t on,
                            const struct as_mark_thread *t, uint32_t site, uint32_t slot)
{
    const struct as_mark_cached *cached = &t->cache[slot];

    if (!(on & AS_MANAGER_BIT(BOTTLENECK)) || m->usage_min_seconds < 0)
        return false;
    return cached->site != site || !cached->n_calls ||
           cached->mean_ns >= m->usage_min_seconds * 1e9;
}

/* Resident bytes. */
static uint64_t read_rss(struct assay_manager *m)
{
    const uint64_t rss = as_memory_peek_rss(&m->reader);

    if (rss == ASSAY_UNKNOWN)
        atomic_store_explicit(&m->unread, true, memory_order_relaxed);
    return rss;
}

/* The same without what we hold ourselves. */
static uint64_t process_bytes(uint64_t rss)
{
    const uint64_t ours = as_alloc_live_bytes() + as_mark_mapped_bytes();

    return rss == ASSAY_UNKNOWN ? rss : rss > ours ? rss - ours : 0;
}

#define VERDICT_NS 10000000u /* handlers come and go: how long a verdict holds */

/* Whether a signal is blocked that has a handler: this may be that handler. */
static bool has_handler(uint64_t blocked)
{
    for (int number = 1; number < NSIG && number <= 64; number++) {
        struct sigaction action;

        if ((blocked >> (number - 1) & 1) && sigaction(number, NULL, &action) == 0 &&
            action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            return true;
    }
    return false;
}

static bool may_be_handler(const struct assay_manager *m, struct as_mark_thread *t,
                           const sigset_t *saved)
{
    uint64_t blocked, now; /* the kernel's 64 signals */

    memcpy(&blocked, saved, sizeof blocked);
    if (__builtin_expect(blocked == 0, 1))
        return false;
    now = as_layer_clock_ticks(&m->clock);
    if (blocked != t->judged_mask ||
        as_layer_clock_ns(&m->clock, t->judged_ticks, now) > VERDICT_NS) {
        t->may_be_handler = has_handler(blocked);
        t->judged_mask = blocked;
        t->judged_ticks = now;
    }
    return t->may_be_handler;
}

/* The heap has locks. The code that a handler interrupted may hold one, and a handler that came now
 * might jump out and leave one taken. */
static uint64_t heap_bytes(struct assay_manager *m, struct as_mark_thread *t)
{
    uint64_t bytes = ASSAY_UNKNOWN;
    struct as_held saved;

    if (!atomic_load_explicit(&m->held.heap, memory_order_relaxed))
        return bytes;
    as_signals_block(&saved);
    if (!may_be_handler(m, t, &saved.mask))
        bytes = as_manager_held_heap(&m->held);
    as_signals_restore(&saved);
    return bytes;
}

void as_manager_probe_begin(struct assay_manager *m, uint32_t on, struct as_mark_thread *t,
                            struct as_mark_frame *frame, bool usage)
{
    uint64_t rss = ASSAY_UNKNOWN;

    if (on & AS_MANAGER_BIT(MEMORY)) {
        as_memory_profile_begin_layer(m->memory, &t->newest, &frame->memory);
        frame->memory_begun = true;
        rss = frame->memory.before.rss_bytes;
    }
    if (on & AS_MANAGER_BIT(LEAK)) {
        frame->held_heap = atomic_load_explicit(&m->held.heap, memory_order_relaxed);
        /* Where the heap is asked, pages say nothing of a layer that could not ask it. */
        if (frame->held_heap)
            frame->held_bytes = heap_bytes(m, t);
        else
            frame->held_bytes = rss != ASSAY_UNKNOWN ? rss : read_rss(m);
        frame->held_known = frame->held_bytes != ASSAY_UNKNOWN;
    }
    if (usage) { /* last: what we used ourselves is not the layer's */
        memset(&frame->inner, 0, sizeof frame->inner);
        frame->usage_known = as_layer_usage_read(&frame->usage);
    }
}

static void put_usage(const struct as_mark_frame *frame, const struct as_layer_usage *now,
                      struct as_mark_fields *out)
{
    const struct as_layer_usage own = as_layer_usage_own(&frame->usage, now, &frame->inner);

    as_mark_set_field(out, AS_MARK_CPU_NS, own.cpu_ns);
    as_mark_set_field(out, AS_MARK_MINOR_FAULTS, own.minor_faults);
    as_mark_set_field(out, AS_MARK_MAJOR_FAULTS, own.major_faults);
    as_mark_set_field(out, AS_MARK_SWITCHES, own.switches);
    as_mark_set_field(out, AS_MARK_SLEEPS, own.sleeps);
    as_mark_set_field(out, AS_MARK_IO_BLOCKS, own.io_blocks);
    as_mark_set_field(out, AS_MARK_UNREAD_NS, frame->unread_ns);
}

/* Resident memory at the end, where the memory profiler read it. */
static uint64_t put_memory(struct assay_manager *m, uint32_t on, struct as_mark_thread *t,
                           struct as_mark_frame *frame, struct as_mark_fields *out)
{
    struct as_memory_change change;
    uint64_t word[sizeof change / sizeof(uint64_t)];

    if (!frame->memory_begun)
        return ASSAY_UNKNOWN;
    frame->memory_begun = false;
    if (!(on & AS_MANAGER_BIT(MEMORY))) {
        as_memory_profile_cancel_layer(&frame->memory);
        return ASSAY_UNKNOWN;
    }
    as_memory_profile_end_layer(m->memory, &t->newest, &frame->memory, &change);
    memcpy(word, &change, sizeof change);
    for (unsigned i = 0; i < sizeof word / sizeof *word; i++)
        as_mark_set_field(out, AS_MARK_MEMORY + i, word[i]);
    return change.rss_after_bytes;
}

/* What the call left behind, layers inside it included; 0 when that cannot be had. */
static int64_t put_left(const struct as_mark_frame *frame, uint64_t heap, uint64_t rss,
                        struct as_mark_fields *out)
{
    const uint64_t held = frame->held_heap ? heap : rss;
    int64_t left;

    if (!frame->held_known || held == ASSAY_UNKNOWN)
        return 0;
    left = (int64_t)(held - frame->held_bytes);
    as_mark_set_field(out, AS_MARK_LEFT_BYTES, (uint64_t)(left - frame->inner_bytes));
    return left;
}

/* The layer around it is blamed for nothing that was used since this one was entered. */
static void leave_outer(const struct assay_manager *m, const struct as_mark_frame *frame,
                        struct as_mark_frame *outer)
{
    struct as_layer_usage now;

    if (frame->entered_known && as_layer_usage_read(&now))
        as_layer_usage_add(&outer->inner, &frame->entered, &now);
    else
        outer->unread_ns += as_layer_clock_ns(
            &m->clock, frame->entered_ticks ? frame->entered_ticks : frame->start_ticks,
            as_layer_clock_ticks(&m->clock));
}

void as_manager_probe_end(struct assay_manager *m, uint32_t on, struct as_mark_thread *t,
                          struct as_mark_frame *frame, struct as_mark_frame *outer,
                          struct as_mark_fields *out)
{
    /* The heap first, then the thread: what we do ourselves is not the layer's. */
    const uint64_t heap = on & AS_MANAGER_BIT(LEAK) ? heap_bytes(m, t) : ASSAY_UNKNOWN;
    struct as_layer_usage now;
    int64_t left = 0;
    uint64_t rss;

    if (frame->usage_known && as_layer_usage_read(&now))
        put_usage(frame, &now, out);
    rss = put_memory(m, on, t, frame, out);
    if (on & AS_MANAGER_BIT(LEAK)) {
        if (rss == ASSAY_UNKNOWN)
            rss = read_rss(m);
        if (rss != ASSAY_UNKNOWN)
            as_mark_set_field(out, AS_MARK_PROCESS_BYTES, process_bytes(rss));
        if (heap != ASSAY_UNKNOWN)
            as_mark_set_field(out, AS_MARK_HEAP_BYTES, heap);
        left = put_left(frame, heap, rss, out);
    }
    as_mark_set_field(out, AS_MARK_STEP, atomic_load_explicit(&m->step, memory_order_relaxed));
    if (outer) {
        outer->inner_bytes += left;
        if (outer->usage_known)
            leave_outer(m, frame, outer);
    }
}

void as_manager_note_memory(struct assay_manager *m)
{
    const uint64_t rss = process_bytes(read_rss(m));

    if (rss != ASSAY_UNKNOWN)
        assay_note("rss_bytes", (double)rss);
}
