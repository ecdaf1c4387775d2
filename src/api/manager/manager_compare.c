/* api/manager/manager_compare.c - the layers of a session as the profile of a backend.
 * Figures are taken when they are added; what the session does later does not change them. */

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/units.h"

/* What was measured as 0, such as the time of a layer of which every call failed, is known. */
static double measured(double value)
{
    return value == 0 ? ASSAY_MEASURED_ZERO : value;
}

static int add_layers(struct assay_manager *m, const char *name,
                      const struct assay_layer_profile *p, struct assay_error *err)
{
    struct assay_backend_layer *layers = as_alloc_zero(p->n_layers, sizeof *layers);
    int rc;

    if (!layers)
        return as_fail_nomem(err);
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct assay_layer_stats *from = &p->layers[i];

        layers[i] = (struct assay_backend_layer){.name = from->layer,
                                                 .mean_seconds = measured(from->mean_seconds),
                                                 .std_seconds = measured(from->std_seconds),
                                                 .total_seconds = measured(from->total_seconds),
                                                 .call_count = from->call_count};
    }
    rc = assay_compare_add(m->compare, name, layers, p->n_layers, measured(p->total_seconds),
                           AS_UNKNOWN, err);
    as_free(layers);
    return rc;
}

/* The most the process held, where the memory profiler knows it. */
static int add_memory(struct assay_manager *m, const char *name, struct assay_error *err)
{
    struct as_memory_profile_summary summary;

    if (!(atomic_load_explicit(&m->enabled, memory_order_relaxed) & AS_MANAGER_BIT(MEMORY)))
        return ASSAY_OK;
    as_memory_profile_summary(m->memory, &summary);
    return assay_compare_add_resources(m->compare, name, summary.peak_memory_mb, AS_UNKNOWN, err);
}

int assay_manager_compare_backends(struct assay_manager *manager, const char *name,
                                   struct assay_error *err)
{
    struct assay_layer_profile *p;
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!(atomic_load_explicit(&manager->enabled, memory_order_relaxed) &
          AS_MANAGER_BIT(COMPARATIVE)))
        return as_fail(err, ASSAY_ERR_STATE,
                       "the comparative profiler is off: enable it to compare backends");
    rc = assay_manager_layers(manager, 0, &p, err);
    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    if (p->n_layers == 0)
        rc = as_fail(err, ASSAY_ERR_STATE,
                     "no layer was called yet: there is nothing to compare of %.80s",
                     name ? name : "this backend");
    else
        rc = add_layers(manager, name, p, err);
    if (rc == ASSAY_OK)
        rc = add_memory(manager, name, err);
    manager->n_backends += rc == ASSAY_OK;
    as_manager_unlock(manager);
    assay_layer_profile_free(p);
    return rc;
}

void assay_manager_forget_backends(struct assay_manager *manager)
{
    if (as_manager_check(manager, NULL) < 0)
        return;
    as_manager_lock(manager);
    assay_compare_reset(manager->compare);
    manager->n_backends = 0;
    as_manager_unlock(manager);
}

int assay_manager_comparison(struct assay_manager *manager, const char *const *names, size_t n,
                             const struct assay_comparison **out, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the comparison");
    as_manager_lock(manager);
    rc = assay_compare_run(manager->compare, names, n, out, err);
    as_manager_unlock(manager);
    return rc;
}
