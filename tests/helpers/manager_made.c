/* tests/helpers/manager_made.c - makes what a manager could have found, for scripts.
 * usage: manager_made PARENT_MS CHILD_MS FILE [old]: a parent that works for PARENT_MS itself and
 *          calls a child of CHILD_MS, 200 times; old: without the times of the parent alone
 *        manager_made parts FILE: with anomalies, nodes, backends, memory that grows, a leak
 *        manager_made lines FILE: prints the parts of a run or document, one to a line
 * FILE is a run when it ends in .assay, else JSON. */
#include <assay/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run/manager_run.h"
#include "analyze/run/run_document.h"
#include "base/finding.h"
#include "base/units.h"
#include "report/run/show.h"

enum { CALLS = 200, SNAPSHOTS = 12 };

static int write_run(const struct as_manager_run *found, const char *path, struct assay_error *err)
{
    const struct as_show show = AS_SHOW_INIT;
    size_t size = strlen(path);
    bool is_run = size > 6 && strcmp(path + size - 6, ".assay") == 0;
    struct as_run_maker maker;
    struct as_run *run = NULL;
    struct as_out out;
    int rc = as_run_maker_open(&maker, is_run ? path : NULL, AS_KIND_MANAGER, err);

    if (rc < 0)
        return rc;
    as_manager_run_put(&maker, found);
    rc = as_run_maker_finish(&maker, &run, err);
    if (rc == ASSAY_OK && !is_run)
        rc = as_out_file(&out, path, err);
    if (rc == ASSAY_OK && !is_run) {
        rc = as_show_json(run, &show, &out, err);
        if (rc < 0)
            as_out_drop(&out);
        else
            rc = as_out_close(&out, err);
    }
    as_run_close(run);
    return rc;
}

static struct as_manager_run empty(void)
{
    struct as_manager_run m = {.assay_version = assay_version(),
                               .timestamp = 200,
                               .session = {.start_time_seconds = 100,
                                           .end_time_seconds = 112,
                                           .duration_seconds = 12,
                                           .sessions = 1,
                                           .seconds_per_call = AS_UNKNOWN,
                                           .cost_share = AS_UNKNOWN}};

    for (int i = 0; i < AS_PART_COUNT; i++)
        m.reason[i] = i == AS_PART_LAYERS ? NULL : "not asked for";
    return m;
}

static struct assay_layer_stats stats(const char *name, const double *whole, const double *own)
{
    struct assay_layer_stats s = {.layer = name,
                                  .call_count = CALLS,
                                  .std_seconds = 1e-6,
                                  .std_sample_seconds = 1e-6,
                                  .execution_times_seconds = whole,
                                  .n_execution_times = CALLS,
                                  .self_times_seconds = own,
                                  .n_self_times = own ? CALLS : 0,
                                  .nested = own != whole};

    for (int i = 0; i < CALLS; i++)
        s.total_seconds += whole[i];
    s.mean_seconds = s.min_seconds = s.max_seconds = s.p50_seconds = s.p95_seconds = s.p99_seconds =
        s.total_seconds / CALLS;
    return s;
}

static int make_pair(char **argv, bool old, struct assay_error *err)
{
    static double outer[CALLS], own[CALLS], inner[CALLS];
    const double parent = strtod(argv[1], NULL) * 1e-3, child = strtod(argv[2], NULL) * 1e-3;
    struct as_manager_run m = empty();
    struct assay_layer_stats layer[2];

    for (int i = 0; i < CALLS; i++) {
        own[i] = parent * (1 + 0.05 * (i * 37 % 100) / 100);
        inner[i] = child * (1 + 0.05 * (i * 53 % 100) / 100);
        outer[i] = own[i] + inner[i];
    }
    layer[0] = stats("parent", outer, old ? NULL : own);
    layer[1] = stats("child", inner, inner);
    for (int i = 0; i < CALLS; i++)
        layer[0].self_seconds += own[i];
    layer[1].self_seconds = layer[1].total_seconds;
    m.session.duration_seconds = 1;
    m.layers.layers = layer;
    m.layers.n_layers = 2;
    m.layers.total_calls = (uint64_t)2 * CALLS;
    return write_run(&m, argv[3], err);
}

/* ---- with all parts ---- */

