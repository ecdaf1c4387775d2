/* analyze/cluster/distributed.c - records nodes, transfers, synchronizations and metrics of a
 * training. Sums are of all events; the events themselves are the newest, in bounded room. */
#include <math.h>
#include <string.h>

#include "analyze/cluster/distributed_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/vec.h"

#define MAX_EVENTS    10000000
#define MAX_SETS      10000
#define MAX_SET_NODES 4000000 /* in all sets together */

static const struct assay_distributed_options defaults = {
    .size = sizeof(struct assay_distributed_options),
    .max_events = 100000,
    .balanced_below = 0.1,
    .imbalance_above = 0.2,
    .imbalance_high_above = 0.5,
    .communication_percent = 20,
    .communication_high_percent = 40,
    .synchronization_percent = 15,
    .synchronization_high_percent = 30,
    .barrier_wait_percent = 10,
    .barrier_wait_high_percent = 20,
};

static const size_t thresholds[] = {
    offsetof(struct assay_distributed_options, balanced_below),
    offsetof(struct assay_distributed_options, imbalance_above),
    offsetof(struct assay_distributed_options, imbalance_high_above),
    offsetof(struct assay_distributed_options, communication_percent),
    offsetof(struct assay_distributed_options, communication_high_percent),
    offsetof(struct assay_distributed_options, synchronization_percent),
    offsetof(struct assay_distributed_options, synchronization_high_percent),
    offsetof(struct assay_distributed_options, barrier_wait_percent),
    offsetof(struct assay_distributed_options, barrier_wait_high_percent),
};

static int take_options(struct assay_distributed_options *out,
                        const struct assay_distributed_options *given, struct assay_error *err)
{
    struct assay_distributed_options whole;
    int rc = as_sized_take(&whole, sizeof whole, given, "options of distributed training", err);

    *out = defaults;
    if (!given || rc < 0)
        return rc;
    given = &whole;
    if (given->max_events > MAX_EVENTS)
        return as_fail(err, ASSAY_ERR_USAGE, "at most %d events of a kind can be kept", MAX_EVENTS);
    for (size_t i = 0; i < AS_COUNT_OF(thresholds); i++) {
        double value;

        memcpy(&value, (const char *)given + thresholds[i], sizeof value);
        if (!(value >= 0) || isinf(value))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "thresholds of distributed training must be finite and not negative");
        if (value > 0)
            memcpy((char *)out + thresholds[i], &value, sizeof value);
    }
    if (given->max_events)
        out->max_events = given->max_events;
    return ASSAY_OK;
}

int assay_distributed_new(struct assay_distributed **out,
                          const struct assay_distributed_options *options, struct assay_error *err)
{
    struct assay_distributed_options taken;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new analysis is NULL");
    *out = NULL;
    rc = take_options(&taken, options, err);
    if (rc < 0)
        return rc;
    *out = as_alloc_zero(1, sizeof **out);
    if (!*out)
        return as_fail_nomem(err);
    (*out)->options = taken;
    assay_distributed_reset(*out);
    return ASSAY_OK;
}

static void forget_names(struct as_numbered *names)
{
    as_hash_map_fini(&names->map);
    as_free(names->at);
}

void assay_distributed_reset(struct assay_distributed *d)
{
    struct assay_distributed fresh = {0};
    size_t max;

    if (!d)
        return;
    fresh.options = d->options;
    max = d->options.max_events;
    forget_names(&d->nodes);
    forget_names(&d->operations);
    forget_names(&d->syncs);
    forget_names(&d->metrics);
    as_free(d->node);
    as_free(d->transfers.at);
    as_free(d->synchronizations.at);
    as_free(d->readings.at);
    as_free(d->operation);
    as_free(d->sync);
    as_hash_map_fini(&d->sets);
    as_free(d->set);
    as_hash_map_fini(&d->pairs);
    as_free(d->pair);
    as_free(d->pair_metric);
    as_arena_fini(&d->arena);
    as_arena_fini(&d->answers);
    fresh.transfers = (struct as_newest){.size = sizeof(struct as_transfer), .max = max};
    fresh.synchronizations = (struct as_newest){.size = sizeof(struct as_sync), .max = max};
    fresh.readings = (struct as_newest){.size = sizeof(struct as_metric_reading), .max = max};
    *d = fresh;
}

