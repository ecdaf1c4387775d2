/* tests/unit/test_latency_run.c - warm-up, batches, when to stop, what made samples long.
 * The clock is the test's own, so every figure is known beforehand. */
#include "fake_work.h"

static struct as_latency_run measure(struct fake_work *w, struct as_latency_options *o)
{
    struct as_interference_source source = fake_source(w);
    struct as_latency_run out;
    struct assay_error err = {0};

    o->source = &source;
    if (as_latency_run(&out, fake_call, w, o, &err) != 0)
        fail_msg("%s", err.msg);
    return out;
}

static void steady_work_is_measured_exactly(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e6};
    struct as_latency_options o = {.runs = 50};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_int_equal(run.n, 50);
    assert_int_equal(run.batch, 1);
    assert_int_equal(run.stop, AS_STOP_RUNS);
    assert_near(run.timer_cost_ns, 20, 0);
    assert_near(run.timer_resolution_ns, 20, 0);
    assert_near(run.figures.summary.median, 1e6, 0); /* without the timer's cost */
    assert_near(run.figures.median.interval.low, 1e6, 0);
    assert_near(run.figures.median.interval.high, 1e6, 0);
    assert_true(run.warm_up.steady && run.steady);
    assert_true(run.warm_up.runs >= AS_LATENCY_WARMUP_RUNS);
    assert_near(as_latency_throughput(&run, 8), 8000, 1e-12);
    assert_true(run.figures.summary.supported[AS_SUMMARY_P50]);
    assert_false(run.figures.summary.supported[AS_SUMMARY_P99]);
    as_latency_run_fini(&run);
}

static void short_calls_are_batched(void **state)
{
    struct fake_work w = {.clock_ns = 25, .call_ns = 3.25};
    struct as_latency_options o = {.runs = 30};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_true((double)run.batch * 3.25 >= 20000);
    assert_true((double)run.batch * 3.25 < 60000);
    assert_near(run.figures.summary.median, 3.25, 1e-3);
    assert_true(run.steady);
    as_latency_run_fini(&run);
}

static void one_call_is_a_sample_when_asked(void **state)
{
    struct fake_work w = {.clock_ns = 25, .call_ns = 300};
    struct as_latency_options o = {.runs = 30, .no_batch = true};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_int_equal(run.batch, 1);
    assert_near(run.figures.summary.median, 300, 0);
    as_latency_run_fini(&run);
}

static void a_slow_clock_makes_longer_samples(void **state)
{
    struct fake_work w = {.clock_ns = 2000, .call_ns = 1000};
    struct as_latency_options o = {.runs = 20};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_true((double)run.batch * 1000 >= 100 * 2000);
    as_latency_run_fini(&run);
}

static void warm_up_lasts_until_the_cold_is_gone(void **state)
{
    /* 64 times as long at first, halved at each call: below 1 % from call 14 on. */
    struct fake_work w = {.clock_ns = 20, .call_ns = 2e6, .cold_ns = 128e6, .noise = 0.002};
    struct as_latency_options o = {.runs = 40, .warmup_s = 10};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_true(run.warm_up.steady);
    assert_true(run.warm_up.runs >= 14);
    assert_near(run.warm_up.first_ns, 130e6, 0.01);
    assert_true(run.figures.summary.max < 2.05e6);
    as_latency_run_fini(&run);
}

static void work_that_never_settles_is_not_called_steady(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e6, .drift = 0.01, .noise = 0.001};
    struct as_latency_options o = {.runs = 100, .warmup_s = 0.2};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_false(run.warm_up.steady);
    assert_false(run.steady);
    assert_true(run.figures.drifted);
    assert_true(run.figures.trend_p < 0.01);
    assert_true(run.figures.drift_share > 0.2);
    as_latency_run_fini(&run);
}

