/* tests/unit/test_distributed.c - balance, communication and synchronization of a training.
 * Means and deviations: numpy; intervals were drawn by hand. */
#include "unit.h"

#include <assay/distributed.h>
#include <stdio.h>

#include "base/alloc.h"
#include "report/findings/findings_report.h"

static struct assay_distributed *fresh(void)
{
    struct assay_distributed *d = NULL;

    assert_int_equal(assay_distributed_new(&d, NULL, NULL), 0);
    return d;
}

static void near(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)));
}

static void node(struct assay_distributed *d, const char *id, double seconds)
{
    struct assay_node_profile profile = {.size = sizeof profile, .total_seconds = seconds};

    assert_int_equal(assay_distributed_add_node(d, id, &profile, NULL), 0);
}

/* Ten, eleven, nine and a half and thirteen seconds. */
static struct assay_distributed *four_nodes(void)
{
    struct assay_distributed *d = fresh();

    node(d, "node0", 10);
    node(d, "node1", 11);
    node(d, "node2", 9.5);
    node(d, "node3", 13);
    return d;
}

static void transfer(struct assay_distributed *d, const char *from, const char *to, double mb,
                     double ms, double start)
{
    struct assay_communication event = {.size = sizeof event,
                                        .source = from,
                                        .destination = to,
                                        .operation_type = ms > 3000 ? "parameter_sync" : NULL,
                                        .data_size_mb = mb,
                                        .duration_ms = ms,
                                        .start_time_seconds = start,
                                        .timestamp_seconds = 5};

    assert_int_equal(assay_distributed_add_communication(d, &event, NULL), 0);
}

static void synchronize(struct assay_distributed *d, size_t n, double ms, double wait_ms,
                        double start)
{
    static const char *const nodes[] = {"node0", "node1", "node2", "node3"};
    struct assay_synchronization event = {.size = sizeof event,
                                          .nodes = nodes,
                                          .n_nodes = n,
                                          .sync_type = "all_reduce",
                                          .duration_ms = ms,
                                          .barrier_wait_ms = wait_ms,
                                          .start_time_seconds = start,
                                          .timestamp_seconds = 6};

    assert_int_equal(assay_distributed_add_synchronization(d, &event, NULL), 0);
}

static const struct assay_distributed_result *analyzed(struct assay_distributed *d)
{
    const struct assay_distributed_result *r = NULL;

    assert_int_equal(assay_distributed_analyze(d, &r, NULL), 0);
    return r;
}

static void balance_is_as_documented(void **state)
{
    struct assay_distributed *d = four_nodes();
    const struct assay_load_balance *load = &analyzed(d)->load;

    (void)state;
    assert_null(load->error);
    assert_int_equal(assay_distributed_nodes(d), 4);
    assert_int_equal(load->n_nodes, 4);
    near(load->mean_seconds, 10.875);
    near(load->std_seconds, 1.340475661845451);
    near(load->imbalance_factor, 0.3218390804597701);
    near(load->max_over_mean, 0.1954022988505748);
    assert_true(load->max_seconds == 13 && load->min_seconds == 9.5);
    assert_string_equal(load->slowest_node, "node3");
    assert_string_equal(load->fastest_node, "node2");
    assert_false(load->is_balanced);
    near(load->nodes[3].over_mean, 0.1954022988505748);
    assay_distributed_free(d);
    assay_distributed_free(NULL);
}

static void a_factor_below_a_tenth_is_balanced(void **state)
{
    struct assay_distributed *d = fresh();

    (void)state;
    node(d, "a", 10);
    node(d, "b", 10.5);
    assert_true(analyzed(d)->load.is_balanced); /* 0.0488 */
    node(d, "b", 11.1);                         /* told again: 0.1043 */
    assert_false(analyzed(d)->load.is_balanced);
    assert_int_equal(assay_distributed_nodes(d), 2);
    assay_distributed_reset(d);
    node(d, "a", ASSAY_MEASURED_ZERO);
    node(d, "b", ASSAY_MEASURED_ZERO);
    assert_true(analyzed(d)->load.imbalance_factor == 0 && analyzed(d)->load.is_balanced);
    assay_distributed_free(d);
}

