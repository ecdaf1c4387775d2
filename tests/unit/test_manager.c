/* tests/unit/test_manager.c - the manager: every profiler alone, switched, started, ended,
 * extended, reported; with memory failing at every place. */
#include <assay/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/run/run_document.h"
#include "analyze/run/run_findings.h"
#include "base/alloc.h"
#include "manager_kit.h"

/* The report's key of each profiler. */
static const char *const part_of[] = {
    [ASSAY_PROFILER_LAYER] = "layer_profiling",
    [ASSAY_PROFILER_MEMORY] = "memory_profiling",
    [ASSAY_PROFILER_LEAK] = "memory_leaks",
    [ASSAY_PROFILER_BOTTLENECK] = "bottlenecks",
    [ASSAY_PROFILER_COMPARATIVE] = "backend_comparison",
    [ASSAY_PROFILER_DISTRIBUTED] = "distributed_training",
    [ASSAY_PROFILER_GPU] = "gpu_utilization",
};

static void tell_node(struct assay_manager *m, const char *id, double seconds)
{
    struct assay_node_profile node = {.size = sizeof node, .total_seconds = seconds};

    assert_int_equal(assay_distributed_add_node(assay_manager_distributed(m), id, &node, NULL),
                     ASSAY_OK);
}

static void each_profiler_works_alone(void **state)
{
    (void)state;
    for (int on = 0; on < ASSAY_PROFILER_COUNT; on++) {
        struct assay_manager *m = kit_manager(assay_profiler_name((enum assay_profiler_id)on));
        struct kit_tree tree;

        for (int i = 0; i < 40; i++) {
            assay_manager_step(m, (uint64_t)i);
            kit_call(m, i % 2 ? "conv" : "relu");
        }
        tell_node(m, "node0", 1);
        assert_int_equal(assay_manager_end(m, NULL), 0);
        tree = kit_report(m);
        for (int id = 0; id < ASSAY_PROFILER_COUNT; id++) {
            /* A GPU is not read yet, and nothing was compared. */
            bool told = id == on && id != ASSAY_PROFILER_GPU && id != ASSAY_PROFILER_COMPARATIVE;
            char why[64];

            assert_int_equal(kit_is_null(&tree, part_of[id]), !told);
            (void)snprintf(why, sizeof why, "%s_reason", part_of[id]);
            assert_int_equal(as_json_words(as_json_get(tree.root, why)) != NULL, !told);
        }
        kit_forget(&tree);
        assay_manager_free(m);
    }
}

static void leaks_are_seen_without_the_memory_profiler(void **state)
{
    struct assay_manager *m = kit_manager("leak");
    struct assay_leak_summary summary;

    (void)state;
    for (int i = 0; i < 25; i++)
        kit_call(m, "conv");
    assert_int_equal(assay_manager_leak_summary(m, &summary, NULL), ASSAY_OK);
    assert_int_equal(summary.n_readings, 25);
    assay_manager_free(m);
}

/* What the manager keeps for itself is no growth of the program. */
static void layers_that_take_nothing_do_not_grow(void **state)
{
    static const char *const layer[] = {"a", "b", "c", "d"};
    struct assay_manager *m = kit_manager(NULL);
    const struct assay_layer_leak *leak;
    struct assay_leak_summary summary;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    assay_manager_free(m);
    skip(); /* a sanitizer's own notes grow with every call */
#endif
    for (int i = 0; i < 20000; i++) {
        if (i % 4 == 0)
            assay_manager_step(m, (uint64_t)i / 4);
        kit_call(m, layer[i % 4]);
    }
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_leak_summary(m, &summary, NULL), ASSAY_OK);
    assert_false(summary.growing);
    assert_false(summary.has_leaks);
    assert_int_equal(assay_manager_layer_leaks(m, &leak, NULL), 0);
    assay_manager_free(m);
}

static void an_unknown_name_is_refused_with_the_nearest(void **state)
{
    const char *wrong[] = {"layr"};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m = kit_manager(NULL);
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_manager_enable(m, "bottlenek", &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "did you mean bottleneck"));
    assert_int_equal(assay_manager_disable(m, "everything", &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "comparative"));
    assert_int_equal(assay_manager_enable(m, NULL, &err), ASSAY_ERR_USAGE);
    assert_int_equal(assay_manager_enable(m, "gpu", &err), ASSAY_OK);
    assay_manager_free(m);
    options.profilers = wrong;
    options.n_profilers = 1;
    assert_int_equal(assay_manager_new(&m, &options, &err), ASSAY_ERR_USAGE);
    assert_null(m);
}

