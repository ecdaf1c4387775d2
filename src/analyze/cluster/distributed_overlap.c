/* analyze/cluster/distributed_overlap.c - how long something was under way, overlapping intervals
 * counted once. Only events whose start is known have an interval. */
#include "analyze/cluster/distributed_internal.h"

#include <math.h>

#include "base/alloc.h"
#include "stats/describe/sorted.h"

#define MAX_INTERVALS                                                                              \
    2000000 /* sorted at once; older events beyond are taken one after another                     \
             */

/* Intervals in milliseconds, by node: those of node k are at first[k] .. first[k + 1]. */
struct intervals {
    size_t *first;
    double *begin, *end, *scratch;
    size_t n_nodes, n;
    double origin; /* UNIX seconds that stand for 0, so that milliseconds keep their digits */
    uint64_t n_events;
};

/* How one kind of event gives intervals. */
struct source {
    const struct assay_distributed *d;
    size_t n_events;
    /* Start and duration of an event; false when its start is not known. */
    bool (*when)(const struct source *s, size_t i, double *start, double *duration_ms);
    size_t (*n_nodes)(const struct source *s, size_t i);
    uint32_t (*node)(const struct source *s, size_t i, size_t k);
};

static bool transfer_when(const struct source *s, size_t i, double *start, double *duration_ms)
{
    const struct as_transfer *t = as_newest_get(&s->d->transfers, i);

    *start = t->start;
    *duration_ms = t->duration_ms;
    return !isnan(t->start);
}

static size_t transfer_nodes(const struct source *s, size_t i)
{
    const struct as_transfer *t = as_newest_get(&s->d->transfers, i);

    return t->source == t->destination ? 1 : 2;
}

static uint32_t transfer_node(const struct source *s, size_t i, size_t k)
{
    const struct as_transfer *t = as_newest_get(&s->d->transfers, i);

    return k == 0 ? t->source : t->destination;
}

/* For the time in which any transfer was under way. */
static size_t one_node(const struct source *s, size_t i)
{
    (void)s;
    (void)i;
    return 1;
}

static uint32_t node_zero(const struct source *s, size_t i, size_t k)
{
    (void)s;
    (void)i;
    (void)k;
    return 0;
}

static bool sync_when(const struct source *s, size_t i, double *start, double *duration_ms)
{
    const struct as_sync *sync = as_newest_get(&s->d->synchronizations, i);

    *start = sync->start;
    *duration_ms = sync->duration_ms;
    return !isnan(sync->start);
}

static size_t sync_nodes(const struct source *s, size_t i)
{
    const struct as_sync *sync = as_newest_get(&s->d->synchronizations, i);

    return sync->set == AS_DISTRIBUTED_NO_SET ? 0 : sync->n_nodes;
}

static uint32_t sync_node(const struct source *s, size_t i, size_t k)
{
    const struct as_sync *sync = as_newest_get(&s->d->synchronizations, i);

    return s->d->set[sync->set].nodes[k];
}

static void intervals_fini(struct intervals *v)
{
    as_free(v->first);
    as_free(v->begin);
}

/* Counts the intervals of each node, newest events first, up to the limit; returns the oldest event
 * taken. */
static size_t count_intervals(struct intervals *v, const struct source *s)
{
    size_t oldest = s->n_events;
    double start, duration_ms;

    v->origin = (double)INFINITY;
    while (oldest > 0) {
        size_t i = oldest - 1, n = s->n_nodes(s, i);

        if (s->when(s, i, &start, &duration_ms)) {
            if (n > MAX_INTERVALS - v->n)
                break;
            for (size_t k = 0; k < n; k++)
                v->first[s->node(s, i, k) + 1]++;
            v->n += n;
            v->n_events++;
            v->origin = fmin(v->origin, start);
        }
        oldest--;
    }
    for (size_t k = 0; k < v->n_nodes; k++)
        v->first[k + 1] += v->first[k];
    return oldest;
}

static int intervals_init(struct intervals *v, const struct source *s, size_t n_nodes,
                          struct assay_error *err)
{
    double start, duration_ms;
    size_t oldest, *at;

    *v = (struct intervals){.n_nodes = n_nodes};
    v->first = as_alloc_zero(2 * (n_nodes + 1), sizeof *v->first);
    if (!v->first)
        return as_fail_nomem(err);
    oldest = count_intervals(v, s);
    v->begin = as_alloc_zero(v->n + 1, 3 * sizeof *v->begin);
    if (!v->begin)
        return as_fail_nomem(err);
    v->end = v->begin + v->n;
    v->scratch = v->end + v->n;
    at = v->first + n_nodes + 1;
    for (size_t k = 0; k < n_nodes; k++)
        at[k] = v->first[k];
    for (size_t i = oldest; i < s->n_events; i++) {
        size_t n = s->when(s, i, &start, &duration_ms) ? s->n_nodes(s, i) : 0;

        for (size_t k = 0; k < n; k++) {
            size_t place = at[s->node(s, i, k)]++;

            v->begin[place] = (start - v->origin) * 1000;
            v->end[place] = v->begin[place] + duration_ms;
        }
    }
    return ASSAY_OK;
}

/* Beginnings and ends sorted apart are enough: between the one that makes the first under way and
 * the one that ends the last, something is. */
static struct as_busy find_busy(struct intervals *v, size_t node)
{
    size_t n = v->first[node + 1] - v->first[node], i = 0, j = 0;
    double *begin = v->begin + v->first[node], *end = v->end + v->first[node], since = 0;
    struct as_busy busy = {0};

    for (size_t k = 0; k < n; k++)
        busy.sum_ms += end[k] - begin[k];
    as_sort_f64(begin, n, v->scratch);
    as_sort_f64(end, n, v->scratch);
    while (j < n) {
        if (i < n && begin[i] <= end[j]) {
            since = i == j ? begin[i] : since;
            i++;
        } else {
            j++;
            busy.union_ms += i == j ? end[j - 1] - since : 0;
        }
    }
    return busy;
}

static int add_overlaps(const struct source *s, double *less_ms, uint64_t *n_placed,
                        struct assay_error *err)
{
    struct intervals v;
    int rc = intervals_init(&v, s, s->d->nodes.n, err);

    for (size_t k = 0; rc == ASSAY_OK && k < v.n_nodes; k++) {
        struct as_busy busy = find_busy(&v, k);

        less_ms[k] += fmin(busy.union_ms - busy.sum_ms, 0);
    }
    *n_placed = v.n_events;
    intervals_fini(&v);
    return rc;
}

int as_overlap_transfers(const struct assay_distributed *d, double *less_ms, uint64_t *n_placed,
                         struct assay_error *err)
{
    struct source transfers = {d, as_newest_count(&d->transfers), transfer_when, transfer_nodes,
                               transfer_node};

    return add_overlaps(&transfers, less_ms, n_placed, err);
}

int as_overlap_syncs(const struct assay_distributed *d, double *less_ms, uint64_t *n_placed,
                     struct assay_error *err)
{
    struct source syncs = {d, as_newest_count(&d->synchronizations), sync_when, sync_nodes,
                           sync_node};

    return add_overlaps(&syncs, less_ms, n_placed, err);
}

int as_overlap_any(const struct assay_distributed *d, struct as_busy *out, struct assay_error *err)
{
    struct source any = {d, as_newest_count(&d->transfers), transfer_when, one_node, node_zero};
    struct intervals v;
    int rc = intervals_init(&v, &any, 1, err);

    *out = (struct as_busy){0};
    if (rc == ASSAY_OK)
        *out = find_busy(&v, 0);
    intervals_fini(&v);
    return rc;
}
