/* analyze/run/saved_profile_sort.c - a session that was read back, looked at in another way: its
 * layers in another order, its readings of memory with other limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run/saved_profile.h"
#include "base/units.h"

/* ---- the order of layers ---- */

/* What is compared, larger first. Names are compared apart. */
static double key_of(const struct as_view_layer *l, enum as_layer_sort sort)
{
    const double key[AS_SORT_COUNT] = {
        [AS_SORT_SELF] = l->self_time,
        [AS_SORT_TOTAL] = l->total_time,
        [AS_SORT_CALLS] = l->calls_unknown ? AS_UNKNOWN : (double)l->calls,
        [AS_SORT_MEAN] = l->mean_time,
        [AS_SORT_MEDIAN] = l->p50_time,
        [AS_SORT_STD] = l->std_time,
        [AS_SORT_CV] = l->cv,
        [AS_SORT_MIN] = l->min_time,
        [AS_SORT_MAX] = l->max_time,
        [AS_SORT_P95] = l->p95_time,
        [AS_SORT_P99] = l->p99_time,
        [AS_SORT_NAME] = AS_UNKNOWN,
        [AS_SORT_FIRST] = -(double)l->place,
    };

    return (unsigned)sort < AS_SORT_COUNT ? key[sort] : AS_UNKNOWN;
}

static int compare(const void *a, const void *b, void *user)
{
    const struct as_view_layer *x = a, *y = b;
    const enum as_layer_sort sort = *(const enum as_layer_sort *)user;
    int by_name = sort == AS_SORT_NAME ? strcmp(x->name, y->name) : 0;
    double p = key_of(x, sort), q = key_of(y, sort);

    if (by_name)
        return by_name;
    if (isnan(p) != isnan(q))
        return isnan(p) ? 1 : -1;
    if (p > q || p < q)
        return p > q ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void as_saved_profile_order(struct as_saved_profile *view, enum as_layer_sort sort)
{
    if (view->n_layers)
        qsort_r(view->layer, view->n_layers, sizeof *view->layer, compare, &sort);
    view->order = sort;
}

/* ---- leaks ---- */

static int feed(struct as_saved_profile *view, const struct as_json_value *snapshots,
                struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (const struct as_json_value *v = snapshots->first; v && rc == ASSAY_OK; v = v->next) {
        double mb = as_json_number(as_json_get(v, "cpu_memory_mb"));
        double at = as_json_number(as_json_get(v, "timestamp"));

        if (mb >= 0 && isfinite(mb) && isfinite(at))
            rc = assay_leak_add(view->detector, as_json_words(as_json_get(v, "layer")), mb,
                                ASSAY_LEAK_NO_STEP, at, err);
    }
    return rc;
}

int as_saved_profile_judge_leaks(struct as_saved_profile *view,
                                 const struct assay_leak_options *options, struct assay_error *err)
{
    const struct as_json_value *list = as_json_path(view->json, "memory_profiling", "snapshots");
    struct assay_leak_options process = *options;
    struct as_view_leaks *leaks = &view->leaks;
    struct assay_leak_summary windows = {0};
    int rc;

    if (!list || list->type != AS_TYPE_ARRAY || list->n == 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "other limits for leaks need the readings of the memory profiler, and %s "
                       "holds none",
                       view->name);
    process.process_only = true;
    assay_leak_detector_free(view->detector);
    view->detector = NULL;
    rc = assay_leak_detector_new(&view->detector, &process, err);
    if (rc == ASSAY_OK)
        rc = feed(view, list, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_summary(view->detector, &windows, err);
    if (rc < 0)
        return rc;
    /* The limits are of windows; trends have none, and stay as the session found them. */
    leaks->summary.has_leaks = windows.has_leaks;
    leaks->summary.leak_count = windows.leak_count;
    leaks->summary.total_memory_leaked_mb = windows.total_memory_leaked_mb;
    leaks->summary.average_growth_rate = windows.average_growth_rate;
    leaks->n_leaks = assay_leak_list(view->detector, &leaks->leaks);
    leaks->again = list->n;
    leaks->why = NULL;
    return ASSAY_OK;
}