static void a_narrow_interval_ends_it(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e6, .noise = 0.005};
    struct as_latency_options o = {.time_s = 100};
    struct as_latency_run run = measure(&w, &o);
    double width = run.figures.median.interval.high - run.figures.median.interval.low;

    (void)state;
    assert_int_equal(run.stop, AS_STOP_WIDTH);
    assert_true(run.n >= AS_LATENCY_WANTED_RUNS);
    assert_true(run.seconds < 100);
    assert_true(width <= 0.01 * run.figures.summary.median);
    as_latency_run_fini(&run);
}

static void the_end_of_time_ends_it(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e6, .noise = 0.9};
    struct as_latency_options o = {.time_s = 0.5, .target = 1e-6};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_int_equal(run.stop, AS_STOP_TIME);
    assert_true(run.seconds >= 0.5 && run.seconds < 0.51);
    as_latency_run_fini(&run);
}

static void slow_work_is_still_run_often_enough(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e9, .noise = 0.1};
    struct as_latency_options o = {.time_s = 3};
    struct as_latency_run run = measure(&w, &o);

    (void)state;
    assert_int_equal(run.stop, AS_STOP_TIME);
    assert_int_equal(run.n, AS_LATENCY_MIN_RUNS);
    as_latency_run_fini(&run);
    w = (struct fake_work){.clock_ns = 20, .call_ns = 60e9};
    run = measure(&w, &o);
    assert_int_equal(run.n, 3);
    assert_false(run.figures.median.interval.reached);
    assert_true(run.warm_up.runs < 4);
    as_latency_run_fini(&run);
}

static void outliers_tell_what_they_saw(void **state)
{
    struct fake_work w = {
        .clock_ns = 20, .call_ns = 1e6, .noise = 0.01, .slow_every = 25, .slow_is_switch = true};
    struct as_latency_options o = {.runs = 500};
    struct as_latency_run run = measure(&w, &o);
    const struct as_cause_tally *cause = &run.causes[AS_CAUSE_INVOLUNTARY];

    (void)state;
    assert_int_equal(run.n_outliers, 20);
    assert_true(cause->known && cause->suspected);
    assert_int_equal(cause->n, 20);
    assert_int_equal(cause->n_outliers, 20);
    assert_int_equal(cause->n_others, 0);
    /* Every sample has a fault, long or not: that explains nothing. */
    assert_int_equal(run.causes[AS_CAUSE_MINOR_FAULT].n_outliers, 20);
    assert_int_equal(run.causes[AS_CAUSE_MINOR_FAULT].n_others, 480);
    assert_false(run.causes[AS_CAUSE_MINOR_FAULT].suspected);
    assert_false(run.causes[AS_CAUSE_VOLUNTARY].known);
    assert_true(run.causes[AS_CAUSE_STEAL].known);
    assert_int_equal(run.causes[AS_CAUSE_STEAL].n, 0);
    as_latency_run_fini(&run);
}

static void expect_failure(uint64_t at, int with, const char *why, int code, const char *sentence)
{
    struct fake_work w = {
        .clock_ns = 20, .call_ns = 1e6, .fails_at = at, .fails_with = with, .fails_why = why};
    struct as_interference_source source = fake_source(&w);
    struct as_latency_options o = {.runs = 100, .source = &source};
    struct as_latency_run run;
    struct assay_error err = {0};

    assert_int_equal(as_latency_run(&run, fake_call, &w, &o, &err), code);
    assert_string_equal(err.msg, sentence);
    assert_int_equal(w.calls, at); /* nothing is run after it */
    assert_null(run.samples_ns);
    assert_int_equal(run.n, 0);
}

static void a_failing_run_is_a_failure_and_no_number(void **state)
{
    (void)state;
    expect_failure(1, ASSAY_ERR_IO, "the disk is gone", ASSAY_ERR_IO, "the disk is gone");
    expect_failure(7, -77, NULL, -77, "the measured code failed with -77 in iteration 7");
    expect_failure(90, 1, NULL, ASSAY_ERR_STATE, "the measured code failed with 1 in iteration 90");
}

