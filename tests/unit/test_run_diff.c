/* tests/unit/test_run_diff.c - what changed between two runs: percentages, tests, verdicts, and
 * what runs and hostile accounts are turned into. */
#include "run_kit.h"

#include "analyze/run/run_diff.h"
#include "base/alloc.h"
#include "report/compare/compare_report.h"
#include "stats/describe/rng.h"

#define N ((size_t)200)

static double base[N], slower[N], noise[N];
static struct as_diff *diff;

static int prepare(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 3);
    for (size_t i = 0; i < N; i++) {
        base[i] = 1000 + 10 * as_rng_normal(&rng);
        noise[i] = 1000 + 10 * as_rng_normal(&rng);
        slower[i] = 1100 + 10 * as_rng_normal(&rng);
    }
    return 0;
}

static double sum(const double *v)
{
    double all = 0;

    for (size_t i = 0; i < N; i++)
        all += v[i];
    return all;
}

static struct as_diff_layer by_calls(const char *name, const double *v)
{
    double all = sum(v);

    return (struct as_diff_layer){.name = name,
                                  .calls = N,
                                  .total_ns = all,
                                  .self_ns = all,
                                  .mean_ns = all / (double)N,
                                  .call_ns = v,
                                  .n_call_ns = N};
}

static struct as_diff_layer by_iterations(const char *name, const double *v)
{
    struct as_diff_layer layer = by_calls(name, v);

    layer.iteration_ns = v;
    layer.n_iteration_ns = N;
    return layer;
}

static struct as_diff_side side_of(const char *name, const struct as_diff_layer *layer, size_t n)
{
    struct as_diff_side side = {
        .name = name, .peak_memory_bytes = UNIT_NAN, .layer = layer, .n_layers = n};

    for (size_t i = 0; i < n; i++)
        side.total_ns += layer[i].self_ns;
    return side;
}

static void compare(const struct as_diff_side *a, const struct as_diff_side *b)
{
    struct assay_error err = {0};

    if (as_diff_new(&diff, a, b, NULL, &err) < 0)
        fail_msg("%s", err.msg);
}

static const struct as_diff_row *row(const char *name)
{
    static const struct as_diff_row none;

    for (size_t i = 0; i < diff->n_rows; i++) {
        if (strcmp(diff->row[i].name, name) == 0)
            return &diff->row[i];
    }
    fail_msg("no row %s", name);
    return &none;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want) + 1e-12))
        fail_msg("%.17g is not %.17g", got, want);
}

static void done(void)
{
    as_diff_free(diff);
    diff = NULL;
}

/* ---- the whole ---- */

static void percentages_are_the_documented_ones(void **state)
{
    struct as_diff_side a = side_of("a", NULL, 0), b = side_of("b", NULL, 0);

    (void)state;
    a.total_ns = 200e6;
    b.total_ns = 150e6;
    a.peak_memory_bytes = 400;
    b.peak_memory_bytes = 500;
    compare(&a, &b);
    near(diff->speedup_percent, 25);
    near(diff->reduction_percent, -25);
    assert_true(isnan(diff->slower_percent)); /* nothing to test */
    done();
    a.total_ns = 0;
    a.peak_memory_bytes = 0;
    compare(&a, &b);
    assert_true(isnan(diff->speedup_percent) && isnan(diff->reduction_percent));
    done();
}

static void the_same_run_twice_shows_no_difference(void **state)
{
    struct as_diff_layer layer[] = {by_calls("x", base), by_calls("y", slower)};
    struct as_diff_side a = side_of("a", layer, 2);

    (void)state;
    a.iteration_ns = base;
    a.n_iteration_ns = a.n_iterations = N;
    compare(&a, &a);
    assert_int_equal(diff->verdict, AS_DIFF_SAME);
    near(diff->slower_percent, 0);
    near(diff->speedup_percent, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(diff->row[i].verdict, AS_DIFF_SAME);
        near(diff->row[i].test.p, 1);
        near(diff->row[i].change, 0);
        assert_true(isnan(diff->row[i].change_share)); /* nothing changed */
    }
    done();
}