static void layers_stand_in_for_a_missing_total(void **state)
{
    static const struct assay_node_layer layers[] = {{"conv", 1.5}, {"fc", 0.25}};
    struct assay_node_profile profile = {sizeof profile, UNIT_NAN, layers, 2};
    struct assay_node_profile nothing = {sizeof nothing, UNIT_NAN, NULL, 0};
    struct assay_distributed *d = fresh();
    const struct assay_load_balance *load;

    (void)state;
    assert_string_equal(analyzed(d)->load.error, "no node profiles were added");
    assert_int_equal(assay_distributed_add_node(d, "none", &nothing, NULL), 0);
    assert_string_equal(analyzed(d)->load.error, "no node profile has a time");
    assert_true(isnan(analyzed(d)->communication.percent));
    assert_int_equal(assay_distributed_add_node(d, "a", &profile, NULL), 0);
    load = &analyzed(d)->load;
    assert_null(load->error);
    assert_int_equal(load->n_without_time, 1);
    assert_true(load->mean_seconds == 1.75 && load->nodes[1].from_layers);
    assert_true(isnan(load->nodes[0].seconds));
    assay_distributed_free(d);
}

/* 50, 50, 6.25 and 0 MiB/s: their mean is 26.5625; all data in all time 26.14. */
static void communication_is_summed_by_type(void **state)
{
    struct assay_distributed *d = four_nodes();
    struct assay_communication_event event;
    const struct assay_communication_overhead *c;

    (void)state;
    transfer(d, "node0", "node1", 100, 2000, UNIT_NAN);
    transfer(d, "node1", "node2", 50, 1000, UNIT_NAN);
    transfer(d, "node2", "elsewhere", 25, 4000, UNIT_NAN);
    transfer(d, "node3", "node3", 8, 0, UNIT_NAN);
    c = &analyzed(d)->communication;
    near(c->total_communication_time_ms, 7000);
    near(c->total_data_transferred_mb, 183);
    assert_int_equal(c->event_count, 4);
    near(c->mean_bandwidth_mib_per_second, 26.5625);
    near(c->mib_per_second, 26.142857142857142);
    near(c->bytes_per_second, 183 * 1048576.0 / 7);
    near(c->megabits_per_second, 183 * 1048576.0 * 8 / 7e6);
    near(c->percent, 16.091954022988507);
    /* 2, 3 and 5 s on nodes 0, 1 and 2; what is elsewhere has no time to compare with. */
    near(c->node_percent, 10 / 43.5 * 100);
    assert_true(isnan(c->busy_time_ms) && c->n_placed == 0);
    assert_int_equal(c->n_operation_types, 2);
    assert_string_equal(c->by_operation_type[0].type, "transfer");
    assert_true(c->by_operation_type[0].count == 3 &&
                c->by_operation_type[0].total_time_ms == 3000);
    assert_true(c->by_operation_type[0].total_data_mb == 158);
    assert_string_equal(c->by_operation_type[1].type, "parameter_sync");
    assert_true(assay_distributed_communication_at(d, 2, &event));
    assert_string_equal(event.destination, "elsewhere");
    assert_true(event.bandwidth_mib_per_second == 6.25 && event.bytes_per_second == 6553600);
    assert_true(assay_distributed_communication_at(d, 3, &event));
    assert_true(event.bandwidth_mib_per_second == 0 && isnan(event.bytes_per_second));
    assert_false(assay_distributed_communication_at(d, 4, &event));
    assay_distributed_free(d);
}

/*         0    1    2    3    4    5    6 seconds after 1.7e9
 *   0>1   [=========]
 *   0>2        [=========]
 *   1>2                            [====]      busy 3 + 1 of 5 s
 * node0: 3 (of 4), node1: 2 + 1, node2: 2 + 1 */
static void overlapping_transfers_are_counted_once(void **state)
{
    struct assay_distributed *d = four_nodes();
    const struct assay_distributed_result *r;

    (void)state;
    transfer(d, "node1", "node2", 1, 1000, 1.7e9 + 5);
    transfer(d, "node0", "node2", 1, 2000, 1.7e9 + 1);
    transfer(d, "node0", "node1", 1, 2000, 1.7e9);
    r = analyzed(d);
    assert_int_equal(r->communication.n_placed, 3);
    near(r->communication.total_communication_time_ms, 5000);
    near(r->communication.busy_time_ms, 4000);
    near(r->communication.overlap_ms, 1000);
    near(r->load.nodes[0].communication_ms, 3000);
    near(r->load.nodes[1].communication_ms, 3000);
    near(r->load.nodes[2].communication_ms, 3000);
    near(r->load.nodes[3].communication_ms, 0);
    near(r->communication.node_percent, 9 / 43.5 * 100);
    /* One without a start comes on top. */
    transfer(d, "node0", "node3", 1, 500, UNIT_NAN);
    r = analyzed(d);
    near(r->load.nodes[0].communication_ms, 3500);
    near(r->load.nodes[3].communication_ms, 500);
    near(r->communication.busy_time_ms, 4000);
    assay_distributed_free(d);
}

