/* The study of overhead: pairs on a clock of the test's own, classes, budgets, and a real run. */
#include "fake_work.h"
#include "study_kit.h"

#include <assay/session.h>

#include <stdlib.h>
#include <unistd.h>

#include "measure/latency/interleaved_run.h"
#include "report/machine/machine_report.h"

/* Twice the work on the same clock. */
static int fake_both(void *user, struct assay_error *err)
{
    int rc = fake_call(user, err);

    return rc < 0 ? rc : fake_call(user, err);
}

static void a_pair_tells_the_factor(void **state)
{
    struct fake_work w = {.call_ns = 1000, .noise = 0.05};
    struct as_interference_source source = fake_source(&w);
    const struct as_pair_options options = {.plain = fake_call,
                                            .plain_user = &w,
                                            .other = fake_both,
                                            .other_user = &w,
                                            .time_s = 0.01,
                                            .source = &source};
    struct as_pair_run run;

    (void)state;
    assert_int_equal(as_pair_run(&run, &options, NULL), ASSAY_OK);
    assert_true(run.n_pairs >= AS_PAIR_MIN);
    assert_true(run.batch >= 20); /* a call is far shorter than a sample */
    assert_float_equal(run.factor, 2, 0.05);
    assert_float_equal(run.plain.summary.median, 1000, 50);
    assert_float_equal(run.other.summary.median, 2000, 100);
    assert_true(run.factor_low <= run.factor && run.factor <= run.factor_high);
}

static void a_pair_that_fails_is_a_failure(void **state)
{
    struct fake_work w = {
        .call_ns = 1000, .fails_at = 5000, .fails_with = ASSAY_ERR_IO, .fails_why = "gone"};
    struct as_interference_source source = fake_source(&w);
    const struct as_pair_options options = {.plain = fake_call,
                                            .plain_user = &w,
                                            .other = fake_both,
                                            .other_user = &w,
                                            .time_s = 1,
                                            .source = &source};
    struct as_pair_run run;
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_pair_run(&run, &options, &err), ASSAY_ERR_IO);
    assert_string_equal(err.msg, "gone");
}

static struct as_overhead_run made_up(double factor)
{
    struct as_overhead_run run = {.clock = "tsc"};

    for (int i = 0; i < AS_OVERHEAD_COUNT; i++)
        run.pairs[i] = (struct as_overhead_pair){.known = true,
                                                 .n_steps = 100,
                                                 .n_pairs = 10,
                                                 .plain_ns = 1e5,
                                                 .with_ns = factor * 1e5,
                                                 .factor = factor,
                                                 .factor_low = factor - 0.05,
                                                 .factor_high = factor + 0.05};
    for (int i = 0; i < AS_PROBE_COUNT; i++)
        run.probes[i] = (struct as_probe_cost){
            .known = true, .ns = 20, .low_ns = 19, .high_ns = 21, .least_ns = 18};
    return run;
}

static void the_three_levels_are_at_2_and_10(void **state)
{
    static const struct {
        double factor;
        const char *name;
    } cases[] = {{1, "low"},         {1.99, "low"}, {2, "moderate"},
                 {9.99, "moderate"}, {10, "high"},  {400, "high"}};
    struct as_overhead o;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_overhead_run run = made_up(cases[i].factor);

        as_overhead_judge(&o, &run);
        assert_string_equal(o.class_name, cases[i].name);
        assert_true(o.hint[0] != 0);
        assert_float_equal(o.factor, cases[i].factor, 1e-12);
        assert_float_equal(o.rows[0].cost_share, cases[i].factor - 1, 1e-12);
    }
}

static void the_budget_is_the_cost_by_the_share(void **state)
{
    struct as_overhead_run run = made_up(1.1); /* 10 % of 100 us in 100 steps: 100 ns each */
    struct as_overhead o;

    (void)state;
    as_overhead_judge(&o, &run);
    assert_float_equal(o.budgets[AS_BUDGET_STEP].cost_ns, 100, 1e-6);
    assert_float_equal(o.budgets[AS_BUDGET_STEP].shortest_ns[0], 1e4, 1e-3);
    assert_float_equal(o.budgets[AS_BUDGET_STEP].shortest_ns[1], 2e3, 1e-3);
    assert_float_equal(o.budgets[AS_BUDGET_SCOPE].shortest_ns[0], 2000, 1e-6);
    assert_true(o.rows[AS_OVERHEAD_PROFILE_TINY].shown);
    run = made_up(0.99);
    as_overhead_judge(&o, &run);
    assert_float_equal(o.budgets[AS_BUDGET_STEP].cost_ns, 0, 0);
    assert_false(o.rows[AS_OVERHEAD_PROFILE_TINY].shown);
}