static void iterations_decide_the_whole(void **state)
{
    struct as_diff_side a = side_of("a", NULL, 0), b = a;

    (void)state;
    a.iteration_ns = base;
    b.iteration_ns = slower;
    a.n_iteration_ns = b.n_iteration_ns = a.n_iterations = b.n_iterations = N;
    compare(&a, &b);
    assert_int_equal(diff->whole.basis, AS_DIFF_ITERATIONS);
    assert_int_equal(diff->verdict, AS_DIFF_SLOWER);
    assert_true(fabs(diff->slower_percent - 10) < 0.5);
    assert_true(diff->whole.shift_low_ns < 100 && diff->whole.shift_high_ns > 100);
    assert_true(diff->whole.shift_low_ns < diff->whole.shift_ns &&
                diff->whole.shift_ns < diff->whole.shift_high_ns);
    done();
    b.iteration_ns = noise;
    compare(&a, &b);
    assert_int_equal(diff->verdict, AS_DIFF_SAME);
    near(diff->slower_percent, 0);
    done();
    b.iteration_ns = slower;
    b.n_iteration_ns = 8; /* too few */
    compare(&a, &b);
    assert_int_equal(diff->whole.basis, AS_DIFF_NONE);
    done();
}

/* ---- layers ---- */

static void layers_are_judged_one_by_one(void **state)
{
    const struct as_diff_layer a_layer[] = {by_calls("same", base), by_calls("worse", base),
                                            by_calls("better", slower), by_calls("gone", base)};
    const struct as_diff_layer b_layer[] = {by_calls("better", base), by_calls("same", noise),
                                            by_calls("worse", slower), by_calls("new", slower)};
    struct as_diff_side a = side_of("a", a_layer, 4), b = side_of("b", b_layer, 4);
    double all = 0;

    (void)state;
    compare(&a, &b);
    assert_int_equal(diff->n_rows, 5);
    assert_int_equal(diff->n_tested, 3);
    assert_int_equal(diff->n_calls_tested, 3);
    assert_int_equal(row("same")->verdict, AS_DIFF_SAME);
    assert_int_equal(row("worse")->verdict, AS_DIFF_SLOWER);
    assert_int_equal(row("better")->verdict, AS_DIFF_FASTER);
    assert_int_equal(row("gone")->verdict, AS_DIFF_ONLY_A);
    assert_int_equal(row("new")->verdict, AS_DIFF_ONLY_B);
    near(row("worse")->change_ns, sum(slower) - sum(base));
    near(row("worse")->change, sum(slower) / sum(base) - 1);
    near(row("gone")->change_ns, -sum(base));
    assert_true(isnan(row("gone")->time_ns[1]) && isnan(row("new")->change));
    for (size_t i = 0; i < diff->n_rows; i++) {
        all += diff->row[i].change_share;
        if (i > 0)
            assert_true(fabs(diff->row[i - 1].change_ns) >= fabs(diff->row[i].change_ns));
    }
    near(all, 1);
    near(diff->shown_change,
         (row("worse")->change_ns + row("better")->change_ns + sum(slower) - sum(base)) /
             (3 * sum(base) + sum(slower)));
    done();
}

/* A difference that is sure and small is none; --threshold says what small is. */
static void small_changes_are_none(void **state)
{
    static double a_bit[N];
    const struct as_diff_options strict = {.threshold = 0.001};
    struct as_diff_layer x = by_calls("x", base), y;
    struct as_diff_side a = side_of("a", &x, 1), b;

    (void)state;
    for (size_t i = 0; i < N; i++)
        a_bit[i] = base[i] + 8;
    y = by_calls("x", a_bit);
    b = side_of("b", &y, 1);
    compare(&a, &b);
    assert_true(diff->row[0].test.q < 0.01);
    assert_int_equal(diff->row[0].verdict, AS_DIFF_SAME);
    done();
    assert_int_equal(as_diff_new(&diff, &a, &b, &strict, NULL), ASSAY_OK);
    assert_int_equal(diff->row[0].verdict, AS_DIFF_SLOWER);
    done();
}

