/* api/manager/manager_layer.c - a layer begins and ends: the part of a manager inside the program.
 * With the layer profiler alone this is two time stamps and a few cache lines. */
#include <assay/scope.h>

#include "api/manager/manager_internal.h"

/* The recorder's id of a layer; asked for once. */
static uint32_t site_of(struct as_layer_name *name)
{
    uint32_t site = __atomic_load_n(&name->site, __ATOMIC_RELAXED);

    if (!site) {
        site = assay_layer(name->text);
        __atomic_store_n(&name->site, site, __ATOMIC_RELAXED);
    }
    return site;
}

/* Marks of this thread so far, for the choice of those whose cost is measured. */
static __thread uint32_t n_begins __attribute__((tls_model("initial-exec")));
static __thread uint32_t n_ends __attribute__((tls_model("initial-exec")));

static bool is_fed(uint32_t on)
{
    return on & (AS_MANAGER_FED | AS_MANAGER_WATCHED | AS_MANAGER_EXTENDED);
}

static uint64_t recording(void)
{
    return __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);
}

static struct assay_manager_span begin_layer(struct assay_manager *manager, const char *name)
{
    const struct as_layer_clock *clock = as_layer_profile_clock(manager->layers);
    const uint32_t on = atomic_load_explicit(&manager->enabled, memory_order_relaxed);
    const struct as_mark_cost cost = as_mark_cost_begin(&n_begins, is_fed(on), clock);
    struct as_layer_opened opened;
    struct assay_manager_span span = as_layer_profile_begin(manager->layers, name, &opened);
    uint64_t epoch;

    if (!span.serial)
        return span;
    if (on & (AS_MANAGER_FED | AS_MANAGER_WATCHED))
        as_manager_before(manager, on, &opened);
    epoch = recording();
    if (__builtin_expect(epoch != 0, 0)) {
        opened.note->epoch = epoch;
        assay_begin(site_of(opened.name));
    }
    *opened.start_ticks = as_layer_clock_ticks(clock);
    if (cost.weight) {
        as_mark_cost_end(manager, &cost, *opened.start_ticks);
        *opened.start_ticks = as_layer_clock_ticks(clock);
    }
    return span;
}

struct assay_manager_span assay_manager_layer_begin(struct assay_manager *manager, const char *name)
{
    struct assay_manager_span span = {0};

    if (!manager || !atomic_load_explicit(&manager->active, memory_order_acquire) ||
        !as_mark_enter(manager->generation))
        return span;
    span = begin_layer(manager, name);
    as_mark_leave();
    return span;
}

/* Layers that were begun inside this one and left without an end, by longjmp say. */
static void abandon_inner(struct assay_manager *m, const struct assay_manager_span *span,
                          uint64_t ticks)
{
    struct as_layer_note *note;

    while ((note = as_layer_profile_abandon(m->layers, span, ticks)) != NULL) {
        if (note->memory_begun)
            as_memory_profile_cancel_layer(m->memory, &note->memory);
    }
}

static int end_now(struct assay_manager *m, const struct assay_manager_span *span,
                   struct as_layer_end *how, struct assay_error *err)
{
    struct as_layer_call call;
    uint64_t held = ASSAY_UNKNOWN;
    uint32_t on;
    int rc;

    on = atomic_load_explicit(&m->enabled, memory_order_relaxed);
    abandon_inner(m, span, how->ticks);
    if (on & AS_MANAGER_BIT(LEAK))
        held = as_manager_held_heap(&m->held);
    how->keep = on & AS_MANAGER_BIT(LAYER);
    rc = as_layer_profile_end(m->layers, span, how, &call, err);
    if (rc < 0 || !call.known)
        return rc;
    if (__builtin_expect(call.note->epoch != 0, 0) && call.note->epoch == recording()) {
        /* Kept with the call, so that the run tells of memory and leaks by layer too. */
        if (on & (AS_MANAGER_BIT(MEMORY) | AS_MANAGER_BIT(LEAK)))
            as_manager_note_memory(m);
        if (how->failed)
            assay_end_failed(site_of(call.name));
        else
            assay_end(site_of(call.name));
    }
    if (on & (AS_MANAGER_FED | AS_MANAGER_WATCHED | AS_MANAGER_EXTENDED) || call.note->memory_begun)
        as_manager_after(m, on, how, &call, held);
    return ASSAY_OK;
}

static int end_layer(struct assay_manager *m, const struct assay_manager_span *span,
                     struct as_layer_end *how, struct assay_error *err)
{
    const struct as_layer_clock *clock;
    struct as_mark_cost cost;
    int rc;

    if (!m || (span && !span->serial))
        return ASSAY_OK; /* nothing was begun */
    if (!span)
        return as_fail(err, ASSAY_ERR_USAGE, "no span was given to end");
    if (!as_mark_enter(m->generation))
        return ASSAY_OK;
    clock = as_layer_profile_clock(m->layers);
    how->ticks = as_layer_clock_ticks(clock);
    cost = as_mark_cost_begin(
        &n_ends, is_fed(atomic_load_explicit(&m->enabled, memory_order_relaxed)), clock);
    rc = end_now(m, span, how, err);
    if (cost.weight)
        as_mark_cost_end(m, &cost, as_layer_clock_ticks(clock));
    as_mark_leave();
    return rc;
}

int assay_manager_layer_end(struct assay_manager *manager, const struct assay_manager_span *span,
                            const struct assay_metadata *metadata, size_t n_metadata,
                            struct assay_error *err)
{
    struct as_layer_end how = {.metadata = metadata, .n_metadata = metadata ? n_metadata : 0};

    return end_layer(manager, span, &how, err);
}

int assay_manager_layer_fail(struct assay_manager *manager, const struct assay_manager_span *span,
                             const char *reason, struct assay_error *err)
{
    struct as_layer_end how = {.failed = true, .reason = reason};

    return end_layer(manager, span, &how, err);
}