static void what_was_not_recorded_is_null_with_a_reason(void **state)
{
    struct as_overhead_run run = made_up(1.1);
    struct as_topology topology = kit_topology();
    struct as_overhead o;
    const struct as_overhead_report report = {.overhead = &o, .topology = &topology};
    struct as_out out = unit_out();
    const char *text;

    (void)state;
    run.probes[AS_PROBE_SCOPE] = (struct as_probe_cost){0};
    run.pairs[AS_OVERHEAD_RECORD_TINY] = (struct as_overhead_pair){0};
    (void)snprintf(run.session_why, sizeof run.session_why, "the disk is full");
    as_overhead_judge(&o, &run);
    assert_true(isnan(o.budgets[AS_BUDGET_SCOPE].shortest_ns[0]));
    UNIT_JSON(&out, as_json_fields_put(&w_, &as_overhead_document_shape, &report));
    text = as_out_get(&out, NULL);
    assert_non_null(strstr(text, "\"ns_reason\": \"the disk is full\""));
    assert_non_null(strstr(text, "\"overhead_class\": \"unknown\""));
    as_out_drop(&out);
}

static void pages_fit_and_have_every_part(void **state)
{
    static const unsigned widths[] = {80, 160};
    static const char *const keys[] = {"factor",
                                       "overhead_class",
                                       "hint",
                                       "probes",
                                       "profilers",
                                       "baseline_ms",
                                       "budget",
                                       "profiled_ms",
                                       "cost_share",
                                       "cost_per_step_ns",
                                       "best_practices",
                                       "lost_events",
                                       "shortest_1_percent_ns"};
    struct as_overhead_run run = made_up(1.1);
    struct as_topology topology = kit_topology();
    struct as_overhead o;
    struct as_overhead_report report = {.overhead = &o, .topology = &topology};
    struct as_out out = unit_out();
    const char *text;

    (void)state;
    as_overhead_judge(&o, &run);
    for (size_t i = 0; i < UNIT_COUNT(widths); i++) {
        const struct as_term term = {.width = widths[i]};

        assert_int_equal(as_overhead_page(&report, &out, &term, NULL), ASSAY_OK);
        text = as_out_get(&out, NULL);
        kit_expect_width(text, widths[i]);
        assert_null(strchr(text, '\x1b'));
        assert_non_null(strstr(text, "\nBudget"));
        assert_non_null(strstr(text, "\nBest practice"));
        out.used = 0;
    }
    report.markdown = true;
    assert_int_equal(as_overhead_page(&report, &out, &(struct as_term){.width = 80}, NULL),
                     ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "## Probes"));
    out.used = 0;
    UNIT_JSON(&out, as_json_fields_put(&w_, &as_overhead_document_shape, &report));
    text = as_out_get(&out, NULL);
    for (size_t i = 0; i < UNIT_COUNT(keys); i++)
        kit_expect_key(text, keys[i], true);
    as_out_drop(&out);
}

/* Small and real: everything is there, and nothing stays open. */
static void a_run_fills_every_figure(void **state)
{
    char folder[] = "/tmp/assay-test-XXXXXX", path[64];
    struct as_overhead_options options = {.record = path, .rounds = 5, .pair_s = 0.002};
    struct as_overhead_run run;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/run.assay", folder);
    assert_int_equal(as_overhead_run(&run, &options, NULL), ASSAY_OK);
    assert_string_equal(run.session_why, "");
    for (int i = 0; i < AS_PROBE_COUNT; i++) {
        assert_true(run.probes[i].known);
        assert_true(run.probes[i].least_ns >= 0 && run.probes[i].least_ns <= run.probes[i].ns);
    }
    for (int i = 0; i < AS_OVERHEAD_COUNT; i++) {
        assert_true(run.pairs[i].known);
        assert_true(run.pairs[i].plain_ns > 0 && run.pairs[i].factor > 0);
    }
    assert_true(run.pairs[AS_OVERHEAD_PROFILE_TINY].n_steps >
                10 * run.pairs[AS_OVERHEAD_PROFILE_LARGE].n_steps);
    assert_false(assay_session_is_open());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);

    options.record = NULL;
    assert_int_equal(as_overhead_run(&run, &options, NULL), ASSAY_OK);
    assert_true(run.session_why[0] != 0);
    assert_false(run.probes[AS_PROBE_SCOPE].known);
    assert_true(run.probes[AS_PROBE_CLOCK].known);
    assert_false(run.pairs[AS_OVERHEAD_RECORD_TINY].known);
    options.record = "/proc/nowhere/run.assay";
    assert_int_equal(as_overhead_run(&run, &options, NULL), ASSAY_OK);
    assert_non_null(strstr(run.session_why, "/proc/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_tells_the_factor),
        cmocka_unit_test(a_pair_that_fails_is_a_failure),
        cmocka_unit_test(the_three_levels_are_at_2_and_10),
        cmocka_unit_test(the_budget_is_the_cost_by_the_share),
        cmocka_unit_test(what_was_not_recorded_is_null_with_a_reason),
        cmocka_unit_test(pages_fit_and_have_every_part),
        cmocka_unit_test(a_run_fills_every_figure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