static void more_calls_are_not_slower_calls(void **state)
{
    struct as_diff_layer x = by_calls("x", base), y = by_calls("x", base);
    struct as_diff_side a, b;

    (void)state;
    y.calls *= 2;
    y.total_ns *= 2;
    y.self_ns *= 2;
    a = side_of("a", &x, 1);
    b = side_of("b", &y, 1);
    compare(&a, &b);
    assert_int_equal(diff->row[0].verdict, AS_DIFF_MORE);
    near(diff->row[0].change, 1);
    done();
    compare(&b, &a);
    assert_int_equal(diff->row[0].verdict, AS_DIFF_FEWER);
    done();
}

/* Most calls got slower, a few very long ones vanished: the sum and the test disagree. */
static void a_few_stalls_do_not_turn_the_verdict(void **state)
{
    struct as_diff_layer x = by_calls("x", base), y = by_calls("x", slower);
    struct as_diff_side a, b;

    (void)state;
    y.self_ns = 0.8 * x.self_ns;
    a = side_of("a", &x, 1);
    b = side_of("b", &y, 1);
    compare(&a, &b);
    assert_true(diff->row[0].test.p < 1e-6 && diff->row[0].test.shift_ns > 0);
    assert_int_equal(diff->row[0].verdict, AS_DIFF_SLOWER);
    done();
}

static void p_is_corrected_for_many_layers(void **state)
{
    enum { LAYERS = 100 };
    static double v[2][LAYERS][20];
    static char name[LAYERS][8];
    struct as_diff_layer layer[2][LAYERS];
    struct as_diff_side a, b;
    struct as_rng rng;
    size_t plain = 0;

    (void)state;
    as_rng_seed(&rng, 11);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < LAYERS; i++) {
            snprintf(name[i], sizeof name[i], "l%zu", i);
            for (size_t n = 0; n < 20; n++)
                v[k][i][n] = 1000 + 100 * as_rng_normal(&rng);
            layer[k][i] = (struct as_diff_layer){.name = name[i],
                                                 .calls = 20,
                                                 .self_ns = 20000,
                                                 .total_ns = 20000,
                                                 .call_ns = v[k][i],
                                                 .n_call_ns = 20};
        }
    }
    a = side_of("a", layer[0], LAYERS);
    b = side_of("b", layer[1], LAYERS);
    compare(&a, &b);
    for (size_t i = 0; i < LAYERS; i++) {
        assert_true(diff->row[i].test.q >= diff->row[i].test.p && diff->row[i].test.q <= 1);
        plain += diff->row[i].test.p < 0.05;
        assert_int_equal(diff->row[i].verdict, AS_DIFF_SAME);
    }
    assert_true(plain > 0); /* chance alone would have shown some */
    done();
}

/* Twice as many iterations take twice the time: per iteration nothing changed. */
static void different_numbers_of_iterations_are_compared_by_iteration(void **state)
{
    static double twice[2 * N], zero[2 * N];
    struct as_diff_layer x = by_iterations("step", base), y[2], load = by_calls("load", base);
    struct as_diff_layer before[2];
    struct as_diff_side a, b;

    (void)state;
    memcpy(twice, base, sizeof base);
    memcpy(twice + N, base, sizeof base);
    load.iteration_ns = zero;
    load.n_iteration_ns = N;
    before[0] = x;
    before[1] = load;
    y[0] = x;
    y[0].calls = 2 * N;
    y[0].self_ns = y[0].total_ns = 2 * x.self_ns;
    y[0].call_ns = y[0].iteration_ns = twice;
    y[0].n_call_ns = y[0].n_iteration_ns = 2 * N;
    y[1] = load;
    y[1].n_iteration_ns = 2 * N;
    a = side_of("a", before, 2);
    b = side_of("b", y, 2);
    a.iteration_ns = base;
    a.n_iteration_ns = a.n_iterations = N;
    b.iteration_ns = twice;
    b.n_iteration_ns = b.n_iterations = 2 * N;
    compare(&a, &b);
    assert_true(diff->per_iteration);
    near(row("step")->change, 0);
    assert_int_equal(row("step")->test.basis, AS_DIFF_ITERATIONS);
    assert_int_equal(row("step")->verdict, AS_DIFF_SAME);
    near(row("load")->change, 0); /* outside iterations: as a whole */
    assert_int_equal(row("load")->test.basis, AS_DIFF_CALLS);
    done();
}

