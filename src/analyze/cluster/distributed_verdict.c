/* analyze/cluster/distributed_verdict.c - what nodes, transfers and synchronizations say of a
 * training. Documented figures as they are documented; beside them those by node, overlaps counted
 * once. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyze/cluster/distributed_internal.h"
#include "base/finding.h"
#include "base/units.h"

#define BITS_PER_BYTE 8
#define MAX_FINDINGS  4
#define MAX_DETAILS   400

/* ---- nodes ---- */

static size_t fill_extremes(struct assay_load_balance *load)
{
    size_t n = 0;

    for (size_t i = 0; i < load->n_nodes; i++) {
        const struct assay_node_load *node = &load->nodes[i];

        if (isnan(node->seconds)) {
            load->n_without_time++;
            continue;
        }
        if (n == 0 || node->seconds > load->max_seconds) {
            load->max_seconds = node->seconds;
            load->slowest_node = node->id;
        }
        if (n == 0 || node->seconds < load->min_seconds) {
            load->min_seconds = node->seconds;
            load->fastest_node = node->id;
        }
        load->mean_seconds += node->seconds;
        n++;
    }
    load->mean_seconds /= n ? (double)n : 1;
    return n;
}

static void fill_balance(struct assay_load_balance *load, struct assay_node_load *nodes,
                         double balanced_below)
{
    size_t n = fill_extremes(load);
    double square = 0, no = AS_UNKNOWN;

    if (n == 0) {
        load->error = load->n_nodes ? "no node profile has a time" : "no node profiles were added";
        load->mean_seconds = load->std_seconds = load->max_seconds = load->min_seconds = no;
        load->imbalance_factor = load->max_over_mean = no;
        return;
    }
    for (size_t i = 0; i < load->n_nodes; i++) {
        double off = nodes[i].seconds - load->mean_seconds;

        square += isnan(off) ? 0 : off * off / (double)n;
        nodes[i].over_mean = load->mean_seconds > 0 ? off / load->mean_seconds : no;
    }
    load->std_seconds = sqrt(square);
    if (load->mean_seconds > 0) {
        load->imbalance_factor = (load->max_seconds - load->min_seconds) / load->mean_seconds;
        load->max_over_mean = load->max_seconds / load->mean_seconds - 1;
    }
    load->is_balanced = load->imbalance_factor < balanced_below;
}

/* Node by number to the one in the answer; those without a profile are not in it. */
static int fill_nodes(struct assay_distributed *d, struct assay_distributed_result *r,
                      struct assay_error *err)
{
    struct assay_node_load *nodes = as_arena_zero(&d->answers, d->n_profiles + 1, sizeof *nodes);
    double *communication = as_arena_zero(&d->answers, d->nodes.n + 1, sizeof *communication);
    double *sync = as_arena_zero(&d->answers, d->nodes.n + 1, sizeof *sync);
    int rc;

    if (!nodes || !communication || !sync)
        return as_fail_nomem(err);
    rc = as_overlap_transfers(d, communication, &r->communication.n_placed, err);
    if (rc == ASSAY_OK)
        rc = as_overlap_syncs(d, sync, &r->synchronization.n_placed, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < d->nodes.n; i++) {
        if (!d->node[i].has_profile)
            continue;
        nodes[r->load.n_nodes++] = (struct assay_node_load){
            .id = d->nodes.at[i],
            .seconds = d->node[i].seconds,
            .from_layers = d->node[i].from_layers,
            .over_mean = AS_UNKNOWN,
            .communication_ms = fmax(d->node[i].communication_ms + communication[i], 0),
            .synchronization_ms = fmax(d->node[i].synchronization_ms + sync[i], 0),
            .barrier_wait_ms = d->node[i].n_with_wait ? d->node[i].barrier_wait_ms : AS_UNKNOWN,
        };
    }
    r->load.nodes = nodes;
    fill_balance(&r->load, nodes, d->options.balanced_below);
    return ASSAY_OK;
}

/* The metric of the slowest node that is furthest, for its size, from the other nodes' mean. */
static int find_telling(struct assay_distributed *d, struct assay_load_balance *load,
                        struct assay_error *err)
{
    struct others {
        double sum;
        size_t n;
    } *others = as_arena_zero(&d->answers, d->metrics.n + 1, sizeof *others);
    double furthest = 0;

