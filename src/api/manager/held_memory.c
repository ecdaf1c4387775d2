/* api/manager/held_memory.c - which layer leaves memory behind: what the program holds at the end
 * of a call less what it held at the beginning, summed by layer. By the heap's own account where
 * that is cheap to ask, by resident pages elsewhere. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detect/leak_detector.h"
#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/units.h"

/* A layer may have given back more than it took; a detector takes no memory below nothing. */
#define SHIFT_MB AS_MIB
#define HEAP_MAX_NS                                                                                \
    10000u /* a heap in pieces takes long to add up; resident pages are then used                  \
            */
#define HEAP_TRIES  64u
#define HEAP_TIMED  4u  /* one reading in so many is timed */
#define LEAST_SHARE 0.1 /* of what all layers leave behind, to be named */
#define MOST_SHARE  1.5 /* more than all together leave behind is given back elsewhere */

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
/* Without what we hold ourselves to keep what we are given. */
static uint64_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    uint64_t all = (uint64_t)info.uordblks + (uint64_t)info.hblkhd, ours = as_alloc_live_bytes();

    return all > ours ? all - ours : 0;
}
#else
static uint64_t heap_bytes(void)
{
    return 0;
}
#endif

int as_manager_held_init(struct as_manager_held *held,
                         const struct assay_leak_detector_options *options, struct assay_error *err)
{
    struct assay_leak_detector_options whole = *options;
    int rc;

    whole.process_only = true;
    atomic_store_explicit(&held->heap, heap_bytes() > 0, memory_order_relaxed);
    rc = assay_leak_detector_new(&held->by_layer, options, err);
    return rc < 0 ? rc : assay_leak_detector_new(&held->whole, &whole, err);
}

void as_manager_held_fini(struct as_manager_held *held)
{
    assay_leak_detector_free(held->by_layer);
    assay_leak_detector_free(held->whole);
    as_free(held->layer);
    as_free(held->leak);
    held->by_layer = held->whole = NULL;
    held->layer = NULL;
    held->leak = NULL;
}

void as_manager_held_reset(struct as_manager_held *held)
{
    if (held->capacity)
        memset(held->layer, 0, held->capacity * sizeof *held->layer);
    held->all_mb = 0;
    held->n_leaks = 0;
    assay_leak_detector_reset(held->by_layer);
    assay_leak_detector_reset(held->whole);
}

/* Judged by how many took long, not by how long: a thread may be preempted in one. */
static void judge_heap(struct as_manager_held *held, bool slow)
{
    if (slow)
        atomic_fetch_add_explicit(&held->n_slow, 1, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&held->n_timed, 1, memory_order_relaxed) % HEAP_TRIES ==
            HEAP_TRIES - 1 &&
        atomic_exchange_explicit(&held->n_slow, 0, memory_order_relaxed) > HEAP_TRIES / 2)
        atomic_store_explicit(&held->heap, false, memory_order_relaxed);
}

uint64_t as_manager_held_heap(struct as_manager_held *held)
{
    const bool timed =
        atomic_fetch_add_explicit(&held->n, 1, memory_order_relaxed) % HEAP_TIMED == 0;
    const uint64_t from = timed ? as_clock_mono_ns() : 0;
    uint64_t bytes;

    if (!atomic_load_explicit(&held->heap, memory_order_relaxed))
        return ASSAY_UNKNOWN;
    bytes = heap_bytes();
    if (timed)
        judge_heap(held, as_clock_mono_ns() - from > HEAP_MAX_NS);
    return bytes;
}

static bool reserve(struct as_manager_held *held, size_t id)
{
    size_t capacity = held->capacity ? held->capacity : 64;
    struct as_layer_held *more;

    if (id < held->capacity)
        return true;
    while (capacity <= id)
        capacity *= 2;
    more = as_realloc(held->layer, capacity, sizeof *more);
    if (!more)
        return false;
    memset(more + held->capacity, 0, (capacity - held->capacity) * sizeof *more);
    held->layer = more;
    held->capacity = capacity;
    return true;
}

int as_manager_held_add(struct as_manager_held *held, const struct as_layer_name *layer,
                        int64_t bytes, uint64_t step, double timestamp, struct assay_error *err)
{
    double mb = (double)bytes / AS_MIB;
    struct as_layer_held *at;

    if (!reserve(held, layer->id))
        return as_fail_nomem(err);
    at = &held->layer[layer->id];
    at->name = layer;
    at->mb += mb;
    held->all_mb += mb;
    return assay_leak_detector_add(held->by_layer, layer->text, SHIFT_MB + at->mb, step, timestamp,
                                   err);
}

