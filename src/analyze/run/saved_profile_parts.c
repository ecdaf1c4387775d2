/* analyze/run/saved_profile_parts.c - what a session says beside layers, memory and bottlenecks:
 * values that stand out, nodes that work together, backends compared. From its JSON alone. */
#include "analyze/run/saved_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const struct as_json_value *object, const char *key)
{
    return as_json_number(as_json_get(object, key));
}

static const char *words(const struct as_json_value *object, const char *key)
{
    const char *text = as_json_words(as_json_get(object, key));

    return text ? text : "";
}

static uint64_t whole(const struct as_json_value *object, const char *key)
{
    uint64_t n;

    return as_json_whole(as_json_get(object, key), &n) ? n : 0;
}

/* The first of a list that is one; NULL for anything else. */
static const struct as_json_value *first_of(const struct as_json_value *list,
                                            enum as_json_type type)
{
    return list && list->type == type ? list->first : NULL;
}

/* NULL when the part is there. */
static const char *why_not(const struct as_json_value *root, const char *key)
{
    const struct as_json_value *part = as_json_get(root, key);
    char name[64];
    const char *why;

    if (part && part->type == AS_TYPE_OBJECT)
        return NULL;
    (void)snprintf(name, sizeof name, "%s_why", key);
    why = as_json_words(as_json_get(root, name));
    return why ? why : "the session does not tell it";
}

/* ---- anomalies ---- */

/* Without spread before it, any other value is infinitely far. */
static double how_far(const struct as_view_anomaly *a)
{
    return isnan(a->z) ? (double)INFINITY : fabs(a->z);
}

static int by_distance(const void *a, const void *b)
{
    const struct as_view_anomaly *x = a, *y = b;

    if (how_far(x) != how_far(y))
        return how_far(x) > how_far(y) ? -1 : 1;
    return strcmp(x->layer, y->layer);
}

static int read_anomalies(struct as_view_anomalies *to, struct as_arena *arena,
                          const struct as_json_value *root, struct assay_error *err)
{
    const struct as_json_value *part = as_json_get(root, "anomalies");
    const struct as_json_value *list = as_json_get(part, "anomalies");
    struct as_view_anomaly *a = as_arena_zero(arena, list ? list->n + 1 : 1, sizeof *a);

    if (!a)
        return as_fail_nomem(err);
    to->why = why_not(root, "anomalies");
    to->count = whole(part, "anomaly_count");
    to->values = whole(part, "values");
    for (const struct as_json_value *v = first_of(list, AS_TYPE_ARRAY); v; v = v->next)
        a[to->n++] = (struct as_view_anomaly){
            .layer = words(v, "layer"),
            .metric = words(v, "metric"),
            .test = words(v, "test"),
            .value = number(v, "value"),
            .median = number(v, "median"),
            .z = number(v, "z_score"),
        };
    if (to->n)
        qsort(a, to->n, sizeof *a, by_distance);
    to->list = a;
    return ASSAY_OK;
}

/* ---- nodes ---- */

static int read_distributed(struct as_view_distributed *to, struct as_arena *arena,
                            const struct as_json_value *root, struct assay_error *err)
{
    const struct as_json_value *part = as_json_get(root, "distributed_training");
    const struct as_json_value *findings = as_json_get(part, "findings");
    const struct as_json_value *nodes = as_json_path(part, "load_balance", "nodes");
    struct as_view_finding *f = as_arena_zero(arena, findings ? findings->n + 1 : 1, sizeof *f);
    struct as_view_node *node = as_arena_zero(arena, nodes ? nodes->n + 1 : 1, sizeof *node);

    if (!f || !node)
        return as_fail_nomem(err);
    to->why = why_not(root, "distributed_training");
    to->nodes = whole(part, "total_nodes");
    for (const struct as_json_value *v = first_of(findings, AS_TYPE_ARRAY); v; v = v->next)
        f[to->n_findings++] = (struct as_view_finding){
            .type = words(v, "type"),
            .severity = words(v, "severity"),
            .details = words(v, "details"),
            .recommendation = words(v, "recommendation"),
        };
    for (const struct as_json_value *v = first_of(nodes, AS_TYPE_ARRAY); v; v = v->next)
        node[to->n_nodes++] = (struct as_view_node){
            .id = words(v, "id"),
            .seconds = number(v, "time_seconds"),
            .over_mean = number(v, "over_mean_share"),
            .communication_ms = number(v, "communication_ms"),
            .synchronization_ms = number(v, "synchronization_ms"),
            .barrier_wait_ms = number(v, "barrier_wait_ms"),
        };
    to->finding = f;
    to->node = node;
    return ASSAY_OK;
}

/* ---- backends ---- */

static int read_backends(struct as_view_backends *to, struct as_arena *arena,
                         const struct as_json_value *root, struct assay_error *err)
{
    const struct as_json_value *part = as_json_get(root, "backend_comparison");
    const struct as_json_value *names = as_json_get(part, "backends");
    const struct as_json_value *summary = as_json_get(part, "summary");
    struct as_view_backend *b = as_arena_zero(arena, names ? names->n + 1 : 1, sizeof *b);

    if (!b)
        return as_fail_nomem(err);
    to->why = why_not(root, "backend_comparison");
    if (!to->why)
        to->why = as_json_words(as_json_get(part, "error"));
    to->recommendation = words(summary, "recommendation");
    to->verdict = words(as_json_get(summary, "significance"), "verdict");
    to->unequal = words(summary, "unequal_because");
    for (const struct as_json_value *v = first_of(names, AS_TYPE_ARRAY); v; v = v->next) {
        const char *name = as_json_words(v);

        if (!name)
            continue;
        b[to->n++] = (struct as_view_backend){
            .name = name,
            .total_time = number(as_json_get(summary, "total_times"), name),
            .layer_wins = number(as_json_get(summary, "layer_wins"), name),
            .peak_memory_mb = number(as_json_get(summary, "peak_memory_mb"), name),
            .energy_j = number(as_json_get(summary, "energy_j"), name),
        };
    }
    to->list = b;
    return ASSAY_OK;
}

int as_view_parts_read(struct as_view_parts *to, struct as_arena *arena,
                       const struct as_json_value *root, struct assay_error *err)
{
    int rc = read_anomalies(&to->anomalies, arena, root, err);

    if (rc == ASSAY_OK)
        rc = read_distributed(&to->distributed, arena, root, err);
    if (rc == ASSAY_OK)
        rc = read_backends(&to->backends, arena, root, err);
    return rc;
}