    if (!others)
        return as_fail_nomem(err);
    for (size_t i = 0; load->slowest_node && i < d->n_pairs; i++) {
        if (d->pair[i].node == load->slowest_node)
            continue;
        others[d->pair_metric[i]].sum += d->pair[i].mean;
        others[d->pair_metric[i]].n++;
    }
    for (size_t i = 0; load->slowest_node && i < d->n_pairs; i++) {
        const struct others *o = &others[d->pair_metric[i]];
        double mean, off;

        if (d->pair[i].node != load->slowest_node || o->n == 0)
            continue;
        mean = o->sum / (double)o->n;
        off = fabs(d->pair[i].mean - mean) / fmax(fabs(d->pair[i].mean), fabs(mean));
        if (off > furthest) {
            furthest = off;
            load->telling_metric = d->pair[i].metric;
            load->telling_value = d->pair[i].mean;
            load->telling_others = mean;
        }
    }
    return ASSAY_OK;
}

/* ---- talking and waiting ---- */

static void fill_types(struct assay_operation_total *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        types[i].mib_per_second =
            types[i].total_time_ms > 0
                ? as_mib_per_second(types[i].total_data_mb, types[i].total_time_ms)
                : AS_UNKNOWN;
}

static double percent_of(double part_ms, double whole_s)
{
    return whole_s > 0 ? part_ms / 1000 / whole_s * 100 : AS_UNKNOWN;
}

/* Seconds of all nodes whose time is known. */
static double node_seconds(const struct assay_load_balance *load)
{
    return load->error ? 0 : load->mean_seconds * (double)(load->n_nodes - load->n_without_time);
}

static int fill_communication(struct assay_distributed *d, struct assay_distributed_result *r,
                              struct assay_error *err)
{
    struct assay_communication_overhead *c = &r->communication;
    double of_nodes = 0, all = node_seconds(&r->load), no = AS_UNKNOWN;
    struct as_busy busy;
    int rc = as_overlap_any(d, &busy, err);

    if (rc < 0)
        return rc;
    c->busy_time_ms = c->n_placed ? busy.union_ms : no;
    c->overlap_ms = c->n_placed ? fmax(busy.sum_ms - busy.union_ms, 0) : no;
    for (size_t i = 0; i < r->load.n_nodes; i++)
        of_nodes += isnan(r->load.nodes[i].seconds) ? 0 : r->load.nodes[i].communication_ms;
    fill_types(d->operation, d->operations.n);
    c->total_communication_time_ms = d->transfer_ms;
    c->total_data_transferred_mb = d->transfer_mb;
    c->event_count = d->transfers.n;
    c->mean_bandwidth_mib_per_second =
        d->transfers.n ? d->bandwidth_sum / (double)d->transfers.n : no;
    c->by_operation_type = d->operation;
    c->n_operation_types = d->operations.n;
    c->mib_per_second = d->transfer_ms > 0 ? as_mib_per_second(d->transfer_mb, d->transfer_ms) : no;
    c->bytes_per_second = c->mib_per_second * AS_MIB;
    c->megabits_per_second = c->bytes_per_second * BITS_PER_BYTE / 1e6;
    c->percent = percent_of(d->transfer_ms, all);
    c->node_percent = percent_of(of_nodes, all);
    c->n_kept = as_newest_count(&d->transfers);
    return ASSAY_OK;
}