void assay_distributed_free(struct assay_distributed *d)
{
    if (!d)
        return;
    assay_distributed_reset(d);
    as_free(d);
}

/* ---- growing ---- */

/* The same as as_vec_reserve(), with the new elements zeroed. */
static bool reserve_zeroed(void *array, size_t n, size_t *capacity, size_t size)
{
    size_t before = *capacity;
    char *elements;

    if (!as_vec_reserve(array, n, capacity, size))
        return false;
    memcpy(&elements, array, sizeof elements);
    memset(elements + before * size, 0, (*capacity - before) * size);
    return true;
}

#define GROW(array, n, capacity)                                                                   \
    do {                                                                                           \
        if (!reserve_zeroed(&(array), n, &(capacity), sizeof *(array)))                            \
            return as_fail_nomem(err);                                                             \
    } while (0)

static int newest_add(struct as_newest *r, const void *event, struct assay_error *err)
{
    size_t at = (size_t)(r->n % r->max);

    if (at >= r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 64;
        void *grown;

        capacity = capacity < r->max ? capacity : r->max;
        grown = as_realloc(r->at, capacity, r->size);
        if (!grown)
            return as_fail_nomem(err);
        r->at = grown;
        r->capacity = capacity;
    }
    memcpy((char *)r->at + at * r->size, event, r->size);
    r->n++;
    return ASSAY_OK;
}

/* The number of a name; a new one is the last. */
static int number_of(struct assay_distributed *d, struct as_numbered *names, const char *name,
                     const char *what, uint32_t *out, struct assay_error *err)
{
    size_t size = strlen(name);
    const uint64_t *known = as_hash_map_find(&names->map, name, size);
    const char *copy;

    *out = known ? (uint32_t)*known : (uint32_t)names->n;
    if (known)
        return ASSAY_OK;
    if (names->n == AS_DISTRIBUTED_MAX_NAMES)
        return as_fail(err, ASSAY_ERR_LIMIT, "more than %d %s were named", AS_DISTRIBUTED_MAX_NAMES,
                       what);
    copy = as_arena_text(&d->arena, name, size);
    if (!copy)
        return as_fail_nomem(err);
    GROW(names->at, names->n, names->capacity);
    if (as_hash_map_put(&names->map, copy, size, names->n) < 0)
        return as_fail_nomem(err);
    names->at[names->n++] = copy;
    return ASSAY_OK;
}

static int node_of(struct assay_distributed *d, const char *id, uint32_t *out,
                   struct assay_error *err)
{
    GROW(d->node, d->nodes.n, d->capacity_node);
    return number_of(d, &d->nodes, id, "nodes", out, err);
}

static double start_of(double unix_s)
{
    return isfinite(unix_s) ? as_known_input(unix_s) : AS_UNKNOWN;
}

static double time_or_now(double timestamp)
{
    return isfinite(timestamp) && timestamp != 0 ? timestamp : as_clock_unix_seconds();
}

static bool is_amount(double x)
{
    return x >= 0 && !isinf(x);
}

/* ---- what is told ---- */

static int sum_layers(double *out, const char *id, const struct assay_node_profile *profile,
                      struct assay_error *err)
{
    double sum = 0;

    for (size_t i = 0; i < profile->n_layers; i++) {
        if (!is_amount(profile->layers[i].total_seconds))
            return as_fail(err, ASSAY_ERR_USAGE, "the time of layer %zu of node %s is none", i, id);
        sum += profile->layers[i].total_seconds;
    }
    *out = profile->n_layers ? sum : AS_UNKNOWN;
    return ASSAY_OK;
}

int assay_distributed_add_node(struct assay_distributed *d, const char *id,
                               const struct assay_node_profile *profile, struct assay_error *err)
{
    struct assay_node_profile p;
    double seconds;
    bool from_layers;
    uint32_t number = 0;
    int rc = ASSAY_OK;

    if (!d || !id)
        return as_fail(err, ASSAY_ERR_USAGE, "a node needs an analysis and an id");
    rc = as_sized_take(&p, sizeof p, profile, "the profile of a node", err);
    if (rc < 0)
        return rc;
    if (!p.layers && p.n_layers > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "the array of layers of node %s is NULL", id);
    seconds = as_known_input(p.total_seconds);
    from_layers = isnan(seconds);
    if (!isnan(seconds) && !is_amount(seconds))
        return as_fail(err, ASSAY_ERR_USAGE, "the time of node %s must be 0 s or more", id);
    if (from_layers)
        rc = sum_layers(&seconds, id, &p, err);
    if (rc == ASSAY_OK)
        rc = node_of(d, id, &number, err);
    if (rc < 0)
        return rc;
    d->n_profiles += d->node[number].has_profile ? 0 : 1;
    d->node[number].has_profile = true;
    d->node[number].seconds = seconds;
    d->node[number].from_layers = from_layers && !isnan(seconds);
    return ASSAY_OK;
}

