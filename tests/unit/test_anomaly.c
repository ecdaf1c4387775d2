/* tests/unit/test_anomaly.c - values that do not belong to the ones before them.
 * Means, deviations and quartiles: numpy. */
#include "unit.h"

#include <assay/anomaly.h>
#include <stdio.h>

#include "base/alloc.h"
#include "report/findings/findings_report.h"

/* mean 10, population std 0.5099019513592784, median 10, quartiles 9.825 and 10.175 */
static const double ten[] = {10, 11, 9, 10.5, 9.5, 10.2, 9.8, 10.1, 9.9, 10};

static struct assay_anomaly_detector *detector(const struct assay_anomaly_detector_options *options)
{
    struct assay_anomaly_detector *a = NULL;

    assert_int_equal(assay_anomaly_detector_new(&a, options, NULL), 0);
    return a;
}

static const struct assay_anomaly *add(struct assay_anomaly_detector *a, const char *metric,
                                       double value)
{
    const struct assay_anomaly *found;
    int rc = assay_anomaly_detector_add(a, "conv", metric, value, 77, &found, NULL);

    assert_true(rc == (found != NULL));
    return found;
}

static void add_ten(struct assay_anomaly_detector *a, const char *metric)
{
    for (size_t i = 0; i < UNIT_COUNT(ten); i++)
        (void)assay_anomaly_detector_add(a, "conv", metric, ten[i], 77, NULL, NULL);
}

static void near(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)));
}

static void a_far_value_is_told_with_its_numbers(void **state)
{
    struct assay_anomaly_detector *a = detector(NULL);
    const struct assay_anomaly *found;

    (void)state;
    add_ten(a, "execution_time");
    found = add(a, "execution_time", 13);
    assert_non_null(found);
    assert_int_equal(found->tests, ASSAY_ANOMALY_Z | ASSAY_ANOMALY_IQR);
    assert_string_equal(found->layer, "conv");
    assert_string_equal(found->metric, "execution_time");
    near(found->z, 5.883484054145522);
    near(found->mean, 10);
    near(found->std, 0.5099019513592784);
    near(found->median, 10);
    near(found->low, 9.300000000000004);
    near(found->high, 10.699999999999996);
    assert_int_equal(found->n_window, 10);
    assert_true(found->value == 13 && found->timestamp_seconds == 77);
    assay_anomaly_detector_free(a);
}

/* 10.9: 1.77 deviations, but beyond the fence at 10.7. */
static void fences_are_for_times(void **state)
{
    static const char *const times[] = {"time", "wall_ms", "cpu_ns", "total_seconds", "t_s"};
    struct assay_anomaly_detector_options o = {.size =
                                                   sizeof(struct assay_anomaly_detector_options)};
    struct assay_anomaly_detector *a = detector(NULL);
    const struct assay_anomaly *found;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(times); i++) {
        add_ten(a, times[i]);
        found = add(a, times[i], 10.9);
        assert_non_null(found);
        assert_int_equal(found->tests, ASSAY_ANOMALY_IQR);
    }
    add_ten(a, "memory_mb");
    assert_null(add(a, "memory_mb", 10.9));
    found = add(a, "memory_mb", 20);
    assert_int_equal(found->tests, ASSAY_ANOMALY_Z);
    assert_true(isnan(found->low) && isnan(found->high));
    assay_anomaly_detector_free(a);
    o.iqr_on_all = true;
    a = detector(&o);
    add_ten(a, "memory_mb");
    assert_non_null(add(a, "memory_mb", 10.9));
    assay_anomaly_detector_free(a);
}

/* Five values for z; 1 to 5 have a deviation of 1.4142. */
static void few_values_judge_nothing(void **state)
{
    struct assay_anomaly_detector *a = detector(NULL);

    (void)state;
    for (int i = 1; i <= 4; i++)
        assert_null(add(a, "memory", i));
    assert_null(add(a, "memory", 1000));
    assay_anomaly_detector_reset(a);
    for (int i = 1; i <= 5; i++)
        assert_null(add(a, "memory", i));
    assert_null(add(a, "memory", 7.2)); /* 2.97 */
    assay_anomaly_detector_reset(a);
    for (int i = 1; i <= 5; i++)
        assert_null(add(a, "memory", i));
    assert_non_null(add(a, "memory", 7.3)); /* 3.04 */
    assay_anomaly_detector_reset(a);
    for (size_t i = 0; i < 9; i++)
        (void)add(a, "time", ten[i]);
    assert_null(add(a, "time", 11.4)); /* nine before it: no fences, and 2.6 deviations */
    assay_anomaly_detector_free(a);
}