static const struct assay_layer_stats some_layers[] = {
    {.layer = "step",
     .call_count = 10,
     .total_seconds = 3,
     .self_seconds = 1,
     .mean_seconds = 0.3,
     .std_seconds = 0.075,
     .p50_seconds = 0.3,
     .p95_seconds = 0.4,
     .p99_seconds = 0.6},
    {.layer = "conv",
     .call_count = 20,
     .total_seconds = 1.5,
     .self_seconds = 1.5,
     .mean_seconds = 0.075,
     .std_seconds = 0.02,
     .p50_seconds = 0.075,
     .p95_seconds = 0.9,
     .p99_seconds = 1.35},
    {.layer = "fc",
     .call_count = 5,
     .failed_count = 1,
     .total_seconds = 0.5,
     .self_seconds = 0.5,
     .mean_seconds = 0.1,
     .std_seconds = 0.025,
     .p50_seconds = 0.1,
     .p95_seconds = 0.2,
     .p99_seconds = 0.3},
};
static const struct assay_metadata some_metadata[] = {{"phase", "forward", 0}, {"size", NULL, 2}};
static const struct assay_layer_event some_events[] = {
    {.layer = "conv",
     .execution_seconds = 0.1,
     .self_seconds = 0.1,
     .timestamp_seconds = 101,
     .metadata = some_metadata,
     .n_metadata = 2},
    {.layer = "fc",
     .execution_seconds = 0.1,
     .self_seconds = 0.1,
     .timestamp_seconds = 102,
     .failed = true,
     .reason = "no room"},
    {.layer = "step", .execution_seconds = 0.1, .self_seconds = 0.1, .timestamp_seconds = 103},
};
static const struct as_memory_layer_row some_memory[] = {
    {.layer = "fc",
     .call_count = 12,
     .n_known = 12,
     .mean_memory_mb = 61,
     .std_memory_mb = 6,
     .min_memory_mb = 50,
     .max_memory_mb = 72},
};
static const struct assay_layer_leak some_leaks[] = {
    {.layer = "fc",
     .growth_mb = 50,
     .mb_per_step = 2,
     .mb_per_second = 2,
     .p_value = 1e-9,
     .process_share = 1,
     .first_step = ASSAY_UNKNOWN,
     .last_step = ASSAY_UNKNOWN},
};
static const struct assay_anomaly some_anomalies[] = {
    {.layer = "fc",
     .metric = "errors",
     .value = 2,
     .timestamp_seconds = 101,
     .tests = ASSAY_ANOMALY_Z,
     .z = (double)NAN,
     .median = 0,
     .n_window = 5},
    {.layer = "step",
     .metric = "execution_time",
     .value = 0.5,
     .timestamp_seconds = 102,
     .tests = ASSAY_ANOMALY_Z,
     .z = 4,
     .median = 0.3,
     .n_window = 9},
    {.layer = "conv",
     .metric = "execution_time",
     .value = 0.9,
     .timestamp_seconds = 103,
     .tests = ASSAY_ANOMALY_Z | ASSAY_ANOMALY_IQR,
     .z = 40,
     .median = 0.1,
     .n_window = 20},
};
static const struct assay_anomaly_layer some_anomaly_layers[] = {{"fc", 5, 1}, {"conv", 20, 2}};
static const struct assay_node_load some_nodes[] = {
    {.id = "n0", .seconds = 2, .over_mean = -0.3, .barrier_wait_ms = (double)NAN},
    {.id = "n1", .seconds = 4, .over_mean = 0.3, .barrier_wait_ms = 3},
};
static const struct assay_finding some_findings[] = {
    {.rule = "synchronization_overhead",
     .finding = "Nodes are in synchronizations",
     .action = "Use asynchronous updates",
     .severity = 40,
     .expected_gain = 0.4,
     .confidence = ASSAY_CONFIDENCE_HIGH},
};
static const struct assay_backend_total some_backends[] = {
    {.backend = "A",
     .total_seconds = 1,
     .layer_wins = 2,
     .peak_memory_mb = 64,
     .energy_j = (double)NAN},
    {.backend = "B", .total_seconds = 2, .peak_memory_mb = 32, .energy_j = (double)NAN},
};
static const struct assay_backend_data some_data[] = {
    {.backend = "A",
     .mean_seconds = 0.1,
     .std_seconds = 0.01,
     .total_seconds = 1,
     .call_count = 10},
    {.backend = "B", .mean_seconds = 0.2, .std_seconds = 0.01, .total_seconds = 2},
};
static const struct assay_layer_comparison some_comparisons[] = {
    {.layer = "conv",
     .backend_data = some_data,
     .n_backends = 2,
     .fastest_backend = "A",
     .slowest_backend = "B",
     .speedup = 2,
     .time_difference_ms = 100},
};
static const struct assay_ranked_layer some_ranked[] = {
    {.layer = "conv",
     .calls = 20,
     .self_seconds = 1.5,
     .share = 0.5,
     .speedup_bound = 2,
     .mean_seconds = 0.075,
     .roof_fraction = (double)NAN,
     .n_causes = 1,
     .severity = 60,
     .cause = {{ASSAY_BOTTLENECK_IO, 0.5, "it waits"}}},
};
static const struct assay_bottleneck some_bottlenecks[] = {
    {.layer = "step",
     .mean_execution_seconds = 0.3,
     .threshold_seconds = 0.2,
     .overhead_percentage = 50,
     .n_types = 1,
     .type = {ASSAY_BOTTLENECK_COMPUTE}},
};
static const struct assay_recommendation some_recommendations[] = {
    {.layer = "step",
     .type = "optimization",
     .category = "compute",
     .priority = ASSAY_PRIORITY_HIGH,
     .recommendation = "do less",
     .details = "it is slow"},
};
static const struct as_manager_extra some_extras[] = {{"depths", "{\"calls\":3}", NULL},
                                                      {"fails", NULL, "it failed"}};

