/* analyze/run/diff_saved_profile.c - one side of a comparison, from the JSON of a session.
 * Means and totals are there, single calls only as far as the session kept them; of a layer with
 * others inside, what calls took themselves is in newer files only. */
#include "analyze/run/run_diff.h"

#include <math.h>

#include "base/units.h"

#define SAME 1e-9 /* sums of the same times differ by rounding only */

/* A list of seconds; NULL with 0 when there is none. */
static int read_times(struct as_diff_run *r, const struct as_json_value *list, const double **out,
                      size_t *n, struct assay_error *err)
{
    double *ns;

    *out = NULL;
    *n = 0;
    if (!list || list->type != AS_TYPE_ARRAY || list->n == 0)
        return ASSAY_OK;
    ns = as_arena_zero(&r->arena, list->n, sizeof *ns);
    if (!ns)
        return as_fail_nomem(err);
    for (const struct as_json_value *v = list->first; v; v = v->next) {
        double seconds = as_json_number(v);

        if (isfinite(seconds))
            ns[(*n)++] = seconds * 1e9;
    }
    *out = ns;
    return ASSAY_OK;
}

/* Without layers inside, the two are the same and only one is in the file. */
static int read_calls(struct as_diff_run *r, struct as_diff_layer *layer,
                      const struct as_json_value *stats, struct assay_error *err)
{
    const struct as_json_value *own = as_json_get(stats, "self_times");
    int rc = read_times(r, as_json_get(stats, "execution_times"), &layer->whole_ns,
                        &layer->n_whole_ns, err);

    if (rc == ASSAY_OK)
        rc = read_times(r, own, &layer->call_ns, &layer->n_call_ns, err);
    if (rc == ASSAY_OK && !layer->call_ns && layer->self_ns >= layer->total_ns * (1 - SAME)) {
        layer->call_ns = layer->whole_ns;
        layer->n_call_ns = layer->n_whole_ns;
    }
    return rc;
}

int as_diff_from_saved_profile(struct as_diff_run *r, const struct as_saved_profile *view,
                               struct assay_error *err)
{
    const struct as_json_value *stats = as_json_path(view->json, "layer_profiling", "layer_stats");
    struct as_diff_layer *layer = as_arena_zero(&r->arena, view->n_layers + 1, sizeof *layer);
    int rc = ASSAY_OK;
    size_t n = 0;

    if (!layer)
        return as_fail_nomem(err);
    if (!stats || stats->type != AS_TYPE_OBJECT || stats->n == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "%s holds no layers to compare", view->name);
    for (const struct as_json_value *v = stats->first; v && rc == ASSAY_OK; v = v->next) {
        struct as_diff_layer *l = &layer[n++];
        uint64_t calls = 0;

        (void)as_json_whole(as_json_get(v, "call_count"), &calls);
        l->name = v->key;
        l->calls = calls;
        l->total_ns = as_json_number(as_json_get(v, "total_time")) * 1e9;
        l->self_ns = as_json_number(as_json_get(v, "self_time")) * 1e9;
        if (!isfinite(l->self_ns))
            l->self_ns = l->total_ns;
        l->mean_ns = as_json_number(as_json_get(v, "mean_time")) * 1e9;
        rc = read_calls(r, l, v, err);
    }
    r->side = (struct as_diff_side){
        .name = view->name,
        .total_ns = isfinite(view->duration_seconds) ? view->duration_seconds * 1e9
                                                     : view->total_time * 1e9,
        .peak_memory_bytes = view->memory.why ? AS_UNKNOWN : view->memory.peak_mb * AS_MIB,
        .layer = layer,
        .n_layers = n,
    };
    return rc;
}