size_t assay_distributed_nodes(const struct assay_distributed *d)
{
    return d ? d->n_profiles : 0;
}

int assay_distributed_add_communication(struct assay_distributed *d,
                                        const struct assay_communication *given,
                                        struct assay_error *err)
{
    struct assay_communication whole, *event = &whole;
    const char *type = "transfer";
    struct as_transfer t;
    struct assay_operation_total *total;
    int rc;

    if (!d || !given)
        return as_fail(err, ASSAY_ERR_USAGE, "the analysis or the transfer is NULL");
    rc = as_sized_take(event, sizeof *event, given, "a transfer", err);
    if (rc < 0)
        return rc;
    if (event->operation_type)
        type = event->operation_type;
    t = (struct as_transfer){.data_size_mb = event->data_size_mb,
                             .duration_ms = event->duration_ms,
                             .start = start_of(event->start_time_seconds),
                             .timestamp = time_or_now(event->timestamp_seconds)};
    if (!event->source || !event->destination)
        return as_fail(err, ASSAY_ERR_USAGE, "a transfer needs a source and a destination");
    if (!is_amount(t.data_size_mb) || !is_amount(t.duration_ms))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "size and duration of the transfer from %s to %s must be 0 or more",
                       event->source, event->destination);
    GROW(d->operation, d->operations.n, d->capacity_operation);
    rc = node_of(d, event->source, &t.source, err);
    if (rc == ASSAY_OK)
        rc = node_of(d, event->destination, &t.destination, err);
    if (rc == ASSAY_OK)
        rc = number_of(d, &d->operations, type, "types of transfer", &t.type, err);
    if (rc == ASSAY_OK)
        rc = newest_add(&d->transfers, &t, err);
    if (rc < 0)
        return rc;
    total = &d->operation[t.type];
    total->type = d->operations.at[t.type];
    total->count++;
    total->total_time_ms += t.duration_ms;
    total->total_data_mb += t.data_size_mb;
    d->transfer_ms += t.duration_ms;
    d->transfer_mb += t.data_size_mb;
    d->bandwidth_sum += as_mib_per_second(t.data_size_mb, t.duration_ms);
    d->node[t.source].communication_ms += t.duration_ms;
    if (t.destination != t.source)
        d->node[t.destination].communication_ms += t.duration_ms;
    return ASSAY_OK;
}

/* The number of a set of nodes, or AS_DISTRIBUTED_NO_SET when there is no room for one more. */
static int set_of(struct assay_distributed *d, const uint32_t *nodes, size_t n, uint32_t *out,
                  struct assay_error *err)
{
    const uint64_t *known = as_hash_map_find(&d->sets, (const char *)nodes, n * sizeof *nodes);
    uint32_t *copy;

    *out = AS_DISTRIBUTED_NO_SET;
    if (known)
        *out = (uint32_t)*known;
    if (known || n == 0 || d->n_sets == MAX_SETS || n > MAX_SET_NODES - d->n_set_nodes)
        return ASSAY_OK;
    copy = as_arena_zero(&d->arena, n, sizeof *copy);
    if (!copy)
        return as_fail_nomem(err);
    memcpy(copy, nodes, n * sizeof *copy);
    GROW(d->set, d->n_sets, d->capacity_sets);
    if (as_hash_map_put(&d->sets, (const char *)copy, n * sizeof *copy, d->n_sets) < 0)
        return as_fail_nomem(err);
    d->set[d->n_sets] = (struct as_node_set){copy, n};
    d->n_set_nodes += n;
    *out = (uint32_t)d->n_sets++;
    return ASSAY_OK;
}