static void add_results(struct as_manager_run *m)
{
    m->held = (struct as_held_report){"heap in use", 50, some_leaks, AS_COUNT_OF(some_leaks)};
    m->leaks.summary.growing = true;
    m->bottlenecks =
        (struct assay_bottleneck_result){.bottlenecks = some_bottlenecks,
                                         .n_bottlenecks = AS_COUNT_OF(some_bottlenecks),
                                         .recommendations = some_recommendations,
                                         .n_recommendations = AS_COUNT_OF(some_recommendations),
                                         .summary = {.total_bottlenecks = 1},
                                         .ranked = some_ranked,
                                         .n_ranked = AS_COUNT_OF(some_ranked),
                                         .n_calls = 35,
                                         .n_layers = 3};
    m->anomalies = (struct as_anomaly_report){.summary = {.n_values = 100, .n_anomalies = 3},
                                              .list = some_anomalies,
                                              .n = AS_COUNT_OF(some_anomalies),
                                              .layer = some_anomaly_layers,
                                              .n_layers = AS_COUNT_OF(some_anomaly_layers)};
    m->distributed.total_nodes = 2;
    m->distributed.load = (struct assay_load_balance){.nodes = some_nodes, .n_nodes = 2};
    m->distributed.findings = some_findings;
    m->distributed.n_findings = AS_COUNT_OF(some_findings);
    m->backends = (struct assay_comparison){
        .backends = some_backends,
        .n_backends = AS_COUNT_OF(some_backends),
        .layers = some_comparisons,
        .n_layers = AS_COUNT_OF(some_comparisons),
        .summary = {.fastest_backend = "A", .overall_speedup = 2, .recommendation = "Use A"}};
    m->extra = some_extras;
    m->n_extra = AS_COUNT_OF(some_extras);
}

static int make_parts(const char *path, struct assay_error *err)
{
    static struct as_memory_layer_reading snapshot[SNAPSHOTS];
    struct as_manager_run m = empty();

    for (int i = 0; i < AS_PART_COUNT; i++)
        m.reason[i] = i == AS_PART_GPU ? "no device is read yet by this version" : NULL;
    for (int i = 0; i < SNAPSHOTS; i++) {
        memset(&snapshot[i], 0xff, sizeof snapshot[i]);
        snapshot[i].layer = "fc";
        snapshot[i].timestamp = 100 + i;
        snapshot[i].cpu_memory_mb = 50 + 2 * i;
        snapshot[i].counted_known = false;
        snapshot[i].metadata = i ? NULL : "{\"a\":1}";
        snapshot[i].why = NULL;
    }
    m.layers.layers = some_layers;
    m.layers.n_layers = AS_COUNT_OF(some_layers);
    m.layers.timeline = some_events;
    m.layers.n_timeline = AS_COUNT_OF(some_events);
    m.layers.total_calls = 35;
    m.layers.failed_calls = 1;
    m.layers.n_threads = 1;
    m.memory = (struct as_memory_report){.snapshot = snapshot,
                                         .n_snapshots = SNAPSHOTS,
                                         .layer = some_memory,
                                         .n_layers = AS_COUNT_OF(some_memory)};
    m.memory.summary.baseline_memory_mb = 50;
    m.memory.summary.peak_memory_mb = 72;
    m.memory.summary.peak_rss_kernel_bytes = 90 << 20;
    m.memory.summary.total_snapshots = SNAPSHOTS;
    add_results(&m);
    return write_run(&m, path, err);
}

static int print_lines(const char *path, struct assay_error *err)
{
    struct as_run *run;
    int rc = as_run_open_any(&run, path, err);

    for (size_t i = 0; rc == ASSAY_OK && i < run->n_data; i++)
        printf("%s %s\n", run->data[i].kind, run->data[i].json);
    as_run_close(run);
    return rc;
}

int main(int argc, char **argv)
{
    struct assay_error err = {0};
    int rc = ASSAY_ERR_USAGE;

    if (argc == 3 && strcmp(argv[1], "parts") == 0)
        rc = make_parts(argv[2], &err);
    else if (argc == 3 && strcmp(argv[1], "lines") == 0)
        rc = print_lines(argv[2], &err);
    else if (argc >= 4)
        rc = make_pair(argv, argc > 4, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    return rc < 0 ? 3 : 0;
}