static void fill_synchronization(struct assay_distributed *d, struct assay_distributed_result *r)
{
    struct assay_synchronization_overhead *s = &r->synchronization;
    double of_nodes = 0, waiting = 0, all = node_seconds(&r->load);

    for (size_t i = 0; i < r->load.n_nodes; i++) {
        const struct assay_node_load *node = &r->load.nodes[i];

        of_nodes += isnan(node->seconds) ? 0 : node->synchronization_ms;
        waiting += isnan(node->seconds) || isnan(node->barrier_wait_ms) ? 0 : node->barrier_wait_ms;
    }
    fill_types(d->sync, d->syncs.n);
    s->total_sync_time_ms = d->sync_ms;
    s->total_barrier_wait_ms = d->barrier_ms;
    s->event_count = d->synchronizations.n;
    s->n_with_wait = d->n_with_wait;
    s->by_sync_type = d->sync;
    s->n_sync_types = d->syncs.n;
    s->node_time_ms = d->sync_node_ms;
    s->barrier_node_time_ms = d->n_with_wait ? d->barrier_node_ms : AS_UNKNOWN;
    s->percent = percent_of(d->sync_ms, all);
    s->node_percent = percent_of(of_nodes, all);
    s->barrier_node_percent = d->n_with_wait ? percent_of(waiting, all) : AS_UNKNOWN;
    s->n_kept = as_newest_count(&d->synchronizations);
}

/* ---- the verdict ---- */

struct limits {
    double above, high_above;
};