static void only_the_last_fifty_count(void **state)
{
    struct assay_anomaly_detector *a = detector(NULL);
    const struct assay_anomaly *found;

    (void)state;
    for (int i = 0; i < 30; i++)
        (void)add(a, "loss", 1000 + i % 2);
    for (int i = 0; i < 50; i++)
        (void)add(a, "loss", i % 2);
    found = add(a, "loss", 1000);
    assert_non_null(found);
    assert_int_equal(found->n_window, 50);
    near(found->mean, 0.5);
    near(found->std, 0.5);
    assay_anomaly_detector_free(a);
}

static void values_without_spread_are_compared_by_a_hundredth(void **state)
{
    struct assay_anomaly_detector *a = detector(NULL);
    const struct assay_anomaly *found;

    (void)state;
    for (int i = 0; i < 12; i++)
        assert_null(add(a, "time", 200));
    assert_null(add(a, "time", 200));
    assert_null(add(a, "time", 202));
    assay_anomaly_detector_reset(a);
    for (int i = 0; i < 12; i++)
        assert_null(add(a, "time", 200));
    found = add(a, "time", 207);
    assert_int_equal(found->tests, ASSAY_ANOMALY_Z | ASSAY_ANOMALY_IQR);
    near(found->z, 3.5);
    near(found->high, 203);
    assay_anomaly_detector_reset(a);
    for (int i = 0; i < 12; i++)
        assert_null(add(a, "errors", 0));
    assert_null(add(a, "errors", 0));
    found = add(a, "errors", 1);
    assert_true(isinf(found->z) && found->z > 0);
    assay_anomaly_detector_free(a);
}

static void sensitivity_scales_both_thresholds(void **state)
{
    static const struct {
        double sensitivity, z, iqr;
    } cases[] = {{0.95, 3, 1.5}, {0.9, 6, 3}, {0.975, 1.5, 0.75}, {0.999, 0.6, 0.3}, {0.1, 12, 6}};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_anomaly_detector_options o = {
            .size = sizeof(struct assay_anomaly_detector_options)};
        struct assay_anomaly_detector *a;
        struct assay_anomaly_summary s;

        o.sensitivity = cases[i].sensitivity;
        a = detector(&o);
        assay_anomaly_detector_summary(a, &s);
        near(s.z_threshold, cases[i].z);
        near(s.iqr_factor, cases[i].iqr);
        assay_anomaly_detector_free(a);
    }
}

static void count(void *user, const struct assay_anomaly *found)
{
    *(double *)user += found->value;
}

static void everything_is_bounded_and_counted(void **state)
{
    struct assay_anomaly_detector_options o = {.size =
                                                   sizeof(struct assay_anomaly_detector_options)};
    struct assay_anomaly_detector *a;
    const struct assay_anomaly_layer *layers;
    struct assay_anomaly_summary s;
    double told = 0;

    (void)state;
    o.max_series = 2;
    o.max_found = 3;
    o.alert = count;
    o.user = &told;
    a = detector(&o);
    for (int i = 0; i < 40; i++) {
        assert_true(assay_anomaly_detector_add(a, "a", "x", i % 2 ? 1 : -1, 1, NULL, NULL) == 0);
        assert_true(assay_anomaly_detector_add(a, "b", "x", i % 2 ? 1 : -1, 1, NULL, NULL) == 0);
        assert_true(assay_anomaly_detector_add(a, "c", "x", 1, 1, NULL, NULL) == 0);
    }
    for (int i = 0; i < 5; i++)
        assert_true(assay_anomaly_detector_add(a, i < 4 ? "a" : "b", "x", pow(100, i + 1), 1, NULL,
                                               NULL) == 1);
    assay_anomaly_detector_summary(a, &s);
    assert_true(s.n_values == 125 && s.n_dropped == 40 && s.n_series == 2);
    assert_true(s.n_anomalies == 5 && s.n_forgotten == 2);
    assert_true(told == 10101010100.0);
    assert_int_equal(assay_anomaly_detector_count(a), 3);
    assert_true(assay_anomaly_detector_at(a, 0)->value == 1e6 &&
                assay_anomaly_detector_at(a, 2)->value == 1e10);
    assert_null(assay_anomaly_detector_at(a, 3));
    assert_int_equal(assay_anomaly_detector_layers(a, &layers), 2);
    assert_string_equal(layers[0].layer, "a");
    assert_true(layers[0].n_values == 44 && layers[0].n_anomalies == 4);
    assert_true(layers[1].n_values == 41 && layers[1].n_anomalies == 1);
    assay_anomaly_detector_reset(a);
    assay_anomaly_detector_summary(a, &s);
    assert_true(s.n_values == 0 && s.n_anomalies == 0 && s.n_series == 0);
    assert_int_equal(assay_anomaly_detector_count(a), 0);
    assay_anomaly_detector_free(a);
    assay_anomaly_detector_free(NULL);
}