/* Readings that come in long waves are worth few: what would be sure of independent ones is not. */
static void readings_that_are_alike_count_as_fewer(void **state)
{
    static double wave[2][N];
    struct as_diff_side a = side_of("a", NULL, 0), b = a;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        wave[0][i] = 1000 + 100 * sin((double)i * 6.283 / 100) + 0.01 * (base[i] - 1000);
        wave[1][i] = 1030 + 100 * sin((double)i * 6.283 / 100 + 1) + 0.01 * (noise[i] - 1000);
    }
    a.iteration_ns = wave[0];
    b.iteration_ns = wave[1];
    a.n_iteration_ns = b.n_iteration_ns = a.n_iterations = b.n_iterations = N;
    compare(&a, &b);
    assert_true(diff->whole.inflation > 5);
    assert_int_equal(diff->verdict, AS_DIFF_SAME);
    done();
}

/* The interval holds 0 exactly when the test shows nothing, however alike neighbors are. */
static void the_interval_and_the_test_agree(void **state)
{
    static double wave[2][N];
    size_t n_shown = 0, n_hidden = 0;

    (void)state;
    for (int apart = 0; apart <= 300; apart += 10) {
        struct as_diff_side a = side_of("a", NULL, 0), b = a;
        bool shown;

        for (size_t i = 0; i < N; i++) {
            wave[0][i] = 1000 + 100 * sin((double)i * 6.283 / 100) + 0.01 * (base[i] - 1000);
            wave[1][i] =
                1000 + apart + 100 * sin((double)i * 6.283 / 100 + 1) + 0.01 * (noise[i] - 1000);
        }
        a.iteration_ns = wave[0];
        b.iteration_ns = wave[1];
        a.n_iteration_ns = b.n_iteration_ns = a.n_iterations = b.n_iterations = N;
        compare(&a, &b);
        shown = diff->whole.p < 0.05;
        assert_int_equal(shown, diff->whole.shift_low_ns > 0 || diff->whole.shift_high_ns < 0);
        assert_true(diff->whole.shift_low_ns <= diff->whole.shift_ns &&
                    diff->whole.shift_ns <= diff->whole.shift_high_ns);
        n_shown += shown;
        n_hidden += !shown;
        done();
    }
    assert_true(n_shown > 3 && n_hidden > 0);
}

static void hostile_accounts_are_survived(void **state)
{
    double bad[N];
    struct as_diff_layer x = by_calls("x", base);
    const struct as_diff_layer odd[] = {
        {.name = "", .calls = 0, .self_ns = UNIT_NAN, .total_ns = UNIT_INFINITY},
        x,
        x, /* twice the same name: one row, no test */
        {.name = "huge", .calls = UINT64_MAX, .self_ns = 1e300, .total_ns = 1e300},
    };
    struct as_diff_side a = side_of("a", odd, 4), b = side_of("b", &x, 1);
    struct assay_error err;

    (void)state;
    compare(&a, &b);
    assert_int_equal(diff->n_rows, 3);
    near(row("x")->self_ns[0], 2 * x.self_ns);
    assert_int_equal(row("x")->test.basis, AS_DIFF_NONE);
    done();
    memcpy(bad, base, sizeof bad);
    bad[7] = UNIT_NAN;
    x.call_ns = bad;
    assert_int_equal(as_diff_new(&diff, &b, &b, NULL, &err), ASSAY_ERR_USAGE);
    assert_null(diff);
    as_diff_free(NULL);
}

