/* tests/unit/test_session_view.c - a session's findings from a run, and from JSON anybody made. */
#include "recorder_kit.h"

#include <assay/manager.h>
#include <math.h>

#include "analyze/run/saved_profile.h"
#include "report/session/session_report.h"

#define WHOLE                                                                                      \
    "{\"schema\":\"assay.session\",\"schema_version\":1,\"profiling_session\":{\"start_time\":10," \
    "\"end_time\":13,\"duration_seconds\":3},\"layer_profiling\":{\"layer_stats\":{\"a\":{"        \
    "\"call_count\":4,\"failed_count\":1,\"total_time\":2,\"self_time\":1.5,\"mean_time\":0.5},"   \
    "\"b\":{\"call_count\":2,\"total_time\":6,\"mean_time\":3}}},\"memory_profiling\":{"           \
    "\"baseline_memory_mb\":100,\"peak_memory_mb\":150,\"total_snapshots\":2,\"snapshots\":[{"     \
    "\"timestamp\":10,\"cpu_memory_mb\":100},{\"timestamp\":12,\"cpu_memory_mb\":150}],"           \
    "\"layer_stats\":{\"b\":{\"call_count\":2,\"mean_memory_mb\":125}}},\"memory_leaks\":{"        \
    "\"has_leaks\":true,\"leak_count\":1,\"total_memory_leaked_mb\":50,\"leaks\":[{"               \
    "\"increase_mb\":50,\"window_size\":10,\"layers_involved\":[\"a\",1,\"b\"]}],\"growing\":"     \
    "false},\"bottlenecks\":{\"bottlenecks\":[{\"layer\":\"b\",\"bottleneck_type\":[\"io\","       \
    "\"nonsense\"],\"overhead_percentage\":60}],\"summary\":{\"total_bottlenecks\":1,"             \
    "\"critical_bottlenecks\":1},\"recommendations\":[{\"layer\":\"b\",\"priority\":\"medium\","   \
    "\"recommendation\":\"prefetch\"}]}}"

static struct as_saved_profile *view_of(const char *json)
{
    struct as_saved_profile *view;
    struct assay_error err;

    if (as_saved_profile_json(&view, "x.json", json, strlen(json), &err) < 0)
        fail_msg("%s", err.msg);
    return view;
}

static void json_comes_back(void **state)
{
    struct as_saved_profile *v = view_of(WHOLE);

    (void)state;
    assert_int_equal(v->n_layers, 2);
    assert_string_equal(v->layer[0].name, "b"); /* by total time */
    assert_true(isnan(v->layer[0].self_time));
    assert_true(v->layer[0].mean_memory_mb == 125);
    assert_int_equal(v->layer[1].memory_readings, 0);
    assert_int_equal(v->calls, 6);
    assert_int_equal(v->failed, 1);
    assert_true(v->total_time == 8 && v->duration_seconds == 3);
    assert_null(v->memory.why);
    assert_true(v->memory.peak_mb == 150 && v->memory.last_mb == 150 && v->memory.n == 2);
    assert_true(v->memory.seconds[1] == 2);
    assert_true(v->leaks.summary.has_leaks && !v->leaks.summary.growing);
    assert_int_equal(v->leaks.n_leaks, 1);
    assert_int_equal(v->leaks.leaks[0].n_layers_involved, 2); /* what is no name is passed over */
    assert_int_equal(v->bottlenecks.n_bottlenecks, 1);
    assert_int_equal(v->bottlenecks.bottlenecks[0].n_types, 1);
    assert_int_equal(v->bottlenecks.bottlenecks[0].type[0], ASSAY_BOTTLENECK_IO);
    assert_int_equal(v->bottlenecks.recommendations[0].priority, ASSAY_PRIORITY_MEDIUM);
    assert_non_null(v->gpu.why);
    as_saved_profile_free(v);
}

static void wrong_json_is_refused_in_a_sentence(void **state)
{
    static const struct {
        const char *json, *says;
        int code;
    } bad[] = {
        {"{}", "missing", ASSAY_ERR_FORMAT},
        {"[]", "missing", ASSAY_ERR_FORMAT},
        {"{\"schema\":\"assay.report\"}", "assay.report", ASSAY_ERR_FORMAT},
        {"{\"schema\":\"assay.session\",\"schema_version\":2}", "version 2", ASSAY_ERR_UNSUPPORTED},
        {"{\"schema\":", "", ASSAY_ERR_FORMAT},
    };
    struct as_saved_profile *v;
    struct assay_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(as_saved_profile_json(&v, "x", bad[i].json, strlen(bad[i].json), &err),
                         bad[i].code);
        assert_null(v);
        assert_non_null(strstr(err.msg, bad[i].says));
    }
    assert_false(as_saved_profile_is_json("ASSAYRUN", 8));
    assert_true(as_saved_profile_is_json(" \n{", 3));
    assert_false(as_saved_profile_is_json("  ", 2));
}

static void wrong_types_are_not_known(void **state)
{
    struct as_saved_profile *v =
        view_of("{\"profiling_session\":7,\"layer_profiling\":{\"layer_stats\":{\"a\":[1],\"b\":"
                "null}},\"memory_profiling\":\"no\",\"memory_leaks\":{\"has_leaks\":1,\"leaks\":{},"
                "\"incidents\":[null]},\"bottlenecks\":{\"bottlenecks\":[3],\"ranked\":7}}");

    (void)state;
    assert_true(isnan(v->duration_seconds));
    assert_int_equal(v->n_layers, 2);
    assert_true(isnan(v->layer[0].total_time));
    assert_non_null(v->memory.why);
    assert_false(v->leaks.summary.has_leaks);
    assert_string_equal(v->bottlenecks.bottlenecks[0].layer, "");
    as_saved_profile_free(v);
}