/* Random intervals against a line of a thousand cells. */
static void the_union_agrees_with_counting_cells(void **state)
{
    struct assay_distributed *d = fresh();
    static bool cell[1200];
    unsigned long random = 12345;
    double busy = 0;

    (void)state;
    for (int i = 0; i < 60; i++) {
        unsigned from, n;

        random = (random * 1103515245 + 12345) & 0x7fffffff;
        from = (unsigned)(random >> 8) % 1000;
        random = (random * 1103515245 + 12345) & 0x7fffffff;
        n = (unsigned)(random >> 8) % 30;
        for (unsigned k = from; k < from + n; k++)
            cell[k] = true;
        transfer(d, "a", "b", 1, n, 100 + from / 1000.0);
    }
    for (size_t k = 0; k < 1200; k++)
        busy += cell[k];
    assert_true(fabs(analyzed(d)->communication.busy_time_ms - busy) < 1e-6);
    assay_distributed_free(d);
}

static void synchronization_counts_every_participant(void **state)
{
    struct assay_distributed *d = four_nodes();
    struct assay_synchronization_event event;
    const struct assay_synchronization_overhead *s;

    (void)state;
    synchronize(d, 4, 500, 200, UNIT_NAN);
    synchronize(d, 2, 300, UNIT_NAN, UNIT_NAN);
    s = &analyzed(d)->synchronization;
    near(s->total_sync_time_ms, 800);
    near(s->total_barrier_wait_ms, 200);
    assert_true(s->event_count == 2 && s->n_with_wait == 1 && s->n_sync_types == 1);
    assert_string_equal(s->by_sync_type[0].type, "all_reduce");
    assert_true(s->by_sync_type[0].count == 2 && s->by_sync_type[0].total_time_ms == 800);
    near(s->node_time_ms, 2600);
    near(s->barrier_node_time_ms, 800);
    near(s->percent, 0.8 / 43.5 * 100);
    near(s->node_percent, 2.6 / 43.5 * 100);
    near(s->barrier_node_percent, 0.8 / 43.5 * 100);
    assert_true(assay_distributed_synchronization_at(d, 1, &event));
    assert_true(event.n_nodes == 2 && isnan(event.barrier_wait_ms));
    assert_string_equal(assay_distributed_synchronization_node(d, 1, 1), "node1");
    assert_null(assay_distributed_synchronization_node(d, 1, 2));
    assert_false(assay_distributed_synchronization_at(d, 2, &event));
    assay_distributed_free(d);
}