static void profilers_are_switched_while_running(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_manager_span span;
    struct assay_layer_profile *seen;

    (void)state;
    assert_true(assay_manager_is_enabled(m, "layer"));
    span = assay_manager_layer_begin(m, "across"); /* its memory was begun, and is not told */
    assert_int_equal(assay_manager_disable(m, "layer", NULL), ASSAY_OK);
    assert_int_equal(assay_manager_disable(m, "memory", NULL), ASSAY_OK);
    assert_false(assay_manager_is_enabled(m, "layer"));
    kit_call(m, "unseen");
    assert_int_equal(assay_manager_layer_end(m, &span, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_enable(m, "layer", NULL), ASSAY_OK);
    kit_call(m, "seen");
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen->n_layers, 1);
    assert_string_equal(seen->layers[0].layer, "seen");
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void nothing_happens_while_nothing_was_started(void **state)
{
    struct assay_manager_span span, before;
    struct assay_manager *m;
    struct assay_error err;
    struct assay_layer_profile *seen;

    (void)state;
    span = assay_manager_layer_begin(NULL, "none");
    assert_int_equal(assay_manager_layer_end(NULL, &span, NULL, 0, &err), ASSAY_OK);
    assert_int_equal(assay_manager_new(&m, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_end(m, &err), ASSAY_ERR_STATE);
    kit_call(m, "early");
    before = assay_manager_layer_begin(m, "before");
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, &err), ASSAY_ERR_STATE);
    assert_int_equal(assay_manager_reset(m, &err), ASSAY_ERR_STATE);
    assert_int_equal(assay_manager_layer_end(m, &before, NULL, 0, &err), ASSAY_OK);
    span = assay_manager_layer_begin(m, "left open");
    assert_int_equal(assay_manager_end(m, NULL), 1);
    assert_false(assay_manager_is_active(m));
    assert_int_equal(assay_manager_layer_end(m, &span, NULL, 0, &err), ASSAY_OK);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen->n_layers, 0);
    assert_int_equal(seen->n_open_at_end, 1);
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static int half(int x)
{
    return x / 2;
}
static struct assay_manager *wrapped;
ASSAY_MANAGER_WRAP(int, half_layer, wrapped, half, (int x), (x))

static void scopes_end_by_themselves(void **state)
{
    struct assay_layer_profile *seen;

    (void)state;
    wrapped = kit_manager("layer");
    for (int i = 0; i < 3; i++) {
        ASSAY_MANAGER_LAYER_NAMED(scope, wrapped, "loop");
        if (i == 1)
            assay_manager_scope_fail(&scope, "one is unlucky");
        if (i == 2)
            continue; /* leaves the block, and the layer with it */
        assert_int_equal(half_layer(10), 5);
    }
    assert_int_equal(ASSAY_MANAGER_CALL(wrapped, "call", half(6)), 3);
    assert_int_equal(assay_manager_layers(wrapped, 0, &seen, NULL), ASSAY_OK);
    assert_int_equal(assay_layer_profile_find(seen, "loop")->call_count, 2);
    assert_int_equal(assay_layer_profile_find(seen, "loop")->failed_count, 1);
    assert_int_equal(assay_layer_profile_find(seen, "half")->call_count, 2);
    assert_int_equal(assay_layer_profile_find(seen, "call")->call_count, 1);
    for (size_t i = 0; i < seen->n_timeline; i++) {
        if (seen->timeline[i].failed)
            assert_string_equal(seen->timeline[i].reason, "one is unlucky");
    }
    assay_layer_profile_free(seen);
    assay_manager_free(wrapped);
}