/* Marks with notes: 60 iterations in which one layer ends with ever more memory. */
static void a_run_tells_of_growth_and_bottlenecks(void **state)
{
    uint32_t grows = assay_layer("grows"), flat = assay_layer("flat");
    struct as_saved_profile *v;
    struct assay_error err;
    bool named = false;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (unsigned i = 0; i < 300; i++) {
        assay_iteration(i);
        assay_begin(grows);
        assay_note("rss_bytes", 200e6 + 1e6 * i);
        assay_end(grows);
        assay_begin(flat);
        assay_note("rss_bytes", 100e6);
        assay_note("io_operations", 500);
        assay_end(flat);
    }
    rec_stop();
    r = rec_read("run.assay");
    if (as_saved_profile_run(&v, r.run, r.layers, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(v->n_layers, 2);
    assert_null(v->memory.why);
    assert_true(v->memory.peak_mb > 470 && v->memory.peak_mb < 480); /* 499e6 bytes in MiB */
    assert_true(v->leaks.summary.growing);
    for (size_t i = 0; i < v->leaks.n_incidents; i++) {
        const struct assay_leak_incident *x = &v->leaks.incidents[i];

        assert_false(x->layer && strcmp(x->layer, "flat") == 0);
        if (x->layer && strcmp(x->layer, "grows") == 0) {
            named = true;
            assert_true(x->mb_per_step > 0.9 && x->mb_per_step < 1.0);
        }
    }
    assert_true(named);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(v->layer[i].memory_readings, 300);
    assert_int_equal(v->bottlenecks.n_layers, 2);
    assert_int_equal(v->bottlenecks.n_calls, 600);
    as_saved_profile_free(v);
    rec_done(&r);
}

/* A manager whose layers go into a recording session: the run tells of memory by layer too. */
static void a_managers_layers_keep_their_memory(void **state)
{
    struct assay_manager *manager;
    struct as_saved_profile *v;
    struct assay_error err;
    struct rec r;

    (void)state;
    assert_int_equal(assay_manager_new(&manager, NULL, &err), ASSAY_OK);
    rec_start("run.assay", NULL);
    assert_int_equal(assay_manager_start(manager, &err), ASSAY_OK);
    for (unsigned i = 0; i < 40; i++) {
        struct assay_manager_span span;

        assay_manager_step(manager, i);
        span = assay_manager_layer_begin(manager, "managed");
        assert_int_equal(assay_manager_layer_end(manager, &span, NULL, 0, &err), ASSAY_OK);
    }
    assert_int_equal(assay_manager_end(manager, &err), ASSAY_OK);
    rec_stop();
    assay_manager_free(manager);
    r = rec_read("run.assay");
    assert_int_equal(rec_calls(&r, "managed"), 40);
    assert_int_equal(as_saved_profile_run(&v, r.run, r.layers, NULL, &err), ASSAY_OK);
    assert_null(v->memory.why);
    assert_int_equal(v->layer[0].memory_readings, 40);
    assert_true(v->layer[0].min_memory_mb > 0);
    as_saved_profile_free(v);
    rec_done(&r);
}

static void a_run_without_memory_says_so(void **state)
{
    struct as_saved_profile *v;
    struct assay_error err;
    struct as_out out;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    ASSAY_BEGIN("one");
    ASSAY_END("one");
    rec_stop();
    r = rec_read("run.assay");
    assert_int_equal(as_saved_profile_run(&v, r.run, r.layers, NULL, &err), ASSAY_OK);
    assert_non_null(v->memory.why);
    assert_non_null(v->leaks.why);
    assert_int_equal(as_out_memory(&out, &err), ASSAY_OK);
    as_session_classic(&out, v, 0);
    assert_non_null(strstr(as_out_get(&out, NULL), "Total layers             1\n"));
    as_out_drop(&out);
    as_saved_profile_free(v);
    rec_done(&r);
}

/* A layer within another lasts no longer than the session with both of them. */
static void the_classic_text_counts_nested_layers_once(void **state)
{
    struct as_saved_profile *v = view_of(
        "{\"schema\":\"assay.session\",\"schema_version\":1,\"profiling_session\":{\"start_time\":"
        "10,"
        "\"end_time\":13,\"duration_seconds\":3},\"layer_profiling\":{\"layer_stats\":{\"outer\":{"
        "\"call_count\":1,\"total_time\":3,\"self_time\":1,\"mean_time\":3},\"inner\":{"
        "\"call_count\":1,\"total_time\":2,\"self_time\":2,\"mean_time\":2}}}}");
    struct assay_error err;
    struct as_out out;

    (void)state;
    assert_true(v->total_time == 5);
    assert_int_equal(as_out_memory(&out, &err), ASSAY_OK);
    as_session_classic(&out, v, 0);
    assert_non_null(strstr(as_out_get(&out, NULL), "Total time               3000.000 ms\n"));
    as_out_drop(&out);
    as_saved_profile_free(v);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_comes_back),
        cmocka_unit_test(wrong_json_is_refused_in_a_sentence),
        cmocka_unit_test(wrong_types_are_not_known),
        cmocka_unit_test(the_classic_text_counts_nested_layers_once),
        RECORDED(a_run_tells_of_growth_and_bottlenecks),
        RECORDED(a_managers_layers_keep_their_memory),
        RECORDED(a_run_without_memory_says_so),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