/* A program that leaves fields out by a designated initializer must not get wrong answers. */
static void fields_left_out_are_unknown(void **state)
{
    const struct assay_node_layer layers[] = {{"conv", 1}, {"dense", 2}};
    const struct assay_node_profile profile = {
        .size = sizeof profile, .layers = layers, .n_layers = 2};
    const char *const names[] = {"a", "b"};
    const struct assay_synchronization sync = {.size = sizeof sync,
                                               .nodes = names,
                                               .n_nodes = 2,
                                               .sync_type = "barrier",
                                               .duration_ms = 3};
    struct assay_communication transfer = {.size = sizeof transfer,
                                           .source = "a",
                                           .destination = "b",
                                           .data_size_mb = 1,
                                           .duration_ms = 100};
    struct assay_synchronization_event seen;
    const struct assay_distributed_result *r;
    struct assay_distributed *d = fresh();

    (void)state;
    assert_int_equal(assay_distributed_add_node(d, "a", &profile, NULL), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(assay_distributed_add_communication(d, &transfer, NULL), 0);
    assert_int_equal(assay_distributed_add_synchronization(d, &sync, NULL), 0);
    r = analyzed(d);
    assert_true(r->load.nodes[0].seconds == 3 && r->load.nodes[0].from_layers);
    assert_int_equal(r->communication.n_placed, 0);
    assert_true(isnan(r->communication.busy_time_ms));
    assert_true(assay_distributed_synchronization_at(d, 0, &seen));
    assert_true(isnan(seen.barrier_wait_ms) && isnan(seen.start_time_seconds) &&
                seen.timestamp_seconds > 1e9);
    assay_distributed_free(d);
}

static void a_wait_that_was_not_told_is_not_known(void **state)
{
    struct assay_distributed *d = four_nodes();
    const struct assay_distributed_result *r;

    (void)state;
    synchronize(d, 2, 300, UNIT_NAN, UNIT_NAN);
    r = analyzed(d);
    for (size_t i = 0; i < r->load.n_nodes; i++)
        assert_true(isnan(r->load.nodes[i].barrier_wait_ms));
    assert_true(isnan(r->synchronization.barrier_node_time_ms));
    assert_true(isnan(r->synchronization.barrier_node_percent));
    synchronize(d, 1, 300, ASSAY_MEASURED_ZERO, UNIT_NAN);
    r = analyzed(d);
    assert_true(r->load.nodes[0].barrier_wait_ms == 0);
    assert_true(isnan(r->load.nodes[1].barrier_wait_ms));
    assert_true(r->synchronization.barrier_node_time_ms == 0);
    assay_distributed_free(d);
}

static void documented_limits(double slow, double talk_ms, double sync_ms, const char *expected)
{
    struct assay_distributed *d = fresh();
    const struct assay_distributed_result *r;
    char got[200] = "";
    size_t n = 0;

    node(d, "a", 10);
    node(d, "b", slow);
    transfer(d, "a", "b", 1, talk_ms, UNIT_NAN);
    synchronize(d, 1, sync_ms, UNIT_NAN, UNIT_NAN);
    r = analyzed(d);
    for (size_t i = 0; i < r->n_bottlenecks; i++)
        n += (size_t)snprintf(got + n, sizeof got - n, "%s:%s ", r->bottlenecks[i].type,
                              r->bottlenecks[i].severity);
    assert_string_equal(got, expected);
    assay_distributed_free(d);
}

/* Two nodes of ten seconds: a fifth of their time is four seconds. */
static void bottlenecks_follow_the_documented_limits(void **state)
{
    (void)state;
    documented_limits(10, 4000, 3000, "");
    documented_limits(10, 4001, 3000, "communication_overhead:medium ");
    documented_limits(10, 8000, 3001,
                      "communication_overhead:medium synchronization_overhead:medium ");
    documented_limits(10, 8001, 6000,
                      "communication_overhead:high synchronization_overhead:medium ");
    documented_limits(10, 0, 6001, "synchronization_overhead:high ");
    documented_limits(12.2, 0, 0, "");                       /* 0.198 */
    documented_limits(12.3, 0, 0, "load_imbalance:medium "); /* 0.206 */
    documented_limits(16.6, 0, 0, "load_imbalance:medium "); /* 0.496 */
    documented_limits(16.7, 0, 0, "load_imbalance:high ");   /* 0.502 */
}

static void the_verdict_by_node_sees_what_the_documented_one_does_not(void **state)
{
    struct assay_distributed *d = fresh();
    static const struct assay_node_metric cool[] = {{"temperature", 60}, {"gpu", 90}};
    static const struct assay_node_metric hot[] = {{"temperature", 95}, {"gpu", 88}};
    const struct assay_distributed_result *r;
    struct assay_metric_event event;

    (void)state;
    node(d, "node0", 10);
    node(d, "node1", 10);
    node(d, "node2", 10);
    node(d, "node3", 18);
    for (int i = 0; i < 3; i++) {
        char id[16];

        snprintf(id, sizeof id, "node%d", i);
        assert_int_equal(assay_distributed_add_metrics(d, id, cool, 2, i, NULL), 0);
    }
    assert_int_equal(assay_distributed_add_metrics(d, "node3", hot, 2, 9, NULL), 0);
    /* 2.5 s in which all four wait: 5 % as documented, 21 % of their 48 s. */
    synchronize(d, 4, 2500, 2400, UNIT_NAN);
    r = analyzed(d);
    assert_int_equal(r->n_bottlenecks, 1);
    assert_string_equal(r->bottlenecks[0].type, "load_imbalance");
    assert_string_equal(r->bottlenecks[0].recommendation,
                        "Give node node3 less work, or the others more");
    assert_int_equal(r->n_findings, 3);
    assert_string_equal(r->findings[0].rule, "load_imbalance");
    assert_string_equal(r->findings[0].target, "node3");
    near(r->findings[0].expected_gain, 0.5 / 1.5);
    near(r->findings[0].severity, 100 * 0.5 / 1.5);
    assert_int_equal(r->findings[0].confidence, ASSAY_CONFIDENCE_MEDIUM);
    assert_string_equal(r->findings[0].finding,
                        "Node node3 takes 50.0% more than the mean of 4 nodes; its temperature is "
                        "95, that of the others 60");
    assert_string_equal(r->findings[1].rule, "synchronization_overhead");
    near(r->findings[1].expected_gain, 10 / 48.0);
    assert_string_equal(r->findings[2].rule, "barrier_wait");
    assert_int_equal(r->findings[2].confidence, ASSAY_CONFIDENCE_MEDIUM);
    near(r->findings[2].severity, 9.6 / 48 * 100);
    assert_int_equal(r->n_metrics, 8);
    assert_true(r->metrics[6].count == 1 && r->metrics[6].last == 95);
    assert_true(assay_distributed_metric_at(d, 7, &event));
    assert_string_equal(event.metric, "gpu");
    assert_true(event.value == 88 && event.timestamp_seconds == 9);
    assert_false(assay_distributed_metric_at(d, 8, &event));
    assay_distributed_free(d);
}

static void only_the_newest_are_kept_but_all_are_summed(void **state)
{
    struct assay_distributed_options o = {.size = sizeof(struct assay_distributed_options)};
    struct assay_distributed *d = NULL;
    struct assay_communication_event event;
    const struct assay_distributed_result *r;

    (void)state;
    o.max_events = 100;
    assert_int_equal(assay_distributed_new(&d, &o, NULL), 0);
    node(d, "a", 1000);
    for (int i = 0; i < 1000; i++) {
        transfer(d, "a", "b", i, 10, 100 + i);
        synchronize(d, 1, 1, 1, UNIT_NAN);
    }
    r = analyzed(d);
    assert_true(r->communication.event_count == 1000 && r->communication.n_kept == 100);
    near(r->communication.total_data_transferred_mb, 499500);
    near(r->communication.total_communication_time_ms, 10000);
    near(r->communication.busy_time_ms, 1000);
    assert_true(fabs(r->load.nodes[0].communication_ms - 10000) < 1e-6);
    assert_true(r->synchronization.event_count == 1000 && r->synchronization.n_kept == 100);
    assert_true(assay_distributed_communication_at(d, 0, &event) && event.data_size_mb == 900);
    assert_true(assay_distributed_communication_at(d, 99, &event) && event.data_size_mb == 999);
    assay_distributed_reset(d);
    r = analyzed(d);
    assert_true(r->communication.event_count == 0 && r->total_nodes == 0);
    assert_int_equal(assay_distributed_nodes(d), 0);
    assay_distributed_free(d);
}

static void wrong_use_is_refused(void **state)
{
    struct assay_distributed_options o = {.size = sizeof(struct assay_distributed_options)};
    struct assay_node_profile profile = {.size = sizeof profile, .total_seconds = -1};
    struct assay_communication c = {.size = sizeof c, .source = "a", .destination = "b"};
    struct assay_synchronization s = {.size = sizeof s};
    struct assay_node_metric m = {"x", UNIT_INFINITY};
    struct assay_distributed *d = NULL;
    struct assay_error err;

    (void)state;
    o.imbalance_above = UNIT_NAN;
    assert_int_equal(assay_distributed_new(&d, &o, &err), ASSAY_ERR_USAGE);
    assert_null(d);
    d = fresh();
    assert_int_equal(assay_distributed_add_node(d, "a", &profile, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "the time of node a must be 0 s or more");
    assert_int_equal(assay_distributed_add_node(d, NULL, NULL, &err), ASSAY_ERR_USAGE);
    c.duration_ms = -1;
    assert_int_equal(assay_distributed_add_communication(d, &c, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "size and duration of the transfer from a to b must be 0 or more");
    c.duration_ms = UNIT_NAN;
    assert_int_equal(assay_distributed_add_communication(d, &c, &err), ASSAY_ERR_USAGE);
    c.duration_ms = 1;
    c.source = NULL;
    assert_int_equal(assay_distributed_add_communication(d, &c, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_add_synchronization(d, &s, &err), ASSAY_ERR_USAGE);
    s.sync_type = "barrier";
    s.barrier_wait_ms = -1;
    assert_int_equal(assay_distributed_add_synchronization(d, &s, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "the times of a barrier must be 0 ms or more");
    s.barrier_wait_ms = 0;
    s.n_nodes = SIZE_MAX / 8;
    assert_int_equal(assay_distributed_add_synchronization(d, &s, &err), ASSAY_ERR_LIMIT);
    assert_int_equal(assay_distributed_add_metrics(d, "a", &m, 1, 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_nodes(d), 0);
    assert_int_equal(analyzed(d)->communication.event_count, 0);
    assay_distributed_free(d);
}

static void too_many_nodes_are_refused(void **state)
{
    struct assay_distributed *d = fresh();
    char id[16];

    (void)state;
    for (int i = 0; i < 65536; i++) {
        snprintf(id, sizeof id, "n%d", i);
        node(d, id, 1);
    }
    assert_int_equal(assay_distributed_add_node(d, "one more", NULL, NULL), ASSAY_ERR_LIMIT);
    node(d, "n5", 2);
    assert_int_equal(assay_distributed_nodes(d), 65536);
    assert_string_equal(analyzed(d)->load.slowest_node, "n5");
    assay_distributed_free(d);
}

static const char *json_of(struct assay_distributed *d, struct as_out *out)
{
    struct as_json_writer w;

    out->used = 0;
    as_json_writer_init(&w, out, 0);
    as_distributed_json(&w, analyzed(d), 0);
    assert_int_equal(as_json_writer_finish(&w, NULL), 0);
    return as_out_get(out, NULL);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s is not in %s", part, text);
}

static void json_has_the_documented_keys(void **state)
{
    struct assay_distributed *d = fresh();
    struct as_out out = unit_out();
    const char *text = json_of(d, &out);

    (void)state;
    has(text, "\"load_balance\":{\"error\":\"no node profiles were added\",\"nodes\":[]},"
              "\"communication_overhead\":{\"total_communication_time_ms\":0,"
              "\"total_data_transferred_mb\":0,\"event_count\":0,\"mean_bandwidth_mbps\":null,"
              "\"by_operation_type\":{}");
    node(d, "a", 2);
    node(d, "b", 4);
    transfer(d, "a", "b", 10, 1000, UNIT_NAN);
    synchronize(d, 0, 10, 4, UNIT_NAN);
    text = json_of(d, &out);
    has(text, "{\"total_nodes\":2,\"communication_events\":1,\"synchronization_events\":1,"
              "\"load_balance\":{\"node_times\":{\"a\":2,\"b\":4},\"mean_time\":3,\"std_time\":1,"
              "\"max_time\":4,\"min_time\":2,\"imbalance_factor\":0.6666666666666666,"
              "\"slowest_node\":\"b\",\"fastest_node\":\"a\",\"is_balanced\":false,"
              "\"imbalance_max_over_mean\":0.3333333333333");
    has(text, "\"communication_overhead\":{\"total_communication_time_ms\":1000,"
              "\"total_data_transferred_mb\":10,\"event_count\":1,\"mean_bandwidth_mbps\":10,"
              "\"by_operation_type\":{\"transfer\":{\"count\":1,\"total_time_ms\":1000,"
              "\"total_data_mb\":10,\"bandwidth_mib_per_second\":10}},");
    has(text, "\"bandwidth_mib_per_second\":10,\"bandwidth_bytes_per_second\":10485760,"
              "\"bandwidth_megabits_per_second\":83.88608,\"busy_time_ms\":null,");
    has(text, "\"synchronization_overhead\":{\"total_sync_time_ms\":10,"
              "\"total_barrier_wait_ms\":4,\"event_count\":1,\"by_sync_type\":{\"all_reduce\":"
              "{\"count\":1,\"total_time_ms\":10}},");
    has(text, "\"bottleneck_analysis\":{\"bottlenecks\":[{\"type\":\"load_imbalance\","
              "\"severity\":\"high\",\"details\":\"Load imbalance factor: 0.67\","
              "\"recommendation\":\"Give node b less work, or the others more\"}],"
              "\"load_balance\":{");
    assert_int_equal(as_out_close(&out, NULL), 0);
    assay_distributed_free(d);
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 200; nth++) {
        static const char *const nodes[] = {"a", "b"};
        struct assay_node_profile p = {.size = sizeof p, .total_seconds = 1};
        struct assay_communication c = {.size = sizeof c,
                                        .source = "a",
                                        .destination = "b",
                                        .duration_ms = 900,
                                        .start_time_seconds = 1};
        struct assay_synchronization s = {
            .size = sizeof s, .nodes = nodes, .n_nodes = 2, .sync_type = "x", .duration_ms = 900};
        struct assay_node_metric m = {"x", 1};
        const struct assay_distributed_result *r;
        struct assay_distributed *d = NULL;
        int rc;

        as_alloc_fail_at(nth, 0);
        rc = assay_distributed_new(&d, NULL, NULL);
        if (rc == 0)
            rc = assay_distributed_add_node(d, "a", &p, NULL);
        if (rc == 0)
            rc = assay_distributed_add_communication(d, &c, NULL);
        if (rc == 0)
            rc = assay_distributed_add_synchronization(d, &s, NULL);
        if (rc == 0)
            rc = assay_distributed_add_metrics(d, "b", &m, 1, 0, NULL);
        if (rc == 0)
            rc = assay_distributed_analyze(d, &r, NULL);
        as_alloc_fail_at(0, 0);
        assay_distributed_free(d);
        if (rc == 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    fail_msg("every allocation failed");
#endif
}

static void the_short_calls_count_as_the_long_ones(void **state)
{
    static const char *const both[] = {"a", "b"};
    struct assay_distributed *d = fresh();
    struct assay_communication_event sent = {0};
    struct assay_synchronization_event met = {0};
    const struct assay_distributed_result *r;

    (void)state;
    assert_int_equal(assay_distributed_node(d, "a", 1), ASSAY_OK);
    assert_int_equal(assay_distributed_node(d, "b", 3), ASSAY_OK);
    assert_int_equal(assay_distributed_transfer(d, "a", "b", NULL, 8 << 20, 0.5), ASSAY_OK);
    assert_int_equal(assay_distributed_synchronize(d, "barrier", both, 2, 0.25, 0.125), ASSAY_OK);
    assert_int_equal(assay_distributed_metric(d, "a", "batch_size", 32), ASSAY_OK);
    assert_int_equal(assay_distributed_node(d, NULL, 1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_node(d, "c", -1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_transfer(d, "a", NULL, NULL, 1, 1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_transfer(d, "a", "b", NULL, 1, -1), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_synchronize(d, NULL, both, 2, 1, 0), ASSAY_ERR_USAGE);
    assert_int_equal(assay_distributed_metric(d, "a", "m", UNIT_NAN), ASSAY_ERR_USAGE);
    r = analyzed(d);
    near(r->load.mean_seconds, 2);
    assert_true(assay_distributed_communication_at(d, 0, &sent));
    assert_int_equal(sent.size, sizeof sent);
    assert_string_equal(sent.operation_type, "transfer");
    assert_true(sent.data_size_mb == 8 && sent.duration_ms == 500);
    assert_true(sent.bandwidth_mib_per_second == 16);
    assert_true(assay_distributed_synchronization_at(d, 0, &met));
    assert_true(met.duration_ms == 250 && met.barrier_wait_ms == 125);
    assert_int_equal(r->n_metrics, 1);
    assay_distributed_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_is_as_documented),
        cmocka_unit_test(a_factor_below_a_tenth_is_balanced),
        cmocka_unit_test(layers_stand_in_for_a_missing_total),
        cmocka_unit_test(communication_is_summed_by_type),
        cmocka_unit_test(overlapping_transfers_are_counted_once),
        cmocka_unit_test(the_union_agrees_with_counting_cells),
        cmocka_unit_test(synchronization_counts_every_participant),
        cmocka_unit_test(fields_left_out_are_unknown),
        cmocka_unit_test(a_wait_that_was_not_told_is_not_known),
        cmocka_unit_test(bottlenecks_follow_the_documented_limits),
        cmocka_unit_test(the_verdict_by_node_sees_what_the_documented_one_does_not),
        cmocka_unit_test(only_the_newest_are_kept_but_all_are_summed),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(too_many_nodes_are_refused),
        cmocka_unit_test(json_has_the_documented_keys),
        cmocka_unit_test(running_out_of_memory_is_told),
        cmocka_unit_test(the_short_calls_count_as_the_long_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