static void rows_come_in_the_order_asked_for(void **state)
{
    const struct as_diff_layer a_layer[] = {by_calls("b", base), by_calls("a", slower)};
    const struct as_diff_layer b_layer[] = {by_calls("c", base), by_calls("b", slower)};
    struct as_diff_side a = side_of("a", a_layer, 2), b = side_of("b", b_layer, 2);
    static const struct {
        enum as_diff_sort sort;
        const char *first;
    } order[] = {{AS_DIFF_BY_CHANGE, "a"}, {AS_DIFF_BY_PERCENT, "b"}, {AS_DIFF_BY_BEFORE, "a"},
                 {AS_DIFF_BY_AFTER, "b"},  {AS_DIFF_BY_P, "b"},       {AS_DIFF_BY_NAME, "a"}};

    (void)state;
    compare(&a, &b);
    for (size_t i = 0; i < UNIT_COUNT(order); i++) {
        as_diff_order(diff, order[i].sort);
        assert_string_equal(diff->row[0].name, order[i].first);
    }
    done();
}

/* ---- runs ---- */

#define CONV 1
#define RELU 2
#define TWIN 3
#define RSS  4

/* Twelve iterations of a conv of `conv_ns` and up to 11 more, with a relu of 10 ns inside, and one
 * conv before them. Another site bears the name conv too. */
static void make_run(struct kit *k, uint64_t conv_ns, bool close)
{
    uint64_t at = 0;

    kit_begin(k);
    kit_site(k, CONV, ASSAY_CATEGORY_LAYER, "conv");
    kit_site(k, RELU, ASSAY_CATEGORY_LAYER, "relu");
    kit_site(k, TWIN, ASSAY_CATEGORY_LAYER, "conv");
    kit_site(k, RSS, ASSAY_CATEGORY_CHANNEL, "rss");
    {
        const struct as_event first[] = {BEGIN(0, TWIN), END(77, TWIN)};

        kit_events(k, 0, first, UNIT_COUNT(first));
    }
    at = 100;
    for (uint64_t i = 0; i < 12; i++) {
        const struct as_event e[] = {ITER(at),
                                     NUMBER(i),
                                     BEGIN(at + 1, CONV),
                                     BEGIN(at + 2, RELU),
                                     END(at + 12, RELU),
                                     END(at + 1 + conv_ns + i * 5 % 12, CONV)};

        kit_events(k, 0, e, UNIT_COUNT(e));
        at += 20 + conv_ns + i * 5 % 12;
    }
    {
        const struct as_event last[] = {ITER_END(at)};

        kit_events(k, 0, last, UNIT_COUNT(last));
    }
    if (close)
        kit_end(k, 0, 1);
}

static void a_run_becomes_a_side(void **state)
{
    struct as_diff_run *r;
    struct kit k;

    (void)state;
    make_run(&k, 100, true);
    assert_int_equal(as_diff_run_open(&r, k.path, false, NULL), ASSAY_OK);
    assert_null(r->broken);
    assert_int_equal(r->side.n_layers, 2);
    assert_string_equal(r->side.layer[0].name, "conv");
    assert_int_equal(r->side.layer[0].calls, 13);
    near(r->side.layer[0].self_ns, 77 + 12 * 90 + 66);
    assert_int_equal(r->side.layer[0].n_call_ns, 13);
    near(r->side.layer[0].call_ns[0], 77);
    near(r->side.layer[0].call_ns[1], 90);
    assert_int_equal(r->side.n_iterations, 12);
    assert_int_equal(r->side.n_iteration_ns, 12);
    near(r->side.iteration_ns[3], 123);
    near(r->side.layer[0].iteration_ns[0], 90); /* the call before them is in none */
    near(r->side.layer[0].iteration_ns[11], 97);
    near(r->side.layer[1].iteration_ns[5], 10);
    assert_true(isnan(r->side.peak_memory_bytes));
    as_diff_run_close(r);
    kit_close(&k);
}

static void runs_are_compared(void **state)
{
    struct as_diff_run *r[2];
    struct kit k[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        make_run(&k[i], i ? 150 : 100, true);
        assert_int_equal(as_diff_run_open(&r[i], k[i].path, false, NULL), ASSAY_OK);
    }
    compare(&r[0]->side, &r[1]->side);
    assert_int_equal(row("conv")->verdict, AS_DIFF_SLOWER);
    near(row("conv")->test.shift_ns, 50);
    assert_int_equal(row("relu")->verdict, AS_DIFF_SAME);
    assert_int_equal(diff->verdict, AS_DIFF_SLOWER);
    done();
    for (int i = 0; i < 2; i++) {
        as_diff_run_close(r[i]);
        kit_close(&k[i]);
    }
}