static int number_nodes(struct assay_distributed *d, const struct assay_synchronization *event,
                        uint32_t *nodes, struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < event->n_nodes; i++) {
        if (!event->nodes[i])
            return as_fail(err, ASSAY_ERR_USAGE, "node %zu of a %s has no name", i,
                           event->sync_type);
        rc = node_of(d, event->nodes[i], &nodes[i], err);
    }
    return rc;
}

static void sum_sync(struct assay_distributed *d, const struct as_sync *s, const uint32_t *nodes)
{
    double wait = isnan(s->barrier_wait_ms) ? 0 : s->barrier_wait_ms, n = (double)s->n_nodes;
    struct assay_operation_total *total = &d->sync[s->type];

    total->type = d->syncs.at[s->type];
    total->count++;
    total->total_time_ms += s->duration_ms;
    d->sync_ms += s->duration_ms;
    d->barrier_ms += wait;
    d->n_with_wait += isnan(s->barrier_wait_ms) ? 0 : 1;
    d->sync_node_ms += s->duration_ms * n;
    d->barrier_node_ms += wait * n;
    for (size_t i = 0; i < s->n_nodes; i++) {
        d->node[nodes[i]].synchronization_ms += s->duration_ms;
        d->node[nodes[i]].barrier_wait_ms += wait;
        d->node[nodes[i]].n_with_wait += isnan(s->barrier_wait_ms) ? 0 : 1;
    }
}

int assay_distributed_add_synchronization(struct assay_distributed *d,
                                          const struct assay_synchronization *given,
                                          struct assay_error *err)
{
    struct assay_synchronization whole, *event = &whole;
    struct as_sync s;
    uint32_t *nodes;
    int rc;

    if (!d || !given)
        return as_fail(err, ASSAY_ERR_USAGE, "the analysis or the synchronization is NULL");
    rc = as_sized_take(event, sizeof *event, given, "a synchronization", err);
    if (rc < 0)
        return rc;
    s = (struct as_sync){.n_nodes = event->n_nodes,
                         .duration_ms = event->duration_ms,
                         .barrier_wait_ms = as_known_input(event->barrier_wait_ms),
                         .start = start_of(event->start_time_seconds),
                         .timestamp = time_or_now(event->timestamp_seconds)};
    if (!event->sync_type)
        return as_fail(err, ASSAY_ERR_USAGE, "a synchronization needs a type");
    if (!is_amount(s.duration_ms) || (!isnan(s.barrier_wait_ms) && !is_amount(s.barrier_wait_ms)))
        return as_fail(err, ASSAY_ERR_USAGE, "the times of a %s must be 0 ms or more",
                       event->sync_type);
    if (s.n_nodes > AS_DISTRIBUTED_MAX_NAMES)
        return as_fail(err, ASSAY_ERR_LIMIT, "a %s of %zu nodes; at most %d can take part",
                       event->sync_type, s.n_nodes, AS_DISTRIBUTED_MAX_NAMES);
    if (!event->nodes && s.n_nodes > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "the array of nodes of a %s is NULL",
                       event->sync_type);
    GROW(d->sync, d->syncs.n, d->capacity_sync);
    nodes = as_alloc_zero(s.n_nodes + 1, sizeof *nodes);
    if (!nodes)
        return as_fail_nomem(err);
    rc = number_nodes(d, event, nodes, err);
    if (rc == ASSAY_OK)
        rc = number_of(d, &d->syncs, event->sync_type, "types of synchronization", &s.type, err);
    if (rc == ASSAY_OK)
        rc = set_of(d, nodes, s.n_nodes, &s.set, err);
    if (rc == ASSAY_OK)
        rc = newest_add(&d->synchronizations, &s, err);
    if (rc == ASSAY_OK)
        sum_sync(d, &s, nodes);
    as_free(nodes);
    return rc;
}

/* The number of a node's metric. */
static int pair_of(struct assay_distributed *d, uint32_t node, uint32_t metric, uint32_t *out,
                   struct assay_error *err)
{
    uint32_t key[2] = {node, metric}, *copy;
    const uint64_t *known = as_hash_map_find(&d->pairs, (const char *)key, sizeof key);

