/* tests/unit/test_bench_result.c - figures, savings, intervals and verdicts of an experiment,
 * against sums worked out by hand and by NumPy. */
#include "unit.h"

#include <stdio.h>

#include "experiment/bench/bench_result.h"

/* Baseline 10, 20, 30, 40 ms, the setting half of it and a little more each. */
static const uint64_t base_ns[] = {10000000, 20000000, 30000000, 40000000};
static const uint64_t fast_ns[] = {5000000, 11000000, 14000000, 21000000};

static void fill(struct as_bench *bench, const char *kind)
{
    assert_int_equal(as_bench_init(bench, kind, 2, NULL), ASSAY_OK);
    bench->n_samples = 4;
    bench->baseline = 0;
    (void)snprintf(bench->settings[0].name, AS_GRID_NAME, "softmax");
    (void)snprintf(bench->settings[1].name, AS_GRID_NAME, "mincut_l0.5_t2");
    for (uint64_t i = 0; i < 4; i++)
        for (uint64_t s = 0; s < 2; s++) {
            struct as_bench_sample sample;

            as_bench_sample_init(&sample);
            sample.setting = s;
            sample.sample_id = i;
            sample.wall_ns = s ? fast_ns[i] : base_ns[i];
            sample.peak_mem_bytes = s ? 800 + i : 1000;
            sample.coherence_delta = s ? -0.001 * (double)(i + 1) : 0;
            sample.passes = s ? i != 3 : 1;
            sample.contradicts = 0;
            if (s) {
                sample.positions_kept = 75 + i;
                sample.positions_total = 100;
                sample.edges_kept = 10;
                sample.edges_total = 40;
            }
            (void)snprintf(sample.output_hash, sizeof sample.output_hash, "%064u",
                           s && i == 2 ? 1U : 0U);
            assert_int_equal(as_bench_keep(bench, &sample, NULL, NULL), ASSAY_OK);
        }
}

static void near(double value, double wanted)
{
    assert_true(fabs(value - wanted) <= 1e-9 * fmax(1, fabs(wanted)));
}

static void figures_come_out_as_by_hand(void **state)
{
    struct as_bench_result *r = NULL;
    const struct as_bench_row *row;
    struct as_bench bench;

    (void)state;
    fill(&bench, "attention");
    assert_int_equal(as_bench_result_new(&r, &bench, NULL, NULL, NULL), ASSAY_OK);
    row = &r->rows[1];
    near(row->wall.median, 12500000);
    near(row->wall.percentile[AS_SUMMARY_P95], 21000000);
    assert_true(isnan(row->median_ns.low)); /* four samples do not pin a median down */
    near(row->p95_change, 21.0 / 40 - 1);
    near(row->latency_reduction.value, 1 - 51.0 / 100);
    near(row->kv_cache_reduction.value, 1 - 306.0 / 400);
    near(row->peak_mem_reduction.value, 1 - 3206.0 / 4000);
    near(row->coherence_delta.value, -0.0025);
    near(row->coherence_loss, 0.0025);
    /* Student with 3 degrees: 3.182446 times std 0.00129099 / 2. */
    assert_true(fabs(row->coherence_delta.low - (-0.0025 - 3.182446305 * 0.0012909944 / 2)) < 1e-9);
    near(row->accuracy, 0.75);
    near(row->edges_kept.value, 0.25);
    /* exp(mean(log(ratios))) with ratios 0.5, 0.55, 14/30, 0.525. */
    assert_true(fabs(row->time_ratio.value - 0.5094771) < 1e-6);
    assert_true(row->time_ratio.low < 0.51 && row->time_ratio.high > 0.509);
    assert_true(row->p < 0.01);
    assert_true(isnan(row->energy_reduction.value));
    assert_true(isnan(row->energy_j.value));
    assert_true(row->outputs_known);
    assert_false(row->same_outputs);
    as_bench_result_free(r);
    as_bench_fini(&bench);
}

static void intervals_of_shares_stay_within_the_whole(void **state)
{
    struct as_bench_result *r = NULL;
    const struct as_bench_row *row;
    struct as_bench bench;

    (void)state;
    fill(&bench, "attention");
    for (unsigned i = 0; i < 4; i++) {
        struct as_bench_sample *s = &bench.settings[1].samples[i];

        s->edges_kept = i == 3 ? 3 : 0;
        s->positions_kept = i == 3 ? 97 : 100;
        s->decisions = 10;
        s->cuts = i == 3 ? 1 : 0;
    }
    assert_int_equal(as_bench_result_new(&r, &bench, NULL, NULL, NULL), ASSAY_OK);
    row = &r->rows[1];
    near(row->edges_kept.value, 3.0 / 160);
    assert_true(row->edges_kept.low == 0 && row->edges_kept.high > row->edges_kept.value);
    near(row->cuts.value, 1.0 / 40);
    assert_true(row->cuts.low == 0 && row->cuts.high > row->cuts.value);
    near(row->kv_cache_reduction.value, 3.0 / 400);
    assert_true(row->kv_cache_reduction.low == 0 && row->kv_cache_reduction.high > 3.0 / 400);
    as_bench_result_free(r);
    as_bench_fini(&bench);
}

static void criteria_are_met_missed_or_unknown(void **state)
{
    const enum as_verdict witness[] = {AS_VERDICT_UNKNOWN, AS_VERDICT_MET};
    struct as_bench_limits limits = AS_BENCH_LIMITS_INIT;
    struct as_bench_result *r = NULL;
    struct as_bench bench;
    char rule[120];

    (void)state;
    fill(&bench, "attention");
    assert_int_equal(as_bench_result_new(&r, &bench, &limits, witness, NULL), ASSAY_OK);
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_QUALITY], AS_VERDICT_MISSED);
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_KV_CACHE], AS_VERDICT_MET);
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_ENERGY], AS_VERDICT_UNKNOWN);
    /* Four samples tell nothing of the slowest twentieth. */
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_LATENCY], AS_VERDICT_UNKNOWN);
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_WITNESS], AS_VERDICT_MET);
    assert_int_equal(r->n_met, 0);
    as_bench_result_free(r);
    limits.min_accuracy = 0.7;
    assert_int_equal(as_bench_result_new(&r, &bench, &limits, witness, NULL), ASSAY_OK);
    assert_int_equal(r->n_met, 1);
    assert_true(r->rows[1].met);
    as_bench_result_free(r);
    limits.min_kv_reduction = 0.24;
    assert_int_equal(as_bench_result_new(&r, &bench, &limits, witness, NULL), ASSAY_OK);
    assert_int_equal(r->rows[1].criteria[AS_CRITERION_KV_CACHE], AS_VERDICT_MISSED);
    as_bench_result_free(r);
    for (int c = 0; c < AS_CRITERION_COUNT; c++) {
        as_criterion_rule((enum as_criterion)c, &limits, rule);
        assert_true(strlen(rule) > 10);
    }
    as_bench_fini(&bench);
}

static void other_workloads_are_not_judged(void **state)
{
    struct as_bench_result *r = NULL;
    struct as_bench bench;

    (void)state;
    fill(&bench, "command");
    bench.baseline = SIZE_MAX;
    assert_int_equal(as_bench_result_new(&r, &bench, NULL, NULL, NULL), ASSAY_OK);
    assert_false(r->judged);
    assert_true(isnan(r->rows[1].time_ratio.value));
    as_bench_result_free(r);
    as_bench_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_come_out_as_by_hand),
        cmocka_unit_test(intervals_of_shares_stay_within_the_whole),
        cmocka_unit_test(criteria_are_met_missed_or_unknown),
        cmocka_unit_test(other_workloads_are_not_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