static void a_run_that_is_not_whole_is_refused(void **state)
{
    struct assay_error err;
    struct as_diff_run *r;
    struct kit k;

    (void)state;
    make_run(&k, 100, false);
    assert_int_equal(as_diff_run_open(&r, k.path, false, &err), ASSAY_ERR_STATE);
    assert_non_null(strstr(err.msg, "never closed"));
    assert_int_equal(as_diff_run_open(&r, k.path, true, &err), ASSAY_OK);
    assert_string_equal(r->broken, "was never closed");
    as_diff_run_close(r);
    kit_close(&k);
    kit_begin(&k);
    kit_end(&k, 0, 0);
    assert_int_equal(as_diff_run_open(&r, k.path, false, &err), ASSAY_ERR_NOTFOUND);
    assert_null(r);
    kit_close(&k);
    as_diff_run_close(NULL);
}

/* ---- faults ---- */

static int whole_life(const char *a_path, const char *b_path, struct assay_error *err)
{
    const struct as_term term = {.width = 80};
    struct as_diff_run *a = NULL, *b = NULL;
    struct as_diff *d = NULL;
    struct as_out out = {0};
    int rc = as_diff_run_open(&a, a_path, false, err);

    if (rc == ASSAY_OK)
        rc = as_diff_run_open(&b, b_path, false, err);
    if (rc == ASSAY_OK)
        rc = as_diff_new(&d, &a->side, &b->side, NULL, err);
    if (rc == ASSAY_OK)
        rc = as_out_memory(&out, err);
    if (rc == ASSAY_OK) {
        const struct as_diff_report report = {.diff = d};

        rc = as_diff_page(&report, &out, &term, err);
        if (rc == ASSAY_OK)
            rc = as_diff_json(&report, &out, err);
        if (rc == ASSAY_OK && out.nomem)
            rc = ASSAY_ERR_NOMEM;
        as_out_drop(&out);
    }
    as_diff_free(d);
    as_diff_run_close(a);
    as_diff_run_close(b);
    return rc;
}

static void any_allocation_may_fail(void **state)
{
    struct assay_error err = {0};
    struct kit k[2];
    uint64_t n;

    (void)state;
    make_run(&k[0], 100, true);
    make_run(&k[1], 150, true);
    as_alloc_fail_at(0, 0);
    assert_int_equal(whole_life(k[0].path, k[1].path, &err), ASSAY_OK);
    n = as_alloc_count();
    for (uint64_t nth = 1; nth <= n; nth++) {
        for (int persistent = 0; persistent < 2; persistent++) {
            int rc;

            as_alloc_fail_at(nth, persistent);
            rc = whole_life(k[0].path, k[1].path, &err);
            as_alloc_fail_at(0, 0);
            if (rc != ASSAY_OK)
                assert_int_equal(rc, ASSAY_ERR_NOMEM);
        }
    }
    kit_close(&k[0]);
    kit_close(&k[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentages_are_the_documented_ones),
        cmocka_unit_test(the_same_run_twice_shows_no_difference),
        cmocka_unit_test(iterations_decide_the_whole),
        cmocka_unit_test(layers_are_judged_one_by_one),
        cmocka_unit_test(small_changes_are_none),
        cmocka_unit_test(more_calls_are_not_slower_calls),
        cmocka_unit_test(a_few_stalls_do_not_turn_the_verdict),
        cmocka_unit_test(p_is_corrected_for_many_layers),
        cmocka_unit_test(different_numbers_of_iterations_are_compared_by_iteration),
        cmocka_unit_test(readings_that_are_alike_count_as_fewer),
        cmocka_unit_test(the_interval_and_the_test_agree),
        cmocka_unit_test(hostile_accounts_are_survived),
        cmocka_unit_test(rows_come_in_the_order_asked_for),
        cmocka_unit_test(a_run_becomes_a_side),
        cmocka_unit_test(runs_are_compared),
        cmocka_unit_test(a_run_that_is_not_whole_is_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, prepare, NULL);
}