AS_PRINTF(2, 3) static const char *say(struct as_arena *arena, const char *fmt, ...)
{
    char text[MAX_DETAILS];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    n = n < 0 ? 0 : n;
    return as_arena_text(arena, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* One that the documented rules find when `value` is above its limit; details are said by the
 * caller. */
static struct assay_distributed_bottleneck *add_bottleneck(struct assay_distributed_bottleneck *at,
                                                           size_t *n, const char *type,
                                                           double value, struct limits limits)
{
    if (!(value > limits.above))
        return NULL;
    at += (*n)++;
    *at = (struct assay_distributed_bottleneck){
        .type = type, .severity = value > limits.high_above ? "high" : "medium"};
    return at;
}

/* The same by node time; `gain` is the part of the time of the nodes that it costs. */
static struct assay_finding *add_finding(struct assay_finding *at, size_t *n, const char *rule,
                                         double value, struct limits limits, double gain)
{
    if (!(value > limits.above))
        return NULL;
    at += (*n)++;
    gain = gain < 1 ? gain : 1;
    *at = (struct assay_finding){
        .rule = rule,
        .severity = as_severity_of_gain(gain, 0),
        .expected_gain = gain,
        .confidence = value > limits.high_above ? ASSAY_CONFIDENCE_HIGH : ASSAY_CONFIDENCE_MEDIUM,
    };
    return at;
}

static const char advice_balance[] = "Give node %s less work, or the others more";
static const char advice_talk[] = "Communicate less often or less at once, or compute more in "
                                  "each step";
static const char advice_sync[] = "Use asynchronous updates or gather gradients over several steps";
static const char advice_wait[] = "Nodes wait for the last to arrive: even out their work, or "
                                  "synchronize less often";

static bool fill_documented(struct assay_distributed *d, struct assay_distributed_result *r,
                            struct assay_distributed_bottleneck *at)
{
    const struct assay_distributed_options *o = &d->options;
    struct limits imbalance = {o->imbalance_above, o->imbalance_high_above};
    struct limits talk = {o->communication_percent, o->communication_high_percent};
    struct limits sync = {o->synchronization_percent, o->synchronization_high_percent};
    struct assay_distributed_bottleneck *f;

    f = add_bottleneck(at, &r->n_bottlenecks, "load_imbalance", r->load.imbalance_factor,
                       imbalance);
    if (f) {
        f->details = say(&d->answers, "Load imbalance factor: %.2f", r->load.imbalance_factor);
        f->recommendation = say(&d->answers, advice_balance, r->load.slowest_node);
    }
    f = add_bottleneck(at, &r->n_bottlenecks, "communication_overhead", r->communication.percent,
                       talk);
    if (f) {
        f->details = say(&d->answers, "Communication takes %.1f%% of the total time",
                         r->communication.percent);
        f->recommendation = advice_talk;
    }
    f = add_bottleneck(at, &r->n_bottlenecks, "synchronization_overhead",
                       r->synchronization.percent, sync);
    if (f) {
        f->details = say(&d->answers, "Synchronization takes %.1f%% of the total time",
                         r->synchronization.percent);
        f->recommendation = advice_sync;
    }
    r->bottlenecks = at;
    for (size_t i = 0; i < r->n_bottlenecks; i++) {
        if (!at[i].details || !at[i].recommendation)
            return false;
    }
    return true;
}

static const char *say_balance(struct assay_distributed *d, const struct assay_load_balance *load)
{
    if (!load->telling_metric)
        return say(&d->answers, "Node %.100s takes %.1f%% more than the mean of %zu nodes",
                   load->slowest_node, load->max_over_mean * 100,
                   load->n_nodes - load->n_without_time);
    return say(&d->answers,
               "Node %.100s takes %.1f%% more than the mean of %zu nodes; its %.100s is %.6g, "
               "that of the others %.6g",
               load->slowest_node, load->max_over_mean * 100, load->n_nodes - load->n_without_time,
               load->telling_metric, load->telling_value, load->telling_others);
}

static bool fill_findings(struct assay_distributed *d, struct assay_distributed_result *r,
                          struct assay_finding *at)
{
    const struct assay_distributed_options *o = &d->options;
    struct limits imbalance = {o->imbalance_above, o->imbalance_high_above};
    struct limits talk = {o->communication_percent, o->communication_high_percent};
    struct limits sync = {o->synchronization_percent, o->synchronization_high_percent};
    struct limits wait = {o->barrier_wait_percent, o->barrier_wait_high_percent};
    struct assay_finding *f;

    f = add_finding(at, &r->n_findings, "load_imbalance", r->load.max_over_mean, imbalance,
                    r->load.max_over_mean / (1 + r->load.max_over_mean));
    if (f) {
        f->target = r->load.slowest_node;
        f->finding = say_balance(d, &r->load);
        f->action = say(&d->answers, advice_balance, r->load.slowest_node);
    }
    f = add_finding(at, &r->n_findings, "communication_overhead", r->communication.node_percent,
                    talk, r->communication.node_percent / 100);
    if (f) {
        f->finding = say(&d->answers, "Nodes are in transfers for %.1f%% of their time",
                         r->communication.node_percent);
        f->action = advice_talk;
    }
    f = add_finding(at, &r->n_findings, "synchronization_overhead", r->synchronization.node_percent,
                    sync, r->synchronization.node_percent / 100);
    if (f) {
        f->finding = say(&d->answers, "Nodes are in synchronizations for %.1f%% of their time",
                         r->synchronization.node_percent);
        f->action = advice_sync;
    }
    f = add_finding(at, &r->n_findings, "barrier_wait", r->synchronization.barrier_node_percent,
                    wait, r->synchronization.barrier_node_percent / 100);
    if (f) {
        f->finding = say(&d->answers, "Nodes wait at barriers for %.1f%% of their time",
                         r->synchronization.barrier_node_percent);
        f->action = advice_wait;
    }
    as_findings_rank(at, r->n_findings);
    r->findings = at;
    for (size_t i = 0; i < r->n_findings; i++) {
        if (!at[i].finding || !at[i].action)
            return false;
    }
    return true;
}

int assay_distributed_analyze(struct assay_distributed *d,
                              const struct assay_distributed_result **out, struct assay_error *err)
{
    struct assay_distributed_result *r;
    struct assay_distributed_bottleneck *bottlenecks;
    struct assay_finding *findings;
    int rc;

    if (out)
        *out = NULL;
    if (!d || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "the analysis or the pointer for its result is NULL");
    r = &d->result;
    as_arena_fini(&d->answers);
    *r = (struct assay_distributed_result){.size = sizeof(struct assay_distributed_result),
                                           .total_nodes = d->n_profiles};
    findings = as_arena_zero(&d->answers, MAX_FINDINGS, sizeof *findings);
    bottlenecks = as_arena_zero(&d->answers, MAX_FINDINGS, sizeof *bottlenecks);
    if (!findings || !bottlenecks)
        return as_fail_nomem(err);
    rc = fill_nodes(d, r, err);
    if (rc < 0)
        return rc;
    rc = find_telling(d, &r->load, err);
    if (rc == ASSAY_OK)
        rc = fill_communication(d, r, err);
    if (rc < 0)
        return rc;
    fill_synchronization(d, r);
    if (!fill_documented(d, r, bottlenecks) || !fill_findings(d, r, findings))
        return as_fail_nomem(err);
    r->metrics = d->pair;
    r->n_metrics = d->n_pairs;
    *out = r;
    return ASSAY_OK;
}
