/* api/manager/manager_extend.c - profilers that a program adds to its manager.
 * A table of functions each; the manager calls them in the order they were added. */
#include <string.h>

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/error.h"

static int refuse(const struct assay_manager *m, const struct assay_profiler *p,
                  struct assay_error *err)
{
    if (!p->name || !*p->name)
        return as_fail(err, ASSAY_ERR_USAGE, "a profiler needs a name");
    for (int i = 0; i < ASSAY_PROFILER_COUNT; i++) {
        if (strcmp(p->name, assay_profiler_name((enum assay_profiler_id)i)) == 0)
            return as_fail(err, ASSAY_ERR_USAGE, "the profiler %s is built in: choose another name",
                           p->name);
    }
    for (size_t i = 0; i < m->n_extensions; i++) {
        if (strcmp(p->name, m->extension[i].name) == 0)
            return as_fail(err, ASSAY_ERR_USAGE, "a profiler called %.80s was added before",
                           p->name);
    }
    if (atomic_load_explicit(&m->active, memory_order_relaxed))
        return as_fail(err, ASSAY_ERR_STATE,
                       "a session is running: add the profiler %.80s before it starts", p->name);
    if (m->n_extensions == AS_MANAGER_EXTENSIONS)
        return as_fail(err, ASSAY_ERR_LIMIT, "at most %d profilers can be added",
                       AS_MANAGER_EXTENSIONS);
    return ASSAY_OK;
}

int assay_manager_add_profiler(struct assay_manager *manager, const struct assay_profiler *profiler,
                               struct assay_error *err)
{
    struct as_manager_extension e = {0};
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!profiler)
        return as_fail(err, ASSAY_ERR_USAGE, "no profiler was given");
    rc = as_sized_take(&e.table, sizeof e.table, profiler, "a profiler", err);
    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    rc = refuse(manager, &e.table, err);
    if (rc < 0)
        goto out;
    e.name = as_strdup(e.table.name);
    if (!e.name) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (e.table.create)
        rc = e.table.create(e.table.context, &e.state, err);
    if (rc < 0) {
        as_free(e.name);
        goto out;
    }
    manager->extension[manager->n_extensions++] = e;
    atomic_fetch_or_explicit(&manager->enabled, AS_MANAGER_EXTENDED, memory_order_relaxed);
    rc = ASSAY_OK;
out:
    as_manager_unlock(manager);
    return rc;
}
