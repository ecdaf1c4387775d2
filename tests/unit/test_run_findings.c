/* tests/unit/test_run_findings.c - what runs say about memory, leaks and bottlenecks, and runs of a
 * manager that anybody made. */
#include "recorder_kit.h"

#include <assay/manager.h>
#include <math.h>

#include "analyze/run/run_findings.h"
#include "report/findings/findings_report.h"
#include "report/run/show.h"

/* A run of a manager whose parts are the lines: a name, a space, JSON. */
static struct as_run *run_of(const char *const *line, size_t n)
{
    struct as_run_maker maker;
    struct assay_error err;
    struct as_run *run;

    assert_int_equal(as_run_maker_open(&maker, NULL, AS_KIND_MANAGER, &err), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        const char *json = strchr(line[i], ' ') + 1;
        const size_t size = (size_t)(json - line[i]) - 1;
        uint8_t payload[4096], *end = as_put_text(payload, line[i], size);

        memcpy(end, json, strlen(json));
        end += strlen(json);
        assert_true(
            as_run_writer_add(&maker.file, AS_BLOCK_DATA, payload, (size_t)(end - payload), 0));
    }
    assert_int_equal(as_run_maker_finish(&maker, &run, &err), ASSAY_OK);
    return run;
}

/* Whatever a run of a manager holds, it is shown or refused in a sentence. */
static void hostile_parts_are_refused_in_a_sentence(void **state)
{
    static const char head[] = "manager {\"assay_version\":\"x\"}";
    static const char *const bad[][2] = {
        {head, "layers {\"columns\":[],\"rows\":[]}"}, /* most of the head is missing */
        {"manager []", "layers {}"},
        {"manager {}", "layers 3"},
        {"layers {\"columns\":[[\"layer\",\"string\",null]],\"rows\":[[null]]}", head},
        {"layers {\"columns\":[[\"layer\",\"string\",null]],\"rows\":[[7]]}", head},
    };
    const struct as_term term = {.width = 80};
    const struct as_show show = AS_SHOW_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct as_run *run = run_of(bad[i], 2);
        struct assay_error err = {0};
        struct as_out out;

        assert_int_equal(as_out_memory(&out, &err), ASSAY_OK);
        assert_int_equal(as_show_page(run, &show, &out, &term, &err), ASSAY_ERR_FORMAT);
        assert_non_null(strstr(err.msg, "malformed"));
        as_out_drop(&out);
        as_run_close(run);
    }
}

/* The layers of a manager's run, of which one member is something else. */
static int get_layers(struct assay_layer_stats layer)
{
    struct as_manager_run found = {.assay_version = "x",
                                   .layers = {.layers = &layer, .n_layers = 1}};
    struct as_run_maker maker;
    struct assay_error err;
    struct as_run *run;
    int rc;

    assert_int_equal(as_run_maker_open(&maker, NULL, AS_KIND_MANAGER, &err), ASSAY_OK);
    as_manager_run_put(&maker, &found);
    assert_int_equal(as_run_maker_finish(&maker, &run, &err), ASSAY_OK);
    rc = as_manager_run_get(run, &found, &err);
    as_run_close(run);
    return rc;
}

static void what_no_manager_measured_is_refused(void **state)
{
    static const double times[] = {1, 2, 3};
    const struct assay_layer_stats good = {.layer = "a",
                                           .call_count = 3,
                                           .total_seconds = 6,
                                           .execution_times_seconds = times,
                                           .n_execution_times = 3};
    struct assay_layer_stats bad = good;

    (void)state;
    assert_int_equal(get_layers(good), ASSAY_OK);
    bad.total_seconds = -1;
    assert_int_equal(get_layers(bad), ASSAY_ERR_FORMAT);
    bad.total_seconds = 1e300;
    assert_int_equal(get_layers(bad), ASSAY_ERR_FORMAT);
    bad = good;
    bad.call_count = UINT64_MAX;
    assert_int_equal(get_layers(bad), ASSAY_ERR_FORMAT);
    bad = good;
    bad.nested = true;
    bad.self_times_seconds = times;
    bad.n_self_times = 2; /* of three calls */
    assert_int_equal(get_layers(bad), ASSAY_ERR_FORMAT);
    bad.n_self_times = 3;
    assert_int_equal(get_layers(bad), ASSAY_OK);
}

/* Marks with notes: 60 iterations in which one layer ends with ever more memory. */
static void a_run_tells_of_growth_and_bottlenecks(void **state)
{
    uint32_t grows = assay_layer("grows"), flat = assay_layer("flat");
    struct as_run_findings *v;
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
    if (as_run_findings_new(&v, r.run, r.layers, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_null(v->memory.why);
    assert_true(v->memory.peak_mb > 470 && v->memory.peak_mb < 480); /* 499e6 bytes in MiB */
    assert_true(v->leaks.found.summary.growing);
    for (size_t i = 0; i < v->leaks.found.n_incidents; i++) {
        const struct assay_leak_incident *x = &v->leaks.found.incidents[i];

        assert_false(x->layer && strcmp(x->layer, "flat") == 0);
        if (x->layer && strcmp(x->layer, "grows") == 0) {
            named = true;
            assert_true(x->mb_per_step > 0.9 && x->mb_per_step < 1.0);
        }
    }
    assert_true(named);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(r.layers->layer[i].memory.samples, 300);
    assert_int_equal(v->bottlenecks.n_layers, 2);
    assert_int_equal(v->bottlenecks.n_calls, 600);
    as_run_findings_free(v);
    rec_done(&r);
}

/* A manager whose layers go into a recording session: the run tells of memory by layer too. */
static void a_managers_layers_keep_their_memory(void **state)
{
    struct assay_manager *manager;
    struct as_run_findings *v;
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
    assert_int_equal(as_run_findings_new(&v, r.run, r.layers, NULL, &err), ASSAY_OK);
    assert_null(v->memory.why);
    assert_int_equal(r.layers->layer[0].memory.samples, 40);
    assert_true(r.layers->layer[0].memory.min_mb > 0);
    as_run_findings_free(v);
    rec_done(&r);
}

static void a_run_without_memory_says_so(void **state)
{
    const struct as_report_options options = {0};
    struct as_report report;
    struct as_run_findings *v;
    struct assay_error err;
    struct as_out out;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    ASSAY_BEGIN("one");
    ASSAY_END("one");
    rec_stop();
    r = rec_read("run.assay");
    assert_int_equal(as_run_findings_new(&v, r.run, r.layers, NULL, &err), ASSAY_OK);
    assert_non_null(v->memory.why);
    assert_non_null(v->leaks.why);
    assert_int_equal(as_out_memory(&out, &err), ASSAY_OK);
    report = (struct as_report){.run = r.run, .layers = r.layers, .options = &options, .view = v};
    assert_int_equal(as_classic_text(&out, &report, &err), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "Total layers             1\n"));
    as_out_drop(&out);
    as_run_findings_free(v);
    rec_done(&r);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_parts_are_refused_in_a_sentence),
        cmocka_unit_test(what_no_manager_measured_is_refused),
        RECORDED(a_run_tells_of_growth_and_bottlenecks),
        RECORDED(a_managers_layers_keep_their_memory),
        RECORDED(a_run_without_memory_says_so),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