static void refuse(struct assay_anomaly_detector_options o, const char *sentence)
{
    struct assay_anomaly_detector *a;
    struct assay_error err;

    assert_int_equal(assay_anomaly_detector_new(&a, &o, &err), ASSAY_ERR_USAGE);
    assert_null(a);
    assert_string_equal(err.msg, sentence);
}

static void wrong_use_is_refused(void **state)
{
    struct assay_anomaly_detector_options o = {.size =
                                                   sizeof(struct assay_anomaly_detector_options)};
    struct assay_anomaly_detector *a = detector(NULL);
    struct assay_anomaly_summary s;
    struct assay_error err;

    (void)state;
    o.sensitivity = 1;
    refuse(o, "the sensitivity must be above 0 and below 1");
    o.sensitivity = 0;
    o.z_threshold = UNIT_NAN;
    refuse(o, "thresholds of anomalies must be 0 to 1000000");
    o.z_threshold = 0;
    o.window = 4;
    refuse(o, "the window of anomalies must have 5 to 10000 values");
    assert_int_equal(assay_anomaly_detector_add(a, "conv", "time", UNIT_NAN, 0, NULL, &err),
                     ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "time of conv is not a finite number");
    assert_int_equal(assay_anomaly_detector_add(a, "conv", "time", -UNIT_INFINITY, 0, NULL, &err),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_anomaly_detector_add(a, NULL, "time", 1, 0, NULL, &err),
                     ASSAY_ERR_USAGE);
    assay_anomaly_detector_summary(a, &s);
    assert_int_equal(s.n_values, 0);
    assay_anomaly_detector_free(a);
}

static void json_is_strict(void **state)
{
    struct assay_anomaly_detector *a = detector(NULL);
    struct as_out out = unit_out();
    struct as_anomaly_report report;
    struct as_arena arena = {0};
    struct as_json_writer w;

    (void)state;
    for (int i = 0; i < 5; i++)
        (void)add(a, "errors", 0);
    (void)add(a, "errors", 2);
    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_anomaly_report(a, &arena, &report, NULL), 0);
    as_anomaly_json(&w, &report, 0);
    as_arena_fini(&arena);
    assert_int_equal(as_json_writer_finish(&w, NULL), 0);
    unit_expect(&out,
                "{\"anomaly_count\":1,\"values\":6,\"values_dropped\":0,\"anomalies_forgotten\":0,"
                "\"series\":1,\"sensitivity\":0.95,\"window_values\":50,\"z_threshold\":3,"
                "\"iqr_factor\":1.5,\"by_layer\":{\"conv\":{\"values\":6,\"anomalies\":1}},"
                "\"anomalies\":[{\"layer\":\"conv\",\"metric\":\"errors\",\"value\":2,"
                "\"timestamp_unix_seconds\":77,\"test\":\"z_score\",\"z_score\":null,\"mean\":0,"
                "\"std_population\":0,\"median\":0,\"fence_low\":null,\"fence_high\":null,"
                "\"window_values\":5}]}");
    assert_int_equal(as_out_close(&out, NULL), 0);
    assay_anomaly_detector_free(a);
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth < 100; nth++) {
        struct assay_anomaly_detector *a = NULL;
        char name[16];
        int rc;

        as_alloc_fail_at(nth, 0);
        rc = assay_anomaly_detector_new(&a, NULL, NULL);
        for (int i = 0; rc >= 0 && i < 400; i++) {
            snprintf(name, sizeof name, "layer%d", i % 40);
            rc = assay_anomaly_detector_add(a, name, "x", i < 360 ? i % 7 : 1000, 0, NULL, NULL);
        }
        as_alloc_fail_at(0, 0);
        assay_anomaly_detector_free(a);
        if (rc >= 0)
            return;
        assert_int_equal(rc, ASSAY_ERR_NOMEM);
    }
    fail_msg("every allocation failed");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_far_value_is_told_with_its_numbers),
        cmocka_unit_test(fences_are_for_times),
        cmocka_unit_test(few_values_judge_nothing),
        cmocka_unit_test(only_the_last_fifty_count),
        cmocka_unit_test(values_without_spread_are_compared_by_a_hundredth),
        cmocka_unit_test(sensitivity_scales_both_thresholds),
        cmocka_unit_test(everything_is_bounded_and_counted),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(json_is_strict),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