int as_manager_held_note(struct as_manager_held *held, uint64_t bytes, uint64_t step,
                         double timestamp, struct assay_error *err)
{
    return assay_leak_detector_add(held->whole, NULL, (double)bytes / AS_MIB, step, timestamp, err);
}

int as_manager_held_tell(struct as_manager_held *held, struct assay_leak_detector *resident,
                         struct assay_error *err)
{
    struct assay_leak_summary heap, process;
    int rc = assay_leak_detector_summary(held->whole, &heap, err);

    if (rc == ASSAY_OK)
        rc = assay_leak_detector_summary(resident, &process, err);
    /* A heap that was asked only for some of the time says nothing of the rest. */
    if (rc == ASSAY_OK)
        as_leak_set_heap_level(resident, heap.n_readings == process.n_readings && !heap.growing);
    return rc;
}

static int by_growth(const void *a, const void *b)
{
    const struct assay_layer_leak *x = a, *y = b;

    return x->growth_mb < y->growth_mb ? 1 : x->growth_mb > y->growth_mb ? -1 : 0;
}

/* What the layer left behind in the whole session, as the sum of all does. */
static double left_by(const struct as_manager_held *held, const char *layer)
{
    for (size_t i = 0; i < held->capacity; i++)
        if (held->layer[i].name && strcmp(held->layer[i].name->text, layer) == 0)
            return held->layer[i].mb;
    return AS_UNKNOWN;
}

static bool is_between(double share)
{
    return share >= LEAST_SHARE && share <= MOST_SHARE;
}

/* The layer's share of all; an incident that is no leak has none. What a layer took once and keeps
 * is no leak: the growth alone must be worth naming. */
static double share_of(const struct as_manager_held *held,
                       const struct assay_leak_incident *incident)
{
    double share;

    if (!incident->layer || !(held->all_mb > 0) ||
        !is_between(incident->net_growth_mb / held->all_mb))
        return AS_UNKNOWN;
    share = left_by(held, incident->layer) / held->all_mb;
    return is_between(share) ? share : AS_UNKNOWN;
}

int as_manager_held_judge(struct as_manager_held *held, struct assay_error *err)
{
    const struct assay_leak_incident *incident;
    int n = assay_leak_detector_incidents(held->by_layer, &incident, err);
    struct assay_layer_leak *leak;

    held->n_leaks = 0;
    if (n <= 0)
        return n;
    leak = as_realloc(held->leak, (size_t)n, sizeof *leak);
    if (!leak)
        return as_fail_nomem(err);
    held->leak = leak;
    for (int i = 0; i < n; i++) {
        double share = share_of(held, &incident[i]);

        if (!isnan(share))
            leak[held->n_leaks++] =
                (struct assay_layer_leak){.layer = incident[i].layer,
                                          .growth_mb = incident[i].net_growth_mb,
                                          .mb_per_step = incident[i].mb_per_step,
                                          .mb_per_second = incident[i].mb_per_second,
                                          .p_value = incident[i].p_value,
                                          .process_share = share,
                                          .first_step = incident[i].first_step,
                                          .last_step = incident[i].last_step};
    }
    qsort(leak, held->n_leaks, sizeof *leak, by_growth);
    return (int)held->n_leaks;
}

int as_manager_held_read(struct as_manager_held *held, struct assay_leak_detector *resident,
                         struct as_leak_report *report, struct assay_left_memory *out,
                         struct assay_error *err)
{
    int rc = as_manager_held_tell(held, resident, err);

    if (rc == ASSAY_OK)
        rc = as_leak_report(resident, report, err);
    if (rc == ASSAY_OK)
        rc = as_manager_held_judge(held, err);
    if (rc < 0)
        return rc;
    *out = (struct assay_left_memory){
        .size = sizeof *out,
        .source = atomic_load_explicit(&held->heap, memory_order_relaxed) ? "heap in use"
                                                                          : "resident memory",
        .left_behind_mb = held->all_mb,
        .outside_heap_mb = report->outside_heap_mb,
        .n_layer_leaks = (size_t)rc,
    };
    return ASSAY_OK;
}