static void a_change_of_frequency_is_not_steady(void **state)
{
    struct fake_work w = {.clock_ns = 20, .call_ns = 1e6, .frequency = {3e9, 2e9}};
    struct as_interference_source source = fake_source(&w);
    struct as_latency_options o = {.runs = 50, .source = &source};
    struct as_latency_run run;

    (void)state;
    source.frequency_hz = fake_frequency;
    assert_int_equal(as_latency_run(&run, fake_call, &w, &o, NULL), 0);
    assert_near(run.frequency_before_hz, 3e9, 0);
    assert_near(run.frequency_after_hz, 2e9, 0);
    assert_false(run.steady);
    as_latency_run_fini(&run);
}

/* The whole protocol with its rule for stopping, on noise that remembers: 95 % shall mean it. */
static void the_interval_holds_also_when_it_decides_the_end(void **state)
{
    static const double memory[] = {0.3, 0.7, 0.9};
    enum { REPEATS = 200 };

    (void)state;
    for (size_t m = 0; m < N_OF(memory); m++) {
        int held = 0, early = 0;

        for (uint64_t seed = 0; seed < REPEATS; seed++) {
            struct fake_work w = {.clock_ns = 20, .call_ns = 1e6, .memory = memory[m]};
            struct as_interference_source source = fake_source(&w);
            struct as_latency_options o = {.source = &source, .time_s = 2};
            struct as_latency_run run;

            as_rng_seed(&w.rng, seed);
            assert_int_equal(as_latency_run(&run, fake_call, &w, &o, NULL), 0);
            held +=
                run.figures.median.interval.low <= 1e6 && run.figures.median.interval.high >= 1e6;
            early += run.stop == AS_STOP_WIDTH;
            as_latency_run_fini(&run);
        }
        if (held < 0.9 * REPEATS)
            print_error("memory %g: %d of %d held\n", memory[m], held, REPEATS);
        assert_true(held >= 0.9 * REPEATS);
        assert_true(m > 0 || early > 0.9 * REPEATS);
    }
}

static int real_work(void *user, struct assay_error *err)
{
    volatile double *sum = user;

    (void)err;
    for (int i = 0; i < 1000; i++)
        *sum += (double)i;
    return 0;
}

/* The contract of a latency: not negative, and repeats vary less than they are long. */
static void the_machine_itself_can_be_measured(void **state)
{
    struct as_latency_options o = {.runs = 100, .warmup_s = 0.05};
    double sum = 0, mean = 0, squares = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct as_latency_run run;
        double ms;

        assert_int_equal(as_latency_run(&run, real_work, &sum, &o, NULL), 0);
        assert_int_equal(run.n, 100);
        assert_true(run.figures.median.interval.low <= run.figures.summary.median);
        assert_true(run.causes[AS_CAUSE_INVOLUNTARY].known);
        ms = run.figures.summary.median / 1e6;
        assert_true(ms > 0 && ms < 1000);
        mean += ms / 3;
        squares += ms * ms / 3;
        as_latency_run_fini(&run);
    }
    assert_true(sqrt(fmax(squares - mean * mean, 0)) < mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_work_is_measured_exactly),
        cmocka_unit_test(short_calls_are_batched),
        cmocka_unit_test(one_call_is_a_sample_when_asked),
        cmocka_unit_test(a_slow_clock_makes_longer_samples),
        cmocka_unit_test(warm_up_lasts_until_the_cold_is_gone),
        cmocka_unit_test(work_that_never_settles_is_not_called_steady),
        cmocka_unit_test(a_narrow_interval_ends_it),
        cmocka_unit_test(the_end_of_time_ends_it),
        cmocka_unit_test(slow_work_is_still_run_often_enough),
        cmocka_unit_test(outliers_tell_what_they_saw),
        cmocka_unit_test(a_failing_run_is_a_failure_and_no_number),
        cmocka_unit_test(a_change_of_frequency_is_not_steady),
        cmocka_unit_test(the_interval_holds_also_when_it_decides_the_end),
        cmocka_unit_test(the_machine_itself_can_be_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