static void facts_become_metrics(void **state)
{
    const struct assay_metadata facts[] = {
        {"memory_usage", NULL, 700}, {"io_operations", NULL, 5}, {"gpu_utilization", "text", 1}};
    const struct assay_bottleneck_result *result;
    struct assay_manager *m = kit_manager("bottleneck");
    struct assay_manager_span span;

    (void)state;
    for (int i = 0; i < 5; i++) {
        span = assay_manager_layer_begin(m, "conv");
        assert_int_equal(assay_manager_layer_end(m, &span, facts, 3, NULL), ASSAY_OK);
    }
    span = assay_manager_layer_begin(m, "conv");
    assert_int_equal(assay_manager_layer_fail(m, &span, "broken", NULL), ASSAY_OK);
    assert_int_equal(assay_manager_analyze_bottlenecks(m, &result, NULL), ASSAY_OK);
    assert_int_equal(result->n_calls, 5);
    assert_int_equal(result->n_failed, 1);
    assert_int_equal(result->n_ranked, 1);
    if (result->n_bottlenecks) {
        assert_true(result->bottlenecks[0].mean_memory_usage_mb == 700);
        assert_true(result->bottlenecks[0].io_intensity == 5);
        assert_true(isnan(result->bottlenecks[0].gpu_utilization_percent));
    }
    assay_manager_free(m);
}

static unsigned alerts;
static void count_alert(void *user, const struct assay_anomaly *found)
{
    assert_string_equal(found->layer, "busy");
    assert_ptr_equal(user, &alerts);
    alerts++;
}

static void spin(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void a_call_that_stands_out_is_told(void **state)
{
    struct assay_anomaly_detector_options anomaly = {
        .size = sizeof(struct assay_anomaly_detector_options)};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    const char *const layer[] = {"layer"};
    struct assay_manager *m;
    struct kit_tree tree;

    (void)state;
    anomaly.alert = count_alert;
    anomaly.user = &alerts;
    options.profilers = layer;
    options.n_profilers = 1;
    options.anomaly = &anomaly;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    for (int i = 0; i < 31; i++) {
        ASSAY_MANAGER_LAYER(m, "busy");
        spin(i == 30 ? 20000000 : 1000);
    }
    assert_int_equal(assay_manager_flush(m, NULL), ASSAY_OK);
    assert_true(alerts >= 1);
    tree = kit_report(m);
    assert_false(kit_is_null(&tree, "anomalies"));
    kit_forget(&tree);
    assay_manager_free(m);
}

static void backends_are_compared_from_sessions(void **state)
{
    const struct assay_comparison *r;
    struct assay_manager *m = kit_manager(NULL);
    struct assay_error err;
    struct kit_tree tree;

    (void)state;
    assert_int_equal(assay_manager_compare_backends(m, "nothing yet", &err), ASSAY_ERR_STATE);
    for (int backend = 0; backend < 2; backend++) {
        for (int i = 0; i < 20; i++) {
            ASSAY_MANAGER_LAYER(m, "conv");
            spin(backend ? 200000 : 1000);
        }
        assert_int_equal(assay_manager_compare_backends(m, backend ? "slow" : "fast", NULL),
                         ASSAY_OK);
        assert_int_equal(assay_manager_end(m, NULL), 0);
        assert_int_equal(assay_manager_reset(m, NULL), ASSAY_OK);
        assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    }
    assert_int_equal(assay_manager_comparison(m, NULL, 0, &r, NULL), ASSAY_OK);
    assert_string_equal(r->summary.fastest_backend, "fast");
    assert_int_equal(r->n_layers, 1);
    tree = kit_report(m);
    assert_false(kit_is_null(&tree, "backend_comparison"));
    kit_forget(&tree);
    assay_manager_forget_backends(m);
    assert_int_equal(assay_manager_disable(m, "comparative", NULL), ASSAY_OK);
    assert_int_equal(assay_manager_compare_backends(m, "off", &err), ASSAY_ERR_STATE);
    assay_manager_free(m);
}

static void options_are_checked(void **state)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_leak_detector_options leak = {.size = sizeof(struct assay_leak_detector_options)};
    struct assay_manager *m;

    (void)state;
    options.size = 3;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_ERR_USAGE);
    options.size = sizeof options;
    options.max_layers = 1u << 20;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_ERR_USAGE);
    options.max_layers = 0;
    options.leak = &leak;
    leak.window_size = 1;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_ERR_USAGE);
    leak.window_size = 15;
    leak.threshold_mb = 20;
    options.usage_min_seconds = -1;
    options.memory_interval_us = 1000000;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    for (int i = 0; i < 50; i++)
        kit_call(m, "conv");
    {
        struct assay_leak_summary summary;

        assert_int_equal(assay_manager_leak_summary(m, &summary, NULL), ASSAY_OK);
        assert_true(summary.n_readings < 50); /* one a second at most */
    }
    assay_manager_free(m);
}

