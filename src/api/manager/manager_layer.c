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

static uint64_t recording(void)
{
    return __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);
}

struct assay_manager_span assay_manager_layer_begin(struct assay_manager *manager, const char *name)
{
    struct as_layer_opened opened;
    struct assay_manager_span span = {0};
    uint64_t epoch;
    uint32_t on;

    if (!manager || !atomic_load_explicit(&manager->active, memory_order_acquire))
        return span;
    span = as_layer_profile_begin(manager->layers, name, &opened);
    if (!span.serial)
        return span;
    on = atomic_load_explicit(&manager->enabled, memory_order_relaxed);
    if (on & (AS_MANAGER_FED | AS_MANAGER_WATCHED))
        as_manager_before(manager, on, &opened);
    epoch = recording();
    if (__builtin_expect(epoch != 0, 0)) {
        opened.note->epoch = epoch;
        assay_begin(site_of(opened.name));
    }
    *opened.start_ticks = as_layer_clock_ticks(as_layer_profile_clock(manager->layers));
    return span;
}

static int end_layer(struct assay_manager *m, const struct assay_manager_span *span,
                     struct as_layer_end *how, struct assay_error *err)
{
    struct as_layer_call call;
    uint64_t held = ASSAY_MEMORY_UNKNOWN;
    uint32_t on;
    int rc;

    if (!m || !span->serial)
        return ASSAY_OK;
    how->ticks = as_layer_clock_ticks(as_layer_profile_clock(m->layers));
    on = atomic_load_explicit(&m->enabled, memory_order_relaxed);
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