    if (known) {
        *out = (uint32_t)*known;
        return ASSAY_OK;
    }
    if (d->n_pairs == AS_DISTRIBUTED_MAX_NAMES)
        return as_fail(err, ASSAY_ERR_LIMIT, "more than %d metrics of nodes were named",
                       AS_DISTRIBUTED_MAX_NAMES);
    GROW(d->pair, d->n_pairs, d->capacity_pairs);
    GROW(d->pair_metric, d->n_pairs, d->capacity_pair_metric);
    copy = as_arena_alloc(&d->arena, sizeof key);
    if (!copy)
        return as_fail_nomem(err);
    memcpy(copy, key, sizeof key);
    if (as_hash_map_put(&d->pairs, (const char *)copy, sizeof key, d->n_pairs) < 0)
        return as_fail_nomem(err);
    d->pair_metric[d->n_pairs] = metric;
    d->pair[d->n_pairs] = (struct assay_metric_total){
        .node = d->nodes.at[node],
        .metric = d->metrics.at[metric],
        .min = (double)INFINITY,
        .max = -(double)INFINITY,
    };
    *out = (uint32_t)d->n_pairs++;
    return ASSAY_OK;
}

static int add_metric(struct assay_distributed *d, uint32_t node,
                      const struct assay_node_metric *metric, double timestamp,
                      struct assay_error *err)
{
    struct as_metric_reading reading = {.value = metric->value, .timestamp = timestamp};
    struct assay_metric_total *total;
    uint32_t number = 0;
    int rc = number_of(d, &d->metrics, metric->name, "metrics", &number, err);

    if (rc == ASSAY_OK)
        rc = pair_of(d, node, number, &reading.pair, err);
    if (rc == ASSAY_OK)
        rc = newest_add(&d->readings, &reading, err);
    if (rc < 0)
        return rc;
    total = &d->pair[reading.pair];
    total->count++;
    total->mean += (metric->value - total->mean) / (double)total->count;
    total->min = fmin(total->min, metric->value);
    total->max = fmax(total->max, metric->value);
    total->last = metric->value;
    total->last_timestamp_seconds = timestamp;
    return ASSAY_OK;
}

int assay_distributed_add_metrics(struct assay_distributed *d, const char *id,
                                  const struct assay_node_metric *metrics, size_t n,
                                  double timestamp, struct assay_error *err)
{
    uint32_t node = 0;
    int rc;

    if (!d || !id || (!metrics && n > 0))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "metrics need an analysis, an array and the id of their node");
    for (size_t i = 0; i < n; i++) {
        if (!metrics[i].name || !isfinite(metrics[i].value))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "metric %zu of node %s needs a name and a finite "
                           "value",
                           i, id);
    }
    timestamp = time_or_now(timestamp);
    rc = node_of(d, id, &node, err);
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++)
        rc = add_metric(d, node, &metrics[i], timestamp, err);
    return rc;
}

/* ---- in short ---- */

int assay_distributed_node(struct assay_distributed *d, const char *id, double seconds)
{
    const struct assay_node_profile profile = {.size = sizeof profile, .total_seconds = seconds};

    return assay_distributed_add_node(d, id, &profile, NULL);
}

int assay_distributed_transfer(struct assay_distributed *d, const char *from, const char *to,
                               const char *operation, uint64_t bytes, double seconds)
{
    const struct assay_communication event = {.size = sizeof event,
                                              .source = from,
                                              .destination = to,
                                              .operation_type = operation,
                                              .data_size_mb = (double)bytes / AS_MIB,
                                              .duration_ms = seconds * 1e3};

    return assay_distributed_add_communication(d, &event, NULL);
}

int assay_distributed_synchronize(struct assay_distributed *d, const char *type,
                                  const char *const *nodes, size_t n_nodes, double seconds,
                                  double wait_seconds)
{
    const struct assay_synchronization event = {.size = sizeof event,
                                                .nodes = nodes,
                                                .n_nodes = n_nodes,
                                                .sync_type = type,
                                                .duration_ms = seconds * 1e3,
                                                .barrier_wait_ms = wait_seconds * 1e3};

    return assay_distributed_add_synchronization(d, &event, NULL);
}

int assay_distributed_metric(struct assay_distributed *d, const char *id, const char *metric,
                             double value)
{
    return assay_distributed_add_metrics(
        d, id, &(struct assay_node_metric){.name = metric, .value = value}, 1, AS_UNKNOWN, NULL);
}