static void what_it_costs_is_told(void **state)
{
    struct assay_manager *m = kit_manager(NULL);
    struct assay_manager_session session;

    (void)state;
    for (int i = 0; i < 100; i++)
        kit_call(m, "conv");
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assay_manager_read_session(m, &session);
    assert_int_equal(session.calls, 100);
    assert_int_equal(session.sessions, 1);
    assert_true(session.seconds_per_call > 0 && session.feeding_seconds > 0);
    assert_true(session.cost_share > 0);
    assert_true(session.end_time_seconds >= session.start_time_seconds);
    assert_true(session.duration_seconds > 0);
    assert_int_equal(session.feed_failures, 0);
    assay_manager_free(m);
}

static void a_recording_session_sees_the_same_layers(void **state)
{
    char path[] = "/tmp/assay-manager-XXXXXX";
    struct assay_manager *m = kit_manager("layer");
    struct assay_manager_span across;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    across = assay_manager_layer_begin(m, "across");
    assert_int_equal(assay_session_open(path, NULL, NULL), ASSAY_OK);
    assay_manager_step(m, 1);
    kit_call(m, "conv");
    kit_call(m, "conv");
    /* Begun before the session: it must not end there. */
    assert_int_equal(assay_manager_layer_end(m, &across, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(assay_session_lost(), 0);
    assert_int_equal(assay_session_close(NULL), ASSAY_OK);
    assert_int_equal(access(path, R_OK), 0);
    unlink(path);
    assay_manager_free(m);
}

/* What export wrote, whichever way, opened again. */
static struct as_run *exported(struct assay_manager *m, const char *path)
{
    struct assay_error err;
    struct as_run *run = NULL;

    if (assay_manager_export(m, path, &err) < 0 || as_run_open_any(&run, path, &err) < 0)
        fail_msg("%s", err.msg);
    (void)unlink(path);
    return run;
}

static void a_report_reads_back_as_it_was(void **state)
{
    static const char *const path[] = {"manager_back.assay", "manager_back.json"};
    struct assay_manager *m = kit_manager(NULL);
    struct assay_layer_profile *seen;
    struct assay_manager_session session;

    (void)state;
    for (int i = 0; i < 50; i++)
        kit_call(m, i % 5 ? "conv \"1\"" : "l\xc3\xb6ss\n");
    assert_int_equal(assay_manager_end(m, NULL), 0);
    assert_int_equal(assay_manager_layers(m, 0, &seen, NULL), ASSAY_OK);
    assay_manager_read_session(m, &session);
    for (size_t k = 0; k < 2; k++) {
        struct as_run *run = exported(m, path[k]);
        struct as_manager_run found;
        struct as_layers *layers;

        assert_int_equal(as_manager_run_get(run, &found, NULL), ASSAY_OK);
        assert_int_equal(as_manager_run_layers(&layers, run, &found, NULL), ASSAY_OK);
        assert_int_equal(layers->n_layers, 2);
        assert_int_equal(layers->calls, 50);
        for (size_t i = 0; i < 2; i++) {
            const struct as_layer *l = &layers->layer[i];
            const struct assay_layer_stats *s = assay_layer_profile_find(seen, l->info->name);

            assert_non_null(s);
            assert_int_equal(l->calls, s->call_count);
            assert_int_equal(l->memory.samples, s->call_count);
            assert_int_equal(l->n_call_seconds, s->n_execution_times);
            assert_memory_equal(l->call_seconds, s->execution_times_seconds,
                                s->n_execution_times * sizeof(double));
            assert_true(found.layers.layers[i].std_seconds >= 0);
        }
        assert_true(found.session.duration_seconds == session.duration_seconds);
        assert_true(found.session.cost_share == session.cost_share);
        assert_int_equal(found.memory.n_snapshots, 50);
        assert_int_equal(found.layers.n_timeline, 50);
        as_layers_free(layers);
        as_run_close(run);
    }
    assay_layer_profile_free(seen);
    assay_manager_free(m);
}

static void a_dashboard_has_every_key(void **state)
{
    static const char *const key[] = {
        "timestamp",     "execution_history",   "layer_stats",         "memory_snapshots",
        "memory_growth", "bottlenecks",         "recommendations",     "gpu_metrics",
        "gpu_summary",   "distributed_metrics", "memory_leak_summary", "backend_comparison"};
    struct assay_manager *m = kit_manager(NULL);
    struct kit_tree tree;
    char *text;
    size_t size;

    (void)state;
    kit_call(m, "conv");
    tell_node(m, "node0", 1);
    assert_int_equal(assay_manager_dashboard(m, &text, &size, NULL), ASSAY_OK);
    tree = kit_parse(text, size);
    for (size_t i = 0; i < UNIT_COUNT(key); i++)
        assert_non_null(as_json_get(tree.root, key[i]));
    assert_int_equal(as_json_get(tree.root, "bottlenecks")->type, AS_TYPE_ARRAY);
    assert_int_equal(as_json_get(tree.root, "recommendations")->type, AS_TYPE_ARRAY);
    assert_non_null(as_json_path(tree.root, "distributed_metrics", "load_balance"));
    assert_non_null(as_json_path(tree.root, "memory_leak_summary", "has_leaks"));
    kit_forget(&tree);
    assay_manager_free(m);
}

/* Everything a manager does; returns false when memory was missing somewhere. */
static bool whole_life(void)
{
    const struct assay_metadata facts[] = {{"batch", NULL, 8}, {"name", "text", 0}};
    struct assay_manager *m = NULL;
    char *text = NULL;
    bool ok = true;

    if (assay_manager_new(&m, NULL, NULL) < 0)
        return false;
    ok = assay_manager_start(m, NULL) == 0;
    for (int i = 0; ok && i < 30; i++) {
        struct assay_manager_span outer = assay_manager_layer_begin(m, "outer");
        struct assay_manager_span inner = assay_manager_layer_begin(m, "inner");

        ok = assay_manager_layer_end(m, &inner, facts, 2, NULL) == 0 && ok;
        ok = assay_manager_layer_end(m, &outer, NULL, 0, NULL) == 0 && ok;
    }
    ok = ok && assay_manager_end(m, NULL) == 0;
    ok = ok && assay_manager_compare_backends(m, "one", NULL) == 0;
    ok = ok && assay_manager_report(m, &text, NULL, NULL) == 0;
    assay_manager_text_free(text);
    text = NULL;
    ok = ok && assay_manager_dashboard(m, &text, NULL, NULL) == 0;
    assay_manager_text_free(text);
    assay_manager_free(m);
    return ok;
}

static void the_nth_allocation_may_fail(void **state)
{
    uint64_t n_all;

    (void)state;
    as_alloc_fail_at(0, 0);
    assert_true(whole_life());
    n_all = as_alloc_count();
    if (n_all == 0)
        skip(); /* a build that cannot make allocations fail */
    for (uint64_t n = 1; n <= n_all; n += n < 400 ? 1 : 37) {
        as_alloc_fail_at(n, 0);
        (void)whole_life();
        as_alloc_fail_at(n, 1);
        (void)whole_life();
    }
    as_alloc_fail_at(0, 0);
    assert_true(whole_life());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_profiler_works_alone),
        cmocka_unit_test(leaks_are_seen_without_the_memory_profiler),
        cmocka_unit_test(layers_that_take_nothing_do_not_grow),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest),
        cmocka_unit_test(profilers_are_switched_while_running),
        cmocka_unit_test(nothing_happens_while_nothing_was_started),
        cmocka_unit_test(scopes_end_by_themselves),
        cmocka_unit_test(facts_become_metrics),
        cmocka_unit_test(a_call_that_stands_out_is_told),
        cmocka_unit_test(backends_are_compared_from_sessions),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(what_it_costs_is_told),
        cmocka_unit_test(a_recording_session_sees_the_same_layers),
        cmocka_unit_test(a_report_reads_back_as_it_was),
        cmocka_unit_test(a_dashboard_has_every_key),
        cmocka_unit_test(the_nth_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
